#include "model/described_trace.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace lapwing::detail::model {
namespace {

using trace::Affinity;
using trace::Operation;
using trace::Record;
using trace::Way;

/// Single accesses of one call site to one object, in one interval.
struct SingleAccesses {
    std::uint64_t local = 0;
    std::uint64_t remote = 0;
    std::uint64_t calls = 0; ///< of the remote ones
    std::uint64_t runs = 0;
    std::uint64_t bytes = 0; ///< of all
    std::map<std::int64_t, std::uint64_t> strides = {};
    std::uint64_t all_strides = 0;

    void add(const Record& record) {
        bytes += record.bytes;
        if (record.affinity != Affinity::far) {
            local += record.accesses;
            return;
        }
        remote += record.accesses;
        calls += record.calls;
        runs += record.runs;
        for (const Record::Count& stride : record.strides) {
            strides[stride.value] += stride.count;
            all_strides += stride.count;
        }
        all_strides += record.other_strides;
    }
    [[nodiscard]] std::uint64_t all() const noexcept { return local + remote; }
    [[nodiscard]] std::uint64_t element_bytes() const noexcept {
        return std::max<std::uint64_t>(1, all() == 0 ? 1 : bytes / all());
    }
    /// As the remote accesses follow each other.
    [[nodiscard]] Walk walk() const {
        const auto element = static_cast<std::int64_t>(element_bytes());
        if (4 * runs <= calls) return {Walk::Kind::stride, 1};
        std::uint64_t near = 0;
        for (const auto& [stride, count] : strides) {
            if (5 * count > 4 * all_strides)
                return {Walk::Kind::stride, std::max<std::int64_t>(1, std::abs(stride) / element)};
            if (std::abs(stride) <= 8 * element) near += count;
        }
        return {5 * near > 4 * all_strides ? Walk::Kind::clustered : Walk::Kind::random};
    }
};

/// Whether the program waits for each of its elements by itself.
[[nodiscard]] bool is_single(const Record& record) noexcept {
    const bool loads = record.operation == Operation::read || record.operation == Operation::write;
    return loads && are_single(record.way, record.calls, record.accesses, record.bytes);
}

/// An interval of a rank while it is collected: all its times together.
struct CollectedInterval {
    DescribedInterval bulk = {}; ///< bulk transfers, lists, atomics
    std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, SingleAccesses> single = {}; ///< object, site, write
};

[[nodiscard]] std::uint64_t rounded_quotient(std::uint64_t sum, std::uint64_t count) noexcept {
    return (sum + count / 2) / count;
}

/// Bulk transfers, lists and atomics of others' memory.
void add_bulk(const Record& record, DescribedInterval& bulk) {
    if (record.affinity != Affinity::far) return;
    switch (record.operation) {
    case Operation::atomic: bulk.atomics += record.accesses; return;
    case Operation::update: bulk.updates += record.accesses; return;
    case Operation::notify: bulk.notifications += record.calls; return;
    case Operation::read:
    case Operation::write: break;
    }
    using Kind = DescribedTransfer::Kind;
    const bool write = record.operation == Operation::write;
    const bool list = record.way == Way::list;
    // A list is one call of the program, whoever has its elements; other calls make a transfer to each owner.
    const std::uint64_t calls = std::max<std::uint64_t>(1, list ? record.program_calls : record.calls);
    const std::uint64_t each = rounded_quotient(list ? record.accesses : record.bytes, calls);
    bulk.transfers.push_back({.kind = list    ? write ? Kind::scatter : Kind::gather
                                      : write ? Kind::put
                                              : Kind::get,
                              .count = calls,
                              .bytes = std::max<std::uint64_t>(1, each)});
}

[[nodiscard]] std::string name_of(const RecordedTrace::OfRank& rank, std::size_t interval) {
    const RecordedTrace::Frames& site = rank.intervals[interval].site;
    if (site.empty()) return "start";
    return fmt::format("{}+{:x}", rank.files[site.front().file].path, site.front().offset);
}

/// The objects' names need not differ: a number tells them apart.
[[nodiscard]] std::string object_name(const RecordedTrace::OfRank& rank, std::uint32_t object) {
    if (object == 0) return "several";
    const RecordedTrace::OfObject& of = rank.objects[object - 1];
    return fmt::format("{}#{}{}", of.name.empty() ? of.kind : of.name, of.number, of.other_team ? " (other team)" : "");
}

/// By number.
using CollectedIntervals = std::map<std::uint32_t, CollectedInterval>;

/// `all`: also those that have no accesses.
[[nodiscard]] CollectedIntervals intervals_of(const RecordedTrace::OfRank& rank, bool all) {
    CollectedIntervals found;
    for (std::uint32_t number = 0; all && number < rank.intervals.size(); ++number) found[number];
    for (const RecordedTrace::OfRecord& of : rank.records) {
        const Record& record = of.record;
        CollectedInterval& collected = found[record.interval];
        if (is_single(record))
            collected.single[{record.object, record.site, record.operation == Operation::write}].add(record);
        else add_bulk(record, collected.bulk);
    }
    return found;
}

/// An interval that has been collected, in two: what happens each time, and what is left of that, once.
class EachTimeAndRest {
public:
    EachTimeAndRest(std::string name, const RecordedTrace::OfInterval& recorded)
        : each_{.name = name, .times = std::max<std::uint64_t>(1, recorded.times)}, rest_{.name = std::move(name)} {
        divide(recorded.barriers, &DescribedInterval::barriers);
    }

