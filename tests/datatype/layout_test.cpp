#include "datatype/random_layout.hpp"

#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

using lapwing::BlockRun;
using lapwing::ByteBlock;
using lapwing::Domain;
using lapwing::Extents;
using lapwing::Layout;
using lapwing::LayoutCursor;
using lapwing::Range;
using test::blocks_of;
using test::Flat;
using test::flatten;
using test::RandomLayouts;
using test::Sample;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

bool increasing(const Flat& flat) {
    return std::adjacent_find(flat.begin(), flat.end(), std::greater_equal<>{}) == flat.end();
}

/// Everything that a layout tells, against the offsets of its bytes.
void require_agreement(const Layout& layout, const Flat& flat) {
    const std::vector<ByteBlock> blocks = blocks_of(flat);
    REQUIRE(flatten(layout) == flat);
    REQUIRE(layout.bytes() == flat.size());
    REQUIRE(layout.empty() == flat.empty());
    REQUIRE(layout.block_count() == blocks.size());
    REQUIRE(layout.is_contiguous() == (blocks.size() <= 1));
    const std::set<std::int64_t> touched(flat.begin(), flat.end());
    REQUIRE(layout.lower() == (flat.empty() ? 0 : *touched.begin()));
    REQUIRE(layout.upper() == (flat.empty() ? 0 : *touched.rbegin() + 1));
    REQUIRE(layout.overlaps() == (touched.size() != flat.size()));
    if (layout.is_ascending()) REQUIRE(increasing(flat));
    if (!flat.empty())
        REQUIRE(layout.density() == Approx(double(flat.size()) / double(*touched.rbegin() + 1 - *touched.begin())));
    // The canonical form does not depend on the way: the list of the blocks is the same layout.
    REQUIRE(layout == Layout::list(blocks));
    Flat changed = flat;
    if (!changed.empty()) {
        changed[changed.size() / 2] += 1;
        REQUIRE_FALSE(layout == Layout::list(blocks_of(changed)));
    }
}

} // namespace

TEST_CASE("layouts agree with the bytes they represent") {
    RandomLayouts random{1};
    int ascending = 0;
    for (int round = 0; round < 4000; ++round) {
        const Sample sample = random.make(static_cast<int>(random.number(0, 4)));
        require_agreement(sample.layout, sample.flat);
        const Sample part = random.slice(sample);
        require_agreement(part.layout, part.flat);
        const Sample of_part = random.slice(part);
        require_agreement(of_part.layout, of_part.flat);
        ascending += sample.layout.is_ascending() ? 1 : 0;
        // Where no slice is involved, is_ascending() is exact.
        REQUIRE(Layout::list(blocks_of(sample.flat)).is_ascending() == increasing(sample.flat));
    }
    REQUIRE(ascending > 500);
}

TEST_CASE("a layout intersected with an interval keeps the bytes inside, in their order") {
    RandomLayouts random{2};
    for (int round = 0; round < 3000; ++round) {
        Sample sample = random.make(static_cast<int>(random.number(0, 4)));
        if (random.number(0, 1) == 0) sample = random.slice(sample);
        const std::int64_t lower = random.number(sample.layout.lower() - 3, sample.layout.upper() + 3);
        const std::int64_t upper = random.number(lower - 1, sample.layout.upper() + 3);
        Flat inside;
        for (const std::int64_t offset : sample.flat)
            if (offset >= lower && offset < upper) inside.push_back(offset);
        REQUIRE(flatten(sample.layout.intersect(lower, upper)) == inside);
    }
    const Layout column = Layout::strided(1000, 8, 4096);
    CHECK(column.intersect(lowest, highest) == column);
    CHECK(column.intersect(4096 * 10 + 3, 4096 * 12 + 1) ==
          Layout::list(std::vector<ByteBlock>{{40963, 5}, {45056, 8}, {49152, 1}}));
}

TEST_CASE("an intersection with a layout that does not ascend is bounded by what is inside") {
    const std::uint64_t many = Layout::max_listed_blocks + 3;
    const auto last = 2 * static_cast<std::int64_t>(many - 1);
    const Layout reversed = Layout::strided(many, 1, -2, last);
    CHECK(reversed.intersect(3, 8) == Layout::list(std::vector<ByteBlock>{{6, 1}, {4, 1}}));
    CHECK_THROWS_AS(Layout::strided(many << 8, 1, -2).intersect(-7, 0), lapwing::RangeError);
}

