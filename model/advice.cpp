#include "model/advice.hpp"

#include "model/advice_costs.hpp"
#include "model/bulk_advice.hpp"
#include "model/changed_times.hpp"
#include "model/followed_advice.hpp"
#include "model/placement_advice.hpp"
#include "model/simulated_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace lapwing::detail::model {

AccessUse::Amount& AccessUse::Amount::operator+=(const Amount& other) noexcept {
    calls += other.calls;
    accesses += other.accesses;
    bytes += other.bytes;
    runs += other.runs;
    program_calls += other.program_calls;
    timed_calls += other.timed_calls;
    timed_seconds += other.timed_seconds;
    return *this;
}

namespace {

/// A use while it is collected, with what each rank did.
struct Collected {
    struct OfRank {
        std::array<AccessUse::Amount, 3> by_affinity{};
        trace::ReuseCounts within;
        trace::ReuseCounts over;
        std::set<int> owners;
        std::set<std::uint32_t> intervals;
        std::map<std::int64_t, std::uint64_t> strides;
        std::uint64_t all_strides = 0;
    };
    AccessUse use;
    std::map<int, OfRank> ranks;
};

using UseKey = std::tuple<ObjectKey, RecordedTrace::Place, int, int>;

void collect(Collected& collected, const RecordedTrace::OfRank& rank, std::size_t number) {
    const trace::Record& record = rank.records[number].record;
    collected.use.records.emplace_back(rank.rank, number);
    Collected::OfRank& of = collected.ranks[rank.rank];
    const AccessUse::Amount amount = amount_of(record);
    of.by_affinity[static_cast<std::size_t>(record.affinity)] += amount;
    collected.use.all[static_cast<std::size_t>(record.affinity)] += amount;
    if (record.affinity == trace::Affinity::own) return;
    of.within += record.within;
    of.over += record.over;
    of.intervals.insert(record.interval);
    for (const trace::Record::OwnerCount& owner : record.owners)
        if (owner.count != 0) of.owners.insert(static_cast<int>(owner.value));
    for (const trace::Record::Count& stride : record.strides) {
        of.strides[stride.value] += stride.count;
        of.all_strides += stride.count;
    }
    of.all_strides += record.other_strides;
}

/// Makes the heaviest rank's amounts those of the use.
void finish(Collected& collected, const RecordedTrace& trace) {
    const auto weight = [](const Collected::OfRank& of) {
        return std::tuple{of.by_affinity[2].seconds(), of.by_affinity[2].calls, of.by_affinity[1].calls,
                          of.by_affinity[0].calls};
    };
    const auto heaviest = std::ranges::max_element(
        collected.ranks, [&](const auto& a, const auto& b) { return weight(a.second) < weight(b.second); });
    AccessUse& use = collected.use;
    const Collected::OfRank& of = heaviest->second;
    use.heaviest_rank = heaviest->first;
    use.heaviest = of.by_affinity;
    use.within = of.within;
    use.over = of.over;
    use.owners = of.owners.size();
    for (const std::uint32_t interval : of.intervals)
        use.executions += trace.of_ranks[static_cast<std::size_t>(use.heaviest_rank)].intervals[interval].times;
    const auto stride =
        std::ranges::max_element(of.strides, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (stride == of.strides.end() || of.all_strides == 0) return;
    use.stride = stride->first;
    use.stride_share = static_cast<double>(stride->second) / static_cast<double>(of.all_strides);
}

[[nodiscard]] std::vector<AccessUse> uses_of(const RecordedTrace& trace) {
    std::map<UseKey, Collected> all;
    std::map<ObjectKey, std::uint64_t> bytes;
    for (const RecordedTrace::OfRank& rank : trace.of_ranks) {
        for (const RecordedTrace::OfObject& object : rank.objects) bytes[key_of(object)] += object.bytes;
        for (std::size_t number = 0; number < rank.records.size(); ++number) {
            const trace::Record& record = rank.records[number].record;
            static const auto& none = *new RecordedTrace::OfObject{.kind = "several"};
            const RecordedTrace::OfObject& object = record.object == 0 ? none : rank.objects[record.object - 1];
            const auto site = rank.sites.find(record.site);
            const RecordedTrace::Frames frames = site == rank.sites.end() ? RecordedTrace::Frames{} : site->second;
            Collected& collected = all[{key_of(object), rank.place_of(frames), static_cast<int>(record.way),
                                        static_cast<int>(record.operation)}];
            if (collected.ranks.empty()) {
                collected.use.object_kind = object.kind;
                collected.use.object_name = object.name;
                collected.use.object_number = object.number;
                collected.use.object_of_other_team = object.other_team;
                collected.use.object_site = object.made;
                collected.use.site = frames;
                collected.use.site_rank = rank.rank;
                collected.use.way = record.way;
                collected.use.operation = record.operation;
            }
            collect(collected, rank, number);
        }
    }
    std::vector<AccessUse> uses;
    for (auto& [key, collected] : all) {
        finish(collected, trace);
        collected.use.object_bytes = bytes[key_of(collected.use)];
        uses.push_back(std::move(collected.use));
    }
    std::ranges::stable_sort(uses, [](const AccessUse& a, const AccessUse& b) {
        const auto weight = [](const AccessUse& use) {
            return std::tuple{use.heaviest[2].seconds(), use.heaviest[2].calls,
                              use.heaviest[0].accesses + use.heaviest[1].accesses};
        };
        return weight(a) > weight(b);
    });
    return uses;
}

/// Derives the advised changes from the uses of a trace.
class Adviser {
public:
    Adviser(const RecordedTrace& trace, const CostTables* tables, Advice& advice)
        : trace_{trace}, costs_{trace, tables}, advice_{advice} {}

    void run() {
        advice_.rated = costs_.known();
        std::map<ObjectKey, std::vector<std::size_t>> by_object;
        for (std::size_t u = 0; u < advice_.uses.size(); ++u) {
            const AccessUse& use = advice_.uses[u];
            if (use.object_kind != "several") by_object[key_of(use)].push_back(u);
            if (use.operation == trace::Operation::atomic && use.heaviest[2].calls >= 16) without_result(u);
            own_as_memory(u);
        }
        advise_on_bulk(trace_, costs_, advice_);
        for (const auto& [object, uses] : by_object) {
            cache(uses);
            replicate(uses);
            add_in_place(uses);
        }
        advise_on_placement(trace_, costs_, advice_);
        advise_to_follow(trace_, costs_, advice_);
        std::ranges::stable_sort(advice_.changes, [](const AdvisedChange& a, const AdvisedChange& b) {
            return std::tuple{a.gain(), a.messages_saved} > std::tuple{b.gain(), b.messages_saved};
        });
    }

private:
    [[nodiscard]] const AccessUse& use(std::size_t u) const { return advice_.uses[u]; }

    RankOfChange& add_now(RanksOfChange& ranks, int rank, const AccessUse& use, const AccessUse::Amount& far) const {
        return model::add_now(costs_, ranks, rank, use, far);
    }
    void add(AdvisedChange change, const RanksOfChange& ranks) {
        add_change(costs_, advice_, std::move(change), ranks);
    }

    /// The modes of the cache that advice is about: does it keep its contents at sequence points?
    enum class Contents : std::uint8_t { dropped, kept };

    /// What a cache makes of a use's accesses at irregular places, as those of its heaviest rank.
    [[nodiscard]] const CachedShare& irregular_share(std::size_t u, Contents contents) {
        const auto [found, added] = irregular_shares_.try_emplace({u, contents});
        if (!added) return found->second;
        const AccessUse& of = use(u);
        const bool kept = contents == Contents::kept;
        const trace::ReuseCounts& reuse = kept ? of.over : of.within;
        const std::uint64_t times = kept ? 1 : std::max<std::uint64_t>(1, of.executions);
        const std::uint64_t accesses = of.heaviest[2].accesses;
        const double scale =
            static_cast<double>(accesses) / static_cast<double>(std::max<std::uint64_t>(1, reuse.total()));
        const auto pages = static_cast<std::uint64_t>(scale * static_cast<double>(reuse.cold)) / times;
        return found->second = simulated_share(reuse, accesses / times, pages, writes(of), costs_.cache());
    }

    /// Time of the hits and misses of a rank's remote accesses with a cache.
    [[nodiscard]] double cached_seconds(std::size_t u, const AccessUse::Amount& far, const trace::ReuseCounts& reuse,
                                        Contents contents, double& misses) {
        const AccessUse& of = use(u);
        const bool write = writes(of);
        const auto all = static_cast<double>(far.accesses);
        const double hit = costs_.of_path(std::string{"cached.hit."} + word(of), far.accesses);
        const std::uint64_t page = costs_.page_bytes();
        // The first miss in a page that no sequential walk has come to fetches a line, another one all of it.
        constexpr std::uint64_t line = 64;
        const double of_line = write ? costs_.transfer(line, true) : costs_.miss(line);
        const double of_page = write ? costs_.transfer(page, true) : costs_.miss(page);
        if (!is_sequential(of)) {
            const CachedShare& share = irregular_share(u, contents);
            misses = all * (1 - share.hits);
            return all *
                   (share.hits * hit + share.lines * of_line + share.passed * predicted_each(costs_, of, far.accesses) +
                    (1 - share.hits - share.lines - share.passed) * of_page);
        }
        const double scale = all / static_cast<double>(std::max<std::uint64_t>(reuse.total(), 1));
        const double hits = std::min(reuse.hits(costs_.cache_pages()) * scale, all);
        misses = all - hits;
        // For consecutive misses, read-ahead has already requested the pages.
        const double all_cold = std::max<double>(1, static_cast<double>(reuse.cold));
        const double ahead = misses * static_cast<double>(reuse.sequential) / all_cold;
        constexpr std::uint64_t several = 16;
        const double streamed = costs_.transfer(page, write, several) / several;
        return hits * hit + (misses - ahead) * (write ? of_page : of_line + of_page) + ahead * streamed;
    }

    void cache(const std::vector<std::size_t>& uses) {
        const auto setting = trace_.settings.find("LAPWING_CACHE");
        if (setting != trace_.settings.end() && setting->second != "off") return;
        if (use(uses.front()).object_kind == "cached") return; // by its own options
        bool written = false;
        AdvisedChange change{.kind = "cache"};
        for (const std::size_t u : uses) {
            written = written || use(u).operation != trace::Operation::read;
            if (is_single(use(u))) change.uses.push_back(u);
        }
        if (change.uses.empty()) return;
        // With each mode.
        RanksOfChange epoch, read_only;
        std::map<int, std::pair<double, double>> all_misses;
        for (const std::size_t u : change.uses)
            for (const auto& [rank, of] : ranks_of(trace_, use(u))) {
                double misses = 0;
                add_now(epoch, rank, use(u), of.far).then +=
                    cached_seconds(u, of.far, of.within, Contents::dropped, misses);
                all_misses[rank].first += misses;
                add_now(read_only, rank, use(u), of.far).then +=
                    cached_seconds(u, of.far, of.over, Contents::kept, misses);
                all_misses[rank].second += misses;
            }
        const int heaviest = heaviest_of(epoch);
        const double accesses = epoch.at(heaviest).accesses;
        const auto [epoch_misses, read_only_misses] = all_misses.at(heaviest);
        if (accesses - epoch_misses < 0.2 * accesses && (written || accesses - read_only_misses < 0.2 * accesses))
            return;
        // A mode with a weaker promise must be worth it, and applies to one array only: UPC's objects share a cache.
        const bool of_upc = use(change.uses.front()).way == trace::Way::upc;
        const bool keep = !written && !of_upc && read_only_misses < 0.5 * epoch_misses;
        const double misses = keep ? read_only_misses : epoch_misses;
        const char* const mode = keep ? "read_only" : "epoch";
        change.title = fmt::format("cache the elements of other nodes ({})", mode);
        change.why = fmt::format(
            "{:.0f} % of the accesses find their page in a cache of the default size{}", 100 * (1 - misses / accesses),
            keep ? "; no write is recorded (local() and views are not), so that the cache may keep its contents over "
                   "barriers, if you call invalidate_cache() after a change"
                 : "; its contents are dropped at each barrier");
        // For all arrays, only the mode that promises as much as no cache does.
        if (!keep) change.setting = "LAPWING_CACHE=epoch";
        change.code =
            of_upc ? std::string{"upc::Program program{argc, argv, {.cache = {.mode = lapwing::CacheMode::epoch}}};"}
                   : fmt::format("lapwing::GlobalArrayOptions options{{.cache = {{.mode = lapwing::CacheMode::{}}}}};\n"
                                 "lapwing::GlobalArray<double, 2> a{{runtime, {{n, m}}, lapwing::Block{{}}, options}};",
                                 mode);
        change.messages_saved = static_cast<std::uint64_t>(accesses - misses);
        add(std::move(change), keep ? read_only : epoch);
    }

    void without_result(std::size_t u) {
        const AccessUse& of = use(u);
        const AccessUse::Amount& far = of.heaviest[2];
        AdvisedChange change{.kind = "update", .uses = {u}};
        change.title = "use an atomic without a result where the previous value is not needed";
        change.why =
            fmt::format("{} atomics each wait for a reply; without a result, hundreds share a message", far.calls);
        change.code = "a(i).atomic().add(x); // instead of a(i).atomic().fetch_add(x)\n"
                      "a.fetch(lapwing::Atomic::add, indices, operands, before); // or many with their results at once";
        change.messages_saved = far.calls;
        const auto calls = static_cast<double>(far.calls);
        add(std::move(change), {{of.heaviest_rank,
                                 {.measured = far.seconds(),
                                  .predicted = calls * costs_.of_path("atomic", far.calls),
                                  .then = calls * costs_.of_path("update", far.calls)}}});
    }

    /// As many reads as writes of single elements at irregular places: += and the like.
    void add_in_place(const std::vector<std::size_t>& uses) {
        for (const std::size_t r : uses)
            for (const std::size_t w : uses) {
                const AccessUse& read = use(r);
                const AccessUse& write = use(w);
                if (read.operation != trace::Operation::read || !writes(write) || !is_single(read) || !is_single(write))
                    continue;
                // Of all ranks: the heaviest one may be another for each.
                const auto reads = static_cast<double>(read.far().calls);
                const auto writes_of = static_cast<double>(write.far().calls);
                if (std::fabs(reads - writes_of) > 0.01 * reads || is_sequential(read)) continue;
                AdvisedChange change{.kind = "update", .uses = {r, w}};
                change.title = "add to the elements in place";
                change.why = fmt::format("each of {} elements is read, changed and written back, at irregular places; "
                                         "a(i) += x is not atomic either",
                                         read.heaviest[2].calls);
                change.code =
                    read.way == trace::Way::upc
                        ? "upc_atomic_relaxed(domain, NULL, UPC_ADD, &a[i], &x, NULL); /* instead of a[i] += x */"
                        : "a(i).atomic().add(x); // instead of a(i) += x: hundreds share a message";
                change.messages_saved = read.heaviest[2].calls;
                RanksOfChange ranks;
                for (const std::size_t u : change.uses)
                    for (const auto& [rank, of] : ranks_of(trace_, use(u))) {
                        RankOfChange& sum = add_now(ranks, rank, use(u), of.far);
                        if (u == r) // one for both
                            sum.then += static_cast<double>(of.far.calls) * costs_.of_path("update", of.far.calls);
                    }
                add(std::move(change), ranks);
            }
    }

    void replicate(const std::vector<std::size_t>& uses) {
        constexpr std::uint64_t largest = std::uint64_t{16} << 20;
        AdvisedChange change{.kind = "replicate"};
        RanksOfChange ranks;
        bool written = false;
        std::uint64_t executions = 1;
        for (const std::size_t u : uses) {
            const AccessUse& of = use(u);
            if (of.operation != trace::Operation::read && of.far().calls > 0) return; // another rank writes
            written = written || of.operation != trace::Operation::read;
            executions = std::max(executions, of.executions);
            if (!is_single(of) || of.way != trace::Way::element) continue;
            change.uses.push_back(u);
            for (const auto& [rank, part] : ranks_of(trace_, of)) add_now(ranks, rank, of, part.far);
        }
        const auto accesses = ranks.empty() ? 0 : static_cast<std::uint64_t>(ranks.at(heaviest_of(ranks)).accesses);
        const std::uint64_t bytes = change.uses.empty() ? 0 : use(change.uses.front()).object_bytes;
        // Otherwise most of what is copied is never read.
        if (change.uses.empty() || bytes > largest || bytes > 64 * accesses) return;
        change.title = "give every rank a copy of the array";
        change.why =
            fmt::format("it has {} KiB in all, and no write to another rank's part is recorded", (bytes + 1023) / 1024);
        change.code = "lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Replicated{}};\n"
                      "a.broadcast(lapwing::Rank{0}); // after rank 0 has written it";
        change.messages_saved = accesses;
        // What its owners write is copied again, before each interval in which it is read.
        const double broadcast = costs_.transfer(bytes, false) * std::ceil(std::log2(std::max(2, trace_.ranks))) *
                                 static_cast<double>(written ? executions : 1);
        for (auto& [rank, of] : ranks)
            of.then = of.accesses * costs_.rate("own.read", static_cast<std::uint64_t>(of.accesses)) + broadcast;
        add(std::move(change), ranks);
    }

    /// Local elements that are accessed through the array.
    void own_as_memory(std::size_t u) {
        const AccessUse& of = use(u);
        const AccessUse::Amount& own = of.heaviest[0];
        constexpr std::uint64_t least = 1'000'000;
        if ((of.way != trace::Way::element && of.way != trace::Way::upc) || own.accesses < least) return;
        AdvisedChange change{.kind = "local", .uses = {u}};
        change.title = "access the rank's own elements as plain memory";
        change.why = fmt::format("{} accesses to its own elements, each of which first determines the element's owner",
                                 own.accesses);
        change.code = of.way == trace::Way::upc
                          ? "double *mine = (double *)&a[i]; // a pointer to the thread's own elements"
                          : "for (double& x : a.local_span()) …;  // or a.local(i, j), a.for_each_local(…)";
        if (costs_.known()) {
            const double now =
                static_cast<double>(own.accesses) * costs_.rate(std::string{"own."} + word(of), own.accesses);
            const double then = static_cast<double>(own.accesses) * costs_.rate("private.read", own.accesses);
            if (then >= now) return;
            change.now_seconds = now;
            change.then_seconds = then;
        }
        advice_.changes.push_back(std::move(change));
    }

    const RecordedTrace& trace_;
    AdviceCosts costs_;
    Advice& advice_;
    std::map<std::pair<std::size_t, Contents>, CachedShare> irregular_shares_;
};

} // namespace

Advice advise(const RecordedTrace& trace, const CostTables* tables) {
    Advice advice;
    for (const RecordedTrace::OfRank& rank : trace.of_ranks)
        advice.seconds = std::max(advice.seconds, 1e-9 * static_cast<double>(rank.ns));
    advice.uses = uses_of(trace);
    Adviser{trace, tables, advice}.run();
    return advice;
}

} // namespace lapwing::detail::model
