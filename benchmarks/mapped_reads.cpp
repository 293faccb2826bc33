// mapped/…: plain loops over mapped arrays, compared with bulk transfers and the same loops over a buffer.
#include "cached_array.hpp"

#include <lapwing/mapped_array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t elements = 1 << 20; // 8 MB

void add_up(const double* first, std::int64_t count) {
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += first[k];
    keep(sum);
}

/// All of another rank's part, in order.
void sequential(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<double> a{runtime, route.target, elements, uncached()};
        const MappedArray<double, 1> mapped = a.array().mapped(a.domain());
        std::vector<double> buffer(static_cast<std::size_t>(elements));
        const auto read_mapped = [&] {
            a.array().fence();
            mapped.refresh();
            add_up(&mapped[a.begin()], elements);
        };
        const auto read_buffer = [&] {
            a.array().fence();
            a.array()(a.domain()).get(buffer);
            add_up(buffer.data(), elements);
        };
        context.compare("8 MB", gigabytes_per_second(8.0 * elements), by_one("mapped, refreshed", runtime, read_mapped),
                        {by_one("one get, loop over the buffer", runtime, read_buffer)});
    }
    runtime.close();
}

/// Rows of a sparse matrix with columns at random, times a vector that is mapped once.
void sparse(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        constexpr std::int64_t columns = 1 << 16;
        constexpr std::int64_t entries = 1 << 20;
        RemotePart<double> x{runtime, route.target, columns, uncached()};
        const MappedArray<double, 1> mapped = x.array().mapped();
        const std::int64_t all = columns * runtime.size();
        std::vector<double> plain(static_cast<std::size_t>(all));
        x.array()(x.array().domain()).get(plain);
        std::mt19937_64 random{2026};
        std::vector<std::int64_t> at(static_cast<std::size_t>(entries));
        for (std::int64_t& one : at) one = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(all));
        const auto product = [&at](const double* vector) {
            double sum = 0;
            for (const std::int64_t column : at) sum += 0.5 * vector[column];
            keep(sum);
        };
        context.compare(fmt::format("{} entries, random columns of {}", entries, all),
                        {.metric = "time", .unit = "ns", .scale = 1e9 / static_cast<double>(entries)},
                        by_one("mapped", runtime, [&] { product(mapped.data()); }),
                        {by_one("a plain array", runtime, [&] { product(plain.data()); })});
    }
    runtime.close();
}

/// Epochs that read the first so many elements of another rank's part, by pages that are fetched when they are read,
/// beside a view of what is read.
void on_demand(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<double> a{runtime, route.target, elements, uncached()};
        for (const std::int64_t reads : {1'000, 100'000, 1'000'000}) {
            a.array().evict(); // what the last size has left
            const MappedArray<double, 1> asked = a.array().mapped(OnDemand{});
            const MappedArray<double, 1> named =
                a.array().mapped(Domain<1>{Range{a.begin(), a.begin() + std::min(reads, elements)}});
            const auto epoch = [&](const MappedArray<double, 1>& mapped) {
                a.array().fence();
                mapped.refresh();
                add_up(&mapped[a.begin()], std::min(reads, elements));
            };
            context.compare(fmt::format("{} reads an epoch", reads), {.metric = "time", .unit = "us", .scale = 1e6},
                            by_one("on demand", runtime, [&] { epoch(asked); }),
                            {by_one("named", runtime, [&] { epoch(named); })});
        }
    }
    runtime.close();
}

const Registration sequential_registration{{.name = "mapped/sequential",
                                            .summary = "8 MB of another rank by a refresh and a plain loop",
                                            .run = sequential,
                                            .paths = {"rma", "service"}}};
const Registration sparse_registration{{.name = "mapped/sparse",
                                        .summary = "a sparse product over a mapped vector, beside a plain one",
                                        .run = sparse,
                                        .paths = {"direct", "rma", "service"}}};
const Registration on_demand_registration{
    {.name = "mapped/on-demand",
     .summary = "reads of pages that are fetched then, beside those that are named",
     .run = on_demand,
     .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
