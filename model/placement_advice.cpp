#include "model/placement_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace lapwing::detail::model {
namespace {

/// What a rank accesses of an object, by calls of single elements.
struct AccessesOfRank {
    std::map<int, std::uint64_t> owners;                            ///< accesses to their parts
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> between; ///< which offsets of these
    std::uint64_t all = 0;
    std::uint64_t remote = 0;
    std::uint64_t lowest = UINT64_MAX; ///< of all parts
    std::uint64_t highest = 0;
    std::map<std::int64_t, std::uint64_t> strides;
    double seconds = 0; ///< of the remote accesses
    [[nodiscard]] std::uint64_t of(int owner) const {
        const auto found = owners.find(owner);
        return found == owners.end() ? 0 : found->second;
    }
    /// The owner with most; -1 for none.
    [[nodiscard]] int dominant() const {
        const auto most =
            std::ranges::max_element(owners, [](const auto& a, const auto& b) { return a.second < b.second; });
        return most == owners.end() ? -1 : most->first;
    }
};

/// An object that is accessed one element at a time.
struct SingleObject {
    std::vector<std::size_t> uses = {};
    std::map<int, AccessesOfRank> ranks = {}; ///< those that access it
    std::uint64_t element_bytes = 0;
    std::uint64_t part_bytes = 0; ///< of the largest part
    bool atomics = false;         ///< nothing else
    bool of_upc = false;
};

/// Of a record that does not name all owners, but is of all other ranks: its accesses are shared out evenly. Returns
/// whether they may be: if none of those that are named has far more.
bool add_evenly(AccessesOfRank& of, const trace::Record& record, int rank, int ranks) {
    const std::uint64_t share = record.accesses / static_cast<std::uint64_t>(ranks - 1);
    for (const trace::Record::OwnerCount& owner : record.owners)
        if (4 * owner.count > 5 * share + 8) return false; // what is counted of an owner is a lower bound
    for (int owner = 0; owner < ranks; ++owner) {
        if (owner == rank) continue;
        of.owners[owner] += share;
        auto& [begin, end] = of.between.try_emplace(owner, UINT64_MAX, 0).first->second;
        begin = std::min(begin, record.lowest);
        end = std::max(end, record.highest);
    }
    return true;
}

void add_owners(AccessesOfRank& of, const trace::Record& record) {
    for (const trace::Record::OwnerCount& owner : record.owners)
        if (owner.count != 0) {
            const int number = static_cast<int>(owner.value);
            of.owners[number] += owner.count;
            auto& [begin, end] = of.between.try_emplace(number, UINT64_MAX, 0).first->second;
            begin = std::min(begin, owner.lowest);
            end = std::max(end, owner.highest);
        }
}

/// Adds a record. Returns whether its owners are known.
bool add(AccessesOfRank& of, const trace::Record& record, int rank, int ranks, const AdviceCosts& costs) {
    const bool of_all = accesses_all_others(record, ranks);
    if (record.other_owners != 0 && !(of_all && add_evenly(of, record, rank, ranks))) return false;
    if (!of_all) add_owners(of, record);
    for (const trace::Record::Count& stride : record.strides)
        if (stride.count != 0) of.strides[stride.value] += stride.count;
    of.all += record.accesses;
    of.lowest = std::min(of.lowest, record.lowest);
    of.highest = std::max(of.highest, record.highest);
    if (record.affinity != trace::Affinity::own) {
        of.remote += record.accesses;
        const bool write = record.operation == trace::Operation::write;
        of.seconds += record.timed_calls > 0
                          ? record.seconds()
                          : static_cast<double>(record.accesses) *
                                costs.of_path(write ? "baseline.write" : "baseline.read", record.accesses);
    }
    return true;
}

/// A rank with fewer counts as one that accesses nothing.
constexpr std::uint64_t least_accesses = 16;

/// None if other calls access it as well, or if owners are missing: nothing is known of what a change would do to them.
[[nodiscard]] std::optional<SingleObject> single_object(const RecordedTrace& trace, const AdviceCosts& costs,
                                                        const Advice& advice, const std::vector<std::size_t>& uses) {
    SingleObject object{.uses = uses, .atomics = true};
    for (const std::size_t u : uses) {
        const AccessUse& use = advice.uses[u];
        if ((use.way != trace::Way::element && use.way != trace::Way::upc) || use.object_of_other_team) return {};
        object.of_upc = use.way == trace::Way::upc;
        object.atomics = object.atomics && use.operation == trace::Operation::atomic;
        object.part_bytes = std::max(object.part_bytes, use.object_bytes / static_cast<std::uint64_t>(trace.ranks));
        for (const auto& [rank, k] : use.records) {
            const trace::Record& record = trace.of_ranks[static_cast<std::size_t>(rank)].records[k].record;
            if (record.calls != record.accesses || !add(object.ranks[rank], record, rank, trace.ranks, costs))
                return {};
            if (record.accesses > 0) object.element_bytes = record.bytes / record.accesses;
        }
    }
    std::erase_if(object.ranks, [](const auto& of) { return of.second.all < least_accesses; });
    if (object.ranks.empty() || object.element_bytes == 0) return {};
    return object;
}

template <class Condition>
[[nodiscard]] bool all_ranks(const SingleObject& object, Condition condition) {
    return std::ranges::all_of(object.ranks, [&](const auto& of) { return condition(of.first, of.second); });
}

class PlacementAdviser {
public:
    PlacementAdviser(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice)
        : trace_{trace}, costs_{costs}, advice_{advice} {}

