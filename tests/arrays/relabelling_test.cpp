// The order of ranks in which another distribution moves the fewest bytes: against all permutations.
#include "tests/arrays/array_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/relabelling.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

using namespace lapwing;

namespace {

struct Moved {
    std::uint64_t unordered = 0;
    std::uint64_t best = 0;
};

/// Bytes that leave their rank, found by looking at every element and every order.
template <std::size_t N, class From, class To>
Moved moved_by_hand(const Extents<N>& extents, int ranks, std::uint64_t element_bytes, const From& from, const To& to) {
    const auto here = from.map(extents, ranks);
    const auto there = to.map(extents, ranks);
    std::vector<std::uint64_t> common(static_cast<std::size_t>(ranks * ranks));
    const auto pair = [ranks](int owner, int place) {
        const int number = owner * ranks + place;
        return static_cast<std::size_t>(number);
    };
    std::uint64_t all = 0;
    for (const Index<N>& index : Domain<N>{extents}) {
        ++common[pair(here.locate(index).owner.value, there.locate(index).owner.value)];
        ++all;
    }
    std::vector<int> places(static_cast<std::size_t>(ranks));
    std::iota(places.begin(), places.end(), 0);
    const auto kept = [&] {
        std::uint64_t sum = 0;
        for (int rank = 0; rank < ranks; ++rank) sum += common[pair(rank, places[static_cast<std::size_t>(rank)])];
        return sum;
    };
    Moved moved{.unordered = (all - kept()) * element_bytes, .best = UINT64_MAX};
    do moved.best = std::min(moved.best, (all - kept()) * element_bytes);
    while (std::ranges::next_permutation(places).found);
    return moved;
}

template <class T, std::size_t N, class From, class To>
void relabel(Runtime& runtime, const Extents<N>& extents, const From& from, const To& to) {
    GlobalArray<T, N> array{runtime, extents, from, {.name = "relabelled"}};
    array.for_each_local(
        [&](const Index<N>& index, T& element) { element = static_cast<T>(test::position_of(extents, index)); });
    array.prefetch(AllToAll{}, {.consistent = true});
    const Moved expected = moved_by_hand(extents, runtime.size(), sizeof(T), from, to);

    Relabelling order = array.relabelling(to);
    CHECK(order.bytes() == array.size() * sizeof(T));
    CHECK(order.bytes_moved() == expected.best);
    CHECK(order.bytes_moved_unordered() == expected.unordered);
    if (expected.best == expected.unordered) CHECK_FALSE(order.changes());

    array.redistribute(to, order);
    CHECK(array.team().rank() == order.rank());
    const auto map = to.map(extents, runtime.size());
    std::uint64_t own = 0;
    test::Mismatches mismatches;
    for (const Index<N>& index : array.domain()) {
        mismatches.check(array.owner(index) == map.locate(index).owner &&
                             array(index) == static_cast<T>(test::position_of(extents, index)),
                         index);
        own += array.is_local(index) ? 1 : 0;
    }
    CHECK(mismatches.text() == "none");
    std::uint64_t listed = 0;
    array.for_each_local([&](const Index<N>&, T&) { ++listed; });
    CHECK(listed == own);
    // The array keeps its team, also through another redistribution, a resize and a move.
    order.close();
    CHECK_THROWS_AS(order.team(), UsageError);
    array.redistribute(from);
    GlobalArray<T, N> moved = std::move(array);
    for (const Index<N>& index : moved.domain())
        mismatches.check(moved(index) == static_cast<T>(test::position_of(extents, index)), index);
    CHECK(mismatches.text() == "none");
    moved.barrier();
    moved = GlobalArray<T, N>{runtime, extents, from};
    CHECK(moved.team().rank() == runtime.rank());
}

} // namespace

TEST_CASE("no order of the ranks moves fewer bytes") {
    Runtime runtime;
    const int ranks = runtime.size();
    relabel<double, 1>(runtime, {67}, Block{}, Cyclic{});
    relabel<double, 1>(runtime, {67}, Block{}, test::Reversed{{7}});
    relabel<std::int16_t, 1>(runtime, {100}, BlockCyclic{{3}}, BlockCyclic{{7}});
    relabel<double, 2>(runtime, {12, 15}, Block{{ranks, 1}}, Block{{1, ranks}});
    relabel<float, 2>(runtime, {20, 20}, BlockCyclic{{2, 3}}, BlockCyclic{{4, 3}});
    relabel<float, 2>(runtime, {20, 20}, test::Reversed{{2, 3}}, BlockCyclic{{2, 3}});
    relabel<double, 3>(runtime, {6, 5, 7}, Block{}, BlockCyclic{{2, 2, 2}});
}

