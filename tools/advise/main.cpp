// lapwing-advise: shows where a program traced by LAPWING_TRACE spends its time, and what would help. No MPI program.
#include "model/advice.hpp"
#include "model/advice_file.hpp"
#include "model/recorded_trace.hpp"
#include "predict.hpp"
#include "report.hpp"
#include "src/trace/source_lines.hpp"
#include "tools/command_line.hpp"

#include <lapwing/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace lapwing::advise {
namespace {

namespace model = detail::model;

struct Options {
    std::string trace;
    std::string html;
    std::string advice;
    PredictionOptions prediction; ///< and the profile
    bool json = false;
    bool all = false;
    bool progress = false;
};

[[nodiscard]] std::vector<detail::trace::CodePlace> places_of(const model::RecordedTrace::OfRank& rank,
                                                              const model::RecordedTrace::Frames& frames) {
    std::vector<detail::trace::CodePlace> places;
    for (const model::RecordedTrace::Frame& frame : frames)
        places.push_back({rank.files[frame.file].path, frame.offset});
    return places;
}

/// Where intervals begin. Ranks number them by themselves, so that the same number may be of different places.
struct IntervalPlaces {
    /// Each once, of the first rank that has it.
    std::vector<std::pair<const model::RecordedTrace::OfRank*, const model::RecordedTrace::Frames*>> found = {};
    std::vector<std::vector<std::size_t>> of_ranks = {}; ///< of each rank's intervals, which of these
};
[[nodiscard]] IntervalPlaces places_of_intervals(const model::RecordedTrace& trace) {
    IntervalPlaces places;
    std::map<model::RecordedTrace::Place, std::size_t> numbers;
    for (const model::RecordedTrace::OfRank& rank : trace.of_ranks) {
        std::vector<std::size_t>& of_rank = places.of_ranks.emplace_back();
        for (const auto& interval : rank.intervals) {
            const auto [number, added] = numbers.try_emplace(rank.place_of(interval.site), places.found.size());
            of_rank.push_back(number->second);
            if (added) places.found.emplace_back(&rank, &interval.site);
        }
    }
    return places;
}

/// A line on standard error that says how much of a file has been read: for large ones on a terminal, or if it is
/// wanted.
class ProgressLine {
public:
    ProgressLine(const Options& options, std::size_t bytes)
        : file_{options.trace}, shown_{options.progress || (bytes >= large && isatty(STDERR_FILENO) != 0)} {}
    ~ProgressLine() {
        if (percent_ >= 0) fmt::print(stderr, "\r{:{}}\r", "", file_.size() + 40);
    }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(double fraction) {
        const int percent = static_cast<int>(100 * fraction);
        if (!shown_ || percent == percent_) return;
        percent_ = percent;
        fmt::print(stderr, "\rlapwing-advise: {} % of {} read", percent, file_);
        std::fflush(stderr);
    }

private:
    static constexpr std::size_t large = std::size_t{8} << 20;
    std::string file_;
    bool shown_;
    int percent_ = -1;
};

[[nodiscard]] model::RecordedTrace read_trace(const Options& options) {
    const std::string text = contents_of(options.trace);
    ProgressLine line{options, text.size()};
    line.show(0);
    return model::parse_trace(text, options.trace, [&](double fraction) { line.show(fraction); });
}

/// Whole or not at all.
void write_advice(const std::string& file, const std::string& text) {
    const std::string unfinished = file + ".unfinished";
    std::ofstream out{unfinished, std::ios::binary};
    out << text;
    out.close();
    if (!out || std::rename(unfinished.c_str(), file.c_str()) != 0)
        throw FileError{fmt::format("{} cannot be written; name another file with --advice", file)};
    fmt::print("{}: what can be followed without changing the program; run it with LAPWING_ADVICE={}\n{}", file, file,
               text);
}

/// What the model predicts of a trace, by the lines at which the slowest rank's intervals begin.
void predict_trace(const Options& options, const model::RecordedTrace& trace,
                   const std::optional<model::CostTables>& tables) {
    if (!tables)
        throw UsageError{
            "a prediction needs measured rates; measure them with `mpirun … lapwing-tune --rates`, with the "
            "options of the run, or name another profile with --profile"};
    predict(options.prediction, trace, *tables, [&](int number) {
        const model::RecordedTrace::OfRank& rank = trace.of_ranks[static_cast<std::size_t>(number)];
        detail::trace::SourceLines lines;
        for (const model::RecordedTrace::File& file : rank.files) lines.add_file(file.path, file.bytes, file.changed);
        for (const auto& interval : rank.intervals) lines.add(places_of(rank, interval.site));
        lines.look_up();
        std::vector<std::string> texts;
        for (const auto& interval : rank.intervals)
            texts.push_back(interval.site.empty() ? "the start" : lines.line(places_of(rank, interval.site)));
        return texts;
    });
}

void run(const Options& options) {
    if (!options.prediction.platforms.empty()) return compare_platforms(options.prediction);
    if (!options.prediction.describe.empty()) return predict(options.prediction);
    const model::RecordedTrace trace = read_trace(options);
    if (const auto setting = trace.settings.find("LAPWING_PRIVATE");
        setting != trace.settings.end() && setting->second == "on")
        throw UsageError{fmt::format("{} is of a run on private memory (LAPWING_PRIVATE=on), which has no accesses; "
                                     "use it as `lapwing-advise --predict TRACE --computation {}`",
                                     options.trace, options.trace)};
    std::vector<std::string> notes;
    std::optional<model::CostTables> tables;
    const std::string& named = options.prediction.profile;
    const std::string profile = named.empty() ? trace.profile : named;
    if (!named.empty() || std::filesystem::exists(profile)) tables = costs(profile);
    if (options.prediction.recorded) return predict_trace(options, trace, tables);
    model::Advice advice = model::advise(trace, tables ? &*tables : nullptr);
    if (!options.advice.empty()) {
        std::error_code none;
        if (std::filesystem::equivalent(options.advice, options.trace, none))
            throw UsageError{fmt::format("--advice {} would overwrite the trace; name another file", options.advice)};
        return write_advice(options.advice, to_text(advice_file(trace, advice), options.trace));
    }
    if (!advice.rated)
        notes.push_back("the rates of this MPI, network and path are not known, so gains are counted in round trips; "
                        "measure them once with `mpirun … lapwing-tune --rates`, with the options of the run");
    detail::trace::SourceLines lines;
    const auto rank_of = [&](const model::AccessUse& use) -> const model::RecordedTrace::OfRank& {
        return trace.of_ranks[static_cast<std::size_t>(use.site_rank)];
    };
    const auto add = [&](const model::RecordedTrace::OfRank& rank, const model::RecordedTrace::Frames& frames) {
        for (const model::RecordedTrace::File& file : rank.files) lines.add_file(file.path, file.bytes, file.changed);
        lines.add(places_of(rank, frames));
    };
    for (const model::AccessUse& use : advice.uses) {
        add(rank_of(use), use.site);
        add(rank_of(use), use.object_site);
    }
    IntervalPlaces places = places_of_intervals(trace);
    for (const auto& [rank, site] : places.found) add(*rank, *site);
    lines.look_up();
    notes.insert(notes.end(), lines.notes().begin(), lines.notes().end());
    for (model::AccessUse& use : advice.uses)
        if (!use.object_site.empty()) use.object_made = lines.line(places_of(rank_of(use), use.object_site));
    Report report{
        .trace = trace, .advice = advice, .interval_places = std::move(places.of_ranks), .notes = std::move(notes)};
    for (const model::AccessUse& use : advice.uses)
        report.lines.push_back(lines.line(places_of(rank_of(use), use.site)));
    for (const auto& [rank, site] : places.found)
        report.places.push_back(site->empty() ? "the start" : lines.line(places_of(*rank, *site)));
    if (options.all) report.most = SIZE_MAX;
    if (!options.html.empty()) {
        std::ofstream out{options.html};
        out << as_html(report) << std::flush;
        if (!out) throw FileError{fmt::format("{} cannot be written; name another file with --html", options.html)};
        if (!options.json) return;
    }
    std::fputs((options.json ? as_json(report) : as_text(report)).c_str(), stdout);
}

} // namespace
} // namespace lapwing::advise

