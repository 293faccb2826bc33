// Arrays whose extents change: what stays, and where, what happens to prefetched copies, and what is refused.
#include "tests/arrays/array_test.hpp"

#include <lapwing/patterns.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace lapwing;

namespace {

/// What an array should hold, as every rank knows it.
template <class T, std::size_t N>
class Model {
public:
    explicit Model(const Extents<N>& extents) : extents_{extents}, values_(Domain<N>{extents}.size()) {}

    [[nodiscard]] T& at(const Index<N>& index) { return values_[test::position_of(extents_, index)]; }
    void resize(const Extents<N>& extents) {
        Model fresh{extents};
        for (const Index<N>& index : Domain<N>{extents}.intersect(Domain<N>{extents_})) fresh.at(index) = at(index);
        *this = std::move(fresh);
    }
    /// Every element gets a value that no other has had, written by some rank, whose own it need not be.
    void renew(GlobalArray<T, N>& array, bool lower_triangle = false) {
        for (const Index<N>& index : array.domain()) {
            at(index) = test::value_of<T>(++written_);
            const bool mine = static_cast<int>(written_ % static_cast<std::uint64_t>(array.team().size())) ==
                              array.team().rank().value;
            if (mine && test::stored(lower_triangle, index)) array(index) = at(index);
        }
    }
    [[nodiscard]] std::string differences(const GlobalArray<T, N>& array, bool lower_triangle = false) {
        if (array.extents() != extents_) return "other extents";
        test::Mismatches mismatches;
        for (const Index<N>& index : array.domain())
            if (test::stored(lower_triangle, index)) mismatches.check(array(index) == at(index), index);
        return mismatches.text();
    }

private:
    Extents<N> extents_;
    std::vector<T> values_;
    inline static std::uint64_t written_ = 0;
};

/// Larger, smaller, both at a time, to nothing and back.
template <std::size_t N>
[[nodiscard]] std::vector<Extents<N>> steps(bool square) {
    if constexpr (N == 1) return {{61}, {100}, {100}, {7}, {1}, {0}, {40}};
    else if constexpr (N == 2) {
        if (square) return {{11, 11}, {17, 17}, {4, 4}, {0, 0}, {9, 9}};
        return {{11, 11}, {5, 20}, {20, 3}, {17, 17}, {0, 5}, {6, 8}, {1, 1}};
    } else if constexpr (N == 3) return {{5, 4, 7}, {7, 6, 2}, {0, 3, 4}, {6, 6, 6}, {2, 9, 5}};
    else return {{3, 5, 2, 4}, {2, 6, 3, 5}, {4, 4, 4, 0}, {3, 3, 3, 3}};
}

template <class T, std::size_t N>
void resize_every_array(Runtime& runtime) {
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        if (maker.blocks) return;
        const std::vector<Extents<N>> all = steps<N>(maker.lower_triangle);
        GlobalArray<T, N> array = maker.make(runtime, all.front());
        Model<T, N> model{all.front()};
        for (const Extents<N>& extents : all) {
            INFO("to " << to_string(extents.values()));
            model.renew(array, maker.lower_triangle); // and no barrier
            array.resize(extents);
            model.resize(extents);
            REQUIRE(model.differences(array, maker.lower_triangle) == "none");
            // Every element is some rank's own, at one place.
            std::int64_t own = 0;
            test::Mismatches mismatches;
            array.for_each_local([&](const Index<N>& index, const T& element) {
                ++own;
                mismatches.check(element == model.at(index), index);
            });
            CHECK(mismatches.text() == "none");
            const auto size = static_cast<std::int64_t>(array.size());
            const std::int64_t all_own = maker.lower_triangle ? (size + extents[0]) / 2
                                         : maker.replicated   ? size * runtime.size()
                                                              : size;
            CHECK(runtime.sum(own) == all_own);
        }
        CHECK(array.name() == "tested");
        array.fill(test::value_of<T>(3));
        CHECK(array(array.domain().last()) == test::value_of<T>(3));
        array.barrier();
    });
}

