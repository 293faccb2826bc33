// What each pattern prefetches under each distribution, and what reads then return.
#include "tests/arrays/array_test.hpp"

#include <lapwing/patterns.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

using namespace lapwing;

namespace {

template <std::size_t N>
using Indices = std::set<Index<N>>;

/// What a rank owns.
template <class T, std::size_t N>
[[nodiscard]] Indices<N> own_indices(const GlobalArray<T, N>& array) {
    Indices<N> own;
    for (const Domain<N> domain : array.local_domains())
        for (const Index<N>& index : domain) own.insert(index);
    return own;
}

/// Calls `visit(index)` with each element up to `depth` away from an index, itself included, around periodic edges.
template <std::size_t N, class Visit>
void for_neighbours(const Extents<N>& extents, const Index<N>& centre, const Stencil& stencil, Visit visit) {
    std::array<Range, N> offsets;
    for (Range& range : offsets) range = Range{-stencil.depth, stencil.depth + 1};
    for (const Index<N>& offset : Domain<N>{offsets}) {
        if (!stencil.corners && std::ranges::count_if(offset, [](std::int64_t one) { return one != 0; }) > 1) continue;
        Index<N> index = centre;
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d) {
            index[d] += offset[d];
            if (stencil.periodic[d]) index[d] = ((index[d] % extents[d]) + extents[d]) % extents[d];
            inside = inside && index[d] >= 0 && index[d] < extents[d];
        }
        if (inside) visit(index);
    }
}

/// Reads every copy, and some of the other elements, and compares them with value_of(first + their position) where
/// `fresh(index)`, else with value_of(before + …).
template <class T, std::size_t N, class Fresh>
[[nodiscard]] std::string misread(GlobalArray<T, N>& array, bool triangle, std::uint64_t first, std::uint64_t before,
                                  Fresh fresh) {
    test::Mismatches mismatches;
    for (const Index<N>& index : array.domain()) {
        if (!test::stored(triangle, index)) continue;
        // What is not here takes a round trip.
        if (!array.is_prefetched(index) && test::position_of(array.extents(), index) % 7 != 0) continue;
        const auto expected =
            test::value_of<T>((fresh(index) ? first : before) + test::position_of(array.extents(), index));
        mismatches.check(array(index).get() == expected, index);
        mismatches.check(std::as_const(array)(index) == expected, index);
    }
    return mismatches.text();
}

constexpr PrefetchOptions every_mode[] = {
    {.consistent = true, .static_domain = false, .storage = PrefetchStorage::by_index},
    {.consistent = false, .static_domain = true, .storage = PrefetchStorage::by_index},
    {.consistent = true, .static_domain = false, .storage = PrefetchStorage::by_owner},
    {.consistent = false, .static_domain = false, .storage = PrefetchStorage::by_index},
    {.consistent = true, .static_domain = true, .storage = PrefetchStorage::by_index},
    {.consistent = false, .static_domain = false, .storage = PrefetchStorage::by_owner},
};

/// Prefetches a pattern that needs `needed` beside what is own, in two modes, an automatic and a manual one, and reads
/// everything. The next call takes the next two: each pattern and each distribution meets all of them, but not with
/// each other.
template <class T, std::size_t N, class P>
void check_pattern(GlobalArray<T, N>& array, const test::Maker<T, N>& maker, const P& pattern,
                   const Indices<N>& needed) {
    static std::size_t turn = 0;
    const Indices<N> own = own_indices(array);
    for (int k = 0; k < 2; ++k) {
        PrefetchOptions mode = every_mode[turn++ % std::size(every_mode)];
        if (maker.halo != 0 && turn % 3 != 0) mode.storage = PrefetchStorage::halo;
        const bool consistent = mode.consistent;
        INFO("consistent " << consistent << ", static " << mode.static_domain << ", storage "
                           << static_cast<int>(mode.storage));
        test::number_elements(array, 100);
        array.prefetch(pattern, mode);
        const auto copied = [&](const Index<N>& index) {
            if (maker.replicated || !test::stored(maker.lower_triangle, index) || own.contains(index) ||
                !needed.contains(index))
                return false;
            const bool here = !array.window().reachable(array.owner(index)).empty();
            return !consistent || !here || mode.storage == PrefetchStorage::halo;
        };
        test::Mismatches wrong;
        for (const Index<N>& index : array.domain()) wrong.check(array.is_prefetched(index) == copied(index), index);
        CHECK(wrong.text() == "none");
        CHECK(misread(array, maker.lower_triangle, 100, 0, [](const Index<N>&) { return true; }) == "none");
        test::number_elements(array, 9000);
        // A snapshot keeps the values from before, and nothing else does.
        CHECK(misread(array, maker.lower_triangle, 9000, 100,
                      [&](const Index<N>& index) { return consistent || !copied(index); }) == "none");
        array.barrier();
        array.update();
        CHECK(misread(array, maker.lower_triangle, 9000, 0, [](const Index<N>&) { return true; }) == "none");
        array.evict();
        CHECK(array.statistics()[Counter::prefetch_memory] == 0);
        for (const Index<N>& index : array.domain())
            if (test::stored(maker.lower_triangle, index)) wrong.check(!array.is_prefetched(index), index);
        CHECK(wrong.text() == "none");
        CHECK(misread(array, maker.lower_triangle, 9000, 0, [](const Index<N>&) { return true; }) == "none");
        array.barrier();
    }
}

