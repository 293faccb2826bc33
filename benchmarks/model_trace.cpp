// model/trace: what recording accesses costs (LAPWING_TRACE). The same loops in runtimes that record and in others that
// do not, in turns. A row's value is the time of an access or transfer while it is recorded, its baseline the time of
// one that is not.
#include "harness.hpp"

#include "median.hpp"
#include "recorded_kernel.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

using Index = std::int64_t;
constexpr Index of_rank = Index{1} << 17; ///< elements

/// Seconds of one access or transfer, by case.
using Times = std::map<std::string, double>;

/// The loops, in one runtime. All ranks access the next rank that they reach as rank 0 does its target.
class Loops {
public:
    Loops(Runtime& runtime, Path path, bool hasty) : runtime_{runtime}, shorter_{hasty ? 50U : 1U} {
        const int own = runtime.rank().value;
        next_ = own;
        for (int step = runtime.size() - 1; step > 0; --step)
            if (const int other = (own + step) % runtime.size(); runtime.path(Rank{other}) == path) next_ = other;
        // An element that is loaded takes little, so that it takes many to see the clock's steps.
        far_count_ = path == Path::direct ? own_count : 2000;
    }

    [[nodiscard]] Times run() {
        elements();
        bulk();
        upc_elements();
        return std::move(times_);
    }

private:
    template <class Run>
    void time(const std::string& name, std::size_t count, Run run) {
        const std::size_t fewer = std::max<std::size_t>(1, count / shorter_);
        const double seconds = tools::slowest_seconds(runtime_, {.run = [&] { run(fewer); }}, 3);
        times_[name] = seconds / static_cast<double>(fewer);
    }
    [[nodiscard]] static Index first_of(int rank) { return of_rank * rank; }

    template <class Read>
    void element_loops(const std::string& kind, Read read) {
        element_loop(fmt::format("elements, own of {}", kind), runtime_.rank().value, own_count, read);
        element_loop(fmt::format("elements, another rank's of {}", kind), next_, far_count_, read);
    }
    template <class Read>
    void element_loop(const std::string& name, int rank, std::size_t count, Read read) {
        time(name, count, [&](std::size_t accesses) {
            double sum = 0;
            for (std::size_t k = 0; k < accesses; ++k) sum += read(first_of(rank) + static_cast<Index>(k) % of_rank);
            keep(sum);
        });
    }
    void elements() {
        GlobalArray<double, 1> a{runtime_, {of_rank * runtime_.size()}};
        std::ranges::fill(a.local_span(), 1.0); // or all of it may be one page of zeros
        element_loops("a global array", [&](Index i) { return static_cast<double>(a(i)); });
        runtime_.barrier();
    }
    void upc_elements() {
        upc::ProgramOptions options;
        options.heap_bytes = 2 * sizeof(double) * of_rank;
        const upc::Program program{runtime_, options};
        upc::SharedArray<double, upc::dynamic_block> a{static_cast<std::size_t>(of_rank * runtime_.size()),
                                                       static_cast<std::size_t>(of_rank)};
        std::fill_n(a.local(), of_rank, 1.0);
        element_loops("UPC", [&](Index i) { return static_cast<double>(a[i]); });
        runtime_.barrier();
    }
    void bulk() {
        constexpr std::size_t patch = 8192; // 64 KiB
        constexpr std::size_t large = std::size_t{1} << 20;
        GlobalArray<double, 1> a{runtime_, {of_rank * runtime_.size()}};
        Window window{runtime_, large};
        std::vector<double> values(patch);
        std::vector<std::byte> bytes(large);
        std::vector<Index> indices(1000);
        for (std::size_t k = 0; k < indices.size(); ++k)
            indices[k] = first_of(next_) + static_cast<Index>(k * 7919) % of_rank;
        time("bulk, patches of 64 KiB", 200, [&](std::size_t transfers) {
            for (std::size_t k = 0; k < transfers; ++k)
                a(Domain<1>{Range{first_of(next_), first_of(next_) + static_cast<Index>(patch)}}).get(values);
        });
        time("bulk, puts of 1 MiB", 20, [&](std::size_t transfers) {
            for (std::size_t k = 0; k < transfers; ++k)
                window.put(Rank{next_}, Offset{0}, std::span<const std::byte>{bytes});
            runtime_.release();
        });
        time("bulk, gets of 1 MiB", 20, [&](std::size_t transfers) {
            for (std::size_t k = 0; k < transfers; ++k) window.get(Rank{next_}, Offset{0}, std::span<std::byte>{bytes});
        });
        time("bulk, lists of 1000", 50, [&](std::size_t transfers) {
            for (std::size_t k = 0; k < transfers; ++k) a.gather(indices, std::span{values}.first(indices.size()));
        });
        runtime_.barrier();
    }

    static constexpr std::size_t own_count = 1'000'000;
    Runtime& runtime_;
    std::size_t shorter_;
    int next_ = 0;
    std::size_t far_count_ = 0;
    Times times_;
};

/// Collective.
[[nodiscard]] Times times_of(Context& context, const std::string& trace, bool hasty) {
    Runtime runtime{context.world(), trace.empty() ? Settings{} : Settings{{"LAPWING_TRACE", trace}}};
    const Route route = context.measure_against(runtime);
    Times times = Loops{runtime, route.path, hasty}.run();
    runtime.close();
    return times;
}

void model_trace(Context& context) {
    const bool hasty = context.options().seconds < 0.05; // only to be seen that it runs
    const int turns = context.options().repetitions > 0 ? context.options().repetitions : hasty ? 1 : 9;
    const std::string file = trace_file(context);
    std::map<std::string, std::vector<double>> plain, traced, ratios;
    for (int turn = 0; turn < turns; ++turn) {
        // Each is the first in every second turn.
        Times without, with;
        for (const bool tracing : {turn % 2 == 1, turn % 2 == 0})
            (tracing ? with : without) = times_of(context, tracing ? file : "", hasty);
        for (const auto& [name, seconds] : with) {
            plain[name].push_back(without.at(name));
            traced[name].push_back(seconds);
            ratios[name].push_back(without.at(name) / seconds);
        }
    }
    if (context.rank() != 0) return;
    std::remove(file.c_str());
    for (auto& [name, seconds] : traced) {
        const auto [low, high] = std::ranges::minmax(seconds);
        context.add({.case_name = name,
                     .metric = "time",
                     .value = 1e9 * median(seconds),
                     .unit = "ns",
                     .baseline = "not traced",
                     .baseline_value = 1e9 * median(plain[name]),
                     .ratio = median(ratios[name]),
                     .min = 1e9 * low,
                     .max = 1e9 * high,
                     .repetitions = turns});
    }
}

const Registration traced_loops{{.name = "model/trace",
                                 .summary = "accesses and transfers while they are recorded, beside those that are not",
                                 .run = model_trace,
                                 .default_repetitions = 9,
                                 .paths = {"direct", "rma", "service"}}};

} // namespace
} // namespace lapwing::bench
