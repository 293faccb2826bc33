#pragma once

#include "src/trace/recorder.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace lapwing::detail::trace {

/// What a table of call sites is ordered by.
enum class LineOrder : std::uint8_t { time, bytes };

/// What one call site did with one object, in one way, on one rank or on several.
struct SiteCounts {
    /// A call as all ranks see it, wherever they have loaded its file.
    struct Place {
        std::uint64_t file = 0; ///< hash of its path
        std::uint64_t offset = 0;
        friend bool operator==(const Place&, const Place&) = default;
    };
    static constexpr std::size_t longest_name = 40;

    // What it is of.
    std::array<Place, CallSite::most> places{}; ///< from the inside out; those that there are
    std::array<char, longest_name> object{};    ///< the start of its name; empty: none
    std::uint64_t object_number = 0;
    bool has_object = false; ///< false: call sites that had no room, with several objects
    Way way = Way::element;
    Operation operation = Operation::read;

    std::array<std::uint64_t, 3> calls{}; ///< by affinity
    std::array<std::uint64_t, 3> bytes{};
    bool timed = false;         ///< any of them was
    double seconds = 0;         ///< of all ranks, extrapolated from the calls that were timed
    double slowest_seconds = 0; ///< of the rank that took longest
    int slowest_rank = 0;

    [[nodiscard]] bool same_site(const SiteCounts& other) const noexcept;
    [[nodiscard]] std::uint64_t all_calls() const noexcept { return calls[0] + calls[1] + calls[2]; }
    [[nodiscard]] std::uint64_t all_bytes() const noexcept { return bytes[0] + bytes[1] + bytes[2]; }
    /// Adds what is of other ranks.
    void add(const SiteCounts& other) noexcept;
};

/// The call sites with most time or bytes, of one rank or of several: a plain value of fixed size, which ranks can send
/// each other. When two tables together have more call sites than one has room for, those with the least give way, and
/// are counted together.
class LineTable {
public:
    static constexpr std::size_t most_sites = 192;

    LineTable() noexcept = default;
    explicit LineTable(LineOrder order) noexcept : order_{order} {}

    [[nodiscard]] std::span<const SiteCounts> sites() const noexcept { return {sites_.data(), size_}; }
    /// Those that gave way, together; with no calls if there are none.
    [[nodiscard]] const SiteCounts& others() const noexcept { return others_; }
    [[nodiscard]] LineOrder order() const noexcept { return order_; }
    /// Adds the call sites of other ranks, or of another thread.
    void add(std::span<const SiteCounts> sites);
    void add(const LineTable& other);

private:
    std::array<SiteCounts, most_sites> sites_{};
    std::size_t size_ = 0;
    SiteCounts others_{};
    LineOrder order_ = LineOrder::time;
};
static_assert(std::is_trivially_copyable_v<LineTable>);

/// The hash of a file that SiteCounts::Place has.
[[nodiscard]] std::uint64_t file_number(std::string_view path) noexcept;

/// What this rank has recorded, by call site. The recording has been stopped.
[[nodiscard]] LineTable take_lines(int rank, LineOrder order);

} // namespace lapwing::detail::trace
