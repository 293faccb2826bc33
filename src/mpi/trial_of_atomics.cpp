#include "src/mpi/trial_of_atomics.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lapwing::detail::mpi {

using support::check_mpi;

WindowTrial::Atomics::Atomics(WindowTrial& trial, bool swaps, TrustedAtomics trusted)
    : trial_{trial}, swaps_{swaps}, trusted_{trusted}, slow_{Clock::duration::max()} {
    using namespace std::chrono_literals;
    fastest_.fill(Clock::duration::max());
    trial.leave_time_for_atomics();
    end_ = trial.end_;
    // With the round trip, which the networks that need no asking do in a few microseconds. Where messages cannot take
    // their place nothing is too slow.
    if (trial.terms_.use == TrialTerms::Use::if_faster) slow_ = 200us;
    if (trial.terms_.use == TrialTerms::Use::asked_for) {
        slow_ = 1ms;
        end_ = std::min(end_, Clock::now() + 100ms);
    }
    for (std::size_t i = 0; i < case_count; ++i) trial.buffers_->expected[i] = atomic_cases()[i].expected();
}

Slot WindowTrial::Atomics::filled(const AtomicCase& one, const AtomicValueBytes& value) {
    Slot slot;
    slot.bytes.fill(untouched);
    std::copy_n(value.begin(), size_of(one.type), slot.bytes.begin());
    return slot;
}

void WindowTrial::Atomics::distrust(const AtomicCase& one, const char* why) {
    if (trusts(one)) trial_.note(fmt::format("{} {}", one.name(), why));
    if (one.swaps) trusted_.distrust_swaps(one.type);
    else trusted_.distrust_fetch(one.operation, one.type);
}

bool WindowTrial::Atomics::start(std::size_t i, int target, std::size_t slots, AtomicValueBytes& before) {
    const AtomicCase& one = atomic_cases()[i];
    const MPI_Aint at = trial_.at(slots + i * sizeof(Slot));
    if (one.swaps)
        return trial_.calls("MPI_Compare_and_swap", [&] {
            return MPI_Compare_and_swap(one.operand.data(), trial_.buffers_->expected[i].data(), before.data(),
                                        mpi_type(one.type), target, at, trial_.window_);
        });
    return trial_.calls("MPI_Fetch_and_op", [&] {
        return MPI_Fetch_and_op(one.operand.data(), before.data(), mpi_type(one.type), target, at,
                                mpi_operation(one.operation), trial_.window_);
    });
}

bool WindowTrial::Atomics::start_here(std::size_t i) {
    const AtomicCase& one = atomic_cases()[i];
    if (!start(i, trial_.rank_, offsetof(Memory, own), trial_.buffers_->before_here[i])) return false;
    return !one.accumulates() || trial_.calls("MPI_Accumulate", [&] {
        return MPI_Accumulate(one.operand.data(), 1, mpi_type(one.type), trial_.rank_,
                              trial_.at(offsetof(Memory, accumulated) + i * sizeof(Slot)), 1, mpi_type(one.type),
                              mpi_operation(one.operation), trial_.window_);
    });
}

void WindowTrial::Atomics::try_case(std::size_t i, int target, std::size_t slots, bool here) {
    const AtomicCase& one = atomic_cases()[i];
    if (one.swaps && !swaps_) return distrust(one, "is not used");
    if (!trusts(one)) return;
    const Clock::time_point begin = Clock::now();
    // What cannot be judged in time is not trusted.
    if (begin > end_) return distrust(one, "was not tried: the operations before it took too long");
    Clock::duration& fastest = fastest_[one.kind()];
    bool works = true;
    if (target != MPI_PROC_NULL) {
        works = started_[i] = start(i, target, slots, trial_.buffers_->before_there[i]);
        // Each value is waited for until one is fast: a process may lose its processor at any of them.
        if (works && fastest > slow_) {
            works = trial_.flush(target);
            fastest = std::min(fastest, Clock::now() - begin);
        }
    }
    if (works && here) works = started_here_[i] = start_here(i);
    if (!works) distrust(one, "failed");
}

