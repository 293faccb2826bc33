// Copy kernels against a byte-by-byte oracle: every instruction set of this processor, every method, memory that ends
// where the blocks end.
#include "src/kernels/copy_choices.hpp"
#include "src/kernels/copy_kernels.hpp"
#include "src/kernels/kernel_set.hpp"
#include "src/kernels/measure_kernels.hpp"

#include "support/catch.hpp"
#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace lapwing::detail::kernels;

std::mt19937_64& random_bits() {
    static std::mt19937_64 bits{20131};
    return bits;
}

std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(random_bits());
}

/// Memory between two pages that nobody may touch.
class GuardedMemory {
public:
    explicit GuardedMemory(std::size_t bytes) {
        const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        bytes_ = (bytes + page - 1) / page * page;
        void* const all = mmap(nullptr, bytes_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(all != MAP_FAILED);
        mapping_ = {static_cast<std::byte*>(all), bytes_ + 2 * page};
        begin_ = mapping_.data() + page;
        REQUIRE(mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) == 0);
    }
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    ~GuardedMemory() { munmap(mapping_.data(), mapping_.size()); }

    [[nodiscard]] std::span<std::byte> bytes() const { return {begin_, bytes_}; }

private:
    std::span<std::byte> mapping_;
    std::byte* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

void fill(std::span<std::byte> memory) {
    // A cheap sequence whose period fits no stride.
    std::uint32_t state = static_cast<std::uint32_t>(random_bits()());
    for (std::byte& byte : memory) {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<std::byte>(state >> 24);
    }
}

/// The bytes that blocks reach, relative to their base.
struct Hull {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

std::int64_t begin_of(const Placement& placement, std::uint64_t block) {
    return placement.offsets != nullptr ? placement.offsets[block]
                                        : placement.stride * static_cast<std::int64_t>(block);
}

Hull hull(const Placement& placement, std::uint64_t count, std::uint64_t block_bytes) {
    Hull all;
    for (std::uint64_t k = 0; k < count; ++k) {
        const std::int64_t begin = begin_of(placement, k);
        all.begin = k == 0 ? begin : std::min(all.begin, begin);
        all.end = k == 0 ? begin + static_cast<std::int64_t>(block_bytes)
                         : std::max(all.end, begin + static_cast<std::int64_t>(block_bytes));
    }
    return all;
}

/// A base for the blocks such that they begin, or end, `slack` bytes from the memory's begin or end.
std::byte* place(std::span<std::byte> memory, const Hull& hull, std::int64_t slack, bool at_end) {
    REQUIRE(hull.end - hull.begin + slack <= static_cast<std::int64_t>(memory.size()));
    if (at_end) return memory.data() + static_cast<std::int64_t>(memory.size()) - hull.end - slack;
    return memory.data() - hull.begin + slack;
}

/// Blocks on a side of some kind, with memory for the offsets.
struct RandomSide {
    RandomSide(std::int64_t kind, std::uint64_t count, std::uint64_t block_bytes) {
        const std::int64_t bytes = static_cast<std::int64_t>(block_bytes);
        switch (kind) {
        case 0: placement.stride = bytes; break;
        case 1: placement.stride = 2 * bytes; break;
        case 2: placement.stride = -3 * bytes; break;
        case 3: placement.stride = bytes + number(0, 9); break;
        case 4: placement.stride = -bytes - 4 * number(0, 12); break;
        case 5: placement.stride = bytes + number(50, 300); break;
        default: {
            offsets.resize(count);
            std::int64_t at = number(-500, 500);
            for (std::int64_t& offset : offsets) {
                offset = at;
                at += bytes + number(0, kind == 6 ? 5 : 90);
            }
            std::ranges::shuffle(offsets, random_bits());
            placement.offsets = offsets.data();
        }
        }
    }
    RandomSide(const RandomSide&) = delete;
    RandomSide& operator=(const RandomSide&) = delete;

    static constexpr std::int64_t kinds = 8;

