// cache/hit8, cache/sequential-read, cache/sequential-write, cache/copy: element loops over another rank's part,
// through the cache, compared with memory, bulk transfers and the same loops without it.
#include "cached_array.hpp"
#include "element_reads.hpp"

#include <fmt/format.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace lapwing::bench {
namespace {

template <class T>
void hits(Context& context, Runtime& runtime, Rank target, const Working& working) {
    const auto elements = working.elements * 8 / static_cast<std::int64_t>(sizeof(T));
    GlobalArray<T, 1> a{runtime, {elements * runtime.size()}, Block{}, {.name = "a", .cache = cached()}};
    const Domain<1> part = a.local_domain(target);
    std::vector<T> here(static_cast<std::size_t>(elements));
    for (const auto [i] : part) here[0] = a(i);
    compare_reads(context, runtime, a, part, here.data(),
                  std::is_same_v<T, double> ? working.name : fmt::format("{}, {} bytes", working.name, sizeof(T)),
                  "raw local load");
    a.close();
}

void hit8(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    for (const Working& working : {Working{"16 KiB", 2 * 1024}, Working{"256 KiB", 32 * 1024}})
        hits<double>(context, runtime, route.target, working);
    const Working small{"16 KiB", 2 * 1024};
    hits<std::uint8_t>(context, runtime, route.target, small);
    hits<std::int16_t>(context, runtime, route.target, small);
    hits<float>(context, runtime, route.target, small);
    hits<std::complex<double>>(context, runtime, route.target, small);
    runtime.close();
}

constexpr std::int64_t sequential_elements = 1 << 20; // 8 MB
constexpr std::int64_t uncached_share = 128;          // of them, for the loops that wait for each

void sequential(Context& context, bool write) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        RemotePart<double> a{runtime, route.target, sequential_elements, cached()};
        RemotePart<double> b{runtime, route.target, sequential_elements, uncached()};
        std::vector<double> buffer(static_cast<std::size_t>(sequential_elements), 1.0);
        const auto loop = [write](RemotePart<double>& part, std::int64_t count) {
            GlobalArray<double, 1>& array = part.array();
            const std::int64_t begin = part.begin();
            if (write) {
                for (std::int64_t i = begin; i < begin + count; ++i) array(i) = static_cast<double>(i);
            } else {
                double sum = 0;
                for (std::int64_t i = begin; i < begin + count; ++i) sum += array(i);
                keep(sum);
            }
            array.fence();
        };
        const auto bulk = [&, write](bool use) {
            double sum = 0;
            if (write) {
                if (use)
                    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<double>(i);
                b.array()(b.domain()).put(buffer);
            } else {
                b.array()(b.domain()).get(std::span{buffer});
                if (use)
                    for (const double value : buffer) sum += value;
            }
            keep(sum);
            b.array().fence();
        };
        context.compare(
            "8 MB", gigabytes_per_second(8.0 * sequential_elements),
            by_one("element loop, cached", runtime, [&] { loop(a, sequential_elements); }),
            {by_one(write ? "one put" : "one get", runtime, [&] { bulk(false); }),
             [&] {
                 Subject subject = by_one(write ? "loop into a buffer, one put" : "one get, loop over the buffer",
                                          runtime, [&] { bulk(true); });
                 subject.case_suffix = ", with the loop";
                 return subject;
             }(),
             [&] {
                 Subject subject = by_one(
                     "element loop, uncached", runtime, [&] { loop(b, sequential_elements / uncached_share); },
                     static_cast<double>(uncached_share));
                 subject.case_suffix = ", uncached";
                 return subject;
             }()});
    }
    runtime.close();
}

/// Ferguson and Buettner, section V-A: copies 10,000 integers, element by element, from one remote array to another.
void copy(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    constexpr std::int64_t elements = 10000;
    {
        RemotePart<std::int64_t> a{runtime, route.target, elements, cached()};
        RemotePart<std::int64_t> b{runtime, route.target, elements, cached()};
        RemotePart<std::int64_t> c{runtime, route.target, elements, uncached()};
        RemotePart<std::int64_t> d{runtime, route.target, elements, uncached()};
        const auto loop = [](RemotePart<std::int64_t>& from, RemotePart<std::int64_t>& to, std::int64_t count) {
            for (std::int64_t i = from.begin(); i < from.begin() + count; ++i) to.array()(i) = from.array()(i);
            to.array().fence();
            from.array().fence();
        };
        context.compare("10,000 integers", milliseconds(), by_one("cached", runtime, [&] { loop(a, b, elements); }),
                        {by_one("uncached", runtime, [&] { loop(c, d, elements / 10); }, 10)});
    }
    runtime.close();
}

const Registration hit8_registration{{.name = "cache/hit8",
                                      .summary = "small reads that the cache serves, of 8 bytes unless said",
                                      .run = hit8,
                                      .paths = {"rma", "service"}}};
const Registration read_registration{{.name = "cache/sequential-read",
                                      .summary = "element loop over 8 MB of another rank",
                                      .run = [](Context& context) { sequential(context, false); },
                                      .paths = {"rma", "service"}}};
const Registration write_registration{{.name = "cache/sequential-write",
                                       .summary = "element loop that writes 8 MB of another rank",
                                       .run = [](Context& context) { sequential(context, true); },
                                       .paths = {"rma", "service"}}};
const Registration copy_registration{{.name = "cache/copy",
                                      .summary = "copy of 10,000 integers between remote arrays, element by element",
                                      .run = copy,
                                      .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
