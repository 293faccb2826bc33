#pragma once

#include <lapwing/layout.hpp>

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::pipeline {

/// How a get fetches its blocks with the gaps between them (data sieving: Thakur, Gropp, Lusk, "Data sieving and
/// collective I/O in ROMIO", 1999): those with at most `gap` bytes between them by one operation.
struct Sieve {
    std::uint64_t gap = 0;
    double operations = 0; ///< of the whole get; 0: it is not to be sieved
    double bytes = 0;      ///< of these operations
    bool exact = false;    ///< all blocks were looked at

    friend bool operator==(const Sieve&, const Sieve&) = default;
};

/// The bytes of one such operation.
struct SievedRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    SievedRange() noexcept = default;
    explicit SievedRange(const ByteBlock& block) noexcept
        : begin{block.offset}, end{block.offset + static_cast<std::int64_t>(block.bytes)} {}

    [[nodiscard]] std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(end - begin); }
    /// Takes in a block that begins in the range, or at most `gap` bytes after its end. Otherwise false.
    [[nodiscard]] bool extend(const ByteBlock& block, std::uint64_t gap) noexcept {
        if (block.offset < begin || block.offset > end + static_cast<std::int64_t>(gap)) return false;
        end = std::max(end, block.offset + static_cast<std::int64_t>(block.bytes));
        return true;
    }
};

/// The same with where it arrives.
struct FetchedRange {
    SievedRange there;
    std::uint64_t place = 0; ///< in the chunk's slot
    std::uint64_t bytes = 0; ///< of the get, in it

    static constexpr std::uint64_t alignment = 16; ///< of the place
    [[nodiscard]] std::uint64_t next_place() const noexcept {
        return (place + there.bytes() + alignment - 1) / alignment * alignment;
    }
};

} // namespace lapwing::detail::pipeline
