#include "model/reference_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace lapwing::detail::model {
namespace {

/// References of one type may share a partition: constraints 1 and 2.
[[nodiscard]] std::string type_of(const ProgramDescription& program, std::size_t number, const Reference& reference) {
    using Kind = ReferenceAffinity::Kind;
    std::string affinity;
    if (!reference.with.empty()) affinity = "with " + reference.with;
    else if (reference.affinity.kind == Kind::own) affinity = "own";
    else if (program.object(reference.object).block == 0) affinity = "home";
    else if (reference.affinity.kind == Kind::shift) affinity = fmt::format("shift {}", reference.affinity.shift);
    else if (!reference.place.empty()) affinity = "place " + reference.place;
    else affinity = fmt::format("reference {}", number); // nothing is known about any two of them
    return reference.object + '\n' + affinity;
}

[[nodiscard]] bool keeps_apart(const Dependence& dependence) noexcept {
    return dependence.kind == Dependence::Kind::true_dependence || dependence.kind == Dependence::Kind::anti;
}

/// Whether a path of dependences leads from a reference of a partition through others to `to`: fusing them would close
/// a cycle. A path that reaches a reference goes on from all of its partition. Loop-carried dependences that point
/// backwards do not count.
[[nodiscard]] bool passes_outside(const DescribedInterval& interval, const std::vector<Partition>& partitions,
                                  std::size_t group, std::size_t to) {
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> partition_of(to + 1, none);
    for (std::size_t k = 0; k < partitions.size(); ++k)
        for (const std::size_t r : partitions[k].references) partition_of[r] = k;
    std::vector<bool> reached(partitions.size());
    for (bool more = true; more;) {
        more = false;
        for (const Dependence& dependence : interval.dependences) {
            if (dependence.to <= dependence.from || dependence.to > to) continue;
            const std::size_t from = partition_of[dependence.from];
            if (from != group && !reached[from]) continue;
            if (dependence.to == to) {
                if (from != group) return true;
                continue;
            }
            const std::size_t next = partition_of[dependence.to];
            if (next == group || reached[next]) continue;
            reached[next] = true;
            more = true;
        }
    }
    return false;
}

/// How many accesses of a strided reference follow each other in the memory of one thread; 0: all.
[[nodiscard]] std::uint64_t run_of(const SharedObject& object, const Reference& reference, int threads) {
    if (object.block == 0 || threads == 1 || reference.affinity.kind == ReferenceAffinity::Kind::own) return 0;
    const auto stride = static_cast<std::uint64_t>(std::abs(reference.walk.stride));
    if (stride == 0 || stride % (object.block * static_cast<std::uint64_t>(threads)) == 0) return 0;
    return std::max<std::uint64_t>(1, object.block / stride);
}

/// What a platform can exploit.
void find_pattern(const ProgramDescription& program, const DescribedInterval& interval, const AccessPlatform& platform,
                  Partition& partition) {
    const SharedObject& object = program.object(partition.object);
    const auto of = [&](std::size_t r) -> const Reference& { return interval.references[r]; };
    const bool strided =
        std::ranges::all_of(partition.references, [&](std::size_t r) { return of(r).walk.kind == Walk::Kind::stride; });
    std::uint64_t run = 0;
    if (strided)
        for (const std::size_t r : partition.references)
            if (const std::uint64_t other = run_of(object, of(r), program.threads); other != 0)
                run = run == 0 ? other : std::min(run, other);
    const bool vector = strided && run != 1;
    const bool near = vector || partition.references.size() > 1 ||
                      std::ranges::all_of(partition.references,
                                          [&](std::size_t r) { return of(r).walk.kind == Walk::Kind::clustered; });
    if (vector && platform.vectorises) {
        partition.remote = AccessPattern::vector;
        partition.run = run;
    } else if (near && platform.coalesces) {
        partition.remote = AccessPattern::coalesce;
    }
}

/// Of several references to the same location, one access per kind is counted.
void count_once(const DescribedInterval& interval, Partition& partition) {
    std::vector<std::size_t> counted;
    for (const std::size_t r : partition.references) {
        const Reference& reference = interval.references[r];
        const auto same = std::ranges::find_if(counted, [&](std::size_t other) {
            const Reference& before = interval.references[other];
            return !reference.place.empty() && before.place == reference.place && before.write == reference.write;
        });
        (same == counted.end() ? counted : partition.served).push_back(r);
    }
    partition.references = std::move(counted);
}

} // namespace

std::vector<Partition> partition_references(const ProgramDescription& program, const DescribedInterval& interval,
                                            const AccessPlatform& platform) {
    std::vector<Partition> partitions;
    std::vector<std::string> types;
    for (std::size_t r = 0; r < interval.references.size(); ++r) {
        const std::string type = type_of(program, r, interval.references[r]);
        const auto fits = [&](std::size_t k) {
            if (types[k] != type) return false;
            for (const Dependence& dependence : interval.dependences) { // constraint 3
                if (!keeps_apart(dependence)) continue;
                const std::size_t other = dependence.from == r ? dependence.to : dependence.from;
                if ((dependence.from == r || dependence.to == r) &&
                    std::ranges::find(partitions[k].references, other) != partitions[k].references.end())
                    return false;
            }
            return !passes_outside(interval, partitions, k, r);
        };
        std::size_t chosen = 0;
        while (chosen < partitions.size() && !fits(chosen)) ++chosen;
        if (chosen == partitions.size()) {
            partitions.push_back({.object = interval.references[r].object});
            types.push_back(type);
        }
        partitions[chosen].references.push_back(r);
    }
    for (Partition& partition : partitions) {
        find_pattern(program, interval, platform, partition);
        count_once(interval, partition);
    }
    return partitions;
}

std::array<Partition::OfPattern, 2> Partition::remote_patterns(std::uint64_t accesses) const noexcept {
    const std::uint64_t first = run == 0 ? 0 : accesses / run;
    return {OfPattern{AccessPattern::baseline, first}, OfPattern{remote, accesses - first}};
}

auto Partition::accesses(const ProgramDescription& program, const DescribedInterval& interval, int thread) const
    -> Accesses {
    Accesses sum;
    const SharedObject& shared = program.object(object);
    for (const std::size_t r : references) {
        const Reference& reference = interval.references[r];
        const double share = local_share(shared, reference, thread, program.threads);
        const auto local = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(reference.count)));
        (reference.write ? sum.local_writes : sum.local_reads) += local;
        (reference.write ? sum.remote_writes : sum.remote_reads) += reference.count - local;
    }
    return sum;
}

} // namespace lapwing::detail::model
