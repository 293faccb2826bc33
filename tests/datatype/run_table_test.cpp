// The description of a layout that is sent in messages, against the offset of every byte; and invalid descriptions.
#include "datatype/random_layout.hpp"

#include "datatype/equal_units.hpp"
#include "datatype/run_table.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace lapwing;
using detail::datatype::encode_runs;
using detail::datatype::gather_runs;
using detail::datatype::RunTable;
using detail::datatype::scatter_runs;

namespace {

constexpr std::uint64_t extent = 1 << 15;

std::byte pattern(std::uint64_t at) { return static_cast<std::byte>((at * 7 + at / 251) & 0xff); }

/// The sample moved into [0, extent), or nothing where it does not fit.
bool place(test::RandomLayouts& random, test::Sample& sample) {
    if (sample.flat.empty()) return false;
    const auto [low, high] = std::ranges::minmax(sample.flat);
    if (high - low >= static_cast<std::int64_t>(extent)) return false;
    const std::int64_t distance = random.number(0, static_cast<std::int64_t>(extent) - (high - low) - 1) - low;
    sample = {sample.layout.shift(distance), test::shifted(sample.flat, distance)};
    return true;
}

} // namespace

TEST_CASE("tables of runs name every byte of a layout in its order, however it is cut") {
    test::RandomLayouts random{11};
    std::vector<std::byte> memory(extent);
    for (std::uint64_t i = 0; i < extent; ++i) memory[i] = pattern(i);
    int rounds = 0;
    while (rounds < 500) {
        test::Sample sample = random.make(static_cast<int>(random.number(0, 4)));
        if (random.number(0, 1) == 0) sample = random.slice(sample);
        if (!place(random, sample)) continue;
        ++rounds;
        LayoutCursor cursor{sample.layout};
        std::vector<std::byte> scattered(extent, std::byte{0xEE});
        std::vector<std::byte> expected = scattered;
        std::uint64_t position = 0;
        while (!cursor.done()) {
            const std::uint64_t limit = random.size(1, 3000);
            std::vector<std::byte> table(random.size(detail::datatype::least_table_bytes, 600), std::byte{0x55});
            const RunTable runs = encode_runs(cursor, limit, table.data(), table.size());
            REQUIRE(runs.data_bytes > 0);
            REQUIRE(runs.data_bytes <= limit);
            REQUIRE(runs.table_bytes <= table.size());
            REQUIRE(runs.table_bytes % 8 == 0);
            REQUIRE(cursor.position() == position + runs.data_bytes);
            const std::span<const std::byte> used{table.data(), runs.table_bytes};
            std::vector<std::byte> packed(runs.data_bytes);
            REQUIRE(gather_runs(used, memory.data(), extent, packed));
            for (std::uint64_t k = 0; k < runs.data_bytes; ++k) {
                const auto at = static_cast<std::size_t>(sample.flat[position + k]);
                REQUIRE(packed[k] == pattern(at));
                packed[k] = pattern(position + k + 99);
                expected[at] = packed[k];
            }
            REQUIRE(scatter_runs(used, scattered.data(), extent, packed));
            REQUIRE(scattered == expected);
            position += runs.data_bytes;
        }
        REQUIRE(position == sample.flat.size());
    }
}

TEST_CASE("regular layouts take one record, offsets two or four bytes a block") {
    std::vector<std::byte> table(4096);
    const Layout column = Layout::strided(100000, 8, 64);
    LayoutCursor all{column};
    CHECK(encode_runs(all, column.bytes(), table.data(), table.size()).table_bytes == 40);
    CHECK(all.done());
    Layout::Offsets offsets;
    for (std::int64_t i = 0; i < 500; ++i) offsets.push_back(2 * i * i);
    const Layout listed = Layout::indexed(offsets, 1);
    LayoutCursor some{listed};
    CHECK(encode_runs(some, listed.bytes(), table.data(), table.size()).table_bytes <= 40 + 8 + 500 * 2);
    CHECK(some.done());
    // Distances of more than 32 bits.
    const Layout far = Layout::indexed({0, std::int64_t{1} << 40, 7}, 4);
    LayoutCursor cursor{far};
    const RunTable runs = encode_runs(cursor, far.bytes(), table.data(), table.size());
    CHECK(runs.data_bytes == 12);
    std::vector<std::byte> data(12);
    CHECK_FALSE(gather_runs(std::span{table}.first(runs.table_bytes), table.data(), 1 << 20, data));
}

TEST_CASE("lists that ascend in small steps, with leaps among them, are found again") {
    // Leaps of more than 2 bytes can say, ahead and back, and runs of steps shorter and longer than a record is worth.
    Layout::Offsets offsets;
    std::int64_t at = 500'000;
    for (const int steps : {1, 3, 63, 64, 65, 200, 2, 700}) {
        for (int i = 0; i < steps; ++i) offsets.push_back(at += 5 + i % 7);
        at += steps % 2 == 0 ? 70'000 : -100'000 - steps;
    }
    const Layout layout = Layout::indexed(offsets, 4);
    std::vector<std::byte> memory(1 << 20);
    for (std::uint64_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i);
    for (const std::uint64_t room : {std::uint64_t{64}, std::uint64_t{304}, std::uint64_t{1} << 16}) {
        std::vector<std::byte> table(room);
        LayoutCursor cursor{layout};
        for (std::uint64_t position = 0; !cursor.done();) {
            const RunTable runs = encode_runs(cursor, layout.bytes(), table.data(), table.size());
            REQUIRE(runs.data_bytes > 0);
            std::vector<std::byte> packed(runs.data_bytes);
            REQUIRE(gather_runs(std::span{table}.first(runs.table_bytes), memory.data(), memory.size(), packed));
            for (std::size_t k = 0; k < packed.size(); ++k, ++position)
                REQUIRE(packed[k] == pattern(static_cast<std::uint64_t>(offsets[position / 4]) + position % 4));
        }
    }
}

