#include "model/changed_times.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace lapwing::detail::model {

AccessUse::Amount amount_of(const trace::Record& record) noexcept {
    return {.calls = record.calls,
            .accesses = record.accesses,
            .bytes = record.bytes,
            .runs = record.runs,
            .program_calls = record.program_calls,
            .timed_calls = record.timed_calls,
            .timed_seconds = 1e-9 * static_cast<double>(record.timed_ns)};
}

std::map<int, RankOfUse> ranks_of(const RecordedTrace& trace, const AccessUse& use) {
    std::map<int, RankOfUse> ranks;
    for (const auto& [rank, k] : use.records) {
        const trace::Record& record = trace.of_ranks[static_cast<std::size_t>(rank)].records[k].record;
        if (record.affinity == trace::Affinity::own) continue;
        RankOfUse& of = ranks[rank];
        of.within += record.within;
        of.over += record.over;
        if (record.affinity == trace::Affinity::far) of.far += amount_of(record);
    }
    return ranks;
}

int heaviest_of(const RanksOfChange& ranks) {
    const auto weight = [](const RankOfChange& of) { return std::pair{of.now(), of.accesses}; };
    const auto heaviest = std::ranges::max_element(
        ranks, [&](const auto& a, const auto& b) { return weight(a.second) < weight(b.second); });
    return heaviest->first;
}

double predicted_each(const AdviceCosts& costs, const AccessUse& use, std::uint64_t accesses) {
    return costs.of_path(std::string{"baseline."} + word(use), accesses);
}

RankOfChange& add_now(const AdviceCosts& costs, RanksOfChange& ranks, int rank, const AccessUse& use,
                      const AccessUse::Amount& far) {
    RankOfChange& sum = ranks[rank];
    const auto accesses = static_cast<double>(far.accesses);
    sum.measured += far.seconds();
    sum.predicted += accesses * predicted_each(costs, use, far.accesses);
    sum.accesses += accesses;
    return sum;
}

void add_change(const AdviceCosts& costs, Advice& advice, AdvisedChange change, const RanksOfChange& ranks) {
    const int heaviest = heaviest_of(ranks);
    change.rank = heaviest;
    if (costs.known()) {
        const RankOfChange& slowest = ranks.at(heaviest);
        double then = 0;
        for (const auto& [rank, of] : ranks) then = std::max(then, of.then);
        if (then >= slowest.now()) return;
        change.now_seconds = slowest.now();
        change.then_seconds = then;
        if (slowest.measured > 0 && slowest.predicted > 0)
            change.uncertainty = std::max(0.15, std::fabs(slowest.predicted - slowest.measured) / slowest.measured);
    }
    advice.changes.push_back(std::move(change));
}

} // namespace lapwing::detail::model
