// Bulk patches of global arrays against a serial oracle: random rectangular and strided domains, and the sizes at which
// transfers are cut, staged and waited for.
#include "tests/arrays/array_test.hpp"

#include <algorithm>

using namespace lapwing;

namespace {

/// Compares a patch in a row-major buffer with value_of(first + position).
template <class T, std::size_t N>
[[nodiscard]] std::string wrong_in_patch(const Extents<N>& extents, const Domain<N>& domain,
                                         const std::vector<T>& buffer, std::uint64_t first) {
    test::Mismatches mismatches;
    std::size_t k = 0;
    for (const Index<N>& index : domain)
        mismatches.check(buffer[k++] == test::value_of<T>(first + test::position_of(extents, index)), index);
    return mismatches.text();
}

/// A domain that is stored: of a triangle a part of one row, else any.
template <std::size_t N>
[[nodiscard]] Domain<N> random_stored_domain(test::Random& random, const Extents<N>& extents, bool lower_triangle) {
    Domain<N> domain = test::random_domain<N>(random, extents);
    if constexpr (N == 2) {
        if (lower_triangle && !domain.empty())
            domain = domain.intersect(Domain<2>{domain.range(0), Range{0, domain.first()[0] + 1}});
    }
    return domain;
}

template <class T, std::size_t N>
void check_patches(unsigned seed) {
    Runtime runtime;
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        const Extents<N> extents = test::odd_extents<N>();
        GlobalArray<T, N> array = maker.make(runtime, extents);
        test::number_elements(array);
        // Every rank reads domains of its own.
        test::Random own{seed + 1000 * static_cast<unsigned>(runtime.rank().value)};
        for (int round = 0; round < 8; ++round) {
            const Domain<N> domain = random_stored_domain(own, extents, maker.lower_triangle);
            std::vector<T> buffer(domain.size());
            if (round % 2 == 0) {
                array(domain).get(buffer);
            } else {
                Completion completion = array(domain).start_get(buffer);
                while (!completion.test()) runtime.progress();
            }
            INFO("get " << to_string(domain));
            CHECK(wrong_in_patch(extents, domain, buffer, 0) == "none");
        }
        runtime.barrier();
        // The ranks take turns in writing, all know what the writer wrote.
        std::vector<T> oracle(array.size());
        for (std::uint64_t k = 0; k < oracle.size(); ++k) oracle[k] = test::value_of<T>(k);
        test::Random common{seed};
        for (int round = 0; round < 6; ++round) {
            const Domain<N> domain = random_stored_domain(common, extents, maker.lower_triangle);
            const std::uint64_t first = 1000 * (static_cast<std::uint64_t>(round) + 1);
            std::vector<T> buffer;
            for (const Index<N>& index : domain) {
                buffer.push_back(test::value_of<T>(first + test::position_of(extents, index)));
                oracle[test::position_of(extents, index)] = buffer.back();
            }
            if (runtime.rank().value == round % runtime.size()) {
                if (round % 2 == 0) array(domain).put(buffer);
                else array(domain).start_put(buffer).wait();
                // The buffer may be reused now.
                std::fill(buffer.begin(), buffer.end(), T{});
            }
            runtime.barrier();
            test::Mismatches mismatches;
            for (const Index<N>& index : array.domain())
                if (test::stored(maker.lower_triangle, index))
                    mismatches.check(array(index) == oracle[test::position_of(extents, index)], index);
            INFO("put " << to_string(domain));
            CHECK(mismatches.text() == "none");
            runtime.barrier();
        }
    });
}

/// Writes all of an array by one rank, and reads all by another.
template <class T>
void write_and_read_all(const std::string& name, Runtime& runtime, GlobalArray<T, 1>& array, const Domain<1>& domain) {
    INFO(name << ", " << to_string(domain));
    const int writer = runtime.size() - 1;
    std::vector<T> buffer(domain.size());
    if (runtime.rank().value == writer) {
        for (std::uint64_t k = 0; k < buffer.size(); ++k) buffer[k] = test::value_of<T>(k);
        array(domain).put(buffer);
    }
    runtime.barrier();
    if (runtime.rank().value == 0) {
        std::fill(buffer.begin(), buffer.end(), T{});
        array(domain).get(buffer);
        test::Mismatches mismatches;
        for (std::uint64_t k = 0; k < buffer.size(); ++k)
            mismatches.check(buffer[k] == test::value_of<T>(k), Index<1>{static_cast<std::int64_t>(k)});
        CHECK(mismatches.text() == "none");
    }
    runtime.barrier();
}

} // namespace

TEST_CASE("random patches are read and written as a serial program would") {
    check_patches<std::uint8_t, 1>(1);
    check_patches<double, 2>(2);
    check_patches<test::Colour, 2>(3);
    check_patches<std::uint16_t, 3>(4);
    check_patches<test::Particle, 4>(5);
}

