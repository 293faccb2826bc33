#include "runtime/line_report.hpp"

#include "src/trace/source_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>
#include <vector>

namespace lapwing::detail::runtime {
namespace {

using trace::SiteCounts;

/// A row of the report: call sites of one line of the program.
struct Row {
    std::string line;
    std::string object;
    SiteCounts counts;
};

[[nodiscard]] std::string object_text(const SiteCounts& counts) {
    if (!counts.has_object) return "several";
    const std::string_view name{counts.object.data()};
    if (!name.empty()) return fmt::format("\"{}\"", name);
    return counts.way == trace::Way::upc ? fmt::format("UPC's memory from {:#x} on", counts.object_number)
                                         : fmt::format("window {}", counts.object_number);
}

/// Where the files of this process are, by their numbers.
[[nodiscard]] std::map<std::uint64_t, trace::LoadedFile> files_here() {
    std::map<std::uint64_t, trace::LoadedFile> files;
    for (const trace::LoadedFile& file : trace::loaded_files()) files.emplace(trace::file_number(file.path), file);
    return files;
}

/// `notes`: why lines may be missing.
[[nodiscard]] std::vector<Row> rows_of(const trace::LineTable& table, std::vector<std::string>& notes) {
    const std::map<std::uint64_t, trace::LoadedFile> files = files_here();
    trace::SourceLines lines;
    std::vector<std::vector<trace::CodePlace>> places;
    for (const SiteCounts& counts : table.sites()) {
        std::vector<trace::CodePlace>& of = places.emplace_back();
        for (const SiteCounts::Place& place : counts.places)
            if (const auto file = files.find(place.file); place.file != 0)
                of.push_back({file == files.end() ? "another program" : file->second.path, place.offset});
        lines.add(of);
    }
    lines.look_up();
    notes = lines.notes();
    std::map<std::tuple<std::string, std::string, trace::Way, trace::Operation>, SiteCounts> rows;
    for (std::size_t k = 0; k < places.size(); ++k) {
        const SiteCounts& counts = table.sites()[k];
        const auto [row, is_new] =
            rows.try_emplace({lines.line(places[k]), object_text(counts), counts.way, counts.operation}, counts);
        if (!is_new) row->second.add(counts);
    }
    std::vector<Row> result;
    result.reserve(rows.size());
    for (const auto& [key, counts] : rows) result.push_back({std::get<0>(key), std::get<1>(key), counts});
    return result;
}

[[nodiscard]] std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> units{"B", "KiB", "MiB", "GiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
    return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

[[nodiscard]] std::string numbers_text(const SiteCounts& counts) {
    const auto calls = static_cast<double>(std::max<std::uint64_t>(1, counts.all_calls()));
    const std::string times = counts.timed ? fmt::format("{:>10.6f} {:>10.6f} {:>6}", counts.seconds,
                                                         counts.slowest_seconds, counts.slowest_rank)
                                           : fmt::format("{:>10} {:>10} {:>6}", "-", "-", "-");
    return fmt::format("{} {:>12} {:>5.0f} {:>12}", times, counts.all_calls(),
                       100 * static_cast<double>(counts.calls[2]) / calls, bytes_text(counts.all_bytes()));
}

} // namespace

std::optional<LineReport> line_report(std::string_view value) {
    constexpr std::string_view word = "lines";
    if (!value.starts_with(word)) return {};
    value.remove_prefix(word.size());
    LineReport report;
    const auto take = [&](std::string_view text) {
        const bool found = value.starts_with(text) && (value.size() == text.size() || value[text.size()] == ':');
        if (found) value.remove_prefix(text.size());
        return found;
    };
    if (take(":bytes")) report.order = trace::LineOrder::bytes;
    else (void)take(":time");
    if (value.empty()) return report;
    const char* const end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data() + 1, end, report.most);
    if (value.front() != ':' || error != std::errc{} || at != end || report.most == 0 ||
        report.most > LineReport::limit)
        return {};
    return report;
}

std::string as_text(const trace::LineTable& table, const LineReport& report, int ranks) {
    std::vector<std::string> notes;
    std::vector<Row> rows = rows_of(table, notes);
    std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) {
        if (report.order == trace::LineOrder::bytes) return a.counts.all_bytes() > b.counts.all_bytes();
        return a.counts.seconds > b.counts.seconds;
    });
    std::string text = fmt::format("accesses by line, of {} ranks, those with most {} first:\n"
                                   "   seconds    slowest   rank        calls far %        bytes  line",
                                   ranks, report.order == trace::LineOrder::bytes ? "bytes" : "time");
    const std::size_t shown = std::min<std::size_t>(rows.size(), report.most);
    SiteCounts rest = table.others();
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const SiteCounts& counts = rows[k].counts;
        if (k >= shown) {
            rest.add(counts);
            continue;
        }
        text += fmt::format("\n{}  {} {} of {} ({})", numbers_text(counts), rows[k].line,
                            trace::operation_words[static_cast<std::size_t>(counts.operation)], rows[k].object,
                            trace::way_words[static_cast<std::size_t>(counts.way)]);
    }
    if (rows.empty()) text += "\n(none)";
    if (rest.all_calls() != 0) text += fmt::format("\n{}  all other lines", numbers_text(rest));
    for (const std::string& note : notes) text += "\nnote: " + note;
    return text;
}

} // namespace lapwing::detail::runtime
