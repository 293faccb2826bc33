// Bad input to global arrays: what is refused, and what the message names. Assertion level 1 and above.
#include "tests/arrays/array_test.hpp"
#include "tests/runtime/bad_input.hpp"

#include <lapwing/dimension_reduction.hpp>
#include <lapwing/halo.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;

static_assert(assertion_level >= 1);

TEST_CASE("an element out of bounds is refused, with the index, the dimension and the limit") {
    Runtime runtime;
    test::for_every_maker<double, 2>(runtime.size(), [&](const test::Maker<double, 2>& maker) {
        GlobalArray<double, 2> array = maker.make(runtime, {5, 5});
        const GlobalArray<double, 2>& constant = array;
        CHECK_THAT(test::message_of<RangeError>([&] { array(5, 0) = 1; }),
                   test::says({"rank ", " of ", "tested", "(5, 0)", "index 5", "dimension 0", "[0, 5)", "domain()"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array(2, -1).get(); }),
                   test::says({"tested", "(2, -1)", "index -1", "dimension 1", "[0, 5)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)constant(0, 99); }), test::says({"tested", "(0, 99)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array.at(-7, 0); }), test::says({".at", "(-7, 0)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)constant.at(0, 5); }), test::says({".at", "(0, 5)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array.owner(5, 5); }), test::says({".owner", "(5, 5)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array.is_local(5, 0); }), test::says({"(5, 0)"}));
        CHECK_THAT(test::message_of<RangeError>([&] { (void)array.local(0, 5); }), test::says({".local", "(0, 5)"}));
        // Unsigned values that do not fit become negative, and are refused too.
        CHECK_THROWS_AS(array(std::numeric_limits<std::uint64_t>::max(), 0), RangeError);
        runtime.barrier();
    });
}

TEST_CASE("local access to the element of another rank names its owner") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<double, 1> array{runtime, {2 * runtime.size()}, Block{}, {.name = "shared out"}};
    const int next = (runtime.rank().value + 1) % runtime.size();
    CHECK_THAT(test::message_of<RangeError>([&] { (void)array.local(2 * next); }),
               test::says({"shared out", "owned by rank " + std::to_string(next), "local_domains"}));
    runtime.barrier();
}

TEST_CASE("a patch out of bounds is refused before anything moves") {
    Runtime runtime;
    GlobalArray<std::int32_t, 2> array{runtime, {6, 4}, Block{}, {.name = "sheet"}};
    array.fill(3);
    std::vector<std::int32_t> buffer(100, 8);
    CHECK_THAT(test::message_of<RangeError>([&] { array({{2, 7}, {0, 4}}).get(buffer); }),
               test::says({"sheet", "([2, 7) x [0, 4))", "[2, 7) of dimension 0", "[0, 6)", "intersect"}));
    CHECK_THAT(test::message_of<RangeError>([&] { array({{0, 6}, {-1, 2}}).put(buffer); }),
               test::says({"sheet", "[-1, 2) of dimension 1", "[0, 4)"}));
    CHECK_THAT(test::message_of<RangeError>([&] { (void)array({{0, 6}, Range{0, 6}.by(5)}).start_get(buffer); }),
               test::says({"sheet", "of dimension 1", "[0, 4)"}));
    CHECK_THAT(test::message_of<RangeError>([&] { (void)array({{6, 7}, {0, 1}}).start_put(buffer); }),
               test::says({"sheet", "[6, 7)", "[0, 6)"}));
    CHECK(array.min() == 3);
    CHECK(array.max() == 3);
    CHECK(std::vector<std::int32_t>(100, 8) == buffer);
}

TEST_CASE("a buffer that is too small is refused, with both sizes") {
    Runtime runtime;
    GlobalArray<std::int32_t, 2> array{runtime, {6, 4}, Block{}, {.name = "sheet"}};
    std::vector<std::int32_t> buffer(23, 8);
    CHECK_THAT(test::message_of<RangeError>([&] { array(array.domain()).get(buffer); }),
               test::says({"sheet", ".get", "23 elements", "24", "size()"}));
    CHECK_THAT(test::message_of<RangeError>([&] { array(array.domain()).put(buffer); }),
               test::says({"sheet", ".put", "23 elements", "24"}));
    CHECK_THROWS_AS(array({{0, 1}, {0, 1}}).get(std::span<std::int32_t>{}), RangeError);
    CHECK(buffer == std::vector<std::int32_t>(23, 8));
    runtime.barrier();
}

TEST_CASE("a patch that a program's own distribution does not store is refused before anything moves") {
    Runtime runtime;
    GlobalArray<std::int32_t, 2> array{runtime, {6, 6}, example::Triangular{}, {.name = "triangle"}};
    array.fill(3);
    std::vector<std::int32_t> buffer(36, 8);
    CHECK_THAT(test::message_of<RangeError>([&] { array({{3, 6}, {0, 5}}).put(buffer); }),
               test::says({"triangle", ".put", "(3, 4)", "local_domains()"}));
    CHECK_THROWS_AS(array(array.domain()).get(buffer), RangeError);
    CHECK(array.max() == 3);
    CHECK(buffer == std::vector<std::int32_t>(36, 8));
}

TEST_CASE("extents that are negative or too large are refused") {
    Runtime runtime;
    CHECK_THAT(
        test::message_of<RangeError>([&] { GlobalArray<double, 2>{runtime, {3, -4}, Block{}, {.name = "negative"}}; }),
        test::says({"rank ", "negative", "extent -4 of dimension 1", "(3, -4)", "[0, 2^63 - 1]"}));
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { GlobalArray<double, 1>{runtime, {std::numeric_limits<std::uint64_t>::max()}}; }),
               test::says({"rank ", "dimension 0", "18446744073709551615"}));
    // More elements than 64 bits count; more bytes; more memory than there is.
    const std::int64_t large = std::int64_t{1} << 40;
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { GlobalArray<double, 2>{runtime, {large, large}, Block{}, {.name = "huge"}}; }),
               test::says({"rank ", "huge", "1099511627776", "2^64"}));
    CHECK_THAT(test::message_of<RangeError>([&] {
                   GlobalArray<double, 2>{runtime, {large, std::int64_t{1} << 23}, Replicated{}, {.name = "huge"}};
               }),
               test::says({"huge", "8 bytes", "2^62"}));
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { GlobalArray<double, 2>{runtime, {large, 1024}, Block{}, {.name = "huge"}}; }),
               test::says({"huge", "bytes"}));
    // Zero times anything is zero.
    const GlobalArray<double, 3> none{runtime, {large, large, 0}};
    CHECK(none.size() == 0);
    runtime.barrier();
}

