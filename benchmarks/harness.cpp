#include "harness.hpp"

#include "machine.hpp"
#include "median.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

namespace lapwing::bench {
namespace {

std::map<std::string, Benchmark, std::less<>>& registry() {
    // A function's static: registrations are static objects of many sources, constructed in any order.
    static std::map<std::string, Benchmark, std::less<>> benchmarks;
    return benchmarks;
}

void print(const std::string& text) {
    std::puts(text.c_str());
    std::fflush(stdout);
}

} // namespace

Registration::Registration(Benchmark benchmark) {
    std::string name = benchmark.name;
    if (!registry().emplace(std::move(name), std::move(benchmark)).second) {
        throw std::logic_error{"two benchmarks have the same name"};
    }
}

std::vector<const Benchmark*> all_benchmarks() {
    std::vector<const Benchmark*> all;
    for (const auto& [name, benchmark] : registry()) all.push_back(&benchmark);
    return all;
}

Context::Context(MPI_Comm world, Options options) : world_{world}, options_{std::move(options)} {
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    MPI_Query_thread(&thread_level_);
}

bool Context::windows_work() {
    if (windows_work_) return *windows_work_;
    if (mpi_name() == "openmpi" && options_.network != "shm" && thread_level_ == MPI_THREAD_MULTIPLE) {
        windows_work_ = false;
        return false;
    }
    MPI_Comm trial = MPI_COMM_NULL;
    MPI_Comm_dup(world_, &trial);
    MPI_Comm_set_errhandler(trial, MPI_ERRORS_RETURN);
    void* memory = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    int works = MPI_Win_allocate(64, 1, MPI_INFO_NULL, trial, &memory, &window) == MPI_SUCCESS ? 1 : 0;
    int all_work = 0;
    MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_MIN, trial);
    if (all_work != 0) MPI_Win_free(&window);
    MPI_Comm_free(&trial);
    windows_work_ = all_work != 0;
    return *windows_work_;
}

void Context::start(std::string bench, int default_repetitions) {
    bench_ = std::move(bench);
    path_ = "raw";
    repetitions_ = options_.repetitions > 0 ? options_.repetitions : default_repetitions;
}

std::optional<Route> Context::choose_route(const Team& team, std::optional<Path> wanted) {
    // Ranks may find different paths, but all must run the same baselines: rank 0 chooses.
    int chosen[2] = {-1, 0};
    if (rank_ == 0) {
        const auto far = [](Path path) { return path == Path::rma || path == Path::service; };
        for (int rank = 1; rank < team.size(); ++rank) {
            const Path path = team.path(Rank{rank});
            if (wanted && path != *wanted) continue;
            if (chosen[0] >= 0 && far(static_cast<Path>(chosen[1])) && !far(path)) continue;
            chosen[0] = rank;
            chosen[1] = static_cast<int>(path);
        }
    }
    MPI_Bcast(chosen, 2, MPI_INT, 0, world_);
    if (chosen[0] < 0) return {};
    const Route route{Rank{chosen[0]}, static_cast<Path>(chosen[1])};
    set_path(name(route.path));
    return route;
}

Route Context::measure_against(const Team& team) {
    if (const auto route = choose_route(team, {})) return *route;
    throw std::runtime_error{fmt::format("{} needs at least 2 ranks", bench_)};
}

std::optional<Route> Context::measure_against(const Team& team, Path path) { return choose_route(team, path); }

double Context::seconds_per_iteration(const Subject& subject, std::uint64_t iterations) const {
    // Earlier measurements have left the caches, the branch predictors and the progress threads in some state.
    if (subject.iterations == 0) (void)subject.run(std::max<std::uint64_t>(1, iterations / 20));
    return subject.run(iterations) / static_cast<double>(iterations);
}

std::uint64_t Context::find_iterations(const Subject& subject) const {
    if (subject.iterations != 0) return subject.iterations;
    std::uint64_t iterations = 1;
    while (true) {
        double seconds = subject.run(iterations);
        // Rank 0 alone knows the time; all must come to the same number.
        MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, world_);
        if (seconds >= options_.seconds / 4) {
            const double wanted = static_cast<double>(iterations) * options_.seconds / seconds;
            return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(wanted)));
        }
        iterations *= seconds < options_.seconds / 100 ? 8 : 3;
    }
}

void Context::compare(const std::string& case_name, const Quantity& quantity, const Subject& value,
                      std::vector<Subject> baselines) {
    if (options_.value_only) baselines.clear();
    std::vector<const Subject*> subjects{&value};
    for (const Subject& baseline : baselines) subjects.push_back(&baseline);
    std::vector<std::uint64_t> iterations;
    iterations.reserve(subjects.size());
    for (const Subject* subject : subjects) iterations.push_back(find_iterations(*subject));

    std::vector<std::vector<double>> measured(subjects.size());
    for (int repetition = 0; repetition < repetitions_; ++repetition) {
        for (std::size_t turn = 0; turn < subjects.size(); ++turn) {
            const std::size_t i = repetition % 2 == 0 ? turn : subjects.size() - 1 - turn;
            measured[i].push_back(quantity.of(seconds_per_iteration(*subjects[i], iterations[i])));
        }
    }

    const auto [lowest, highest] = std::ranges::minmax(measured[0]);
    Row row{.case_name = case_name,
            .metric = quantity.metric,
            .value = median(measured[0]),
            .unit = quantity.unit,
            .baseline = "none",
            .min = lowest,
            .max = highest,
            .repetitions = repetitions_};
    if (baselines.empty()) add(row);
    for (std::size_t i = 0; i < baselines.size(); ++i) {
        std::vector<double> ratios;
        for (std::size_t repetition = 0; repetition < measured[0].size(); ++repetition) {
            const double ratio = measured[0][repetition] / measured[i + 1][repetition];
            ratios.push_back(quantity.rate ? ratio : 1 / ratio);
        }
        row.case_name = case_name + baselines[i].case_suffix;
        row.baseline = baselines[i].name;
        row.baseline_value = median(measured[i + 1]);
        row.ratio = median(ratios);
        add(row);
    }
}

void Context::skip(std::string_view case_name, std::string_view reason) {
    if (rank_ == 0) print(fmt::format("{}: {}: left out: {}", bench_, case_name, reason));
}

void Context::add(Row row) {
    if (rank_ != 0) return; // the others have no times
    row.bench = bench_;
    row.mpi = mpi_name();
    row.network = options_.network;
    row.path = path_;
    row.ranks = size_;
    print(line(row));
    rows_.push_back(std::move(row));
}

} // namespace lapwing::bench
