#include "model/bulk_advice.hpp"

#include "model/changed_times.hpp"
#include "model/prefetch_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace lapwing::detail::model {
namespace {

/// What bulk transfers in place of single accesses move between two sequence points, all times together.
struct Moved {
    double transfers = 0;
    double bytes = 0;
    double least = 0; ///< transfers: one for each owner, each time

    Moved& operator+=(const Moved& other) noexcept {
        transfers += other.transfers;
        bytes += other.bytes;
        least = std::max(least, other.least);
        return *this;
    }
    [[nodiscard]] double count() const noexcept { return std::max(transfers, least); }
    [[nodiscard]] std::uint64_t each() const noexcept {
        constexpr double most = 1e18; // numbers of a trace may be anything
        return static_cast<std::uint64_t>(std::clamp(bytes / count(), 0.0, most));
    }
};

/// Single accesses in the order in which they are made, as stretches of memory.
struct Stretches {
    double count = 0;
    double step = 0; ///< bytes from one access to the next
};
[[nodiscard]] Stretches stretches_of(const trace::Record& record) {
    const auto accesses = static_cast<double>(std::max<std::uint64_t>(1, record.accesses));
    Stretches found{.count = static_cast<double>(record.runs), .step = static_cast<double>(record.bytes) / accesses};
    const auto most = std::ranges::max_element(record.strides, {}, &trace::Record::Count::count);
    const double stride = std::fabs(static_cast<double>(most->value));
    // Gaps such as those between members of structures move as well; a column of a matrix is no stretch.
    constexpr double widest = 64;
    if (most->count == 0 || stride > widest) return found;
    found.count = std::min(found.count, static_cast<double>(record.calls - std::min(record.calls, most->count)));
    if (2 * most->count > record.calls) found.step = std::max(found.step, stride);
    return found;
}

/// The bytes between the places that are accessed, of all owners; 0: not known.
[[nodiscard]] double span_of(const trace::Record& record) noexcept {
    double sum = 0;
    for (const trace::Record::OwnerCount& owner : record.owners) {
        if (owner.count == 0) continue;
        if (owner.highest <= owner.lowest) return 0;
        sum += static_cast<double>(owner.highest - owner.lowest);
    }
    return record.other_owners == 0 ? sum : 0;
}

/// The number of ranks that a record's accesses go to.
[[nodiscard]] std::uint64_t owners_of(const trace::Record& record) {
    const auto some = static_cast<std::uint64_t>(
        std::ranges::count_if(record.owners, [](const auto& owner) { return owner.count != 0; }));
    return std::max<std::uint64_t>(1, record.other_owners == 0 ? some : std::max(some, record.seen.distinct));
}

/// `contiguous`: a transfer moves one stretch of memory; else what is read of an owner, wherever it is.
[[nodiscard]] Moved moved_by(const trace::Record& record, std::uint64_t times, bool contiguous) {
    const auto accesses = static_cast<double>(record.accesses);
    Moved moved{.least = static_cast<double>(times) * static_cast<double>(owners_of(record))};
    const Stretches stretches =
        contiguous ? stretches_of(record)
                   : Stretches{.count = moved.least, .step = static_cast<double>(record.bytes) / accesses};
    const double all = accesses * stretches.step;
    if (!(all > 0)) return moved;
    // Each page once in an interval: what has been accessed before, at this call site or another one, is there.
    moved.bytes = all;
    if (const std::uint64_t sampled = record.within.total(); sampled > 0)
        moved.bytes = std::min(all, static_cast<double>(record.within.cold) * accesses / static_cast<double>(sampled) *
                                        static_cast<double>(AdviceCosts::sampled_page));
    const double span = static_cast<double>(times) * span_of(record);
    if (span > 0) moved.bytes = std::min(moved.bytes, span);
    const double fresh = moved.bytes / all;
    if (!contiguous) moved.transfers = fresh > 0 ? moved.least : 0;
    // Where all is accessed, if not in its order, one stretch has it.
    else if (moved.bytes < 0.9 * span || span == 0) moved.transfers = fresh * stretches.count;
    return moved;
}

/// The transfers of a rank.
struct RankTransfers {
    double count = 0;
    double bytes = 0;
    double seconds = 0;
};

/// What a pattern copies for a loop.
struct Copies {
    std::map<int, std::set<std::uint32_t>> intervals = {}; ///< in which a rank reads
    std::map<int, std::uint64_t> executions = {};          ///< of those
    std::map<int, RankTransfers> transfers = {};
};

/// Of the slowest rank, with its transfers.
[[nodiscard]] double slowest_then(const RanksOfChange& ranks, const std::map<int, RankTransfers>& transfers) {
    double slowest = 0;
    for (const auto& [number, of] : ranks) {
        const auto moved = transfers.find(number);
        slowest = std::max(slowest, of.then + (moved == transfers.end() ? 0 : moved->second.seconds));
    }
    return slowest;
}

/// The lines that map what a pattern names, from the one that prefetches it.
[[nodiscard]] std::string code_of_mapped(std::string code) {
    constexpr std::string_view call = "a.prefetch(";
    if (const std::size_t at = code.find(call); at != std::string::npos)
        code.replace(at, call.size(), "const auto v = a.mapped(");
    return code + "\nv.refresh(); // after each barrier; then read v(i, j), or v.data()";
}

class BulkAdviser {
public:
    BulkAdviser(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice)
        : trace_{trace}, costs_{costs}, advice_{advice} {}

