#pragma once

#include "src/mpi/trial_memory.hpp"
#include "src/mpi/window_trial.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lapwing::detail::mpi {

/// Ranks that work on one value of type T at the same time, by all operations that are trusted: none may lose another's
/// change. Each keeps account of what it has put into values and taken out of them; the accounts must add up to the
/// values.
template <class T>
class WindowTrial::Contention {
public:
    /// The value is the one at `place` of Memory, and 0.
    Contention(WindowTrial& trial, TrustedAtomics trusted, std::size_t place)
        : trial_{trial}, trusted_{trusted}, place_{place} {}

    /// Works on the value of `target` and on this rank's in turns.
    void run(int target) {
        for (int round = 0; round < rounds && works_; ++round) {
            if (target != MPI_PROC_NULL) works_ = works_at(target, round, there_);
            works_ = works_ && works_at(trial_.rank_, round, here_);
        }
    }
    /// False: something failed, took too long, or has ended in nothing.
    [[nodiscard]] bool works() const noexcept { return works_; }
    [[nodiscard]] std::int64_t there() const noexcept { return there_; }
    [[nodiscard]] std::int64_t here() const noexcept { return here_; }

private:
    static constexpr int rounds = 8;
    static constexpr AtomicType type = atomic_type_of<T>();

    [[nodiscard]] bool works_at(int target, int round, std::int64_t& account) {
        T before{};
        if (trusted_.fetches(AtomicOperation::add, type)) {
            if (!fetch(AtomicOperation::add, T{1}, target, before)) return false;
            ++account;
        }
        if (!add_by_swap(target)) return false;
        ++account;
        if (trusted_.fetches(AtomicOperation::replace, type)) {
            const T own = static_cast<T>(1000 * (round + 1) + trial_.rank_ % 100);
            if (!fetch(AtomicOperation::replace, own, target, before)) return false;
            account += static_cast<std::int64_t>(own) - static_cast<std::int64_t>(before);
        }
        return change_nothing(target, round);
    }

    /// An operation that leaves the value as it is, unless it takes another one for it.
    [[nodiscard]] bool change_nothing(int target, int round) {
        struct Neutral {
            AtomicOperation operation;
            T operand;
        };
        T all_bits{};
        std::memset(&all_bits, 0xFF, sizeof all_bits);
        const std::array<Neutral, 6> all{{{AtomicOperation::min, std::numeric_limits<T>::max()},
                                          {AtomicOperation::max, std::numeric_limits<T>::lowest()},
                                          {AtomicOperation::read, T{}},
                                          {AtomicOperation::bit_and, all_bits},
                                          {AtomicOperation::bit_or, T{}},
                                          {AtomicOperation::bit_xor, T{}}}};
        constexpr std::size_t count = std::is_integral_v<T> ? 6 : 3;
        const Neutral& one = all[static_cast<std::size_t>(round) % count];
        T before{};
        return !trusted_.fetches(one.operation, type) || fetch(one.operation, one.operand, target, before);
    }

    [[nodiscard]] bool fetch(AtomicOperation operation, const T& operand, int target, T& before) {
        return trial_.in_time() && trial_.calls("MPI_Fetch_and_op", [&] {
            return MPI_Fetch_and_op(&operand, &before, mpi_type(type), target, trial_.at(place_),
                                    mpi_operation(operation), trial_.window_);
        }) && trial_.flush(target);
    }

    /// Each time that it fails, another rank's operation has succeeded.
    [[nodiscard]] bool add_by_swap(int target) {
        using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
        constexpr int most = 1000;
        const MPI_Datatype bits = mpi_type(std::is_integral_v<T> ? type : atomic_type_of<Bits>());
        T expected{};
        for (int i = 0; i < most && trial_.in_time(); ++i) {
            const T desired = static_cast<T>(expected + T{1});
            T before{};
            const bool done = trial_.calls("MPI_Compare_and_swap", [&] {
                return MPI_Compare_and_swap(&desired, &expected, &before, bits, target, trial_.at(place_),
                                            trial_.window_);
            }) && trial_.flush(target);
            if (!done) return false;
            if (std::memcmp(&before, &expected, sizeof before) == 0) return true;
            expected = before;
        }
        return false;
    }

    WindowTrial& trial_;
    TrustedAtomics trusted_;
    std::size_t place_;
    bool works_ = true;
    std::int64_t there_ = 0;
    std::int64_t here_ = 0;
};

} // namespace lapwing::detail::mpi
