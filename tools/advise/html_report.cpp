// The report as one page, without scripts or other files.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::advise {
namespace {

using detail::model::AccessUse;
using detail::model::AdvisedChange;
using detail::model::RecordedTrace;

constexpr std::string_view style = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222 }
body { background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.15em; margin-top: 2em }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }
li, p, h3 { overflow-wrap: anywhere } ul.legend { list-style: none; padding: 0 }
pre { background: #f4f4f4; padding: 0.6em; overflow-x: auto }
table { border-collapse: collapse } td, th { padding: 0.15em 0.6em; text-align: left; vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
tr { border-bottom: 1px solid #e4e4e4 }
.note { background: #fff6d6; padding: 0.4em 0.8em } .wide { overflow-x: auto }
svg text { font: 11px system-ui, sans-serif; fill: #222 }
)";

[[nodiscard]] std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '&') result += "&amp;";
        else if (c == '<') result += "&lt;";
        else if (c == '>') result += "&gt;";
        else if (c == '"') result += "&quot;";
        else result += c;
    }
    return result;
}

constexpr std::array<std::string_view, 7> colours{"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                                  "#66ccee", "#aa3377", "#222222"};
constexpr std::string_view other_colour = "#bbbbbb";

/// Of many ranks, neighbours in groups that a page has room for.
class RankGroups {
public:
    explicit RankGroups(int ranks) noexcept
        : ranks_{static_cast<std::size_t>(ranks)}, of_group_{(ranks_ + most - 1) / most} {}

    [[nodiscard]] std::size_t count() const noexcept { return (ranks_ + of_group_ - 1) / of_group_; }
    [[nodiscard]] std::size_t of(std::size_t rank) const noexcept { return rank / of_group_; }
    [[nodiscard]] std::size_t first(std::size_t group) const noexcept { return group * of_group_; }
    [[nodiscard]] std::size_t last(std::size_t group) const noexcept {
        return std::min(first(group) + of_group_, ranks_) - 1;
    }
    [[nodiscard]] std::string label(std::size_t group) const {
        return of_group_ == 1 ? fmt::format("rank {}", group)
                              : fmt::format("ranks {} to {}", first(group), last(group));
    }

private:
    static constexpr std::size_t most = 200;
    std::size_t ranks_;
    std::size_t of_group_;
};

/// The time of each rank by the place where intervals begin.
class IntervalTimes {
public:
    explicit IntervalTimes(const Report& report) : report_{report}, seconds_(report.trace.of_ranks.size()) {
        std::vector<double> all(report.places.size());
        for (std::size_t r = 0; r < seconds_.size(); ++r) {
            const RecordedTrace::OfRank& rank = report.trace.of_ranks[r];
            seconds_[r].resize(all.size());
            for (std::size_t k = 0; k < rank.intervals.size(); ++k) {
                const double seconds = 1e-9 * static_cast<double>(rank.intervals[k].ns);
                seconds_[r][report.interval_places[r][k]] += seconds;
                all[report.interval_places[r][k]] += seconds;
            }
        }
        for (std::size_t place = 0; place < all.size(); ++place) shown_.push_back(place);
        std::ranges::stable_sort(shown_, [&](std::size_t x, std::size_t y) { return all[x] > all[y]; });
        // Those that take longest have a colour, and all others one together.
        if (shown_.size() > most) shown_.resize(most);
        for (std::size_t k = 0; k < shown_.size(); ++k) is_shown_.insert(shown_[k]);
    }

    /// Those with a colour, those with most time first.
    [[nodiscard]] const std::vector<std::size_t>& shown() const noexcept { return shown_; }
    [[nodiscard]] std::size_t others() const noexcept { return report_.places.size() - shown_.size(); }
    [[nodiscard]] double seconds(std::size_t rank, std::size_t place) const { return seconds_[rank][place]; }
    [[nodiscard]] double other_seconds(std::size_t rank) const {
        double sum = 0;
        for (std::size_t place = 0; place < seconds_[rank].size(); ++place)
            if (!is_shown_.contains(place)) sum += seconds_[rank][place];
        return sum;
    }

private:
    static constexpr std::size_t most = colours.size();
    const Report& report_;
    std::vector<std::vector<double>> seconds_; ///< by rank and place
    std::vector<std::size_t> shown_;
    std::set<std::size_t> is_shown_;
};

/// The colours of a chart of intervals, with the time that they take on all ranks.
[[nodiscard]] std::string interval_legend(const Report& report, const IntervalTimes& times) {
    const std::size_t ranks = report.trace.of_ranks.size();
    const auto line = [&](std::string_view colour, const std::string& what, auto seconds) {
        std::size_t slowest = 0;
        double all = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            all += seconds(rank);
            if (seconds(rank) > seconds(slowest)) slowest = rank;
        }
        return fmt::format("<li><span style=\"color:{}\">&#9632;</span> {}: {} on average, {} on rank {}, which is "
                           "there longest</li>\n",
                           colour, what, time_text(all / static_cast<double>(ranks)), time_text(seconds(slowest)),
                           slowest);
    };
    std::string text = "<ul class=legend>";
    for (std::size_t k = 0; k < times.shown().size(); ++k)
        text += line(colours[k], fmt::format("after <code>{}</code>", escaped(report.places[times.shown()[k]])),
                     [&](std::size_t rank) { return times.seconds(rank, times.shown()[k]); });
    if (times.others() > 0)
        text += line(other_colour, fmt::format("after {} other places", times.others()),
                     [&](std::size_t rank) { return times.other_seconds(rank); });
    return text + "</ul>\n";
}

/// Time by interval, one bar per rank; of many ranks, one per group: its slowest.
[[nodiscard]] std::string interval_bars(const Report& report) {
    const RecordedTrace& trace = report.trace;
    const RankGroups groups{trace.ranks};
    const IntervalTimes times{report};
    double longest = 1e-9;
    for (const RecordedTrace::OfRank& rank : trace.of_ranks)
        longest = std::max(longest, 1e-9 * static_cast<double>(rank.ns));
    const double height = std::clamp(1000.0 / static_cast<double>(groups.count()), 5.0, 18.0);
    const double bottom = height * static_cast<double>(groups.count());
    const bool every = height >= 12;
    std::string text = interval_legend(report, times);
    text += fmt::format(
        "<div class=wide><svg width=900 height={:.0f} role=img aria-label=\"time by interval and rank\">", bottom + 20);
    for (std::size_t group = 0; group < groups.count(); ++group) {
        const auto first = trace.of_ranks.begin() + static_cast<std::ptrdiff_t>(groups.first(group));
        const auto end = trace.of_ranks.begin() + static_cast<std::ptrdiff_t>(groups.last(group)) + 1;
        const auto slowest = std::max_element(first, end, [](const auto& a, const auto& b) { return a.ns < b.ns; });
        const auto rank = static_cast<std::size_t>(slowest - trace.of_ranks.begin());
        const double y = height * static_cast<double>(group);
        if (every || group % 10 == 0)
            text += fmt::format("<text x=0 y={:.1f}>rank {}</text>", y + std::min(height, 12.0), groups.first(group));
        const std::string who = groups.count() == trace.of_ranks.size()
                                    ? fmt::format("rank {}", rank)
                                    : fmt::format("{}, the slowest of them rank {}", groups.label(group), rank);
        double x = 60;
        const auto bar = [&](double seconds, std::string_view colour, const std::string& where) {
            if (!(seconds > 0)) return;
            const double width = 820 * seconds / longest;
            text += fmt::format("<rect x={:.2f} y={:.1f} width={:.2f} height={:.1f} fill=\"{}\"><title>{}: {} in the "
                                "interval after {}</title></rect>",
                                x, y, width, height - 1, colour, who, time_text(seconds), where);
            x += width;
        };
        for (std::size_t k = 0; k < times.shown().size(); ++k)
            bar(times.seconds(rank, times.shown()[k]), colours[k], escaped(report.places[times.shown()[k]]));
        bar(times.other_seconds(rank), other_colour, "other places");
    }
    return text +
           fmt::format("<text x=60 y={:.0f}>0</text><text x=880 y={:.0f} text-anchor=end>{}</text></svg></div>\n",
                       bottom + 14, bottom + 14, time_text(longest));
}

/// Accesses to an object, from groups of ranks to groups of ranks.
struct AccessCounts {
    AccessCounts(const RecordedTrace& trace, const RankGroups& groups, const std::string& name, std::uint64_t number)
        : cells{groups.count()}, counts(cells * cells) {
        const auto ranks = static_cast<std::size_t>(trace.ranks);
        for (const RecordedTrace::OfRank& rank : trace.of_ranks)
            for (const RecordedTrace::OfRecord& of : rank.records) {
                if (of.record.object == 0) continue;
                const RecordedTrace::OfObject& object = rank.objects[of.record.object - 1];
                if (object.name != name || object.number != number || object.other_team) continue;
                const std::size_t from = groups.of(static_cast<std::size_t>(rank.rank)) * cells;
                if (detail::model::accesses_all_others(of.record, trace.ranks)) { // of which eight have counts
                    for (std::size_t owner = 0; owner < ranks; ++owner)
                        if (owner != static_cast<std::size_t>(rank.rank))
                            counts[from + groups.of(owner)] += of.record.accesses / (ranks - 1);
                    not_named += of.record.accesses % (ranks - 1);
                    continue;
                }
                not_named += of.record.other_owners;
                for (const auto& owner : of.record.owners)
                    if (owner.count != 0 && owner.value >= 0 && static_cast<std::size_t>(owner.value) < ranks)
                        counts[from + groups.of(static_cast<std::size_t>(owner.value))] += owner.count;
            }
    }
    [[nodiscard]] std::uint64_t at(std::size_t from, std::size_t to) const { return counts[from * cells + to]; }

    std::size_t cells;
    std::vector<std::uint64_t> counts;
    std::uint64_t not_named = 0; ///< accesses to owners that records have no room for
};

/// Which rank accesses whose memory how often: darker is more, on a logarithmic scale. With many ranks a cell is of
/// several neighbouring ones.
[[nodiscard]] std::string access_map(const Report& report, const std::string& name, std::uint64_t number) {
    const RankGroups groups{report.trace.ranks};
    const AccessCounts counts{report.trace, groups, name, number};
    const std::size_t cells = counts.cells;
    const std::uint64_t most = *std::ranges::max_element(counts.counts);
    const double cell = std::clamp(600.0 / static_cast<double>(cells), 5.0, 40.0);
    const double side = cell * static_cast<double>(cells);
    std::string text =
        fmt::format("<div class=wide><svg width={:.0f} height={:.0f} role=img aria-label=\"accesses, rank by rank\">"
                    "<g fill=\"#4477aa\" stroke=\"#ddd\" stroke-width=0.5>",
                    side + 70, side + 40);
    text += fmt::format("<rect x=50 y=20 width={:.1f} height={:.1f} fill=none stroke=\"#bbb\" />", side, side);
    for (std::size_t from = 0; from < cells; ++from)
        for (std::size_t to = 0, end = 0; to < cells; to = end) {
            const std::uint64_t count = counts.at(from, to);
            // Neighbours with as many are one: a page of many ranks stays small.
            for (end = to + 1; end < cells && counts.at(from, end) == count;) ++end;
            if (count == 0) continue;
            const double shade =
                0.15 + 0.85 * std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
            const std::string owners =
                end == to + 1 ? groups.label(to)
                              : fmt::format("each of ranks {} to {}", groups.first(to), groups.last(end - 1));
            text += fmt::format("<rect x={:.1f} y={:.1f} width={:.1f} height={:.1f} fill-opacity={:.2f}><title>{} to "
                                "{}: {} accesses</title></rect>",
                                50 + cell * static_cast<double>(to), 20 + cell * static_cast<double>(from),
                                cell * static_cast<double>(end - to), cell, shade, groups.label(from), owners, count);
        }
    text += "</g>";
    const std::size_t step = cell >= 14 ? 1 : 10;
    for (std::size_t k = 0; k < cells; k += step)
        text += fmt::format("<text x=0 y={:.1f}>rank {}</text><text x={:.1f} y=14>{}</text>",
                            20 + cell * static_cast<double>(k) + std::min(cell, 12.0), groups.first(k),
                            50 + cell * static_cast<double>(k), groups.first(k));
    text += "</svg></div>\n";
    text += fmt::format("<p>The darkest: {} accesses.{}</p>\n", count_text(most),
                        counts.not_named == 0 ? ""
                                              : fmt::format(" Not shown are {} accesses: of a call site that accesses "
                                                            "many ranks, the eight that it accesses most are known.",
                                                            count_text(counts.not_named)));
    return text;
}

/// The fraction of accesses that a cache of so many pages would serve.
[[nodiscard]] std::string reuse_curve(const AccessUse& use) {
    const auto total = static_cast<double>(std::max<std::uint64_t>(use.within.total(), 1));
    constexpr int most = 20;
    const auto line = [&](const detail::trace::ReuseCounts& counts, std::string_view colour) {
        std::string points;
        for (int k = 0; k <= most; ++k)
            points +=
                fmt::format("{:.1f},{:.1f} ", 40 + 20.0 * k, 130 - 110 * counts.hits(std::uint64_t{1} << k) / total);
        return fmt::format("<polyline points=\"{}\" fill=none stroke=\"{}\" stroke-width=2 />", points, colour);
    };
    std::string text = "<svg width=480 height=165 role=img aria-label=\"hit rate by the size of a cache\">"
                       "<path d=\"M40 20V130H440\" fill=none stroke=\"#888\" />";
    text += line(use.within, colours[0]) + line(use.over, colours[1]);
    for (int k = 0; k <= most; k += 5)
        text += fmt::format("<text x={} y=145>{}</text>", 34 + 20 * k,
                            k < 10   ? fmt::format("{} KiB", 1 << k)
                            : k < 20 ? fmt::format("{} MiB", 1 << (k - 10))
                                     : "1 GiB");
    return text +
           fmt::format("<text x=0 y=26>100 %</text><text x=18 y=134>0</text><text x=40 y=162>size of a cache; "
                       "<tspan fill=\"{}\">emptied at sequence points</tspan>, <tspan fill=\"{}\">kept</tspan></text>"
                       "</svg>\n",
                       colours[0], colours[1]);
}

[[nodiscard]] std::string change_html(const Report& report, const AdvisedChange& change) {
    const AccessUse& first = report.advice.uses[change.uses.front()];
    std::string text = fmt::format("<li><b>{}: {}</b><br>", escaped(object_text(first)), escaped(change.title));
    if (change.now_seconds)
        text += fmt::format("{} instead of {} on rank {}, give or take {:.0f} %<br>", time_text(*change.then_seconds),
                            time_text(*change.now_seconds), change.rank.value_or(first.heaviest_rank),
                            100 * change.uncertainty);
    else if (change.messages_saved > 0)
        text += fmt::format("about {} round trips fewer on rank {}<br>", count_text(change.messages_saved),
                            change.rank.value_or(first.heaviest_rank));
    text += escaped(change.why) + "<br>";
    for (const std::string& line : lines_of(report, change)) text += fmt::format("<code>{}</code><br>", escaped(line));
    if (!change.setting.empty())
        text += fmt::format("try it without a change: <code>{}</code>", escaped(change.setting));
    return text + fmt::format("<pre>{}</pre></li>\n", escaped(change.code));
}

} // namespace