    void run() {
        std::map<ObjectKey, std::vector<std::size_t>> by_object;
        for (std::size_t u = 0; u < advice_.uses.size(); ++u) {
            const AccessUse& use = advice_.uses[u];
            if (use.object_kind != "several") by_object[key_of(use)].push_back(u);
        }
        for (const auto& [object, uses] : by_object)
            if (const std::optional<SingleObject> single = single_object(trace_, costs_, advice_, uses)) {
                if (!another_share(*single) && !another_distribution(*single)) one_owner(*single);
            }
        notified_puts();
    }

private:
    /// Adds a change that concerns all ranks: `then` is the time of a rank's remote accesses with it. The times are
    /// those of the slowest rank.
    template <class Then>
    void add_change(const SingleObject& object, AdvisedChange change, Then then) {
        double now_seconds = 0;
        double then_seconds = 0;
        std::uint64_t remote = 0;
        for (const auto& [rank, of] : object.ranks) {
            now_seconds = std::max(now_seconds, of.seconds);
            then_seconds = std::max(then_seconds, then(of));
            remote = std::max(remote, of.remote);
        }
        for (const std::size_t u : object.uses)
            if (advice_.uses[u].heaviest[1].accesses + advice_.uses[u].heaviest[2].accesses > 0)
                change.uses.push_back(u);
        if (change.uses.empty() || remote == 0) return;
        if (change.messages_saved == 0) change.messages_saved = remote;
        if (costs_.known()) {
            if (then_seconds >= 0.9 * now_seconds) return;
            change.now_seconds = now_seconds;
            change.then_seconds = then_seconds;
            change.uncertainty = 0.25; // what is not recorded (local(), views) may be accessed, too
        }
        advice_.changes.push_back(std::move(change));
    }
    [[nodiscard]] double own_seconds(std::uint64_t accesses) const {
        return static_cast<double>(accesses) * costs_.rate("own.read", accesses);
    }

    /// Each rank mostly accesses the part of one rank, at least half of it, and no two the same. Of two ranks nothing
    /// is known: a rank's own part may be accessed by local(), which is not recorded.
    bool another_share(const SingleObject& object) {
        if (trace_.ranks < 3 || object.ranks.size() < 3) return false;
        std::set<int> taken;
        std::size_t others = 0;
        const bool fits = all_ranks(object, [&](int rank, const AccessesOfRank& of) {
            const int owner = of.dominant();
            if (owner < 0) return false; // a trace that names none
            others += owner != rank ? 1 : 0;
            const auto& [begin, end] = of.between.at(owner);
            return 10 * of.of(owner) >= 8 * of.all && 2 * (end - begin) >= object.part_bytes &&
                   taken.insert(owner).second;
        });
        if (!fits || 2 * others <= object.ranks.size()) return false;
        const auto& [rank, of] = *object.ranks.begin();
        AdvisedChange change{.kind = "distribution"};
        change.title = "give each rank the work on its own part";
        change.why = fmt::format("every rank accesses one rank's part, and each another one's: {:.0f} % of rank {}'s "
                                 "accesses are to rank {}'s part; local() and views are not recorded",
                                 100.0 * static_cast<double>(of.of(of.dominant())) / static_cast<double>(of.all), rank,
                                 of.dominant());
        change.code = object.of_upc ? "upc_forall (i = 0; i < n; i++; &a[i]) …; // each thread its own elements"
                                    : "const auto mine = a.local_domain(); // or local_domain(rank) of what is now\n"
                                      "for (auto [i] : mine) …;             // accessed: work on this instead";
        add_change(object, std::move(change), [&](const AccessesOfRank& now) {
            // The dominant owner's elements become the rank's own, and its own ones those of another rank.
            const std::uint64_t away = now.all - now.of(now.dominant());
            const double each = now.remote == 0 ? 0 : now.seconds / static_cast<double>(now.remote);
            return own_seconds(now.all - away) + static_cast<double>(away) * each;
        });
        return true;
    }