TEST_CASE("a patch may be empty, one element, or everything, and its buffer larger than it") {
    Runtime runtime;
    test::for_every_maker<std::int32_t, 2>(runtime.size(), [&](const test::Maker<std::int32_t, 2>& maker) {
        if (maker.lower_triangle) return;
        GlobalArray<std::int32_t, 2> array = maker.make(runtime, {9, 4});
        test::number_elements(array);
        std::vector<std::int32_t> buffer(50, 7);
        array({{3, 3}, {0, 4}}).get(buffer);
        array({}).get(buffer);
        CHECK(std::count(buffer.begin(), buffer.end(), 7) == 50);
        array({}).get(std::span<std::int32_t>{});
        array({{8, 9}, {3, 4}}).get(buffer);
        CHECK(buffer[0] == test::value_of<std::int32_t>(35));
        CHECK(buffer[1] == 7);
        array(array.domain()).get(buffer);
        CHECK(wrong_in_patch(array.extents(), array.domain(), buffer, 0) == "none");
        CHECK(std::count(buffer.begin() + 36, buffer.end(), 7) == 14);
        runtime.barrier();
    });
}

TEST_CASE("several patches are under way at a time") {
    Runtime runtime;
    GlobalArray<std::int64_t, 2> array{runtime, {40, 40}, BlockCyclic{.block = {3, 5}}};
    test::number_elements(array);
    std::vector<std::vector<std::int64_t>> rows(40, std::vector<std::int64_t>(40));
    std::vector<Completion> pending;
    for (std::int64_t i = 0; i < 40; ++i)
        pending.push_back(array({{i, i + 1}, {0, 40}}).start_get(rows[static_cast<std::size_t>(i)]));
    for (Completion& completion : pending) completion.wait();
    for (std::int64_t i = 0; i < 40; ++i)
        CHECK(wrong_in_patch(array.extents(), {{i, i + 1}, {0, 40}}, rows[static_cast<std::size_t>(i)], 0) == "none");
    runtime.barrier();
}