template <class T, std::size_t N>
void check_stencils() {
    Runtime runtime;
    const Extents<N> extents = test::odd_extents<N>();
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        GlobalArray<T, N> array = maker.make(runtime, extents);
        Stencil ring{.depth = 2, .corners = true, .periodic = {true}};
        Stencil wide{.depth = 100, .corners = false, .periodic = {false, true, true, true}};
        for (const Stencil& stencil : {Stencil{}, Stencil{.depth = 2, .corners = false}, ring, wide}) {
            INFO("depth " << stencil.depth << ", corners " << stencil.corners);
            Indices<N> needed;
            for (const Index<N>& index : own_indices(array))
                if (stencil.depth < 100)
                    for_neighbours(extents, index, stencil,
                                   [&](const Index<N>& neighbour) { needed.insert(neighbour); });
                else
                    for (std::size_t d = 0; d < N; ++d)
                        for (std::int64_t i = 0; i < extents[d]; ++i) {
                            Index<N> other = index;
                            other[d] = i;
                            needed.insert(other);
                        }
            check_pattern(array, maker, stencil, needed);
        }
    });
}

template <class T, std::size_t N>
void check_bands() {
    Runtime runtime;
    const Extents<N> extents = test::odd_extents<N>();
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        GlobalArray<T, N> array = maker.make(runtime, extents);
        Indices<N> rows;
        Indices<N> columns;
        Indices<N> transposed;
        Indices<N> all;
        for (const Index<N>& index : array.domain()) all.insert(index);
        for (Index<N> index : own_indices(array)) {
            Index<N> reverse = index;
            std::ranges::reverse(reverse);
            transposed.insert(reverse);
            const Index<N> centre = index;
            for (std::int64_t i = 0; i < extents[N - 1]; ++i) {
                index[N - 1] = i;
                rows.insert(index);
            }
            index = centre;
            for (std::int64_t i = 0; i < extents[0]; ++i) {
                index[0] = i;
                columns.insert(index);
            }
        }
        check_pattern(array, maker, RowWise{}, rows);
        check_pattern(array, maker, ColumnWise{}, columns);
        check_pattern(array, maker, Transpose{}, transposed);
        check_pattern(array, maker, AllToAll{}, all);
    });
}

} // namespace

TEST_CASE("a stencil prefetches what lies around the local elements: 1 dimension") { check_stencils<double, 1>(); }
TEST_CASE("a stencil prefetches what lies around the local elements: 2 dimensions") { check_stencils<double, 2>(); }
TEST_CASE("a stencil prefetches what lies around the local elements: 3 dimensions") {
    check_stencils<test::Colour, 3>();
}
TEST_CASE("rows, columns, the transpose and everything: 1 dimension") { check_bands<std::int32_t, 1>(); }
TEST_CASE("rows, columns, the transpose and everything: 2 dimensions") { check_bands<test::Particle, 2>(); }
TEST_CASE("rows, columns, the transpose and everything: 4 dimensions") { check_bands<std::uint8_t, 4>(); }

