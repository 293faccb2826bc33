// The smallest residual of many and where it is, one-sided: each rank offers what it finds, when it finds it.
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 10'000;
    const auto residual = [](std::int64_t i) { return std::abs(std::sin(static_cast<double>(i) + 0.5)); };

    // One pair of a value and its index, at rank 0. Infinity: any residual is smaller.
    using Best = lapwing::LocatedValue<double, 1>;
    lapwing::GlobalArray<Best, 1> best{runtime, {1}};
    best.fill({std::numeric_limits<double>::infinity(), {0}});

    // The candidates of this rank; a message for each that is better than its own before.
    Best own{std::numeric_limits<double>::infinity(), {0}};
    for (std::int64_t i = runtime.rank().value; i < n; i += runtime.size()) {
        if (residual(i) >= own.value) continue;
        own = {residual(i), {i}};
        best(0).atomic().min(own); // the pair there changes as a whole, or stays
    }
    runtime.barrier();

    // What one loop over all finds: of equal values the first.
    Best expected{residual(0), {0}};
    for (std::int64_t i = 1; i < n; ++i)
        if (residual(i) < expected.value) expected = {residual(i), {i}};
    const Best found = best(0).get();
    if (runtime.rank() == 0)
        std::printf("the smallest residual is %g, at %lld\n", found.value, static_cast<long long>(found.index[0]));
    return found == expected ? 0 : 1;
}
