// The prepared arithmetic of an element access, without MPI: own boxes and node neighbours, up to huge extents.
#include "tests/distribution/random_maps.hpp"

#include <lapwing/detail/element_access.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

using namespace lapwing;

namespace {

/// A node that holds the ranks [first, first + count) of a team. No byte of it is touched.
struct Node {
    std::vector<std::byte*> bases;
    detail::transport::MemoryMap map;

    Node(int ranks, int first, int count) {
        for (int i = 0; i < count; ++i) bases.push_back(reinterpret_cast<std::byte*>(std::uintptr_t(i + 1) << 48U));
        map.ranks = ranks;
        map.node_first = first;
        map.node_count = count;
        map.bases = bases.data();
    }
    [[nodiscard]] const std::int64_t* expected(const Location& location) const {
        std::byte* const base = map.base(location.owner.value);
        return base == nullptr ? nullptr : reinterpret_cast<const std::int64_t*>(base) + location.offset;
    }
};

/// Whether the ranks [first, first + count) are a box in the grid of `map` with rows of one length.
template <std::size_t N>
bool is_box(const BlockCyclicMap<N>& map, int first, int count) {
    int processes = 1;
    for (const auto& dimension : map.dimensions()) processes *= dimension.processes();
    std::array<std::set<int>, N> coordinates;
    int in_grid = 0;
    for (int rank = first; rank < std::min(first + count, processes); ++rank, ++in_grid)
        for (std::size_t d = 0; d < N; ++d) coordinates[d].insert(map.dimensions()[d].process_of(rank));
    std::size_t box = 1;
    for (std::size_t d = 0; d < N; ++d) {
        box *= coordinates[d].size();
        std::set<std::uint64_t> lengths;
        for (const int process : coordinates[d])
            lengths.insert(map.dimensions()[d].room(static_cast<std::uint64_t>(process)));
        if (d != 0 && lengths.size() > 1) return false;
    }
    return in_grid > 0 && box == static_cast<std::size_t>(in_grid);
}

template <std::size_t N>
void check_node_elements(test::Random& random) {
    const int ranks = static_cast<int>(random.number(1, 12));
    const bool whole = random.number(0, 2) == 0;
    const int first = whole ? 0 : static_cast<int>(random.number(0, ranks - 1));
    const int count = whole ? ranks : static_cast<int>(random.number(1, ranks - first));
    const Node node{ranks, first, count};
    const Extents<N> extents = test::random_extents<N>(random);
    const std::vector<int> grid = test::random_grid<N>(random, ranks);
    const std::vector<std::int64_t> blocks(N, random.number(1, 4));
    BlockCyclicMap<N> with_margins = Block{grid}.map(extents, ranks);
    with_margins.add_margins(static_cast<std::uint64_t>(random.number(1, 3)));
    for (const BlockCyclicMap<N>& map :
         {with_margins, Block{grid}.map(extents, ranks), Cyclic{grid}.map(extents, ranks),
          BlockCyclic{.block = blocks, .grid = grid}.map(extents, ranks)}) {
        const bool served = is_box(map, first, count);
        if (whole && N == 1) REQUIRE(served);
        const detail::arrays::LinearElements<N> elements{map, node.map, sizeof(std::int64_t)};
        for (const Index<N>& index : Domain<N>{extents})
            REQUIRE(elements.template find<std::int64_t>(index) ==
                    (served ? node.expected(map.locate(index)) : nullptr));
        // One step outside in each direction.
        for (std::size_t d = 0; d < N; ++d) {
            Index<N> index{};
            index[d] = -1;
            REQUIRE(elements.template find<std::int64_t>(index) == nullptr);
            index[d] = extents[d];
            REQUIRE(elements.template find<std::int64_t>(index) == nullptr);
        }
    }
}

/// The places of all elements, where parts of a kilobyte more than the largest lie one after another.
template <std::size_t N>
void check_places(test::Random& random) {
    const int ranks = static_cast<int>(random.number(1, 12));
    const Extents<N> extents = test::random_extents<N>(random);
    const std::vector<int> grid = test::random_grid<N>(random, ranks);
    const std::vector<std::int64_t> blocks(N, random.number(1, 12));
    for (const BlockCyclicMap<N>& map : {Block{grid}.map(extents, ranks), Cyclic{grid}.map(extents, ranks),
                                         BlockCyclic{.block = blocks, .grid = grid}.map(extents, ranks)}) {
        const std::uint64_t stride = map.local_capacity() * 8 + 1024;
        const detail::arrays::LinearElements<N> elements{map, 0, ranks, 4096, stride, 8};
        REQUIRE(elements.serves() == is_box(map, 0, ranks));
        for (const Index<N>& index : Domain<N>{extents}) {
            const Location location = map.locate(index);
            std::uint64_t place = 0;
            REQUIRE(elements.holds(index) == elements.serves());
            REQUIRE(elements.find(index, place) == elements.serves());
            if (elements.serves())
                REQUIRE(place ==
                        4096 + static_cast<std::uint64_t>(location.owner.value) * stride + 8 * location.offset);
        }
        Index<N> outside{};
        outside[N - 1] = extents[N - 1];
        REQUIRE_FALSE(elements.holds(outside));
    }
}

template <std::size_t N>
void check_own_box(test::Random& random) {
    const int ranks = static_cast<int>(random.number(1, 12));
    const Extents<N> extents = test::random_extents<N>(random);
    BlockCyclicMap<N> map = Block{test::random_grid<N>(random, ranks)}.map(extents, ranks);
    if (random.number(0, 1) == 1) map.add_margins(static_cast<std::uint64_t>(random.number(1, 3)));
    for (int rank = 0; rank < ranks; ++rank) {
        if (map.domain_count(Rank{rank}) == 0) continue;
        const detail::arrays::DenseBox<N> box{map.domain(Rank{rank}, 0), map.strides(Rank{rank})};
        for (const Index<N>& index : Domain<N>{extents}.expand(1)) {
            const bool own = Domain<N>{extents}.contains(index) && map.locate(index).owner == Rank{rank};
            REQUIRE(box.holds(index) == own);
            if (own) REQUIRE(map.origin() + box.offset(index) == map.locate(index).offset);
        }
    }
}

/// `check` of arrays of 1 to 4 dimensions, many times.
template <class Check>
void in_all_dimensions(unsigned seed, Check check) {
    test::Random random{seed};
    for (int round = 0; round < 60; ++round) {
        check.template operator()<1>(random);
        check.template operator()<2>(random);
        check.template operator()<3>(random);
        check.template operator()<4>(random);
    }
}

} // namespace