TEST_CASE("a table of domains, of which own indices and those that the array does not have are passed over") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        GlobalArray<double, 2> array = maker.make(runtime, {11, 11});
        std::vector<std::vector<Domain<2>>> table(static_cast<std::size_t>(runtime.size()));
        table[static_cast<std::size_t>(runtime.rank().value)] = {Domain<2>{{-3, 4}, {2, 30}},
                                                                 Domain<2>{Range{1, 11}.by(3), Range{0, 11}.by(2)},
                                                                 Domain<2>{{2, 9}, {1, 5}}, Domain<2>{}};
        Indices<2> needed;
        for (const Domain<2>& domain : table[static_cast<std::size_t>(runtime.rank().value)])
            for (const Index<2>& index : domain)
                if (array.domain().contains(index)) needed.insert(index);
        check_pattern(array, maker, Custom{table}, needed);
    });
}

TEST_CASE("a function of the program's, and patterns one upon the other") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {12, 9}, Block{}, {.name = "sums"}};
    const Stencil star{.depth = 1, .corners = false};
    const PrefetchOptions manual{.consistent = false};
    array.prefetch(star, manual);
    const std::uint64_t memory = array.statistics()[Counter::prefetch_memory];
    array.prefetch(star, manual);
    CHECK(array.statistics()[Counter::prefetch_memory] == memory); // nothing new
    array.prefetch([](const Domain<2>& own) { return own.expand(2); }, manual);
    Indices<2> needed;
    for (const Index<2>& index : own_indices(array))
        for_neighbours(array.extents(), index, Stencil{.depth = 2},
                       [&](const Index<2>& neighbour) { needed.insert(neighbour); });
    test::number_elements(array, 5);
    array.update();
    test::Mismatches wrong;
    for (const Index<2>& index : array.domain()) {
        wrong.check(array.is_prefetched(index) == (needed.contains(index) && !array.is_local(index)), index);
        wrong.check(array(index).get() == test::value_of<double>(5 + test::position_of(array.extents(), index)), index);
    }
    CHECK(wrong.text() == "none");
    const std::uint64_t copies = needed.size() - own_indices(array).size();
    const auto owners = 2 * static_cast<std::uint64_t>(runtime.size()); // at most, of both patterns; a plan each
    CHECK(array.statistics()[Counter::prefetch_memory] < copies * sizeof(double) + 4096 * (1 + owners));
    CHECK(array.statistics()[Counter::prefetch_memory_peak] == array.statistics()[Counter::prefetch_memory]);
    array.barrier();
}

TEST_CASE("fewer elements than ranks, and none at all") {
    Runtime runtime;
    for (const std::int64_t n : {0, 1, 2}) {
        GlobalArray<std::int64_t, 2> array{runtime, {n, 2}, Block{}};
        for (const bool consistent : {true, false}) {
            test::number_elements(array);
            array.prefetch(Stencil{.depth = 3}, {.consistent = consistent});
            array.prefetch(AllToAll{}, {.consistent = consistent});
            CHECK(misread(array, false, 0, 0, [](const Index<2>&) { return true; }) == "none");
            array.evict();
            array.barrier();
        }
    }
}