    /// All ranks access all parts alike.
    [[nodiscard]] bool evenly(const SingleObject& object) const {
        return static_cast<int>(object.ranks.size()) == trace_.ranks &&
               all_ranks(object, [&](int, const AccessesOfRank& of) {
                   return static_cast<int>(of.owners.size()) == trace_.ranks && [&] {
                       const auto share = static_cast<double>(of.all) / trace_.ranks;
                       return std::ranges::all_of(of.owners, [&](const auto& owner) {
                           const auto count = static_cast<double>(owner.second);
                           return count >= 0.75 * share && count <= 1.25 * share;
                       });
                   }();
               });
    }

    /// All ranks access a section of each part, no two the same: elements are dealt, and the work is in blocks. Or each
    /// at a stride of as many elements as there are ranks: the work is dealt, and elements are in blocks.
    bool another_distribution(const SingleObject& object) {
        if (trace_.ranks < 2 || !evenly(object)) return false;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> sections;
        for (const auto& [rank, of] : object.ranks) sections.emplace_back(of.lowest, of.highest);
        std::ranges::sort(sections);
        bool apart = true;
        for (std::size_t k = 1; k < sections.size(); ++k)
            // Neighbours may share an element's place, in different parts.
            apart = apart && sections[k - 1].second <= sections[k].first + object.element_bytes;
        const auto stride = static_cast<std::int64_t>(object.element_bytes) * trace_.ranks;
        const bool dealt_work = all_ranks(object, [&](int, const AccessesOfRank& of) {
            const auto found = of.strides.find(stride);
            return found != of.strides.end() && 10 * found->second >= 8 * of.all;
        });
        if (!apart && !dealt_work) return false;
        AdvisedChange change{.kind = "distribution"};
        if (apart) {
            change.title = "distribute the array in blocks";
            change.why = "each rank accesses a section of its own of every rank's part, as where elements are dealt to "
                         "the ranks, and the work is not";
            change.code = object.of_upc ? "shared [n / THREADS] double a[n]; // a block for each thread"
                                        : "lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Block{}};";
        } else {
            change.title = "deal the array's elements to the ranks";
            change.why = fmt::format("each rank accesses every {}th element of every rank's part, as where the work is "
                                     "dealt to the ranks, and elements are not",
                                     trace_.ranks);
            change.code = object.of_upc ? "shared [1] double a[n]; // one element after the other"
                                        : "lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Cyclic{}};";
        }
        add_change(object, std::move(change), [&](const AccessesOfRank& of) { return own_seconds(of.all); });
        return true;
    }

    /// Nearly all remote accesses of all others are to one rank's part.
    void one_owner(const SingleObject& object) {
        std::map<int, std::uint64_t> remote;
        std::uint64_t all = 0;
        std::set<int> asking;
        for (const auto& [rank, of] : object.ranks)
            for (const auto& [owner, count] : of.owners)
                if (owner != rank) {
                    remote[owner] += count;
                    all += count;
                    asking.insert(rank);
                }
        if (remote.empty()) return;
        const auto [owner, most] =
            *std::ranges::max_element(remote, [](const auto& a, const auto& b) { return a.second < b.second; });
        asking.erase(owner);
        if (asking.size() < 2 || 2 * asking.size() + 2 < static_cast<std::size_t>(trace_.ranks) || 10 * most < 9 * all)
            return;
        const double contention = costs_.contention(trace_.ranks);
        std::uint64_t lowest = UINT64_MAX;
        std::uint64_t highest = 0;
        std::uint64_t calls = 0;
        for (const int rank : asking) {
            lowest = std::min(lowest, object.ranks.at(rank).lowest);
            highest = std::max(highest, object.ranks.at(rank).highest);
            calls = std::max(calls, object.ranks.at(rank).remote);
        }
        AdvisedChange change{.kind = "one-owner"};
        change.why = fmt::format("{:.0f} % of the accesses of {} ranks are to rank {}'s part",
                                 100.0 * static_cast<double>(most) / static_cast<double>(all), asking.size(), owner);
        if (contention > 1)
            change.why += fmt::format("; where all access one rank, each takes {:.1f} times as long", contention);
        if (object.atomics && highest - lowest <= 64) {
            constexpr std::uint64_t chunk = 16;
            change.title = fmt::format("take {} numbers at a time from the counter", chunk);
            change.code =
                object.of_upc
                    ? "upc_atomic_relaxed(domain, &first, UPC_ADD, &next, &sixteen, NULL); /* then use 16 */"
                    : "const auto first = next(0).atomic().fetch_add(16); // then use 16, before the next one";
            change.messages_saved = calls - calls / chunk;
            add_change(object, std::move(change), [](const AccessesOfRank& of) { return of.seconds / chunk; });
        } else if (highest - lowest >= static_cast<std::uint64_t>(trace_.ranks) * object.element_bytes) {
            change.title = "spread what all access over the ranks";
            change.code = object.of_upc
                              ? "shared [1] double a[n]; // one element after the other, in place of shared []"
                              : "lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Cyclic{}};";
            change.messages_saved = calls / static_cast<std::uint64_t>(trace_.ranks);
            add_change(object, std::move(change), [&](const AccessesOfRank& of) {
                const auto own = of.remote / static_cast<std::uint64_t>(trace_.ranks);
                const double others = 1 - 1.0 / trace_.ranks;
                return of.seconds / contention * others + own_seconds(own);
            });
        }
    }

