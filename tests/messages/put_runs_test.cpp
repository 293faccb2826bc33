// Runs of bytes in one request: packed runs arrive at their places, and an invalid payload writes nothing.
#include "src/messages/put_runs.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace {

using lapwing::detail::messages::RunEntry;
using lapwing::detail::messages::RunsMessage;
using lapwing::detail::messages::write_runs;

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

/// A payload of these runs, whose bytes are 1, 2, 3, …
std::vector<std::byte> payload_of(const std::vector<RunEntry>& entries, std::size_t data_bytes) {
    std::vector<std::byte> payload(data_bytes);
    for (std::size_t i = 0; i < data_bytes; ++i) payload[i] = static_cast<std::byte>(i + 1);
    const auto* const table = reinterpret_cast<const std::byte*>(entries.data());
    payload.insert(payload.end(), table, table + entries.size() * sizeof(RunEntry));
    return payload;
}

} // namespace

TEST_CASE("random runs are written where they belong, and nothing else is") {
    std::mt19937_64 random{7};
    for (int round = 0; round < 300; ++round) {
        // Gaps of more than 65536 bytes now and then, and messages of all sizes.
        const std::uint64_t largest_gap = std::array<std::uint64_t, 4>{1, 20, 3000, 200'000}[random() % 4];
        const std::uint64_t largest_run = std::array<std::uint64_t, 4>{1, 8, 100, 5000}[random() % 4];
        const std::uint64_t extent = 400'000;
        std::vector<std::byte> memory(extent);
        std::vector<std::byte> expected(extent);
        const std::vector<std::byte> source = random_bytes(random, extent);
        RunsMessage message{16 + random() % 9000 / 8 * 8};
        const auto send = [&] {
            const auto payload = message.payload();
            REQUIRE(write_runs(payload, message.entries(), memory, message.offset()));
            message.clear();
        };
        for (std::uint64_t at = random() % 1000;;) {
            const std::uint64_t bytes = std::min(1 + random() % largest_run, message.largest_run());
            if (at + bytes > extent) break;
            if (!message.add(at, source.data() + at, bytes)) {
                send();
                REQUIRE(message.add(at, source.data() + at, bytes));
            }
            std::copy_n(source.data() + at, bytes, expected.data() + at);
            at += bytes + random() % largest_gap;
        }
        if (!message.empty()) send();
        REQUIRE(memory == expected);
    }
}

TEST_CASE("runs that do not ascend go into messages of their own") {
    const std::array<std::byte, 8> source{};
    RunsMessage message{1000};
    CHECK(message.add(64, source.data(), 8));
    CHECK_FALSE(message.add(0, source.data(), 8));
    CHECK_FALSE(message.add(68, source.data(), 8)); // overlaps
    CHECK(message.add(72, source.data(), 8));
    CHECK(message.entries() == 2);
    CHECK(message.data_bytes() == 16);
}

TEST_CASE("a payload that is none writes nothing") {
    std::vector<std::byte> memory(1U << 17);
    const std::vector<std::byte> zeros = memory;
    const auto refused = [&](const std::vector<RunEntry>& entries, std::size_t data_bytes, std::uint64_t count,
                             std::uint64_t offset) {
        const bool written = write_runs(payload_of(entries, data_bytes), count, memory, offset);
        CHECK(memory == zeros);
        return !written;
    };
    const std::uint64_t end = memory.size();
    const std::uint64_t most = ~std::uint64_t{0};
    CHECK(refused({{0, 8}}, 8, 1, end - 7));      // its last byte
    CHECK(refused({{8, 8}}, 8, 1, end - 15));     // by its gap
    CHECK(refused({{2, 0}, {0, 8}}, 8, 2, 0));    // by a long gap
    CHECK(refused({{0, 8}}, 8, 1, end + 1));      // begins outside
    CHECK(refused({{0, 8}}, 8, 1, most - 3));     // offsets that overflow
    CHECK(refused({{0, 8}}, 7, 1, 0));            // less data than runs
    CHECK(refused({{0, 8}}, 9, 1, 0));            // more
    CHECK(refused({{0, 8}}, 8, 2, 0));            // other entries than there are
    CHECK(refused({{0, 8}}, 8, 0, 0));            // none
    CHECK(refused({{0, 8}}, 8, most / 4 + 1, 0)); // so many that their bytes overflow
    CHECK(refused({{5, 0}}, 0, 1, 0));            // no run
    CHECK(refused({}, 8, 1, 0));
    // The good one beside them.
    REQUIRE(write_runs(payload_of({{1, 0}, {4, 2}, {1, 1}}, 3), 3, memory, 8));
    std::vector<std::byte> expected = zeros;
    expected[65536 + 12] = std::byte{1};
    expected[65536 + 13] = std::byte{2};
    expected[65536 + 15] = std::byte{3};
    CHECK(memory == expected);
}

TEST_CASE("random payloads write nothing outside of the memory") {
    std::mt19937_64 random{11};
    int written = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> memory(1024 + 2 * 64, std::byte{0xa5});
        const std::size_t entries = random() % 6;
        std::vector<RunEntry> table(entries);
        std::size_t data = 0;
        for (RunEntry& entry : table) {
            entry = {static_cast<std::uint16_t>(random() % 300), static_cast<std::uint16_t>(random() % 200)};
            data += entry.bytes;
        }
        if (random() % 4 == 0) data += random() % 3;
        const auto payload = payload_of(table, data);
        const std::span<std::byte> inside{memory.data() + 64, 1024};
        written += write_runs(payload, random() % 8 == 0 ? random() % 8 : entries, inside, random() % 700) ? 1 : 0;
        const auto untouched = [](std::byte byte) { return byte == std::byte{0xa5}; };
        REQUIRE(std::all_of(memory.begin(), memory.begin() + 64, untouched));
        REQUIRE(std::all_of(memory.end() - 64, memory.end(), untouched));
    }
    CHECK(written > 1000);
}