int main(int argument_count, char** arguments) {
    CLI::App app{"Says what a program that ran with LAPWING_TRACE=FILE spends its time on, and what would help."};
    lapwing::advise::Options options;
    auto* const trace = app.add_option("trace", options.trace, "file that LAPWING_TRACE has written");
    app.add_option("--profile", options.prediction.profile,
                   "profile with measured rates; by default the one that the traced run would use");
    lapwing::advise::add_options(app, options.prediction)->excludes(trace);
    app.add_option("--html", options.html, "write a page to this file");
    app.add_option("--advice", options.advice,
                   "write what can be followed without changing the program to this file, for LAPWING_ADVICE");
    app.add_flag("--json", options.json, "print the advice as JSON");
    app.add_flag("--progress", options.progress,
                 "say how much of the trace has been read; by itself on a terminal, for large ones");
    app.add_flag("--all", options.all, "print everything, not the first ten");
    if (const std::optional<int> code = lapwing::tools::parse(app, argument_count, arguments)) return *code;
    if (options.trace.empty() && options.prediction.describe.empty() && options.prediction.platforms.empty()) {
        fmt::print(stderr, "lapwing-advise: name the file of a trace, or --help\n");
        return 2;
    }
    try {
        lapwing::advise::run(options);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-advise: {}\n", error.what());
        return 1;
    }
}
