#pragma once

#include "harness.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Reading single elements of a global array and through a raw pointer, along the same random stream of indices.
namespace lapwing::bench {

/// Elements of the part that is read, a power of 2: one that fits the first-level cache, one that fits the second.
struct Working {
    const char* name;
    std::int64_t elements;
};
inline constexpr Working working_sets[] = {{"L1", 2 * 1024}, {"L2", 64 * 1024}};
/// Row length of two-dimensional arrays, a power of 2.
inline constexpr std::int64_t columns = 64;

/// Of rank 0, reached by load and store. Where there is none, the benchmark has no cases.
inline std::optional<Rank> direct_neighbour(Context& context, const Team& team) {
    const auto route = context.measure_against(team, Path::direct);
    if (route) return route->target;
    context.skip("all cases", "rank 0 has no neighbour that it reaches by load and store");
    return {};
}

/// Indices that are computed as they are needed: xorshift (Marsaglia, 2003), a chain of six operations, which is what
/// limits the reads through a raw pointer.
template <std::size_t N>
class ComputedIndices {
public:
    /// `domain` has power-of-2 sizes and strides of 1.
    explicit ComputedIndices(const Domain<N>& domain) : origin_{domain.first()} {
        for (std::size_t d = 0; d < N; ++d) mask_[d] = static_cast<std::int64_t>(domain.range(d).size()) - 1;
    }

    template <class Use>
    void each(std::uint64_t count, Use use) const {
        std::uint64_t state = 88172645463325252;
        for (std::uint64_t k = 0; k < count; ++k) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const auto low = static_cast<std::int64_t>(state & 0xffffffff);
            if constexpr (N == 1) {
                use(origin_[0] + (low & mask_[0]));
            } else {
                const auto high = static_cast<std::int64_t>(state >> 32);
                use(origin_[0] + (low & mask_[0]), origin_[1] + (high & mask_[1]));
            }
        }
    }

private:
    Index<N> origin_;
    Index<N> mask_{};
};

/// Indices that lie in memory, as those of a sparse matrix do: nothing limits the reads but the reads themselves.
template <std::size_t N>
class StoredIndices {
public:
    explicit StoredIndices(std::vector<std::array<std::int32_t, N>> indices) : indices_{std::move(indices)} {}
    /// At random from a domain.
    explicit StoredIndices(const Domain<N>& domain) : indices_(4096) {
        std::mt19937_64 generator{12345};
        for (auto& index : indices_) {
            for (std::size_t d = 0; d < N; ++d) {
                std::uniform_int_distribution<std::int64_t> draw{domain.first()[d], domain.last()[d]};
                index[d] = static_cast<std::int32_t>(draw(generator));
            }
        }
    }

    template <class Use>
    void each(std::uint64_t count, Use use) const {
        for (std::uint64_t done = 0; done < count; done += indices_.size()) {
            const std::size_t now = std::min<std::uint64_t>(indices_.size(), count - done);
            for (std::size_t k = 0; k < now; ++k) {
                if constexpr (N == 1) use(std::int64_t{indices_[k][0]});
                else use(std::int64_t{indices_[k][0]}, std::int64_t{indices_[k][1]});
            }
        }
    }

private:
    /// Four bytes an index, so that the stream takes as little cache as may be.
    std::vector<std::array<std::int32_t, N>> indices_;
};

/// A function of its own, as a scientist's loop is: the sum then lives in a register, for raw pointers and arrays
/// alike.
template <class Sum, class Indices, class Read>
[[gnu::noinline]] Sum sum_of_reads(const Indices& indices, std::uint64_t count, Read read) {
    Sum sum{};
    indices.each(count, [&](auto... index) { sum += read(index...); });
    return sum;
}

/// A subject that sums `read(i)` or `read(i, j)` over the indices. An iteration is one read.
template <class Sum = double, class Indices, class Read>
Subject reads(std::string name, Team& team, const Indices& indices, Read read) {
    return {.name = std::move(name), .run = [&team, indices, read](std::uint64_t iterations) {
                return alone(team, [&] {
                    Sum sum = sum_of_reads<Sum>(indices, iterations, read);
                    keep(sum);
                });
            }};
}

/// Adds the rows for `part` of `array`, the part of one rank, whose raw memory is at `raw`.
template <class T, std::size_t N>
void compare_reads(Context& context, Team& team, GlobalArray<T, N>& array, const Domain<N>& part, const T* raw,
                   const std::string& working, const char* baseline) {
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    const auto through_array = [&array](auto... index) -> T { return array(index...); };
    const Index<N> first = part.first();
    std::int64_t origin = first[0];
    if constexpr (N == 2) origin = first[0] * columns + first[1];
    const auto through_pointer = [raw, origin](std::int64_t i, auto... j) {
        if constexpr (N == 1) return raw[i - origin];
        else return raw[i * columns + (j + ...) - origin];
    };
    const std::string name = (N == 1 ? "a(i), " : "a(i, j), ") + working;

    const auto compare = [&](const auto& indices, const char* kind) {
        context.compare(name + kind, nanoseconds(), reads<Sum>("lapwing", team, indices, through_array),
                        {reads<Sum>(baseline, team, indices, through_pointer)});
    };
    compare(ComputedIndices<N>{part}, ", computed indices");
    compare(StoredIndices<N>{part}, ", stored indices");
}

} // namespace lapwing::bench
