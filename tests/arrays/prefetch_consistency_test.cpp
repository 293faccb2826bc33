// What reads of prefetched elements see: this rank's writes of all kinds, what other ranks have released, arrays that
// are swapped or moved.
#include "tests/arrays/array_test.hpp"
#include "tests/support/run_number.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/statistics.hpp>

#include <atomic>
#include <complex>
#include <filesystem>
#include <initializer_list>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

using namespace lapwing;

namespace {

constexpr PrefetchOptions manual{.consistent = false};

/// An array of which every rank has prefetched everything, and what it holds.
struct Tested {
    explicit Tested(Runtime& runtime, const PrefetchOptions& options, CacheMode cache)
        : array{runtime, {12, 6}, Block{}, {.name = "written", .cache = {.mode = cache}}}, expected(72) {
        test::number_elements(array);
        array.prefetch(AllToAll{}, options);
        for (const Index<2>& index : array.domain()) at(index) = test::value_of<std::int64_t>(position(index));
    }
    [[nodiscard]] std::uint64_t position(const Index<2>& index) const {
        return test::position_of(array.extents(), index);
    }
    [[nodiscard]] std::int64_t& at(const Index<2>& index) { return expected[position(index)]; }
    [[nodiscard]] std::string wrong() {
        test::Mismatches mismatches;
        for (const Index<2>& index : array.domain()) mismatches.check(array(index) == at(index), index);
        return mismatches.text();
    }

    GlobalArray<std::int64_t, 2> array;
    std::vector<std::int64_t> expected;
};

/// Calls `body(tested)` with copies of both modes, with and without a cache.
template <class Body>
void for_every_mode(Body body) {
    Runtime runtime;
    for (const bool consistent : {true, false})
        for (const CacheMode cache : {CacheMode::off, CacheMode::epoch}) {
            INFO("consistent " << consistent << ", cached " << (cache != CacheMode::off));
            Tested tested{runtime, {.consistent = consistent}, cache};
            body(runtime, tested);
            tested.array.barrier();
        }
}

/// The elements that one rank writes: of 8 groups, one each.
[[nodiscard]] bool writes(const Runtime& runtime, const Index<2>& index) {
    return (index[0] * 6 + index[1]) % runtime.size() == runtime.rank().value;
}

} // namespace

TEST_CASE("an own write is read back, whatever has made it") {
    for_every_mode([](Runtime& runtime, Tested& tested) {
        GlobalArray<std::int64_t, 2>& array = tested.array;
        std::int64_t fresh = 1000 * (1 + runtime.rank().value);
        std::int64_t kind = 0;
        for (const Index<2>& index : array.domain()) {
            if (!writes(runtime, index)) continue;
            std::int64_t& value = tested.at(index);
            (void)array(index).get(); // automatic copies are filled before, or between
            ++fresh;
            switch (kind++ % 10) {
            case 0: array(index) = value = fresh; break;
            case 1:
                array(index) += 7;
                value += 7;
                break;
            case 2:
                array(Domain<2>{{index[0], index[0] + 1}, {index[1], index[1] + 1}}).put(std::span{&fresh, 1});
                value = fresh;
                break;
            case 3:
                array(Domain<2>{{index[0], index[0] + 1}, {index[1], index[1] + 1}})
                    .start_put(std::span{&fresh, 1})
                    .wait();
                value = fresh;
                break;
            case 4:
                array(index).atomic().add(5);
                value += 5;
                break;
            case 5:
                CHECK(array(index).atomic().fetch_add(3) == value);
                value += 3;
                break;
            case 6:
                CHECK(array(index).atomic().compare_swap(value, fresh) == value);
                value = fresh;
                break;
            case 7: array.scatter(std::vector<Index<2>>{index}, std::span<const std::int64_t>{&fresh, 1}); break;
            case 8: {
                std::int64_t before = 0;
                array.fetch(Atomic::add, std::vector<Index<2>>{index}, std::int64_t{11}, std::span{&before, 1});
                CHECK(before == value);
                value += 11;
                break;
            }
            default: {
                const Rank owner = array.owner(index);
                const Index<2> first = array.local_domain(owner).first();
                const auto columns = static_cast<std::int64_t>(array.local_domain(owner).range(1).size());
                array.window().put(owner,
                                   Offset::of<std::int64_t>(static_cast<std::uint64_t>((index[0] - first[0]) * columns +
                                                                                       index[1] - first[1])),
                                   fresh);
                value = fresh;
            }
            }
            if ((kind - 1) % 10 == 7) value = fresh;
            CHECK(array(index) == value);
        }
        array.barrier();
        // Everybody's writes, from everybody's own copies of what they have written.
        std::vector<std::int64_t> all(72);
        for (const Index<2>& index : array.domain())
            all[tested.position(index)] = writes(runtime, index) ? tested.at(index) : 0;
        runtime.sum(std::span{all});
        tested.expected = all;
        array.update();
        CHECK(tested.wrong() == "none");
    });
}

