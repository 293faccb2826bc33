#pragma once

#include "harness.hpp"
#include "scattered.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <cstdint>
#include <string>
#include <utility>

/// What the benchmarks of the cache share.
namespace lapwing::bench {

[[nodiscard]] inline CacheOptions cached() { return {.mode = CacheMode::epoch}; }
/// Pages of a fixed size, through which all reads go.
[[nodiscard]] inline CacheOptions fixed_cache(CachePolicy policy, std::uint64_t page_bytes, std::uint64_t pages) {
    return {.mode = CacheMode::epoch,
            .policy = policy,
            .bytes = page_bytes * pages,
            .page_bytes = page_bytes,
            .adapt = false};
}
[[nodiscard]] inline CacheOptions uncached() { return {.mode = CacheMode::off}; }

/// A one-dimensional array of which rank 0 uses the part of another rank.
template <class T>
class RemotePart {
public:
    /// Collective. `each` elements a rank.
    RemotePart(Runtime& runtime, Rank target, std::int64_t each, const CacheOptions& options)
        : array_{runtime, {each * runtime.size()}, Block{}, {.name = "remote", .cache = options}},
          begin_{target.value * each},
          each_{each} {
        for (const auto [i] : array_.local_domain()) array_.local(i) = static_cast<T>(i % 1000);
        runtime.barrier();
    }
    [[nodiscard]] GlobalArray<T, 1>& array() { return array_; }
    [[nodiscard]] std::int64_t begin() const { return begin_; }
    [[nodiscard]] Domain<1> domain() const { return Domain<1>{Range{begin_, begin_ + each_}}; }

private:
    GlobalArray<T, 1> array_;
    std::int64_t begin_;
    std::int64_t each_;
};

/// A subject of which rank 0 runs `body` once an iteration while the others are idle.
template <class Body>
Subject by_one(std::string name, Runtime& runtime, Body body, double scale = 1) {
    return {.name = std::move(name), .run = [&runtime, body, scale](std::uint64_t iterations) mutable {
                return scale * alone(runtime, [&] {
                           for (std::uint64_t i = 0; i < iterations; ++i) body();
                       });
            }};
}

/// The same with one iteration a measurement; of a baseline, with what tells its row from the others.
[[nodiscard]] inline Subject once(Subject subject, std::string suffix = {}) {
    subject.iterations = 1;
    subject.case_suffix = std::move(suffix);
    return subject;
}

/// Time of one of `count` accesses.
[[nodiscard]] inline Quantity per_access(std::uint64_t count) {
    return {.metric = "time", .unit = "us", .scale = 1e6 / static_cast<double>(count)};
}

} // namespace lapwing::bench
