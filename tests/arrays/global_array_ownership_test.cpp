// Who owns which elements of a global array, as every rank sees it; local memory; shapes at the edges.
#include "tests/arrays/array_test.hpp"

#include <utility>

using namespace lapwing;

namespace {

/// Own elements say their owner; then every rank compares with what its own array says.
template <std::size_t N>
void check_ownership(const Extents<N>& extents) {
    Runtime runtime;
    test::for_every_maker<std::int32_t, N>(runtime.size(), [&](const test::Maker<std::int32_t, N>& maker) {
        if (maker.lower_triangle && extents[0] != extents[1 % N]) return;
        INFO("extents " << to_string(extents.values()));
        GlobalArray<std::int32_t, N> array = maker.make(runtime, extents);
        REQUIRE(array.extents() == extents);
        array.fill(-1);
        // Each own element is visited once: they start at -1.
        test::Mismatches mismatches;
        for (const Domain<N> domain : array.local_domains())
            for (const Index<N>& index : domain) {
                mismatches.check(array.is_local(index), index);
                mismatches.check(std::exchange(array.local(index), runtime.rank().value) == -1, index);
            }
        runtime.barrier();
        std::vector<std::uint64_t> counts(static_cast<std::size_t>(runtime.size()));
        for (const Index<N>& index : array.domain()) {
            if (!test::stored(maker.lower_triangle, index)) continue;
            const Rank owner = array.owner(index);
            mismatches.check(array(index) == owner.value, index);
            mismatches.check(array.is_local(index) == (owner == runtime.rank()), index);
            ++counts[static_cast<std::size_t>(owner.value)];
        }
        CHECK(mismatches.text() == "none");
        // What any rank owns is known here.
        for (int rank = 0; rank < runtime.size(); ++rank) {
            std::uint64_t count = 0;
            for (const Domain<N> domain : array.local_domains(Rank{rank})) count += domain.size();
            const Rank counted = maker.replicated ? runtime.rank() : Rank{rank};
            CHECK(count == counts[static_cast<std::size_t>(counted.value)]);
        }
        runtime.barrier();
    });
}

/// A program's own distribution that stores eight places of a huge array, to test arithmetic beyond 2^32 without
/// memory.
struct Corners {
    struct Map {
        std::int64_t rows, columns;
        int ranks;

        [[nodiscard]] Location locate(const Index<2>& index) const {
            const auto [i, j] = index;
            if ((i != 0 && i != rows - 1) || (j >= 2 && j < columns - 2)) return {};
            const std::int64_t column = j < 2 ? j : j - (columns - 4);
            const std::int64_t place = (i == 0 ? 0 : 4) + column;
            return {.owner = Rank{static_cast<int>(place / 2 % ranks)},
                    .offset = static_cast<std::uint64_t>(place),
                    .contiguous = static_cast<std::uint64_t>(2 - place % 2)};
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return 8; }
        [[nodiscard]] std::uint64_t domain_count(Rank rank) const {
            return rank.value >= 4 ? 0 : static_cast<std::uint64_t>((4 - rank.value + ranks - 1) / ranks);
        }
        [[nodiscard]] Domain<2> domain(Rank rank, std::uint64_t k) const {
            const std::int64_t pair = rank.value + static_cast<std::int64_t>(k) * ranks;
            const std::int64_t i = pair < 2 ? 0 : rows - 1;
            const std::int64_t j = pair % 2 == 0 ? 0 : columns - 2;
            return {{i, i + 1}, {j, j + 2}};
        }
    };
    [[nodiscard]] Map map(const Extents<2>& extents, int ranks) const { return {extents[0], extents[1], ranks}; }
};

} // namespace

TEST_CASE("arrays and views say how many dimensions they have, by either name") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {4, 6}};
    CHECK(array.dimensions() == 2);
    CHECK(array.local_view().dimensions() == array.domain().dimensions());
    STATIC_REQUIRE(GlobalArray<double, 4>::rank() == GlobalArray<double, 4>::dimensions());
    STATIC_REQUIRE(LocalView<double, 1>::rank() == LocalView<double, 1>::dimensions());
}

TEST_CASE("every element has the one owner that all ranks name") {
    check_ownership<1>({61});
    check_ownership<2>({11, 11});
    check_ownership<2>({3, 17});
    check_ownership<3>({5, 4, 7});
    check_ownership<4>({3, 5, 2, 4});
}

TEST_CASE("extents smaller than the number of ranks, of one and of zero leave parts empty") {
    check_ownership<1>({2});
    check_ownership<1>({0});
    check_ownership<2>({2, 2});
    check_ownership<2>({0, 5});
    check_ownership<3>({1, 2, 1});
    check_ownership<4>({1, 0, 1, 3});
}

