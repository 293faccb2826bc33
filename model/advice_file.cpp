#include "model/advice_file.hpp"

#include "model/profile.hpp"
#include "src/trace/words.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

namespace lapwing::detail::model {
namespace {

using trace::Words;

constexpr std::string_view format_word = "lapwing advice ";
constexpr std::string_view advice_first_line = "lapwing advice 1";
constexpr std::string_view last_line = "end";
/// All of UPC's objects are in one window.
constexpr std::string_view upc_window = "UPC's shared heap";

[[noreturn]] void refuse(std::string_view file, std::size_t line, std::string_view why) {
    throw FileError{fmt::format("{}, line {}: {}; correct it, or write a new one: `lapwing-advise TRACE --advice FILE`",
                                file, line, why)};
}

/// With k, m or g, powers of 1024.
[[nodiscard]] std::uint64_t size_of(std::string_view text) {
    unsigned shift = 0;
    if (text.ends_with('k')) shift = 10;
    else if (text.ends_with('m')) shift = 20;
    else if (text.ends_with('g')) shift = 30;
    if (shift != 0) text.remove_suffix(1);
    const auto value = Words::number(text);
    if (value > (std::uint64_t{1} << 40) >> shift) throw UsageError{fmt::format("'{}' is too large", text)};
    return value << shift;
}

void check_strategy(std::string_view word) {
    for (const SettingInfo& setting : all_settings())
        if (setting.name == "LAPWING_STRATEGY" && std::ranges::find(setting.choices, word) == setting.choices.end())
            throw UsageError{
                fmt::format("there is no strategy '{}'; there are {}", word, fmt::join(setting.choices, ", "))};
}

void read_cache(AdviceFile::Window& window, std::string_view mode) {
    if (mode == "read_only" || mode == "transparent")
        throw UsageError{
            fmt::format("cache={} promises less than no cache does, so that only the program can choose it "
                        "(CacheOptions::mode); write cache=epoch",
                        mode)};
    if (mode != "epoch") throw UsageError{fmt::format("cache={} is not allowed; write cache=epoch", mode)};
    window.cached = true;
}

[[nodiscard]] AdviceFile::Window read_window(Words words, std::size_t line) {
    AdviceFile::Window window{.name = trace::unescaped(words.value("name")), .line = line};
    window.number = words.number_of("number");
    while (!words.empty()) {
        const std::string_view word = words.next();
        const std::string_view key = word.substr(0, word.find('='));
        const std::string_view value = word.substr(std::min(word.size(), key.size() + 1));
        if (key == "cache") read_cache(window, value);
        else if (key == "cache_bytes") window.cache_bytes = size_of(value);
        else if (key == "page_bytes") window.page_bytes = size_of(value);
        else if (key == "strategy") check_strategy(window.strategy = value);
        else throw UsageError{fmt::format("'{}' is unknown", key)};
    }
    const std::uint64_t page = window.page_bytes.value_or(64);
    if (!std::has_single_bit(page) || page < 64 || page > 65536)
        throw UsageError{fmt::format("page_bytes={} is not a power of two from 64 to 65536", page)};
    if (window.cache_bytes && *window.cache_bytes < 4 * page)
        throw UsageError{fmt::format("cache_bytes={} has no room for four pages", *window.cache_bytes)};
    return window;
}

void read_ranks(std::string_view text, AdviceFile& advice) {
    // What follows is checked against it.
    if (advice.ranks != 0) throw UsageError{"'ranks' comes for the second time"};
    if (!advice.windows.empty()) throw UsageError{"'ranks' comes after a window, and belongs before the first"};
    advice.ranks = Words::number<int>(text);
    if (advice.ranks < 1) throw UsageError{fmt::format("ranks {} is not at least 1", advice.ranks)};
}

[[nodiscard]] AdviceFile::Prefetch read_prefetch(Words words, const AdviceFile& advice) {
    if (advice.windows.empty()) throw UsageError{"prefetch belongs to no window; a line 'window …' comes before it"};
    AdviceFile::Prefetch found{.rank = words.number_of<int>("rank"), .owner = words.number_of<int>("owner")};
    const std::string_view bytes = words.value("bytes");
    const auto dash = bytes.find('-');
    if (dash == bytes.npos) throw UsageError{fmt::format("bytes={} is not of the form BEGIN-END", bytes)};
    found.begin = Words::number(bytes.substr(0, dash));
    found.end = Words::number(bytes.substr(dash + 1));
    if (found.begin >= found.end) throw UsageError{fmt::format("bytes={} are none", bytes)};
    if (found.rank < 0 || found.rank >= advice.ranks || found.owner < 0 || found.owner >= advice.ranks)
        throw UsageError{
            fmt::format("rank {} or owner {} is not below 'ranks {}'", found.rank, found.owner, advice.ranks)};
    if (!words.empty()) throw UsageError{fmt::format("'{}' was not expected", words.rest())};
    return found;
}

[[nodiscard]] bool same_object(const RecordedTrace::OfObject& object, const AdviceFile::Window& window) {
    return object.kind != "upc" && !object.other_team && object.name == window.name && object.number == window.number;
}

/// What ranks read of others, as ranges that do not touch, so dense that at least half of what is asked for is read.
class Reads {
public:
    explicit Reads(std::uint64_t room) : room_{room} {}

