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
    /// Collective. Throws UsageError for unknown flags, MismatchError on all threads if it waits for them and their
    /// arguments differ (at level 3 of the checks also if it does not, by a message more; otherwise the next barrier of
    /// the program throws it), then RangeError for pointers that are null or to no thread. `call` is of static storage.
    CollectiveCall(ProgramState& program, const char* call, int flags, Touches touches,
                   std::initializer_list<lapwing_upc_pointer> objects, std::initializer_list<std::size_t> sizes);
    CollectiveCall(const CollectiveCall&) = delete;
    CollectiveCall& operator=(const CollectiveCall&) = delete;
    /// Collective. Ends the call, after its last transfer. Throws MismatchError as above, if it has not waited before.
    void finish();

private:
    /// A barrier in which the threads' arguments are compared.
    void meet();

    ProgramState& program_;
    const char* call_;
    bool waits_at_end_ = false;
    bool compared_ = false;
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
