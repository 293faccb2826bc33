#include "predict.hpp"

#include "model/described_trace.hpp"
#include "model/loggp_platform.hpp"
#include "model/platform_type.hpp"
#include "model/profile.hpp"
#include "model/program_description.hpp"
#include "model/recorded_hits.hpp"
#include "model/recorded_trace.hpp"
#include "model/run_time_prediction.hpp"
#include "model/speed_up.hpp"
#include "report.hpp"

#include <lapwing/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace lapwing::advise {
namespace {

namespace model = detail::model;

/// What the counters of a run say (LAPWING_STATS=json:FILE).
[[nodiscard]] model::CountedAccesses counted_accesses(const std::string& text, const std::string& file) {
    const auto counters = nlohmann::json::parse(text, nullptr, false);
    const auto value = [&](const char* counter) {
        const auto found = counters.is_object() ? counters.find(counter) : counters.end();
        if (found == counters.end() || !found->is_number_unsigned())
            throw FileError{
                fmt::format("{} is neither a trace nor statistics of Lapwing; record one with LAPWING_TRACE=FILE, "
                            "or run the program with a cache and LAPWING_STATS=json:FILE",
                            file)};
        return found->get<double>();
    };
    const model::CountedAccesses counted{
        .misses = value("cache_misses"), .passed = value("cache_passed"), .ahead = value("read_ahead_issued")};
    if (value("cache_hits") + counted.misses + counted.passed == 0)
        throw UsageError{fmt::format("{} has no accesses that went through a cache; run the program with "
                                     "LAPWING_CACHE=epoch",
                                     file)};
    return counted;
}

/// Where hit rates come from that the description does not give.
[[nodiscard]] std::string use_hits(const PredictionOptions& options, const model::AccessPlatform::Cache& cache,
                                   model::ProgramDescription& program) {
    if (options.hits.empty()) return "simulated on the description";
    const std::string text = contents_of(options.hits);
    if (!text.starts_with(detail::trace::trace_word)) {
        model::use_counted(program, counted_accesses(text, options.hits), cache);
        return fmt::format("counted in {}", options.hits);
    }
    model::use_recorded_shares(program, model::parse_trace(text, options.hits), cache);
    return fmt::format("simulated on {}", options.hits);
}

/// A path as it was measured, without a cache, or with one by the rates of each pattern.
[[nodiscard]] model::AccessPlatform measured_platform(const model::CostTables& tables, const std::string& profile,
                                                      const std::string& path, int threads,
                                                      model::Caching caching = model::Caching::none) {
    model::AccessPlatform platform = model::measured_platform(tables, path, threads, caching);
    if (platform.rates.empty())
        throw UsageError{fmt::format("the profile {} has no rates of single accesses; measure them with `mpirun … "
                                     "lapwing-tune --rates`",
                                     profile)};
    return platform;
}

/// Everything but the cache.
[[nodiscard]] model::AccessPlatform platform_of(const PredictionOptions& options, const model::CostTables& tables,
                                                int threads) {
    const model::AccessPlatform platform = measured_platform(tables, options.profile, options.path, threads);
    if (options.loggp.empty()) return platform;
    const std::vector<double>& us = options.loggp; // G in nanoseconds
    return model::loggp_platform({1e-6 * us[0], 1e-6 * us[1], 1e-6 * us[2], 1e-9 * us[3]}, threads, platform);
}

[[nodiscard]] std::string parts_text(const model::IntervalCost& cost) {
    const std::string bulk = cost.transfer_seconds > 0
                                 ? fmt::format("bulk transfers and atomics {}, ", time_text(cost.transfer_seconds))
                                 : "";
    return fmt::format("communication {}, {}computation {}, barriers {}, other synchronisation {}",
                       time_text(cost.communication_seconds), bulk, time_text(cost.computation_seconds),
                       time_text(cost.barrier_seconds), time_text(cost.synchronisation_seconds));
}

void print_interval(const model::RunTimePrediction::OfInterval& interval, const model::IntervalCost& cost) {
    fmt::print("{}: {} times {} ({}), {} partitions\n", interval.name, interval.times, time_text(cost.seconds()),
               parts_text(cost), interval.partitions.size());
    for (std::size_t p = 0; p < interval.partitions.size(); ++p) {
        const model::Partition& partition = interval.partitions[p];
        fmt::print("    {}: {} references, remote ones ", partition.object, partition.references.size());
        if (cost.cached.empty()) {
            fmt::print("as {}\n", name(partition.remote));
            continue;
        }
        const model::CachedCost& cached = cost.cached[p];
        fmt::print("{:.1f} % hits in the cache, {} for misses{}\n", 100 * cached.share.hits,
                   time_text(cached.miss_seconds),
                   cached.share.passed > 0 ? fmt::format(", {:.1f} % bypass it", 100 * cached.share.passed) : "");
    }
}

/// The slowest thread, as published; and the critical path, if others wait for more than one thread.
void print_sum(const model::RunTimePrediction& prediction) {
    fmt::print("predicted: {} (thread {})\n", time_text(prediction.seconds), prediction.slowest_thread);
    std::string path;
    for (const auto& interval : prediction.intervals)
        path += fmt::format("{}thread {} in {}", path.empty() ? "" : ", ", interval.waited_for, interval.name);
    constexpr double rounding = 1e-9;
    if (prediction.seconds_with_waits > (1 + rounding) * prediction.seconds)
        fmt::print("critical path: {} ({})\n", time_text(prediction.seconds_with_waits), path);
}

/// What is printed of a number of threads that nothing was measured with.
void print_extrapolation(const model::ProgramDescription& program, const model::AccessPlatform& platform) {
    const bool synchronises = std::ranges::any_of(program.intervals, [](const model::DescribedInterval& interval) {
        return interval.barriers + interval.locks + interval.collectives > 0;
    });
    const bool one_owner =
        std::ranges::any_of(program.objects, [](const model::SharedObject& object) { return object.block == 0; });
    if (platform.measured_ranks > 0 && program.threads > platform.measured_ranks && (synchronises || one_owner))
        fmt::print("note: barriers, locks, collective calls and many threads at one owner were measured with up to {} "
                   "ranks; for {} threads they are extrapolated\n",
                   platform.measured_ranks, program.threads);
}

/// From the G values alone: with the cache's patterns, as the thesis uses them for MuPC's.
void print_speed_up(const PredictionOptions& options, const model::CostTables& tables,
                    const model::ProgramDescription& program, model::AccessPlatform platform) {
    if (options.cached) {
        platform.rates = model::access_rates(tables.rates, options.path, model::Caching::lapwing);
        model::find_exploited(platform);
    }
    const model::SpeedUp result = model::predicted_speed_up(program, platform);
    fmt::print("speed-up: {:.3g} ({} accesses of the sequential program; those of a thread take as long as {:.3g} "
               "private ones)\n",
               result.value(), count_text(static_cast<std::uint64_t>(result.sequential)), result.normalised);
}

} // namespace