TEST_CASE("patches of more runs, longer runs and more temporary memory than are under way at a time") {
    Runtime runtime;
    const std::int64_t ranks = runtime.size();
    // Own code limits transfers to 8192 at a time, a staged run to 1 MiB and staging to 16 MiB
    // (arrays/slices/patch.cpp).
    GlobalArray<std::uint8_t, 1> strided{runtime, {20'000 * ranks}};
    write_and_read_all("single bytes", runtime, strided, Domain<1>{Range{1, 20'000 * ranks}.by(2)});
    const std::int64_t long_run = (ranks == 2 ? 18 : 2) * std::int64_t{1024 * 1024} + 77;
    GlobalArray<std::uint8_t, 1> dealt{runtime, {long_run * ranks}, Cyclic{}};
    write_and_read_all("long staged runs", runtime, dealt, dealt.domain());
    GlobalArray<test::Colour, 1> blocks{runtime, {100'000 * ranks}, BlockCyclic{.block = {2000}}};
    write_and_read_all("runs that need no staging", runtime, blocks, blocks.domain());
}

TEST_CASE("a rank reads its own patch writes, and they reach the owner by the next barrier") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {12, 8 * runtime.size()}, Block{.grid = {1, 0}}};
    const std::int64_t own = runtime.rank().value;
    const Domain<2> next{{0, 12}, {8 * ((own + 1) % runtime.size()), 8 * ((own + 1) % runtime.size()) + 8}};
    for (int round = 1; round <= 5; ++round) {
        const std::vector<double> sent(96, static_cast<double>(100 * own + round));
        array(next).put(sent);
        std::vector<double> back(96);
        array(next).get(back);
        CHECK(back == sent);
        runtime.barrier();
        const auto from = static_cast<double>(100 * ((own + runtime.size() - 1) % runtime.size()) + round);
        const LocalView<double, 2> view = array.local_view();
        CHECK(view(0, 0) == from);
        CHECK(view(11, 7) == from);
        runtime.barrier();
    }
}

TEST_CASE("a patch of thousands of small blocks is one transfer for each owner") {
    // Which may be cut into chunks, unless that is forbidden.
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_STRATEGY", "full-pack"}}};
    GlobalArray<double, 1> array{runtime, {80'000}, BlockCyclic{.block = {8}}};
    test::number_elements(array);
    std::vector<double> buffer(80'000);
    const auto transfers = [&] {
        const StatisticsValues values = array.statistics();
        return values[Counter::rma_gets] + values[Counter::rma_puts] + values[Counter::service_gets] +
               values[Counter::service_puts];
    };
    const std::uint64_t before = transfers();
    array(array.domain()).get(buffer);
    CHECK(transfers() - before < static_cast<std::uint64_t>(runtime.size()));
    test::Mismatches mismatches;
    for (std::size_t k = 0; k < buffer.size(); ++k)
        mismatches.check(buffer[k] == test::value_of<double>(k), Index<1>{static_cast<std::int64_t>(k)});
    CHECK(mismatches.text() == "none");
    runtime.barrier();
    // A put by the last rank, which cuts blocks at both ends.
    if (runtime.rank().value == runtime.size() - 1) {
        const std::uint64_t before_put = transfers();
        for (double& element : buffer) element += 1;
        array({{3, 79'997}}).put(std::span{buffer}.subspan(3));
        CHECK(transfers() - before_put < static_cast<std::uint64_t>(runtime.size()) + 2);
    }
    runtime.barrier();
    CHECK(array(2) == test::value_of<double>(2));
    CHECK(array(3) == test::value_of<double>(3) + 1);
    CHECK(array(40'000) == test::value_of<double>(40'000) + 1);
    CHECK(array(79'996) == test::value_of<double>(79'996) + 1);
    CHECK(array(79'997) == test::value_of<double>(79'997));
    runtime.barrier();
}

TEST_CASE("patches move into and out of memory whose rows lie apart, and touch nothing between them") {
    Runtime runtime;
    const Extents<2> extents{11, 13};
    test::for_every_maker<std::int64_t, 2>(runtime.size(), [&](const test::Maker<std::int64_t, 2>& maker) {
        if (maker.lower_triangle) return;
        GlobalArray<std::int64_t, 2> array = maker.make(runtime, extents);
        test::number_elements(array);
        for (const Domain<2>& domain :
             {Domain<2>{{0, 11}, {0, 13}}, Domain<2>{{2, 9}, {3, 4}}, Domain<2>{Range{1, 11}.by(3), Range{0, 13}.by(2)},
              Domain<2>{{5, 6}, {1, 12}}, Domain<2>{{3, 3}, {0, 2}}}) {
            const Extents<2> inside{domain.range(0).size(), domain.range(1).size()};
            const Extents<2> outside{inside[0] + 3, inside[1] + 2};
            std::vector<std::int64_t> memory(static_cast<std::size_t>(outside[0] * outside[1]), -1);
            const LocalView<std::int64_t, 2> block{memory.data(), outside};
            const LocalView<std::int64_t, 2> part = block.part({2, 1}, inside);
            const auto check = [&](std::uint64_t first) {
                test::Mismatches mismatches;
                for (const Index<2>& place : Domain<2>{outside}) {
                    std::int64_t expected = -1;
                    if (place[0] >= 2 && place[0] < 2 + inside[0] && place[1] >= 1 && place[1] < 1 + inside[1]) {
                        const Index<2> index{domain.range(0)[static_cast<std::uint64_t>(place[0] - 2)],
                                             domain.range(1)[static_cast<std::uint64_t>(place[1] - 1)]};
                        expected = test::value_of<std::int64_t>(first + test::position_of(extents, index));
                    }
                    mismatches.check(block[place] == expected, place);
                }
                CHECK(mismatches.text() == "none");
            };
            array(domain).get(part);
            check(0);
            std::ranges::fill(memory, -1);
            array(domain).start_get(part).wait();
            check(0);
            runtime.barrier();
            // One rank writes other values, from memory of that kind.
            if (runtime.rank() == 0) {
                for (const Index<2>& place : Domain<2>{inside}) {
                    const Index<2> index{domain.range(0)[static_cast<std::uint64_t>(place[0])],
                                         domain.range(1)[static_cast<std::uint64_t>(place[1])]};
                    part[place] = test::value_of<std::int64_t>(1000 + test::position_of(extents, index));
                }
                if (domain.range(0).size() % 2 == 0) array(domain).put(part);
                else array(domain).start_put(LocalView<const std::int64_t, 2>{part}).wait();
            }
            runtime.barrier();
            std::ranges::fill(memory, -1);
            array(domain).get(part);
            check(1000);
            test::number_elements(array);
        }
    });
}

TEST_CASE("memory of another shape than the patch is refused") {
    Runtime runtime;
    GlobalArray<double, 2> array{runtime, {6, 6}, Block{}, {.name = "small"}};
    std::vector<double> memory(100);
    const Domain<2> domain{{0, 2}, {0, 3}};
    CHECK_THAT(test::message_of<RangeError>([&] { array(domain).get(LocalView<double, 2>{memory.data(), {3, 2}}); }),
               test::says({"small", ".get", "extents (3, 2)", "(2, 3)"}));
    CHECK_THAT(
        test::message_of<RangeError>([&] { array(domain).put(LocalView<double, 2>{memory.data(), {2, 3}, {2, 1}}); }),
        test::says({"small", ".put", "stride 2 of dimension 0", "3 places"}));
    runtime.barrier();
}
