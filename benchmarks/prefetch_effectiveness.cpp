// prefetch/effectiveness: a star stencil whose radius grows, so that the share of reads that leave the rank does: from
// which share on the prefetch pays. Kayraklioglu, Ferguson and El-Ghazawi, section 6.2.5.
#include "harness.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace lapwing::bench {
namespace {

constexpr std::int64_t usual_side = 256;      ///< of the array
constexpr std::int64_t published_side = 4096; ///< its shares are those of radii that are as many times as large

/// Sums of the elements up to `radius` away in each direction, for every `every`-th own element.
[[gnu::noinline]] void star(GlobalArray<double, 2>& in, GlobalArray<double, 2>& out, std::int64_t radius,
                            std::int64_t every) {
    const Domain<2> own = in.local_domain();
    const std::int64_t side = in.extent(0);
    std::int64_t j = 0;
    for (std::int64_t i = own.first()[0]; i <= own.last()[0];) {
        const std::int64_t above = std::max<std::int64_t>(0, i - radius);
        const std::int64_t below = std::min(side - 1, i + radius);
        for (; j < side; j += every) {
            double sum = 0;
            for (std::int64_t k = above; k <= below; ++k) sum += in(k, j);
            for (std::int64_t k = std::max<std::int64_t>(0, j - radius); k <= std::min(side - 1, j + radius); ++k)
                sum += in(i, k);
            out(i, j) = sum;
        }
        i += j / side;
        j %= side;
    }
}

/// How many of the reads for all own elements leave the rank.
std::int64_t far_reads(const GlobalArray<double, 2>& in, std::int64_t radius) {
    const Range own = in.local_domain().range(0);
    const std::int64_t side = in.extent(0);
    std::int64_t far = 0;
    for (std::int64_t i = own.first(); i <= own.last(); ++i) {
        far += std::max<std::int64_t>(0, own.first() - std::max<std::int64_t>(0, i - radius)) * side;
        far += std::max<std::int64_t>(0, std::min(side - 1, i + radius) - own.last()) * side;
    }
    return far;
}

void effectiveness(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const std::int64_t side = context.options().full ? published_side : usual_side;
    GlobalArray<double, 2> in{runtime, {side, side}, Block{.grid = {0, 1}}};
    GlobalArray<double, 2> out{runtime, {side, side}, Block{.grid = {0, 1}}};
    in.fill(1);
    for (const std::int64_t usual_radius : {1, 3, 9, 25, 50, 100, 255}) {
        const std::int64_t radius = std::min(usual_radius * (side / usual_side), side - 1);
        // The base waits for each element of another rank: it computes some of the elements, so that it takes about a
        // second; so do prefetched runs where the array is large.
        const std::int64_t reads = far_reads(in, radius);
        const std::int64_t every = std::max<std::int64_t>(1, reads / 40000);
        const auto own = static_cast<std::int64_t>(in.local_domain().size());
        const std::int64_t all_reads = own * (4 * radius + 2);
        const std::int64_t every_prefetched = std::max<std::int64_t>(1, all_reads / 1'000'000'000);
        const double share = static_cast<double>(reads) / static_cast<double>(all_reads);
        const auto loop = [&](std::int64_t leave_out, bool manual) {
            const std::int64_t computed = (own - 1) / leave_out + 1;
            return [&, leave_out, manual, own, computed](std::uint64_t steps) {
                return together(runtime,
                                [&] {
                                    for (std::uint64_t step = 0; step < steps; ++step) {
                                        runtime.barrier();
                                        if (manual) in.update();
                                        keep(in);
                                        (void)star(in, out, radius, leave_out);
                                    }
                                }) *
                       static_cast<double>(own) / static_cast<double>(computed);
            };
        };
        const Subject base{.name = every == 1 ? "no prefetch" : fmt::format("no prefetch, one element of {}", every),
                           .run = loop(every, false)};
        for (const bool manual : {true, false}) {
            // Base and prefetched runs take turns: the pattern comes and goes.
            const auto prefetched = loop(every_prefetched, manual);
            context.compare(fmt::format("{}, radius {}, {:.2f} % of the reads", manual ? "manual" : "automatic", radius,
                                        100 * share),
                            milliseconds(),
                            {.name = "prefetched",
                             .run =
                                 [&](std::uint64_t steps) {
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
