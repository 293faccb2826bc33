#pragma once

#include "upc/program.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/upc/collective.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lapwing::upc {

/// Whose memory a thread reads and writes in a collective call.
enum class Touches : std::uint8_t { own, others };

/// A collective call from entry to exit, with the synchronisation that its flags ask for.
class CollectiveCall {
public:
    /// Collective. Throws UsageError for unknown flags, MismatchError on all threads if their arguments differ, as far
    /// as there is a barrier in which they can be compared (at level 3 of the checks always, by a message more), then
    /// RangeError for pointers that are null or to no thread.
    CollectiveCall(ProgramState& program, const char* call, int flags, Touches touches,
                   std::initializer_list<lapwing_upc_pointer> objects, std::initializer_list<std::size_t> sizes);
    CollectiveCall(const CollectiveCall&) = delete;
    CollectiveCall& operator=(const CollectiveCall&) = delete;
    /// Collective. Ends the call, after its last transfer.
    void finish();

private:
    ProgramState& program_;
    bool waits_at_end_ = false;
};

/// Transfers from or to all threads, each thread starting with its right neighbour, many in flight at a time. start(t)
/// starts the one with thread t.
template <class Start>
void transfer_with_all(ProgramState& program, Start start) {
    constexpr std::size_t under_way = 64;
    std::array<Completion, under_way> transfers;
    const int threads = program.threads().threads();
    for (int k = 1; k <= threads; ++k)
        transfers[static_cast<std::size_t>(k) % under_way] = start((program.own_thread() + k) % threads);
    for (Completion& transfer : transfers) transfer.wait();
}

} // namespace lapwing::upc
