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

/// Writes out what this process has printed, and waits, for a second at most, until whoever reads its output has it:
/// launchers that end all processes read no more of their pipes (Hydra, of MPICH 4.0.2).
void flush_output() noexcept;

/// What upc_global_exit does before all threads end: it has the output of all of them written out, by whichever thread
/// makes progress there. A thread that makes none is not waited for.
class LastWords {
public:
    /// On all threads before a barrier behind which one may ask.
    explicit LastWords(Team& team);
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;
    ~LastWords();
    /// Behind a barrier, when nobody asks any more.
    void withdraw();

    /// Returns when all threads' output has been read, after a second at the latest.
    void ask() noexcept;

private:
    enum class State : std::uint8_t { to_ask, asked, done };
    /// A question, or its answer.
    enum class Word : std::uint64_t { write_out, written_out, not_yet };
    void on_word(int origin, std::span<const std::byte> bytes);

    Team& team_;
    bool registered_ = false;
    std::vector<std::atomic<State>> states_; ///< of each thread; written by the handler, too
};

} // namespace lapwing::upc