TEST_CASE("copies in the halo are plain memory around the local block, with and without corners") {
    Runtime runtime;
    for (const bool corners : {true, false})
        for (const bool consistent : {true, false}) {
            INFO("corners " << corners << ", consistent " << consistent);
            GlobalArray<double, 3> a{runtime, {9, 8, 7}, Block{}, {.name = "warm", .halo = 2}};
            GlobalArray<double, 3> b{runtime, {9, 8, 7}, Block{}, {.halo = 2}};
            const Stencil stencil{.depth = 2, .corners = corners};
            for (GlobalArray<double, 3>* array : {&a, &b})
                array->prefetch(stencil, {.consistent = consistent, .storage = PrefetchStorage::halo});
            test::Mismatches wrong;
            std::uint64_t bytes = 0;
            for (std::uint64_t step = 0; step < 3; ++step) {
                test::number_elements(a, 50 * step);
                if (!consistent) a.update();
                const auto halo = a.halo_view();
                const Domain<3> own = a.local_domain();
                CHECK(halo.domain().empty() == own.empty());
                for (const Index<3>& index : own)
                    for_neighbours(a.extents(), index, stencil, [&](const Index<3>& neighbour) {
                        const auto value =
                            test::value_of<double>(50 * step + test::position_of(a.extents(), neighbour));
                        wrong.check(halo(neighbour) == value, neighbour);
                        wrong.check(a(neighbour) == value, neighbour);
                        wrong.check(runtime.size() == 1 || a.is_prefetched(neighbour) != own.contains(neighbour),
                                    neighbour);
                    });
                bytes = a.statistics()[Counter::prefetch_memory];
                a.barrier();
                std::swap(a, b);
            }
            CHECK(wrong.text() == "none");
            CHECK((runtime.size() == 1 || a.local_domain().empty() || bytes > 0));
            // Own writes go to the copies, too; what others write comes after a barrier, or an update.
            test::number_elements(a, 0);
            if (!consistent) a.update();
            const Domain<3> around = a.halo_view().domain();
            Index<3> other{};
            for (const Index<3>& index : around)
                if (a.is_prefetched(index)) other = index;
            const bool any = !around.empty() && a.is_prefetched(other);
            if (any && runtime.rank() == Rank{0}) {
                (void)a.halo_view();
                a(other) = -4;
                CHECK(a.halo_view()(other) == -4);
                a(other) += 1;
                CHECK(a(other) == -3);
            }
            a.barrier();
            // Values and copies follow other extents, and local calls pass margins by.
            test::number_elements(a, 7);
            a.resize({10, 9, 8});
            test::number_elements(a, 8);
            if (!consistent) a.update();
            const auto halo = a.halo_view();
            for (const Index<3>& index : a.local_domain())
                for_neighbours(a.extents(), index, stencil, [&](const Index<3>& neighbour) {
                    wrong.check(halo(neighbour) ==
                                    test::value_of<double>(8 + test::position_of(a.extents(), neighbour)),
                                neighbour);
                });
            CHECK(wrong.text() == "none");
            a.barrier();
            a.fill(2);
            CHECK(a.sum() == 2.0 * 10 * 9 * 8);
            const auto own = std::as_const(a).local_view();
            if (!a.local_domain().empty())
                CHECK(own.extents()[2] == static_cast<std::int64_t>(a.local_domain().range(2).size()));
            a.barrier();
        }
}

TEST_CASE("a halo that an array cannot have, or does not, is an error that says what to do") {
    Runtime runtime;
    if (runtime.size() > 1)
        CHECK_THAT(test::message_of<UsageError>(
                       [&] { GlobalArray<double, 1>{runtime, {40}, BlockCyclic{{3}}, {.name = "dealt", .halo = 1}}; }),
                   test::says({"dealt", "use Block"}));
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { GlobalArray<double, 1>{runtime, {40}, Block{}, {.name = "less", .halo = -1}}; }),
               test::says({"less", "-1", "at least 0"}));
    if (runtime.size() > 1)
        CHECK_THAT(test::message_of<RangeError>([&] {
                       GlobalArray<double, 1>{runtime, {40}, Block{}, {.name = "huge", .halo = std::int64_t{1} << 62}};
                   }),
                   test::says({"huge", "elements of 8 bytes"}));
    GlobalArray<double, 2> array{runtime, {8, 8}, Block{}, {.name = "narrow"}};
    CHECK_THAT(test::message_of<UsageError>([&] { array.prefetch(Stencil{}, {.storage = PrefetchStorage::halo}); }),
               test::says({"narrow", ".halo = "}));
    if (runtime.size() > 1) {
        GlobalArray<double, 2> columns{runtime, {8, 8}, Block{.grid = {1, 0}}, {.name = "columns", .halo = 3}};
        CHECK_THAT(test::message_of<UsageError>([&] { (void)columns.local_span(); }),
                   test::says({"columns", "halo of 3", "local_view()"}));
        GlobalArray<double, 2> rows{runtime, {8, 8}, Block{.grid = {0, 1}}, {.name = "rows", .halo = 3}};
        CHECK(rows.local_span().size() == rows.local_domain().size());
    }
    CHECK_THAT(test::message_of<UsageError>([&] { (void)array.halo_view(); }),
               test::says({"narrow", "PrefetchStorage::halo"}));
    runtime.barrier();
}

