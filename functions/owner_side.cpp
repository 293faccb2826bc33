#include "functions/owner_side.hpp"

#include "src/support/type_text.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace lapwing::detail::functions {
namespace {

/// Calls that may wait for the program's thread, and bytes of their arguments: more wait at their origins.
constexpr std::size_t most_waiting = 4096;
constexpr std::size_t most_waiting_bytes = std::size_t{4} << 20;

/// Of what the thread runs at the moment.
thread_local const team::TeamState* running_team = nullptr;

[[nodiscard]] std::string text_of_unknown(const team::TeamState& team, std::uint64_t function) {
    return fmt::format(
        "{} has no function of number {:x}: all ranks must run the same program, with the same libraries, and those of "
        "C must be registered there before they are called",
        team.who(), function);
}

} // namespace

std::string text_of_failure(std::string_view text, std::uint64_t unknown) {
    const FunctionEntry* const entry = unknown == 0 ? nullptr : FunctionEntry::find(unknown);
    if (entry == nullptr) return std::string{text};
    return fmt::format("{}; here it is {}", text, support::type_text(entry->type()));
}

Outcome OwnerSide::run(Where where, std::uint64_t function, Invocation& call) const {
    const FunctionEntry* const entry = FunctionEntry::find(function);
    if (entry == nullptr) return {.failed = call.count, .unknown = function, .text = text_of_unknown(team_, function)};
    const team::TeamState* const before = std::exchange(running_team, &team_);
    try {
        const team::Running running{where, entry->type()};
        entry->run(call);
    } catch (...) { // while the arguments were read: the rest cannot be
        call.fail();
    }
    running_team = before;
    if (call.failed == 0) return {};
    const std::string start =
        fmt::format("the function {} at {} threw: ", support::type_text(entry->type()), team_.who());
    if (call.failed_calls != nullptr)
        for (FailedCall& one : *call.failed_calls) one.text.insert(0, start);
    return {.failed = call.failed, .text = start + call.first_failure};
}

bool OwnerSide::runs_here() const noexcept {
    return running_team == &team_ && team::running_function.where == Where::progress;
}

std::span<std::byte> OwnerSide::part_of(std::uint64_t window) {
    if (window == no_window) return {};
    const messages::ExposedMemory* const memory = team_.engine().locked().part_of(window);
    return memory == nullptr ? std::span<std::byte>{} : std::span{memory->base, memory->bytes};
}

void OwnerSide::run_posts(Rank origin, std::span<const std::byte> message) {
    for (RunHead head; message.size() >= sizeof head;) {
        std::memcpy(&head, message.data(), sizeof head);
        message = message.subspan(sizeof head);
        const std::size_t bytes = std::min<std::size_t>(head.bytes, message.size());
        Invocation call{.arguments = ByteReader{message.first(bytes)},
                        .count = head.count,
                        .form = head.form,
                        .part = part_of(head.window)};
        Outcome outcome = run(Where::progress, head.function, call);
        if (outcome.failed != 0) {
            Outcome& all = failed_posts_[origin.value];
            if (all.failed == 0) all = std::move(outcome);
            else all.failed += outcome.failed;
        }
        count_finished(head.count);
        message = message.subspan(std::min<std::size_t>(messages::padded(bytes), message.size()));
    }
}

Outcome OwnerSide::run(const AskHead& head, std::span<const std::byte> arguments, ByteWriter& results) {
    Invocation call{.arguments = ByteReader{arguments},
                    .count = head.count,
                    .form = head.form,
                    .part = part_of(head.window),
                    .results = &results};
    Outcome outcome = run(Where::progress, head.function, call);
    check_size(outcome, results);
    count_finished(head.count);
    return outcome;
}

std::vector<FailedCall> OwnerSide::run(const RelayRun& run, std::span<const std::byte> arguments, ByteWriter* results) {
    std::vector<FailedCall> failed;
    Invocation call{.arguments = ByteReader{arguments},
                    .count = run.count,
                    .form = run.form,
                    .part = part_of(run.window),
                    .results = results};
    call.failed_calls = &failed;
    const Outcome outcome = this->run(Where::progress, run.function, call);
    count_finished(run.count);
    if (outcome.failed == 0) return failed;
    // Those that were not reached have failed, too.
    const std::uint32_t reached = outcome.unknown != 0 ? 0 : std::min(call.at + 1, run.count);
    for (std::uint32_t k = reached; k < run.count; ++k)
        failed.push_back({.index = k, .text = outcome.text, .unknown = outcome.unknown});
    return failed;
}

void OwnerSide::check_size(Outcome& outcome, const ByteWriter& results) const {
    const std::uint64_t limit = team_.engine().largest_staged() - sizeof(ResultHead);
    if (outcome.failed != 0 || results.bytes().size() <= limit) return;
    outcome = {.failed = 1,
               .text = fmt::format("the result of a function at {} has {} bytes, of which {} fit into a message; put "
                                   "it into an array, and return where it is",
                                   team_.who(), results.bytes().size(), limit)};
}

FailedPosts OwnerSide::take_failed(Rank origin) {
    FailedPosts failed;
    const auto found = failed_posts_.find(origin.value);
    if (found == failed_posts_.end()) return failed;
    failed.count = found->second.failed;
    failed.unknown = found->second.unknown;
    const std::string& text = found->second.text;
    std::memcpy(failed.text.data(), text.data(), std::min(text.size(), failed.text.size() - 1));
    failed_posts_.erase(found);
    return failed;
}

bool OwnerSide::keep(Rank origin, const AskHead& head, std::span<const std::byte> arguments) {
    const bool full = waiting_.size() >= most_waiting || waiting_bytes_ + arguments.size() > most_waiting_bytes;
    if (full && waiting_functions_.load(std::memory_order_relaxed) == 0) return false;
    keep_all(origin, head, arguments);
    return true;
}

void OwnerSide::keep_all(Rank origin, const AskHead& head, std::span<const std::byte> arguments) {
    waiting_.push_back({.origin = origin, .head = head, .arguments = {arguments.begin(), arguments.end()}});
    waiting_bytes_ += arguments.size();
    any_waiting_.store(true, std::memory_order_relaxed);
}

std::optional<OwnerSide::Waiting> OwnerSide::next() {
    if (waiting_.empty()) return std::nullopt;
    Waiting call = std::move(waiting_.front());
    waiting_.pop_front();
    any_waiting_.store(!waiting_.empty(), std::memory_order_relaxed);
    waiting_bytes_ -= call.arguments.size();
    return call;
}

Outcome OwnerSide::run(const Waiting& waiting, ByteWriter& results) {
    std::span<std::byte> part;
    {
        const std::lock_guard guard{team_.engine().mutex()};
        part = part_of(waiting.head.window);
    }
    Invocation call{.arguments = ByteReader{waiting.arguments},
                    .count = waiting.head.count,
                    .form = waiting.head.form,
                    .part = part,
                    .results = &results};
    Outcome outcome = run(Where::program, waiting.head.function, call);
    check_size(outcome, results);
    return outcome;
}

} // namespace lapwing::detail::functions