/// Everything that a rank may ask for: patterns of the library, one of the program's, and a table.
void prefetch_much(GlobalArray<std::int64_t, 2>& array, const PrefetchOptions& options) {
    array.prefetch(Stencil{.depth = 2, .periodic = {true}}, options);
    array.prefetch(RowWise{}, options);
    array.prefetch([](const Domain<2>& own) { return own.shift({3, 1}); }, options);
    const auto ranks = static_cast<std::size_t>(array.team().size());
    array.prefetch(Custom{std::vector<Domain<2>>(ranks, Domain<2>{{0, 30}, {0, 2}})}, options);
}

/// The indices that prefetch_much() means, but for the rank's own.
[[nodiscard]] bool is_meant(const GlobalArray<std::int64_t, 2>& array, const Index<2>& index) {
    if (index[1] < 2 && index[0] < 30) return true;
    for (const Domain<2> own : array.local_domains())
        if (own.range(0).contains(index[0]) || own.shift({3, 1}).contains(index)) return true;
    return false;
}

/// A distribution of a program's own that stores the first half of the elements, in blocks.
struct FirstHalf {
    class Map {
    public:
        Map(std::int64_t stored, int ranks) : stored_{stored}, block_{(stored + ranks - 1) / ranks} {}

        [[nodiscard]] Location locate(const Index<1>& index) const {
            if (index[0] >= stored_) return {};
            return {.owner = Rank{static_cast<int>(index[0] / block_)},
                    .offset = static_cast<std::uint64_t>(index[0] % block_)};
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return static_cast<std::uint64_t>(block_); }
        [[nodiscard]] std::uint64_t domain_count(Rank) const { return 1; }
        [[nodiscard]] Domain<1> domain(Rank rank, std::uint64_t) const {
            const std::int64_t first = std::min(rank.value * block_, stored_);
            return Domain<1>{{first, std::min(first + block_, stored_)}};
        }

    private:
        std::int64_t stored_;
        std::int64_t block_;
    };

    [[nodiscard]] Map map(const Extents<1>& extents, int ranks) const { return {extents[0] / 2, ranks}; }
};

} // namespace

TEST_CASE("elements within both extents keep their values, and the others are zero, under every distribution") {
    Runtime runtime;
    resize_every_array<double, 1>(runtime);
    resize_every_array<test::Colour, 1>(runtime);
    resize_every_array<std::int32_t, 2>(runtime);
    resize_every_array<test::Particle, 2>(runtime);
    resize_every_array<double, 3>(runtime);
    resize_every_array<std::int16_t, 4>(runtime);
}

TEST_CASE("elements and copies follow when an array gets another distribution") {
    Runtime runtime;
    GlobalArray<std::int64_t, 2> array{runtime, {12, 9}, Block{}, {.name = "redistributed"}};
    Model<std::int64_t, 2> model{{12, 9}};
    for (const bool consistent : {true, false}) {
        array.prefetch(RowWise{}, {.consistent = consistent, .static_domain = true}); // the extents stay
        const auto check = [&](const auto& distribution) {
            model.renew(array); // and no barrier
            const auto kept = array(all, 3);
            array.redistribute(distribution);
            REQUIRE(model.differences(array) == "none");
            std::vector<std::int64_t> column(12);
            CHECK_THAT(test::message_of<UsageError>([&] { kept.get(column); }), test::says({"another distribution"}));
            test::Mismatches mismatches;
            array.for_each_local([&](const Index<2>& index, std::int64_t& element) {
                mismatches.check(element == model.at(index), index);
            });
            for (const Index<2>& index : array.domain()) {
                const bool far =
                    !array.is_local(index) && (!consistent || array.window().path(array.owner(index)) != Path::direct);
                if (array.is_prefetched(index) && !far) mismatches.check(false, index);
                for (const Domain<2> own : array.local_domains())
                    if (own.range(0).contains(index[0]) && far) mismatches.check(array.is_prefetched(index), index);
            }
            CHECK(mismatches.text() == "none");
            array.barrier();
        };
        check(Cyclic{});
        check(BlockCyclic{{2, 5}});
        check(test::Reversed{{3, 2}});
        check(Block{.grid = {1, runtime.size()}});
        array.evict();
    }
    CHECK_THAT(test::message_of<RangeError>([&] { array.redistribute(BlockCyclic{{0, 1}}); }),
               test::says({"GlobalArray(\"redistributed\").redistribute: ", "at least 1"}));
    CHECK(model.differences(array) == "none");
    array.barrier();
    array.redistribute(Replicated{});
    CHECK(model.differences(array) == "none");
    array.redistribute(Block{});
    CHECK(model.differences(array) == "none");
    array.close();
}

