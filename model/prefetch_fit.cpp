#include "model/prefetch_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace lapwing::detail::model {
namespace {

/// What a rank reads of another one's part.
struct ReadPart {
    std::uint64_t lowest = UINT64_MAX;
    std::uint64_t highest = 0;
    [[nodiscard]] std::uint64_t bytes() const noexcept { return highest - lowest; }
};

struct ReadParts {
    std::map<int, std::map<int, ReadPart>> of_ranks; ///< by rank and owner
    std::map<int, std::uint64_t> distinct;           ///< bytes that a rank reads in an interval, about
    std::vector<std::uint64_t> part_bytes;           ///< of each owner

    [[nodiscard]] bool whole(int owner, const ReadPart& part) const {
        return 10 * part.bytes() >= 9 * part_bytes[static_cast<std::size_t>(owner)];
    }
    [[nodiscard]] std::uint64_t bytes_of(int rank) const {
        std::uint64_t sum = 0;
        for (const auto& [owner, part] : of_ranks.at(rank)) sum += part.bytes();
        return sum;
    }
};

[[nodiscard]] std::uint64_t own_bytes(const RecordedTrace::OfRank& rank, const AccessUse& use) {
    for (const RecordedTrace::OfObject& object : rank.objects)
        if (key_of(object) == key_of(use)) return object.bytes;
    return 0;
}

using Records = std::vector<std::pair<int, std::size_t>>; ///< ranks, and their records' numbers
[[nodiscard]] Records records_of(std::span<const AccessUse* const> uses) {
    Records records;
    for (const AccessUse* const use : uses) records.insert(records.end(), use->records.begin(), use->records.end());
    return records;
}

/// Nothing if a record neither names all owners nor is of all other ranks.
[[nodiscard]] std::optional<ReadParts> parts_of(const RecordedTrace& trace, std::span<const AccessUse* const> uses) {
    ReadParts parts;
    std::map<std::pair<int, std::uint32_t>, std::uint64_t> of_intervals;
    for (const RecordedTrace::OfRank& rank : trace.of_ranks) parts.part_bytes.push_back(own_bytes(rank, *uses.front()));
    for (const auto& [number, k] : records_of(uses)) {
        const RecordedTrace::OfRank& rank = trace.of_ranks[static_cast<std::size_t>(number)];
        const trace::Record& record = rank.records[k].record;
        if (record.affinity == trace::Affinity::own) continue;
        const bool of_all = accesses_all_others(record, trace.ranks);
        if (record.other_owners != 0 && !of_all) return {};
        constexpr std::uint64_t page = std::uint64_t{1} << trace::ReuseSample::page_bits;
        const std::uint64_t times = std::max<std::uint64_t>(1, rank.intervals[record.interval].times);
        std::uint64_t& distinct = of_intervals[{number, record.interval}];
        distinct += std::min(record.bytes, record.within.cold * page) / times;
        parts.distinct[number] = std::max(parts.distinct[number], distinct);
        if (of_all) { // between the same offsets of each part, for all that is known
            for (int owner = 0; owner < trace.ranks; ++owner) {
                if (owner == number) continue;
                ReadPart& part = parts.of_ranks[number][owner];
                part.lowest = std::min(part.lowest, record.lowest);
                part.highest =
                    std::max(part.highest, std::min(record.highest, parts.part_bytes[static_cast<std::size_t>(owner)]));
            }
            continue;
        }
        for (const trace::Record::OwnerCount& owner : record.owners) {
            if (owner.count == 0) continue;
            if (owner.value < 0 || owner.value >= trace.ranks) return {};
            ReadPart& part = parts.of_ranks[number][static_cast<int>(owner.value)];
            part.lowest = std::min(part.lowest, owner.lowest);
            part.highest = std::max(part.highest, owner.highest);
        }
    }
    for (const auto& [rank, owners] : parts.of_ranks)
        for (const auto& [owner, part] : owners)
            if (part.highest <= part.lowest || part.highest > parts.part_bytes[static_cast<std::size_t>(owner)])
                return {};
    return parts.of_ranks.empty() ? std::nullopt : std::optional{std::move(parts)};
}

/// Whether a condition holds for all ranks that read.
template <class Condition>
[[nodiscard]] bool all_ranks(const ReadParts& parts, Condition condition) {
    return std::ranges::all_of(parts.of_ranks, [&](const auto& of) { return condition(of.first, of.second); });
}

[[nodiscard]] bool whole_parts(const ReadParts& parts) {
    return all_ranks(parts, [&](int, const auto& owners) {
        return std::ranges::all_of(owners, [&](const auto& of) { return parts.whole(of.first, of.second); });
    });
}

/// The edges of the parts before and after the rank's own.
[[nodiscard]] bool is_stencil(const ReadParts& parts) {
    return all_ranks(parts, [&](int rank, const auto& owners) {
        return std::ranges::all_of(owners, [&](const auto& of) {
            const auto& [owner, part] = of;
            const std::uint64_t all = parts.part_bytes[static_cast<std::size_t>(owner)];
            // Corners of the edge may be left out.
            const std::uint64_t margin = part.bytes() / 4;
            if (2 * part.bytes() > all) return false;
            return owner == rank + 1 ? part.lowest <= margin : owner == rank - 1 && all - part.highest <= margin;
        });
    });
}

/// Ranks in groups of one size, each of which reads the others of its group: neighbours (stride 1), or `stride` apart.
[[nodiscard]] bool is_grid(const ReadParts& parts, int ranks, bool neighbours) {
    const int size = static_cast<int>(parts.of_ranks.begin()->second.size()) + 1;
    if (size == ranks || ranks % size != 0) return false;
    const int groups = ranks / size;
    return all_ranks(parts, [&](int rank, const auto& owners) {
        const auto group = [&](int r) { return neighbours ? r / size : r % groups; };
        return static_cast<int>(owners.size()) + 1 == size &&
               std::ranges::all_of(owners, [&](const auto& of) { return group(of.first) == group(rank); });
    });
}

/// Each element of the other parts once, as many as there are in the rank's own part, at one stride.
[[nodiscard]] bool is_transposed(const ReadParts& parts, const AccessUse& use, int ranks) {
    const AccessUse::Amount& far = use.heaviest[2];
    const std::uint64_t element = far.bytes / std::max<std::uint64_t>(far.accesses, 1);
    if (ranks < 3 || use.stride_share < 0.5 || use.stride <= static_cast<std::int64_t>(element)) return false;
    return all_ranks(parts, [&](int rank, const auto& owners) {
        const auto all = static_cast<double>(parts.part_bytes[static_cast<std::size_t>(rank)]);
        const double wanted = all * (ranks - 1) / ranks;
        const auto read = static_cast<double>(parts.distinct.at(rank));
        return static_cast<int>(owners.size()) == ranks - 1 && read >= 0.9 * wanted && read <= 1.1 * wanted;
    });
}

/// All between the places that were read.
[[nodiscard]] FittingPattern named(const ReadParts& parts) {
    FittingPattern pattern{.own_bytes = parts.part_bytes};
    for (const auto& [rank, owners] : parts.of_ranks)
        for (const auto& [owner, part] : owners)
            pattern.of_ranks[rank][owner] = {part.lowest, part.highest, part.bytes()};
    return pattern;
}

} // namespace

