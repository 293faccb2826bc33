#pragma once

#include "model/access_platform.hpp"
#include "model/program_description.hpp"
#include "model/recorded_trace.hpp"

#include <optional>
#include <string>

namespace lapwing::detail::model {

/// What a cache of these sizes, emptied at sequence points, would have made of the single accesses to other ranks'
/// elements that were recorded of an object: the cache is simulated on the distances of reuse (Mattson et al. 1970).
/// None if the trace has no such accesses, or no object of this name.
[[nodiscard]] std::optional<CachedShare> recorded_share(const RecordedTrace& trace, const std::string& object,
                                                        const AccessPlatform::Cache& cache);

/// Gives each reference whose description says nothing of hits the share of the recorded object with its object's name.
/// Throws UsageError if the trace has none of the objects.
void use_recorded_shares(ProgramDescription& program, const RecordedTrace& trace, const AccessPlatform::Cache& cache);

/// What the counters of a run with the cache say, all ranks and windows together.
struct CountedAccesses {
    double misses = 0; ///< of reads
    double passed = 0; ///< of reads and writes
    double ahead = 0;  ///< pages
};
/// Gives each reference whose description says nothing of hits what has been counted: of the remote reads that are
/// described, hits are those that neither missed nor bypassed the cache. The counter of hits does not tell reads from
/// writes, and that of what bypassed it does not, either: this is shared out as a simulated cache has it. So is whether
/// a miss fetches a line or a page, and how many of the writes that did not bypass the cache find their page there.
/// Throws UsageError if the run has missed more reads than are described.
void use_counted(ProgramDescription& program, const CountedAccesses& counted, const AccessPlatform::Cache& cache);

} // namespace lapwing::detail::model
