#include "model/recorded_trace.hpp"

#include "src/support/hash.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lapwing::detail::model {
namespace {

constexpr std::string_view format_word = "lapwing trace ";
constexpr std::string_view first_line = "lapwing trace 1\n";

/// Words of one line.
class Line {
public:
    explicit Line(std::string_view text) : rest_{text} {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
    std::string_view word() {
        const std::string_view found = rest_.substr(0, rest_.find(' '));
        rest_.remove_prefix(std::min(found.size() + 1, rest_.size()));
        return found;
    }
    /// The value of `key=…`, which comes next.
    std::string_view value(std::string_view key) {
        const std::string_view next = word();
        if (!next.starts_with(key) || next.size() == key.size() || next[key.size()] != '=')
            throw UsageError{fmt::format("'{}=' was expected, and '{}' found", key, next)};
        return next.substr(key.size() + 1);
    }
    template <class Number = std::uint64_t>
    static Number number(std::string_view text, int base = 10) {
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
        if (error != std::errc{} || end != text.data() + text.size())
            throw UsageError{fmt::format("'{}' is not a number", text)};
        return value;
    }
    template <class Number = std::uint64_t>
    Number number_of(std::string_view key) {
        return number<Number>(value(key));
    }

private:
    std::string_view rest_;
};

[[nodiscard]] std::string unescaped(std::string_view text) {
    if (text == "-") return {};
    std::string result;
    for (std::size_t k = 0; k < text.size(); ++k) {
        if (text[k] == '%' && k + 2 < text.size()) {
            result += static_cast<char>(Line::number<unsigned>(text.substr(k + 1, 2), 16));
            k += 2;
        } else {
            result += text[k];
        }
    }
    return result;
}

template <class Words>
[[nodiscard]] std::uint8_t number_of_word(const Words& words, std::string_view word) {
    const auto found = std::ranges::find(words, word);
    if (found == words.end()) throw UsageError{fmt::format("'{}' is unknown", word)};
    return static_cast<std::uint8_t>(found - words.begin());
}

/// Calls `take(key, count)` for each of `key:count,…`.
template <class Take>
void for_each_count(std::string_view text, Take take) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto colon = item.find(':');
        if (colon == item.npos) throw UsageError{fmt::format("'{}' has no count", item)};
        take(item.substr(0, colon), Line::number(item.substr(colon + 1)));
    }
}

void read_counts(std::string_view text, std::array<trace::Record::Count, trace::Record::most_counts>& counts,
                 std::uint64_t& others) {
    std::size_t size = 0;
    for_each_count(text, [&](std::string_view key, std::uint64_t count) {
        if (key == "others") others = count;
        else if (size == counts.size()) throw UsageError{"there are more counts than a record has"};
        else counts[size++] = {Line::number<std::int64_t>(key), count};
    });
}

void read_reuse(std::string_view text, trace::ReuseCounts& counts) {
    for_each_count(text, [&](std::string_view key, std::uint64_t count) {
        if (key == "cold") counts.cold = count;
        else if (key == "sequential") counts.sequential = count;
        else if (const auto bucket = Line::number<std::size_t>(key); bucket < trace::ReuseCounts::buckets)
            counts.at[bucket] = count;
        else throw UsageError{fmt::format("there is no distance {}", key)};
    });
}

