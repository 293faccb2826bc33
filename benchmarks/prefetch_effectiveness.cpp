// prefetch/effectiveness: a star stencil whose radius grows, so that the share of reads that leave the rank does: from which share on the
// prefetch pays. Kayraklioglu, Ferguson and El-Ghazawi, section 6.2.5.
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace lapwing::bench {
namespace {

constexpr std::int64_t side = 256; ///< of the array; the publication's is 4096, whose shares are those of a radius 16 times as large

/// Sums of the elements up to `radius` away in each direction, for every `every`-th own row. Returns how many reads left the rank.
[[gnu::noinline]] std::int64_t star(GlobalArray<double, 2>& in, GlobalArray<double, 2>& out, std::int64_t radius, std::int64_t every) {
    const Domain<2> own = in.local_domain();
    std::int64_t far = 0;
    for (std::int64_t i = own.first()[0]; i <= own.last()[0]; i += every) {
        const std::int64_t above = std::max<std::int64_t>(0, i - radius);
        const std::int64_t below = std::min(side - 1, i + radius);
        far += (std::max<std::int64_t>(0, own.first()[0] - above) + std::max<std::int64_t>(0, below - own.last()[0])) * side;
        for (std::int64_t j = 0; j < side; ++j) {
            double sum = 0;
            for (std::int64_t k = above; k <= below; ++k) sum += in(k, j);
            for (std::int64_t k = std::max<std::int64_t>(0, j - radius); k <= std::min(side - 1, j + radius); ++k) sum += in(i, k);
            out(i, j) = sum;
        }
    }
    return far;
}

void effectiveness(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    GlobalArray<double, 2> in{runtime, {side, side}, Block{.grid = {0, 1}}};
    GlobalArray<double, 2> out{runtime, {side, side}, Block{.grid = {0, 1}}};
    in.fill(1);
    for (const std::int64_t radius : {1, 3, 9, 25, 50, 100, 255}) {
        // The base waits for each element of another rank: rows of it are left out, so that it takes about a second.
        const std::int64_t reads = star(in, out, 0, 1) + radius * (radius + 1) / 2 * side;
        const std::int64_t every = std::max<std::int64_t>(1, reads / 40000);
        const std::int64_t own = static_cast<std::int64_t>(in.local_domain().size());
        const double share = static_cast<double>(reads) / static_cast<double>(own * (4 * radius + 2));
        const auto loop = [&](std::int64_t leave_out, bool manual) {
            return [&, leave_out, manual](std::uint64_t steps) {
                return together(runtime, [&] {
                           for (std::uint64_t step = 0; step < steps; ++step) {
                               runtime.barrier();
                               if (manual) in.update();
                               keep(in);
                               (void)star(in, out, radius, leave_out);
                           }
                       }) *
                       static_cast<double>(leave_out);
            };
        };
        const Subject base{.name = every == 1 ? "no prefetch" : fmt::format("no prefetch, one row of {}", every), .run = loop(every, false)};
        for (const bool manual : {true, false}) {
            // Base and prefetched runs take turns: the pattern comes and goes.
            const auto prefetched = loop(1, manual);
            context.compare(fmt::format("{}, radius {}, {:.2f} % of the reads", manual ? "manual" : "automatic", radius, 100 * share),
                            milliseconds(),
                            {.name = "prefetched", .run = [&](std::uint64_t steps) {
                                 in.prefetch(Stencil{.depth = radius, .corners = false}, {.consistent = !manual});
                                 const double seconds = prefetched(steps);
                                 in.evict();
                                 runtime.barrier();
                                 return seconds;
                             }},
                            {base});
        }
    }
    in.close();
    out.close();
    runtime.close();
}

const Registration registration{{.name = "prefetch/effectiveness",
                                 .summary = "star stencils that read more and more of other ranks, prefetched and not",
                                 .run = effectiveness,
                                 .default_repetitions = 5,
                                 .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