TEST_CASE("equal sequences have the same canonical form") {
    CHECK(Layout::strided(4, 8, 8) == Layout::contiguous(32));
    CHECK(Layout::strided(4, 8, 8).is_contiguous());
    CHECK(Layout::strided(1, 8, 100, 5) == Layout::contiguous(8, 5));
    const std::vector<Layout::Dimension> folds{{3, 400}, {1, 77}, {4, 100}, {5, 4}};
    const Layout folded = Layout::strided(folds, 4);
    CHECK(folded.level_count() == 1);
    CHECK(folded == Layout::strided(12, 20, 100));
    CHECK(Layout::indexed({0, 24, 48, 72}, 12).level_count() == 1);
    CHECK(Layout::indexed({0, 24, 48, 72}, 12) == Layout::strided(4, 12, 24));
    // Groups at a constant distance are a nest.
    const Layout groups = Layout::indexed({0, 10, 20, 100, 110, 120, 200, 210, 220}, 4);
    CHECK(groups.level_count() == 2);
    CHECK(groups == Layout::strided(3, 4, 10).repeat(3, 100));
    CHECK(Layout::indexed({0, 4, 8, 20, 24, 28}, 4) == Layout::strided(2, 12, 20));
    CHECK(Layout::list(std::vector<ByteBlock>{{0, 4}, {4, 0}, {4, 4}, {9, 0}}) == Layout::contiguous(8));
    CHECK(Layout::strided(4, 8, -8).block_count() == 4);
    CHECK(Layout::strided(3, 8, 16, 4) != Layout::strided(3, 8, 16));
    CHECK(Layout::strided(3, 8, 16) != Layout::strided(3, 8, 17));
    CHECK(Layout::strided(0, 8, 16) == Layout{});
    CHECK(Layout::contiguous(0, 55) == Layout{});
    // A slice of whole iterations is the shorter pattern.
    const Layout matrix = Layout::strided(std::vector<Layout::Dimension>{{5, 1000}, {4, 16}}, 8);
    CHECK(matrix.slice(32, 96) == Layout::strided(std::vector<Layout::Dimension>{{2, 1000}, {4, 16}}, 8, 1000));
    CHECK(matrix.slice(40, 56).level_count() == 1);
    CHECK(matrix.slice(66, 70).is_contiguous());
}

TEST_CASE("blocks that meet across iterations are one maximal block") {
    // (0, 4) and (8, 4), every 12 bytes: the second meets the first of the next.
    const Layout inner = Layout::list(std::vector<ByteBlock>{{0, 4}, {8, 4}});
    const Layout layout = inner.repeat(1000, 12);
    CHECK(layout.block_count() == 1001);
    LayoutCursor cursor{layout};
    CHECK(cursor.next() == ByteBlock{0, 4});
    CHECK(cursor.next() == ByteBlock{8, 8});
    // Runs for copy kernels leave them apart.
    CHECK(LayoutCursor{layout}.peek_run().count == 2);
    CHECK(layout.slice(6, 7996).block_count() == 999);
    CHECK(layout.slice(6, 7997).block_count() == 1000);
    CHECK(layout.slice(6, 10).is_contiguous());
}

