// Slices of arrays of more than 2^31 elements: indices, strides and positions that do not fit into 32 bits.
#include "tests/arrays/array_test.hpp"
#include "tests/support/run_number.hpp"

#include <lapwing/array_slice.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace lapwing;

namespace {

constexpr std::int64_t n = (std::int64_t{1} << 31) + 5000;

[[nodiscard]] std::uint8_t value_at(std::int64_t i) { return static_cast<std::uint8_t>(i % 251 + 1); }

/// Assigns a slice of one array to one of the other, after its rank has numbered the source's elements, and looks at
/// them.
void check(Runtime& runtime, GlobalArray<std::uint8_t, 1>& target, GlobalArray<std::uint8_t, 1>& source,
           const Triplet& to, const Triplet& from) {
    if (runtime.rank() == Rank{0}) {
        std::vector<std::uint8_t> values(from.size());
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = value_at(from[k]);
        source(from).put(values);
    }
    runtime.barrier();
    target(to) = source(from);
    std::vector<std::uint8_t> found(to.size());
    target(to).get(found);
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < found.size(); ++k) wrong += found[k] == value_at(from[k]) ? 0U : 1U;
    INFO(to_string(to) << " = " << to_string(from));
    CHECK(wrong == 0);
    runtime.barrier();
    target(to).fill(0);
}

/// Eight of these are more bytes than an int counts.
struct Huge {
    static constexpr std::size_t values = (std::size_t{1} << 28) / sizeof(std::uint64_t) + 1;
    std::array<std::uint64_t, values> value;
};

} // namespace

TEST_CASE("slices around index 2^31, and from one end to the other") {
    Runtime runtime;
    GlobalArray<std::uint8_t, 1> blocks{runtime, {n}, Block{}};
    GlobalArray<std::uint8_t, 1> dealt{runtime, {n}, BlockCyclic{{1000}}};
    constexpr std::int64_t edge = std::int64_t{1} << 31;
    for (const auto& [target, source] : {std::pair{&blocks, &dealt}, std::pair{&dealt, &blocks}}) {
        check(runtime, *target, *source, Range{edge - 2500, edge + 2500}, Range{edge - 2500, edge + 2500});
        check(runtime, *target, *source, Range{0, 5000}, reversed(Range{edge, n}));
        check(runtime, *target, *source, reversed(Range{7, n}.by(1'000'003)), Range{1, n}.by(1'000'003));
        check(runtime, *target, *source, Range{n - 3, n}, Range{0, n}.by(edge / 2 + 1000));
    }
    blocks.close();
    dealt.close();
}

TEST_CASE("a slice of more than 2^31 bytes is one assignment") {
    Runtime runtime;
    if (runtime.size() != 2) return;
    // Shifted by one element, so that blocks of the two arrays do not meet.
    GlobalArray<std::uint8_t, 1> source{runtime, {n}, Block{}};
    GlobalArray<std::uint8_t, 1> target{runtime, {n}, Block{}};
    const auto own = source.local_span();
    for (const std::size_t k : {std::size_t{0}, own.size() / 2, own.size() - 1})
        own[k] = static_cast<std::uint8_t>(k % 100 + 1);
    runtime.barrier();
    target(Range{0, n - 1}) = source(Range{1, n});
    const std::int64_t half = (n + 1) / 2;
    CHECK(target(half - 1) == 1); // the first of rank 1's
    CHECK(target(half - 2) == static_cast<std::uint8_t>((half - 1) % 100 + 1));
    CHECK(target(n - 2) == static_cast<std::uint8_t>((n - half - 1) % 100 + 1));
    runtime.barrier();
    source.close();
    target.close();
}

TEST_CASE("a checkpoint of elements of more than 2^28 bytes") {
    Runtime runtime;
    const std::string path =
        (std::filesystem::temp_directory_path() / ("lapwing_large_" + std::to_string(test::run_number()))).string();
    GlobalArray<Huge, 1> array{runtime, {8}, Block{}};
    const auto each = [&](auto visit) {
        array.for_each_local([&](const Index<1>& index, Huge& element) {
            for (const std::size_t k : {std::size_t{0}, Huge::values / 2, Huge::values - 1})
                visit(element.value[k], (static_cast<std::uint64_t>(index[0]) << 32) + k + 1);
        });
    };
    each([](std::uint64_t& place, std::uint64_t value) { place = value; });
    array.save(path);
    each([](std::uint64_t& place, std::uint64_t) { place = 0; });
    array.load(path);
    std::uint64_t wrong = 0;
    each([&](std::uint64_t& place, std::uint64_t value) { wrong += place == value ? 0U : 1U; });
    CHECK(wrong == 0);
    runtime.barrier();
    if (runtime.rank() == Rank{0}) std::filesystem::remove(path);
    array.close();
    runtime.close();
}