    /// Adds what a rank reads in a record, if that is dense, and a cache has room for it beside what it reads
    /// otherwise.
    void add(const RecordedTrace::OfRank& rank, const trace::Record& record, int ranks) {
        constexpr std::uint64_t least_calls = 16;
        const bool single =
            record.calls >= least_calls && are_single(record.way, record.calls, record.accesses, record.bytes);
        if (!single || record.operation != trace::Operation::read || record.affinity != trace::Affinity::far ||
            record.other_owners != 0)
            return;
        std::uint64_t between = 0;
        for (const trace::Record::OwnerCount& owner : record.owners)
            if (owner.count != 0) between += owner.highest - owner.lowest;
        constexpr std::uint64_t page = std::uint64_t{1} << trace::ReuseSample::page_bits;
        const std::uint64_t times = std::max<std::uint64_t>(1, rank.intervals[record.interval].times);
        const std::uint64_t distinct = std::min(record.bytes, record.within.cold * page) / times;
        if (2 * distinct < between || between > room_) return;
        for (const trace::Record::OwnerCount& owner : record.owners)
            if (owner.count != 0 && owner.value >= 0 && owner.value < ranks && owner.lowest < owner.highest) {
                // Each owner's part counts as dense as all together.
                const double share = static_cast<double>(owner.highest - owner.lowest) / static_cast<double>(between);
                add(rank.rank, static_cast<int>(owner.value),
                    {owner.lowest, owner.highest,
                     static_cast<std::uint64_t>(share * static_cast<double>(std::min(distinct, between)))});
            }
    }

    [[nodiscard]] std::vector<AdviceFile::Prefetch> prefetches() const {
        std::vector<AdviceFile::Prefetch> result;
        for (const auto& [of, ranges] : ranges_)
            for (const Range& range : ranges) result.push_back({of.first, of.second, range.begin, range.end});
        return result;
    }

private:
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t distinct = 0; ///< bytes that are read, at least
        [[nodiscard]] std::uint64_t bytes() const noexcept { return end - begin; }
    };

    /// Two ranges in one; null if they are apart, and too little of what lies between would be read.
    [[nodiscard]] static std::optional<Range> joined(const Range& a, const Range& b) {
        const bool overlap = a.begin < b.end && b.begin < a.end;
        const bool apart = a.end < b.begin || b.end < a.begin;
        const Range both{std::min(a.begin, b.begin), std::max(a.end, b.end),
                         overlap ? std::max(a.distinct, b.distinct) : a.distinct + b.distinct};
        return apart && 2 * both.distinct < both.bytes() ? std::nullopt : std::optional{both};
    }
    void add(int rank, int owner, Range added) {
        std::vector<Range> ranges = ranges_[{rank, owner}];
        std::uint64_t all = bytes_[rank];
        for (std::size_t k = 0; k < ranges.size();) {
            const std::optional<Range> both = joined(ranges[k], added);
            if (!both) {
                ++k;
                continue;
            }
            all -= ranges[k].bytes();
            ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(k));
            added = *both;
            k = 0; // it may meet others now
        }
        all += added.bytes();
        if (all > room_) return;
        ranges.insert(std::ranges::upper_bound(ranges, added.begin, {}, &Range::begin), added);
        ranges_[{rank, owner}] = std::move(ranges);
        bytes_[rank] = all;
    }

    std::uint64_t room_;
    std::map<std::pair<int, int>, std::vector<Range>> ranges_; ///< by rank and owner, in ascending order
    std::map<int, std::uint64_t> bytes_;                       ///< by rank
};

/// The size from which on a larger cache has hardly more hits, from the default on.
[[nodiscard]] std::optional<std::uint64_t> enough_bytes(const std::vector<const AccessUse*>& uses) {
    constexpr std::uint64_t page = std::uint64_t{1} << trace::ReuseSample::page_bits;
    constexpr std::uint64_t smallest = std::uint64_t{2} << 20;
    constexpr std::uint64_t largest = std::uint64_t{64} << 20;
    const auto hits = [&](std::uint64_t bytes) {
        double sum = 0;
        for (const AccessUse* use : uses) sum += use->within.hits(bytes / page);
        return sum;
    };
    for (std::uint64_t bytes = smallest; bytes <= largest; bytes *= 2)
        if (hits(bytes) >= 0.95 * hits(largest)) return bytes == smallest ? std::nullopt : std::optional{bytes};
    return largest;
}

} // namespace

