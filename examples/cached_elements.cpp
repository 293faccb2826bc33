// Elements of other nodes, one at a time, at the speed of bulk transfers: a cache in front of the network. The loops
// are those of a program on one machine; the array is set to cache, or LAPWING_CACHE=epoch tells all arrays.
//
//     mpirun -n 4 cached_elements
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>

int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t each = 20000;
    const std::int64_t n = each * runtime.size();
    const lapwing::GlobalArrayOptions cached{.name = "cached", .cache = {.mode = lapwing::CacheMode::epoch}};
    lapwing::GlobalArray<std::int64_t, 1> a{runtime, {n}, lapwing::Block{}, cached};
    lapwing::GlobalArray<std::int64_t, 1> counts{runtime, {100}, lapwing::Cyclic{}, cached};

    // Written behind: the elements leave as pages, at the latest in the barrier.
    const std::int64_t begin = (runtime.rank().value + 1) % runtime.size() * each;
    for (std::int64_t i = begin; i < begin + each; ++i) a(i) = i * i;
    runtime.barrier();

    // Read ahead: after two pages the cache knows where the loop goes.
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += a(i) % 7;

    // Only the loop itself knows which places come next. So it says which element it will need `distance` iterations
    // later; the distance is found while it runs.
    const auto place = [n](std::int64_t i) { return i * 7919 % n; };
    lapwing::PrefetchDistance distance;
    std::int64_t scattered_sum = 0;
    for (std::int64_t i = 0; i < each; ++i) {
        distance.ahead(i, each, [&](std::int64_t j) { prefetch(a(place(j))); });
        scattered_sum += a(place(i)) % 7;
    }

    // Counted without waiting for a result: the additions are gathered for each rank.
    for (std::int64_t i = 0; i < each; ++i) counts(place(i) % 100).atomic().add(1);
    runtime.barrier();

    std::int64_t expected = 0, scattered_expected = 0, counted = 0;
    for (std::int64_t i = 0; i < n; ++i) expected += i * i % 7;
    for (std::int64_t i = 0; i < each; ++i) scattered_expected += place(i) * place(i) % 7;
    for (const auto [i] : counts.local_domain()) counted += counts.local(i);
    runtime.sum(std::span{&counted, 1});
    const bool right = sum == expected && scattered_sum == scattered_expected && counted == n;

    const lapwing::StatisticsValues statistics = a.total_statistics();
    const auto count = [&](lapwing::Counter counter) { return static_cast<unsigned long long>(statistics[counter]); };
    if (runtime.rank() == lapwing::Rank{0})
        std::printf("%llu accesses to other nodes were served by the cache, %llu reads waited for the network: %s\n",
                    count(lapwing::Counter::cache_hits), count(lapwing::Counter::cache_misses),
                    right ? "correct" : "WRONG");
    counts.close();
    a.close();
    return right ? 0 : 1;
}
