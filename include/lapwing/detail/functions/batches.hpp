// Room: functions
#pragma once

#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing {
class Team;
class Window;

namespace detail::functions {

/// The message to one rank that is being filled. Its last run is of one function on one window.
struct Batch {
    const FunctionEntry* function = nullptr;
    const Window* window = nullptr;
    std::byte* at = nullptr; ///< where the next call's arguments go
    std::byte* end = nullptr;
    std::byte* head = nullptr;    ///< of the run
    std::uint32_t count = 0;      ///< of its calls
    void** destination = nullptr; ///< where the next call's result goes is noted here; null: there are no results
    std::size_t number = 0;       ///< among all batches
};

/// Many small calls at many ranks, hundreds in a message. Memory is bounded, whatever the number of ranks: some dozens
/// of messages, and a pointer for each rank. For one thread.
class Batches {
public:
    /// `call`: of the program, for messages. `released`: a release by the calling thread is a finish(), too.
    Batches(Team& team, const char* call, bool released = false);
    /// Drops what was not sent, and results that are not here.
    ~Batches();
    Batches(const Batches&) = delete;
    Batches& operator=(const Batches&) = delete;

    /// What each call of one kind is.
    struct Kind {
        const FunctionEntry* function = nullptr;
        Window* window = nullptr;
        std::uint32_t argument_bytes = 0;
        std::uint32_t result_bytes = 0; ///< 0: none is asked for
    };
    /// Returns where the arguments of one more call are to be written. `destination`: of its result, by finish(); null
    /// where there is none.
    [[nodiscard, gnu::always_inline]] std::byte* add(Rank target, const Kind& kind, void* destination) {
        Batch* batch = open_[static_cast<std::size_t>(target.value)];
        if (batch == nullptr || batch->function != kind.function || batch->window != kind.window ||
            static_cast<std::size_t>(batch->end - batch->at) < kind.argument_bytes) [[unlikely]]
            batch = next(target, kind);
        ++batch->count;
        if (kind.result_bytes != 0) *batch->destination++ = destination;
        return std::exchange(batch->at, batch->at + kind.argument_bytes);
    }
    /// Sends everything, and waits for all results. Throws what the first call threw that has failed, where results are
    /// asked for; failures of others are the next release's.
    void finish();
    /// Sends everything.
    void send();

private:
    class State;
    [[nodiscard, gnu::noinline]] Batch* next(Rank target, const Kind& kind);

    std::vector<Batch*> open_; ///< of each rank, or null
    std::unique_ptr<State> state_;
};

/// Before a list of calls: what this rank has written to the window before is complete, where something is under way,
/// and its copies of what others have are read again. The same after it, where there may be copies that are older.
void begin_list(Window& window);
void end_list(Window& window);

} // namespace detail::functions
} // namespace lapwing
