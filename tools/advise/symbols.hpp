#pragma once

#include "model/recorded_trace.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::advise {

/// Source lines of the places in a trace, found by addr2line (binutils) in the files of the program.
class SourceLines {
public:
    /// Looks up all added places, with one call of addr2line per file and some hundred places.
    void add(const detail::model::RecordedTrace::OfRank& rank, const detail::model::RecordedTrace::Frames& frames);
    void look_up();

    /// The innermost place outside the library: "file.cpp:31 (function)"; else what is known of it.
    [[nodiscard]] std::string line(const detail::model::RecordedTrace::OfRank& rank,
                                   const detail::model::RecordedTrace::Frames& frames) const;
    /// Why lines may be missing or wrong, a sentence each: files that are gone or have changed.
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
    struct Place {
        std::string function;
        std::string line; ///< empty: unknown
    };
    using Address = std::pair<std::string, std::uint64_t>; ///< a file, and the offset of the call

    void look_up(const std::string& file, const std::vector<std::uint64_t>& offsets);

    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> files_; ///< size and modification time
    std::map<Address, std::vector<Place>> places_;                        ///< with inlined functions, innermost first
    std::vector<std::string> notes_;
};

} // namespace lapwing::advise