TEST_CASE("a given grid places blocks as its documentation says") {
    Runtime runtime;
    const int ranks = runtime.size();
    const GlobalArray<int, 2> rows{runtime, {10, 6}, Block{.grid = {ranks, 1}}};
    const GlobalArray<int, 2> columns{runtime, {6, 10}, Block{.grid = {1, 0}}};
    const GlobalArray<int, 2> dealt{runtime, {10, 6}, Cyclic{.grid = {0, 1}}};
    const GlobalArray<int, 2> blocks{runtime, {10, 6}, BlockCyclic{.block = {2, 6}, .grid = {ranks, 1}}};
    const std::int64_t block = (10 + ranks - 1) / ranks;
    for (auto [i, j] : rows.domain()) {
        REQUIRE(rows.owner(i, j).value == i / block);
        REQUIRE(columns.owner(j, i).value == i / block);
        REQUIRE(dealt.owner(i, j).value == i % ranks);
        REQUIRE(blocks.owner(i, j).value == i / 2 % ranks);
    }
    runtime.barrier();
}

TEST_CASE("local_domain is one domain where there is one, and says when there are several") {
    Runtime runtime;
    const int ranks = runtime.size();
    const int own = runtime.rank().value;
    const GlobalArray<int, 1> block{runtime, {3 * ranks}};
    const GlobalArray<int, 1> cyclic{runtime, {3 * ranks}, Cyclic{}};
    const GlobalArray<int, 1> replicated{runtime, {7}, Replicated{}};
    const GlobalArray<int, 1> dealt{runtime, {6 * ranks}, BlockCyclic{.block = {3}}, {.name = "dealt"}};
    CHECK(block.local_domain() == Domain<1>{{3 * own, 3 * own + 3}});
    CHECK(block.local_domain(Rank{ranks - 1}) == Domain<1>{{3 * ranks - 3, 3 * ranks}});
    CHECK(cyclic.local_domain() == Domain<1>{Range{own, 3 * ranks}.by(ranks)});
    CHECK(replicated.local_domain() == Domain<1>{{0, 7}});
    if (ranks > 1) {
        CHECK_THAT(test::message_of<UsageError>([&] { (void)dealt.local_domain(); }),
                   test::says({"dealt", "2 separate domains", "local_domains"}));
        CHECK(dealt.local_domains().size() == 2);
        CHECK(dealt.local_domains()[1] == Domain<1>{{3 * (ranks + own), 3 * (ranks + own) + 3}});
    }
    CHECK_THAT(test::message_of<RangeError>([&] { (void)dealt.local_domains(Rank{ranks}); }),
               test::says({"dealt", "rank " + std::to_string(ranks), "[0, " + std::to_string(ranks) + ")"}));
    runtime.barrier();
}

TEST_CASE("a local view shows own memory in its own shape") {
    Runtime runtime;
    const Extents<3> extents{7, 5, 6};
    test::for_every_maker<std::int64_t, 3>(runtime.size(), [&](const test::Maker<std::int64_t, 3>& maker) {
        if (maker.user_defined && !maker.blocks) return;
        GlobalArray<std::int64_t, 3> array = maker.make(runtime, extents);
        test::number_elements(array);
        const LocalView<std::int64_t, 3> view = array.local_view();
        // In each dimension the local indices ascend, whatever blocks they come from.
        std::array<std::vector<std::int64_t>, 3> own;
        for (std::size_t d = 0; d < 3; ++d)
            for (std::int64_t i = 0; i < extents[d]; ++i)
                for (const Domain<3> domain : array.local_domains())
                    if (domain.range(d).contains(i)) {
                        own[d].push_back(i);
                        break;
                    }
        // A part that is empty is so in one dimension at least, and has no domains to tell about the others.
        REQUIRE(view.empty() == array.local_domains().empty());
        for (std::size_t d = 0; d < 3 && !view.empty(); ++d)
            REQUIRE(view.extent(d) == static_cast<std::int64_t>(own[d].size()));
        test::Mismatches mismatches;
        for (const Index<3>& place : Domain<3>{view.extents()}) {
            Index<3> index{};
            for (std::size_t d = 0; d < 3; ++d) index[d] = own[d][static_cast<std::size_t>(place[d])];
            mismatches.check(&view(place[0], place[1], place[2]) == &array.local(index), index);
        }
        CHECK(mismatches.text() == "none");
        CHECK(std::as_const(array).local_view().data_handle() == view.data_handle());
        runtime.barrier();
    });
}

