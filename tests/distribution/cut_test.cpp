#include "random_maps.hpp"

#include "examples/triangular.hpp"

#include <lapwing/detail/sections.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

using namespace lapwing;
using detail::distribution::BufferShape;

namespace {

/// Takes sections apart into elements: which place of which owner goes with which place of the buffer.
class Elements final : public detail::distribution::SectionVisitor {
public:
    void visit(const detail::distribution::Section& section) override {
        ++sections;
        std::vector<std::uint64_t> k(section.levels.size());
        for (;;) {
            std::uint64_t at_owner = section.owner_offset;
            std::uint64_t in_buffer = section.buffer_offset;
            for (std::size_t d = 0; d < k.size(); ++d) {
                at_owner += k[d] * section.levels[d].owner_stride;
                in_buffer += k[d] * section.levels[d].buffer_stride;
            }
            REQUIRE(found.emplace(in_buffer, std::pair{section.owner, at_owner}).second);
            std::size_t d = k.size();
            while (d > 0 && ++k[d - 1] == section.levels[d - 1].count) k[--d] = 0;
            if (d == 0) return;
        }
    }

    std::size_t sections = 0;
    std::map<std::uint64_t, std::pair<int, std::uint64_t>> found;
};

template <std::size_t N, class Map>
void check_cut(const Map& map, const Domain<N>& domain, const Elements& elements, std::uint64_t offset) {
    INFO(to_string(domain));
    REQUIRE(elements.found.size() == domain.size());
    std::uint64_t position = offset;
    for (const Index<N>& index : domain) {
        const Location location = map.locate(index);
        INFO("element " << to_string(index));
        REQUIRE(elements.found.contains(position));
        REQUIRE(elements.found.at(position) == std::pair{location.owner.value, location.offset});
        ++position;
    }
}

template <std::size_t N>
void check_random_cuts(unsigned seed, int rounds) {
    test::Random random{seed};
    for (int round = 0; round < rounds; ++round) {
        const int ranks = static_cast<int>(random.number(1, 7));
        const Extents<N> extents = test::random_extents<N>(random);
        const std::vector<int> grid = test::random_grid<N>(random, ranks);
        BlockCyclicMap<N> with_margins = Block{grid}.map(extents, ranks);
        with_margins.add_margins(static_cast<std::uint64_t>(random.number(1, 3)));
        const BlockCyclicMap<N> maps[] = {with_margins, Block{grid}.map(extents, ranks),
                                          Cyclic{grid}.map(extents, ranks),
                                          BlockCyclic{test::random_blocks<N>(random), grid}.map(extents, ranks)};
        for (const BlockCyclicMap<N>& map : maps)
            for (int patch = 0; patch < 4; ++patch) {
                const Domain<N> domain = test::random_domain(random, extents);
                BufferShape<N> buffer = BufferShape<N>::row_major(domain);
                buffer.offset = static_cast<std::uint64_t>(random.number(0, 3));
                Elements dealt;
                detail::distribution::cut(map.dimensions(), map.origin(), domain.ranges(), buffer.offset,
                                          buffer.strides, dealt);
                check_cut(map, domain, dealt, buffer.offset);
                REQUIRE(dealt.sections <= domain.size());
                // The general way must come to the same.
                Elements rows;
                detail::distribution::cut_rows(map, domain, buffer, rows);
                check_cut(map, domain, rows, buffer.offset);
            }
    }
}

template <std::size_t N>
std::size_t sections(const BlockCyclicMap<N>& map, const Domain<N>& domain) {
    Elements elements;
    const BufferShape<N> buffer = BufferShape<N>::row_major(domain);
    detail::distribution::cut(map.dimensions(), map.origin(), domain.ranges(), 0, buffer.strides, elements);
    return elements.sections;
}

} // namespace

TEST_CASE("cuts of one dimension hold every element once, at its place") { check_random_cuts<1>(11, 300); }
TEST_CASE("cuts of two dimensions hold every element once, at its place") { check_random_cuts<2>(12, 200); }
TEST_CASE("cuts of three dimensions hold every element once, at its place") { check_random_cuts<3>(13, 100); }
TEST_CASE("cuts of four dimensions hold every element once, at its place") { check_random_cuts<4>(14, 60); }

TEST_CASE("sections are as few as the distribution allows") {
    const Extents extents{100, 100};
    const Domain<2> all{extents};
    // One for each owner, with strides too.
    CHECK(sections(Block{.grid = {2, 2}}.map(extents, 4), all) == 4);
    CHECK(sections(Block{.grid = {2, 2}}.map(extents, 4), Domain{Range{0, 100}.by(3), Range{10, 90}.by(2)}) == 4);
    CHECK(sections(Block{.grid = {4, 1}}.map(extents, 4), Domain<2>{{10, 20}, {0, 100}}) == 1);
    CHECK(sections(Cyclic{.grid = {2, 2}}.map(extents, 4), all) == 4);
    CHECK(sections(Cyclic{.grid = {2, 2}}.map(extents, 4), Domain{Range{0, 100}.by(2), Range{0, 100}.by(2)}) == 1);
    CHECK(sections(BlockCyclic{{10, 10}, {2, 2}}.map(extents, 4), all) == 4);
    // Edges that are not whole blocks are sections of their own: one block at each end of both dimensions.
    CHECK(sections(BlockCyclic{{10, 10}, {2, 2}}.map(extents, 4), Domain<2>{{5, 95}, {5, 95}}) == 4 * 4);
    // Blocks that hold the same of a stride go together: all whole ones of a process, or every third of them.
    CHECK(sections(BlockCyclic{{10, 10}, {2, 2}}.map(extents, 4), Domain{Range{0, 100}.by(5), Range{0, 100}.by(2)}) ==
          4);
    CHECK(sections(BlockCyclic{{10, 100}, {2, 2}}.map(extents, 4), Domain{Range{0, 100}.by(3), Range{0, 50}}) == 6);
    CHECK(sections(BlockCyclic{{8}}.map(Extents{1'000'000}, 4), Domain<1>{{0, 1'000'000}}) == 4);
    CHECK(sections(BlockCyclic{{8}}.map(Extents{1'000'000}, 4), Domain<1>{{3, 999'997}}) == 6);
    // A few elements among very many ranks cost a few sections.
    const Extents large{1'000'000'000'000};
    CHECK(sections(Cyclic{}.map(large, 100'000), Domain<1>{Range{7, 1'000'000'000'000}.by(300'000'000'001)}) == 4);
    CHECK(sections(Cyclic{}.map(large, 100'000), Domain<1>{Range{7, 10}}) == 3);
}

TEST_CASE("cuts of a triangle") {
    const int n = 12;
    const Extents extents{n, n};
    const auto map = example::Triangular{}.map(extents, 3);
    test::Random random{15};
    for (int patch = 0; patch < 200; ++patch) {
        // Below the diagonal: columns up to the first row.
        const std::int64_t first = random.number(0, n - 1);
        const Domain<2> domain{Range{first, random.number(first, n)}.by(random.number(1, 2)),
                               Range{random.number(0, first), first + 1}.by(random.number(1, 3))};
        Elements elements;
        detail::distribution::cut_rows(map, domain, BufferShape<2>::row_major(domain), elements);
        check_cut(map, domain, elements, 0);
    }
}
