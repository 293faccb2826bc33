// access/prefetch: own elements at random places, with and without prefetch(a(f(i + k))), and through a raw pointer
// with the processor's own hint. An access to memory takes long; the hint lets many of them overlap.
#include "cached_array.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>

namespace lapwing::bench {
namespace {

constexpr std::int64_t elements = std::int64_t{8} << 20; ///< 64 MiB
constexpr std::int64_t reads = 4096;                     ///< in one iteration
constexpr std::int64_t distance = 16;

[[nodiscard]] std::int64_t place(std::int64_t i) {
    return static_cast<std::int64_t>(scattered(static_cast<std::uint64_t>(i)) &
                                     static_cast<std::uint64_t>(elements - 1));
}

template <class Read>
[[nodiscard]] Subject reading(const std::string& name, Runtime& runtime, Read read) {
    return {.name = name, .run = [&runtime, read, at = std::int64_t{0}](std::uint64_t iterations) mutable {
                return alone(runtime, [&] {
                    double sum = 0;
                    for (std::uint64_t k = 0; k < iterations; ++k, at += reads)
                        for (std::int64_t i = at; i < at + reads; ++i) sum += read(i);
                    keep(sum);
                });
            }};
}

void access_prefetch(Context& context) {
    Runtime runtime;
    context.set_path("self");
    {
        GlobalArray<double, 1> a{runtime, {elements * runtime.size()}, Block{}};
        a.fill(1.0);
        const std::int64_t first = a.local_domain().first()[0];
        const double* const memory = &a.local(first);
        const Quantity time{.metric = "time", .unit = "ns", .scale = 1e9 / static_cast<double>(reads)};
        Subject plain = reading("plain", runtime, [&](std::int64_t i) -> double { return a(first + place(i)); });
        Subject raw = reading("raw pointer", runtime, [memory](std::int64_t i) {
            __builtin_prefetch(memory + place(i + distance));
            return memory[place(i)];
        });
        plain.case_suffix = ", beside without";
        context.compare("64 MiB at random", time,
                        reading("prefetch", runtime,
                                [&](std::int64_t i) -> double {
                                    prefetch(a(first + place(i + distance)));
                                    return a(first + place(i));
                                }),
                        {std::move(raw), std::move(plain)});
    }
    runtime.close();
}

const Registration registration{{.name = "access/prefetch",
                                 .summary = "own elements at random places, asked for ahead by prefetch(a(i))",
                                 .run = access_prefetch,
                                 .paths = {"direct"}}};

} // namespace
} // namespace lapwing::bench
