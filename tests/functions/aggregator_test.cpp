// Aggregators: loops over single elements, gathered.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/aggregator.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using lapwing::Aggregator;
using lapwing::GlobalArray;
using lapwing::Runtime;

namespace {

std::int64_t sum_here = 0;
std::vector<int> seen;

Runtime* growing = nullptr;
std::atomic<std::int64_t> grown{0};

/// Posts to three ranks, of which each does the same.
void grow(int depth) {
    ++grown;
    if (depth == 0) return;
    Aggregator aggregator{*growing};
    for (int k = 1; k <= 3; ++k)
        aggregator.post((growing->rank().value + k * depth) % growing->size(), lapwing::fn<&grow>, depth - 1);
}

struct Large { // larger than a packet
    std::array<std::int64_t, 2048> values;
};

std::vector<std::int64_t> draw(const Runtime& runtime, std::int64_t below, std::size_t count) {
    std::minstd_rand engine{static_cast<unsigned>(runtime.rank().value) + 11};
    std::vector<std::int64_t> drawn(count);
    for (std::int64_t& one : drawn) one = static_cast<std::int64_t>(engine() % static_cast<unsigned>(below));
    return drawn;
}

} // namespace

TEST_CASE("gathered adds, puts and gets do what single ones do") {
    Runtime runtime;
    constexpr std::int64_t n = 777;
    for (const bool cached : {false, true}) {
        lapwing::GlobalArrayOptions options;
        if (cached) options.cache.mode = lapwing::CacheMode::epoch;
        GlobalArray<std::int64_t, 1> counts{runtime, {n}, lapwing::Cyclic{}, options};
        GlobalArray<double, 1> values{runtime, {n}, lapwing::Block{}, options};
        const std::vector<std::int64_t> drawn = draw(runtime, n, 30'000);
        {
            Aggregator aggregator{runtime};
            for (const std::int64_t i : drawn) aggregator.add.copy(counts(i), 1);
            for (std::int64_t i = runtime.rank().value; i < n; i += runtime.size())
                aggregator.put.copy(values, i, static_cast<double>(i) / 2);
        }
        runtime.barrier();
        std::int64_t all = 0;
        for (const std::int64_t count : counts.local_span()) all += count;
        CHECK(runtime.sum(all) == runtime.size() * static_cast<std::int64_t>(drawn.size()));

        Aggregator aggregator{runtime};
        std::vector<double> read(drawn.size());
        std::vector<std::int64_t> read_counts(drawn.size());
        for (std::size_t k = 0; k < drawn.size(); ++k) {
            aggregator.get.copy(read[k], values, drawn[k]);
            aggregator.get.copy(read_counts[k], counts(drawn[k]));
        }
        aggregator.flush();
        std::vector<std::int64_t> all_counts(n);
        counts({{0, n}}).get(all_counts);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < drawn.size(); ++k) {
            wrong += read[k] == static_cast<double>(drawn[k]) / 2 ? 0 : 1;
            wrong += read_counts[k] == all_counts[static_cast<std::size_t>(drawn[k])] ? 0 : 1;
        }
        CHECK(wrong == 0);
        runtime.barrier();
    }
}

TEST_CASE("elements and results larger than packets come in answers of their own") {
    Runtime runtime;
    constexpr std::int64_t n = 24;
    GlobalArray<Large, 1> a{runtime, {n}};
    for (auto [i] : a.local_domain()) a.local(i).values.fill(i);
    runtime.barrier();
    std::vector<Large> read(n);
    std::vector<std::int64_t> indices;
    {
        Aggregator aggregator{runtime};
        for (std::int64_t i = 0; i < n; ++i) {
            aggregator.get.copy(read[static_cast<std::size_t>(i)], a, n - 1 - i);
            indices.push_back(i);
        }
        aggregator.flush();
    }
    std::vector<Large> twice(n);
    a.apply(
        indices,
        [](const Large& element, int factor) {
            Large result = element;
            for (std::int64_t& value : result.values) value *= factor;
            return result;
        },
        2, twice);
    for (std::int64_t i = 0; i < n; ++i) {
        CHECK(read[static_cast<std::size_t>(i)].values.back() == n - 1 - i);
        CHECK(twice[static_cast<std::size_t>(i)].values.back() == 2 * i);
    }
    runtime.barrier();
}

