#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Computations that never call MPI or Lapwing.
namespace lapwing::bench {

/// Multiplications and additions in registers and the first-level cache: about 10 us.
inline void arithmetic_block(std::vector<double>& values) {
    for (int round = 0; round < 8; ++round) {
        for (double& value : values) value = value * 0.999999 + 0.000001;
    }
}

/// A triad through memory: `values` split in three parts, a = b + s c.
inline void memory_block(std::vector<double>& values) {
    const std::size_t third = values.size() / 3;
    double* const a = values.data();
    const double* const b = a + third;
    const double* const c = b + third;
    for (std::size_t i = 0; i < third; ++i) a[i] = b[i] + 0.5 * c[i];
}

/// Computes until `end`; returns the number of blocks.
inline std::uint64_t compute_until(std::chrono::steady_clock::time_point end) {
    std::vector<double> values(4096, 1.0);
    std::uint64_t blocks = 0;
    while (std::chrono::steady_clock::now() < end) {
        arithmetic_block(values);
        ++blocks;
    }
    return blocks;
}

} // namespace lapwing::bench
