#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lapwing::advise {

using detail::model::AccessUse;
using detail::model::AdvisedChange;
namespace trace = detail::trace;

std::string count_text(std::uint64_t count) {
    const auto number = static_cast<double>(count);
    if (count < 10'000) return fmt::format("{}", count);
    if (count < 1'000'000) return fmt::format("{:.0f} thousand", number / 1e3);
    if (count < 1'000'000'000) return fmt::format("{:.1f} million", number / 1e6);
    return fmt::format("{:.1f} billion", number / 1e9);
}

std::string time_text(double seconds) {
    if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
    if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
    return fmt::format("{:.3g} us", seconds * 1e6);
}

namespace {

/// Seconds of those that the run took. They are extrapolated from the calls that were timed, and can come out as more
/// than there are.
std::string share_text(double seconds, double all) {
    return seconds < all ? fmt::format("{} of {}", time_text(seconds), time_text(all))
                         : fmt::format("about all of {}", time_text(all));
}

} // namespace

std::string object_text(const AccessUse& use) {
    if (use.object_kind == "several") return "several objects";
    if (!use.object_name.empty()) return fmt::format("\"{}\"", use.object_name);
    if (!use.object_made.empty()) return fmt::format("the array made at {}", use.object_made);
    return fmt::format("the array or window #{}", use.object_number);
}

std::string sentence(const Report& report, const AccessUse& use, const std::string& line) {
    static constexpr std::array<std::string_view, 5> verbs{"reads", "writes", "does atomics on", "updates",
                                                           "puts with a notification to"};
    static constexpr std::array<std::string_view, 5> nouns{"reads", "writes", "atomics", "updates", "puts"};
    const auto operation = static_cast<std::size_t>(use.operation);
    AccessUse::Amount sum;
    for (const AccessUse::Amount& amount : use.all) sum += amount;
    const bool single = detail::model::are_single(use.way, sum.calls, sum.accesses, sum.bytes);
    const std::uint64_t all = std::max<std::uint64_t>(use.accesses(), 1);
    std::string text = fmt::format("{} {} {}{}: {} {}", line, verbs[operation], object_text(use),
                                   single ? " one at a time" : "", count_text(all), nouns[operation]);
    if (use.far().accesses > 0)
        text += fmt::format(", {:.0f} % of them of other nodes",
                            100 * static_cast<double>(use.far().accesses) / static_cast<double>(all));
    else if (use.all[1].accesses > 0)
        text += fmt::format(", {:.0f} % of them of other ranks of the node",
                            100 * static_cast<double>(use.all[1].accesses) / static_cast<double>(all));
    else text += ", all of them of the rank's own";
    if (const double seconds = use.heaviest[2].seconds(); seconds > 0)
        text += fmt::format("; rank {} spends {} there", use.heaviest_rank, share_text(seconds, report.advice.seconds));
    return text;
}

std::vector<std::string> lines_of(const Report& report, const AdvisedChange& change) {
    std::vector<std::string> lines;
    for (const std::size_t u : change.uses)
        if (std::ranges::find(lines, report.lines[u]) == lines.end()) lines.push_back(report.lines[u]);
    return lines;
}

namespace {

[[nodiscard]] std::string indented(std::string_view code, std::string_view by) {
    std::string text;
    for (std::size_t begin = 0; begin < code.size();) {
        const auto end = std::min(code.find('\n', begin), code.size());
        if (begin != 0) text += '\n';
        text += begin == 0 ? "" : by;
        text += code.substr(begin, end - begin);
        begin = end + 1;
    }
    return text;
}

[[nodiscard]] std::string change_text(const Report& report, const AdvisedChange& change, std::size_t number) {
    const AccessUse& first = report.advice.uses[change.uses.front()];
    std::string text = fmt::format("{:>3}. {}: {}", number, object_text(first), change.title);
    if (change.now_seconds)
        text += fmt::format("\n     gain: {} instead of {} on rank {}, give or take {:.0f} %",
                            time_text(*change.then_seconds), time_text(*change.now_seconds),
                            change.rank.value_or(first.heaviest_rank), 100 * change.uncertainty);
    else if (change.messages_saved > 0)
        text += fmt::format("\n     gain: about {} round trips fewer on rank {}", count_text(change.messages_saved),
                            change.rank.value_or(first.heaviest_rank));
    text += fmt::format("\n     why:  {}", change.why);
    for (const std::string& line : lines_of(report, change)) text += fmt::format("\n     at:   {}", line);
    if (!change.setting.empty()) text += fmt::format("\n     try:  {} (no change of the program)", change.setting);
    return text + fmt::format("\n     code: {}\n", indented(change.code, "           "));
}

} // namespace

std::string as_text(const Report& report) {
    const detail::model::RecordedTrace& trace = report.trace;
    std::string text =
        fmt::format("{} ranks on {} nodes, path {} between nodes; {}; {} on the slowest rank\n", trace.ranks,
                    trace.nodes, trace.network_path, trace.mpi, time_text(report.advice.seconds));
    for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
    text += "\nWhat dominates\n";
    if (report.advice.uses.empty()) text += "  nothing: no accesses were recorded\n";
    for (std::size_t u = 0; u < std::min(report.advice.uses.size(), report.most); ++u)
        text += fmt::format("{:>3}. {}\n", u + 1, sentence(report, report.advice.uses[u], report.lines[u]));
    if (report.advice.uses.size() > report.most)
        text += fmt::format("     and {} more (--all)\n", report.advice.uses.size() - report.most);
    text += "\nWhat would help\n";
    if (report.advice.changes.empty()) text += "  nothing that this tool knows of\n";
    for (std::size_t c = 0; c < std::min(report.advice.changes.size(), report.most); ++c)
        text += change_text(report, report.advice.changes[c], c + 1);
    return text;
}

} // namespace lapwing::advise
