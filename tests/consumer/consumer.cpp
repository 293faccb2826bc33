// A program outside of Lapwing's build that uses the installed headers and library. Exit code 0 when the results are
// right.
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>

#ifdef EXPECTED_ASSERTION_LEVEL
static_assert(lapwing::assertion_level == EXPECTED_ASSERTION_LEVEL);
#endif

int main() {
    lapwing::Runtime runtime;
    const int ranks = runtime.size();
    const int rank = runtime.rank().value;

    // Every rank adds its number to the first element of everybody's part.
    lapwing::Window window{runtime, 64};
    for (int target = 0; target < ranks; ++target) {
        window.atomic<std::int64_t>(lapwing::Rank{target}, lapwing::Offset{0}).fetch_add(rank + 1);
    }
    runtime.barrier();
    const std::int64_t sum = window.local_as<std::int64_t>()[0];

    // And reads an element of an array that its neighbour wrote.
    lapwing::GlobalArray<double, 1> array{runtime, {4 * ranks}, lapwing::Block{}};
    for (auto [i] : array.local_domain()) array(i) = static_cast<double>(i);
    runtime.barrier();
    const auto index = 4 * ((rank + 1) % ranks);
    const double element = array(index);

    const bool right = sum == std::int64_t{ranks} * (ranks + 1) / 2 && element == static_cast<double>(index);
    std::printf("rank %d of %d: sum %lld, element %g: %s\n", rank, ranks, static_cast<long long>(sum), element,
                right ? "right" : "WRONG");
    return right ? 0 : 1;
}