TEST_CASE("process grids and block sizes that do not fit are refused, with the array's name") {
    Runtime runtime;
    const int ranks = runtime.size();
    const auto refused = [&](const auto& distribution) {
        return test::message_of<RangeError>(
            [&] { GlobalArray<double, 2>{runtime, {8, 8}, distribution, {.name = "gridded"}}; });
    };
    CHECK_THAT(
        refused(Block{.grid = {ranks + 1, 1}}),
        test::says({"gridded", "Block", std::to_string(ranks + 1) + ", 1", "the " + std::to_string(ranks) + " ranks"}));
    CHECK_THAT(refused(Cyclic{.grid = {ranks + 1, 0}}), test::says({"gridded", "Cyclic", "must divide"}));
    CHECK_THAT(refused(Block{.grid = {ranks}}), test::says({"gridded", "1 numbers for 2 dimensions"}));
    CHECK_THAT(refused(Block{.grid = {-1, -ranks}}), test::says({"gridded", "-1 processes in dimension 0"}));
    CHECK_THAT(refused(BlockCyclic{.block = {2}}), test::says({"gridded", "BlockCyclic", "1 sizes for 2 dimensions"}));
    CHECK_THAT(refused(BlockCyclic{.block = {2, 0}}), test::says({"gridded", "size 0 of dimension 1", "at least 1"}));
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { GlobalArray<double, 2>{runtime, {8, 9}, example::Triangular{}, {.name = "gridded"}}; }),
               test::says({"gridded", "Triangular", "(8, 9)"}));
    runtime.barrier();
}

namespace {

/// Puts half of the elements where there are none.
struct Wrong {
    struct Map {
        [[nodiscard]] Location locate(const Index<1>& index) const {
            return {Rank{0}, static_cast<std::uint64_t>(index[0])};
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return 5; }
        [[nodiscard]] std::uint64_t domain_count(Rank) const { return 0; }
        [[nodiscard]] Domain<1> domain(Rank, std::uint64_t) const { return {}; }
    };
    [[nodiscard]] Map map(const Extents<1>&, int) const { return {}; }
};

} // namespace

