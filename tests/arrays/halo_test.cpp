// Own blocks with a margin of their neighbours' elements.
#include "support/mpi_test.hpp"
#include "tests/arrays/array_test.hpp"

#include <lapwing/blocks.hpp>
#include <lapwing/error.hpp>
#include <lapwing/halo.hpp>

using namespace lapwing;

namespace {

template <std::size_t N>
void check_halos(const Extents<N>& extents, const auto& distribution) {
    Runtime runtime;
    GlobalArray<std::int64_t, N> array{runtime, extents, distribution, {.name = "plate"}};
    for (const std::int64_t depth : {0, 1, 3, 20}) { // the last one reaches over whole parts
        Halo halo{array, depth};
        CHECK(halo.domain() == array.local_domain().expand(depth));
        for (const Index<N>& index : halo.domain()) halo(index) = -5;
        for (std::uint64_t round = 0; round < 2; ++round) {
            array.for_each_local([&](const Index<N>& index, std::int64_t& element) {
                element = test::value_of<std::int64_t>(round + test::position_of(extents, index));
            });
            halo.exchange();
            array.for_each_local(
                [](const Index<N>&, std::int64_t& element) { element = -1; }); // nobody reads it any more
            test::Mismatches mismatches;
            for (const Index<N>& index : halo.domain())
                mismatches.check(halo(index) ==
                                     (array.domain().contains(index)
                                          ? test::value_of<std::int64_t>(round + test::position_of(extents, index))
                                          : -5),
                                 index);
            CHECK(mismatches.text() == "none");
        }
        const LocalView<std::int64_t, N> own = halo.own();
        CHECK(own.size() == array.local_span().size());
        for (const Index<N>& place : Domain<N>{own.extents()}) own[place] = 9;
        halo.store();
        runtime.barrier();
        if (!array.domain().empty()) CHECK(array.min() == 9);
        if (!array.domain().empty()) CHECK(array.max() == 9);
    }
}

/// The index in [0, extent) that is the same place on a ring.
[[nodiscard]] std::int64_t around(std::int64_t index, std::int64_t extent) {
    return ((index % extent) + extent) % extent;
}

template <std::size_t N>
void check_periodic_halos(const Extents<N>& extents, const Block& distribution, const std::array<bool, N>& periodic,
                          std::int64_t depth) {
    Runtime runtime;
    GlobalArray<std::int64_t, N> array{runtime, extents, distribution, {.name = "torus"}};
    Halo halo{array, depth, periodic};
    for (const Index<N>& index : halo.domain()) halo(index) = -5;
    for (std::uint64_t round = 0; round < 2; ++round) {
        array.for_each_local([&](const Index<N>& index, std::int64_t& element) {
            element = test::value_of<std::int64_t>(round + test::position_of(extents, index));
        });
        halo.exchange();
        array.for_each_local([](const Index<N>&, std::int64_t& element) { element = -1; });
        test::Mismatches mismatches;
        for (const Index<N>& index : halo.domain()) {
            Index<N> there = index;
            for (std::size_t d = 0; d < N; ++d)
                if (periodic[d]) there[d] = around(index[d], extents[d]);
            mismatches.check(halo(index) ==
                                 (array.domain().contains(there)
                                      ? test::value_of<std::int64_t>(round + test::position_of(extents, there))
                                      : -5),
                             index);
        }
        CHECK(mismatches.text() == "none");
    }
}

} // namespace

TEST_CASE("in periodic dimensions a halo goes on at the other side") {
    const int ranks = test::world_size();
    for (const std::int64_t depth : {0, 1, 3, 9, 29}) { // the last one goes around several times
        INFO("depth " << depth);
        check_periodic_halos<1>({61}, {}, {true}, depth);
        check_periodic_halos<1>({9}, {}, {true}, depth); // all of it on every side; some ranks may have nothing
        check_periodic_halos<2>({11, 13}, {}, {true, true}, depth);
        check_periodic_halos<2>({11, 13}, {}, {false, true}, depth);
        check_periodic_halos<2>({11, 13}, {.grid = {1, ranks}}, {true, false},
                                depth); // one rank, and its own other side
        check_periodic_halos<3>({9, 10, 9}, {}, {true, false, true}, depth);
    }
}

TEST_CASE("a halo that no memory holds is refused, and one around nothing is empty") {
    Runtime runtime;
    GlobalArray<double, 2> a{runtime, {40, 3 * runtime.size()}, Block{.grid = {1, 0}}, {.name = "narrow"}};
    for (const std::int64_t depth : {INT64_MAX, INT64_MAX / 2, std::int64_t{1} << 60, std::int64_t{1} << 31})
        CHECK_THAT(test::message_of<RangeError>([&] { Halo(a, depth, {true, true}); }),
                   test::says({runtime.who(), "narrow", "depth " + std::to_string(depth), "2^62 bytes"}));
    GlobalArray<double, 1> empty{runtime, {0}, Block{}, {.name = "empty"}};
    Halo nothing{empty, 7, {true}};
    CHECK(nothing.domain().empty());
    nothing.exchange();
}

TEST_CASE("a halo does not outlive the extents of its array") {
    Runtime runtime;
    GlobalArray<double, 1> a{runtime, {10 * runtime.size()}};
    Halo resized{a, 1};
    a.resize({20 * runtime.size()});
    Halo closed{a, 1};
    a.close();
    for (Halo<double, 1>* const halo : {&resized, &closed}) {
        CHECK_THAT(test::message_of<UsageError>([&] { halo->exchange(); }),
                   test::says({"closed, or got other extents"}));
        CHECK_THAT(test::message_of<UsageError>([&] { halo->store(); }), test::says({"closed, or got other extents"}));
    }
}

TEST_CASE("a halo is what the array has around the local block, and the program's beyond its edges") {
    const int ranks = [] {
        const Runtime runtime;
        return runtime.size();
    }();
    check_halos<1>({61}, Block{});
    check_halos<1>({2}, Block{}); // some ranks have nothing
    check_halos<2>({11, 13}, Block{});
    check_halos<2>({11, 13}, Block{.grid = {1, ranks}});
    check_halos<3>({5, 4, 7}, Block{});
    check_halos<1>({61}, Blocks{test::uneven_lengths(61, ranks)});
    check_halos<2>({11, 13}, Blocks{{}, test::uneven_lengths(13, ranks)});
}

TEST_CASE("halos around what is no block are refused") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    GlobalArray<double, 1> dealt{runtime, {10 * runtime.size()}, Cyclic{}, {.name = "dealt"}};
    CHECK_THAT(test::message_of<UsageError>([&] { Halo(dealt, 1); }),
               test::says({runtime.who(), "dealt", "halo", "use Block"}));
    GlobalArray<double, 1> blocks{runtime, {10}, Block{}, {.name = "blocks"}};
    CHECK_THAT(test::message_of<RangeError>([&] { Halo(blocks, -1); }), test::says({"blocks", "depth -1"}));
    runtime.barrier();
}
