// What LAPWING_TRACE records: which accesses, by whom, to what, between which sequence points.
#include "model/advice.hpp"
#include "model/recorded_trace.hpp"
#include "runtime/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"
#include "team/team_test.hpp"

#include <lapwing/lapwing.hpp>
#include <lapwing/upc.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
namespace trace = lapwing::detail::trace;

namespace {

/// What a program leaves in its trace, read by rank 0; elsewhere empty.
RecordedTrace traced(const std::function<void(Runtime&)>& program, std::string cache = "off") {
    const std::string file = "lapwing-trace-" + std::to_string(test::run_number());
    {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_TRACE", file}, {"LAPWING_CACHE", cache}}};
        program(runtime);
        runtime.close();
    }
    if (test::world_rank() != 0) return {};
    std::ifstream in{file, std::ios::binary};
    REQUIRE(in.is_open());
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    in.close();
    std::filesystem::remove(file);
    return parse_trace(text, file);
}

/// The sum over the records of a rank that these are of.
trace::Record sum_of(const RecordedTrace::OfRank& rank, const std::string& object, trace::Way way,
                     trace::Operation operation, trace::Affinity affinity) {
    trace::Record sum;
    for (const RecordedTrace::OfRecord& of : rank.records) {
        const trace::Record& record = of.record;
        if (record.object == 0 || rank.objects[record.object - 1].name != object || record.way != way ||
            record.operation != operation || record.affinity != affinity)
            continue;
        sum.calls += record.calls;
        sum.accesses += record.accesses;
        sum.bytes += record.bytes;
        sum.runs += record.runs;
        sum.timed_calls += record.timed_calls;
        sum.within += record.within;
        sum.over += record.over;
    }
    return sum;
}

} // namespace

TEST_CASE("elements are recorded with their owners, and read and written as without a trace") {
    constexpr std::int64_t n = 200;
    for (const std::string cache : {"off", "epoch"}) {
        bool right = true;
        const RecordedTrace found = traced(
            [&](Runtime& runtime) {
                GlobalArray<double, 1> a{runtime, {n}, Block{}, {.name = "a"}};
                GlobalArray<double, 1> dealt{runtime, {n}, Cyclic{}, {.name = "dealt"}};
                GlobalArray<std::int32_t, 1> copies{runtime, {10}, Replicated{}, {.name = "copies"}};
                if (runtime.rank() == 0)
                    for (std::int64_t i = 0; i < n; ++i) a(i) = static_cast<double>(i);
                copies(3) = 7;
                runtime.barrier();
                for (std::int64_t i = 0; i < n; ++i) right = right && a(i) == static_cast<double>(i);
                runtime.barrier();
                for (std::int64_t i = 0; i < n; ++i) right = right && a(i) == static_cast<double>(i) && dealt(i) == 0;
                right = right && copies(3) == 7;
            },
            cache);
        CHECK(right);
        if (test::world_rank() != 0) continue;
        REQUIRE(found.of_ranks.size() == 2);
        CHECK(found.network_path == "service");
        const RecordedTrace::OfRank& rank = found.of_ranks[1];
        using enum trace::Operation;
        using enum trace::Affinity;
        CHECK(sum_of(found.of_ranks[0], "a", trace::Way::element, write, far).calls == n / 2);
        CHECK(sum_of(found.of_ranks[0], "a", trace::Way::element, write, own).calls == n / 2);
        CHECK(sum_of(rank, "a", trace::Way::element, write, far).calls == 0);
        const trace::Record reads = sum_of(rank, "a", trace::Way::element, read, far);
        CHECK(reads.calls == n);
        CHECK(reads.bytes == 8 * n);
        // In a row, and all in one page, which the second round finds again unless the barrier drops it.
        CHECK(reads.runs <= 4);
        CHECK(reads.within.cold == 2);
        CHECK(reads.over.cold == 1);
        CHECK(sum_of(rank, "dealt", trace::Way::element, read, far).calls == n / 2);
        CHECK(sum_of(rank, "dealt", trace::Way::element, read, own).calls == n / 2);
        CHECK(sum_of(rank, "copies", trace::Way::element, read, own).calls == 1);
        // Each call site by itself: the start, after the two barriers of the program, and those of the library.
        CHECK(rank.intervals.size() >= 3);
        std::uint64_t barriers = 0;
        for (const RecordedTrace::OfInterval& interval : rank.intervals) barriers += interval.barriers;
        CHECK(barriers == 2); // the program's
        for (const auto& of : rank.records) CHECK(rank.sites.contains(of.record.site));
    }
}