    void divide(std::uint64_t all, std::uint64_t DescribedInterval::* count) {
        each_.*count = all / each_.times;
        rest_.*count = all % each_.times;
    }
    void add(DescribedTransfer transfer) {
        const std::uint64_t all = transfer.count;
        if (transfer.count = all / each_.times; transfer.count != 0) each_.transfers.push_back(transfer);
        if (transfer.count = all % each_.times; transfer.count != 0) rest_.transfers.push_back(transfer);
    }
    void add(Reference reference) {
        const std::uint64_t all = reference.count;
        if (reference.count = all / each_.times; reference.count != 0) each_.add(reference);
        if (reference.count = all % each_.times; reference.count != 0) rest_.add(reference);
    }
    void add_to(ProgramDescription& program) && {
        const bool any = !rest_.references.empty() || !rest_.transfers.empty() ||
                         rest_.barriers + rest_.atomics + rest_.updates + rest_.notifications != 0;
        program.intervals.push_back(std::move(each_));
        if (any) program.intervals.push_back(std::move(rest_));
    }

private:
    DescribedInterval each_;
    DescribedInterval rest_;
};

/// As a reference to local memory and one to that of others, so that no share of few accesses is rounded.
void add_single(const SingleAccesses& accesses, const std::string& site, const std::string& object, bool write,
                EachTimeAndRest& intervals) {
    using enum ReferenceAffinity::Kind;
    const Walk walk = accesses.walk();
    for (const auto& [count, affinity] : {std::pair{accesses.local, ReferenceAffinity{own}},
                                          std::pair{accesses.remote, ReferenceAffinity{share, 0, 0}}})
        intervals.add(Reference{
            .name = site, .object = object, .write = write, .count = count, .affinity = affinity, .walk = walk});
}

/// A description, and of which of the collected intervals each of its intervals is.
struct Described {
    ProgramDescription program = {};
    std::vector<std::uint32_t> numbers = {};
};

[[nodiscard]] Described describe(const RecordedTrace::OfRank& of, int ranks, bool all) {
    Described result{.program = {.threads = ranks}};
    ProgramDescription& program = result.program;
    for (const auto& [number, collected] : intervals_of(of, all)) {
        EachTimeAndRest intervals{name_of(of, number), of.intervals[number]};
        intervals.divide(collected.bulk.atomics, &DescribedInterval::atomics);
        intervals.divide(collected.bulk.updates, &DescribedInterval::updates);
        intervals.divide(collected.bulk.notifications, &DescribedInterval::notifications);
        for (const DescribedTransfer& transfer : collected.bulk.transfers) intervals.add(transfer);
        for (const auto& [key, accesses] : collected.single) {
            const auto& [object, site, write] = key;
            const std::string name = object_name(of, object);
            if (std::ranges::find(program.objects, name, &SharedObject::name) == program.objects.end()) {
                const std::uint64_t bytes = object == 0 ? 0 : of.objects[object - 1].bytes;
                const std::uint64_t block = std::max<std::uint64_t>(1, bytes / accesses.element_bytes());
                program.objects.push_back({.name = name,
                                           .elements = block * static_cast<std::uint64_t>(ranks),
                                           .block = block,
                                           .element_bytes = accesses.element_bytes()});
            }
            add_single(accesses, fmt::format("{:x}", site), name, write, intervals);
        }
        std::move(intervals).add_to(program);
        result.numbers.resize(program.intervals.size(), number);
    }
    return result;
}

/// Adds what so many times an interval cost.
void add(IntervalCost& sum, const IntervalCost& cost, double times) {
    sum.communication_seconds += times * cost.communication_seconds;
    sum.barrier_seconds += times * cost.barrier_seconds;
    sum.transfer_seconds += times * cost.transfer_seconds;
    sum.synchronisation_seconds += times * cost.synchronisation_seconds;
}

/// What accesses take longer than those to own elements.
[[nodiscard]] AccessPlatform beside_own_elements(AccessPlatform platform) {
    for (const bool write : {false, true}) {
        RateCurve& own = platform.rates.of(AccessPattern::local, write);
        for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce}) {
            RateCurve& rate = platform.rates.of(pattern, write);
            std::vector<RateCurve::Point> points = rate.points();
            for (RateCurve::Point& point : points)
                point.seconds = std::max(0.0, point.seconds - own.seconds(point.accesses));
            rate = RateCurve{std::move(points)};
        }
        own = RateCurve{0.0};
        platform.dealt_local[write ? 1 : 0] = {};
    }
    return platform;
}

} // namespace