TEST_CASE("a program's own distribution that places an element outside of its part is found out") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {10}, Wrong{}, {.name = "wrong"}};
    array(4) = 1;
    CHECK_THAT(test::message_of<RangeError>([&] { array(5) = 1; }),
               test::says({"wrong", "(5)", "offset 5", "5 elements", "locate()"}));
    std::vector<double> buffer(10);
    CHECK_THAT(test::message_of<RangeError>([&] { array({{0, 10}}).get(buffer); }), test::says({"wrong", "locate()"}));
    runtime.barrier();
}

namespace {

struct Mistake {
    std::uint64_t contiguous = 1;  ///< what locate() says
    std::int64_t domain_shift = 0; ///< of what domain() lists; downwards at rank `last`
    int last = -1;
};

/// Ten elements a rank, with a mistake.
struct Mistaken {
    Mistake mistake = {};

    struct Map {
        Mistake mistake;

        [[nodiscard]] Location locate(const Index<1>& index) const {
            return {Rank{static_cast<int>(index[0] / 10)}, static_cast<std::uint64_t>(index[0] % 10),
                    mistake.contiguous};
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return 10; }
        [[nodiscard]] std::uint64_t domain_count(Rank) const { return 1; }
        [[nodiscard]] Domain<1> domain(Rank rank, std::uint64_t) const {
            const std::int64_t shift = rank.value == mistake.last ? -mistake.domain_shift : mistake.domain_shift;
            const std::int64_t first = 10 * rank.value + shift;
            return Domain<1>{Range{first, first + 10}};
        }
    };
    [[nodiscard]] Map map(const Extents<1>&, int) const { return {mistake}; }
};

} // namespace

TEST_CASE("a program's own distribution whose runs are empty or leave the part is found out") {
    Runtime runtime;
    const std::int64_t n = 10 * runtime.size();
    GlobalArray<double, 1> right{runtime, {n}, Mistaken{}};
    right.fill(1);
    CHECK(right.sum() == static_cast<double>(n));
    std::vector<double> buffer(static_cast<std::size_t>(n), 5);
    for (const std::uint64_t contiguous : {std::uint64_t{0}, std::uint64_t{11}, ~std::uint64_t{0}}) {
        INFO("contiguous " << contiguous);
        GlobalArray<double, 1> array{runtime, {n}, Mistaken{{.contiguous = contiguous}}, {.name = "mistaken"}};
        const auto refused = [&](const std::function<void()>& call) {
            CHECK_THAT(test::message_of<RangeError>(call),
                       test::says({"rank ", "mistaken", "contiguous", std::to_string(contiguous), "locate()"}));
        };
        refused([&] { array(0) = 1; });
        refused([&] { array(array.domain()).get(buffer); });
        refused([&] { array(array.domain()).put(buffer); });
        refused([&] { array.fill(7); });
        refused([&] { (void)array.sum(); });
        refused([&] { array.for_each_local([](const Index<1>&, double& element) { element = 7; }); });
        refused([&] { array.copy_from(right); });
        refused([&] { right.copy_from(array); });
        runtime.barrier();
    }
    CHECK(buffer == std::vector<double>(static_cast<std::size_t>(n), 5));
}

TEST_CASE("a program's own distribution that lists elements of other ranks, or none, is found out") {
    Runtime runtime;
    const std::int64_t n = 10 * runtime.size();
    for (const std::int64_t shift : {std::int64_t{5}, std::int64_t{10}, n}) {
        // Downwards at the last rank, where there are elements of others or none at all.
        const Mistake mistake{.domain_shift = shift, .last = runtime.size() - 1};
        GlobalArray<double, 1> array{runtime, {n}, Mistaken{mistake}, {.name = "mistaken"}};
        CHECK_THAT(test::message_of<RangeError>([&] { array.fill(7); }),
                   test::says({"rank ", "mistaken", "domain()", "locate()"}));
        CHECK_THAT(test::message_of<RangeError>(
                       [&] { array.for_each_local([](const Index<1>&, double& element) { element = 7; }); }),
                   test::says({"rank ", "mistaken", "domain()", "locate()"}));
        runtime.barrier();
    }
}

