#pragma once

#include "model/advice.hpp"
#include "model/recorded_trace.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace lapwing::detail::model {

/// A pattern of GlobalArray::prefetch() that names what was read, and at most twice as much unless it may be sparse.
struct FittingPattern {
    std::string why = {};
    std::string code = {};
    std::uint64_t bytes = 0; ///< that it copies to the use's heaviest rank, in each interval
};

/// Judged by the offsets between which each rank reads each owner's part, and by how much of that it reads: nothing if
/// a rank reads less than half, unless it may be `sparse` and is all over whole parts, or so many owners that the
/// record does not have them all.
[[nodiscard]] std::optional<FittingPattern> fitting_pattern(const RecordedTrace& trace, const AccessUse& use,
                                                            bool sparse = false);

} // namespace lapwing::detail::model