ComputationTimes::ComputationTimes(const RecordedTrace& private_run, std::string_view file) : file_{file} {
    const auto setting = private_run.settings.find("LAPWING_PRIVATE");
    if (setting == private_run.settings.end() || setting->second != "on")
        throw UsageError{fmt::format("{} is not the trace of a run on private memory; record one with "
                                     "LAPWING_PRIVATE=on and LAPWING_TRACE=FILE",
                                     file)};
    for (const RecordedTrace::OfRank& rank : private_run.of_ranks) {
        std::map<Place, Seconds>& seconds = of_ranks_.emplace_back();
        for (const RecordedTrace::OfInterval& interval : rank.intervals) {
            const double all = 1e-9 * static_cast<double>(interval.ns);
            Seconds& of_place = seconds[rank.place_of(interval.site)]; // frames of no file are not part of it
            of_place.all += all;
            of_place.times += static_cast<double>(std::max<std::uint64_t>(1, interval.times));
        }
        auto& files = files_.emplace_back(); // a rank's own: nodes may have other copies of a library
        for (const RecordedTrace::File& of : rank.files) files.emplace(of.path, std::pair{of.bytes, of.changed});
    }
}

void ComputationTimes::check(const RecordedTrace& trace) const {
    if (trace.of_ranks.size() != of_ranks_.size())
        throw UsageError{fmt::format("{} is of {} ranks, and the trace of {}; record both with as many", file_,
                                     of_ranks_.size(), trace.of_ranks.size())};
    for (const RecordedTrace::OfRank& rank : trace.of_ranks)
        for (const RecordedTrace::OfInterval& interval : rank.intervals)
            for (const RecordedTrace::Frame& frame : interval.site) {
                const RecordedTrace::File& of = rank.files[frame.file];
                const auto& files = files_[static_cast<std::size_t>(rank.rank)];
                const auto same = files.find(of.path);
                if (same == files.end() || same->second != std::pair{of.bytes, of.changed})
                    throw UsageError{
                        fmt::format("{} belongs to another program, or another build of it, than the trace, "
                                    "which has {}; record both with the same",
                                    file_, of.path)};
            }
}

double ComputationTimes::seconds(const RecordedTrace::OfRank& rank, std::size_t interval) const {
    const std::map<Place, Seconds>& of_rank = of_ranks_.at(static_cast<std::size_t>(rank.rank));
    const auto found = of_rank.find(rank.place_of(rank.intervals[interval].site));
    return found == of_rank.end() ? 0 : found->second.all / found->second.times;
}

double ComputationTimes::seconds_elsewhere(const RecordedTrace::OfRank& rank) const {
    std::map<Place, Seconds> left = of_ranks_.at(static_cast<std::size_t>(rank.rank));
    for (const RecordedTrace::OfInterval& interval : rank.intervals) left.erase(rank.place_of(interval.site));
    double sum = 0;
    for (const auto& [place, seconds] : left) sum += seconds.all;
    return sum;
}

ProgramDescription described_trace(const RecordedTrace& trace, int rank) {
    return describe(trace.of_ranks[static_cast<std::size_t>(rank)], trace.ranks, false).program;
}

RecordedPrediction predict_recorded(const RecordedTrace& trace, const AccessPlatform& platform,
                                    const ComputationTimes* computation) {
    if (computation != nullptr) computation->check(trace);
    const AccessPlatform used = computation != nullptr ? beside_own_elements(platform) : platform;
    RecordedPrediction prediction;
    for (int rank = 0; rank < trace.ranks; ++rank) {
        const RecordedTrace::OfRank& of = trace.of_ranks[static_cast<std::size_t>(rank)];
        const auto [program, numbers] = describe(of, trace.ranks, computation != nullptr);
        const std::vector<IntervalCost> costs = predict_thread(program, used, rank);
        std::vector<RecordedPrediction::OfInterval> intervals;
        const double elsewhere = computation != nullptr ? computation->seconds_elsewhere(of) : 0;
        double seconds = elsewhere;
        for (std::size_t k = 0; k < costs.size(); ++k) {
            // What is left of an interval comes after it, and is executed once.
            const bool rest = k > 0 && numbers[k] == numbers[k - 1];
            const std::uint64_t times = program.intervals[k].times;
            if (!rest)
                intervals.push_back({.number = numbers[k],
                                     .times = times,
                                     .recorded_seconds = 1e-9 * static_cast<double>(of.intervals[numbers[k]].ns)});
            RecordedPrediction::OfInterval& interval = intervals.back();
            add(interval.cost, costs[k], static_cast<double>(times) / static_cast<double>(interval.times));
            seconds += static_cast<double>(times) * costs[k].seconds();
            if (rest || computation == nullptr) continue;
            interval.cost.computation_seconds = computation->seconds(of, numbers[k]);
            seconds += static_cast<double>(times) * interval.cost.computation_seconds;
        }
        if (rank > 0 && seconds <= prediction.seconds) continue;
        prediction = {.intervals = std::move(intervals),
                      .slowest_rank = rank,
                      .elsewhere_seconds = elsewhere,
                      .seconds = seconds};
    }
    return prediction;
}

} // namespace lapwing::detail::model