std::string contents_of(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (!in.is_open() || in.bad()) throw FileError{fmt::format("{} cannot be read; name a file that is there", file)};
    return text;
}

std::optional<model::CostTables> costs(const std::string& profile) {
    if (profile.empty()) return {};
    model::ProfileKey key;
    return model::read_profile(profile, key);
}

CLI::Option* add_options(CLI::App& app, PredictionOptions& options) {
    auto* const describe = app.add_option("--describe", options.describe,
                                          "predict the run time of the program that this file describes, instead");
    auto* const recorded =
        app.add_flag("--predict", options.recorded, "predict the time of the recorded accesses from rates, instead");
    app.add_option("--computation", options.computation,
                   "for --predict: the trace of the same run with LAPWING_PRIVATE=on, for the time of all of the run")
        ->needs(recorded);
    app.add_option(
           "--platform", options.platforms,
           "the profiles of platforms: what each is good at and how to program it, and with --describe on which "
           "one the program is fastest")
        ->expected(1, 16);
    app.add_option("--path", options.path, "path between nodes, for --describe and --platform")
        ->check(CLI::IsMember({"direct", "rma", "service"}))
        ->capture_default_str();
    auto* const loggp =
        app.add_option(
               "--loggp", options.loggp,
               "for --describe on another network: L, o and g in us, and G in ns a byte; local memory is the profile's")
            ->expected(4)
            ->delimiter(',')
            ->needs(describe);
    app.add_option("--threads", options.threads, "for --describe: instead of the description's")
        ->check(CLI::Range(1, 1'000'000))
        ->needs(describe);
    auto* const cached =
        app.add_flag("--cached", options.cached, "with Lapwing's cache, for --describe")->needs(describe);
    cached->excludes(loggp);
    app.add_option("--cache-bytes", options.cache.bytes, "of that cache")
        ->transform(CLI::AsSizeValue{false})
        ->capture_default_str()
        ->needs(cached);
    app.add_option("--cache-page", options.cache.page_bytes, "bytes of its pages")
        ->transform(CLI::AsSizeValue{false})
        ->capture_default_str()
        ->needs(cached);
    app.add_option("--cache-read-ahead", options.cache.read_ahead_bytes, "bytes that it reads ahead at most")
        ->transform(CLI::AsSizeValue{false})
        ->capture_default_str()
        ->needs(cached);
    app.add_option(
           "--hits", options.hits,
           "for --cached: hit rates of a run without a cache that was traced (LAPWING_TRACE), or counted by one "
           "with a cache (LAPWING_STATS=json:FILE), instead of those of the accesses that are described")
        ->needs(cached);
    app.add_flag(
           "--speed-up", options.speed_up,
           "for --describe: also the speed-up over the sequential program, from the times of single accesses alone")
        ->needs(describe);
    return describe;
}

