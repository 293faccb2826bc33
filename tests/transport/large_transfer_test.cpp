// Transfers of more than 2^31 bytes, which MPI's counts cannot express.
#include "src/mpi/pieces.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unistd.h>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;

TEST_CASE("the pieces of a transfer follow each other, fit an int and make up the whole") {
    constexpr std::uint64_t piece = lapwing::detail::mpi::largest_piece_bytes;
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, piece - 1, piece, piece + 1, 2 * piece - 1, 2 * piece,
          (std::uint64_t{1} << 31) + 7, (std::uint64_t{1} << 32) + 1, (std::uint64_t{1} << 36) - 1}) {
        std::uint64_t next = 0;
        std::uint64_t pieces = 0;
        bool fits = true;
        lapwing::detail::mpi::for_each_piece(bytes, [&](std::uint64_t offset, int size) {
            fits = fits && offset == next && size > 0;
            next = offset + static_cast<std::uint64_t>(size);
            ++pieces;
        });
        CHECK(fits);
        CHECK(next == bytes);
        CHECK(pieces == lapwing::detail::mpi::piece_count(bytes));
    }
}

TEST_CASE("pieces begin at multiples of a unit") {
    for (const std::uint64_t unit :
         {std::uint64_t{8}, std::uint64_t{24}, (std::uint64_t{1} << 29) + 1, std::uint64_t{1} << 30}) {
        for (const std::uint64_t bytes : {unit, (std::uint64_t{1} << 31) + 7, (std::uint64_t{1} << 32) + 1}) {
            std::uint64_t next = 0;
            bool fits = true;
            lapwing::detail::mpi::for_each_piece(
                bytes,
                [&](std::uint64_t offset, int size) {
                    fits = fits && offset == next && offset % unit == 0 && size > 0;
                    next = offset + static_cast<std::uint64_t>(size);
                },
                unit);
            CHECK(fits);
            CHECK(next == bytes);
        }
    }
}

namespace {

constexpr std::uint64_t bytes = (std::uint64_t{1} << 31) + (std::uint64_t{1} << 20) + 8;

/// Whether all ranks have room for a test; says so where they have not.
bool memory_is_free() {
    const auto available =
        static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (test::on_all_ranks(available > 4 * bytes)) return true;
    WARN("too little memory is free for this test");
    test::skip();
    return false;
}

std::uint64_t value(std::uint64_t index) { return index * 0x9E3779B97F4A7C15U; }

/// How many of these values are others.
std::uint64_t wrong(const std::byte* values) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < bytes / 8; ++i) {
        std::uint64_t seen = 0;
        std::memcpy(&seen, values + 8 * i, 8);
        if (seen != value(i)) ++count;
    }
    return count;
}

} // namespace

TEST_CASE("a put and a get of more than 2^31 bytes") {
    if (!memory_is_free()) return;
    lapwing::Runtime runtime;
    const Rank owner{runtime.size() - 1};
    const bool owns = runtime.rank() == owner;
    lapwing::Window window{runtime, owns ? bytes + 3 : 0};
    std::vector<std::uint64_t> mine;
    if (runtime.rank() == Rank{0}) {
        mine.resize(bytes / 8);
        for (std::uint64_t i = 0; i < mine.size(); ++i) mine[i] = value(i);
        window.put(owner, Offset{3}, std::span<const std::uint64_t>{mine}); // off every boundary
    }
    runtime.barrier();
    if (owns) CHECK(wrong(window.local().data() + 3) == 0);
    runtime.barrier();
    if (runtime.rank() == Rank{0}) {
        std::ranges::fill(mine, 0);
        window.start_get(owner, Offset{3}, std::span{mine}).wait();
        CHECK(wrong(reinterpret_cast<const std::byte*>(mine.data())) == 0);
        // Offsets above 2^31, too.
        CHECK(window.get<std::uint64_t>(owner, Offset{3 + bytes - 8}) == value(bytes / 8 - 1));
    }
    runtime.barrier();
}

TEST_CASE("more than 2^31 bytes of an adopted window whose displacements count elements") {
    if (!memory_is_free()) return;
    lapwing::Runtime runtime;
    const Rank owner{runtime.size() - 1};
    // Messages are of bytes, as in the test above. The same on all ranks: the owner asks for the other one.
    if (runtime.path(Rank{runtime.rank() == owner ? 0 : owner.value}) != lapwing::Path::rma) return;
    const bool owns = runtime.rank() == owner;
    constexpr int unit = 24; // not a divisor of any power of 2
    std::vector<std::uint64_t> exposed(owns ? bytes / 8 + 3 : 0);
    MPI_Win host = MPI_WIN_NULL;
    MPI_Win_create(exposed.data(), static_cast<MPI_Aint>(8 * exposed.size()), unit, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &host);
    {
        lapwing::Window window = lapwing::Window::adopt(runtime, host);
        std::vector<std::uint64_t> mine;
        if (runtime.rank() == Rank{0}) {
            mine.resize(bytes / 8);
            for (std::uint64_t i = 0; i < mine.size(); ++i) mine[i] = value(i);
            window.put(owner, Offset{unit}, std::span<const std::uint64_t>{mine});
        }
        runtime.barrier();
        if (owns) CHECK(wrong(reinterpret_cast<const std::byte*>(exposed.data()) + unit) == 0);
        runtime.barrier();
        if (runtime.rank() == Rank{0}) {
            std::ranges::fill(mine, 0);
            window.start_get(owner, Offset{unit}, std::span{mine}).wait();
            CHECK(wrong(reinterpret_cast<const std::byte*>(mine.data())) == 0);
            const lapwing::StatisticsValues counted = window.statistics();
            CHECK(counted[lapwing::Counter::rma_put_bytes] == bytes);
            CHECK(counted[lapwing::Counter::rma_get_bytes] == bytes);
        }
        runtime.barrier();
    }
    MPI_Win_free(&host);
}