TEST_CASE("an element that the distribution has not stored before is zero") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {20}, FirstHalf{}, {.name = "half"}};
    array.fill(2);
    array.resize({60});
    for (std::int64_t i = 0; i < 30; ++i) CHECK(array(i) == (i < 10 ? 2 : 0));
    CHECK_THROWS_AS(array(30).get(), RangeError);
    array.fill(3);
    array.resize({10});
    CHECK(array.sum() == 15);
    CHECK_THROWS_AS(array(5).get(), RangeError);
    array.resize({12});
    CHECK(array.sum() == 15);
    runtime.barrier();
}

namespace {

/// Which elements have copies.
void check_copied(GlobalArray<std::int64_t, 2>& array, bool consistent) {
    test::Mismatches mismatches;
    for (const Index<2>& index : array.domain()) {
        // Automatic copies are of other nodes' elements only.
        const bool far =
            !array.is_local(index) && (!consistent || array.window().path(array.owner(index)) != Path::direct);
        if (is_meant(array, index) && far != array.is_prefetched(index)) mismatches.check(false, index);
        if (!far && array.is_prefetched(index)) mismatches.check(false, index);
    }
    CHECK(mismatches.text() == "none");
}

} // namespace

TEST_CASE("prefetched copies follow the extents: manual ones are filled, automatic ones by the next read") {
    Runtime runtime;
    for (const bool consistent : {true, false})
        for (const PrefetchStorage storage : {PrefetchStorage::by_index, PrefetchStorage::by_owner})
            for (const CacheMode cache : {CacheMode::off, CacheMode::epoch}) {
                INFO("consistent " << consistent << ", by index " << (storage == PrefetchStorage::by_index)
                                   << ", cached " << (cache != CacheMode::off));
                GlobalArray<std::int64_t, 2> array{
                    runtime, {12, 9}, Block{}, {.name = "followed", .cache = {.mode = cache}}};
                Model<std::int64_t, 2> model{{12, 9}};
                prefetch_much(array, {.consistent = consistent, .storage = storage});
                for (const Extents<2>& extents :
                     {Extents<2>{20, 5}, Extents<2>{7, 14}, Extents<2>{0, 3}, Extents<2>{33, 6}, Extents<2>{2, 2}}) {
                    INFO("to " << to_string(extents.values()));
                    model.renew(array);
                    array.resize(extents);
                    model.resize(extents);
                    CHECK((array.window().page_tables() != nullptr) ==
                          (cache != CacheMode::off && runtime.nodes() > 1));
                    REQUIRE(model.differences(array) == "none");
                    check_copied(array, consistent);
                    array.barrier();
                    // What another rank writes is seen after a barrier, or, of manual copies, an update.
                    Model<std::int64_t, 2> before = model;
                    model.renew(array);
                    array.barrier();
                    if (!consistent) {
                        test::Mismatches old;
                        for (const Index<2>& index : array.domain())
                            if (array.is_prefetched(index)) {
                                const std::int64_t value = array(index);
                                old.check(value == before.at(index) || value == model.at(index), index);
                            }
                        CHECK(old.text() == "none");
                        array.update();
                    }
                    CHECK(model.differences(array) == "none");
                    array.barrier();
                }
            }
}