    std::vector<std::int64_t> offsets;
    Placement placement;
};

/// The entry points with other code than they would choose.
class Forced {
public:
    explicit Forced(const KernelSet& set) : set_before_{kernel_set()}, choices_before_{copy_choices()} {
        use_kernel_set(set);
    }
    Forced(const Forced&) = delete;
    Forced& operator=(const Forced&) = delete;
    ~Forced() {
        use_kernel_set(set_before_);
        use_copy_choices(choices_before_);
    }
    static void method(Method method) {
        CopyChoices choices;
        for (CopyChoice cell : choices.entries()) choices.set(cell.where, method);
        use_copy_choices(choices);
    }

private:
    const KernelSet& set_before_;
    CopyChoices choices_before_;
};

std::vector<const KernelSet*> kernel_sets() {
    std::vector<const KernelSet*> sets;
    const std::int64_t supported = hwy::SupportedTargets();
    for (std::int64_t targets = supported; targets != 0; targets &= targets - 1) {
        hwy::SetSupportedTargetsForTest(targets & -targets);
        const KernelSet& set = best_kernel_set();
        if (std::ranges::find(sets, &set) == sets.end()) sets.push_back(&set);
    }
    hwy::SetSupportedTargetsForTest(0);
    (void)best_kernel_set();
    REQUIRE(sets.size() >= 1);
    return sets;
}

/// Often none: the blocks then touch a guard page.
std::int64_t slack() { return number(0, 1) == 0 ? 0 : number(0, 70); }

constexpr std::size_t memory_bytes = 1 << 17;

/// Copies one random run by the entry point of `movement` and compares the whole target memory with the oracle's.
class Check {
public:
    [[nodiscard]] bool run(Movement movement, std::uint64_t count, std::uint64_t block_bytes, std::int64_t to_kind,
                           std::int64_t from_kind, Reuse reuse) {
        const RandomSide to_side{movement == Movement::gather ? 0 : to_kind, count, block_bytes};
        const RandomSide from_side{movement == Movement::scatter ? 0 : from_kind, count, block_bytes};
        const Hull to_hull = hull(to_side.placement, count, block_bytes);
        const Hull from_hull = hull(from_side.placement, count, block_bytes);
        std::byte* const to = place(target_.bytes(), to_hull, slack(), number(0, 1) == 1);
        std::byte* const from = place(source_.bytes(), from_hull, slack(), number(0, 1) == 1);
        for (std::uint64_t k = 0; k < count; ++k) {
            std::copy_n(from + begin_of(from_side.placement, k), block_bytes,
                        expected_.data() + (to - target_.bytes().data()) + begin_of(to_side.placement, k));
        }
        switch (movement) {
        case Movement::gather:
            gather(to, from, {count, block_bytes, from_side.placement.stride, from_side.placement.offsets}, reuse);
            break;
        case Movement::scatter:
            scatter(to, from, {count, block_bytes, to_side.placement.stride, to_side.placement.offsets}, reuse);
            break;
        case Movement::copy: copy(to, from, {count, block_bytes, to_side.placement, from_side.placement}, reuse); break;
        }
        // A window around the blocks, and now and then everything.
        const std::int64_t begin = to - target_.bytes().data() + to_hull.begin;
        const std::int64_t end = to - target_.bytes().data() + to_hull.end;
        const bool all = number(0, 99) == 0;
        const std::size_t low = all ? 0 : static_cast<std::size_t>(std::max<std::int64_t>(0, begin - 256));
        const std::size_t high = all ? memory_bytes : std::min(memory_bytes, static_cast<std::size_t>(end) + 256);
        return std::memcmp(target_.bytes().data() + low, expected_.data() + low, high - low) == 0;
    }

