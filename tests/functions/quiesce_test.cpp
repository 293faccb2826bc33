// The end of all calls: random trees of functions that post functions, on any rank, in any way, are all counted when
// quiesce() returns. TEST_TREES and TEST_SEED in the environment: how many trees, and which.
#include "support/catch.hpp"
#include "team/team_test.hpp"

#include <lapwing/functions.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <array>
#include <atomic>
#include <cstdint>

using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Where;

namespace {

constexpr int deepest = 7;
constexpr std::uint64_t children_shift = 8;
constexpr std::uint64_t form_shift = 16;
constexpr std::uint64_t target_shift = 24;

Runtime* here = nullptr;
lapwing::GlobalArray<std::int64_t, 1>* elements = nullptr;
std::atomic<std::int64_t> counted{0}; ///< on this rank; functions for the program run beside others

/// SplitMix64, by Steele, Lea and Flood.
std::uint64_t mixed(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
/// Of the call with this seed: 1.1 on the average.
std::uint64_t children_of(std::uint64_t seed, int depth) {
    constexpr std::array<std::uint64_t, 8> counts{0, 0, 0, 1, 1, 2, 2, 3};
    return depth == deepest ? 0 : counts[seed >> children_shift & 7];
}
std::uint64_t child_of(std::uint64_t seed, std::uint64_t child) { return mixed(seed + child); }

/// The calls of a tree.
std::int64_t size_of(std::uint64_t seed, int depth = 0) {
    std::int64_t all = 1;
    for (std::uint64_t child = 0; child < children_of(seed, depth); ++child)
        all += size_of(child_of(seed, child), depth + 1);
    return all;
}

void start(std::uint64_t seed, int depth);

/// Counts itself, and calls the next ones.
void branch(std::uint64_t seed, int depth) {
    for (std::uint64_t child = 0; child < children_of(seed, depth); ++child) start(child_of(seed, child), depth + 1);
    counted.fetch_add(1, std::memory_order_relaxed);
}
void branch_at(std::int64_t& element, std::uint64_t seed, int depth) {
    ++element; // one progress side alone changes it
    branch(seed, depth);
}

void start(std::uint64_t seed, int depth) {
    const Rank target{static_cast<int>((seed >> target_shift) % static_cast<std::uint64_t>(here->size()))};
    switch (seed >> form_shift & 15) {
    case 0:
    case 1: here->post(Where::program, target, lapwing::fn<&branch>, seed, depth); break;
    case 2:
    case 3:
        elements->post(static_cast<std::int64_t>(seed >> target_shift) % elements->extent(0), lapwing::fn<&branch_at>,
                       seed, depth);
        break;
    default: here->post(target, lapwing::fn<&branch>, seed, depth);
    }
}

} // namespace

TEST_CASE("quiesce returns when no call of any random tree is left") {
    const std::uint64_t trees = test::number_from_environment("TEST_TREES", 4000);
    std::uint64_t seed = mixed(test::number_from_environment("TEST_SEED", 1)); // the same on all ranks
    Runtime runtime;
    lapwing::GlobalArray<std::int64_t, 1> array{runtime, {3 * runtime.size()}, lapwing::Cyclic{}};
    here = &runtime;
    elements = &array;
    counted = 0;
    runtime.barrier();
    std::int64_t expected = 0;
    std::int64_t wrong = 0;
    constexpr std::array<std::uint64_t, 8> at_a_time{1, 1, 2, 3, 8, 30, 100, 300};
    constexpr std::uint64_t many = 100'000;
    const std::uint64_t scale = trees < many ? 1 : 10;
    for (std::uint64_t begun = 0; begun < trees;) {
        seed = mixed(seed);
        for (std::uint64_t left = scale * at_a_time[seed & 7]; left > 0; --left, ++begun) {
            const std::uint64_t tree = mixed(seed + left);
            expected += size_of(tree);
            if (tree % static_cast<std::uint64_t>(runtime.size()) != static_cast<std::uint64_t>(runtime.rank().value))
                continue;
            if (left % 5 == 0) (void)runtime.call(runtime.rank(), lapwing::fn<&branch>, tree, 0); // drops the future
            else start(tree, 0);
        }
        runtime.quiesce();
        if (runtime.sum(counted.load(std::memory_order_relaxed)) != expected) ++wrong;
    }
    CHECK(wrong == 0);
    runtime.barrier();
    here = nullptr;
    elements = nullptr;
}