void predict(const PredictionOptions& options) {
    model::ProgramDescription program = model::parse_description(contents_of(options.describe));
    if (options.threads != 0) program.threads = options.threads;
    if (options.profile.empty())
        throw UsageError{
            "a prediction needs measured rates; measure them with `mpirun … lapwing-tune --rates`, and name "
            "the file that it prints with --profile"};
    const model::CostTables tables = costs(options.profile).value();
    model::AccessPlatform platform = platform_of(options, tables, program.threads);
    if (options.cached) {
        platform.cache = model::cache_on(tables, options.path, options.cache);
        const std::string where = use_hits(options, *platform.cache, program);
        fmt::print("a cache of {} KiB with pages of {} bytes; hits that the description does not give are {}\n",
                   options.cache.bytes / 1024, options.cache.page_bytes, where);
    } else if (std::ranges::any_of(program.intervals, [](const model::DescribedInterval& interval) {
                   return std::ranges::any_of(interval.references, [](const auto& r) { return r.cached.has_value(); });
               })) {
        fmt::print("note: the description's hits= count with --cached only\n");
    }
    const model::RunTimePrediction prediction = model::predict_run_time(program, platform);
    for (const auto& interval : prediction.intervals)
        print_interval(interval, interval.threads[static_cast<std::size_t>(prediction.slowest_thread)]);
    print_sum(prediction);
    print_extrapolation(program, platform);
    if (options.speed_up) print_speed_up(options, tables, program, platform);
}

