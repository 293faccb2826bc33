#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// Flushes this process' output, and waits, for at most a second, until its reader has read it:
/// launchers that end all processes stop reading their pipes (Hydra, of MPICH 4.0.2).
void flush_output() noexcept;

/// What upc_global_exit does before all threads end: has the output of all threads flushed, by whichever thread
/// makes progress there. A thread that makes none is not waited for.
class LastWords {
public:
    /// On all threads, before a barrier after which one may ask.
    explicit LastWords(Team& team);
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;
    ~LastWords();
    /// After a barrier, when no thread asks any more.
    void withdraw();

    /// Returns when all threads' output has been read, after at most a second.
    void ask() noexcept;

private:
    enum class State : std::uint8_t { to_ask, asked, done };
    /// A request, or its reply.
    enum class Word : std::uint64_t { write_out, written_out, not_yet };
    void on_word(int origin, std::span<const std::byte> bytes);

    Team& team_;
    bool registered_ = false;
    std::vector<std::atomic<State>> states_; ///< per thread; the handler writes it, too
};

} // namespace lapwing::upc