TEST_CASE("blocks that are numbered in reverse stay where they are") {
    Runtime runtime;
    const std::int64_t n = 5 * runtime.size();
    GlobalArray<int, 1> array{runtime, {n}, Block{}};
    Relabelling order = array.relabelling(test::Reversed{{5}});
    CHECK(order.bytes_moved() == 0);
    CHECK(order.rank() == Rank{runtime.size() - 1 - runtime.rank().value});
    CHECK(order.changes() == (runtime.size() > 1));
    array.close();
    order.close();
}

TEST_CASE("of replicated arrays all orders are alike, and so are those of arrays that are empty") {
    Runtime runtime;
    const auto others = static_cast<std::uint64_t>(runtime.size() - 1);
    GlobalArray<double, 1> replicated{runtime, {10}, Replicated{}};
    GlobalArray<double, 1> block{runtime, {10}, Block{}};
    GlobalArray<double, 1> empty{runtime, {0}, Block{}};
    CHECK(replicated.relabelling(Block{}).bytes_moved() == 0);
    CHECK(block.relabelling(Replicated{}).bytes_moved() == 80 * others);
    const Relabelling nothing = empty.relabelling(Cyclic{});
    CHECK(nothing.bytes_moved_unordered() == 0);
    CHECK_FALSE(nothing.changes());
    replicated.close();
    block.close();
    empty.close();
}

TEST_CASE("a team of other ranks, and a distribution that does not fit, leave the array as it was") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {10}, Block{}, {.name = "kept"}};
    array.fill(3);
    Runtime self{MPI_COMM_SELF};
    GlobalArray<double, 1> alone{self, {10}};
    Relabelling of_one = alone.relabelling(Cyclic{});
    if (runtime.size() > 1)
        CHECK_THAT(test::message_of<UsageError>([&] { array.redistribute(Cyclic{}, of_one); }),
                   test::says({"GlobalArray(\"kept\").redistribute", "not the same ranks"}));
    CHECK_THAT(test::message_of<RangeError>([&] { static_cast<void>(array.relabelling(BlockCyclic{{0}})); }),
               test::says({"at least 1"}));
    CHECK(array.sum() == 30);
    array.close();
    alone.close();
    of_one.close();
    self.close();
}

TEST_CASE("an order of the ranks makes no team once that of its array is closed") {
    std::optional<Relabelling> order;
    {
        Runtime runtime;
        const GlobalArray<double, 1> array{runtime, {10 * runtime.size()}};
        order = array.relabelling(test::Reversed{{10}});
    }
    CHECK_THAT(test::message_of<UsageError>([&] { (void)order->team(); }),
               test::says({"the team of its array is closed"}));
    order->close();
}

TEST_CASE("the synchronisation of either team orders the arrays of both") {
    Runtime runtime;
    const std::int64_t n = 10 * runtime.size();
    GlobalArray<std::int64_t, 1> array{runtime, {n}, Block{}, {.name = "relabelled"}};
    GlobalArray<std::int64_t, 1> other{runtime, {n}, Block{}, {.name = "other", .cache = {.mode = CacheMode::epoch}}};
    Relabelling order = array.relabelling(test::Reversed{{10}});
    array.redistribute(test::Reversed{{10}}, order);
    array.prefetch(AllToAll{});
    other.prefetch(AllToAll{});
    Lock lock{runtime, Rank{0}};
    std::int64_t stale = 0;
    std::int64_t k = 0;
    const auto step = [&](auto synchronise) {
        ++k;
        for (GlobalArray<std::int64_t, 1>* one : {&array, &other})
            one->for_each_local([&](const Index<1>&, std::int64_t& x) { x = k; });
        synchronise();
        for (const GlobalArray<std::int64_t, 1>* one : {&array, &other})
            for (std::int64_t i = 0; i < n; ++i) stale += (*one)(i) != k ? 1 : 0;
        synchronise();
    };
    for (int round = 0; round < 3; ++round) {
        step([&] { runtime.barrier(); });
        step([&] { array.barrier(); });
        step([&] {
            runtime.notify();
            runtime.wait();
        });
        step([&] {
            runtime.release();
            MPI_Barrier(MPI_COMM_WORLD);
            runtime.acquire();
        });
        step([&] {
            array.team().fence();
            MPI_Barrier(MPI_COMM_WORLD);
            array.team().fence();
        });
    }
    CHECK(stale == 0);
    // A counter under a lock of the program's team.
    if (array.is_local(0)) array.local(0) = 0;
    runtime.barrier();
    for (int round = 0; round < 20; ++round) {
        lock.lock();
        array(0) = array(0) + 1;
        lock.unlock();
    }
    runtime.barrier();
    CHECK(array(0) == 20 * runtime.size());
    runtime.barrier();
    lock.close();
    other.close();
    order.close();
    CHECK_THAT(test::message_of<UsageError>([&] { runtime.close(); }),
               test::says({"1 of its windows are open", "relabelled"}));
    array.close();
    runtime.close();
}
