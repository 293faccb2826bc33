// upc/apex-map/…: the probe of Strohmaier and Shan (2005) as Zhang (2007), sections 5.2 and 5.3, uses it for MuPC's
// cache, one benchmark for each block size. Each thread reads vectors of L doubles in the part of the next thread, at
// places M r^(1/K) with r random in [0, 1): L is the spatial locality, K the temporal, and K = 1 is random. With --full
// the table of the thesis: 11 L, 10 K, 6 block sizes and 7 numbers of sets, which are 4620 points; else the corners of
// L and K with 64 sets.
#include "upc/accesses.hpp"
#include "upc/mupc_cache.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::array<std::int64_t, 11> all_lengths{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr std::array<double, 10> all_localities{1.0, 0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001};
constexpr std::array<std::uint64_t, 6> all_block_bytes{64, 128, 256, 512, 1024, 2048};
constexpr std::array<std::uint64_t, 7> all_sets{16, 32, 64, 128, 256, 512, 1024};

/// M, of each thread: 66 MiB, more than 32 times the largest cache of it.
constexpr std::int64_t words = std::int64_t{33} << 18;
constexpr std::uint64_t word_bytes = sizeof(double);
static_assert(words * word_bytes >= 32 * (all_sets.back() + 8) * all_block_bytes.back());

/// Vectors that are drawn before the timed stretch; longer stretches use them again. They are far more than a cache has
/// sets.
constexpr std::uint64_t drawn_vectors = std::uint64_t{1} << 16;

/// Where they begin.
[[nodiscard]] std::vector<std::int64_t> draw_vectors(int thread, std::int64_t length, double k) {
    std::vector<std::int64_t> begins(drawn_vectors);
    Draw draw{static_cast<std::uint64_t>(thread)};
    const std::int64_t vectors = words / length;
    for (std::int64_t& begin : begins) {
        const double r = static_cast<double>(draw.bits(53)) * 0x1.0p-53;
        begin = static_cast<std::int64_t>(std::pow(r, 1 / k) * static_cast<double>(vectors)) * length;
    }
    return begins;
}

[[gnu::noinline]] double read_vectors(upc::Pointer<double, upc::indefinite> part,
                                      const std::vector<std::int64_t>& begins, std::uint64_t first, std::uint64_t count,
                                      std::int64_t length) {
    double sum = 0;
    for (std::uint64_t v = first; v < first + count; ++v) {
        const upc::Pointer<double, upc::indefinite> vector = part + begins[v % drawn_vectors];
        for (std::int64_t i = 0; i < length; ++i) sum += vector[i];
    }
    return sum;
}

/// One vector an iteration, by all threads. The time is the mean of the threads', each from when its cache has seen
/// half as many vectors or more: a barrier empties the caches, and the rate afterwards is to be measured, whatever the
/// length of the stretch.
[[nodiscard]] Subject probe(MPI_Comm world, std::string name, upc::Pointer<double, upc::indefinite> part,
                            std::int64_t length, double k) {
    const auto begins = std::make_shared<const std::vector<std::int64_t>>(draw_vectors(upc::mythread(), length, k));
    return {.name = std::move(name),
            .run = [world, part, begins, length, first = std::uint64_t{0}](std::uint64_t iterations) mutable {
                const auto read = [&](std::uint64_t count) {
                    double sum = read_vectors(part, *begins, first, count, length);
                    keep(sum);
                    first += count;
                };
                upc::barrier();
                read(iterations / 2 + 4); // of long vectors few fit into a stretch, and the first ones fill the cache
                const Stopwatch watch;
                read(iterations);
                double seconds = watch.seconds();
                upc::barrier();
                MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_SUM, world);
                return seconds / upc::threads();
            }};
}

void apex_map(Context& context, std::uint64_t block_bytes) {
    {
        Runtime runtime;
        (void)context.measure_against(runtime); // names the path
        runtime.close();
    }
    const bool full = context.options().full;
    // Measures `points(parts)` with a cache: thread t reads in the part of thread t + 1, which nobody else does.
    const auto with = [&](const CacheOptions& cache, auto points) {
        const upc::Program program{{.cache = cache, .heap_bytes = words * word_bytes + (std::uint64_t{1} << 20)}};
        const upc::SharedArray<double, upc::dynamic_block> array{static_cast<std::size_t>(words * upc::threads())};
        points(upc::Pointer<double, upc::indefinite>{array + (upc::mythread() + 1) % upc::threads() * words});
    };
    const auto measure = [&](const std::string& name, upc::Pointer<double, upc::indefinite> part, std::int64_t length,
                             double k) {
        const Quantity per_vector{.metric = "bandwidth",
                                  .unit = "MB/s",
                                  .scale = 1e-6 * static_cast<double>(length) * word_bytes,
                                  .rate = true};
        context.compare(fmt::format("{}, L = {}, K = {}", name, length, k), per_vector,
                        probe(context.world(), "upc", part, length, k), {});
    };
    with({.mode = CacheMode::off}, [&](const auto& part) { measure("no cache", part, 1, 1.0); });
    for (const std::uint64_t sets : all_sets) {
        if (!full && sets != 64) continue;
        with(mupc_sets(context.size(), sets, block_bytes), [&](const auto& part) {
            for (const std::int64_t length : all_lengths) {
                if (!full && length != all_lengths.front() && length != all_lengths.back()) continue;
                for (const double k : all_localities) {
                    if (!full && k != all_localities.front() && k != all_localities.back()) continue;
                    measure(fmt::format("{} sets", sets), part, length, k);
                }
            }
        });
    }
}

[[maybe_unused]] const bool registered = [] {
    for (const std::uint64_t block_bytes : all_block_bytes)
        const Registration one{
            {.name = fmt::format("upc/apex-map/{}", block_bytes),
             .summary =
                 fmt::format("Apex-MAP with MuPC's cache in blocks of {} bytes: bandwidth of a thread", block_bytes),
             .run = [block_bytes](Context& context) { apex_map(context, block_bytes); },
             .default_repetitions = 16,
             .paths = {"rma", "service"}}};
    return true;
}();

} // namespace
} // namespace lapwing::bench
