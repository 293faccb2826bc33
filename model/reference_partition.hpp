#pragma once

#include "model/access_platform.hpp"
#include "model/program_description.hpp"

#include <array>
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
    std::uint64_t run =
        0; ///< so many of them in a row are in one thread's memory, and the first is a baseline access; 0: all

    /// Accesses of a pattern.
    struct OfPattern {
        AccessPattern pattern = AccessPattern::baseline;
        std::uint64_t accesses = 0;
    };
    /// So many remote accesses: those that begin a run, and the others.
    [[nodiscard]] std::array<OfPattern, 2> remote_patterns(std::uint64_t accesses) const noexcept;
    /// The sum of cost(pattern, accesses) over them.
    template <class Cost>
    [[nodiscard]] double remote_cost(std::uint64_t accesses, Cost cost) const {
        double sum = 0;
        for (const auto& [pattern, count] : remote_patterns(accesses)) sum += cost(pattern, count);
        return sum;
    }

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
