#pragma once

#include "datatype/random_layout.hpp"
#include "pipeline/planner.hpp"

#include <lapwing/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

/// Transfers with random layouts on both sides.
namespace test {

inline constexpr std::int64_t window_bytes = 16384;
inline constexpr std::int64_t memory_bytes = 16384;

using Bytes = std::vector<std::byte>;

inline std::byte pattern(std::uint64_t who, std::uint64_t round, std::uint64_t at) {
    return static_cast<std::byte>((who * 131 + round * 31 + at * 7 + at / 251) & 0xff);
}

inline bool has_duplicates(const Flat& flat) {
    return std::set<std::int64_t>(flat.begin(), flat.end()).size() != flat.size();
}

/// Two layouts of equally many bytes, moved into [0, room) each; the bytes of the second occur once.
struct Sides {
    Sample source;
    Sample target;
};

/// `sample` moved so that its offsets are at least 0, and at random from there.
inline bool place(RandomLayouts& random, Sample& sample, std::int64_t room) {
    if (sample.flat.empty()) return true;
    const auto [low, high] = std::ranges::minmax(sample.flat);
    if (high - low >= room) return false;
    const std::int64_t distance = random.number(0, room - (high - low) - 1) - low;
    sample = {sample.layout.shift(distance), shifted(sample.flat, distance)};
    return true;
}

inline Sides random_sides(RandomLayouts& random) {
    for (;;) {
        Sides sides{random.make(static_cast<int>(random.number(0, 4))),
                    random.make(static_cast<int>(random.number(0, 4)))};
        if (random.number(0, 3) == 0) { // contiguous on one side
            const std::uint64_t bytes = std::max(sides.source.flat.size(), sides.target.flat.size());
            Sample& side = random.number(0, 1) == 0 ? sides.source : sides.target;
            side = {lapwing::Layout::contiguous(bytes), {}};
            for (std::uint64_t i = 0; i < bytes; ++i) side.flat.push_back(static_cast<std::int64_t>(i));
        }
        const std::size_t bytes = std::min(sides.source.flat.size(), sides.target.flat.size());
        for (Sample* const side : {&sides.source, &sides.target}) {
            side->layout = side->layout.slice(0, bytes);
            side->flat.resize(bytes);
        }
        if (has_duplicates(sides.target.flat) || !place(random, sides.source, window_bytes) ||
            !place(random, sides.target, window_bytes))
            continue;
        return sides;
    }
}

inline lapwing::PlanOptions random_options(RandomLayouts& random, lapwing::Path path) {
    using lapwing::Path;
    using lapwing::PlanOptions;
    using lapwing::Strategy;
    constexpr std::array strategies{Strategy::automatic,      Strategy::per_block,     Strategy::full_pack,
                                    Strategy::fixed_pipeline, Strategy::superpipeline, Strategy::direct_copy,
                                    Strategy::owner_packed};
    PlanOptions options{.strategy = strategies[random.size(0, strategies.size() - 1)],
                        .first_chunk = random.size(1, 300),
                        .growth = 1 + static_cast<double>(random.size(0, 20)) / 10,
                        .largest_chunk = random.size(1, 1000)};
    if (random.number(0, 1) == 0) options = {.strategy = options.strategy}; // chunks by the cost model
    const bool mapped = lapwing::detail::pipeline::is_mapped(path);
    if (options.strategy == Strategy::direct_copy && !mapped) options.strategy = Strategy::superpipeline;
    if (options.strategy == Strategy::owner_packed && mapped) options.strategy = Strategy::fixed_pipeline;
    return options;
}

/// For gets, which may be sieved, too.
inline lapwing::PlanOptions random_get_options(RandomLayouts& random, lapwing::Path path) {
    lapwing::PlanOptions options = random_options(random, path);
    if (!lapwing::detail::pipeline::is_mapped(path) && random.number(0, 3) == 0)
        options.strategy = lapwing::Strategy::sieved;
    return options;
}

} // namespace test