    void run() {
        for (std::size_t u = 0; u < advice_.uses.size(); ++u) {
            const AccessUse& of = use(u);
            if (!is_single(of)) continue;
            if (is_sequential(of)) patches_[{key_of(of), places_of(of), of.way, writes(of)}].push_back(u);
            else if (of.way != trace::Way::upc) // UPC has no lists
                lists_[{key_of(of), places_of(of), of.way, writes(of)}].push_back(u);
            if (!writes(of) && of.way == trace::Way::element) reads_[{key_of(of), places_of(of)}].push_back(u);
        }
        for (const auto& [of, uses] : patches_) patch(uses);
        for (const auto& [of, uses] : lists_) list(uses);
        for (const auto& [of, uses] : reads_) prefetch(uses);
    }

private:
    using Uses = std::vector<std::size_t>;
    using Places = std::set<RecordedTrace::Place>; ///< where intervals begin

    [[nodiscard]] const AccessUse& use(std::size_t u) const { return advice_.uses[u]; }
    [[nodiscard]] const RecordedTrace::OfRank& rank(int number) const {
        return trace_.of_ranks[static_cast<std::size_t>(number)];
    }
    template <class Body>
    void for_each_far(const AccessUse& of, Body body) const {
        for (const auto& [number, k] : of.records)
            if (const trace::Record& record = rank(number).records[k].record; record.affinity == trace::Affinity::far)
                body(number, record);
    }
    [[nodiscard]] std::uint64_t times_of(int number, std::uint32_t interval) const {
        return std::max<std::uint64_t>(1, rank(number).intervals[interval].times);
    }
    /// Of the intervals with remote accesses. Their numbers are each rank's own.
    [[nodiscard]] Places places_of(const AccessUse& of) const {
        Places places;
        for_each_far(of, [&](int number, const trace::Record& record) {
            places.insert(rank(number).place_of(rank(number).intervals[record.interval].site));
        });
        return places;
    }

    /// The accesses of some uses, now and to memory that is near: `near_each` seconds for each of so many.
    template <class NearEach>
    [[nodiscard]] RanksOfChange near_memory(const Uses& uses, NearEach near_each, std::map<int, double>& calls) const {
        RanksOfChange ranks;
        for (const std::size_t u : uses)
            for (const auto& [number, part] : ranks_of(trace_, use(u))) {
                add_now(costs_, ranks, number, use(u), part.far).then +=
                    static_cast<double>(part.far.accesses) * near_each(part.far.accesses);
                calls[number] += static_cast<double>(part.far.calls);
            }
        return ranks;
    }
    /// The loop then reads and writes private memory, in order.
    [[nodiscard]] double copied_each(std::uint64_t accesses) const {
        const double in_order = costs_.rate("private.vector.read", accesses);
        return in_order > 0 ? in_order : costs_.rate("private.read", accesses);
    }
    /// Adds a change of some uses, with the transfers that take the place of all single ones.
    void add(AdvisedChange change, RanksOfChange ranks, const std::map<int, double>& calls,
             const std::map<int, RankTransfers>& transfers) {
        for (const auto& [number, of] : transfers) ranks.at(number).then += of.seconds;
        const int heaviest = heaviest_of(ranks);
        const auto of = transfers.find(heaviest);
        const double saved = calls.at(heaviest) - (of == transfers.end() ? 0 : of->second.count);
        change.messages_saved = static_cast<std::uint64_t>(std::llround(std::max(0.0, saved)));
        if (!costs_.known() && change.messages_saved == 0) return;
        add_change(costs_, advice_, std::move(change), ranks);
    }

