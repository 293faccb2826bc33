// Memory begins at lines of the processor's cache, by whatever path other ranks reach it: types may need an alignment
// of 64.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>

namespace {

template <std::size_t Alignment>
struct alignas(Alignment) Aligned {
    double value = 0;
};

[[nodiscard]] std::uintptr_t behind(const void* place, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(place) % alignment;
}

template <std::size_t Alignment>
void check_array(lapwing::Runtime& runtime) {
    // 7 elements: parts of different ranks that are smaller than a line, and of different lengths.
    lapwing::GlobalArray<Aligned<Alignment>, 1> array{runtime, {7}, lapwing::Block{}};
    const auto own = array.local_span();
    REQUIRE(test::on_all_ranks(own.empty() || behind(own.data(), Alignment) == 0));
    for (auto& element : own) element.value = 1;
    runtime.barrier();
    double sum = 0;
    for (std::int64_t i = 0; i < 7; ++i) sum += array(i).get().value;
    REQUIRE(test::on_all_ranks(sum == 7));
}

} // namespace

TEST_CASE("every part of a window begins at a multiple of 64, whatever the sizes of the others") {
    lapwing::Runtime runtime;
    for (const std::uint64_t bytes : {1U, 8U, 24U, 72U, 1000U, 7592U, 100'000U}) {
        lapwing::Window same{runtime, bytes};
        REQUIRE(test::on_all_ranks(behind(same.local().data(), 64) == 0));
        lapwing::Window other{runtime, bytes + 24 * static_cast<std::uint64_t>(runtime.rank().value)};
        REQUIRE(test::on_all_ranks(behind(other.local().data(), 64) == 0));
    }
}

TEST_CASE("elements have the alignment of their type") {
    lapwing::Runtime runtime;
    check_array<8>(runtime);
    check_array<16>(runtime);
    check_array<32>(runtime);
    check_array<64>(runtime);
}
