// Global arrays are made, moved and closed; several at once; names, windows and counters of arrays.
#include "tests/arrays/array_test.hpp"

#include <map>
#include <memory>
#include <utility>

using namespace lapwing;

TEST_CASE("elements are zero at the start, also in memory that was used before") {
    Runtime runtime;
    for (int round = 0; round < 4; ++round) {
        GlobalArray<std::uint32_t, 2> array{runtime, {50, 40}};
        CHECK(array.max() == 0);
        array.fill(~0U);
    }
}

TEST_CASE("an array that is moved keeps its elements, and what it was moved from is closed") {
    Runtime runtime;
    const std::int64_t n = 6 * runtime.size();
    GlobalArray<std::int64_t, 1> first{runtime, {n}, Block{}, {.name = "first"}};
    test::number_elements(first);
    GlobalArray<std::int64_t, 1> second{std::move(first)};
    CHECK(first.closed()); // NOLINT: what a moved-from array does is what is tested
    CHECK(first.extents() == Extents<1>{0});
    CHECK_THROWS_AS(first(0) = 1, UsageError);
    CHECK(second.name() == "first");
    CHECK(test::misnumbered(second, false) == "none");
    GlobalArray<std::int64_t, 1> third;
    CHECK(third.closed());
    third = std::move(second);
    CHECK(second.closed()); // NOLINT
    CHECK(test::misnumbered(third, false) == "none");
    runtime.barrier();
}

TEST_CASE("arrays under different distributions are exchanged by std::swap") {
    Runtime runtime;
    GlobalArray<std::int32_t, 2> now{runtime, {7, 9}, Block{}, {.name = "now"}};
    GlobalArray<std::int32_t, 2> next{runtime, {8, 8}, example::Triangular{}, {.name = "next"}};
    GlobalArray<std::int32_t, 2> copies{runtime, {3, 2}, Replicated{}, {.name = "copies"}};
    test::number_elements(now, 100);
    test::number_elements(next, 200);
    test::number_elements(copies, 300);
    for (int round = 0; round < 3; ++round) {
        std::swap(now, next);
        std::swap(next, copies);
    }
    CHECK(now.name() == "now");
    CHECK(test::misnumbered(now, false, 100) == "none");
    CHECK(test::misnumbered(next, true, 200) == "none");
    CHECK(test::misnumbered(copies, false, 300) == "none");
    runtime.barrier();
}

TEST_CASE("an array that is assigned to gives back what it had") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {1000}};
    array.fill(1);
    for (int round = 0; round < 8; ++round) {
        array = GlobalArray<double, 1>{runtime, {1000 + round}};
        CHECK(array.sum() == 0);
        array.fill(2);
    }
}

TEST_CASE("several arrays live at once and are closed in another order") {
    Runtime runtime;
    std::vector<std::unique_ptr<GlobalArray<std::int64_t, 1>>> arrays;
    for (std::uint64_t k = 0; k < 12; ++k) {
        const std::int64_t n = static_cast<std::int64_t>(10 * k) + 1;
        if (k % 3 == 0) arrays.push_back(std::make_unique<GlobalArray<std::int64_t, 1>>(runtime, n));
        else if (k % 3 == 1) arrays.push_back(std::make_unique<GlobalArray<std::int64_t, 1>>(runtime, n, Cyclic{}));
        else arrays.push_back(std::make_unique<GlobalArray<std::int64_t, 1>>(runtime, n, Replicated{}));
        test::number_elements(*arrays.back(), 1000 * k);
    }
    for (std::uint64_t k = 0; k < 12; k += 2) arrays[k]->close();
    for (std::uint64_t k = 1; k < 12; k += 2) CHECK(test::misnumbered(*arrays[k], false, 1000 * k) == "none");
    runtime.barrier();
    for (std::uint64_t k = 1; k < 12; k += 4) arrays[k].reset();
    for (std::uint64_t k = 3; k < 12; k += 4) CHECK(test::misnumbered(*arrays[k], false, 1000 * k) == "none");
    runtime.barrier();
}

TEST_CASE("arrays are made and closed many times") {
    Runtime runtime;
    for (int round = 0; round < 40; ++round) {
        GlobalArray<std::int32_t, 1> array{runtime, {runtime.size()}};
        array(runtime.size() - 1 - runtime.rank().value) = round;
        runtime.barrier();
        REQUIRE(array.local(runtime.rank().value) == round);
        array.close();
    }
}

