// Every collective call compares what its ranks pass, and all can go on after an error.
#include "runtime/bad_input.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/dimension_reduction.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using lapwing::Block;
using lapwing::BlockCyclic;
using lapwing::GlobalArray;
using lapwing::MismatchError;
using lapwing::Offset;
using lapwing::Range;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

using Array = GlobalArray<double, 2>;

struct Point {
    double x;
};
struct Weight {
    double value;
};
/// Of less than, and of more than what travels with the arguments.
constexpr std::size_t few = 3;
constexpr std::size_t many = 10'000;

struct Place {
    Runtime& runtime;
    Array& array;
    bool odd; ///< true on the one rank that passes something else
};

struct Case {
    std::string name;
    std::function<void(const Place&)> call;
    std::vector<std::string> says; ///< what the others and the odd one pass, in the message
};

template <class Operation>
auto values_of(Operation operation, std::size_t count, std::size_t other) {
    return [=](const Place& at) {
        std::vector<double> values(at.odd ? other : count, 1.0);
        operation(at.runtime, std::span{values});
    };
}

void keep_left(void*, void*, const void*) {}

const std::vector<Case>& reductions() {
    static const auto& cases = *new std::vector<Case>{
        {"sum: type",
         [](const Place& at) { at.odd ? (void)at.runtime.sum(1) : (void)at.runtime.sum(1.5); },
         {"1 of double with MPI_SUM", "1 of int64 with MPI_SUM"}},
        {"sum: number",
         values_of([](Runtime& r, std::span<double> v) { r.sum(v); }, few, 2),
         {"3 of double", "2 of double"}},
        {"sum: none",
         values_of([](Runtime& r, std::span<double> v) { r.sum(v); }, few, 0),
         {"3 of double", "0 of double"}},
        {"sum: large number",
         values_of([](Runtime& r, std::span<double> v) { r.sum(v); }, many, many - 1),
         {"10000 of double", "9999 of double"}},
        {"sum: small and large",
         values_of([](Runtime& r, std::span<double> v) { r.sum(v); }, few, many),
         {"3 of double", "10000 of double"}},
        {"min and max",
         [](const Place& at) { (void)(at.odd ? at.runtime.max(1) : at.runtime.min(1)); },
         {"MPI_MIN", "MPI_MAX"}},
        {"min of unsigned ones",
         [](const Place& at) {
             if (at.odd) (void)at.runtime.min(std::int64_t{-1});
             else (void)at.runtime.min(std::uint64_t{1});
         },
         {"1 of uint64", "1 of int64"}},
        {"all_reduce: operation of pairs",
         [](const Place& at) {
             struct {
                 double value;
                 int index;
             } pair{1, 2};
             at.runtime.all_reduce(&pair, 1, MPI_DOUBLE_INT, at.odd ? MPI_MINLOC : MPI_MAXLOC);
         },
         {"MPI_MAXLOC", "MPI_MINLOC"}},
        {"reduce: type",
         [](const Place& at) {
             const auto left = [](auto a, auto) { return a; };
             if (at.odd) (void)at.runtime.reduce(std::int64_t{1}, left);
             else (void)at.runtime.reduce(1.0, left);
         },
         {"8 bytes of double", "8 bytes of int64"}},
        {"combine: size",
         [](const Place& at) {
             std::vector<std::byte> value(at.odd ? 8000 : 16);
             at.runtime.combine(value, keep_left, nullptr);
         },
         {"16 bytes", "8000 bytes"}},
        {"combine_before: size",
         [](const Place& at) {
             std::vector<std::byte> value(at.odd ? 16 : 8000);
             std::vector<std::byte> before(value.size());
             (void)at.runtime.combine_before(value, before, keep_left, nullptr);
         },
         {"8000 bytes", "16 bytes"}},
        {"sum and broadcast",
         [](const Place& at) {
             if (at.odd) (void)at.runtime.broadcast(1.0, Rank{0});
             else (void)at.runtime.sum(1.0);
         },
         {"Team::all_reduce", "Team::broadcast"}},
    };
    return cases;
}

