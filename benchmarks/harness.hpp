#pragma once

#include "report.hpp"

#include <lapwing/team.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the benchmarks share: measuring a value and its baselines side by side, and the list of benchmarks.
namespace lapwing::bench {

/// The options of the command line.
struct Options {
    int repetitions = 0;         ///< 0: the benchmark's own number
    double seconds = 0.1;        ///< length of one measured stretch, for benchmarks that choose their iterations
    std::string network = "shm"; ///< what carries the messages, as scripts/bench calls it; only labels and choices
    std::vector<std::uint64_t> sizes = {}; ///< for bandwidth/…; empty: 1 MiB and 64 MiB
    bool full = false;                     ///< for prefetch/…: the sizes of the publication that they are from
    bool weak = false;                     ///< for prefetch/…: sizes are those of a rank's share
    bool value_only = false; ///< leave the baselines out: scripts/bench measures them in processes of their own
};

/// Turns the seconds of one iteration into what a row shows.
struct Quantity {
    std::string metric;
    std::string unit;
    double scale = 1;
    bool rate = false; ///< scale / seconds, more is better; else scale * seconds, less is better

    [[nodiscard]] double of(double seconds) const { return rate ? scale / seconds : scale * seconds; }
};

/// Time of one operation.
[[nodiscard]] inline Quantity nanoseconds() { return {.metric = "time", .unit = "ns", .scale = 1e9}; }
[[nodiscard]] inline Quantity microseconds() { return {.metric = "time", .unit = "us", .scale = 1e6}; }
[[nodiscard]] inline Quantity milliseconds() { return {.metric = "time", .unit = "ms", .scale = 1e3}; }
/// Bandwidth when one iteration moves `bytes`.
[[nodiscard]] inline Quantity gigabytes_per_second(double bytes) {
    return {.metric = "bandwidth", .unit = "GB/s", .scale = bytes * 1e-9, .rate = true};
}

/// One of the things that are compared. `run(iterations)` is collective and returns, on rank 0, the seconds that all
/// the iterations took there; its result elsewhere is ignored. No operation is under way when it returns.
struct Subject {
    std::string name;
    std::function<double(std::uint64_t iterations)> run;
    /// Nonzero: measured with exactly so many iterations, without a warm-up; else the harness finds a number that takes
    /// Options::seconds.
    std::uint64_t iterations = 0;
    /// For a baseline: distinguishes its row from that of the first baseline; appended to the case.
    std::string case_suffix = {};
};

/// The rank that rank 0 measures against, and how Lapwing reaches it from there.
struct Route {
    Rank target;
    Path path = Path::self;
};

/// One process's view of a run of benchmarks.
class Context {
public:
    /// Collective over `world`, which must outlive the context.
    Context(MPI_Comm world, Options options);

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] const Options& options() const { return options_; }
    /// For raw MPI baselines, and the harness itself. Lapwing never sees it.
    [[nodiscard]] MPI_Comm world() const { return world_; }
    [[nodiscard]] int thread_level() const { return thread_level_; }

    /// Whether MPI's windows work on this stack at this thread level. Collective.
    /// False without trying on Open MPI over TCP at MPI_THREAD_MULTIPLE, where mpirun prints a page of text for each
    /// attempt.
    [[nodiscard]] bool windows_work();

    /// Names what the next rows belong to; main does it for each benchmark.
    void start(std::string bench, int default_repetitions);

    /// Chooses the rank to measure against: the last one on another node if there is one, else the last one. The rows
    /// to come name its path. Collective, over a team of all ranks of world(). Throws when there is only one rank.
    Route measure_against(const Team& team);
    /// The same among the ranks that rank 0 reaches on path `path`; none when there is no such rank.
    std::optional<Route> measure_against(const Team& team, Path path);
    /// For rows that belong to no path to another rank.
    void set_path(std::string_view path) { path_ = path; }

    /// Measures `value` and `baselines` in turns (A B C, C B A, …), and adds a row for each baseline, or one row
    /// without a baseline when there is none. Collective.
    ///
    /// A row shows medians over the repetitions; its ratio is the median of the ratios of neighbouring measurements,
    /// which a slow drift of the machine does not change as it changes two medians.
    void compare(const std::string& case_name, const Quantity& quantity, const Subject& value,
                 std::vector<Subject> baselines);

    /// Says why a case has no row here.
    void skip(std::string_view case_name, std::string_view reason);

    /// Adds a row that was not measured by compare(); the context fills in the description of the run.
    void add(Row row);

    /// Rows so far; on rank 0 only.
    [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

private:
    [[nodiscard]] std::optional<Route> choose_route(const Team& team, std::optional<Path> wanted);
    [[nodiscard]] std::uint64_t find_iterations(const Subject& subject) const;
    [[nodiscard]] double seconds_per_iteration(const Subject& subject, std::uint64_t iterations) const;

    MPI_Comm world_;
    Options options_;
    int rank_ = 0;
    int size_ = 0;
    int thread_level_ = 0;
    std::optional<bool> windows_work_;
    std::string bench_;
    std::string path_;
    int repetitions_ = 0;
    std::vector<Row> rows_;
};

class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Keeps the compiler from removing the computation of `value`, or from knowing the value.
template <class T>
inline void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}
/// The same for a value that should stay in a register.
inline void keep_register(std::uint64_t& value) { asm volatile("" : "+r"(value)); }

inline void wait_for_all(Team& team) { team.barrier(); }
inline void wait_for_all(MPI_Comm communicator) { MPI_Barrier(communicator); }
[[nodiscard]] inline bool measures(const Team& team) { return team.rank() == Rank{0}; }
[[nodiscard]] inline bool measures(MPI_Comm communicator) {
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    return rank == 0;
}

/// Seconds that `body` takes on rank 0 while the other ranks are idle: they wait in the barrier of the same library,
/// which disturbs a one-sided operation least.
template <class Ranks, class Body>
double alone(Ranks& ranks, Body&& body) {
    wait_for_all(ranks);
    double seconds = 0;
    if (measures(ranks)) {
        const Stopwatch watch;
        body();
        seconds = watch.seconds();
    }
    wait_for_all(ranks);
    return seconds;
}

/// Seconds until all ranks have run `body`.
template <class Ranks, class Body>
double together(Ranks& ranks, Body&& body) {
    wait_for_all(ranks);
    const Stopwatch watch;
    body();
    wait_for_all(ranks);
    return watch.seconds();
}

/// A baseline to be measured also in processes of its own, where no other library has a thread or a window:
/// scripts/bench runs it and the benchmark in turns.
struct AloneBaseline {
    std::string path;         ///< for runs of the benchmark on this path
    std::string bench;        ///< the benchmark that measures the baseline
    std::string thread_level; ///< single, or empty: the level that the benchmark runs at
};

struct Benchmark {
    std::string name;
    std::string summary;
    std::function<void(Context&)> run; ///< collective
    int default_repetitions = 9;
    /// Paths on which it is meaningful, of direct, rma and service.
    std::vector<std::string> paths = {"direct", "rma", "service"};
    std::vector<AloneBaseline> alone = {};
};

/// Makes a benchmark known: `const Registration here{{.name = "barrier", …}};` in the source that implements it.
class Registration {
public:
    explicit Registration(Benchmark benchmark);
};

/// All benchmarks in the order of their names.
[[nodiscard]] std::vector<const Benchmark*> all_benchmarks();

} // namespace lapwing::bench
