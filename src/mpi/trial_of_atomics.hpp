#pragma once

#include "src/mpi/atomic_cases.hpp"
#include "src/mpi/trial_memory.hpp"
#include "src/mpi/window_trial.hpp"

#include <array>
#include <chrono>
#include <cstddef>

namespace lapwing::detail::mpi {

/// One rank's part in the trial of atomics.
class WindowTrial::Atomics {
public:
    Atomics(WindowTrial& trial, bool swaps, TrustedAtomics trusted);

    /// Collective. Tries all that are trusted, at a partner, by another rank here, and if `here`, on the rank's own
    /// part.
    void try_at(Partners partners, bool here);
    /// Collective, in two steps: the same while the partner sleeps. Before it the memory is prepared.
    void fill_for_sleep();
    void try_while_asleep(int target);
    /// Whether the result that another rank has left here is possible, if it got this far.
    void look_after_sleep() { check_memory(trial_.memory_.while_asleep); }

    /// Collective. What all ranks still trust.
    [[nodiscard]] TrustedAtomics agreed();

private:
    void distrust(const AtomicCase& one, const char* why);
    [[nodiscard]] bool trusts(const AtomicCase& one) const noexcept {
        return one.swaps ? trusted_.swaps(one.type) : trusted_.fetches(one.operation, one.type);
    }
    [[nodiscard]] bool start(std::size_t i, int target, std::size_t slots, AtomicValueBytes& before);
    [[nodiscard]] bool start_here(std::size_t i);
    void try_cases(int target, std::size_t slots, bool here);
    void try_case(std::size_t i, int target, std::size_t slots, bool here);
    void check_results(std::size_t i, bool here);
    void check_memory(const Slots& slots);
    void check_memory_of_own();
    [[nodiscard]] static Slot filled(const AtomicCase& one, const AtomicValueBytes& value);

    WindowTrial& trial_;
    bool swaps_;
    TrustedAtomics trusted_;
    Clock::time_point end_;
    Clock::duration slow_;
    std::array<bool, case_count> started_{};
    std::array<bool, case_count> started_here_{};
    std::array<Clock::duration, case_kinds> fastest_;
};

} // namespace lapwing::detail::mpi