const std::vector<Case>& copies() {
    static const auto& cases = *new std::vector<Case>{
        {"broadcast: root",
         [](const Place& at) { (void)at.runtime.broadcast(1, at.odd ? at.runtime.rank() : Rank{0}); },
         {"from rank 0", "from rank "}},
        {"broadcast: number",
         [](const Place& at) {
             std::vector<int> values(at.odd ? 2 : 3);
             at.runtime.broadcast(values, Rank{0});
         },
         {"12 bytes of int32", "8 bytes of int32"}},
        {"broadcast: large number",
         [](const Place& at) {
             std::vector<double> values(at.odd ? many : many - 1);
             at.runtime.broadcast(values, Rank{0});
         },
         {"79992 bytes of double", "80000 bytes of double"}},
        {"broadcast: type",
         [](const Place& at) {
             if (at.odd) (void)at.runtime.broadcast(1.0, Rank{0});
             else (void)at.runtime.broadcast(std::int64_t{1}, Rank{0});
         },
         {"8 bytes of int64", "8 bytes of double"}},
        {"all_gather: number",
         [](const Place& at) {
             const std::vector<std::byte> value(at.odd ? 8 : 24);
             std::vector<std::byte> all(value.size() * static_cast<std::size_t>(at.runtime.size()));
             at.runtime.all_gather(value, all);
         },
         {"24 bytes", "8 bytes", "all_gather_varying"}},
        {"all_gather_varying: type",
         [](const Place& at) {
             if (at.odd) (void)at.runtime.all_gather_varying(std::vector<float>(3));
             else (void)at.runtime.all_gather_varying(std::vector<int>(3));
         },
         {"of int32", "of float"}},
        {"require_same",
         [](const Place& at) {
             const std::array<std::int64_t, 1> value{at.odd ? 8 : 7};
             at.runtime.require_same(value, "a test", "the number");
         },
         {"passes the number 7", "the number 8"}},
    };
    return cases;
}

const std::vector<Case>& creations() {
    static const auto& cases = *new std::vector<Case>{
        {"array: type",
         [](const Place& at) {
             if (at.odd) GlobalArray<double, 1>{at.runtime, {4}};
             else GlobalArray<std::int64_t, 1>{at.runtime, {4}};
         },
         {"elements of int64", "elements of double"}},
        {"array: structure",
         [](const Place& at) {
             if (at.odd) GlobalArray<Weight, 1>{at.runtime, {4}};
             else GlobalArray<Point, 1>{at.runtime, {4}};
         },
         {"Point", "Weight"}},
        {"array: extents",
         [](const Place& at) { Array{at.runtime, {4, at.odd ? 4 : 3}}; },
         {"extents 4 x 3", "extents 4 x 4"}},
        {"array: blocks",
         [](const Place& at) { GlobalArray<double, 1>{at.runtime, {80}, BlockCyclic{.block = {at.odd ? 3 : 4}}}; },
         {"blocks of 4", "blocks of 3"}},
        {"array: halo",
         [](const Place& at) { GlobalArray<double, 1>{at.runtime, {80}, Block{}, {.halo = at.odd ? 1 : 2}}; },
         {"halo 2", "halo 1"}},
        {"window: counters",
         [](const Place& at) { Window{at.runtime, 64, {.notification_counters = at.odd ? 4U : 5U}}; },
         {"5 notification counters", "4 notification counters"}},
        {"window: alignment",
         [](const Place& at) { Window{at.runtime, 64, {.alignment = at.odd ? 8U : 16U}}; },
         {"alignment 16", "alignment 8"}},
        {"lock: home",
         [](const Place& at) { lapwing::Lock{at.runtime, at.odd ? at.runtime.rank() : Rank{0}}; },
         {"home rank 0"}},
        {"resize: extents",
         [](const Place& at) { at.array.resize({8, at.odd ? 9 : 8}); },
         {"extents 8 x 8", "extents 8 x 9"}},
        {"redistribute",
         [](const Place& at) {
             at.array.redistribute(BlockCyclic{.block = {at.odd ? 1 : 2, 8}, .grid = {at.runtime.size(), 1}});
         },
         {"blocks of 2 x 8", "blocks of 1 x 8"}},
        {"fill of a slice", [](const Place& at) { at.array(Range{0, at.odd ? 3 : 4}, Range{0, 4}).fill(1); }, {}},
        {"fill and sum", [](const Place& at) { at.odd ? at.array.fill(1) : (void)at.array.sum(); }, {"fill", "sum"}},
    };
    return cases;
}

