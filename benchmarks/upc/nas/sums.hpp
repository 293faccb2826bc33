#pragma once

#include <lapwing/upc.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::nas {

/// Sums of N doubles over all threads, which all of them get, and a barrier (upc::allv_reduce() is none). Each thread
/// puts its numbers at every other one. After one barrier each adds up the numbers that it was given, in the order of
/// the threads, so that all have the same bits. There are two sets of slots in turn: a slot is written again after the
/// next barrier, which its owner enters when it has read it.
template <std::size_t N>
class Sums {
public:
    /// Collective.
    Sums() = default;

    /// What the heap of a thread must have for it.
    [[nodiscard]] static std::uint64_t heap_bytes(int threads) noexcept {
        return 2 * sizeof(Values) * static_cast<std::uint64_t>(threads) + 64;
    }

    using Values = std::array<double, N>;
    /// Collective, with the meaning of a barrier.
    [[nodiscard]] Values operator()(const Values& mine) {
        const int threads = upc::threads();
        const int me = upc::mythread();
        turn_ ^= 1;
        for (int k = 0; k < threads; ++k) {
            const int t = (me + k) % threads; // not all to the same one at a time
            slots_[slot(t, me)] = mine;
        }
        upc::barrier();
        const Values* const given = slots_.local() + slot(0, 0);
        Values sum{};
        for (int t = 0; t < threads; ++t)
            for (std::size_t i = 0; i < N; ++i) sum[i] += given[t][i];
        return sum;
    }

private:
    /// The slot that thread `from` has with thread `with`, in this turn.
    [[nodiscard]] std::int64_t slot(int with, int from) const {
        return (static_cast<std::int64_t>(with) * 2 + turn_) * upc::threads() + from;
    }

    // shared [2 * THREADS] Values slots[2 * THREADS * THREADS]
    upc::SharedArray<Values, upc::dynamic_block> slots_{static_cast<std::size_t>(2 * upc::threads() * upc::threads())};
    int turn_ = 0;
};

} // namespace lapwing::nas