    [[nodiscard]] static std::string code_of_patch(const AccessUse& of) {
        if (of.way == trace::Way::upc)
            return writes(of) ? "upc_memput(&a[i], row, m * sizeof *row); /* each part of one thread */"
                              : "upc_memget(row, &a[i], m * sizeof *row); /* each part of one thread */";
        return writes(of) ? "std::vector<double> row(m); // fill it\na({{i, i + 1}, {0, m}}).put(row);"
                          : "std::vector<double> row(m);\na({{i, i + 1}, {0, m}}).get(row);";
    }

    /// Sections in place of single accesses in a row.
    void patch(const Uses& uses) {
        const AccessUse& of = use(uses.front());
        const bool write = writes(of);
        // Only sections of arrays have gaps.
        const bool contiguous = of.way != trace::Way::element;
        std::map<int, RankTransfers> transfers;
        std::map<std::pair<int, std::uint32_t>, Moved> of_intervals;
        for (const std::size_t u : uses)
            for_each_far(use(u), [&](int number, const trace::Record& record) {
                of_intervals[{number, record.interval}] +=
                    moved_by(record, times_of(number, record.interval), contiguous);
            });
        for (const auto& [key, moved] : of_intervals) {
            RankTransfers& sum = transfers[key.first];
            sum.count += moved.count();
            sum.bytes += moved.bytes;
            sum.seconds += moved.count() * costs_.transfer(moved.each(), write);
        }
        std::map<int, double> calls;
        RanksOfChange ranks = near_memory(uses, [this](std::uint64_t n) { return copied_each(n); }, calls);
        const int heaviest = heaviest_of(ranks);
        const RankTransfers& heavy = transfers[heaviest];
        if (contiguous && 2 * heavy.count > calls.at(heaviest)) return; // stretches of one element
        AdvisedChange change{.kind = "patch", .uses = uses, .code = code_of_patch(of)};
        change.title = of.way == trace::Way::upc ? (write ? "write with upc_memput() instead of single elements"
                                                          : "read with upc_memget() instead of single elements")
                       : write                   ? "write rows with put() instead of single elements"
                                                 : "read rows with get() instead of single elements";
        const AccessUse::Amount& far = of.heaviest[2];
        change.why = of.stride_share > 0.8 ? fmt::format("{:.0f} % of the accesses are {} bytes after the previous one",
                                                         100 * of.stride_share, of.stride)
                                           : fmt::format("consecutive accesses are contiguous, {:.0f} in a row",
                                                         static_cast<double>(far.calls) /
                                                             static_cast<double>(std::max<std::uint64_t>(far.runs, 1)));
        if (contiguous)
            change.why += fmt::format("; they are {:.0f} stretches of {:.0f} bytes on rank {}", std::ceil(heavy.count),
                                      heavy.bytes / heavy.count, heaviest);
        add(std::move(change), std::move(ranks), calls, transfers);
    }