void check(const std::vector<Case>& cases) {
    Runtime runtime;
    Window window{runtime, 80};
    Array array{runtime, {6, 8}};
    array.fill(2);
    if (runtime.size() == 1) return;
    int round = 0;
    for (const Case& one : cases) {
        INFO(one.name);
        // Each rank is the odd one in its turn, but for rank 0.
        const Rank odd{1 + round++ % (runtime.size() - 1)};
        const Place place{runtime, array, runtime.rank() == odd};
        std::vector<std::string> texts{one.says};
        texts.push_back(runtime.who());
        CHECK_THAT(test::message_of<MismatchError>([&] { one.call(place); }), test::says(texts));
        // Of every kind, without a barrier before it.
        CHECK(runtime.sum(runtime.rank().value) == runtime.size() * (runtime.size() - 1) / 2);
        CHECK(runtime.broadcast(runtime.rank().value, odd) == odd.value);
        CHECK(array.sum() == 96);
        test::check_goes_on(runtime, window);
    }
}

} // namespace

TEST_CASE("reductions whose ranks pass different arguments are an error on all of them") { check(reductions()); }
TEST_CASE("broadcasts and gathers whose ranks pass different arguments are an error on all of them") {
    check(copies());
}
TEST_CASE("arrays and windows whose ranks pass different arguments are an error on all of them") { check(creations()); }

TEST_CASE("what a call cannot do on one rank is an error on all of them") {
    Runtime runtime;
    Window window{runtime, 80};
    Array array{runtime, {6, 8}};
    Array same{runtime, {6, 8}};
    Array larger{runtime, {7, 8}};
    GlobalArray<double, 1> sums{runtime, {8}};
    GlobalArray<double, 1> more{runtime, {9}};
    GlobalArray<int, 1> copies{runtime, {4}, lapwing::Replicated{}};
    array.fill(2);
    if (runtime.size() == 1) return;
    const auto ranks = static_cast<std::size_t>(runtime.size());
    const std::array<std::byte, 16> value{};
    double number = 1;
    bool odd = false; // on the one rank that passes what cannot be
    const std::vector<Case> cases{
        {"all_reduce: size",
         [&](const Place&) { runtime.all_reduce(&number, odd ? std::uint64_t{1} << 60 : 1, MPI_DOUBLE, MPI_SUM); },
         {"no memory has 2^56 bytes"}},
        {"broadcast: root", [&](const Place&) { (void)runtime.broadcast(1, Rank{odd ? -7 : 0}); }, {"-7"}},
        {"combine: size",
         [&](const Place&) {
             std::vector<std::byte> large(odd ? 5'000'000 : 16);
             runtime.combine(large, keep_left, nullptr);
         },
         {"5000000 bytes"}},
        {"combine_before: room",
         [&](const Place&) {
             std::array<std::byte, 16> before{};
             (void)runtime.combine_before(value, std::span{before}.first(odd ? 15 : 16), keep_left, nullptr);
         },
         {"16 bytes, and 15 for the result"}},
        {"all_gather: room",
         [&](const Place&) {
             std::vector<std::byte> all(value.size() * ranks + (odd ? 1 : 0));
             runtime.all_gather(value, all);
         },
         {"pass room for"}},
        {"all_gather_varying: lengths",
         [&](const Place&) {
             std::vector<std::byte> all(value.size() * ranks);
             std::vector<std::uint64_t> bytes_of(ranks + (odd ? 1 : 0));
             runtime.all_gather_varying(value, bytes_of, [&](std::uint64_t) { return std::span{all}; });
         },
         {"pass room for one of each"}},
        {"copies of an array: root", [&](const Place&) { copies.broadcast(Rank{odd ? -7 : 0}); }, {"-7"}},
        {"reduce_along: dimension",
         [&](const Place&) { lapwing::sum_along(array, odd ? 2 : 0, sums.slice()); },
         {"dimension 2"}},
        {"reduce_along: extents",
         [&](const Place&) { lapwing::sum_along(array, 0, odd ? more.slice() : sums.slice()); },
         {"(9)"}},
        {"copy_from: extents", [&](const Place&) { array.copy_from(odd ? larger : same); }, {}},
    };
    int round = 0;
    for (const Case& one : cases) {
        INFO(one.name);
        odd = runtime.rank() == Rank{round++ % runtime.size()};
        const std::string text = test::message_of<lapwing::Error>([&] { one.call({runtime, array, odd}); });
        CHECK_THAT(text, test::says(one.says));
        CHECK_THAT(text, test::says({runtime.who()}));
        CHECK(runtime.sum(runtime.rank().value) == runtime.size() * (runtime.size() - 1) / 2);
        CHECK(array.sum() == 96);
        test::check_goes_on(runtime, window);
    }
}

