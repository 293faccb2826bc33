// Arrays as memory: what it holds under every distribution and pattern, and what happens where nothing may be read.
#include "tests/arrays/array_test.hpp"

#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace lapwing;

namespace {

/// Compares elements of a mapped array with value_of(first + their position).
template <class T, std::size_t N, class Indices>
[[nodiscard]] std::string misread(const MappedArray<T, N>& mapped, const Indices& indices, bool lower_triangle,
                                  std::uint64_t first) {
    test::Mismatches wrong;
    for (const Index<N>& index : indices) {
        if (!test::stored(lower_triangle, index)) continue;
        const std::uint64_t position = test::position_of(mapped.extents(), index);
        const T expected = test::value_of<T>(first + position);
        wrong.check(mapped(index) == expected && mapped.data()[position] == expected &&
                        mapped.view()[index] == expected,
                    index);
    }
    return wrong.text();
}

/// An array of several pages a rank.
template <std::size_t N>
[[nodiscard]] Extents<N> many_elements() {
    if constexpr (N == 1) return {20'011};
    else if constexpr (N == 2) return {143, 143};
    else return {31, 23, 29};
}

template <class T, std::size_t N>
void check_every_distribution() {
    Runtime runtime;
    for (const Extents<N>& extents : {test::odd_extents<N>(), many_elements<N>()})
        test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
            GlobalArray<T, N> array = maker.make(runtime, extents);
            test::number_elements(array, 3);
            MappedArray<T, N> all = array.mapped();
            CHECK(misread(all, array.domain(), maker.lower_triangle, 3) == "none");
            array.barrier();
            test::number_elements(array, 500);
            all.refresh();
            CHECK(misread(all, array.domain(), maker.lower_triangle, 500) == "none");
            array.barrier();

            // A part: its corners, and everything between.
            std::array<Range, N> middle;
            for (std::size_t d = 0; d < N; ++d) middle[d] = Range{extents[d] / 3, extents[d] - 1};
            const Domain<N> part{middle};
            const MappedArray<T, N> some = array.mapped(part);
            CHECK(misread(some, part, maker.lower_triangle, 500) == "none");
            array.barrier();
            test::number_elements(array, 9);
            auto completion = some.start_refresh();
            completion.wait();
            CHECK(misread(some, part, maker.lower_triangle, 9) == "none");
            array.barrier();

            // The memory outlives the array, which then cannot be refreshed.
            array.close();
            for (const Index<N>& index : part)
                if (test::stored(maker.lower_triangle, index)) (void)all(index);
            CHECK_THROWS_WITH(all.refresh(), test::says({"tested", ".mapped().refresh", "map it again"}));
        });
    runtime.close();
}

template <std::size_t N, class P>
void check_pattern(GlobalArray<std::int32_t, N>& array, const test::Maker<std::int32_t, N>& maker, const P& pattern) {
    test::number_elements(array, 40);
    const MappedArray<std::int32_t, N> mapped = array.mapped(pattern);
    std::vector<Domain<N>> named;
    const detail::prefetching::PatternSite<N> site{array.domain(), array.team().rank(), array.team().size()};
    for (const Domain<N> own : array.local_domains()) {
        named.push_back(own);
        for (const Domain<N>& one : detail::prefetching::domains_of(pattern, own, site))
            named.push_back(one.intersect(array.domain()));
    }
    for (const std::uint64_t first : {40U, 7000U}) {
        if (first != 40) {
            test::number_elements(array, first);
            mapped.refresh();
        }
        for (const Domain<N>& one : named) CHECK(misread(mapped, one, maker.lower_triangle, first) == "none");
        array.barrier();
    }
}

template <std::size_t N>
void check_patterns() {
    Runtime runtime;
    test::for_every_maker<std::int32_t, N>(runtime.size(), [&](const test::Maker<std::int32_t, N>& maker) {
        GlobalArray<std::int32_t, N> array = maker.make(runtime, test::odd_extents<N>());
        check_pattern(array, maker, Stencil{.depth = 2});
        check_pattern(array, maker, Stencil{.depth = 1, .corners = false, .periodic = {true, true, true}});
        check_pattern(array, maker, RowWise{});
        check_pattern(array, maker, ColumnWise{});
        check_pattern(array, maker, Transpose{});
        check_pattern(array, maker, AllToAll{});
        // More domains than are kept as rectangles, each twice.
        check_pattern(array, maker, [&array](const Domain<N>&) {
            std::vector<Domain<N>> scattered;
            for (const Index<N>& index : array.domain()) {
                if (test::position_of(array.extents(), index) % 2 != 0) continue;
                std::array<Range, N> one;
                for (std::size_t d = 0; d < N; ++d) one[d] = Range{index[d], index[d] + 1};
                scattered.emplace_back(one);
                scattered.emplace_back(one);
            }
            return scattered;
        });
        array.close();
    });
    runtime.close();
}