    /// What a rank puts in an interval.
    struct Puts {
        std::set<int> owners;
        std::vector<std::size_t> uses;
        std::uint64_t calls = 0;
        bool alone = true; ///< nothing else of other ranks is accessed
    };

    void notified_puts() {
        // By rank and interval.
        std::map<std::pair<int, std::uint32_t>, Puts> all;
        for (std::size_t u = 0; u < advice_.uses.size(); ++u) {
            const AccessUse& use = advice_.uses[u];
            const bool puts =
                use.operation == trace::Operation::write && use.way == trace::Way::window && !use.object_of_other_team;
            for (const auto& [rank, k] : use.records) {
                const trace::Record& record = trace_.of_ranks[static_cast<std::size_t>(rank)].records[k].record;
                if (record.affinity == trace::Affinity::own) continue;
                Puts& of = all[{rank, record.interval}];
                of.alone = of.alone && puts && record.other_owners == 0;
                of.uses.push_back(u);
                of.calls += record.calls;
                for (const trace::Record::OwnerCount& owner : record.owners)
                    if (owner.count != 0) of.owners.insert(static_cast<int>(owner.value));
            }
        }
        std::map<std::vector<std::size_t>, std::vector<std::pair<int, std::uint32_t>>> by_uses;
        for (auto& [key, puts] : all) {
            std::ranges::sort(puts.uses);
            puts.uses.erase(std::unique(puts.uses.begin(), puts.uses.end()), puts.uses.end());
            if (fits(key, puts)) by_uses[puts.uses].push_back(key);
        }
        for (const auto& [uses, keys] : by_uses) notify(uses, keys, all);
    }

    /// Puts to few ranks, few of them, and then a barrier.
    [[nodiscard]] bool fits(const std::pair<int, std::uint32_t>& key, const Puts& puts) const {
        constexpr std::size_t most_owners = 4;
        const RecordedTrace::OfInterval& interval =
            trace_.of_ranks[static_cast<std::size_t>(key.first)].intervals[key.second];
        return puts.alone && puts.owners.size() <= most_owners && interval.times >= 16 &&
               10 * interval.barriers >= 9 * interval.times && puts.calls <= 4 * puts.owners.size() * interval.times;
    }

    void notify(const std::vector<std::size_t>& uses, const std::vector<std::pair<int, std::uint32_t>>& keys,
                const std::map<std::pair<int, std::uint32_t>, Puts>& all) {
        std::size_t owners = 0;
        std::uint64_t barriers = 0;
        for (const auto& key : keys) {
            owners = std::max(owners, all.at(key).owners.size());
            barriers =
                std::max(barriers, trace_.of_ranks[static_cast<std::size_t>(key.first)].intervals[key.second].barriers);
        }
        const auto rounds = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(trace_.ranks - 1)));
        AdvisedChange change{.kind = "notify", .uses = uses};
        change.title = "put with a notification, and wait for those that put here, not for all ranks";
        change.why = fmt::format("{} times a barrier of {} ranks follows puts to at most {} of them, and nothing else "
                                 "is accessed in between; if it is there for these puts only, it can go",
                                 barriers, trace_.ranks, owners);
        change.code = "w.put_notify(lapwing::Rank{next}, lapwing::Offset{0}, std::span{row}, 0); // instead of put()\n"
                      "w.wait_notified(0, 1); // instead of the barrier: as many as ranks put here";
        if (costs_.known()) {
            const double notified = costs_.of_path("notify", 1);
            if (!(notified > 0) || !(costs_.barrier(trace_.ranks) > 0)) return;
            const double now = static_cast<double>(barriers) * costs_.barrier(trace_.ranks);
            const double then = static_cast<double>(barriers * owners) * notified;
            if (then >= 0.9 * now) return;
            change.now_seconds = now;
            change.then_seconds = then;
            change.uncertainty = 0.25; // the time that ranks wait for the last one is not in it
        } else if (rounds <= owners) {
            return;
        }
        change.messages_saved = rounds > owners ? barriers * (rounds - owners) : 0;
        advice_.changes.push_back(std::move(change));
    }

    const RecordedTrace& trace_;
    const AdviceCosts& costs_;
    Advice& advice_;
};

} // namespace

void advise_on_placement(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice) {
    PlacementAdviser{trace, costs, advice}.run();
}

} // namespace lapwing::detail::model
