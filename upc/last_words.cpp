#include "upc/last_words.hpp"

#include "src/support/backoff.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/team.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lapwing::upc {

namespace {

using Clock = std::chrono::steady_clock;

constexpr lapwing::detail::messages::HandlerNumber word_handler{0x757063};
constexpr std::chrono::seconds longest_wait{1};

/// Whether a pipe's reader has read everything; for other files this process holds nothing back.
[[nodiscard]] bool is_read(int descriptor) noexcept {
    struct stat what{};
    if (fstat(descriptor, &what) != 0 || !S_ISFIFO(what.st_mode)) return true;
    int unread = 0;
    return ioctl(descriptor, FIONREAD, &unread) != 0 || unread == 0;
}

[[nodiscard]] bool output_is_read() noexcept { return is_read(STDOUT_FILENO) && is_read(STDERR_FILENO); }

/// Runs beside the program's own threads, one of which may be printing; does not wait for what it prints then.
void write_out() noexcept {
    for (std::FILE* const file : {stdout, stderr})
        if (ftrylockfile(file) == 0) {
            fflush_unlocked(file);
            funlockfile(file);
        }
}

} // namespace

void flush_output() noexcept {
    std::fflush(nullptr);
    const auto end = Clock::now() + longest_wait;
    lapwing::detail::support::Backoff backoff{lapwing::detail::support::ProcessorShare::crowded};
    while (!output_is_read() && Clock::now() < end) backoff.pause();
}

LastWords::LastWords(Team& team) : team_{team}, states_(static_cast<std::size_t>(team.size())) {
    team.state().engine().register_handler(
        word_handler, [this](int origin, std::span<const std::byte> bytes) { on_word(origin, bytes); });
    registered_ = true;
}

LastWords::~LastWords() {
    try {
        withdraw();
    } catch (const std::exception&) { // the team has been left
    }
}

void LastWords::withdraw() {
    if (std::exchange(registered_, false)) team_.state().engine().withdraw_handler(word_handler);
}

void LastWords::on_word(int origin, std::span<const std::byte> bytes) {
    Word word{};
    if (bytes.size() != sizeof word || origin < 0 || origin >= static_cast<int>(states_.size())) return;
    std::memcpy(&word, bytes.data(), sizeof word);
    // Release, paired with the acquire where it is read, although nothing but the state is communicated.
    std::atomic<State>& state = states_[static_cast<std::size_t>(origin)];
    if (word == Word::written_out) return state.store(State::done, std::memory_order_release);
    if (word == Word::not_yet) return state.store(State::to_ask, std::memory_order_release);
    write_out();
    const Word answer = output_is_read() ? Word::written_out : Word::not_yet;
    // Without room for the reply the other thread ends without it, after its timeout.
    static_cast<void>(
        team_.state().engine().locked().try_call(origin, word_handler, std::as_bytes(std::span{&answer, 1})));
}

void LastWords::ask() noexcept {
    try {
        lapwing::detail::team::TeamState& team = team_.state();
        const Word question = Word::write_out;
        const auto end = Clock::now() + longest_wait;
        lapwing::detail::support::Backoff backoff{lapwing::detail::support::ProcessorShare::crowded};
        states_[static_cast<std::size_t>(team.rank())].store(State::done, std::memory_order_relaxed);
        for (bool all = false; !all && Clock::now() < end; backoff.pause()) {
            all = true;
            for (int t = 0; t < team.size(); ++t) {
                std::atomic<State>& state = states_[static_cast<std::size_t>(t)];
                const State before = state.load(std::memory_order_acquire);
                all = all && before == State::done;
                if (before != State::to_ask) continue;
                state.store(State::asked,
                            std::memory_order_relaxed); // first: the reply may arrive before the call returns
                if (!team.engine().try_call(t, word_handler, std::as_bytes(std::span{&question, 1}))) {
                    state.store(State::to_ask, std::memory_order_relaxed);
                    break; // no room now
                }
            }
            team.progress();
        }
    } catch (const std::exception&) { // the program ends anyway
    }
}

} // namespace lapwing::upc