/// What a child of this process writes to its standard error before it ends, and the signal that ends it.
template <class Body>
[[nodiscard]] std::pair<std::string, int> text_of_child(Body body) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(30);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return {text, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

} // namespace

TEST_CASE("a mapped array has all elements in their order, under every distribution") {
    SECTION("bytes") { check_every_distribution<std::uint8_t, 1>(); }
    SECTION("structures of three bytes") { check_every_distribution<test::Colour, 2>(); }
    SECTION("matrices") { check_every_distribution<double, 2>(); }
    SECTION("three dimensions, structures") { check_every_distribution<test::Particle, 3>(); }
}

TEST_CASE("a mapped array has its rank's own elements, and what a pattern names") {
    SECTION("one dimension") { check_patterns<1>(); }
    SECTION("matrices") { check_patterns<2>(); }
    SECTION("three dimensions") { check_patterns<3>(); }
}

TEST_CASE("elements of the node are shown where they are, and their memory stays while it is mapped") {
    Runtime runtime;
    const std::int64_t each = 1 << 16;
    GlobalArray<double, 1> array{runtime, {each * runtime.size()}, Block{}, {.name = "shown"}};
    test::number_elements(array, 1);
    const MappedArray<double, 1> mapped = array.mapped(array.local_domain());
    const std::int64_t own = array.local_domain().first()[0];
    if (runtime.network_path() != Path::rma) { // MPI's memory may be private
        CHECK(mapped.memory() <= 4 * 4096);
        array.local(own + each / 2) = -7;
        CHECK(mapped[own + each / 2] == -7);
    }
    array.close();
    CHECK(mapped[own + each / 2] != 0);
    runtime.close();
}

TEST_CASE("a part whose rows, with their margins, are as long as the array's is not taken for a stretch of it") {
    Runtime runtime;
    const int ranks = runtime.size();
    if (ranks > 1 && ranks < 5) {
        // A block of two columns and margins of ranks - 1 on both sides are as many as all columns.
        GlobalArray<double, 2> array{
            runtime, {4000, 2 * ranks}, Block{.grid = {1, ranks}}, {.name = "wide", .halo = ranks - 1}};
        test::number_elements(array, 1);
        const MappedArray<double, 2> mapped = array.mapped();
        CHECK(misread(mapped, array.domain(), false, 1) == "none");
        array.close();
    }
    runtime.close();
}

TEST_CASE("a mapped array of the same elements as the last one has its memory, and the elements as they are now") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {200, 300}, Cyclic{}, {.name = "again"}};
    test::number_elements(array, 1);
    const double* first = nullptr;
    {
        const MappedArray<double, 2> mapped = array.mapped(RowWise{});
        first = mapped.data();
        // One that is in use is nobody else's.
        const MappedArray<double, 2> beside = array.mapped(RowWise{});
        CHECK(beside.data() != first);
    }
    array.barrier();
    test::number_elements(array, 70);
    MappedArray<double, 2> again = array.mapped(RowWise{});
    CHECK(again.data() == first);
    for (const Domain<2>& own : array.local_domains())
        CHECK(misread(again, Domain<2>{own.range(0), Range{0, 300}}, false, 70) == "none");
    again = {};
    const MappedArray<double, 2> other = array.mapped(ColumnWise{});
    for (const Domain<2>& own : array.local_domains())
        CHECK(misread(other, Domain<2>{Range{0, 200}, own.range(1)}, false, 70) == "none");
    array.resize({300, 300});
    again = array.mapped(RowWise{});
    test::number_elements(array, 5);
    again.refresh();
    for (const Domain<2>& own : array.local_domains())
        CHECK(misread(again, Domain<2>{own.range(0), Range{0, 300}}, false, 5) == "none");
    array.barrier();
    array.close();
    again = {};
    runtime.close();
}