TEST_CASE("huge regular layouts are as cheap as small ones") {
    const std::uint64_t million = 1'000'000;
    const Layout layout = Layout::strided(
        std::vector<Layout::Dimension>{{million, 4'000'000'000'000}, {million, 4'000'000}, {million, 4}}, 1);
    CHECK(layout.bytes() == million * million * million);
    CHECK(layout.block_count() == layout.bytes());
    CHECK(layout.level_count() == 1);
    CHECK_FALSE(layout.overlaps());
    LayoutCursor cursor{layout};
    cursor.seek(123'456'789'012'345'678);
    CHECK(cursor.next().offset == 4 * 123'456'789'012'345'678);
    CHECK(layout.slice(7, layout.bytes() - 9).block_count() == layout.bytes() - 16);
    CHECK(layout.intersect(10, 4'000'000'000'001).bytes() == 999'999'999'998);
}

TEST_CASE("sizes and offsets that 64 bits cannot hold are errors") {
    const std::uint64_t large = std::uint64_t{1} << 63;
    CHECK_THROWS_AS(Layout::contiguous(large), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::contiguous(8, highest - 7), lapwing::RangeError);
    CHECK(Layout::contiguous(8, highest - 8).upper() == highest);
    CHECK(Layout::contiguous(8, lowest).lower() == lowest);
    CHECK_THROWS_AS(Layout::contiguous(8, lowest).shift(-1), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::strided(3, 8, highest / 2 + 1), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::strided(3, 8, lowest / 2 - 1), lapwing::RangeError);
    CHECK(Layout::strided(3, 8, lowest / 2).lower() == lowest);
    CHECK_THROWS_AS(Layout::strided(large / 4, 8, 0), lapwing::RangeError);
    CHECK_THROWS_WITH(Layout::strided(large / 4, 8, 0), Catch::Contains("2305843009213693952 times 8 bytes"));
    CHECK_THROWS_AS(Layout::indexed({0, highest - 3, 5}, 4), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::indexed({lowest, 5, highest - 4}, 4).shift(1), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::list(std::vector<ByteBlock>{{highest, 1}}), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::list(std::vector<ByteBlock>{{0, large - 1}, {0, 1}}), lapwing::RangeError);
    // A list of 2^40 blocks is not written out.
    const std::vector<Layout> parts{Layout::strided(std::uint64_t{1} << 40, 1, 2), Layout::contiguous(5)};
    CHECK_THROWS_WITH(Layout::concatenate(parts), Catch::Contains("list of 1099511627777 blocks"));
    CHECK_THROWS_WITH(Layout::contiguous(8).slice(3, 9), Catch::Contains("slice(3, 9)"));
    CHECK_THROWS_AS(Layout::contiguous(8).slice(4, 3), lapwing::RangeError);
}

TEST_CASE("a layout says what its lists take") {
    CHECK(lapwing::Layout::strided(1000, 8, 24).list_memory() == 0);
    CHECK(lapwing::Layout::indexed({0, 32, 16}, 8).list_memory() == 3 * 8);
    const lapwing::ByteBlock different[] = {{0, 8}, {40, 1}, {20, 3}};
    CHECK(lapwing::Layout::list(different).list_memory() == (3 + 4) * 8);
}

TEST_CASE("nests deeper than the levels of a layout") {
    Layout layout = Layout::contiguous(1);
    Flat flat{0};
    for (std::size_t depth = 0; depth < Layout::max_levels + 3; ++depth) {
        // No stride continues the one inside it.
        const std::int64_t stride = (std::int64_t{1} << (2 * depth)) * 3;
        layout = layout.repeat(2, stride);
        test::append(flat, test::shifted(flat, stride));
    }
    require_agreement(layout, flat);
}

TEST_CASE("the layout of a domain is its elements in order") {
    RandomLayouts random{3};
    for (int round = 0; round < 300; ++round) {
        const Extents<3> extents{random.number(1, 6), random.number(1, 6), random.number(1, 6)};
        const auto range = [&](std::size_t d) {
            const std::int64_t begin = random.number(0, extents[d]);
            return Range{begin, random.number(begin, extents[d])}.by(random.number(1, 3));
        };
        const Domain<3> domain{range(0), range(1), range(2)};
        const std::uint64_t element = random.size(1, 5);
        Flat flat;
        for (auto [i, j, k] : domain)
            for (std::uint64_t b = 0; b < element; ++b)
                flat.push_back(((i * extents[1] + j) * extents[2] + k) * static_cast<std::int64_t>(element) +
                               static_cast<std::int64_t>(b));
        require_agreement(Layout::of(domain, extents, element), flat);
    }
    CHECK(Layout::of(Domain<2>{{2, 5}, {0, 7}}, Extents{9, 7}, 8) == Layout::contiguous(168, 112));
    CHECK_THROWS_WITH(Layout::of(Domain<2>{{2, 5}, {0, 8}}, Extents{9, 7}, 8),
                      Catch::Contains("dimension 1 leaves [0, 7)"));
    CHECK_THROWS_AS(Layout::of(Domain<1>{Range{-1, 5}}, Extents{9}, 8), lapwing::RangeError);
    CHECK_THROWS_AS(Layout::of(Domain<2>{{0, 1}, {0, 1}}, Extents{1, highest}, 2), lapwing::RangeError);
}

TEST_CASE("layouts as text") {
    CHECK(lapwing::to_string(Layout{}) == "no bytes");
    CHECK(lapwing::to_string(Layout::contiguous(12, -4)) == "12 bytes at -4");
    CHECK(lapwing::to_string(Layout::strided(4, 12, 24)) == "4 blocks of 12 bytes, stride 24, 48 bytes within [0, 84)");
    CHECK(lapwing::to_string(Layout::indexed({0, 7, 9}, 1)) == "3 blocks of 1 bytes, indexed, 3 bytes within [0, 10)");
}
