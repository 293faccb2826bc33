#pragma once

#include "harness.hpp"

#include <lapwing/domain.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Reading single elements of a global array and through a raw pointer, along the same random stream of indices.
namespace lapwing::bench {

/// Elements of the part that is read: one that fits the first-level cache, one that fits the second.
struct Working {
    const char* name;
    std::int64_t elements;
};
inline constexpr Working working_sets[] = {{"L1", 2 * 1024}, {"L2", 64 * 1024}};

/// Indices within `domain`, drawn evenly. Four bytes each, so that the stream takes as little cache as may be.
template <std::size_t N>
std::vector<std::array<std::int32_t, N>> random_indices(const Domain<N>& domain, std::size_t count) {
    std::mt19937_64 generator{12345};
    std::vector<std::array<std::int32_t, N>> indices(count);
    for (auto& index : indices) {
        for (std::size_t d = 0; d < N; ++d) {
            std::uniform_int_distribution<std::int64_t> draw{domain.first()[d], domain.last()[d]};
            index[d] = static_cast<std::int32_t>(draw(generator));
        }
    }
    return indices;
}

/// A subject that reads `read(i)` or `read(i, j)` for every index of the stream. `ranks` orders the ranks around it.
///
/// An iteration is one read. The sum needs each value, as a computation would; the sum of doubles is a chain of additions
/// of some cycles each, that of integers leaves the access itself as the bound.
template <class T, std::size_t N, class Read>
Subject element_reads(std::string name, Team& team, std::vector<std::array<std::int32_t, N>> indices, Read read) {
    return {.name = std::move(name), .run = [&team, indices = std::move(indices), read](std::uint64_t iterations) {
                return alone(team, [&] {
                    T sum{};
                    for (std::uint64_t done = 0; done < iterations; done += indices.size()) {
                        const std::size_t count = std::min<std::uint64_t>(indices.size(), iterations - done);
                        for (std::size_t k = 0; k < count; ++k) {
                            if constexpr (N == 1) sum += read(indices[k][0]);
                            else sum += read(indices[k][0], indices[k][1]);
                        }
                    }
                    keep(sum);
                });
            }};
}

inline constexpr std::size_t stream_length = 4096;

/// Adds the rows for a part `mine` (with indices of the whole array) of row-major `array`, whose raw memory is at `raw`.
template <class T, std::size_t N, class Array>
void compare_reads(Context& context, Team& team, Array& array, const Domain<N>& part, const T* raw,
                   const std::string& case_name, const char* baseline) {
    const auto indices = random_indices(part, stream_length);
    const Index<N> first = part.first();
    Subject through_array, through_pointer;
    if constexpr (N == 1) {
        through_array =
            element_reads<T, N>("lapwing", team, indices, [&array](std::int64_t i) -> T { return array(i); });
        through_pointer = element_reads<T, N>(baseline, team, indices,
                                              [raw, origin = first[0]](std::int64_t i) { return raw[i - origin]; });
    } else {
        through_array = element_reads<T, N>("lapwing", team, indices,
                                            [&array](std::int64_t i, std::int64_t j) -> T { return array(i, j); });
        const auto columns = static_cast<std::int64_t>(part.range(1).size());
        through_pointer =
            element_reads<T, N>(baseline, team, indices,
                                [raw, columns, origin = first[0] * columns + first[1]](std::int64_t i, std::int64_t j) {
                                    return raw[i * columns + j - origin];
                                });
    }
    context.compare(case_name, nanoseconds(), through_array, {through_pointer});
}

} // namespace lapwing::bench