TEST_CASE("a manual copy of a resized array stays what it was until an update") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> array{runtime, {runtime.size()}, Block{}, {.name = "kept"}};
    array.prefetch(AllToAll{}, {.consistent = false});
    array.fill(1);
    array.resize({2 * runtime.size()}); // copies are of what was written before
    const std::int64_t theirs = 2 * test::next(runtime).value;
    CHECK(array.is_prefetched(theirs) == (runtime.size() > 1));
    CHECK(array(0) == 1);
    array.barrier();
    for (auto [i] : array.local_domain()) array.local(i) = 7;
    array.barrier();
    if (runtime.size() > 1) CHECK(array(theirs) == (theirs < runtime.size() ? 1 : 0));
    array.update();
    CHECK(array(theirs) == 7);
    array.barrier();
}

TEST_CASE("evicted patterns are not asked again, and patterns go with an array that is moved") {
    Runtime runtime;
    const auto far = [](const GlobalArray<double, 1>& array) {
        std::int64_t copies = 0;
        for (std::int64_t i = 0; i < array.extent(0); ++i) copies += array.is_prefetched(i) ? 1 : 0;
        return copies;
    };
    GlobalArray<double, 1> a{runtime, {30}, Cyclic{}, {.name = "a"}};
    GlobalArray<double, 1> b{runtime, {30}, Block{}, {.name = "b"}};
    a.prefetch(AllToAll{}, {.consistent = false});
    std::swap(a, b);
    GlobalArray<double, 1> moved{std::move(b)};
    a.resize({50});
    moved.resize({50});
    CHECK(far(a) == 0);
    CHECK(far(moved) == 50 - static_cast<std::int64_t>(moved.local_span().size()));
    if (runtime.size() > 1 && runtime.rank() == 0) CHECK(moved.owner(49) == Rank{49 % runtime.size()});
    // Of those before an eviction none comes back with a later one.
    moved.evict();
    moved.prefetch([](const Domain<1>& own) { return own.intersect(Domain<1>{{0, 0}}); }, {.consistent = false});
    moved.resize({60});
    CHECK(far(moved) == 0);
    moved.evict();
    moved.resize({70});
    CHECK_THROWS_AS(moved.update(), UsageError);
    a = std::move(moved);
    a.resize({10});
    CHECK(a.name() == "a");
    CHECK(a.owner(9) == Rank{9 % runtime.size()});
    runtime.barrier();
}

TEST_CASE("extents that are refused leave the array as it was, on all ranks") {
    Runtime runtime;
    GlobalArray<std::int64_t, 2> array{runtime, {6, 6}, example::Triangular{}, {.name = "refused"}};
    GlobalArray<std::int64_t, 2> copied{runtime, {5, 7}, Block{}, {.name = "kept"}};
    copied.prefetch(AllToAll{}, {.consistent = false});
    Model<std::int64_t, 2> model{{5, 7}};
    model.renew(copied);
    copied.barrier();
    copied.update();
    const Window* const window = &copied.window();
    const std::byte* const memory = window->local().data();
    const auto unchanged = [&] {
        CHECK(memory == copied.window().local().data());
        CHECK(model.differences(copied) == "none");
        CHECK(copied.is_prefetched(4, 6) == !copied.is_local(4, 6));
        runtime.barrier();
    };
    const std::int64_t large = std::int64_t{1} << 40;
    const auto refused = [&](const Extents<2>& extents) {
        return test::message_of<RangeError>([&] { copied.resize(extents); });
    };
    CHECK_THAT(refused({-1, 4}), test::says({"rank ", "GlobalArray(\"kept\").resize: ", "extent -1 of dimension 0"}));
    unchanged();
    CHECK_THAT(refused({large, large}), test::says({"GlobalArray(\"kept\").resize: ", "2^64"}));
    unchanged();
    CHECK_THAT(refused({large, std::int64_t{1} << 12}), test::says({"GlobalArray(\"kept\").resize: ", "bytes"}));
    unchanged();
    CHECK_THAT(test::message_of<RangeError>([&] { array.resize({6, 7}); }),
               test::says({"GlobalArray(\"refused\").resize: ", "Triangular", "(6, 7)"}));
    CHECK(array.extents() == Extents<2>{6, 6});
    if (runtime.size() > 1) {
        const int own = runtime.rank().value;
        // From level 1 on the extents are compared before any rank tries. Below it one rank alone cannot, and says why;
        // the others say that it could not.
        if (lapwing::assertion_level >= 1) CHECK_THROWS_AS(copied.resize({own == 1 ? -3 : 3, 4}), MismatchError);
        else if (own == 1) CHECK_THAT(refused({-3, 4}), test::says({".resize", "extent -3"}));
        else
            CHECK_THAT(test::message_of<UsageError>([&] { copied.resize({3, 4}); }),
                       test::says({"kept", ".resize", "rank 1", "extent -3", "stays"}));
        unchanged();
        CHECK_THAT(test::message_of<MismatchError>([&] { copied.resize({own == 1 ? 8 : 9, 4}); }),
                   test::says({"GlobalArray(\"kept\").resize: ", "the extents"}));
        unchanged();
    }
    array.close();
    CHECK_THAT(test::message_of<UsageError>([&] { array.resize({2, 2}); }), test::says({".resize", "closed"}));
    // And now it can.
    copied.resize({9, 3});
    model.resize({9, 3});
    CHECK(model.differences(copied) == "none");
    runtime.barrier();
}