    Check() {
        fill(source_.bytes());
        fill(target_.bytes());
        expected_.assign(target_.bytes().begin(), target_.bytes().end());
    }

private:
    GuardedMemory source_{memory_bytes};
    GuardedMemory target_{memory_bytes};
    std::vector<std::byte> expected_;
};

} // namespace

TEST_CASE("the best instruction set is among those tested") {
    const auto sets = kernel_sets();
    CHECK(std::ranges::find(sets, &best_kernel_set()) != sets.end());
    for (const KernelSet* set : sets) UNSCOPED_INFO(hwy::TargetName(set->target));
#if HWY_ARCH_X86
    CHECK(sets.size() >= 3); // baseline, SSSE3 and AVX2, of any processor of the last ten years
#endif
}

TEST_CASE("every instruction set and method copies what a loop over bytes copies") {
    std::vector<std::uint64_t> lengths(130);
    std::iota(lengths.begin(), lengths.end(), 1);
    lengths.insert(lengths.end(), {131, 255, 256, 257, 300, 511, 512, 513, 1000, 1024, 1025, 4000, 4096, 4097, 5000});
    Check check;
    for (const KernelSet* set : kernel_sets()) {
        const Forced forced{*set};
        CAPTURE(hwy::TargetName(set->target));
        for (std::size_t m = 0; m < methods; ++m) {
            const Method method = static_cast<Method>(m);
            Forced::method(method);
            for (const std::uint64_t length : lengths) {
                const std::int64_t longest = std::clamp<std::int64_t>(static_cast<std::int64_t>(20000 / length), 2, 80);
                for (std::size_t d = 0; d < movements; ++d) {
                    const Movement movement = static_cast<Movement>(d);
                    for (std::int64_t kind = 0; kind < RandomSide::kinds; ++kind) {
                        const std::int64_t other = movement == Movement::copy ? number(0, RandomSide::kinds - 1) : kind;
                        const std::uint64_t count = static_cast<std::uint64_t>(number(1, longest));
                        const Reuse reuse = number(0, 1) == 0 ? Reuse::soon : Reuse::never;
                        const bool same = check.run(movement, count, length, kind, other, reuse);
                        if (!same) {
                            CAPTURE(name(method), length, name(movement), kind, other, count);
                            REQUIRE(same);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("counts around the widths of vectors") {
    Check check;
    for (const KernelSet* set : kernel_sets()) {
        const Forced forced{*set};
        CAPTURE(hwy::TargetName(set->target));
        for (const Method method : {Method::moves, Method::permute, Method::lookup}) {
            Forced::method(method);
            for (const std::uint64_t length : {1U, 2U, 4U, 8U, 12U, 16U, 20U, 24U, 28U, 32U}) {
                for (std::uint64_t count = 1; count <= 70; ++count) {
                    for (std::size_t d = 0; d < movements; ++d) {
                        const std::int64_t kind = number(0, RandomSide::kinds - 1);
                        const std::int64_t other = number(0, RandomSide::kinds - 1);
                        const bool same = check.run(static_cast<Movement>(d), count, length, kind, other, Reuse::soon);
                        if (!same) {
                            CAPTURE(name(method), length, name(static_cast<Movement>(d)), kind, other, count);
                            REQUIRE(same);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("every instruction set transposes as a loop over elements does, and touches nothing else") {
    const GuardedMemory source{1U << 18};
    const GuardedMemory target{1U << 18};
    for (const KernelSet* set : kernel_sets()) {
        const Forced forced{*set};
        CAPTURE(hwy::TargetName(set->target));
        for (int round = 0; round < 400; ++round) {
            const auto element = std::uint64_t{2} << number(0, 3);
            const auto bytes = static_cast<std::int64_t>(element);
            const auto rows = static_cast<std::uint64_t>(number(1, 80));
            const auto columns = static_cast<std::uint64_t>(number(1, 40));
            std::int64_t from_row = static_cast<std::int64_t>(columns) * bytes + number(0, 3) * number(0, 70);
            std::int64_t to_row = static_cast<std::int64_t>(rows) * bytes + number(0, 3) * number(0, 70);
            if (number(0, 1) == 0) to_row = (to_row + 63) / 64 * 64; // whose lines lie alike
            const std::int64_t from_size =
                from_row * static_cast<std::int64_t>(rows - 1) + static_cast<std::int64_t>(columns) * bytes;
            const std::int64_t to_size =
                to_row * static_cast<std::int64_t>(columns - 1) + static_cast<std::int64_t>(rows) * bytes;
            // At an edge of the memory, beyond which nobody may read or write.
            std::byte* from =
                number(0, 1) == 0 ? source.bytes().data() : source.bytes().data() + source.bytes().size() - from_size;
            std::byte* to = number(0, 1) == 0 ? target.bytes().data() + number(0, 64)
                                              : target.bytes().data() + target.bytes().size() - to_size;
            if (number(0, 3) == 0) {
                from += from_row * static_cast<std::int64_t>(rows - 1);
                from_row = -from_row;
            }
            if (number(0, 3) == 0) {
                to += to_row * static_cast<std::int64_t>(columns - 1);
                to_row = -to_row;
            }
            fill(source.bytes());
            fill(target.bytes());
            std::vector<std::byte> expected{target.bytes().begin(), target.bytes().end()};
            for (std::uint64_t r = 0; r < rows; ++r)
                for (std::uint64_t c = 0; c < columns; ++c)
                    std::memcpy(expected.data() + (to - target.bytes().data()) + static_cast<std::int64_t>(c) * to_row +
                                    static_cast<std::int64_t>(r) * bytes,
                                from + static_cast<std::int64_t>(r) * from_row + static_cast<std::int64_t>(c) * bytes,
                                element);
            transpose(to, to_row, from, from_row, rows, columns, element,
                      number(0, 1) == 0 ? Reuse::soon : Reuse::never);
            const bool same = std::ranges::equal(expected, target.bytes());
            if (!same) {
                CAPTURE(element, rows, columns, from_row, to_row);
                REQUIRE(same);
            }
        }
    }
}

TEST_CASE("pages between blocks are not touched") {
    // Each block ends where a page ends that is followed by one that nobody may touch, or begins after one.
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t blocks = 21;
    const GuardedMemory memory{2 * blocks * page};
    for (std::size_t k = 0; k < blocks; ++k)
        REQUIRE(mprotect(memory.bytes().data() + (2 * k + 1) * page, page, PROT_NONE) == 0);
    std::byte* const pages = memory.bytes().data();
    const std::int64_t stride = 2 * static_cast<std::int64_t>(page);
    std::vector<std::int64_t> offsets(blocks);
    for (std::size_t k = 0; k < blocks; ++k) offsets[k] = stride * static_cast<std::int64_t>(k);
    std::ranges::shuffle(offsets, random_bits());

    for (const KernelSet* set : kernel_sets()) {
        const Forced forced{*set};
        CAPTURE(hwy::TargetName(set->target));
        for (std::size_t m = 0; m < methods; ++m) {
            Forced::method(static_cast<Method>(m));
            for (std::size_t length = 1; length <= 300; ++length) {
                std::vector<std::byte> packed(blocks * length);
                std::vector<std::byte> back(blocks * length);
                fill(packed);
                for (std::byte* const base : {pages, pages + page - length}) {
                    for (const std::int64_t* const index : {static_cast<const std::int64_t*>(nullptr),
                                                            static_cast<const std::int64_t*>(offsets.data())}) {
                        const Run run{blocks, length, stride, index};
                        scatter(base, packed.data(), run);
                        gather(back.data(), base, run);
                        if (packed != back) {
                            CAPTURE(name(static_cast<Method>(m)), length, index == nullptr);
                            REQUIRE(packed == back);
                        }
                        std::ranges::fill(back, std::byte{});
                    }
                }
            }
        }
    }
}

TEST_CASE("a large run is the same through every size class, with and without the caches") {
    constexpr std::uint64_t count = 20000;
    for (const std::uint64_t length : {4U, 12U, 52U, 128U}) {
        const std::int64_t stride = 2 * static_cast<std::int64_t>(length);
        std::vector<std::byte> source(count * length * 2);
        fill(source);
        std::vector<std::byte> expected;
        for (std::uint64_t k = 0; k < count; ++k) {
            const auto block = source.begin() + static_cast<std::int64_t>(k) * stride;
            expected.insert(expected.end(), block, block + static_cast<std::int64_t>(length));
        }
        const CopyChoices before = copy_choices();
        for (const std::uint64_t last_level : {std::uint64_t{1} << 14, std::uint64_t{1} << 40}) {
            CopyChoices choices;
            choices.set_limits({.tiny = 512, .level1 = 1 << 12, .level2 = 1 << 13, .last_level = last_level});
            use_copy_choices(choices);
            for (const Reuse reuse : {Reuse::soon, Reuse::never}) {
                for (const std::size_t misalignment : {0U, 1U, 63U}) {
                    std::vector<std::byte> packed(expected.size() + 64);
                    gather(packed.data() + misalignment, source.data(),
                           {.count = count, .block_bytes = length, .stride = stride}, reuse);
                    CHECK(std::equal(expected.begin(), expected.end(),
                                     packed.begin() + static_cast<std::int64_t>(misalignment)));
                    std::vector<std::byte> unpacked(source.size());
                    scatter(unpacked.data(), expected.data(), {.count = count, .block_bytes = length, .stride = stride},
                            reuse);
                    std::vector<std::byte> again(expected.size());
                    gather(again.data(), unpacked.data(), {.count = count, .block_bytes = length, .stride = stride});
                    CHECK(again == expected);
                }
            }
        }
        use_copy_choices(before);
    }
}

TEST_CASE("runs without bytes do nothing") {
    gather(nullptr, nullptr, {.count = 0, .block_bytes = 8, .stride = 16});
    scatter(nullptr, nullptr, {.count = 5, .block_bytes = 0, .stride = 16});
    copy(nullptr, nullptr, {.count = 0, .block_bytes = 0, .to = {}, .from = {}});
}

TEST_CASE("one block may be read many times") {
    const std::uint32_t value = 0x12345678;
    std::vector<std::uint32_t> all(100);
    gather(reinterpret_cast<std::byte*>(all.data()), reinterpret_cast<const std::byte*>(&value),
           {.count = all.size(), .block_bytes = sizeof(value), .stride = 0});
    CHECK(std::ranges::count(all, value) == 100);
}

TEST_CASE("block classes cover every length") {
    CHECK(block_class(1) == BlockClass::b1);
    CHECK(block_class(11) == BlockClass::b9_to_15);
    CHECK(block_class(12) == BlockClass::b12);
    CHECK(block_class(31) == BlockClass::b17_to_31);
    CHECK(block_class(33) == BlockClass::b33_to_64);
    CHECK(block_class(64) == BlockClass::b33_to_64);
    CHECK(block_class(65) == BlockClass::b65_to_128);
    CHECK(block_class(257) == BlockClass::b257_to_512);
    CHECK(block_class(4096) == BlockClass::b2049_to_4096);
    CHECK(block_class(4097) == BlockClass::b4097_up);
    CHECK(block_class(std::uint64_t{1} << 40) == BlockClass::b4097_up);
}

TEST_CASE("a table of choices goes to a flat list and back") {
    CopyChoices choices;
    const CopyCase where{Movement::scatter, BlockClass::b12, StrideClass::indexed, SizeClass::level2, Reuse::never};
    choices.set(where, Method::library);
    CHECK(choices.method(where) == Method::library);
    CopyChoices copied;
    CHECK_FALSE(copied == choices);
    copied.set(choices.entries());
    CHECK(copied == choices);
    CHECK(choices.entries().size() == CopyChoices::cells);

    CHECK(named<Method>(name(Method::permute)) == Method::permute);
    CHECK(named<BlockClass>(name(BlockClass::b33_to_64)) == BlockClass::b33_to_64);
    CHECK(named<StrideClass>("indexed") == StrideClass::indexed);
    CHECK_FALSE(named<SizeClass>("huge").has_value());
    CHECK_FALSE(named<Movement>("").has_value());
}

TEST_CASE("a measured table is valid, keeps to its time, and copies what the built-in one copies") {
    const auto start = std::chrono::steady_clock::now();
    const CopyChoices measured = measure_copy_kernels(0.2);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    CHECK(seconds < 20); // a busy machine with sanitizers; alone it is 0.2
    CHECK(measured.limits() == CopyChoices{}.limits());
    // Without time nothing is measured.
    CHECK(measure_copy_kernels(0) == CopyChoices{});

    const CopyChoices before = copy_choices();
    use_copy_choices(measured);
    Check check;
    for (int i = 0; i < 2000; ++i) {
        const Movement movement = static_cast<Movement>(number(0, 2));
        const std::uint64_t length = static_cast<std::uint64_t>(number(1, 300));
        const std::uint64_t count = static_cast<std::uint64_t>(number(1, 60));
        const std::int64_t to_kind = number(0, RandomSide::kinds - 1);
        const std::int64_t from_kind = number(0, RandomSide::kinds - 1);
        REQUIRE(check.run(movement, count, length, to_kind, from_kind, Reuse::soon));
    }
    use_copy_choices(before);
}

TEST_CASE("a damaged table does not damage a copy") {
    // Methods where there is no code for them, as a foreign profile may have it.
    const CopyChoices before = copy_choices();
    Check check;
    for (int table = 0; table < 20; ++table) {
        CopyChoices choices;
        for (const CopyChoice& cell : choices.entries())
            choices.set(cell.where, static_cast<Method>(number(0, static_cast<std::int64_t>(methods) - 1)));
        use_copy_choices(choices);
        for (int i = 0; i < 300; ++i) {
            const std::uint64_t length = static_cast<std::uint64_t>(number(1, 100));
            REQUIRE(check.run(static_cast<Movement>(number(0, 2)), static_cast<std::uint64_t>(number(1, 60)), length,
                              number(0, RandomSide::kinds - 1), number(0, RandomSide::kinds - 1),
                              number(0, 1) == 0 ? Reuse::soon : Reuse::never));
        }
    }
    use_copy_choices(before);
    CopyChoices choices;
    CHECK_THROWS_WITH(choices.set_limits({.tiny = 2, .level1 = 1, .level2 = 3, .last_level = 4}),
                      Catch::Contains("must ascend") && Catch::Contains("2, 1, 3 and 4"));
}