TEST_CASE("rows of own memory follow each other without gaps, whatever the extents") {
    Runtime runtime;
    const auto check_dense = [&](const auto& distribution, const auto& extents, int copies = 1) {
        GlobalArray<double, 2> array{runtime, extents, distribution};
        array.fill(1.0);
        const LocalView<double, 2> view = array.local_view();
        CHECK(view.is_exhaustive());
        // As programs loop that take the view for an array.
        double sum = 0;
        for (int k = 0; k < static_cast<int>(view.size()); ++k) sum += view.data_handle()[k];
        CHECK(runtime.sum(sum) == static_cast<double>(copies * extents[0] * extents[1]));
        const std::span<double> own = array.local_span();
        CHECK(own.data() == view.data_handle());
        CHECK(own.size() == view.size());
        // And the places are those that everybody else sees.
        for (double& element : own) element = 0;
        double next = 1;
        for (std::int64_t i = 0; i < view.extent(0); ++i)
            for (std::int64_t j = 0; j < view.extent(1); ++j) view(i, j) = next++;
        next = 1;
        for (const double element : std::as_const(array).local_span()) CHECK(element == next++);
        runtime.barrier();
        next = 1;
        test::Mismatches mismatches;
        const Rank other = test::next(runtime);
        for (const Domain<2> domain : array.local_domains(other))
            for (const Index<2>& index : domain) mismatches.check(array(index) == next++, index);
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    };
    for (const std::int64_t n : {40, 41}) { // 4 ranks: 20 and 21, 20 columns
        const Extents<2> extents{n, n};
        check_dense(Block{}, extents);
        check_dense(Block{.grid = {1, runtime.size()}}, extents);
        check_dense(Cyclic{}, extents);
        check_dense(Cyclic{.grid = {1, runtime.size()}}, extents);
    }
    check_dense(Block{}, Extents<2>{401, 401});
    check_dense(Block{.grid = {1, runtime.size()}}, Extents<2>{3, runtime.size() / 2 + 1}); // some have none
    check_dense(Replicated{}, Extents<2>{7, 3}, runtime.size());
}

TEST_CASE("where rows have gaps on any rank, every rank gets an error when it asks for a span, and strides") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    const BlockCyclic columns{.block = {4, 4}, .grid = {1, runtime.size()}};
    const std::int64_t ranks = runtime.size();
    GlobalArray<double, 2> even{runtime, {3, 8 * ranks}, columns, {.name = "even"}};
    even.fill(1.0);
    CHECK(even.local_span().size() == 3 * 8);
    // One block more than goes round: rank 0 has the most, and its part no gaps.
    GlobalArray<double, 2> odd{runtime, {3, 8 * ranks + 4}, columns, {.name = "odd"}};
    CHECK_THAT(test::message_of<UsageError>([&] { (void)odd.local_span(); }),
               test::says({runtime.who(), "GlobalArray(\"odd\")", "local_span", "go round evenly", "local_view()"}));
    odd.fill(1.0);
    const LocalView<double, 2> view = odd.local_view();
    CHECK(view.is_exhaustive() == (runtime.rank() == 0));
    CHECK(view.stride(0) == 12);
    CHECK(view.extent(1) == (runtime.rank() == 0 ? 12 : 8));
    double sum = 0;
    for (std::int64_t i = 0; i < view.extent(0); ++i)
        for (std::int64_t j = 0; j < view.extent(1); ++j) sum += view(i, j);
    CHECK(runtime.sum(sum) == static_cast<double>(3 * (8 * ranks + 4)));
    runtime.barrier();
}

TEST_CASE("parts of a program's own distribution need not be rectangular, so there is no view of them") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {6, 6}, example::Triangular{}, {.name = "triangle"}};
    CHECK_THAT(test::message_of<UsageError>([&] { (void)array.local_view(); }),
               test::says({"triangle", "local_view", "for_each_local"}));
    CHECK_THAT(test::message_of<RangeError>([&] { (void)array.owner(2, 3); }),
               test::says({"triangle", "(2, 3)", "owner"}));
    CHECK_THAT(test::message_of<RangeError>([&] { array(2, 3) = 1; }), test::says({"triangle", "(2, 3)"}));
    runtime.barrier();
}

TEST_CASE("indices beyond 2^32 in both dimensions reach their elements") {
    Runtime runtime;
    const std::int64_t rows = std::int64_t{1} << 35;
    const std::int64_t columns = (std::int64_t{1} << 28) + 3;
    GlobalArray<std::int64_t, 2> array{runtime, {rows, columns}, Corners{}};
    REQUIRE(array.size() == static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns));
    array.for_each_local([&](const Index<2>& index, std::int64_t& element) { element = index[0] + 3 * index[1]; });
    runtime.barrier();
    for (const std::int64_t i : {std::int64_t{0}, rows - 1})
        for (const std::int64_t j : {std::int64_t{0}, std::int64_t{1}, columns - 2, columns - 1})
            CHECK(array(i, j) == i + 3 * j);
    std::vector<std::int64_t> corners(4);
    array({Range{0, rows}.by(rows - 1), Range{1, columns}.by(columns - 2)}).get(corners);
    CHECK(corners == std::vector<std::int64_t>{3, 3 * (columns - 1), rows - 1 + 3, rows - 1 + 3 * (columns - 1)});
    CHECK_THROWS_AS(array(rows - 1, 2), RangeError);
    CHECK_THROWS_AS(array(rows, 0), RangeError);
    runtime.barrier();
}