class TraceReader {
public:
    RecordedTrace read(std::string_view text) {
        for (std::size_t number = 2; !text.empty(); ++number) {
            Line line{text.substr(0, text.find('\n'))};
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
    void read_line(Line& line) {
        const std::string_view what = line.word();
        if (what == "ranks") trace_.ranks = Line::number<int>(line.word());
        else if (what == "nodes") trace_.nodes = Line::number<int>(line.word());
        else if (what == "network_path") trace_.network_path = line.word();
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
            const auto key = Line::number(line.word(), 16);
            rank().sites.emplace(key, read_frames(line));
        } else if (what == "access") read_access(line);
        else throw UsageError{fmt::format("'{}' is unknown", what)};
    }
    void read_rank(Line& line) {
        const auto number = Line::number<int>(line.word());
        if (number != static_cast<int>(trace_.of_ranks.size()))
            throw UsageError{fmt::format("rank {} where rank {} was expected", number, trace_.of_ranks.size())};
        trace_.of_ranks.push_back({.rank = number, .ns = line.number_of("ns")});
    }
    void read_file(Line& line) {
        (void)line.word();
        RecordedTrace::File file{.bytes = line.number_of("bytes"), .changed = line.number_of<std::int64_t>("changed")};
        file.path = unescaped(line.value("path"));
        rank().files.push_back(std::move(file));
    }
    void read_object(Line& line) {
        (void)line.word();
        RecordedTrace::OfObject object{.kind = std::string{line.value("kind")}};
        object.number = line.number_of("number");
        object.bytes = line.number_of("bytes");
        object.name = unescaped(line.value("name"));
        object.made = read_frames(line);
        rank().objects.push_back(std::move(object));
    }
    void read_interval(Line& line) {
        (void)line.word();
        RecordedTrace::OfInterval interval{.times = line.number_of("times"), .ns = line.number_of("ns")};
        interval.site = read_frames(line);
        rank().intervals.push_back(std::move(interval));
    }
    RecordedTrace::Frames read_frames(Line& line) {
        if (line.word() != "at") throw UsageError{"'at' was expected"};
        RecordedTrace::Frames frames;
        while (!line.empty()) {
            const std::string_view word = line.word();
            if (word == "-") break;
            const auto plus = word.find('+');
            if (plus == word.npos) throw UsageError{fmt::format("'{}' is not a position in a file", word)};
            const auto file = Line::number<std::size_t>(word.substr(0, plus));
            if (file >= rank().files.size()) throw UsageError{fmt::format("there is no file {}", file)};
            frames.push_back({file, Line::number(word.substr(plus + 1), 16)});
        }
        return frames;
    }
    void read_access(Line& line) {
        RecordedTrace::OfRecord of{.thread = line.number_of<std::uint32_t>("thread")};
        trace::Record& record = of.record;
        record.object = line.number_of<std::uint32_t>("object");
        record.site = Line::number(line.value("site"), 16);
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
        record.timed_calls = line.number_of("timed");
        record.timed_ns = line.number_of("timed_ns");
        record.runs = line.number_of("runs");
        record.longest_run_bytes = line.number_of("longest_run");
        record.lowest = line.number_of("lowest");
        record.highest = line.number_of("highest");
        record.owner_changes = line.number_of("owner_changes");
        read_counts(line.value("owners"), record.owners, record.other_owners);
        read_counts(line.value("strides"), record.strides, record.other_strides);
        read_reuse(line.value("within"), record.within);
        read_reuse(line.value("over"), record.over);
        rank().records.push_back(std::move(of));
    }

    RecordedTrace trace_;
};

} // namespace

RecordedTrace parse_trace(std::string_view text, std::string_view file) {
    const auto refuse = [&](std::string_view why) {
        throw FileError{fmt::format("{}: {}; record a new one with LAPWING_TRACE={}", file, why, file)};
    };
    if (!text.starts_with(first_line))
        refuse(text.starts_with(format_word) ? "it is a trace of another version of Lapwing"
                                             : "it is not a trace of Lapwing");
    constexpr std::string_view last_key = "\nchecksum ";
    const auto last = text.rfind(last_key);
    if (last == text.npos || text.size() != last + last_key.size() + 17) refuse("its end is missing");
    const std::string_view body = text.substr(0, last + 1);
    if (text.substr(last + last_key.size()) != fmt::format("{:016x}\n", support::checksum_of(body)))
        refuse("its checksum is wrong, so it is damaged");
    try {
        return TraceReader{}.read(body.substr(first_line.size()));
    } catch (const UsageError& error) {
        refuse(error.what());
    }
    return {}; // not reached
}

} // namespace lapwing::detail::model