TEST_CASE("new manual copies do not renew those that are there") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {20 * runtime.size()}, Block{}};
    test::number_elements(array, 3);
    array.prefetch(Stencil{.depth = 2}, {.consistent = false});
    const Domain<1> before = array.domain();
    std::vector<bool> early;
    for (const Index<1>& index : before) early.push_back(array.is_prefetched(index));
    test::number_elements(array, 900);
    array.prefetch(Stencil{.depth = 4}, {.consistent = false});
    test::Mismatches wrong;
    for (const Index<1>& index : before)
        if (array.is_prefetched(index)) {
            const auto position = static_cast<std::uint64_t>(index[0]);
            wrong.check(array(index) == test::value_of<double>((early[position] ? 3 : 900) + position), index);
        }
    CHECK(wrong.text() == "none");
    runtime.barrier();
}

TEST_CASE("what one rank cannot prefetch none does, and all get an error") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {20 * runtime.size()}, Block{}, {.name = "common"}};
    test::number_elements(array, 3);
    array.prefetch(Stencil{}, {.consistent = false});
    const auto odd = [&](const Domain<1>& own) {
        if (runtime.rank() == Rank{0}) throw RangeError{"the table has no entry"};
        return own.expand(3);
    };
    if (runtime.rank() == Rank{0})
        CHECK_THAT(test::message_of<RangeError>([&] { array.prefetch(odd, {.consistent = false}); }),
                   test::says({"the table has no entry"}));
    else
        CHECK_THAT(test::message_of<UsageError>([&] { array.prefetch(odd, {.consistent = false}); }),
                   test::says({"common", "the patterns that it had", "rank 0", "the table has no entry"}));
    CHECK_THAT(test::message_of<UsageError>([&] { array.prefetch(Stencil{}, {.consistent = true}); }),
               test::says({"common", "evict()"}));
    CHECK(misread(array, false, 3, 0, [](const Index<1>&) { return true; }) == "none");
    runtime.barrier();
}

namespace {

/// test::Reversed that counts how often it is asked.
struct Counting {
    std::int64_t block;
    std::shared_ptr<std::uint64_t> asked = std::make_shared<std::uint64_t>(0);

    struct Map {
        test::Reversed::Map<1> map;
        std::shared_ptr<std::uint64_t> asked;

        [[nodiscard]] Location locate(const Index<1>& index) const {
            ++*asked;
            return map.locate(index);
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return map.local_capacity(); }
        [[nodiscard]] std::uint64_t domain_count(Rank rank) const { return map.domain_count(rank); }
        [[nodiscard]] Domain<1> domain(Rank rank, std::uint64_t k) const { return map.domain(rank, k); }
    };
    template <std::size_t N>
    [[nodiscard]] Map map(const Extents<N>& extents, int ranks) const {
        return {test::Reversed{{block}}.map(extents, ranks), asked};
    }
};

} // namespace

TEST_CASE("ragged patterns are worked out run by run, and not index by index") {
    Runtime runtime;
    constexpr std::int64_t block = 500;
    constexpr std::int64_t blocks_each = 100;
    const std::int64_t n = block * blocks_each * runtime.size();
    const Counting counting{block};
    GlobalArray<std::int32_t, 1> array{runtime, {n}, counting, {.name = "ragged"}};
    test::number_elements(array);
    *counting.asked = 0;
    array.prefetch(Stencil{.depth = 2}, {.consistent = false});
    array.prefetch(Stencil{.depth = 400}, {.consistent = false}); // more of the same, of which some is here
    // A few for each own block, which has 500 indices: runs are found, and then cut into transfers.
    CHECK(*counting.asked < 40 * blocks_each);
    std::int64_t wrong = 0;
    const std::int64_t own = runtime.size() - 1 - runtime.rank().value;
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t before = (i - 400 < 0 ? 0 : i - 400) / block % runtime.size();
        const std::int64_t after = (i + 400 >= n ? n - 1 : i + 400) / block % runtime.size();
        const bool mine = i / block % runtime.size() == own;
        wrong += array.is_prefetched(i) != (!mine && (before == own || after == own)) ? 1 : 0;
        wrong += array(i) != test::value_of<std::int32_t>(static_cast<std::uint64_t>(i)) ? 1 : 0;
    }
    CHECK(wrong == 0);
    array.barrier();
    array.close();
    runtime.close();
}