void predict(const PredictionOptions& options, const model::RecordedTrace& trace, const model::CostTables& tables,
             const std::function<std::vector<std::string>(int rank)>& lines_of_intervals) {
    const model::AccessPlatform platform = measured_platform(tables, options.profile, trace.network_path, trace.ranks);
    std::optional<model::ComputationTimes> computation;
    if (!options.computation.empty())
        computation.emplace(model::parse_trace(contents_of(options.computation), options.computation),
                            options.computation);
    const model::RecordedPrediction prediction =
        model::predict_recorded(trace, platform, computation ? &*computation : nullptr);
    const std::vector<std::string> lines = lines_of_intervals(prediction.slowest_rank);
    for (const auto& interval : prediction.intervals)
        fmt::print("{}: {} times {} ({}); recorded {} in all\n", lines[interval.number], interval.times,
                   time_text(interval.cost.seconds()), parts_text(interval.cost), time_text(interval.recorded_seconds));
    if (prediction.elsewhere_seconds > 0)
        fmt::print("computation in intervals that the trace does not have: {}\n",
                   time_text(prediction.elsewhere_seconds));
    fmt::print("predicted: {} (rank {}){}\n", time_text(prediction.seconds), prediction.slowest_rank,
               computation ? "" : ", without the computation, which --computation adds");
}

namespace {

/// A platform by one of its profiles, with the cache or without it.
struct ComparedPlatform {
    std::string name;
    model::PlatformMatrix matrix;
    model::PlatformType type;
    std::optional<double> seconds = {}; ///< of the program that is described
};

void print_platform(const ComparedPlatform& platform) {
    const model::PlatformMatrix& matrix = platform.matrix;
    fmt::print(
        "{}: {} (type {})\n    a read takes {} at a random place, {} at small distances, {} in order; an own element "
        "{}, private memory {}\n    how to program it: {}\n    in return: {}\n",
        platform.name, platform.type.name(), platform.type.number(), time_text(matrix.baseline),
        time_text(matrix.coalesce), time_text(matrix.vector), time_text(matrix.local), time_text(matrix.plain),
        platform.type.style, platform.type.trade_off);
    fmt::print(
        "    degree of concurrency G: {:.3g} at random places, {:.3g} at small distances, {:.3g} in order, {:.3g} "
        "for own elements\n",
        matrix.baseline / matrix.plain, matrix.coalesce / matrix.plain, matrix.vector / matrix.plain,
        matrix.local / matrix.plain);
    for (const std::string& bottleneck : platform.type.bottlenecks) fmt::print("    slow: {}\n", bottleneck);
}

} // namespace

void compare_platforms(const PredictionOptions& options) {
    std::optional<model::ProgramDescription> program;
    if (!options.describe.empty()) {
        program = model::parse_description(contents_of(options.describe));
        if (options.threads != 0) program->threads = options.threads;
    }
    std::vector<ComparedPlatform> found;
    for (const std::string& profile : options.platforms) {
        const model::CostTables tables = costs(profile).value();
        using model::Caching;
        constexpr std::array<std::pair<Caching, const char*>, 3> caches{
            {{Caching::none, ""}, {Caching::lapwing, ", with the cache"}, {Caching::mupc, ", with MuPC's cache"}}};
        for (const auto& [caching, suffix] : caches) {
            if (caching != Caching::none && model::access_rates(tables.rates, options.path, caching)
                                                .of(model::AccessPattern::vector, false)
                                                .empty())
                continue;
            ComparedPlatform platform{.name = profile + suffix,
                                      .matrix = model::platform_matrix(tables.rates, options.path, caching),
                                      .type = {}};
            platform.type = model::platform_type(platform.matrix);
            if (program)
                platform.seconds = model::predict_run_time(*program, measured_platform(tables, profile, options.path,
                                                                                       program->threads, caching))
                                       .seconds;
            found.push_back(std::move(platform));
        }
    }
    std::ranges::stable_sort(found, {}, [](const ComparedPlatform& p) { return p.seconds.value_or(0); });
    for (const ComparedPlatform& platform : found) print_platform(platform);
    if (!program) return;
    fmt::print("the program, on the fastest first:\n");
    for (const ComparedPlatform& platform : found)
        fmt::print("    {}: {}\n", platform.name, time_text(*platform.seconds));
}

} // namespace lapwing::advise
