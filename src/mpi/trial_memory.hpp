#pragma once

#include "src/mpi/atomic_cases.hpp"
#include "src/mpi/window_trial.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::mpi {

inline constexpr std::byte untouched{0xA5};

/// The place of an atomic. The bytes beside a value of four bytes must not change.
struct alignas(8) Slot {
    std::array<std::byte, 16> bytes;
    bool operator==(const Slot&) const = default;
};
using Slots = std::array<Slot, case_count>;

/// Sizes of puts and gets: odd ones, and above what MPI sends at once.
inline constexpr std::array<std::size_t, 7> piece_sizes{1, 3, 8, 61, 500, 4097, 70001};
inline constexpr std::size_t piece_gap = 16;   ///< at least so many bytes between two of them that nobody may write
inline constexpr std::size_t largest_unit = 8; ///< of displacements, at multiples of which they begin
inline constexpr std::size_t large_words = 1 << 17; ///< of eight bytes: more than MPI sends in one go, by any protocol

using Area = std::array<std::byte, [] {
    std::size_t bytes = piece_gap;
    for (const std::size_t size : piece_sizes) bytes += size + piece_gap + largest_unit;
    return (bytes + 63) / 64 * 64;
}()>;

/// Open MPI 4.1.4 begins the memory of windows 8 bytes after a multiple of 64. All members are at multiples of
/// `largest_unit`. Members without a value here get one in the step that uses them: where the trial ends after the
/// first step, these pages are never touched.
struct alignas(8) WindowTrial::Memory {
    std::int64_t rank = -1;
    std::int64_t outside_mpi = 0;            ///< 1 while the rank sleeps outside MPI
    std::int64_t written = 0;                ///< by the rank that works on this one
    std::array<std::int64_t, 3> contended{}; ///< by both, of a type each
    std::array<std::int64_t, 4> in_order{};  ///< by this rank itself, of a type each
    std::int64_t of_other_thread = 0;        ///< the same
    std::int64_t after_flush = 0;            ///< what was put before each, see Data
    std::int64_t after_local_flush = 0;
    std::int64_t after_flush_all = 0;
    std::int64_t after_flush_all_of_other = 0; ///< by the rank that this one works on
    std::int64_t after_wait = 0;
    std::int64_t unused = 0;
    Slots of_previous;  ///< which works on them
    Slots while_asleep; ///< the same
    Slots own;
    Slots accumulated; ///< by this rank itself
    Area read;
    Area put;
    Area put_with_request;
    Area put_before_local_flush;
    Area put_before_flush_all;
    Area put_before_flush_all_of_other; ///< by the rank that this one works on
};

/// In what a rank exposes: after the Memory, at a multiple of 16 (see WindowMemory), `large_words` of eight bytes.
inline constexpr std::size_t large_place = (sizeof(WindowTrial::Memory) + 15) / 16 * 16;

struct WindowTrial::Buffers {
    static constexpr std::size_t many = 64; ///< operations that are timed together
    std::array<std::int64_t, many> words;
    std::int64_t sent;
    std::int64_t seen_before;
    std::int64_t seen_after;
    std::array<std::int64_t, 5> reused;
    std::array<AtomicValueBytes, case_count> expected;
    std::array<AtomicValueBytes, case_count> before_there;
    std::array<AtomicValueBytes, case_count> before_here;
    std::array<AtomicValueBytes, case_count> chain;
    Slots there;
    Area source;
    Area source_of_requests;
    Area source_of_others; ///< of puts that other flushes than MPI_Win_flush complete
    Area got;
    Area got_with_request;
    Area read_back;
    std::array<std::uint64_t, large_words> large_source;
    std::array<std::uint64_t, large_words> large_back;
};

} // namespace lapwing::detail::mpi