    /// A list in each interval in place of all single accesses, whichever call sites make them.
    void list(const Uses& uses) {
        const AccessUse& of = use(uses.front());
        const bool write = writes(of);
        struct Owners {
            std::set<std::uint64_t> named;
            std::uint64_t at_least = 1; ///< records name a few
        };
        std::map<std::pair<int, std::uint32_t>, Owners> owners;
        for (const std::size_t u : uses)
            for_each_far(use(u), [&](int number, const trace::Record& record) {
                Owners& all = owners[{number, record.interval}];
                all.at_least = std::max(all.at_least, owners_of(record));
                for (const trace::Record::OwnerCount& owner : record.owners)
                    if (owner.count != 0) all.named.insert(static_cast<std::uint64_t>(owner.value));
            });
        std::map<int, RankTransfers> transfers;
        std::map<int, std::uint64_t> executions;
        double lists = 0;
        for (const auto& [key, all] : owners) {
            const std::uint64_t times = times_of(key.first, key.second);
            const std::uint64_t count = std::max<std::uint64_t>(all.at_least, all.named.size());
            executions[key.first] += times;
            transfers[key.first].count += static_cast<double>(times * count);
            lists += static_cast<double>(times * count);
        }
        std::uint64_t accesses = 0;
        for (const std::size_t u : uses)
            for (const auto& [number, part] : ranks_of(trace_, use(u))) accesses += part.far.accesses;
        const auto length = static_cast<std::uint64_t>(static_cast<double>(accesses) / std::max(1.0, lists));
        const double of_list = costs_.of_path(std::string{"list."} + word(of), length);
        std::map<int, double> calls;
        RanksOfChange ranks = near_memory(uses, [&](std::uint64_t n) { return of_list + copied_each(n); }, calls);
        const int heaviest = heaviest_of(ranks);
        AdvisedChange change{.kind = "list", .uses = uses};
        change.title = write ? "collect the indices, and write them with scatter()"
                             : "collect the indices, and read them with gather()";
        change.why = fmt::format("{:.0f} single accesses at irregular places, in {} intervals", calls.at(heaviest),
                                 executions[heaviest]);
        change.code = write ? "a.scatter(indices, values);" : "a.gather(indices, values);";
        add(std::move(change), std::move(ranks), calls, transfers);
    }

    /// A pattern that fits all reads of an array between the same sequence points; else one for those that it fits.
    void prefetch(const Uses& uses) {
        const bool written = std::ranges::any_of(advice_.uses, [&](const AccessUse& other) {
            return key_of(other) == key_of(use(uses.front())) && other.operation != trace::Operation::read &&
                   other.far().calls > 0;
        });
        // Whether few reads of much that is copied pay is a matter of rates.
        const bool sparse = costs_.known() && !written;
        const auto fitting = [&](const Uses& some) {
            std::vector<const AccessUse*> of;
            for (const std::size_t u : some) of.push_back(&use(u));
            return fitting_pattern(trace_, of, sparse);
        };
        if (const std::optional<FittingPattern> all = fitting(uses)) return prefetch(uses, *all);
        std::map<std::string, std::pair<Uses, FittingPattern>> by_code;
        for (const std::size_t u : uses) {
            std::optional<FittingPattern> one = fitting({u});
            if (!one) continue;
            auto& [some, pattern] = by_code[one->code];
            some.push_back(u);
            if (some.size() == 1) pattern = std::move(*one);
            else pattern.add(*one);
        }
        for (const auto& [code, found] : by_code) prefetch(found.first, found.second);
    }

    /// All that a pattern names is copied, in each interval.
    [[nodiscard]] Copies copies_of(const Uses& uses, const FittingPattern& pattern) const {
        Copies copies;
        for (const std::size_t u : uses)
            for_each_far(use(u), [&](int number, const trace::Record& record) {
                copies.intervals[number].insert(record.interval);
            });
        for (const auto& [number, of_rank] : copies.intervals) {
            std::uint64_t& executions = copies.executions[number];
            for (const std::uint32_t interval : of_rank) executions += times_of(number, interval);
            const auto times = static_cast<double>(executions);
            const auto owners = pattern.of_ranks.find(number);
            if (owners == pattern.of_ranks.end()) continue; // nothing is known of its owners
            for (const auto& [owner, part] : owners->second) {
                RankTransfers& sum = copies.transfers[number];
                sum.count += times;
                sum.seconds += times * costs_.transfer(part.bytes, false);
            }
        }
        return copies;
    }

