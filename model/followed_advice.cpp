#include "model/followed_advice.hpp"

#include "model/advice_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace lapwing::detail::model {
namespace {

/// A rank's reads of others' parts of an object.
struct ReadsOfRank {
    double measured = 0; ///< seconds
    std::uint64_t accesses = 0;
    std::set<std::uint32_t> intervals = {};
    std::uint64_t asks = 0; ///< ranges that are asked for after an acquire
    std::uint64_t bytes = 0;
    double ask_seconds = 0;
    std::uint64_t executions = 0; ///< of the intervals
};
using ReadsOfRanks = std::map<int, ReadsOfRank>;

[[nodiscard]] bool is_of(const AccessUse& use, const AdviceFile::Window& window) {
    return use.object_kind != "upc" && !use.object_of_other_team && use.object_name == window.name &&
           use.object_number == window.number;
}

/// Whether all that a rank reads is asked for.
[[nodiscard]] bool is_covered(const trace::Record& record, int rank, const AdviceFile::Window& window) {
    return record.other_owners == 0 && std::ranges::all_of(record.owners, [&](const trace::Record::OwnerCount& owner) {
               return owner.count == 0 || std::ranges::any_of(window.prefetch, [&](const AdviceFile::Prefetch& part) {
                          return part.rank == rank && part.owner == owner.value && part.begin <= owner.lowest &&
                                 owner.highest <= part.end;
                      });
           });
}

/// Empty if something is accessed that is not asked for.
[[nodiscard]] ReadsOfRanks ranks_of(const RecordedTrace& trace, const AdviceCosts& costs, const Advice& advice,
                                    const AdviceFile::Window& window, std::vector<std::size_t>& uses) {
    ReadsOfRanks ranks;
    for (std::size_t u = 0; u < advice.uses.size(); ++u) {
        const AccessUse& use = advice.uses[u];
        if (!is_of(use, window) || use.far().calls == 0) continue;
        if (use.operation != trace::Operation::read || !is_single(use)) return {};
        uses.push_back(u);
        for (const auto& [rank, k] : use.records) {
            const trace::Record& record = trace.of_ranks[static_cast<std::size_t>(rank)].records[k].record;
            if (record.affinity != trace::Affinity::far) continue;
            if (!is_covered(record, rank, window)) return {};
            ReadsOfRank& of = ranks[rank];
            of.measured += record.timed_calls == 0 ? 0 : record.seconds();
            of.accesses += record.accesses;
            of.intervals.insert(record.interval);
        }
    }
    for (auto& [rank, of] : ranks) {
        for (const std::uint32_t interval : of.intervals)
            of.executions += trace.of_ranks[static_cast<std::size_t>(rank)].intervals[interval].times;
        for (const AdviceFile::Prefetch& part : window.prefetch) {
            if (part.rank != rank) continue;
            ++of.asks;
            of.bytes += part.end - part.begin;
            of.ask_seconds += costs.transfer(part.end - part.begin, false);
        }
    }
    return ranks;
}

} // namespace

void advise_to_follow(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice) {
    for (const AdviceFile::Window& window : advice_file(trace, advice).windows) {
        if (window.prefetch.empty()) continue;
        AdvisedChange change{.kind = "follow"};
        const ReadsOfRanks ranks = ranks_of(trace, costs, advice, window, change.uses);
        if (ranks.empty()) continue;
        const auto seconds_now = [&](const ReadsOfRank& of) {
            return of.measured > 0 ? of.measured
                                   : static_cast<double>(of.accesses) * costs.of_path("baseline.read", of.accesses);
        };
        // The first read after an acquire misses, and waits for what is asked for with it.
        const auto seconds_then = [&](const ReadsOfRank& of) {
            constexpr std::uint64_t line = 64;
            return static_cast<double>(of.executions) * (costs.miss(line) + of.ask_seconds) +
                   static_cast<double>(of.accesses) * costs.of_path("cached.hit.read", of.accesses);
        };
        const auto heaviest = std::ranges::max_element(ranks, [&](const auto& a, const auto& b) {
            return std::pair{seconds_now(a.second), a.second.accesses} <
                   std::pair{seconds_now(b.second), b.second.accesses};
        });
        const ReadsOfRank& of = heaviest->second;
        change.title = "fetch after each barrier what this run has read, all at once, without a change of the program";
        change.why =
            fmt::format("rank {} reads the same {:.0f} KiB of others' parts, in {} ranges, in each of {} intervals",
                        heaviest->first, static_cast<double>(of.bytes) / 1024, of.asks, of.executions);
        change.setting = "LAPWING_ADVICE=FILE";
        change.code = "lapwing-advise --advice FILE TRACE   # or LAPWING_ADVICE=TRACE";
        const std::uint64_t messages = of.executions * (of.asks + 1);
        change.messages_saved = of.accesses > messages ? of.accesses - messages : 0;
        if (!costs.known() && change.messages_saved == 0) continue;
        if (costs.known()) {
            double then = 0;
            for (const auto& [rank, each] : ranks) then = std::max(then, seconds_then(each));
            const double now = seconds_now(of);
            if (then >= now) continue;
            change.now_seconds = now;
            change.then_seconds = then;
            const double from_rates = static_cast<double>(of.accesses) * costs.of_path("baseline.read", of.accesses);
            if (of.measured > 0)
                change.uncertainty = std::max(change.uncertainty, std::fabs(from_rates - of.measured) / of.measured);
        }
        advice.changes.push_back(std::move(change));
    }
}

} // namespace lapwing::detail::model
