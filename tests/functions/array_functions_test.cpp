// Functions at the owners of elements: one by one and in lists.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/functions.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

using lapwing::GlobalArray;
using lapwing::Index;
using lapwing::Runtime;

namespace {

std::int64_t fetch_add(std::int64_t& element, std::int64_t value) {
    const std::int64_t before = element;
    element += value;
    return before;
}

} // namespace

TEST_CASE("apply runs at the element's owner, after this rank's earlier writes") {
    Runtime runtime;
    for (const bool cached : {false, true}) {
        lapwing::GlobalArrayOptions options;
        if (cached) options.cache.mode = lapwing::CacheMode::epoch;
        GlobalArray<std::int64_t, 1> a{runtime, {64}, lapwing::Cyclic{}, options};
        const auto size = static_cast<std::int64_t>(runtime.size());
        const std::int64_t mine = 16 + runtime.rank().value; // of each round of 16 indices one for each rank
        if (size <= 16)
            for (std::int64_t i = mine % 16; i < 64; i += 16) {
                a(i) = i;
                CHECK(a.apply(i, lapwing::fn<&fetch_add>, std::int64_t{100}).get() == i);
                CHECK(a(i) == i + 100);
                a.post(i, lapwing::fn<&fetch_add>, std::int64_t{1});
            }
        runtime.barrier();
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 64; ++i) sum += a(i);
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < 64; ++i) expected += i % 16 < size ? i + 101 : 0;
        CHECK(sum == expected);
        runtime.barrier();
    }
}

TEST_CASE("apply on two dimensions, and bad indices") {
    Runtime runtime;
    GlobalArray<double, 2> a{runtime, {6, 10}, lapwing::BlockCyclic{{2, 3}}};
    const auto scale = [](double& element, double factor) { return element = (element + 1) * factor; };
    if (runtime.rank() == 0)
        for (std::int64_t i = 0; i < 6; ++i)
            for (std::int64_t j = 0; j < 10; ++j)
                CHECK(a.apply({i, j}, scale, 2.0 + double(i * j)).get() == 2.0 + double(i * j));
    CHECK_THROWS_AS(a.post({6, 0}, scale, 1.0), lapwing::RangeError);
    CHECK_THROWS_AS(a.apply({0, -1}, scale, 1.0).get(), lapwing::RangeError);
    runtime.barrier();
    CHECK(a(5, 9) == 47);
    runtime.barrier();
    GlobalArray<int, 1> copies{runtime, {4}, lapwing::Replicated{}};
    CHECK_THROWS_AS(copies.post(0, [](int& x) { x = 1; }), lapwing::UsageError);
    runtime.barrier();
}

TEST_CASE("lists of calls: each element once for each time that it is listed") {
    Runtime runtime;
    constexpr std::int64_t n = 1000;
    GlobalArray<std::int64_t, 1> a{runtime, {n}};
    std::minstd_rand engine{static_cast<unsigned>(runtime.rank().value) + 5};
    std::vector<std::int64_t> indices(20'000);
    for (auto& index : indices) index = static_cast<std::int64_t>(engine() % n);
    a.post(indices, lapwing::fn<&fetch_add>, std::int64_t{1});
    std::vector<std::int64_t> amounts(indices.size());
    std::iota(amounts.begin(), amounts.end(), 0);
    a.post(indices, lapwing::fn<&fetch_add>, amounts);
    runtime.barrier();
    std::int64_t sum = 0;
    for (const std::int64_t element : a.local_span()) sum += element;
    const auto listed = static_cast<std::int64_t>(indices.size());
    CHECK(runtime.sum(sum) == runtime.size() * (listed + listed * (listed - 1) / 2));
    runtime.barrier();

    a.fill(0);
    std::vector<std::int64_t> before(indices.size());
    a.apply(indices, lapwing::fn<&fetch_add>, std::int64_t{1}, before);
    runtime.barrier();
    // The values before are 0, 1, 2 … for each element, over all ranks.
    std::int64_t seen = 0;
    for (const std::int64_t value : before) seen += value;
    std::int64_t expected = 0;
    for (const std::int64_t element : a.local_span()) expected += element * (element - 1) / 2;
    CHECK(runtime.sum(seen) == runtime.sum(expected));
    runtime.barrier();
}

TEST_CASE("results of a list come in its order, and failures are thrown") {
    Runtime runtime;
    GlobalArray<std::int32_t, 2> a{runtime, {20, 30}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<std::int32_t>(100 * i + j);
    runtime.barrier();
    std::vector<Index<2>> indices;
    std::minstd_rand engine{static_cast<unsigned>(runtime.rank().value)};
    for (int k = 0; k < 5000; ++k)
        indices.push_back({static_cast<std::int64_t>(engine() % 20), static_cast<std::int64_t>(engine() % 30)});
    std::vector<double> results(indices.size());
    const auto half = [](const std::int32_t& element, float offset) { return element / 2.0 + double{offset}; };
    a.apply(indices, half, 0.25F, results);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < indices.size(); ++k)
        wrong += results[k] == static_cast<double>(100 * indices[k][0] + indices[k][1]) / 2 + 0.25 ? 0 : 1;
    CHECK(wrong == 0);
    const auto fails = [](const std::int32_t& element, int limit) {
        if (element >= limit) throw std::runtime_error{"above the limit"};
        return double(element);
    };
    CHECK_THROWS_AS(a.apply(indices, fails, 10, results), lapwing::FunctionError);
    results.pop_back();
    CHECK_THROWS_AS(a.apply(indices, half, 0.25F, results), lapwing::RangeError);
    indices.push_back({0, 30});
    CHECK_THROWS_AS(a.post(indices, half, 0.25F), lapwing::RangeError);
    runtime.barrier();
}