TEST_CASE("automatic copies see what a barrier, a lock or a notification orders before the read") {
    Runtime runtime;
    for (const CacheMode cache : {CacheMode::off, CacheMode::epoch}) {
        Tested tested{runtime, {}, cache};
        GlobalArray<std::int64_t, 2>& array = tested.array;
        Lock lock{runtime};
        const Rank next = test::next(runtime);
        for (std::int64_t round = 1; round <= 5; ++round) {
            for (const Index<2>& index : array.domain()) {
                tested.at(index) += round;
                if (writes(runtime, index)) array(index) = tested.at(index);
            }
            array.barrier();
            CHECK(tested.wrong() == "none");
            array.barrier();
            // Under a lock, a counter that all ranks increase.
            lock.lock();
            array(Index<2>{11, 5}) = array(11, 5) + 1;
            lock.unlock();
            array.barrier();
            tested.at({11, 5}) += runtime.size();
            CHECK(array(11, 5) == tested.at({11, 5}));
            array.barrier();
            // A notification says that the element before it has been written.
            const Index<2> mine{runtime.rank().value % 12, 0};
            const Index<2> theirs{test::previous(runtime).value % 12, 0};
            (void)array(theirs).get();
            array.barrier();
            array(mine) = 500 * round + runtime.rank().value;
            array.release();
            array.window().put_notify(next, Offset{0}, std::span<const std::byte>{}, 0);
            array.window().wait_notified(0);
            CHECK(array(theirs) == 500 * round + test::previous(runtime).value);
            array.barrier();
            for (int rank = 0; rank < runtime.size(); ++rank) tested.at({rank % 12, 0}) = 500 * round + rank;
        }
        array.barrier();
    }
}

