#pragma once

#include <lapwing/upc/recording.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// Where the program last called the runtime. Written by each call that a program makes, since a store costs less than
/// checking whether accesses are recorded.
extern const void* call_site;

/// One access that is being recorded.
struct RecordedAccess {
    bool write = false;
    bool local = false;
    std::uint64_t bytes = 0;
    std::uint64_t cache_hits = 0;
    std::uint64_t cache_misses = 0;
};

/// Counts of the keys with the most accesses, of one thread, or of several that were merged: bounded, whatever the
/// number of threads.
struct BusiestCounts {
    static constexpr std::size_t most = 64;
    struct Row {
        std::uint64_t key = 0;
        lapwing_upc_access_counts counts{};
    };
    std::array<Row, most> rows{};
    std::uint64_t size = 0;
    std::uint64_t others = 0; ///< keys for which there was no room
    lapwing_upc_access_counts of_others{};

    void add(std::uint64_t key, const lapwing_upc_access_counts& counts);
    void merge(const BusiestCounts& other);
};

/// What one thread records: for itself, and for each place in the program.
class Recorder {
public:
    void note(const RecordedAccess& access);
    void record_lines(bool by_line) noexcept { by_line_ = by_line; }
    [[nodiscard]] bool by_line() const noexcept { return by_line_; }
    [[nodiscard]] const lapwing_upc_access_counts& counts() const noexcept { return counts_; }
    /// Collective. The text on thread 0, empty elsewhere.
    [[nodiscard]] std::string report(Team& team) const;

private:
    bool by_line_ = false;
    lapwing_upc_access_counts counts_{};
    std::unordered_map<const void*, lapwing_upc_access_counts> places_; ///< by return address of the access
};

/// A place as all threads' programs have it in common: its offset in the file that it was loaded from, and which
/// file that is.
[[nodiscard]] std::uint64_t portable_place(const void* address);
/// The source line of such a place, or its file and offset.
[[nodiscard]] std::string source_line(std::uint64_t place);

} // namespace lapwing::upc