TEST_CASE("after close every call says that the array is closed, and close does nothing more") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {4, 4}, Block{}, {.name = "gone"}};
    const GlobalArray<double, 2> other{runtime, {4, 4}};
    array.close();
    CHECK(array.closed());
    array.close();
    std::vector<double> buffer(16);
    const std::map<std::string, std::function<void()>> calls{
        {"(1, 1)", [&] { array(1, 1) = 2; }},
        {".at", [&] { (void)array.at(0, 0).get(); }},
        {".local", [&] { (void)array.local(0, 0); }},
        {".owner", [&] { (void)array.owner(0, 0); }},
        {".local_domain", [&] { (void)array.local_domain(); }},
        {".local_view", [&] { (void)array.local_view(); }},
        {".for_each_local", [&] { array.for_each_local([](const Index<2>&, double&) {}); }},
        {"(…)", [&] { array({{0, 1}, {0, 1}}).get(buffer); }},
        {".slice", [&] { array.slice().get(buffer); }},
        {".fill", [&] { array.fill(1); }},
        {".copy_from", [&] { array.copy_from(other); }},
        {".broadcast", [&] { array.broadcast(Rank{0}); }},
        {".sum", [&] { (void)array.sum(); }},
        {".min", [&] { (void)array.min(); }},
        {".max", [&] { (void)array.max(); }},
        {".min_location", [&] { (void)array.min_location(); }},
        {".max_location", [&] { (void)array.max_location(); }},
        {".reduce", [&] { (void)array.reduce(0.0, std::plus<>{}); }},
        {".flush", [&] { array.flush(); }},
        {".acquire", [&] { array.acquire(); }},
        {".release", [&] { array.release(); }},
        {".fence", [&] { array.fence(); }},
        {".barrier", [&] { array.barrier(); }},
        {".team", [&] { (void)array.team(); }},
        {".window", [&] { (void)array.window(); }},
        {".statistics", [&] { (void)array.statistics(); }},
        {".total_statistics", [&] { (void)array.total_statistics(); }},
    };
    for (const auto& [name, call] : calls) {
        INFO(name);
        CHECK_THAT(test::message_of<UsageError>(call), test::says({"rank ", "gone", name, "closed", "make a new one"}));
    }
    GlobalArray<double, 2> never;
    CHECK_THAT(test::message_of<UsageError>([&] { never.fill(1); }), test::says({"GlobalArray", "fill", "never made"}));
    CHECK_THAT(test::message_of<UsageError>([&] { never.copy_from(other); }), test::says({"copy_from", "never made"}));
    runtime.barrier();
}

TEST_CASE("an array ends after its runtime was asked to close, and says which it is") {
    Runtime runtime;
    GlobalArray<double, 1> array{runtime, {10}, Block{}, {.name = "still here"}};
    CHECK_THAT(test::message_of<UsageError>([&] { runtime.close(); }), test::says({"still here"}));
    array.close();
    runtime.close();
}

TEST_CASE("the counters of an array count its own traffic") {
    Runtime runtime;
    GlobalArray<double, 1> busy{runtime, {1000 * runtime.size()}, Block{}, {.name = "busy"}};
    GlobalArray<double, 1> idle{runtime, {1000 * runtime.size()}, Block{}, {.name = "idle"}};
    std::vector<double> all(busy.size());
    busy(busy.domain()).get(all);
    const auto moved = [](const StatisticsValues& values) {
        std::uint64_t sum = 0;
        for (const std::uint64_t value : values.values) sum += value;
        return sum;
    };
    CHECK(moved(busy.statistics()) > 0);
    CHECK(moved(busy.total_statistics()) >= moved(busy.statistics()));
    CHECK(moved(idle.statistics()) == 0);
    runtime.barrier();
}

TEST_CASE("arrays over two parts of the ranks, in another order, beside one over all") {
    Runtime runtime;
    const bool first = runtime.size() == 1 || runtime.rank().value < runtime.size() - 1;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, first ? 0 : 1, -runtime.rank().value, &part);
    GlobalArray<std::int64_t, 1> all{runtime, {30}};
    test::number_elements(all, 1);
    {
        Runtime some{part};
        GlobalArray<std::int64_t, 1> array{some, {30}, Cyclic{}};
        test::number_elements(array, 500);
        CHECK(array.owner(0) == Rank{0});
        CHECK(test::misnumbered(array, false, 500) == "none");
        CHECK(test::misnumbered(all, false, 1) == "none");
        some.barrier();
    }
    MPI_Comm_free(&part);
    runtime.barrier();
}

TEST_CASE("arrays of teams that number the same ranks in another order are copied") {
    Runtime runtime;
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -runtime.rank().value, &reversed);
    {
        Runtime backwards{reversed};
        GlobalArray<std::int64_t, 1> source{backwards, {31}};
        GlobalArray<std::int64_t, 1> target{runtime, {31}};
        test::number_elements(source, 700);
        target.copy_from(source);
        CHECK(test::misnumbered(target, false, 700) == "none");
        GlobalArray<std::int64_t, 1> copies{backwards, {31}, Replicated{}};
        copies.copy_from(target);
        CHECK(test::misnumbered(copies, false, 700) == "none");
        runtime.barrier();
    }
    MPI_Comm_free(&reversed);
}

TEST_CASE("arrays of teams of other sizes are not copied") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, runtime.rank().value == 0 ? 0 : 1, 0, &part);
    {
        Runtime some{part};
        GlobalArray<std::int64_t, 1> source{some, {31}, Block{}, {.name = "part's"}};
        GlobalArray<std::int64_t, 1> target{runtime, {31}, Block{}, {.name = "everybody's"}};
        // On two ranks the parts have one rank each.
        CHECK_THAT(test::message_of<UsageError>([&] { target.copy_from(source); }),
                   test::says({"rank ", "everybody's", "copy_from", "part's", "the same ranks", "put()"}));
        runtime.barrier();
    }
    MPI_Comm_free(&part);
}
