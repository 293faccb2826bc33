// lapwing-advise: shows where a program traced by LAPWING_TRACE spends its time, and what would help. No MPI program.
#include "model/advice.hpp"
#include "model/advice_file.hpp"
#include "model/loggp_platform.hpp"
#include "model/profile.hpp"
#include "model/program_description.hpp"
#include "model/recorded_trace.hpp"
#include "model/run_time_prediction.hpp"
#include "report.hpp"
#include "src/trace/source_lines.hpp"

#include <lapwing/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace lapwing::advise {
namespace {

namespace model = detail::model;

struct Options {
    std::string trace;
    std::string profile;
    std::string describe;
    std::string path = "service";
    std::string html;
    std::string advice;
    std::vector<double> loggp;
    int threads = 0;
    bool cached = false;
    bool json = false;
    bool all = false;
    bool progress = false;
};

std::string contents_of(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (!in.is_open() || in.bad()) throw FileError{fmt::format("{} cannot be read; name a file that is there", file)};
    return text;
}

std::optional<model::CostTables> costs(const std::string& file) {
    if (file.empty()) return {};
    model::ProfileKey key;
    return model::read_profile(file, key);
}

/// A description, and the model's prediction for it.
void predict(const Options& options) {
    if (options.cached && !options.loggp.empty())
        throw UsageError{"--cached has the rates of a cache that were measured on this network, and --loggp describes "
                         "another one; leave one of them out"};
    model::ProgramDescription program = model::parse_description(contents_of(options.describe));
    if (options.threads != 0) program.threads = options.threads;
    if (options.profile.empty())
        throw UsageError{
            "a prediction needs measured rates; measure them with `mpirun … lapwing-tune --rates`, and name "
            "the file that it prints with --profile"};
    const std::optional<model::CostTables> tables = costs(options.profile);
    model::AccessPlatform platform{.rates = model::access_rates(tables->rates, options.path, options.cached)};
    if (platform.rates.empty())
        throw UsageError{fmt::format("the profile {} has no rates of single accesses; measure them with `mpirun … "
                                     "lapwing-tune --rates`",
                                     options.profile)};
    platform.vectorises = platform.coalesces = options.cached;
    model::use_synchronisation(platform, tables->rates, options.path, program.threads);
    platform.private_seconds = model::rate_of(tables->rates, "private.read").seconds(1u << 14);
    if (!options.loggp.empty()) {
        const std::vector<double>& us = options.loggp; // G in nanoseconds
        platform = model::loggp_platform({1e-6 * us[0], 1e-6 * us[1], 1e-6 * us[2], 1e-9 * us[3]}, program.threads,
                                         platform.rates, platform.private_seconds);
    }
    const model::RunTimePrediction prediction = model::predict_run_time(program, platform);
    for (const auto& interval : prediction.intervals) {
        const model::IntervalCost& cost = interval.threads[static_cast<std::size_t>(prediction.slowest_thread)];
        fmt::print("{}: {} times {} (communication {}, computation {}, barriers {}, other synchronisation {}), {} "
                   "partitions\n",
                   interval.name, interval.times, time_text(cost.seconds()), time_text(cost.communication_seconds),
                   time_text(cost.computation_seconds), time_text(cost.barrier_seconds),
                   time_text(cost.synchronisation_seconds), interval.partitions.size());
        for (const model::Partition& partition : interval.partitions)
            fmt::print("    {}: {} references, remote ones as {}\n", partition.object, partition.references.size(),
                       name(partition.remote));
    }
    fmt::print("predicted: {} (thread {})\n", time_text(prediction.seconds), prediction.slowest_thread);
}

[[nodiscard]] std::vector<detail::trace::CodePlace> places_of(const model::RecordedTrace::OfRank& rank,
                                                              const model::RecordedTrace::Frames& frames) {
    std::vector<detail::trace::CodePlace> places;
    for (const model::RecordedTrace::Frame& frame : frames)
        places.push_back({rank.files[frame.file].path, frame.offset});
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

void run(const Options& options) {
    if (!options.describe.empty()) return predict(options);
    const model::RecordedTrace trace = read_trace(options);
    std::vector<std::string> notes;
    std::optional<model::CostTables> tables;
    const std::string profile = options.profile.empty() ? trace.profile : options.profile;
    if (!options.profile.empty() || std::filesystem::exists(profile)) tables = costs(profile);
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
    const model::RecordedTrace::OfRank& first = trace.of_ranks.front();
    const auto add = [&](const model::RecordedTrace::OfRank& rank, const model::RecordedTrace::Frames& frames) {
        for (const model::RecordedTrace::File& file : rank.files) lines.add_file(file.path, file.bytes, file.changed);
        lines.add(places_of(rank, frames));
    };
    for (const model::AccessUse& use : advice.uses) {
        add(rank_of(use), use.site);
        add(rank_of(use), use.object_site);
    }
    for (const auto& interval : first.intervals) add(first, interval.site);
    lines.look_up();
    notes.insert(notes.end(), lines.notes().begin(), lines.notes().end());
    for (model::AccessUse& use : advice.uses)
        if (!use.object_site.empty()) use.object_made = lines.line(places_of(rank_of(use), use.object_site));
    Report report{.trace = trace, .advice = advice, .notes = std::move(notes)};
    for (const model::AccessUse& use : advice.uses)
        report.lines.push_back(lines.line(places_of(rank_of(use), use.site)));
    for (const auto& interval : first.intervals)
        report.intervals.push_back(interval.site.empty() ? "the start" : lines.line(places_of(first, interval.site)));
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
    auto* const describe = app.add_option("--describe", options.describe,
                                          "predict the run time of the program that this file describes, instead");
    trace->excludes(describe);
    app.add_option("--profile", options.profile,
                   "profile with measured rates; by default the one that the traced run would use");
    app.add_option("--path", options.path, "path between nodes, for --describe")
        ->check(CLI::IsMember({"direct", "rma", "service"}))
        ->capture_default_str();
    app.add_option(
           "--loggp", options.loggp,
           "for --describe on another network: L, o and g in us, and G in ns a byte; local memory is the profile's")
        ->expected(4)
        ->delimiter(',');
    app.add_option("--threads", options.threads, "for --describe: instead of the description's")
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--cached", options.cached, "with Lapwing's cache, for --describe");
    app.add_option("--html", options.html, "write a page to this file");
    app.add_option("--advice", options.advice,
                   "write what can be followed without changing the program to this file, for LAPWING_ADVICE");
    app.add_flag("--json", options.json, "print the advice as JSON");
    app.add_flag("--progress", options.progress,
                 "say how much of the trace has been read; by itself on a terminal, for large ones");
    app.add_flag("--all", options.all, "print everything, not the first ten");
    CLI11_PARSE(app, argument_count, arguments);
    if (options.trace.empty() && options.describe.empty()) {
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
