// apex-map: the probe of Strohmaier and Shan, as the MuPC report's chapter 5 uses it: only remote reads, of L
// consecutive words at places that follow a power law with exponent 1 / K. L is the spatial locality, K the temporal: K
// = 1 is random. Here with the cache's defaults, so that it may change the page size and let reads bypass it;
// upc/apex-map has the chapter's table.
#include "cached_array.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

namespace lapwing::bench {
namespace {

// 32 times the cache, as the report asks for.
constexpr std::int64_t words = std::int64_t{32} << 17;
constexpr std::int64_t read_words = 4096; ///< in one iteration

/// Reads `read_words` words; `round` makes each call read other places.
double probe(RemotePart<double>& part, std::int64_t length, double k, std::uint64_t round) {
    double sum = 0;
    for (std::int64_t done = 0; done < read_words; done += length) {
        const double uniform =
            static_cast<double>(scattered(static_cast<std::uint64_t>(done) + (round << 32)) >> 11) * 0x1.0p-53;
        const std::int64_t begin =
            part.begin() + static_cast<std::int64_t>(std::pow(uniform, 1 / k) * static_cast<double>(words - length));
        for (std::int64_t i = begin; i < begin + length; ++i) sum += part.array()(i);
    }
    return sum;
}

[[nodiscard]] Subject probing(std::string name, Runtime& runtime, RemotePart<double>& part, std::int64_t length,
                              double k) {
    return by_one(std::move(name), runtime, [&part, length, k, round = std::uint64_t{0}]() mutable {
        double sum = probe(part, length, k, ++round);
        keep(sum);
    });
}

void apex_map(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    const Quantity bandwidth = gigabytes_per_second(8.0 * read_words);
    {
        RemotePart<double> remote{runtime, route.target, words, uncached()};
        RemotePart<double> a{runtime, route.target, words, cached()};
        for (const std::int64_t length : {1, 4, 16, 64, 256, 1024}) {
            for (const double k : {1.0, 0.25, 0.05, 0.01, 0.001}) {
                context.compare(fmt::format("L = {}, K = {}", length, k), bandwidth,
                                probing("cached", runtime, a, length, k),
                                {once(probing("uncached", runtime, remote, length, k))});
            }
        }
    }
    runtime.close();
}

const Registration registration{{.name = "apex-map",
                                 .summary = "reads with a given spatial (L) and temporal (K) locality, cached and not",
                                 .run = apex_map,
                                 .default_repetitions = 5,
                                 .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