TEST_CASE("reductions of every size, of any number of ranks, and in the order of the ranks") {
    Runtime runtime;
    const auto ranks = static_cast<double>(runtime.size());
    for (const std::size_t count : {1U, 8U, 9U, 503U, 504U, 505U, 4096U, 4097U, 600'000U}) {
        std::vector<double> values(count);
        std::iota(values.begin(), values.end(), runtime.rank().value);
        std::vector<double> largest = values;
        runtime.sum(std::span{values});
        runtime.max(std::span{largest});
        bool right = true;
        for (std::size_t k = 0; k < count; ++k) {
            const auto at = static_cast<double>(k);
            right = right && values[k] == ranks * at + ranks * (ranks - 1) / 2 && largest[k] == at + ranks - 1;
        }
        CHECK(right);
        for (int root = 0; root < runtime.size(); ++root) {
            std::vector<double> copy(count, runtime.rank().value);
            runtime.broadcast(copy, Rank{root});
            CHECK(copy == std::vector<double>(count, root));
        }
    }
}

TEST_CASE("values of different numbers are gathered, however many") {
    Runtime runtime;
    for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
        const auto count_of = [&](int rank) { return unit * static_cast<std::size_t>((rank * 2 + 1) % 4); };
        const auto value_of = [](int rank, std::size_t at) { return static_cast<std::int64_t>(at) * 8 + rank; };
        std::vector<std::int64_t> own(count_of(runtime.rank().value));
        for (std::size_t k = 0; k < own.size(); ++k) own[k] = value_of(runtime.rank().value, k);
        const auto all = runtime.all_gather_varying(own);
        for (int rank = 0; rank < runtime.size(); ++rank) {
            const auto part = all.of(Rank{rank});
            REQUIRE(part.size() == count_of(rank));
            bool right = true;
            for (std::size_t k = 0; k < part.size(); ++k) right = right && part[k] == value_of(rank, k);
            CHECK(right);
        }
    }
}

TEST_CASE("a rank without room for what is gathered keeps nobody waiting") {
    Runtime runtime;
    Window window{runtime, 80};
    const Rank last{runtime.size() - 1};
    const std::array<std::byte, 8> own{};
    std::vector<std::uint64_t> bytes_of(static_cast<std::size_t>(runtime.size()));
    std::vector<std::byte> all(own.size() * bytes_of.size() - (runtime.rank() == last ? 1 : 0));
    const auto gather = [&] {
        runtime.all_gather_varying(own, bytes_of, [&](std::uint64_t) { return std::span{all}; });
    };
    if (runtime.rank() == last)
        CHECK_THAT(test::message_of<lapwing::RangeError>(gather),
                   test::says({"room for " + std::to_string(all.size()) + " bytes", "pass as much"}));
    else
        CHECK_THAT(test::message_of<lapwing::UsageError>(gather),
                   test::says({"nothing was gathered, since rank " + std::to_string(last.value) + " could not"}));
    CHECK(bytes_of == std::vector<std::uint64_t>(bytes_of.size(), own.size()));
    test::check_goes_on(runtime, window);
}