TEST_CASE("copies go with arrays that change places, and one is evicted while another is in use") {
    Runtime runtime;
    GlobalArray<double, 1> a{runtime, {40}, Block{}, {.name = "a"}};
    GlobalArray<double, 1> b{runtime, {40}, Block{}, {.name = "b"}};
    for (GlobalArray<double, 1>* array : {&a, &b}) {
        array->fill(0);
        array->prefetch(Stencil{.depth = 1, .periodic = {true}});
    }
    if (a.is_local(0)) a(0) = 64;
    a.barrier();
    std::vector<double> serial(40, 0.0);
    serial[0] = 64;
    const auto step = [&] {
        std::vector<double> next(40);
        for (std::size_t i = 0; i < 40; ++i)
            next[i] = 0.5 * serial[i] + 0.25 * (serial[(i + 39) % 40] + serial[(i + 1) % 40]);
        serial = next;
        for (auto [i] : a.local_domain()) b(i) = 0.5 * a(i) + 0.25 * (a((i + 39) % 40) + a((i + 1) % 40));
        b.barrier();
        std::swap(a, b);
    };
    for (int k = 0; k < 6; ++k) step();
    b.evict();
    for (int k = 0; k < 5; ++k) step();
    GlobalArray<double, 1> moved{std::move(a)};
    for (auto [i] : moved.local_domain()) CHECK(moved(i) == serial[static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(moved(i) == serial[static_cast<std::size_t>(i)]);
    moved.barrier();
}

TEST_CASE("an update under way is waited for, by its completion, by reads of automatic copies, and by an eviction") {
    Runtime runtime;
    for (const bool consistent : {true, false}) {
        GlobalArray<std::int64_t, 1> array{runtime, {4096}, Cyclic{}, {.name = "late"}};
        array.prefetch(AllToAll{}, {.consistent = consistent});
        for (std::int64_t round = 1; round < 4; ++round) {
            for (auto [i] : array.local_domain()) array.local(i) = round * i;
            array.barrier();
            Completion update = array.update_async();
            if (!consistent || round == 2) update.wait();
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < 4096; ++i) wrong += array(i) != round * i ? 1 : 0;
            CHECK(wrong == 0);
            array.barrier();
        }
        Completion left = array.update_async();
        array.evict();
        left.wait();
        CHECK(array(4095) == 3 * 4095);
        array.barrier();
    }
}

TEST_CASE("many threads read automatic copies while an acquire has them filled again") {
    Runtime runtime;
    if (!test::many_threads_allowed()) return;
    GlobalArray<std::int64_t, 1> array{runtime, {1000}, Block{}, {.name = "shared"}};
    array.prefetch(AllToAll{});
    std::atomic<std::int64_t> wrong{0};
    for (std::int64_t round = 1; round <= 20; ++round) {
        for (auto [i] : array.local_domain()) array.local(i) = round;
        array.barrier();
        {
            std::vector<std::jthread> readers;
            readers.reserve(3);
            for (int k = 0; k < 3; ++k)
                readers.emplace_back([&, k] {
                    for (std::int64_t i = 0; i < 1000; ++i) {
                        if (k == 0 && i % 250 == 0) array.acquire();
                        if (array(i) != round) ++wrong;
                    }
                });
        }
        array.barrier();
    }
    CHECK(wrong == 0);
}

TEST_CASE("hits, fills, transfers and writes are counted") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> array{runtime, {16 * runtime.size()}, Block{}, {.name = "counted"}};
    array.prefetch(AllToAll{}, manual);
    const auto others = 16 * (static_cast<std::uint64_t>(runtime.size()) - 1);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < 16 * runtime.size(); ++i) sum += array(i);
    CHECK(sum == 0);
    array.update();
    const StatisticsValues values = array.statistics();
    CHECK(values[Counter::prefetch_hits] == others);
    CHECK(values[Counter::prefetch_fills] == (runtime.size() > 1 ? 2 : 1)); // the first one had nothing to fill
    CHECK(values[Counter::prefetch_transfers] == static_cast<std::uint64_t>(2 * (runtime.size() - 1)));
    CHECK(values[Counter::prefetch_bytes] == 2 * 8 * others);
    array.barrier();
    if (runtime.size() > 1) {
        const std::int64_t theirs = (16 * (runtime.rank().value + 1)) % (16 * runtime.size());
        array(theirs) = 1;
        CHECK(array.statistics()[Counter::prefetch_writes] == 1);
    }
    array.barrier();
}

TEST_CASE("bad input to prefetches is refused, with the remedy") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {8, 8}, Block{}, {.name = "refused"}};
    CHECK_THAT(test::message_of<RangeError>([&] { array.prefetch(Stencil{.depth = -1}); }),
               test::says({"Stencil", "-1", "0 or more"}));
    CHECK_THAT(test::message_of<RangeError>([&] {
                   array.prefetch(Custom{std::vector<Domain<2>>(9 + static_cast<std::size_t>(runtime.size()))});
               }),
               test::says({"Custom", std::to_string(9 + runtime.size()), "one entry for each rank"}));
    CHECK_THAT(test::message_of<UsageError>([&] { array.update(); }), test::says({"refused", ".update", "prefetch()"}));
    CHECK_THAT(test::message_of<UsageError>([&] { (void)array.update_async(); }),
               test::says({"refused", ".update_async"}));
    array.evict(); // of nothing
    array.prefetch(RowWise{});
    CHECK_THAT(test::message_of<UsageError>([&] { array.prefetch(ColumnWise{}, manual); }),
               test::says({"refused", ".prefetch", "consistent = true", "consistent = false", "evict()"}));
    CHECK_THAT(test::message_of<RangeError>([&] { (void)array.is_prefetched(8, 0); }),
               test::says({"refused", ".is_prefetched", "(8, 0)"}));
    array.evict();
    CHECK_THAT(test::message_of<UsageError>([&] { array.update(); }), test::says({"refused", ".update"}));
    array.close();
    CHECK_THAT(test::message_of<UsageError>([&] { array.prefetch(RowWise{}); }), test::says({".prefetch", "closed"}));
    CHECK_THAT(test::message_of<UsageError>([&] { array.update(); }), test::says({".update", "closed"}));
    CHECK_THAT(test::message_of<UsageError>([&] { array.evict(); }), test::says({".evict", "closed"}));
}