namespace {

/// Four rows a rank; does not find elements on a rank where it `fails`.
struct Failing {
    static inline bool fails = false;

    struct Map {
        [[nodiscard]] Location locate(const Index<2>& index) const {
            if (fails) throw std::domain_error{"the table is gone"};
            return {Rank{static_cast<int>(index[0] / 4)}, static_cast<std::uint64_t>(index[0] % 4 * 5 + index[1])};
        }
        [[nodiscard]] std::uint64_t local_capacity() const { return 20; }
        [[nodiscard]] std::uint64_t domain_count(Rank) const { return 1; }
        [[nodiscard]] Domain<2> domain(Rank rank, std::uint64_t) const {
            return Domain<2>{Range{4 * rank.value, 4 * (rank.value + 1)}, Range{0, 5}};
        }
    };
    [[nodiscard]] Map map(const Extents<2>&, int) const { return {}; }
};

} // namespace

TEST_CASE("what a program's own distribution throws on one rank ends a collective call on all") {
    Runtime runtime;
    Window window{runtime, 16};
    GlobalArray<double, 2> array{runtime, {4 * runtime.size(), 5}, Failing{}, {.name = "failing"}};
    GlobalArray<double, 2> other{runtime, array.extents()};
    GlobalArray<double, 1> totals{runtime, {array.extent(0)}, Block{}, {.name = "totals"}};
    Halo halo{array, 1};
    const auto larger = [](double a, double b) noexcept { return std::max(a, b); };
    array.fill(3);
    totals.fill(9);
    const std::vector<std::pair<std::string, std::function<void()>>> calls{
        {"exchange", [&] { halo.exchange(); }},
        {"fill", [&] { array.fill(7); }},
        {"sum", [&] { (void)array.sum(); }},
        {"min", [&] { (void)array.min(); }},
        {"max", [&] { (void)array.max(); }},
        {"min_location", [&] { (void)array.min_location(); }},
        {"reduce", [&] { (void)array.reduce(0.0, larger); }},
        {"reduce_along", [&] { reduce_along(array, 1, totals.slice(), 0.0, larger); }},
        {"copy_from", [&] { other.copy_from(array); }},
    };
    Rank wrong{0};
    for (const auto& [name, call] : calls) {
        INFO(name);
        Failing::fails = runtime.rank() == wrong;
        if (Failing::fails) CHECK_THAT(test::message_of<std::domain_error>(call), test::says({"the table is gone"}));
        else
            CHECK_THAT(test::message_of<UsageError>(call),
                       test::says({runtime.who(), "rank " + std::to_string(wrong.value), "the table is gone"}));
        Failing::fails = false;
        test::check_goes_on(runtime, window);
        CHECK(totals.min() == 9);
        CHECK(totals.max() == 9);
        wrong = Rank{(wrong.value + 1) % runtime.size()};
    }
    array.fill(2);
    halo.exchange();
    CHECK(halo(4 * runtime.rank().value, 0) == 2);
    CHECK(array.sum() == 2 * static_cast<double>(array.size()));
}