TEST_CASE("a refresh that is under way ends with its array, or after it") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {300, 300}, Cyclic{}, {.name = "short"}};
    test::number_elements(array, 1);
    {
        const MappedArray<double, 2> mapped = array.mapped();
        Completion pending = mapped.start_refresh();
        Completion late = mapped.start_refresh();
        array.close();
        CHECK_NOTHROW(pending.wait());
    }
    runtime.close();
}

TEST_CASE("what cannot be mapped, or refreshed, is refused") {
    Runtime runtime;
    CHECK_THROWS_WITH((MappedArray<int, 1>{}.refresh()), test::says({"MappedArray.refresh", "of no array"}));
    GlobalArray<int, 2> array{runtime, {8, 6}, Block{}, {.name = "small"}};
    CHECK_THROWS_AS(array.mapped(Stencil{.depth = -1}), RangeError);
    CHECK_THROWS_WITH(array.mapped(Domain<2>{Range{0, 9}, Range{0, 6}}), test::says({"small", "leaves [0, 8)"}));
    const MappedArray<int, 2> mapped = array.mapped();
    array.resize({9, 6});
    CHECK_THROWS_WITH(mapped.refresh(), test::says({"small", "other extents", "map it again"}));
    CHECK_NOTHROW(array.mapped().refresh());
    CHECK(array.mapped(Domain<2>{}).memory() == 0);
    array.close();
    CHECK_THROWS_WITH(array.mapped(), test::says({".mapped", "closed"}));
    GlobalArray<int, 2> nothing{runtime, {0, 6}, Block{}, {.name = "nothing"}};
    CHECK(nothing.mapped().memory() == 0);
    nothing.close();
    runtime.close();
}

TEST_CASE("a read of what nobody has named ends the program with the array, the index and the rank") {
    Runtime runtime;
    if (runtime.size() == 1) return; // all is shown then
    const std::int64_t rows = 40;
    GlobalArray<double, 2> array{runtime, {rows, 4096}, Cyclic{.grid = {runtime.size(), 1}}, {.name = "guarded"}};
    test::number_elements(array, 1);
    const MappedArray<double, 2> mapped = array.mapped(Domain<2>{Range{3, 5}, Range{0, 4096}});
    const MappedArray<double, 2> other = array.mapped(Domain<2>{Range{7, 8}, Range{0, 4096}});
    volatile double sink = 0;
    const auto [text, signal] = text_of_child([&] { sink = mapped(20, 17); });
    INFO(text);
    CHECK(signal == SIGSEGV);
    CHECK(text.find("guarded") != std::string::npos);
    CHECK(text.find("element (20, 17)") != std::string::npos);
    CHECK(text.find("rank " + std::to_string(runtime.rank().value) + " of") != std::string::npos);
    CHECK(text.find("the pattern") != std::string::npos);
    CHECK(text.find("  at 0x") != std::string::npos);
    CHECK(text_of_child([&] { sink = other(7, 17) + mapped(4, 4095); }) == std::pair{std::string{}, 0});
    CHECK(text_of_child([&] { sink = other(8, 0); }).first.find("element (8, 0)") != std::string::npos);
    // Of every second row, or so, those between are not named.
    const MappedArray<double, 2> own = array.mapped(RowWise{});
    const std::int64_t next_row = runtime.rank().value + 1;
    CHECK(text_of_child([&] { sink = own(next_row, 2000); }).first.find("the pattern") != std::string::npos);
    // Faults elsewhere go to whoever handled them before.
    const auto [nothing, elsewhere] = text_of_child([&] { sink = *static_cast<volatile double*>(nullptr); });
    CHECK(nothing.find("lapwing: ") == std::string::npos);
    CHECK(elsewhere != 0);
    array.close();
    runtime.close();
}

