#include "model/described_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <ranges>
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
    return loads && record.calls == record.accesses &&
           (record.way == Way::element || record.way == Way::window || record.way == Way::upc);
}

/// An interval of a rank while it is collected.
struct CollectedInterval {
    DescribedInterval interval = {};
    std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, SingleAccesses> single = {}; ///< object, site, write
};

[[nodiscard]] std::uint64_t each_time(std::uint64_t count, std::uint64_t times) noexcept {
    return (count + times / 2) / std::max<std::uint64_t>(1, times);
}

/// Bulk transfers, lists and atomics of others' memory.
void add_bulk(const Record& record, std::uint64_t times, DescribedInterval& interval) {
    if (record.affinity != Affinity::far) return;
    switch (record.operation) {
    case Operation::atomic: interval.atomics += each_time(record.accesses, times); return;
    case Operation::update: interval.updates += each_time(record.accesses, times); return;
    case Operation::notify: interval.notifications += each_time(record.calls, times); return;
    case Operation::read:
    case Operation::write: break;
    }
    using Kind = DescribedTransfer::Kind;
    const bool write = record.operation == Operation::write;
    const bool list = record.way == Way::list;
    // A list is one call of the program, whoever has its elements; other calls make a transfer to each owner.
    const std::uint64_t calls = std::max<std::uint64_t>(1, list ? record.program_calls : record.calls);
    interval.transfers.push_back(
        {.kind = list    ? write ? Kind::scatter : Kind::gather
                 : write ? Kind::put
                         : Kind::get,
         .count = std::max<std::uint64_t>(1, each_time(calls, times)),
         .bytes = std::max<std::uint64_t>(1, (list ? record.accesses : record.bytes) / calls)});
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

/// By number; those that have accesses.
using CollectedIntervals = std::map<std::uint32_t, CollectedInterval>;

[[nodiscard]] CollectedIntervals intervals_of(const RecordedTrace::OfRank& rank) {
    CollectedIntervals found;
    for (const RecordedTrace::OfRecord& of : rank.records) {
        const Record& record = of.record;
        CollectedInterval& collected = found[record.interval];
        const std::uint64_t times = std::max<std::uint64_t>(1, rank.intervals[record.interval].times);
        if (is_single(record))
            collected.single[{record.object, record.site, record.operation == Operation::write}].add(record);
        else add_bulk(record, times, collected.interval);
    }
    return found;
}

[[nodiscard]] ProgramDescription describe(const RecordedTrace::OfRank& of, int ranks,
                                          const CollectedIntervals& intervals) {
    ProgramDescription program{.threads = ranks};
    for (const auto& [number, collected] : intervals) {
        const RecordedTrace::OfInterval& recorded = of.intervals[number];
        const std::uint64_t times = std::max<std::uint64_t>(1, recorded.times);
        DescribedInterval interval = collected.interval;
        interval.name = name_of(of, number);
        interval.times = times;
        interval.barriers = each_time(recorded.barriers, times);
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
            interval.add({.name = fmt::format("{:x}", site),
                          .object = name,
                          .write = write,
                          .count = each_time(accesses.all(), times),
                          .affinity = {ReferenceAffinity::Kind::share, 0,
                                       static_cast<double>(accesses.local) /
                                           static_cast<double>(std::max<std::uint64_t>(1, accesses.all()))},
                          .walk = accesses.walk()});
        }
        program.intervals.push_back(std::move(interval));
    }
    return program;
}

} // namespace

ProgramDescription described_trace(const RecordedTrace& trace, int rank) {
    const RecordedTrace::OfRank& of = trace.of_ranks[static_cast<std::size_t>(rank)];
    return describe(of, trace.ranks, intervals_of(of));
}

RecordedPrediction predict_recorded(const RecordedTrace& trace, const AccessPlatform& platform) {
    RecordedPrediction prediction;
    for (int rank = 0; rank < trace.ranks; ++rank) {
        const RecordedTrace::OfRank& of = trace.of_ranks[static_cast<std::size_t>(rank)];
        const CollectedIntervals collected = intervals_of(of);
        const ProgramDescription program = describe(of, trace.ranks, collected);
        const std::vector<IntervalCost> costs = predict_thread(program, platform, rank);
        std::vector<RecordedPrediction::OfInterval> intervals;
        double seconds = 0;
        std::size_t next = 0;
        for (const std::uint32_t number : std::views::keys(collected)) {
            const DescribedInterval& interval = program.intervals[next];
            intervals.push_back({.number = number,
                                 .times = interval.times,
                                 .recorded_seconds = 1e-9 * static_cast<double>(of.intervals[number].ns),
                                 .cost = costs[next]});
            seconds += static_cast<double>(interval.times) * costs[next].seconds();
            ++next;
        }
        if (rank > 0 && seconds <= prediction.seconds) continue;
        prediction = {.intervals = std::move(intervals), .slowest_rank = rank, .seconds = seconds};
    }
    return prediction;
}

} // namespace lapwing::detail::model
