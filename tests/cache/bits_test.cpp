#include "cache/bits.hpp"

#include "support/catch.hpp"

#include <random>
#include <utility>
#include <vector>

namespace bits = lapwing::detail::cache::bits;

TEST_CASE("ranges and runs of bits are those of a list of flags") {
    std::mt19937_64 random{1};
    for (int round = 0; round < 3000; ++round) {
        const std::size_t words = 1 + random() % 3;
        std::vector<std::uint64_t> set(words);
        std::vector<bool> flags(words * 64);
        for (int i = 0; i < 6; ++i) {
            std::uint64_t begin = random() % (words * 64 + 1);
            std::uint64_t end = random() % (words * 64 + 1);
            if (begin > end) std::swap(begin, end);
            const bool value = random() % 3 != 0;
            if (value) bits::set(set, begin, end);
            else bits::clear(set, begin, end);
            for (std::uint64_t k = begin; k < end; ++k) flags[k] = value;
        }
        std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
        for (std::uint64_t k = 0; k < flags.size(); ++k) {
            if (!flags[k]) continue;
            if (!expected.empty() && expected.back().second == k) ++expected.back().second;
            else expected.emplace_back(k, k + 1);
        }
        std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
        bits::for_each_run(set, [&](std::uint64_t begin, std::uint64_t end) { runs.emplace_back(begin, end); });
        REQUIRE(runs == expected);
        REQUIRE(bits::at_most_one_run(set) == (expected.size() <= 1));
        const std::uint64_t begin = random() % (words * 64);
        const std::uint64_t end = begin + random() % (words * 64 - begin + 1);
        bool all = true;
        bool any = false;
        for (std::uint64_t k = begin; k < end; ++k) {
            all = all && flags[k];
            any = any || flags[k];
        }
        REQUIRE(bits::all(set, begin, end) == all);
        REQUIRE(bits::any(set, begin, end) == any);
    }
}
