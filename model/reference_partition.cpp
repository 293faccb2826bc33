#include "model/reference_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

/// Whether a path of dependences leads from a reference of `group` through one outside of it to `to`: fusing them would
/// close a cycle. Loop-carried dependences that point backwards do not count.
[[nodiscard]] bool passes_outside(const DescribedInterval& interval, const std::vector<std::size_t>& group,
                                  std::size_t to) {
    std::vector<bool> reached(interval.references.size());
    const auto in_group = [&](std::size_t r) { return std::ranges::find(group, r) != group.end(); };
    // In text order dependences point forward: one pass reaches all.
    for (std::size_t r = 0; r <= to; ++r)
        for (const Dependence& dependence : interval.dependences) {
            if (dependence.from != r || dependence.to <= r || dependence.to > to) continue;
            const bool leaves = in_group(r) && !in_group(dependence.to) && dependence.to != to;
            if (leaves || reached[r]) reached[dependence.to] = true;
        }
    return reached[to];
}

/// Whether successive accesses of the reference have the same affinity.
[[nodiscard]] bool stays(const SharedObject& object, const Reference& reference, int threads) {
    using Kind = ReferenceAffinity::Kind;
    if (object.block == 0 || threads == 1) return true;
    if (reference.affinity.kind == Kind::own || reference.affinity.kind == Kind::share) return true;
    const std::int64_t stride = std::abs(reference.walk.stride);
    const auto block = static_cast<std::int64_t>(object.block);
    return stride < block || stride % (block * threads) == 0;
}

/// What a platform can exploit.
[[nodiscard]] AccessPattern pattern_of(const ProgramDescription& program, const DescribedInterval& interval,
                                       const Partition& partition, const AccessPlatform& platform) {
    const SharedObject& object = program.object(partition.object);
    const auto of = [&](std::size_t r) -> const Reference& { return interval.references[r]; };
    const bool vector = std::ranges::all_of(partition.references, [&](std::size_t r) {
        return of(r).walk.kind == Walk::Kind::stride && stays(object, of(r), program.threads);
    });
    const bool near = vector || partition.references.size() > 1 ||
                      std::ranges::all_of(partition.references,
                                          [&](std::size_t r) { return of(r).walk.kind == Walk::Kind::clustered; });
    if (vector && platform.vectorises) return AccessPattern::vector;
    if (near && platform.coalesces) return AccessPattern::coalesce;
    return AccessPattern::baseline;
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
            return !passes_outside(interval, partitions[k].references, r);
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
        partition.remote = pattern_of(program, interval, partition, platform);
        count_once(interval, partition);
    }
    return partitions;
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
