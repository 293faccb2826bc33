#include "model/recorded_trace.hpp"

#include "src/support/hash.hpp"
#include "src/trace/words.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace lapwing::detail::model {
namespace {

using trace::Words;

template <class Known>
[[nodiscard]] std::uint8_t number_of_word(const Known& words, std::string_view word) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) throw UsageError{fmt::format("'{}' is unknown", word)};
    return static_cast<std::uint8_t>(found - words.begin());
}

template <class Counts>
void read_counts(std::string_view text, Counts& counts, std::uint64_t& others) {
    std::size_t size = 0;
    trace::for_each_item(text, [&](std::string_view key, std::string_view value) {
        const auto count = Words::number(value);
        if (key == "others") others = count;
        else if (size == counts.size()) throw UsageError{"there are more counts than a record has"};
        else counts[size++] = {Words::number<std::int64_t>(key), count};
    });
}

/// Of the owners that have been read.
void read_parts(std::string_view text, trace::Record& record) {
    trace::for_each_item(text, [&](std::string_view key, std::string_view part) {
        const auto owner =
            std::ranges::find(record.owners, Words::number<std::int64_t>(key), &trace::Record::OwnerCount::value);
        const auto dash = part.find('-');
        if (owner == record.owners.end() || owner->count == 0 || dash == part.npos)
            throw UsageError{fmt::format("'{}:{}' is not a part of an owner", key, part)};
        owner->lowest = Words::number(part.substr(0, dash));
        owner->highest = Words::number(part.substr(dash + 1));
        if (owner->lowest > owner->highest) throw UsageError{fmt::format("the part {} ends before it begins", part)};
    });
}

void read_reuse(std::string_view text, trace::ReuseCounts& counts) {
    trace::for_each_item(text, [&](std::string_view key, std::string_view value) {
        const auto count = Words::number(value);
        if (key == "cold") counts.cold = count;
        else if (key == "sequential") counts.sequential = count;
        else if (const auto bucket = Words::number<std::size_t>(key); bucket < trace::ReuseCounts::buckets)
            counts.at[bucket] = count;
        else throw UsageError{fmt::format("there is no distance {}", key)};
    });
}