TEST_CASE("manual copies change by fills and own one-sided writes, and by nothing else") {
    Runtime runtime;
    const std::int64_t n = 4 * runtime.size();
    const std::string path =
        (std::filesystem::temp_directory_path() / ("lapwing_manual_" + std::to_string(test::run_number()))).string();
    const auto test = [&](const auto& distribution) {
        GlobalArray<std::int64_t, 1> array{runtime, {n}, distribution, {.name = "manual"}};
        array.fill(1);
        array.prefetch(AllToAll{}, manual);
        array.save(path);
        const auto others = [&](std::int64_t expected) {
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < n; ++i)
                if (!array.is_local(i) && array(i) != expected) ++wrong;
            CHECK(wrong == 0);
            array.barrier();
        };
        const auto filled = [&](std::int64_t expected) {
            others(1);
            array.update();
            others(expected);
            array.fill(1);
            array.update();
            array.barrier();
        };
        GlobalArray<std::int64_t, 1> block{runtime, {n}, Block{}};
        GlobalArray<std::int64_t, 1> cyclic{runtime, {n}, Cyclic{}};
        GlobalArray<std::int32_t, 1> narrow{runtime, {n}, Cyclic{}};
        block.fill(2);
        cyclic.fill(3);
        narrow.fill(4);
        array.slice() = block.slice(); // one of these two is made of puts
        filled(2);
        array.slice() = cyclic.slice();
        filled(3);
        array.slice() = narrow.slice();
        filled(4);
        array.slice() += cyclic.slice();
        filled(4);
        array.slice().fill(5);
        filled(5);
        array.copy_from(block);
        filled(2);
        array.fill(6);
        array.update();
        others(6);
        array.load(path);
        others(6);
        array.update();
        others(1);

        // Atomics on copies that are older than their elements.
        array.for_each_local([](const Index<1>&, std::int64_t& x) { x = 100; });
        array.barrier();
        const std::int64_t mine = 4 * runtime.rank().value; // each rank has others to itself
        std::int64_t expected = 0;
        std::int64_t expected_later = 0;
        const auto each = [&](std::int64_t k, auto atomic, std::int64_t old_copy, std::int64_t new_copy) {
            const std::int64_t i = (mine + k) % n;
            atomic(array(i));
            expected = array.is_local(i) ? new_copy : old_copy;
            expected_later = new_copy;
            CHECK(array(i) == expected);
            array.barrier();
            array.update();
            CHECK(array(i) == expected_later);
            array.barrier();
        };
        const std::int64_t far = n / 2;
        each(far, [](auto element) { element.atomic().add(5); }, 6, 105);
        each(far + 1, [](auto element) { (void)element.atomic().fetch_add(5); }, 105, 105);
        each(far + 2, [](auto element) { element.atomic().max(7); }, 100, 100); // the update above has filled it
        each(far + 3, [](auto element) { (void)element.atomic().compare_swap(100, 9); }, 9, 9);
        for (GlobalArray<std::int64_t, 1>* one : {&array, &block, &cyclic}) one->close();
        narrow.close();
    };
    SECTION("blocks") { test(Block{}); }
    SECTION("cyclic") { test(Cyclic{}); }
    runtime.barrier();
    if (runtime.rank() == Rank{0}) std::filesystem::remove(path);
    runtime.close();
}

TEST_CASE("what an atomic makes of a manual copy does not depend on where the ranks run") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {runtime.size()}, Block{}, {.name = "atomics"}};
    array.fill(1);
    array.prefetch(AllToAll{}, manual);
    const std::int64_t next = (runtime.rank().value + 1) % runtime.size();
    const bool other = runtime.size() > 1;
    const auto set_all = [&](double value) {
        array.barrier();
        array.for_each_local([&](const Index<1>&, double& x) { x = value; });
        array.barrier();
    };
    set_all(100);
    array(next).atomic().add(5);
    CHECK(array(next) == (other ? 6 : 105)); // the operation on the copy
    array(next).atomic().add(5);
    CHECK(array(next) == (other ? 11 : 110));
    CHECK(array(next).atomic().fetch_add(1) == 110);
    CHECK(array(next) == 111); // what it has left
    set_all(7);
    array(next).atomic().max(50);
    array.barrier();
    set_all(60);
    CHECK(array(next) == 60); // is asked for by the next read
    array.barrier();
    array.close();
    runtime.close();
}

