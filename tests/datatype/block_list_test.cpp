#include "datatype/random_layout.hpp"

#include <lapwing/block_list.hpp>
#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <map>

using lapwing::BlockList;
using lapwing::BlockPair;
using lapwing::Layout;
using test::Flat;
using test::RandomLayouts;
using test::Sample;

namespace {

using Moves = std::map<std::int64_t, std::int64_t>; // from target to source

Moves moves(const BlockList& list) {
    Moves result;
    for (const BlockPair& pair : list.pairs())
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(pair.bytes); ++i)
            REQUIRE(result.emplace(pair.target + i, pair.source + i).second);
    return result;
}

/// Sorted by target, and nothing that could be merged.
void require_minimal(const BlockList& list) {
    std::uint64_t bytes = 0;
    const BlockPair* last = nullptr;
    for (const BlockPair& pair : list.pairs()) {
        REQUIRE(pair.bytes > 0);
        bytes += pair.bytes;
        if (last != nullptr) {
            const auto length = static_cast<std::int64_t>(last->bytes);
            REQUIRE(pair.target >= last->target + length);
            REQUIRE_FALSE((pair.target == last->target + length && pair.source == last->source + length));
        }
        last = &pair;
    }
    REQUIRE(list.bytes() == bytes);
}

} // namespace

TEST_CASE("a block list moves the bytes of two layouts in minimal form") {
    RandomLayouts random{21};
    int lists = 0;
    for (int round = 0; round < 2000; ++round) {
        const Sample a = random.make(static_cast<int>(random.number(0, 3)));
        const Sample b = random.make(static_cast<int>(random.number(0, 3)));
        const std::uint64_t bytes = std::min(a.flat.size(), b.flat.size());
        const Layout source = a.layout.slice(0, bytes);
        const Layout target = b.layout.slice(0, bytes);
        if (target.overlaps()) {
            REQUIRE_THROWS_AS((BlockList{source, target}), lapwing::UsageError);
            continue;
        }
        Moves expected;
        for (std::size_t i = 0; i < bytes; ++i) expected[b.flat[i]] = a.flat[i];
        const BlockList list{source, target};
        require_minimal(list);
        REQUIRE(moves(list) == expected);
        lists += list.pairs().size() > 2 ? 1 : 0;

        // The order of the pairs, and where they are cut, do not matter.
        std::vector<BlockPair> shuffled;
        for (const BlockList& part : list.split(random.size(1, 7)))
            shuffled.insert(shuffled.begin(), part.pairs().begin(), part.pairs().end());
        REQUIRE(BlockList{shuffled} == list);

        const std::int64_t lower = random.number(-50, 50);
        const std::int64_t upper = random.number(lower - 1, 80);
        const BlockList inside = list.within_target(lower, upper);
        require_minimal(inside);
        Moves kept;
        for (const auto& [to, from] : expected)
            if (to >= lower && to < upper) kept[to] = from;
        REQUIRE(moves(inside) == kept);

        const std::uint64_t size = random.size(1, 20);
        Moves together;
        std::uint64_t position = 0;
        for (const BlockList& part : list.split(size)) {
            require_minimal(part);
            position += part.bytes();
            REQUIRE((part.bytes() == size || position == bytes));
            REQUIRE(part == list.slice(position - part.bytes(), position));
            together.merge(moves(part));
        }
        REQUIRE(together == expected);
    }
    REQUIRE(lists > 200);
}

TEST_CASE("block lists refuse what has no meaning") {
    CHECK_THROWS_WITH((BlockList{{{0, 0, 8}, {100, 6, 4}}}), Catch::Contains("8 bytes at 0 and 4 bytes at 6"));
    CHECK_THROWS_AS((BlockList{Layout::contiguous(8), Layout::contiguous(9)}), lapwing::RangeError);
    CHECK_THROWS_AS((BlockList{{{0, 0, 8}}}.split(0)), lapwing::RangeError);
    CHECK_THROWS_AS((BlockList{{{0, 0, 8}}}.slice(5, 9)), lapwing::RangeError);
    CHECK(BlockList{{{4, 14, 4}, {0, 10, 4}, {9, 9, 0}}} == BlockList{{{0, 10, 8}}});
    CHECK(BlockList{}.split(5).empty());
}