std::string as_html(const Report& report) {
    const RecordedTrace& trace = report.trace;
    std::string text =
        fmt::format("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
                    "content=\"width=device-width\"><title>lapwing-advise</title><style>{}</style></head><body>\n"
                    "<h1>Where the time goes, and what would help</h1>\n<p>{} ranks on {} nodes, path {} between "
                    "nodes; {}; {} on the slowest rank.</p>\n",
                    style, trace.ranks, trace.nodes, escaped(trace.network_path), escaped(trace.mpi),
                    time_text(report.advice.seconds));
    for (const std::string& note : report.notes) text += fmt::format("<p class=note>{}</p>\n", escaped(note));
    text += "<h2>What dominates</h2>\n<ol>\n";
    const std::size_t uses = std::min(report.advice.uses.size(), report.most);
    for (std::size_t u = 0; u < uses; ++u) {
        text += fmt::format("<li>{}", escaped(sentence(report, report.advice.uses[u], report.lines[u])));
        if (report.advice.uses[u].within.total() > 0)
            text += "<details><summary>reuse</summary><div class=wide>" + reuse_curve(report.advice.uses[u]) +
                    "</div></details>";
        text += "</li>\n";
    }
    text += "</ol>\n<h2>What would help</h2>\n<ol>\n";
    for (std::size_t c = 0; c < std::min(report.advice.changes.size(), report.most); ++c)
        text += change_html(report, report.advice.changes[c]);
    text += "</ol>\n<h2>Time by interval and rank</h2>\n" + interval_bars(report);
    text += "<h2>Whose memory each rank accesses</h2>\n<p>Rows: the rank that accesses. Columns: the owner.</p>\n";
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    for (std::size_t u = 0; u < uses; ++u) {
        const AccessUse& use = report.advice.uses[u];
        const std::pair<std::string, std::uint64_t> object{use.object_name, use.object_number};
        if (use.object_kind == "several" || use.object_of_other_team || std::ranges::find(seen, object) != seen.end())
            continue;
        seen.push_back(object);
        text += fmt::format("<h3>{}</h3>\n", escaped(object_text(use))) +
                access_map(report, use.object_name, use.object_number);
    }
    return text + "</body></html>\n";
}

} // namespace lapwing::advise