TEST_CASE("gets of more arrays in turns than there are messages at a time are right") {
    Runtime runtime;
    constexpr std::int64_t n = 50;
    std::vector<GlobalArray<std::int64_t, 1>> arrays;
    std::vector<GlobalArray<std::int16_t, 1>> small;
    for (int k = 0; k < 12; ++k) {
        arrays.emplace_back(runtime, std::array<std::int64_t, 1>{n});
        small.emplace_back(runtime, std::array<std::int64_t, 1>{n}, lapwing::Cyclic{});
        for (auto [i] : arrays.back().local_domain()) arrays.back().local(i) = 1000 * k + i;
        for (auto [i] : small.back().local_domain()) small.back().local(i) = static_cast<std::int16_t>(100 * k + i);
    }
    runtime.barrier();
    std::vector<std::int64_t> read;
    std::vector<std::int16_t> read_small;
    const std::vector<std::int64_t> drawn = draw(runtime, n, 600);
    read.resize(drawn.size());
    read_small.resize(drawn.size());
    Aggregator aggregator{runtime};
    for (std::size_t k = 0; k < drawn.size(); ++k) {
        aggregator.get.copy(read[k], arrays[k * k % 12], drawn[k]);
        aggregator.get.copy(read_small[k], small[k * 7 % 12], drawn[k]);
    }
    aggregator.flush();
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < drawn.size(); ++k) {
        wrong += read[k] == static_cast<std::int64_t>(1000 * (k * k % 12)) + drawn[k] ? 0 : 1;
        wrong += read_small[k] == static_cast<std::int64_t>(100 * (k * 7 % 12)) + drawn[k] ? 0 : 1;
    }
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("a release flushes an aggregator") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> a{runtime, {100}};
    Aggregator aggregator{runtime};
    for (std::int64_t i = 0; i < 100; ++i) aggregator.add.copy(a, i, i);
    std::int64_t value = -1;
    aggregator.get.copy(value, a(0));
    runtime.barrier();
    CHECK(value == 0);
    std::int64_t wrong = 0;
    for (auto [i] : a.local_domain()) wrong += a.local(i) == i * runtime.size() ? 0 : 1;
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("what is gathered is sent before its rank waits for what another one does") {
    static std::atomic<bool> has_come;
    Runtime runtime;
    if (runtime.size() == 1) return;
    has_come = false;
    runtime.barrier();
    int token = 0;
    if (runtime.rank() == 0) {
        Aggregator aggregator{runtime};
        aggregator.post(1, [] { has_come = true; });
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        runtime.wait_request(request);
    } else if (runtime.rank() == 1) {
        while (!has_come) runtime.progress();
        MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    runtime.barrier();
}

TEST_CASE("posts without arguments are counted") {
    Runtime runtime;
    sum_here = 0;
    runtime.barrier();
    const int to = (runtime.rank().value + 1) % runtime.size();
    {
        Aggregator aggregator{runtime};
        for (int k = 0; k < 100'000; ++k) aggregator.post(to, [] { ++sum_here; });
    }
    runtime.barrier();
    CHECK(sum_here == 100'000);
    runtime.barrier();
}

TEST_CASE("what an aggregator reads is not older than what it has sent before") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> a{runtime, {100}};
    a.fill(0);
    const std::int64_t first = (a.local_domain().range(0).first() + 100 / runtime.size()) % 100; // of the next rank
    std::int64_t value = 0;
    for (std::int64_t k = 1; k <= 50; ++k) {
        if (runtime.rank() != 0) break;
        Aggregator aggregator{runtime};
        aggregator.add.copy(a(first), 1);
        aggregator.flush();
        aggregator.get.copy(value, a(first));
        aggregator.flush();
        CHECK(value == k);
    }
    runtime.barrier();
}

TEST_CASE("posts of several functions through an aggregator run in their order") {
    Runtime runtime;
    sum_here = 0;
    seen.clear();
    runtime.barrier();
    const int to = (runtime.rank().value + 1) % runtime.size();
    {
        Aggregator aggregator{runtime};
        for (int k = 0; k < 10'000; ++k) {
            aggregator.post(to, [](int one) { seen.push_back(one); }, k);
            if (k % 3 == 0)
                aggregator.post(to, [](std::int64_t a, std::int32_t b) { sum_here += a * b; }, std::int64_t{k}, 2);
            if (k % 1000 == 0)
                aggregator.post(
                    to, [](std::string_view text) { sum_here += static_cast<std::int64_t>(text.size()); }, "1234");
        }
        CHECK_THROWS_AS(aggregator.post(runtime.size(), [] {}), lapwing::RangeError);
    }
    runtime.barrier();
    std::int64_t expected = 40;
    for (std::int64_t k = 0; k < 10'000; k += 3) expected += 2 * k;
    CHECK(sum_here == expected);
    std::size_t wrong = seen.size() == 10'000 ? 0 : 1;
    for (std::size_t k = 0; k < seen.size(); ++k) wrong += seen[k] == static_cast<int>(k) ? 0 : 1;
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("functions that gather calls themselves are at an end after quiesce") {
    Runtime runtime;
    growing = &runtime;
    grown = 0;
    runtime.barrier();
    {
        Aggregator aggregator{runtime};
        for (int to = 0; to < runtime.size(); ++to) aggregator.post(to, lapwing::fn<&grow>, 3);
        runtime.quiesce();
    }
    constexpr std::int64_t tree = 1 + 3 + 9 + 27;
    CHECK(runtime.sum(grown.load()) == tree * runtime.size() * runtime.size());
    runtime.barrier();
}

TEST_CASE("what gathered calls throw is thrown by their own rank's release") {
    Runtime runtime;
    const int rank = runtime.rank().value;
    {
        Aggregator aggregator{runtime};
        for (int k = 0; k < 1000; ++k)
            aggregator.post(
                k % runtime.size(),
                [](int number, int of) {
                    if (number >= 990) throw std::runtime_error{"thrown for rank " + std::to_string(of)};
                },
                k, rank);
    }
    CHECK_THROWS_WITH(runtime.release(), Catch::Contains("failed: the function") &&
                                             Catch::Contains("thrown for rank " + std::to_string(rank)));
    runtime.barrier();
}

TEST_CASE("posts beside gathered ones run in their order") {
    Runtime runtime;
    seen.clear();
    runtime.barrier();
    const int to = (runtime.rank().value + 1) % runtime.size();
    {
        Aggregator aggregator{runtime};
        for (int k = 0; k < 300; ++k) {
            if (k % 10 == 0)
                aggregator.post(
                    to, [](std::string_view text) { seen.push_back(std::stoi(std::string{text})); }, std::to_string(k));
            else aggregator.post(to, [](int one) { seen.push_back(one); }, k);
        }
    }
    runtime.barrier();
    std::size_t wrong = seen.size() == 300 ? 0 : 1;
    for (std::size_t k = 0; k < seen.size(); ++k) wrong += seen[k] == static_cast<int>(k) ? 0 : 1;
    CHECK(wrong == 0);
    runtime.barrier();
}