TEST_CASE("a node neighbour's element is found where the map puts it") {
    in_all_dimensions(41, []<std::size_t N>(test::Random& random) { check_node_elements<N>(random); });
}

TEST_CASE("the place of any rank's element is where the map puts it") {
    in_all_dimensions(43, []<std::size_t N>(test::Random& random) { check_places<N>(random); });
}

TEST_CASE("an own box holds what the map puts at the rank, at its place") {
    in_all_dimensions(42, []<std::size_t N>(test::Random& random) { check_own_box<N>(random); });
}

TEST_CASE("boxes and neighbours of arrays beyond 2^32 elements a dimension") {
    const std::int64_t rows = (std::int64_t{1} << 33) + 5;
    const std::int64_t columns = 11;
    const int ranks = 3;
    for (const BlockCyclicMap<2>& map :
         {Block{{3, 1}}.map(Extents<2>{rows, columns}, ranks), Cyclic{{3, 1}}.map(Extents<2>{rows, columns}, ranks)}) {
        const Node node{ranks, 0, ranks};
        const detail::arrays::LinearElements<2> elements{map, node.map, sizeof(std::int64_t)};
        for (const std::int64_t i : {std::int64_t{0}, rows / 3, rows / 3 + 1, (std::int64_t{1} << 32) + 1, rows - 1}) {
            const Index<2> index{i, 10};
            REQUIRE(elements.find<std::int64_t>(index) == node.expected(map.locate(index)));
        }
        REQUIRE(elements.find<std::int64_t>({rows, 0}) == nullptr);
    }
    const detail::arrays::DenseBox<2> box{Domain<2>{{5, rows}, {1, columns}}, {10, 1}};
    REQUIRE(box.holds({rows - 1, 10}));
    REQUIRE(box.offset({rows - 1, 10}) == static_cast<std::uint64_t>(rows - 1 - 5) * 10 + 9);
    REQUIRE_FALSE(box.holds({rows, 1}));
    REQUIRE_FALSE(box.holds({4, 1}));
    REQUIRE_FALSE(box.holds({std::numeric_limits<std::int64_t>::min(), 1}));
}

TEST_CASE("of single indices that are dealt to ranks of other nodes, too, a node's own are found") {
    const Node some{4, 1, 2};
    const BlockCyclicMap<1> blocks = Block{}.map(Extents<1>{100}, 4);
    const BlockCyclicMap<1> dealt = Cyclic{}.map(Extents<1>{100}, 4);
    REQUIRE(detail::arrays::LinearElements<1>{blocks, some.map, 8}.find<std::int64_t>({30}) != nullptr);
    const detail::arrays::LinearElements<1> elements{dealt, some.map, 8};
    REQUIRE(elements.find<std::int64_t>({1}) == some.expected(dealt.locate({1})));
    REQUIRE(elements.find<std::int64_t>({98}) == some.expected(dealt.locate({98})));
    REQUIRE(elements.find<std::int64_t>({0}) == nullptr);
    REQUIRE(elements.find<std::int64_t>({99}) == nullptr);
}

TEST_CASE("maps and nodes that are not served find nothing, so that the general way is taken") {
    const BlockCyclicMap<1> blocks = Block{}.map(Extents<1>{100}, 4);
    // Parts at unequal distances.
    Node uneven{4, 0, 4};
    REQUIRE(detail::arrays::LinearElements<1>{blocks, uneven.map, 8}.find<std::int64_t>({0}) != nullptr);
    uneven.bases[3] += 4096;
    REQUIRE(detail::arrays::LinearElements<1>{blocks, uneven.map, 8}.find<std::int64_t>({0}) == nullptr);
    // Ranks of the node that are not numbered one after the other.
    Node scattered{4, 0, 2};
    const std::vector<std::int32_t> node_index{0, -1, 1, -1};
    scattered.map.node_index = node_index.data();
    REQUIRE(detail::arrays::LinearElements<1>{blocks, scattered.map, 8}.find<std::int64_t>({0}) == nullptr);
    REQUIRE(detail::arrays::LinearElements<1>{}.find<std::int64_t>(Index<1>{0}) == nullptr);
}
