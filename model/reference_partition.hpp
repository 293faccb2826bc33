#pragma once

#include "model/access_rates.hpp"
#include "model/program_description.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::model {

/// A partition of references (Zhang 2007, section 6.5): a set of references to one object, of one affinity at any time,
/// without a true dependence or an antidependence between any two.
struct Partition {
    std::string object = {};
    std::vector<std::size_t> references = {};       ///< in text order, without those that another reference serves
    std::vector<std::size_t> served = {};           ///< by an access of another reference to the same location
    AccessPattern remote = AccessPattern::baseline; ///< of the remote accesses

    /// A thread's accesses to local memory and to that of others.
    struct Accesses {
        std::uint64_t local_reads = 0;
        std::uint64_t local_writes = 0;
        std::uint64_t remote_reads = 0;
        std::uint64_t remote_writes = 0;
        [[nodiscard]] std::uint64_t remote() const noexcept { return remote_reads + remote_writes; }
        [[nodiscard]] std::uint64_t local() const noexcept { return local_reads + local_writes; }
    };
    [[nodiscard]] Accesses accesses(const ProgramDescription& program, const DescribedInterval& interval,
                                    int thread) const;
};

/// The partitions of an interval, by typed fusion (Kennedy and McKinley 1993; Allen and Kennedy 2002): as few as the
/// constraints allow for each object and affinity, in dependence order. Their patterns are what the
/// platform exploits.
[[nodiscard]] std::vector<Partition> partition_references(const ProgramDescription& program,
                                                          const DescribedInterval& interval,
                                                          const AccessPlatform& platform);

} // namespace lapwing::detail::model
