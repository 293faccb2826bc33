#include "src/mpi/agreement.hpp"
#include "src/mpi/trial_of_atomics.hpp"

#include <utility>

namespace lapwing::detail::mpi {
namespace {

constexpr std::chrono::microseconds asleep{2000};
constexpr std::chrono::microseconds between_attempts{50};

} // namespace

/// Whether a read, a write and a read again have been carried out while the target was asleep. `sent`: what was
/// written.
bool WindowTrial::completes_at(int target, std::int64_t sent, bool& works) {
    Buffers& own = *buffers_;
    constexpr std::size_t bytes = sizeof(std::int64_t);
    own.seen_before = own.seen_after = -1;
    own.sent = sent;
    works = works && get(&own.seen_before, bytes, target, offsetof(Memory, outside_mpi)) && flush(target) &&
            put(&own.sent, bytes, target, offsetof(Memory, written)) && flush(target) &&
            get(&own.seen_after, bytes, target, offsetof(Memory, outside_mpi)) && flush(target);
    return works && own.seen_before == 1 && own.seen_after == 1;
}

WindowTrial::WithoutTarget WindowTrial::tries_sleeping_targets(SleepOutsideMpi sleep_outside_mpi,
                                                               TrustedAtomics& trusted) {
    constexpr int rounds = 3;
    const Partners partners = partners_.between_nodes;
    problem_.clear();
    Atomics atomics{*this, trusted.suffice(), trusted};
    atomics.fill_for_sleep();
    memory_.written = 0;
    bool works = true;
    bool proved = partners.to == MPI_PROC_NULL;
    bool tried = proved || !trusted.suffice();
    std::int64_t sent = 0;
    bool all_ended = false;
    for (int round = 0; round < rounds && !all_ended; ++round) {
        for (int turn = 0; turn < partners_.turns; ++turn) {
            meet();
            if (turn != partners_.turn || partners.to == MPI_PROC_NULL) {
                sleep_outside_mpi(asleep, &memory_.outside_mpi);
                continue;
            }
            const Clock::time_point end = Clock::now() + asleep;
            while (works && !proved && Clock::now() < end) {
                sleep_outside_mpi(between_attempts, nullptr); // the target is on its way out of the barrier
                proved = completes_at(partners.to, ++sent, works);
            }
            if (works && !std::exchange(tried, true)) atomics.try_while_asleep(partners.to);
        }
        constexpr std::int64_t nobody = -1;
        const std::int64_t told = tell(partners, works ? sent : nobody, nobody);
        if (told != nobody && told != memory_.written) {
            note("MPI_Put wrote a wrong value while the target was outside MPI");
            works = false;
        }
        all_ended = all_agree(communicator_, proved || !works || Clock::now() >= end_);
    }
    if (partners.from != MPI_PROC_NULL && trusted.suffice()) atomics.look_after_sleep();
    trusted = atomics.agreed();
    return {.works = all_agree(communicator_, works), .proved = all_agree(communicator_, works && proved)};
}

} // namespace lapwing::detail::mpi