    void prefetch(const Uses& uses, const FittingPattern& pattern) {
        Copies copies = copies_of(uses, pattern);
        std::map<int, double> calls;
        RanksOfChange ranks =
            near_memory(uses, [this](std::uint64_t n) { return costs_.of_path("cached.hit.read", n); }, calls);
        const int heaviest = heaviest_of(ranks);
        const auto owners = pattern.of_ranks.find(heaviest);
        AdvisedChange change{.kind = "prefetch", .uses = uses, .code = pattern.code};
        change.title = "announce before the loop what it reads, and keep the loop as it is";
        change.why =
            fmt::format("{}: {:.0f} KiB of {} other ranks, in {} intervals", pattern.why,
                        static_cast<double>(pattern.bytes(heaviest)) / 1024,
                        owners == pattern.of_ranks.end() ? 0 : owners->second.size(), copies.executions[heaviest]);
        const double then = slowest_then(ranks, copies.transfers);
        add(change, std::move(ranks), calls, copies.transfers);
        mapped(std::move(change), pattern, std::move(copies), then);
    }

    /// Whether a rank writes, by whatever call, an array in an interval in which it reads others' elements of it.
    [[nodiscard]] bool writes_between(const Uses& uses, const Copies& copies) const {
        return std::ranges::any_of(advice_.uses, [&](const AccessUse& other) {
            return key_of(other) == key_of(use(uses.front())) && other.operation != trace::Operation::read &&
                   std::ranges::any_of(other.records, [&](const auto& of) {
                       const auto found = copies.intervals.find(of.first);
                       return found != copies.intervals.end() &&
                              found->second.contains(rank(of.first).records[of.second].record.interval);
                   });
        });
    }

    /// The copies of a prefetch as a mapped array: a read is a load. But the program has to refresh it, which may copy
    /// own elements, too, and a rank does not see its own writes before. So it must gain clearly. `prefetched`: seconds
    /// of the slowest rank with the prefetch.
    void mapped(AdvisedChange change, const FittingPattern& pattern, Copies copies, double prefetched) {
        if (writes_between(change.uses, copies)) return;
        const bool in_order = std::ranges::all_of(change.uses, [this](std::size_t u) { return is_sequential(use(u)); });
        const auto load = [&](std::uint64_t n) { return in_order ? copied_each(n) : costs_.rate("private.read", n); };
        const auto own_bytes = [&](int number) {
            return pattern.own_bytes.empty() ? 0 : pattern.own_bytes[static_cast<std::size_t>(number)];
        };
        std::map<int, double> calls;
        RanksOfChange ranks = near_memory(change.uses, load, calls);
        for (auto& [number, of] : ranks)
            of.then += static_cast<double>(copies.executions[number]) * costs_.copy(own_bytes(number));
        const int heaviest = heaviest_of(ranks);
        double read = 0; // bytes
        for (const std::size_t u : change.uses)
            for_each_far(use(u), [&](int number, const trace::Record& record) {
                if (number == heaviest) read += static_cast<double>(record.bytes);
            });
        const double copied = static_cast<double>(copies.executions[heaviest]) *
                              (static_cast<double>(pattern.bytes(heaviest)) + static_cast<double>(own_bytes(heaviest)));
        constexpr double clearly = 0.85; // predictions may be 15 % wrong
        constexpr double often = 4;
        const bool pays = costs_.known() ? load(1) > 0 && slowest_then(ranks, copies.transfers) < clearly * prefetched
                                         : read >= often * copied;
        if (!pays || !(copied > 0)) return;
        change.kind = "mapped";
        change.title = "map the array before the loop, which then reads plain memory";
        change.why += read < copied ? "; a read is then a load"
                                    : fmt::format("; each byte that a refresh copies is read {:.1f} times, by a load",
                                                  read / copied);
        change.code = code_of_mapped(std::move(change.code));
        add(std::move(change), std::move(ranks), calls, copies.transfers);
    }

    const RecordedTrace& trace_;
    const AdviceCosts& costs_;
    Advice& advice_;
    std::map<std::tuple<ObjectKey, Places, trace::Way, bool>, Uses> patches_, lists_; ///< writes or reads
    std::map<std::tuple<ObjectKey, Places>, Uses> reads_;
};

} // namespace

void advise_on_bulk(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice) {
    BulkAdviser{trace, costs, advice}.run();
}

} // namespace lapwing::detail::model