std::string to_text(const AdviceFile& advice, std::string_view made_from) {
    std::string text =
        fmt::format("{}\n# from {}\nranks {}\n", advice_first_line, trace::escaped(made_from), advice.ranks);
    for (const AdviceFile::Window& window : advice.windows) {
        text += fmt::format("window name={} number={}", trace::escaped(window.name), window.number);
        if (window.cached) text += " cache=epoch";
        if (window.cache_bytes) text += fmt::format(" cache_bytes={}", *window.cache_bytes);
        if (window.page_bytes) text += fmt::format(" page_bytes={}", *window.page_bytes);
        if (!window.strategy.empty()) text += fmt::format(" strategy={}", window.strategy);
        text += '\n';
        for (const AdviceFile::Prefetch& prefetch : window.prefetch)
            text += fmt::format("prefetch rank={} owner={} bytes={}-{}\n", prefetch.rank, prefetch.owner,
                                prefetch.begin, prefetch.end);
    }
    return text + fmt::format("{}\n", last_line);
}

AdviceFile parse_advice(std::string_view text, std::string_view file) {
    AdviceFile advice;
    bool ended = false;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        ++number;
        if (number == 1) {
            if (line == advice_first_line) continue;
            refuse(file, number,
                   line.starts_with(format_word) ? "it is advice of another version of Lapwing"
                                                 : "it is neither advice nor a trace of Lapwing");
        }
        if (line.empty() || line.front() == '#') continue;
        try {
            if (ended) throw UsageError{fmt::format("'{}' comes after 'end'", line)};
            Words words{line};
            const std::string_view what = words.next();
            if (what == "ranks") read_ranks(words.rest(), advice);
            else if (what == "window") advice.windows.push_back(read_window(words, number));
            else if (what == "prefetch") {
                const AdviceFile::Prefetch prefetch = read_prefetch(words, advice);
                advice.windows.back().prefetch.push_back(prefetch);
            } else if (line == last_line) ended = true;
            else throw UsageError{fmt::format("'{}' is unknown", what)};
        } catch (const UsageError& error) {
            refuse(file, number, error.what());
        }
    }
    if (!ended) refuse(file, number + 1, "the line 'end' is missing, so that it has been cut off");
    return advice;
}

AdviceFile advice_file(const RecordedTrace& trace, const Advice& advice) {
    AdviceFile result{.ranks = trace.ranks};
    std::map<std::pair<std::string, std::uint64_t>, std::vector<const AccessUse*>> cached;
    for (const AdvisedChange& change : advice.changes) {
        if (change.kind != "cache") continue;
        for (const std::size_t u : change.uses) {
            const AccessUse& use = advice.uses[u];
            if (use.object_of_other_team) continue; // windows are found by what the runtime's team calls them
            const bool of_upc = use.object_kind == "upc";
            cached[{of_upc ? std::string{upc_window} : use.object_name, of_upc ? 0 : use.object_number}].push_back(
                &use);
        }
    }
    for (const auto& [object, uses] : cached) {
        // In the mode that keeps all promises, even where the advice is a weaker one.
        double hits = 0;
        double all = 0;
        for (const AccessUse* use : uses) {
            hits += use->within.hits(std::uint64_t{2} << (20 - trace::ReuseSample::page_bits));
            all += static_cast<double>(use->within.total());
        }
        if (hits < 0.2 * all) continue;
        AdviceFile::Window window{.name = object.first, .number = object.second, .cached = true};
        window.cache_bytes = enough_bytes(uses);
        Reads reads{window.cache_bytes.value_or(std::uint64_t{2} << 20) / 2};
        for (const RecordedTrace::OfRank& rank : trace.of_ranks)
            for (const RecordedTrace::OfRecord& of : rank.records)
                if (of.record.object != 0 && same_object(rank.objects[of.record.object - 1], window))
                    reads.add(rank, of.record, trace.ranks);
        window.prefetch = reads.prefetches();
        result.windows.push_back(std::move(window));
    }
    return result;
}

AdviceFile advice_in(std::string_view text, const std::string& file) {
    if (!text.starts_with(trace::trace_word)) return parse_advice(text, file);
    const RecordedTrace trace = parse_trace(text, file);
    std::optional<CostTables> tables;
    std::error_code error;
    if (!trace.profile.empty() && std::filesystem::exists(trace.profile, error)) {
        ProfileKey key;
        tables = read_profile(trace.profile, key);
    }
    return advice_file(trace, advise(trace, tables ? &*tables : nullptr));
}

} // namespace lapwing::detail::model