TEST_CASE("patches, lists, windows and atomics are recorded") {
    constexpr std::int64_t n = 64;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        GlobalArray<double, 2> a{runtime, {n, n}, Block{}, {.name = "a"}};
        std::vector<double> all(n * n);
        a(a.domain()).get(all);
        const std::vector<Index<2>> indices{{0, 0}, {5, 5}, {n - 1, n - 1}};
        std::vector<double> values(3);
        a.gather(indices, std::span<double>{values});
        Window window{runtime, 1024, {.name = "w"}};
        const Rank other{1 - runtime.rank().value};
        window.put(other, Offset{16}, 1.5);
        (void)window.get<double>(other, Offset{16});
        (void)window.atomic<std::int64_t>(other, Offset{64}).fetch_add(1);
        window.atomic<std::int64_t>(other, Offset{64}).add(1);
        window.put_notify(other, Offset{128}, 2.5, 0);
        window.wait_notified(0);
        window.flush();
        CHECK_THROWS_AS(window.put(other, Offset{1020}, 1.0), RangeError);
        CHECK_THROWS_AS(window.get<double>(Rank{2}, Offset{0}), RangeError);
        CHECK(window.size(other) == 1024);
    });
    if (test::world_rank() != 0) return;
    const RecordedTrace::OfRank& rank = found.of_ranks[0];
    using enum trace::Operation;
    using enum trace::Affinity;
    const trace::Record patch = sum_of(rank, "a", trace::Way::patch, read, far);
    CHECK(patch.calls == 1);
    CHECK(patch.accesses == n * n / 2);
    CHECK(patch.bytes == 8 * n * n / 2);
    CHECK(sum_of(rank, "a", trace::Way::patch, read, own).calls == 1);
    CHECK(sum_of(rank, "a", trace::Way::list, read, far).accesses +
              sum_of(rank, "a", trace::Way::list, read, own).accesses ==
          3);
    CHECK(sum_of(rank, "w", trace::Way::window, write, far).calls == 1);
    CHECK(sum_of(rank, "w", trace::Way::window, read, far).calls == 1);
    CHECK(sum_of(rank, "w", trace::Way::window, atomic, far).calls == 1);
    CHECK(sum_of(rank, "w", trace::Way::window, update, far).calls == 1);
    CHECK(sum_of(rank, "w", trace::Way::window, notify, far).calls == 1);
    for (const trace::Operation operation : {write, read, atomic, update, notify})
        CHECK(sum_of(rank, "w", trace::Way::window, operation, far).timed_calls == 1);
}

TEST_CASE("assignments between nodes are recorded, those that go through a copy too") {
    constexpr std::int64_t n = 64;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        GlobalArray<double, 1> from{runtime, {n}, Block{}, {.name = "from"}};
        GlobalArray<double, 1> to{runtime, {n}, Cyclic{}, {.name = "to"}};
        GlobalArray<double, 1> moved{runtime, {n}, Block{}, {.name = "moved"}};
        runtime.barrier();
        to(Range{0, n}) = from(Range{0, n});
        moved(Range{0, n - 1}) = moved(Range{1, n}); // overlaps
        runtime.barrier();
    });
    if (test::world_rank() != 0) return;
    using enum trace::Operation;
    const auto bytes = [&](const std::string& name) {
        std::uint64_t sum = 0;
        for (const RecordedTrace::OfRank& rank : found.of_ranks)
            for (const trace::Operation operation : {read, write})
                sum += sum_of(rank, name, trace::Way::slice, operation, trace::Affinity::far).bytes;
        return sum;
    };
    CHECK(bytes("from") + bytes("to") == 8 * n / 2);
    CHECK(bytes("moved") == 8);
}

