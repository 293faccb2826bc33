// cache/random-read, cache/random-write, cache/list, cache/prefetch-distance, cache/sync-heavy: accesses that a cache
// cannot serve, or only with help.
#include "cached_array.hpp"
#include "raw_window.hpp"

#include <lapwing/cache.hpp>

#include <memory>
#include <vector>

namespace lapwing::bench {
namespace {

// As in Ferguson and Buettner, section V-A.
constexpr std::int64_t words = 10'000'000;
constexpr std::uint64_t accesses = 30'000;

void random_read(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<std::int64_t> a{runtime, route.target, words, cached()};
        RemotePart<std::int64_t> b{runtime, route.target, words, uncached()};
        std::uint64_t round = 0;
        const auto loop = [&round](RemotePart<std::int64_t>& part, std::int64_t writes) {
            std::uint64_t sum = 0;
            ++round;
            // To as many pages.
            for (std::int64_t k = 0; k < writes; ++k) part.array()(part.begin() + k * (words / writes)) = k;
            for (std::uint64_t i = 0; i < accesses; ++i)
                sum += static_cast<std::uint64_t>(std::int64_t{
                    part.array()(part.begin() + static_cast<std::int64_t>(scattered(i + (round << 32)) % words))});
            keep_register(sum);
            part.array().fence();
        };
        for (const std::int64_t writes : {0, 900})
            context.compare(writes == 0 ? "30,000 of 10,000,000 words"
                                        : "30,000 of 10,000,000 words, beside 900 that were written",
                            per_access(accesses), once(by_one("cached", runtime, [&, writes] { loop(a, writes); })),
                            {once(by_one("uncached", runtime, [&, writes] { loop(b, writes); }))});
    }
    runtime.close();
}

void random_write(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<std::int64_t> a{runtime, route.target, words, cached()};
        RemotePart<std::int64_t> b{runtime, route.target, words, uncached()};
        std::uint64_t round = 0;
        const auto place = [&round](std::uint64_t i) {
            return static_cast<std::int64_t>(scattered(i + (round << 32)) % words);
        };
        const auto write = [&](RemotePart<std::int64_t>& part, bool blocking, std::uint64_t count) {
            ++round;
            for (std::uint64_t i = 0; i < count; ++i) {
                part.array()(part.begin() + place(i)) = static_cast<std::int64_t>(i);
                if (blocking) part.array().flush(route.target);
            }
            part.array().fence();
        };
        std::vector<Subject> baselines{
            once(by_one(
                     "blocking puts", runtime, [&] { write(b, true, accesses / 10); }, 10),
                 ", blocking"),
            once(by_one("uncached", runtime, [&] { write(b, false, accesses); }), ", beside uncached")};
        std::unique_ptr<raw::Window> window;
        if (context.windows_work()) {
            window = std::make_unique<raw::Window>(context, static_cast<std::uint64_t>(words) * 8);
            baselines.push_back(once({.name = "MPI_Put, one MPI_Win_flush",
                                      .run =
                                          [&](std::uint64_t) {
                                              MPI_Comm world = context.world();
                                              return alone(world, [&] {
                                                  ++round;
                                                  std::vector<std::int64_t> values(accesses);
                                                  for (std::uint64_t i = 0; i < accesses; ++i) {
                                                      values[i] = static_cast<std::int64_t>(i);
                                                      window->start_put(&values[i], 8, route.target.value,
                                                                        static_cast<std::uint64_t>(place(i)) * 8);
                                                  }
                                                  window->flush(route.target.value);
                                              });
                                          }},
                                     ", pipelined"));
        }
        context.compare("30,000 of 10,000,000 words", per_access(accesses),
                        once(by_one("cached", runtime, [&] { write(a, false, accesses); })), std::move(baselines));
        window.reset();
    }
    runtime.close();
}

