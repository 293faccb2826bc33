// What was recorded, as lines of text.
#include "src/trace/recorded.hpp"
#include "src/trace/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace lapwing::detail::trace {
namespace {

[[nodiscard]] std::string text_of(const std::vector<LoadedFile>& files, const CallSite& site) {
    std::string text;
    for (std::size_t k = 0; k < site.size; ++k) {
        const auto address = reinterpret_cast<std::uint64_t>(site.frames[k]);
        const auto file =
            std::ranges::find_if(files, [&](const LoadedFile& f) { return address >= f.begin && address < f.end; });
        if (file == files.end()) continue;
        text += fmt::format(" {}+{:x}", file - files.begin(), address - file->base);
    }
    return text.empty() ? " -" : text;
}

template <class Counts>
void append_counts(std::string& text, std::string_view key, const Counts& counts, std::uint64_t others) {
    fmt::format_to(std::back_inserter(text), " {}=others:{}", key, others);
    for (const auto& entry : counts)
        if (entry.count != 0) fmt::format_to(std::back_inserter(text), ",{}:{}", entry.value, entry.count);
}

void append_parts(std::string& text, const Record& record) {
    text += " parts=";
    const char* separator = "";
    for (const Record::OwnerCount& owner : record.owners) {
        if (owner.count == 0) continue;
        fmt::format_to(std::back_inserter(text), "{}{}:{}-{}", separator, owner.value, owner.lowest, owner.highest);
        separator = ",";
    }
}

void append_reuse(std::string& text, std::string_view key, const ReuseCounts& counts) {
    fmt::format_to(std::back_inserter(text), " {}=cold:{},sequential:{}", key, counts.cold, counts.sequential);
    for (std::size_t k = 0; k < ReuseCounts::buckets; ++k)
        if (counts.at[k] != 0) fmt::format_to(std::back_inserter(text), ",{}:{}", k, counts.at[k]);
}

void append_record(std::string& text, const Record& record, std::size_t thread) {
    fmt::format_to(
        std::back_inserter(text),
        "access thread={} object={} site={:x} interval={} way={} operation={} affinity={} calls={} accesses={} "
        "bytes={} program_calls={} timed={} timed_ns={} runs={} longest_run={} lowest={} highest={} owner_changes={}",
        thread, record.object, record.site, record.interval, way_words[static_cast<std::size_t>(record.way)],
        operation_words[static_cast<std::size_t>(record.operation)],
        affinity_words[static_cast<std::size_t>(record.affinity)], record.calls, record.accesses, record.bytes,
        record.program_calls, record.timed_calls, record.timed_ns, record.runs, record.longest_run_bytes, record.lowest,
        record.highest, record.owner_changes);
    append_counts(text, "owners", record.owners, record.other_owners);
    append_parts(text, record);
    append_counts(text, "strides", record.strides, record.other_strides);
    append_reuse(text, "within", record.within);
    append_reuse(text, "over", record.over);
    if (record.other_owners != 0) {
        int distinct = 0;
        for (const std::uint64_t word : record.seen.words) distinct += std::popcount(word);
        fmt::format_to(std::back_inserter(text), " distinct_owners={}", distinct);
    }
    text += '\n';
}

} // namespace

std::string to_text(const Recorded& recorded, int rank) {
    const std::vector<LoadedFile> files = loaded_files();
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(recorded.end - recorded.begin).count();
    std::string text = fmt::format("rank {} ns={}\n", rank, ns);
    for (std::size_t k = 0; k < files.size(); ++k)
        text += fmt::format("file {} bytes={} changed={} path={}\n", k, files[k].bytes, files[k].changed,
                            escaped(files[k].path));
    for (std::size_t k = 0; k < recorded.objects.size(); ++k) {
        const Object& object = recorded.objects[k];
        text += fmt::format("object {} kind={} number={} bytes={} team={} name={} at{}\n", k + 1, object.kind,
                            object.number, object.bytes, team_words[object.other_team ? 1 : 0], escaped(object.name),
                            text_of(files, object.made));
    }
    for (std::size_t k = 0; k < recorded.intervals.size(); ++k) {
        const Interval& interval = recorded.intervals[k];
        text += fmt::format("interval {} times={} barriers={} ns={} at{}\n", k, interval.times, interval.barriers,
                            interval.ns, text_of(files, interval.site));
    }
    std::map<std::uint64_t, CallSite> sites;
    for (const auto& thread : recorded.threads) sites.insert(thread->sites().begin(), thread->sites().end());
    for (const auto& [key, site] : sites) text += fmt::format("site {:x} at{}\n", key, text_of(files, site));
    for (std::size_t k = 0; k < recorded.threads.size(); ++k)
        for (const Record& record : recorded.threads[k]->records()) append_record(text, record, k);
    return text;
}

} // namespace lapwing::detail::trace