TEST_CASE("refreshes of mapped arrays are recorded, and reads of them are not") {
    constexpr std::int64_t n = 4000;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        GlobalArray<double, 1> a{runtime, {n}, Block{}, {.name = "a"}};
        for (double& value : a.local_span()) value = 1;
        runtime.barrier();
        const auto whole = a.mapped();
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += whole[i];
        CHECK(sum == n);
        runtime.barrier();
        whole.refresh();
    });
    if (test::world_rank() != 0) return;
    using enum trace::Operation;
    using enum trace::Affinity;
    for (const RecordedTrace::OfRank& rank : found.of_ranks) {
        const trace::Record refreshes = sum_of(rank, "a", trace::Way::prefetch, read, far);
        CHECK(refreshes.calls == 2);
        CHECK(refreshes.accesses == n);
        CHECK(refreshes.bytes == 8 * n);
        CHECK(refreshes.timed_calls == 2);
        CHECK(sum_of(rank, "a", trace::Way::element, read, far).calls == 0);
    }
}

TEST_CASE("calls that access many places take no longer than the program waits for them") {
    constexpr std::int64_t n = 3000;
    std::int64_t list = 0;
    std::int64_t patch = 0;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        GlobalArray<double, 1> a{runtime, {n}, Cyclic{}, {.name = "a"}};
        std::vector<Index<1>> indices;
        for (std::int64_t i = 0; i < n; ++i) indices.push_back({i});
        std::vector<double> values(n);
        runtime.barrier();
        const auto ns_of = [&](auto call) {
            const auto begin = std::chrono::steady_clock::now();
            call();
            const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - begin;
            return runtime.max(static_cast<std::int64_t>(taken.count()));
        };
        list = ns_of([&] { a.gather(indices, std::span<double>{values}); });
        patch = ns_of([&] { a(a.domain()).get(values); });
    });
    if (test::world_rank() != 0) return;
    for (const AccessUse& use : advise(found, nullptr).uses) {
        if (use.object_name != "a") continue;
        double seconds = 0;
        for (const AccessUse::Amount& amount : use.heaviest) seconds += amount.seconds();
        CHECK(seconds > 0);
        CHECK(seconds <= 1e-9 * static_cast<double>(use.way == trace::Way::list ? list : patch));
        // Shared among own and other elements: half of the bytes each.
        CHECK(use.heaviest[2].seconds() == Approx(seconds / 2).epsilon(0.01));
    }
}

TEST_CASE("UPC's accesses are recorded, each array by itself") {
    bool right = true;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        const upc::Program program{runtime};
        upc::SharedArray<double> dealt{100};
        upc::SharedArray<std::int64_t, 10> blocks{40};
        if (upc::mythread() == 0)
            for (std::int64_t i = 0; i < 40; ++i) blocks[i] = i;
        upc::barrier();
        for (std::int64_t i = 0; i < 100; ++i) right = right && dealt[i] == 0;
        for (std::int64_t i = 0; i < 40; ++i) right = right && blocks[i] == i;
        upc::barrier();
    });
    CHECK(right);
    if (test::world_rank() != 0) return;
    std::vector<std::uint64_t> far_reads;
    for (const RecordedTrace::OfRecord& of : found.of_ranks[1].records) {
        const trace::Record& record = of.record;
        if (record.object == 0 || found.of_ranks[1].objects[record.object - 1].kind != "upc" ||
            record.operation != trace::Operation::read || record.affinity != trace::Affinity::far)
            continue;
        CHECK(record.way == trace::Way::upc);
        far_reads.push_back(record.calls);
    }
    CHECK(far_reads == std::vector<std::uint64_t>{50, 20});
}

