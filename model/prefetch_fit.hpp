#pragma once

#include "model/advice.hpp"
#include "model/recorded_trace.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::detail::model {

/// A pattern of GlobalArray::prefetch() that names what was read, and at most twice as much unless it may be sparse.
struct FittingPattern {
    std::string why = {};
    std::string code = {};
    /// Of an owner's part.
    struct Part {
        std::uint64_t lowest = 0;
        std::uint64_t highest = 0;
        std::uint64_t bytes = 0; ///< that are copied
    };
    std::map<int, std::map<int, Part>> of_ranks = {}; ///< what each rank copies in an interval, by owner
    /// Of each rank's own part, which a mapped array may have to copy, too; empty: it shows them where they are.
    std::vector<std::uint64_t> own_bytes = {};

    [[nodiscard]] std::uint64_t bytes(int rank) const;
    /// What another one copies as well: the same places once.
    void add(const FittingPattern& other);
};

/// One pattern for all reads of some uses of one array in the same intervals, judged by the offsets between which each
/// rank reads each owner's part, and by how much of that it reads: nothing if a rank reads less than half, unless it
/// may be `sparse` and is all over whole parts, or so many owners that a record does not have them all.
[[nodiscard]] std::optional<FittingPattern>
fitting_pattern(const RecordedTrace& trace, std::span<const AccessUse* const> uses, bool sparse = false);

} // namespace lapwing::detail::model