TEST_CASE("patterns that promise that the extents stay, and patterns that fail, refuse other extents on all ranks") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> array{runtime, {20}, Block{}, {.name = "promised"}};
    test::number_elements(array);
    array.prefetch(AllToAll{}, {.static_domain = true});
    const auto promised = [&] { return test::message_of<UsageError>([&] { array.resize({30}); }); };
    CHECK_THAT(promised(), test::says({"GlobalArray(\"promised\").resize: ", "static_domain", "evict()"}));
    CHECK(test::misnumbered(array, false) == "none");
    // Also where one rank alone has still got them.
    if (runtime.rank().value != 0) array.evict();
    CHECK_THAT(promised(), test::says({"GlobalArray(\"promised\").resize: ", "static_domain", "evict()"}));
    array.evict();
    array.resize({30});
    CHECK(array(19) == test::value_of<std::int64_t>(19));
    CHECK(array(20) == 0);

    const bool fails = runtime.rank().value == runtime.size() - 1;
    array.prefetch([&](const Domain<1>& own) {
        if (fails && array.window().size(Rank{0}) == 0) throw std::runtime_error{"never"};
        if (fails && own.intersect(Domain<1>{{31, 50}}).size() > 0) throw std::runtime_error{"too far"};
        return own.expand(1);
    });
    if (fails) CHECK_THROWS_WITH(array.resize({50}), "too far");
    else
        CHECK_THAT(test::message_of<UsageError>([&] { array.resize({50}); }),
                   test::says({"promised", ".resize", "too far", "rank " + std::to_string(runtime.size() - 1)}));
    CHECK(array.extent(0) == 30);
    CHECK(array(19) == test::value_of<std::int64_t>(19));
    array.resize({25});
    CHECK(array(19) == test::value_of<std::int64_t>(19));
    runtime.barrier();
}

TEST_CASE("an array without a name is resized many times, and what it has counted is in the team's counters") {
    Runtime runtime;
    GlobalArray<std::int32_t, 1> array{runtime, {runtime.size()}};
    for (int round = 1; round <= 30; ++round) {
        array(test::next(runtime).value * round) = round; // the first of its part
        array.resize({runtime.size() * (round + 1)});
        REQUIRE(array(test::previous(runtime).value * round) == round);
        REQUIRE(array.owner(runtime.rank().value * (round + 1)) == runtime.rank());
        runtime.barrier();
    }
    const std::uint64_t before = runtime.statistics()[Counter::direct_get_bytes];
    std::vector<std::int32_t> buffer(array.size());
    array(array.domain()).get(buffer);
    const std::uint64_t counted = array.statistics()[Counter::direct_get_bytes];
    CHECK(counted > 0);
    array.resize({1});
    CHECK(array.statistics()[Counter::direct_get_bytes] < counted + 4);
    CHECK(runtime.statistics()[Counter::direct_get_bytes] >= before + counted);
    runtime.barrier();
}