TEST_CASE("many arrays of one place, and many threads one after another, take bounded room") {
    constexpr int arrays = 200;
    constexpr int threads = 40;
    const RecordedTrace found = traced([&](Runtime& runtime) {
        for (int k = 0; k < arrays; ++k) {
            GlobalArray<double, 1> a{runtime, {8}, Block{}, {.name = "a"}};
            a(7) = 1;
            a.close();
        }
        GlobalArray<double, 1> shared{runtime, {8}, Block{}, {.name = "shared"}};
        double sum = 0;
        if (test::many_threads_allowed())
            for (int k = 0; k < threads; ++k) std::thread{[&] { sum += shared(runtime.rank() == 0 ? 7 : 0); }}.join();
        CHECK(sum == 0);
        runtime.barrier();
    });
    if (test::world_rank() != 0) return;
    const RecordedTrace::OfRank& rank = found.of_ranks[0];
    CHECK(std::ranges::count(rank.objects, "a", &RecordedTrace::OfObject::name) == trace::most_alike);
    CHECK(sum_of(rank, "a", trace::Way::element, trace::Operation::write, trace::Affinity::far).calls == arrays);
    if (!test::many_threads_allowed()) return;
    CHECK(sum_of(rank, "shared", trace::Way::element, trace::Operation::read, trace::Affinity::far).calls == threads);
    std::uint32_t last = 0;
    for (const RecordedTrace::OfRecord& of : rank.records) last = std::max(last, of.thread);
    CHECK(last <= 2); // the main thread, and the one after another
}

TEST_CASE("objects beyond those that have room are one, and it is said") {
    const std::string report = test::captured_stderr([&] {
        const RecordedTrace found = traced([&](Runtime& runtime) {
            for (std::size_t k = 0; k < trace::most_objects + 10; ++k)
                (void)trace::add_object("window", "object " + std::to_string(k), k, 8);
            runtime.barrier();
        });
        if (test::world_rank() != 0) return;
        CHECK(found.of_ranks[0].objects.size() == trace::most_objects);
        CHECK(found.of_ranks[0].objects.back().kind == "several");
    });
    CHECK((report.find("windows or arrays beyond 4096") != std::string::npos) == (test::world_rank() == 0));
}

TEST_CASE("windows of other teams are told apart, and those of another runtime are not recorded") {
    const RecordedTrace found = traced([&](Runtime& runtime) {
        MPI_Comm reversed = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -test::world_rank(), &reversed);
        {
            Team team{reversed, runtime.settings()};
            Runtime second{MPI_COMM_WORLD, Settings{}};
            Window of_runtime{runtime, 64, {.name = "w"}};
            Window of_team{team, 64, {.name = "t"}};
            Window of_second{second, 64, {.name = "s"}};
            for (Window* const window : {&of_runtime, &of_team, &of_second}) window->put(Rank{0}, Offset{8}, 1.5);
            runtime.barrier();
            team.barrier();
            second.barrier();
        }
        MPI_Comm_free(&reversed);
    });
    if (test::world_rank() != 0) return;
    for (const RecordedTrace::OfRank& rank : found.of_ranks) {
        const auto find = [&](const std::string& name) {
            return std::ranges::find(rank.objects, name, &RecordedTrace::OfObject::name);
        };
        REQUIRE(find("w") != rank.objects.end());
        CHECK_FALSE(find("w")->other_team);
        REQUIRE(find("t") != rank.objects.end());
        CHECK(find("t")->other_team);
        CHECK(find("s") == rank.objects.end());
    }
}

TEST_CASE("what has no trace after one that had is not recorded") {
    Runtime runtime{MPI_COMM_WORLD, Settings{}};
    CHECK_FALSE(trace::on());
    GlobalArray<double, 1> a{runtime, {100}};
    if (runtime.rank() == 0) a(99) = 3;
    runtime.barrier();
    CHECK(a(99) == 3);
    runtime.barrier();
}