/// Figure 2 of the paper: reads at computed places with a prefetch k iterations ahead.
void prefetch_distance(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<std::int64_t> a{runtime, route.target, words, cached()};
        std::uint64_t round = 0;
        const auto f = [&](std::int64_t i) {
            return a.begin() +
                   static_cast<std::int64_t>(scattered(static_cast<std::uint64_t>(i) + (round << 32)) % words);
        };
        constexpr auto n = static_cast<std::int64_t>(accesses);
        const auto fixed = [&](std::int64_t k) {
            ++round;
            std::int64_t sum = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                if (k > 0 && i + k < n) prefetch(a.array()(f(i + k)));
                sum += a.array()(f(i));
            }
            keep(sum);
            a.array().fence();
        };
        const auto adaptive = [&] {
            ++round;
            std::int64_t sum = 0;
            PrefetchDistance distance;
            for (std::int64_t i = 0; i < n; ++i) {
                distance.ahead(i, n, [&](std::int64_t j) { prefetch(a.array()(f(j))); });
                sum += a.array()(f(i));
            }
            keep(sum);
            a.array().fence();
        };
        std::vector<Subject> baselines;
        for (const std::int64_t k : {0, 1, 2, 4, 8, 12, 16, 32, 64})
            baselines.push_back(once(by_one("distance " + std::to_string(k), runtime, [&fixed, k] { fixed(k); }),
                                     ", beside " + std::to_string(k)));
        context.compare("adaptive", per_access(accesses), once(by_one("adaptive", runtime, adaptive)),
                        std::move(baselines));
    }
    runtime.close();
}

void sync_heavy(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<std::int64_t> a{runtime, route.target, words / 10, cached()};
        RemotePart<std::int64_t> b{runtime, route.target, words / 10, uncached()};
        constexpr std::uint64_t count = 2000;
        std::uint64_t round = 0;
        const auto loop = [&round](RemotePart<std::int64_t>& part, bool write) {
            std::int64_t sum = 0;
            ++round;
            for (std::uint64_t i = 0; i < count; ++i) {
                const auto at = part.begin() + static_cast<std::int64_t>(scattered(i + (round << 32)) % (words / 10));
                if (write && i % 2 == 0) part.array()(at) = sum;
                else sum += part.array()(at);
                if (i % 10 == 9) part.array().fence();
            }
            keep(sum);
        };
        for (const bool write : {false, true})
            context.compare(write ? "reads and writes" : "reads", per_access(count),
                            by_one("cached", runtime, [&, write] { loop(a, write); }),
                            {by_one("uncached", runtime, [&, write] { loop(b, write); })});
    }
    runtime.close();
}

/// Words anywhere that are read again after each fence, as a gather by an index list is in each step of a solver.
void list(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<std::int64_t> a{runtime, route.target, words, cached()};
        RemotePart<std::int64_t> b{runtime, route.target, words, uncached()};
        constexpr std::uint64_t count = 800;
        const auto step = [](RemotePart<std::int64_t>& part) {
            std::int64_t sum = 0;
            for (std::uint64_t i = 0; i < count; ++i)
                sum += part.array()(part.begin() + static_cast<std::int64_t>(scattered(i) % words));
            keep(sum);
            part.array().fence();
        };
        // The cache learns that it pays in the first steps.
        context.compare("800 of 10,000,000 words, in each step", per_access(count),
                        by_one("cached", runtime, [&] { step(a); }), {by_one("uncached", runtime, [&] { step(b); })});
    }
    runtime.close();
}

const Registration read_registration{{.name = "cache/random-read",
                                      .summary = "single reads that the cache cannot serve",
                                      .run = random_read,
                                      .default_repetitions = 7,
                                      .paths = {"rma", "service"}}};
const Registration write_registration{{.name = "cache/random-write",
                                       .summary = "single writes at random places",
                                       .run = random_write,
                                       .default_repetitions = 7,
                                       .paths = {"rma", "service"}}};
const Registration prefetch_registration{{.name = "cache/prefetch-distance",
                                          .summary = "reads at computed places, prefetched an adaptive distance ahead",
                                          .run = prefetch_distance,
                                          .default_repetitions = 5,
                                          .paths = {"rma", "service"}}};
const Registration list_registration{{.name = "cache/list",
                                      .summary = "reads at places anywhere, the same ones after each fence",
                                      .run = list,
                                      .paths = {"rma", "service"}}};
const Registration sync_registration{{.name = "cache/sync-heavy",
                                      .summary = "a fence after every 10 accesses",
                                      .run = sync_heavy,
                                      .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