void WindowTrial::Atomics::try_cases(int target, std::size_t slots, bool here) {
    AtomicValueBytes nothing;
    nothing.fill(untouched);
    trial_.buffers_->before_there.fill(nothing);
    trial_.buffers_->before_here.fill(nothing);
    started_.fill(false);
    started_here_.fill(false);
    fastest_.fill(Clock::duration::max());
    for (std::size_t i = 0; i < case_count; ++i) try_case(i, target, slots, here);
    if (here) (void)trial_.flush(trial_.rank_);
    Slots& there = trial_.buffers_->there;
    if (target != MPI_PROC_NULL) {
        (void)trial_.flush(target);
        (void)trial_.get(there.data(), sizeof there, target, slots); // what they have left there
        (void)trial_.flush(target);
    }
    for (std::size_t i = 0; i < case_count; ++i) check_results(i, here);
}

void WindowTrial::Atomics::check_results(std::size_t i, bool here) {
    const AtomicCase& one = atomic_cases()[i];
    const auto is_before = [&](const AtomicValueBytes& value) {
        return std::equal(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size_of(one.type)),
                          one.before.begin());
    };
    if (here && started_here_[i] && !is_before(trial_.buffers_->before_here[i])) distrust(one, "gave a wrong result");
    if (!started_[i]) return;
    if (!is_before(trial_.buffers_->before_there[i])) distrust(one, "gave a wrong result");
    if (trial_.buffers_->there[i] != filled(one, one.after())) distrust(one, "left a wrong value");
    if (fastest_[one.kind()] > slow_)
        distrust(one, slow_ >= std::chrono::milliseconds{1} ? "took longer than 1 ms" : "took longer than 0.2 ms");
}

/// Whether the processor here sees what another rank has done. That rank may not have got this far, and says so.
void WindowTrial::Atomics::check_memory(const Slots& slots) {
    for (std::size_t i = 0; i < case_count; ++i) {
        const AtomicCase& one = atomic_cases()[i];
        if (slots[i] != filled(one, one.after()) && slots[i] != filled(one, one.before))
            distrust(one, "left a wrong value");
    }
}

void WindowTrial::Atomics::check_memory_of_own() {
    const Memory& memory = trial_.memory_;
    for (std::size_t i = 0; i < case_count; ++i) {
        if (!started_here_[i]) continue;
        const AtomicCase& one = atomic_cases()[i];
        const Slot after = filled(one, one.after());
        if (memory.own[i] != after || (one.accumulates() && memory.accumulated[i] != after))
            distrust(one, "left a wrong value");
    }
}

void WindowTrial::Atomics::try_at(Partners partners, bool here) {
    Memory& memory = trial_.memory_;
    for (std::size_t i = 0; i < case_count; ++i) {
        const AtomicCase& one = atomic_cases()[i];
        memory.of_previous[i] = memory.own[i] = memory.accumulated[i] = filled(one, one.before);
    }
    trial_.meet();
    try_cases(partners.to, offsetof(Memory, of_previous), here);
    trial_.meet();
    if (partners.from != MPI_PROC_NULL) check_memory(memory.of_previous);
    if (here) check_memory_of_own();
}

void WindowTrial::Atomics::fill_for_sleep() {
    for (std::size_t i = 0; i < case_count; ++i)
        trial_.memory_.while_asleep[i] = filled(atomic_cases()[i], atomic_cases()[i].before);
}

void WindowTrial::Atomics::try_while_asleep(int target) {
    slow_ = Clock::duration::max(); // the target may have to wake first
    try_cases(target, offsetof(Memory, while_asleep), false);
}

TrustedAtomics WindowTrial::Atomics::agreed() {
    std::uint64_t bits = trusted_.bits();
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &bits, 1, MPI_UINT64_T, MPI_BAND, trial_.communicator_), "MPI_Allreduce");
    return trusted_ = TrustedAtomics::from_bits(bits);
}

} // namespace lapwing::detail::mpi