TEST_CASE("blocks of one length of which a few are adjacent travel as the same blocks apart") {
    Layout::Offsets offsets;
    for (std::int64_t i = 0; i < 3000; ++i) offsets.push_back(8 * i + (i % 20 == 0 ? 0 : i % 20 == 19 ? 4 : i % 3));
    const Layout layout = Layout::indexed(offsets, 4);
    REQUIRE(layout.block_count() < offsets.size()); // some are one
    std::vector<std::byte> memory(1 << 15);
    for (std::uint64_t i = 0; i < memory.size(); ++i) memory[i] = pattern(i);
    std::vector<std::byte> table(1 << 15);
    LayoutCursor cursor{layout};
    const RunTable runs = encode_runs(cursor, layout.bytes(), table.data(), table.size());
    CHECK(cursor.done());
    CHECK(runs.table_bytes <= 3000 * 2 + 3000 / 500 * 48 + 48);
    std::vector<std::byte> packed(layout.bytes());
    REQUIRE(gather_runs(std::span{table}.first(runs.table_bytes), memory.data(), memory.size(), packed));
    bool right = true;
    for (std::size_t k = 0; k < packed.size(); ++k)
        right = right && packed[k] == pattern(static_cast<std::uint64_t>(offsets[k / 4]) + k % 4);
    CHECK(right);
}

TEST_CASE("a list in equal units has the bytes of its blocks, in their order") {
    test::RandomLayouts random{13};
    detail::datatype::UnitOffsets room;
    std::uint64_t in_units = 0;
    for (int round = 0; round < 2000; ++round) {
        // Mostly one length, or its multiples, or anything.
        const std::uint64_t unit = random.size(1, 20);
        const std::int64_t kind = random.number(0, 2);
        const std::uint64_t count = random.size(1, 700);
        std::vector<std::int64_t> offsets;
        std::vector<std::uint64_t> starts{0};
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t bytes = kind == 2                  ? random.size(1, 50)
                                        : random.number(0, 9) == 0 ? unit * random.size(1, 12) + (kind == 1 ? 1 : 0)
                                                                   : unit;
            offsets.push_back(random.number(-1000, 1000));
            starts.push_back(starts.back() + bytes);
        }
        const std::span<std::int64_t> some{room.data(), random.size(1, room.size())};
        std::uint64_t done = 0;
        while (done < count) {
            const auto found =
                detail::datatype::equal_units(offsets.data() + done, starts.data() + done, count - done, some);
            REQUIRE(found.blocks >= 1);
            REQUIRE(found.blocks <= count - done);
            if (found.units > 0) {
                REQUIRE(found.units <= some.size());
                REQUIRE(found.units * found.unit_bytes == starts[done + found.blocks] - starts[done]);
                std::uint64_t unit = 0;
                for (std::uint64_t i = done; i < done + found.blocks; ++i)
                    for (std::uint64_t k = 0; k < starts[i + 1] - starts[i]; k += found.unit_bytes)
                        REQUIRE(some[unit++] == offsets[i] + static_cast<std::int64_t>(k));
                in_units += found.blocks;
            }
            done += found.blocks;
        }
    }
    CHECK(in_units > 100000); // most of the blocks of the first two kinds
}

TEST_CASE("what is no table of the data within the extent is refused, and nothing outside is touched") {
    test::RandomLayouts random{12};
    constexpr std::uint64_t small = 512;
    constexpr std::uint64_t guard = 4096;
    std::vector<std::byte> memory(small + 2 * guard, std::byte{0xEE});
    int refused = 0;
    for (int round = 0; round < 20000; ++round) {
        test::Sample sample = random.make(static_cast<int>(random.number(0, 2)));
        std::vector<std::byte> table(512);
        LayoutCursor cursor{sample.layout};
        const RunTable runs = encode_runs(cursor, 400, table.data(), table.size());
        table.resize(runs.table_bytes);
        if (table.empty()) continue;
        // Damage: bits turned, cut off, or a length that is another.
        for (std::int64_t i = random.number(0, 3); i > 0; --i)
            table[random.size(0, table.size() - 1)] ^= static_cast<std::byte>(1U << random.number(0, 7));
        if (random.number(0, 3) == 0) table.resize(random.size(0, table.size()));
        std::vector<std::byte> data(random.number(0, 3) == 0 ? random.size(0, 500) : runs.data_bytes, std::byte{1});
        refused += scatter_runs(table, memory.data() + guard, small, data) ? 0 : 1;
        std::vector<std::byte> out(data.size());
        (void)gather_runs(table, memory.data() + guard, small, out);
    }
    CHECK(refused > 1000);
    for (std::uint64_t i = 0; i < guard; ++i) {
        REQUIRE(memory[i] == std::byte{0xEE});
        REQUIRE(memory[guard + small + i] == std::byte{0xEE});
    }
}