std::uint64_t FittingPattern::bytes(int rank) const {
    const auto found = of_ranks.find(rank);
    std::uint64_t sum = 0;
    if (found != of_ranks.end())
        for (const auto& [owner, part] : found->second) sum += part.bytes;
    return sum;
}

void FittingPattern::add(const FittingPattern& other) {
    for (const auto& [rank, owners] : other.of_ranks)
        for (const auto& [owner, part] : owners) {
            const auto [found, added] = of_ranks[rank].try_emplace(owner, part);
            if (added) continue;
            Part& sum = found->second;
            sum.lowest = std::min(sum.lowest, part.lowest);
            sum.highest = std::max(sum.highest, part.highest);
            sum.bytes = std::min(sum.bytes + part.bytes, sum.highest - sum.lowest);
        }
}

std::optional<FittingPattern> fitting_pattern(const RecordedTrace& trace, std::span<const AccessUse* const> uses,
                                              bool sparse) {
    const std::optional<ReadParts> parts = parts_of(trace, uses);
    if (!parts ||
        !std::ranges::all_of(uses, [&](const AccessUse* use) { return parts->of_ranks.contains(use->heaviest_rank); }))
        return {};
    FittingPattern found = named(*parts);
    const auto with = [&](const char* why, const char* code) {
        found.why = why;
        found.code = code;
        return found;
    };
    if (is_transposed(*parts, *uses.front(), trace.ranks)) {
        for (auto& [rank, owners] : found.of_ranks)
            for (auto& [owner, part] : owners) part.bytes = parts->distinct.at(rank) / owners.size();
        return with("each rank reads its share of every other part once, column by column",
                    "a.prefetch(lapwing::Transpose{});");
    }
    const bool dense =
        all_ranks(*parts, [&](int rank, const auto&) { return 2 * parts->distinct.at(rank) >= parts->bytes_of(rank); });
    if (!dense && !sparse) return {};
    if (whole_parts(*parts)) {
        if (all_ranks(*parts,
                      [&](int, const auto& owners) { return static_cast<int>(owners.size()) == trace.ranks - 1; }))
            return with(dense ? "the ranks read all of the others' parts" : "the ranks read all over the others' parts",
                        "a.prefetch(lapwing::AllToAll{});");
        if (is_grid(*parts, trace.ranks, true))
            return with("the ranks read all parts of their row of ranks", "a.prefetch(lapwing::RowWise{});");
        if (is_grid(*parts, trace.ranks, false))
            return with("the ranks read all parts of their column of ranks", "a.prefetch(lapwing::ColumnWise{});");
    }
    if (!dense) return {};
    if (is_stencil(*parts)) {
        // Parts are rows one after another, and shown where they are unless MPI has allocated the memory.
        if (trace.network_path != "rma" || trace.nodes < trace.ranks) found.own_bytes.clear();
        return with("the ranks read the edges of the parts before and after their own",
                    "a.prefetch(lapwing::Stencil{.depth = 1, .corners = false}); // as many rows as the loop reads");
    }
    return with("the ranks read most of what lies between two places of the others' parts",
                "// The function returns what is read next to the rank's own part.\n"
                "a.prefetch([](const lapwing::Domain<2>& own) { return own.expand(1); });");
}

} // namespace lapwing::detail::model