TEST_CASE("ranks that make different collective calls on arrays, or on different ones, get an error and go on") {
    lapwing::Runtime runtime;
    if (runtime.size() == 1) return;
    lapwing::GlobalArray<int, 1> a{runtime, {40}, lapwing::Block{}};
    lapwing::GlobalArray<int, 1> b{runtime, {40}, lapwing::Block{}};
    const bool odd_one = runtime.rank() == lapwing::Rank{0};
    const auto collective = "a collective call on an array";
    CHECK_THAT(test::message_of<lapwing::MismatchError>([&] { odd_one ? a.fill(1) : static_cast<void>(a.sum()); }),
               test::says({runtime.who(), collective, odd_one ? "this rank calls fill" : "this rank calls sum",
                           "one calls fill on that", "one sum on that", "the same collective calls"}));
    CHECK_THAT(test::message_of<lapwing::MismatchError>([&] { odd_one ? a.fill(1) : b.fill(1); }),
               test::says({collective, "fill on that made as number 1", "fill on that made as number 2"}));
    CHECK_THAT(
        test::message_of<lapwing::MismatchError>([&] { odd_one ? a.prefetch(lapwing::AllToAll{}) : a.copy_from(b); }),
        test::says({runtime.who(), collective, odd_one ? "this rank calls prefetch" : "this rank calls copy_from",
                    "one calls copy_from on that", "one prefetch on that", "the same collective calls"}));
    CHECK(!a.is_prefetched(0));
    CHECK_THAT(test::message_of<lapwing::MismatchError>([&] { odd_one ? runtime.barrier() : a.fill(1); }),
               test::says({"Team::barrier", collective}));
    a.fill(3);
    b.copy_from(a);
    CHECK(b.sum() == 120);
    CHECK_THAT(test::message_of<lapwing::MismatchError>(
                   [&] { lapwing::GlobalArray<int, 1>{runtime, {100 + 10 * runtime.rank().value}, lapwing::Block{}}; }),
               test::says({runtime.who(), "extents", "pass the same on all ranks"})); // level 3 says which
    CHECK_THAT(test::message_of<lapwing::MismatchError>([&] {
                   if (odd_one) lapwing::GlobalArray<int, 1>{runtime, {40}, lapwing::Block{}};
                   else lapwing::GlobalArray<int, 1>{runtime, {40}, lapwing::Cyclic{}};
               }),
               test::says({"in blocks of 1 on", "pass the same on all ranks"}));
    runtime.barrier();
}

namespace {

/// A distribution of the program's whose map one rank cannot make.
struct FailingOn {
    Rank rank;

    template <std::size_t N>
    [[nodiscard]] BlockCyclicMap<N> map(const Extents<N>& extents, int ranks) const {
        int own = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &own);
        if (own == rank.value) throw std::runtime_error{"no file with the parts"};
        return Block{}.map(extents, ranks);
    }
};

/// That `call` throws on every rank: on `rank` an Error that says `here`, on the others a UsageError that tells of it.
template <class Error, class Call>
void check_one_fails(const Runtime& runtime, Rank rank, const std::string& here, Call&& call) {
    if (runtime.rank() == rank) CHECK_THAT(test::message_of<Error>(call), test::says({here}));
    else
        CHECK_THAT(test::message_of<UsageError>(call),
                   test::says({fmt::format("rank {} could not", rank.value), here}));
}

} // namespace

TEST_CASE("what one rank alone cannot make is made by none, and all go on") {
    Runtime runtime;
    const Rank last{runtime.size() - 1};
    const bool here = runtime.rank() == last;
    const std::string text = "no file with the parts";
    check_one_fails<std::runtime_error>(runtime, last, text,
                                        [&] { GlobalArray<double, 2>{runtime, {8, 8}, FailingOn{last}}; });
    check_one_fails<RangeError>(runtime, last, "halo", [&] {
        GlobalArray<double, 1>{runtime, {8}, Block{}, {.name = "h", .halo = here ? -1 : 0}};
    });
    check_one_fails<RangeError>(runtime, last, "alignment 3",
                                [&] { Window{runtime, 64, {.alignment = here ? 3U : 64U}}; });
    check_one_fails<RangeError>(runtime, last, "notification counters",
                                [&] { Window{runtime, 64, {.notification_counters = here ? 1U << 30 : 1U}}; });
    GlobalArray<double, 1> array{runtime, {16}};
    array.fill(3);
    check_one_fails<std::runtime_error>(runtime, last, text, [&] { (void)array.relabelling(FailingOn{last}); });
    try {
        array.redistribute(FailingOn{last});
        FAIL("was redistributed");
    } catch (const std::exception& error) {
        CHECK_THAT(error.what(), test::says({text}));
    }
    // The function that combines two values: of the ranks that call it the last one fails.
    const auto add = [&](double one, double other) {
        if (runtime.rank() == Rank{0}) throw std::runtime_error{"overflow"};
        return one + other;
    };
    if (runtime.size() > 1) {
        if (runtime.rank() == Rank{0}) CHECK_THROWS_AS(runtime.reduce(1.0, add), std::runtime_error);
        else
            CHECK_THAT(test::message_of<UsageError>([&] { (void)runtime.reduce(1.0, add); }),
                       test::says({"has thrown on rank 0"}));
    }
    CHECK(array.sum() == 48);
    runtime.barrier();
}
