// A job of very many ranks in one process: each runs a program of its own on Lapwing as it is, over an MPI that is
// simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace test {

/// What an operation costs one rank.
struct Spent {
    std::uint64_t sent = 0; ///< messages
    std::uint64_t sent_bytes = 0;
    std::uint64_t received = 0; ///< messages
    std::uint64_t received_bytes = 0;
    std::uint64_t collectives = 0;      ///< MPI's collective calls with other ranks
    std::uint64_t handles = 0;          ///< of these: that make communicators or windows
    std::uint64_t collective_bytes = 0; ///< that it gives to collective calls or gets from them, whichever is more
    std::int64_t memory = 0; ///< bytes allocated and not freed, of the library's own: neither MPI's nor windows' memory
    std::int64_t most_memory = 0; ///< the most of these at any time
};

/// What an operation costs all ranks together, and the one that it costs most (of each number).
struct Measured {
    std::string name;
    Spent most;
    Spent total;
    /// Hops of messages, one after the other, from its begin to its end on the last rank: a collective call of n ranks
    /// is ceil(log2(n)).
    std::uint64_t steps = 0;
    /// Most bytes that waited inside MPI at a rank, of messages that it had posted no receive for.
    std::uint64_t most_unread_bytes = 0;
};

/// How the ranks lie on machines.
struct SimulatedMachines {
    int ranks = 1;
    int ranks_of_machine = 1;
    bool dealt = false; ///< ranks to machines like cards, so that the ranks of one are no run
};

/// Runs `program` once for each rank, as fibers of this thread: a rank runs until it waits. What is sent in one step
/// arrives in the next. Every rank has a progress thread of its own, which serves while the rank waits elsewhere. The
/// clock does not move but for a microsecond a step, and for what ranks wait for when nothing is on its way.
///
/// Of MPI there are the calls that these programs need. The other ones are the real MPI's, which nobody has
/// initialised: they fail.
///
/// Returns what measured() measured. An exception out of the program, or ranks that wait for ever, end the process with
/// a message.
[[nodiscard]] std::vector<Measured> run_simulated(const SimulatedMachines& machines,
                                                  const std::function<void(int rank)>& program);

/// By all ranks of a simulated job: begins `operation` on all of them in the same step, and measures it until nothing
/// that came of it is on its way any more.
void measured(const char* name, const std::function<void()>& operation);

} // namespace test