TEMPLATE_TEST_CASE("atomics of several steps leave a manual copy as their owner's value, and its neighbours alone", "",
                   std::int8_t, std::complex<float>, std::complex<double>, long double) {
    using T = TestType;
    const auto value = [](int number) { return static_cast<T>(static_cast<float>(number)); };
    Runtime runtime;
    GlobalArray<T, 1> array{runtime, {4 * runtime.size()}, Block{}, {.name = "atomics"}};
    array.fill(value(1));
    array.prefetch(AllToAll{}, manual);
    const std::int64_t next = 4 * ((runtime.rank().value + 1) % runtime.size());
    const T old = value(runtime.size() > 1 ? 1 : 100);
    array.barrier();
    array.for_each_local([&](const Index<1>&, T& x) { x = value(100); });
    array.barrier();
    CHECK(array(next + 1).atomic().fetch_add(value(5)) == value(100));
    array(next + 2).atomic().add(value(7));
    CHECK(array(next + 3).atomic().compare_swap(value(100), value(9)) == value(100));
    CHECK(array(next) == old);
    CHECK(array(next + 1) == value(105));
    CHECK(array(next + 2) == value(107));
    CHECK(array(next + 3) == value(9));
    array.barrier();
    array.close();
    runtime.close();
}

TEST_CASE("arguments of collective calls that differ between ranks are found in their barriers") {
    Runtime runtime;
    const int ranks = runtime.size();
    const bool odd = runtime.rank().value % 2 == 1;
    GlobalArray<double, 1> array{runtime, {20}, Block{}, {.name = "own"}};
    GlobalArray<double, 1> other{runtime, {20}, Cyclic{}};
    GlobalArray<double, 1> third{runtime, {20}, Cyclic{}};
    GlobalArray<double, 1> everywhere{runtime, {20}, Replicated{}};
    if (ranks > 1) {
        const auto finds = [&](auto call, std::initializer_list<std::string> texts) {
            CHECK_THAT(test::message_of<MismatchError>(call), test::says(texts));
            array.barrier();
        };
        finds([&] { array.prefetch(Stencil{}, {.consistent = odd}); },
              {"GlobalArray(\"own\").prefetch: rank 0 passes the options {consistent = false",
               "rank 1 the options {consistent = true", "same on all ranks"});
        CHECK_THROWS_AS(array.update(), UsageError); // nothing is prefetched
        finds([&] { array.resize({odd ? 30 : 40}); }, {"resize", "the extents 40", "the extents 30"});
        CHECK(array.size() == 20);
        finds([&] { everywhere.broadcast(Rank{odd ? 1 : 0}); },
              {"broadcast", "rank 0 passes the root 0", "rank 1 the root 1"});
        finds([&] { (odd ? other : third).copy_from(array); },
              {"copy_from", "rank 0 passes a copy to the array made as number", "rank 1"});
    }
    for (GlobalArray<double, 1>* one : {&array, &other, &third, &everywhere}) one->close();
    runtime.close();
}

TEST_CASE("the level of checks inside the library is that of the run") {
    Runtime runtime;
    const bool odd = runtime.rank().value % 2 == 1;
    const auto with_level = [&](const char* level, auto test) {
        Settings settings = runtime.settings();
        settings.set("LAPWING_CHECKS", level);
        Team team{MPI_COMM_WORLD, settings};
        test(team);
        team.close();
    };
    if (runtime.size() > 1) {
        with_level("0", [&](Team& team) {
            GlobalArray<double, 1> array{team, {20}, Block{}};
            array.prefetch(Stencil{}, {.consistent = odd}); // nobody looks
            array.close();
        });
        with_level("1", [&](Team& team) {
            GlobalArray<double, 1> array{team, {20}, Block{}};
            CHECK_THROWS_AS(array.prefetch(Stencil{}, {.consistent = odd}), MismatchError);
            array.close();
        });
        with_level("3", [&](Team& team) {
            const auto make = [&] { GlobalArray<double, 1>{team, {odd ? 21 : 20}, Block{}, {.name = "uneven"}}; };
            CHECK_THAT(test::message_of<MismatchError>(make),
                       test::says({"uneven", "rank 0 passes the extents 20", "rank 1 the extents 21"}));
        });
        CHECK_THROWS_AS(with_level(odd ? "1" : "2", [](Team&) {}), MismatchError);
    }
    CHECK_THROWS_AS(with_level("4", [](Team&) {}), SettingError);
    runtime.close();
}