class TraceReader {
public:
    RecordedTrace read(std::string_view text, const std::function<void(double)>& progress) {
        const auto all = static_cast<double>(text.size());
        for (std::size_t number = 2; !text.empty(); ++number) {
            if (constexpr std::size_t lines = 1024; progress && number % lines == 0)
                progress(1 - static_cast<double>(text.size()) / all);
            Words line{text.substr(0, text.find('\n'))};
            text.remove_prefix(std::min(line.rest().size() + 1, text.size()));
            try {
                read_line(line);
            } catch (const UsageError& error) {
                throw UsageError{fmt::format("line {}: {}", number, error.what())};
            }
        }
        if (trace_.ranks < 1 || trace_.of_ranks.size() != static_cast<std::size_t>(trace_.ranks))
            throw UsageError{fmt::format("it has {} ranks of {}", trace_.of_ranks.size(), trace_.ranks)};
        return std::move(trace_);
    }

private:
    RecordedTrace::OfRank& rank() {
        if (trace_.of_ranks.empty()) throw UsageError{"it belongs to no rank"};
        return trace_.of_ranks.back();
    }
    void read_line(Words& line) {
        const std::string_view what = line.next();
        if (what == "ranks") trace_.ranks = Words::number<int>(line.next());
        else if (what == "nodes") trace_.nodes = Words::number<int>(line.next());
        else if (what == "network_path") trace_.network_path = line.next();
        else if (what == "mpi") trace_.mpi = line.rest();
        else if (what == "profile") trace_.profile = line.rest();
        else if (what == "setting") {
            const std::string_view setting = line.rest();
            const auto equals = setting.find('=');
            if (equals == setting.npos) throw UsageError{"the setting has no value"};
            trace_.settings.emplace(setting.substr(0, equals), setting.substr(equals + 1));
        } else if (what == "rank") read_rank(line);
        else if (what == "file") read_file(line);
        else if (what == "object") read_object(line);
        else if (what == "interval") read_interval(line);
        else if (what == "site") {
            const auto key = Words::number(line.next(), 16);
            rank().sites.emplace(key, read_frames(line));
        } else if (what == "access") read_access(line);
        else throw UsageError{fmt::format("'{}' is unknown", what)};
    }
    void read_rank(Words& line) {
        const auto number = Words::number<int>(line.next());
        if (number != static_cast<int>(trace_.of_ranks.size()))
            throw UsageError{fmt::format("rank {} where rank {} was expected", number, trace_.of_ranks.size())};
        trace_.of_ranks.push_back({.rank = number, .ns = line.number_of("ns")});
    }
    void read_file(Words& line) {
        (void)line.next();
        RecordedTrace::File file{.bytes = line.number_of("bytes"), .changed = line.number_of<std::int64_t>("changed")};
        file.path = trace::unescaped(line.value("path"));
        rank().files.push_back(std::move(file));
    }
    void read_object(Words& line) {
        (void)line.next();
        RecordedTrace::OfObject object{.kind = std::string{line.value("kind")}};
        object.number = line.number_of("number");
        object.bytes = line.number_of("bytes");
        object.other_team = number_of_word(trace::team_words, line.value("team")) != 0;
        object.name = trace::unescaped(line.value("name"));
        object.made = read_frames(line);
        rank().objects.push_back(std::move(object));
    }
    void read_interval(Words& line) {
        (void)line.next();
        RecordedTrace::OfInterval interval{.times = line.number_of("times")};
        interval.barriers = line.number_of("barriers");
        interval.ns = line.number_of("ns");
        interval.site = read_frames(line);
        rank().intervals.push_back(std::move(interval));
    }
    RecordedTrace::Frames read_frames(Words& line) {
        if (line.next() != "at") throw UsageError{"'at' was expected"};
        RecordedTrace::Frames frames;
        while (!line.empty()) {
            const std::string_view word = line.next();
            if (word == "-") break;
            const auto plus = word.find('+');
            if (plus == word.npos) throw UsageError{fmt::format("'{}' is not a position in a file", word)};
            const auto file = Words::number<std::size_t>(word.substr(0, plus));
            if (file >= rank().files.size()) throw UsageError{fmt::format("there is no file {}", file)};
            frames.push_back({file, Words::number(word.substr(plus + 1), 16)});
        }
        return frames;
    }
    void read_access(Words& line) {
        RecordedTrace::OfRecord of{.thread = line.number_of<std::uint32_t>("thread")};
        trace::Record& record = of.record;
        record.object = line.number_of<std::uint32_t>("object");
        record.site = Words::number(line.value("site"), 16);
        record.interval = line.number_of<std::uint32_t>("interval");
        if (record.object > rank().objects.size() || record.interval >= rank().intervals.size())
            throw UsageError{"its object or interval is not there"};
        record.way = static_cast<trace::Way>(number_of_word(trace::way_words, line.value("way")));
        record.operation =
            static_cast<trace::Operation>(number_of_word(trace::operation_words, line.value("operation")));
        record.affinity = static_cast<trace::Affinity>(number_of_word(trace::affinity_words, line.value("affinity")));
        record.calls = line.number_of("calls");
        record.accesses = line.number_of("accesses");
        record.bytes = line.number_of("bytes");
        record.program_calls = line.number_of("program_calls");
        record.timed_calls = line.number_of("timed");
        record.timed_ns = line.number_of("timed_ns");
        record.runs = line.number_of("runs");
        record.longest_run_bytes = line.number_of("longest_run");
        record.lowest = line.number_of("lowest");
        record.highest = line.number_of("highest");
        record.owner_changes = line.number_of("owner_changes");
        read_counts(line.value("owners"), record.owners, record.other_owners);
        read_parts(line.value("parts"), record);
        read_counts(line.value("strides"), record.strides, record.other_strides);
        read_reuse(line.value("within"), record.within);
        read_reuse(line.value("over"), record.over);
        // Of records that do not name all owners; older traces have none.
        if (!line.empty()) record.seen.distinct = line.number_of("distinct_owners");
        rank().records.push_back(of);
    }

    RecordedTrace trace_;
};

} // namespace

bool are_single(trace::Way way, std::uint64_t calls, std::uint64_t accesses, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t largest = 64; // bytes of an element: a cache line
    switch (way) {
    case trace::Way::element: return calls == accesses;
    case trace::Way::window:
    case trace::Way::upc: return calls == accesses && bytes <= largest * accesses;
    case trace::Way::patch:
    case trace::Way::list:
    case trace::Way::slice:
    case trace::Way::prefetch: break;
    }
    return false;
}

bool accesses_all_others(const trace::Record& record, int ranks) noexcept {
    return record.other_owners != 0 && ranks > 1 &&
           static_cast<std::size_t>(ranks) <= trace::Record::OwnersSeen::bits &&
           record.seen.distinct + 1 >= static_cast<std::uint64_t>(ranks);
}

RecordedTrace parse_trace(std::string_view text, std::string_view file, const std::function<void(double)>& progress) {
    const auto refuse = [&](std::string_view why) {
        throw FileError{fmt::format("{}: {}; record a new one with LAPWING_TRACE=FILE", file, why)};
    };
    if (!text.starts_with(trace::first_line_of_trace))
        refuse(text.starts_with(trace::trace_word) ? "it is a trace of another version of Lapwing"
                                                   : "it is not a trace of Lapwing");
    constexpr std::string_view last_key = "\nchecksum ";
    const auto last = text.rfind(last_key);
    if (last == text.npos || text.size() != last + last_key.size() + 17) refuse("its end is missing");
    const std::string_view body = text.substr(0, last + 1);
    if (text.substr(last + last_key.size()) != fmt::format("{:016x}\n", support::checksum_of(body)))
        refuse("its checksum is wrong, so it is damaged");
    try {
        return TraceReader{}.read(body.substr(trace::first_line_of_trace.size()), progress);
    } catch (const UsageError& error) {
        refuse(error.what());
    }
    return {}; // not reached
}

} // namespace lapwing::detail::model
