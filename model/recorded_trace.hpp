#pragma once

#include "src/trace/recorder.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::detail::model {

/// What LAPWING_TRACE recorded of a run.
struct RecordedTrace {
    struct File {
        std::string path = {};
        std::uint64_t bytes = 0;
        std::int64_t changed = 0;
    };
    /// A call, as an offset in a file: the address to which it returns.
    struct Frame {
        std::size_t file = 0;
        std::uint64_t offset = 0;
        friend auto operator<=>(const Frame&, const Frame&) = default;
    };
    using Frames = std::vector<Frame>; ///< innermost first
    /// Frames that all ranks have alike, whatever numbers their files and intervals have.
    using Place = std::vector<std::pair<std::string, std::uint64_t>>;
    struct OfObject {
        std::string kind = {}; ///< window, upc (a block of UPC's heap), or cached: either, with a cache
        std::string name = {}; ///< empty: none
        std::uint64_t number = 0;
        std::uint64_t bytes = 0; ///< of the rank's part
        bool other_team = false; ///< owners are numbers in another team than the runtime's
        Frames made = {};        ///< where the program creates it
    };
    struct OfInterval {
        std::uint64_t times = 0;
        std::uint64_t barriers = 0; ///< ended so many of them
        std::uint64_t ns = 0;
        Frames site = {}; ///< empty: the start of the program
    };
    struct OfRecord {
        std::uint32_t thread = 0;
        trace::Record record = {}; ///< its object: 0 for none, else the index in `objects` plus one
    };
    struct OfRank {
        int rank = 0;
        std::uint64_t ns = 0;
        std::vector<File> files = {};
        std::vector<OfObject> objects = {};
        std::vector<OfInterval> intervals = {};
        std::map<std::uint64_t, Frames> sites = {}; ///< by the key of a record
        std::vector<OfRecord> records = {};

        [[nodiscard]] Place place_of(const Frames& frames) const {
            Place place;
            for (const Frame& frame : frames) place.emplace_back(files[frame.file].path, frame.offset);
            return place;
        }
    };

    int ranks = 0;
    int nodes = 0;
    std::string network_path = {};
    std::string mpi = {};
    std::string profile = {}; ///< the profile that the run looked for; empty: none
    std::map<std::string, std::string> settings = {};
    std::vector<OfRank> of_ranks = {};
};

/// Whether calls access one element each. A window's calls move blocks as well, which count as one access.
[[nodiscard]] bool are_single(trace::Way way, std::uint64_t calls, std::uint64_t accesses,
                              std::uint64_t bytes) noexcept;

/// Whether a record that does not name all owners is of all other ranks, as many of them as it can tell apart.
[[nodiscard]] bool accesses_all_others(const trace::Record& record, int ranks) noexcept;

/// The contents of a file of LAPWING_TRACE. Throws FileError that names `file` for anything else: other files, other
/// versions, text that was cut off or changed.
/// `progress`, if any, is called now and then with the fraction that has been read.
[[nodiscard]] RecordedTrace parse_trace(std::string_view text, std::string_view file,
                                        const std::function<void(double)>& progress = {});

} // namespace lapwing::detail::model