TEST_CASE("on request a mapped array can be read only from a refresh to the next acquire") {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_MAPPED", "refreshed"}}};
    GlobalArray<double, 1> array{runtime, {20'000}, Block{}, {.name = "strict"}};
    test::number_elements(array, 1);
    const MappedArray<double, 1> mapped = array.mapped();
    CHECK(misread(mapped, array.domain(), false, 1) == "none");
    test::number_elements(array, 2);
    volatile double sink = 0;
    const auto [text, signal] = text_of_child([&] { sink = mapped[19'000]; });
    INFO(text);
    CHECK(signal == SIGSEGV);
    CHECK(text.find("element (19000)") != std::string::npos);
    CHECK(text.find("refresh()") != std::string::npos);
    mapped.refresh();
    CHECK(misread(mapped, array.domain(), false, 2) == "none");
    array.close();
    runtime.close();
}

namespace {

/// A thread of Lapwing's has to call MPI, and may not.
[[nodiscard]] bool refuses_demand(const Runtime& runtime) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return runtime.nodes() > 1 && level < MPI_THREAD_MULTIPLE;
}

} // namespace

TEST_CASE("without MPI_THREAD_MULTIPLE nothing is on demand where there are several nodes") {
    Runtime runtime;
    if (refuses_demand(runtime)) {
        GlobalArray<double, 1> array{runtime, {1000}, Block{}, {.name = "single"}};
        CHECK_THROWS_WITH(array.mapped(OnDemand{}), test::says({"single", "OnDemand", "MPI_THREAD_MULTIPLE"}));
        array.close();
    }
    runtime.close();
}

TEST_CASE("on demand pages are fetched when they are read, under every distribution") {
    const auto check = []<std::size_t N>(const Extents<N>& extents) {
        Runtime runtime;
        if (refuses_demand(runtime)) return;
        test::for_every_maker<test::Colour, N>(runtime.size(), [&](const test::Maker<test::Colour, N>& maker) {
            GlobalArray<test::Colour, N> array = maker.make(runtime, extents);
            test::number_elements(array, 3);
            if (test::has_own_distribution(array)) {
                CHECK_THROWS_WITH(array.mapped(OnDemand{}), test::says({"OnDemand", "the program's own"}));
                return;
            }
            const MappedArray<test::Colour, N> mapped = array.mapped(OnDemand{});
            std::array<Range, N> middle;
            for (std::size_t d = 0; d < N; ++d) middle[d] = Range{extents[d] / 3, extents[d] / 3 * 2};
            // Epochs in which as much is read again, more, less, and then all.
            for (const std::uint64_t first : {3U, 100U, 200U, 300U, 400U, 500U, 600U, 700U, 800U}) {
                if (first != 3) {
                    array.barrier();
                    test::number_elements(array, first);
                    mapped.refresh();
                }
                if (first == 300 || first == 400) continue;
                const bool part = first < 600 && first != 200;
                CHECK(misread(mapped, part ? Domain<N>{middle} : array.domain(), maker.lower_triangle, first) ==
                      "none");
            }
            array.barrier();
            array.close();
        });
        runtime.close();
    };
    SECTION("one dimension") { check(Extents<1>{40'011}); }
    SECTION("matrices") { check(Extents<2>{187, 187}); }
    SECTION("three dimensions") { check(Extents<3>{31, 43, 29}); }
}

TEST_CASE("on demand several threads read, with less memory than they read, and what is in use is fetched in bulk") {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_MAPPED_BYTES", "512k"}}};
    if (refuses_demand(runtime)) return;
    GlobalArray<std::int64_t, 1> array{runtime, {300'000}, Cyclic{}, {.name = "asked"}};
    test::number_elements(array, 1);
    const MappedArray<std::int64_t, 1> mapped = array.mapped(OnDemand{});
    const auto wrong = [&](std::int64_t begin, std::int64_t end, std::uint64_t first) {
        std::int64_t count = 0;
        for (std::int64_t i = begin; i < end; ++i)
            count += mapped[i] != test::value_of<std::int64_t>(first + static_cast<std::uint64_t>(i)) ? 1 : 0;
        return count;
    };
    std::atomic<std::int64_t> found{0};
    std::vector<std::thread> threads;
    for (const std::int64_t begin : {0, 100'000, 150'000})
        threads.emplace_back([&, begin] { found += wrong(begin, begin + 150'000, 1); });
    for (std::thread& thread : threads) thread.join();
    CHECK(found == 0);
    if (runtime.size() == 1) return; // all is shown then
    const auto faults = [&] { return array.statistics()[Counter::mapped_faults]; };
    CHECK(faults() > 20);

    // From the third time on nothing waits, but for looking whether it is still in use.
    for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
        array.barrier();
        test::number_elements(array, 40 * epoch);
        mapped.refresh();
        const std::uint64_t before = faults();
        CHECK(wrong(70'000, 110'000, 40 * epoch) == 0);
        if (epoch > 3) CHECK(faults() - before <= 3); // two or three groups of 64 pages
    }
    array.barrier();

    // What MPI, or the system, is to read.
    mapped.pin(Domain<1>{Range{200'000, 220'000}});
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    CHECK(write(ends[1], &mapped[200'000], 60'000) == 60'000);
    std::array<char, 60'000> read_back{};
    CHECK(read(ends[0], read_back.data(), read_back.size()) == 60'000);
    // All of it, whatever else was open, or an error.
    for (std::int64_t i = 0; i < 60'000; i += 500) (void)*static_cast<const volatile std::int64_t*>(&mapped[i]);
    const Domain<1> scattered{Range::strided(100'000, 40, 1000)};
    mapped.pin(scattered);
    for (const auto& [i] : scattered) CHECK(write(ends[1], &mapped[i], 8) == 8);
    CHECK_THROWS_WITH(mapped.pin(Domain<1>{Range{0, 290'000}}), test::says({"pages", "LAPWING_MAPPED_BYTES"}));
    close(ends[0]);
    close(ends[1]);
    CHECK_THROWS_WITH(mapped.pin(Domain<1>{Range{0, 300'001}}), test::says({"pin", "leaves [0, 300000)"}));
    array.barrier();
    array.close();
    runtime.close();
}

TEST_CASE("on demand one page is read again for many epochs, by several threads at the same time") {
    Runtime runtime;
    if (refuses_demand(runtime)) return;
    GlobalArray<double, 1> array{runtime, {10'000}, Cyclic{}, {.name = "often"}};
    test::number_elements(array, 1);
    const MappedArray<double, 1> mapped = array.mapped(OnDemand{});
    constexpr int epochs = 3000;
    constexpr int readers = 3;
    std::atomic<int> epoch{0};
    std::atomic<int> reads{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int k = 0; k < readers; ++k)
        threads.emplace_back([&] {
            for (int own = 1; own <= epochs; ++own) {
                while (epoch < own) std::this_thread::yield();
                if (mapped[2000] != test::value_of<double>(2001)) ++wrong;
                ++reads;
            }
        });
    for (int next = 1; next <= epochs; ++next) {
        mapped.refresh();
        epoch = next;
        while (reads < next * readers) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    runtime.barrier();
    array.close();
    runtime.close();
}

TEST_CASE("on demand a read that nobody can serve ends the program with the reason") {
    Runtime runtime;
    if (refuses_demand(runtime)) return;
    GlobalArray<double, 1> array{runtime, {100'000}, Cyclic{}, {.name = "late"}};
    test::number_elements(array, 1);
    const MappedArray<double, 1> mapped = array.mapped(OnDemand{});
    volatile double sink = mapped[5];
    if (runtime.size() > 1) {
        const std::string text = text_of_child([&] { sink = mapped[90'000]; }).first;
        INFO(text);
        CHECK(text.find("late") != std::string::npos);
        CHECK(text.find("element (90000)") != std::string::npos);
        CHECK(text.find("child process") != std::string::npos);
        CHECK(text_of_child([&] { *const_cast<double*>(&mapped[5]) = 1; }).first.find("write to element (5)") !=
              std::string::npos);
    }
    array.close();
    sink = mapped[6]; // is here
    runtime.close();
}

TEST_CASE("by a setting all mapped arrays have what is not named on demand, and on demand works where pages cannot be "
          "protected") {
    for (const char* const reads : {"demand", "all", "refreshed"}) {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_MAPPED", reads}}};
        if (refuses_demand(runtime)) return;
        GlobalArray<double, 2> array{runtime, {100, 700}, Cyclic{}, {.name = "set"}};
        test::number_elements(array, 1);
        const Domain<2> part{Range{30, 50}, Range{100, 650}};
        const MappedArray<double, 2> mapped =
            std::string_view{reads} == "demand" ? array.mapped(part) : array.mapped(OnDemand{});
        for (const std::uint64_t first : {1U, 50U}) {
            if (first == 50) {
                array.barrier();
                test::number_elements(array, first);
                mapped.refresh();
            }
            CHECK(misread(mapped, array.domain(), false, first) == "none");
        }
        array.barrier();
        array.close();
        runtime.close();
    }
}

TEST_CASE("ordinary memory serves where pages cannot be protected") {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_MAPPED", "all"}}};
    GlobalArray<double, 2> array{runtime, {100, 700}, Block{}, {.name = "plain"}};
    test::number_elements(array, 1);
    const Domain<2> part{Range{30, 90}, Range{100, 650}};
    const MappedArray<double, 2> mapped = array.mapped(part);
    CHECK(misread(mapped, part, false, 1) == "none");
    array.barrier();
    test::number_elements(array, 2);
    mapped.refresh();
    CHECK(misread(mapped, part, false, 2) == "none");
    array.close();
    runtime.close();
}
