// lapwing-tune: measures how long contiguous transfers and copies of blocks take on this machine, MPI and network, fits
// the cost model to them, and stores a profile that runtimes find by themselves. Start it as the program will be: with
// the same mpirun options, and on two hosts or more if the program runs on several.
#include "model/copy_model.hpp"
#include "model/measure_transfers.hpp"
#include "model/profile.hpp"
#include "model/transfer_model.hpp"
#include "pipeline/fit_overlap.hpp"
#include "src/kernels/measure_kernels.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/team/team_state.hpp"
#include "tools/command_line.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace lapwing;
using detail::model::Direction;

struct Options {
    double seconds = 40;
    std::uint64_t largest_bytes = 16 * 1024 * 1024;
    std::string output;
    bool print_only = false;
    bool verdict = false;
    bool rates = false;
};

/// For --largest: a model needs several sizes, and both sides allocate this many bytes.
constexpr std::uint64_t least_largest_bytes = 4096;
constexpr std::uint64_t most_largest_bytes = std::uint64_t{1} << 32;

constexpr std::array directions{Direction::put, Direction::get};

/// A rank that rank 0 reaches on this path, or none. Rank 0 decides: only its view counts.
std::optional<Rank> target_on(Team& team, Path path) {
    std::int64_t chosen = -1;
    if (team.rank() == Rank{0})
        for (int rank = 1; rank < team.size(); ++rank)
            if (team.path(Rank{rank}) == path) chosen = rank;
    team.max(std::span{&chosen, 1});
    if (chosen < 0) return {};
    return Rank{static_cast<int>(chosen)};
}

void print_model(Path path, const detail::model::TransferModel& model, Direction direction,
                 const detail::model::FitQuality& quality) {
    fmt::print("\n{} {}: R squared {:.4f}, {:.0f} % of the times within 15 %, overlap {:.2f}\n", name(path),
               name(direction), quality.r_squared, 100 * quality.within_15, model.overlap());
    fmt::print("  {:>12} {:>10} {:>14} {:>12} {:>10} {:>10} {:>12} {:>12}\n", "from bytes", "L us", "L of several us",
               "L ns/byte", "o us", "G ns/byte", "GB/s", "a message us");
    for (const detail::model::TransferLine& line : model.lines())
        fmt::print("  {:>12} {:>10.2f} {:>14.2f} {:>12.4f} {:>10.3f} {:>10.4f} {:>12.2f} {:>12.2f}\n", line.begin_bytes,
                   1e6 * line.latency, 1e6 * line.batch_latency, 1e9 * line.latency_per_byte, 1e6 * line.overhead,
                   1e9 * line.per_byte, line.per_byte > 0 ? 1e-9 / line.per_byte : 0.0, 1e6 * line.message);
}

/// The paper's figure 7: where a put takes longer than the copy that precedes it, copying more of it first is cheap.
void print_quotients(Path path, const detail::model::TransferModel& put, const detail::model::CopyModel& copy) {
    fmt::print("\n{}: T_put / T_copy by size, for blocks of 8, 64 and 1024 bytes with as much between them\n",
               name(path));
    for (std::uint64_t bytes = 1024; bytes <= 16 * 1024 * 1024; bytes *= 8) {
        fmt::print("  {:>12}", bytes);
        for (const std::uint64_t block : {8U, 64U, 1024U}) {
            const detail::model::BlockShape shape{.blocks = bytes / block, .bytes = bytes, .extent_bytes = 2 * bytes};
            fmt::print(" {:>10.2f}", put.time(bytes) / copy.time(shape));
        }
        fmt::print("\n");
    }
}

void print_rates(Path path, const detail::model::MeasuredRates& rates) {
    fmt::print(
        "\n{}: us of an access, by the number of accesses; of barriers, collective calls, locks and one owner, by that "
        "of ranks\n",
        name(path));
    for (const auto& [key, curve] : rates) {
        if (key.starts_with(name(path)) || key.starts_with("own.") || key.starts_with("private.")) {
            fmt::print("  {:<32}", key);
            for (const auto& point : curve.points()) fmt::print(" {}: {:.3g} ", point.accesses, 1e6 * point.seconds);
            fmt::print("\n");
        }
    }
    std::fflush(stdout);
}

/// Collective. Measures the path if the ranks have it, and adds it to the tables on rank 0.
void tune(Path path, const Settings& settings, double seconds, const Options& options,
          detail::model::CostTables& tables) {
    std::optional<Runtime> runtime;
    try {
        runtime.emplace(MPI_COMM_WORLD, settings);
    } catch (const SettingError& error) { // on all ranks alike: the path does not work here
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) fmt::print("\n{}: not measured: {}\n", name(path), error.what());
        return;
    }
    const std::optional<Rank> target = target_on(*runtime, path);
    if (!target) {
        if (runtime->rank() == Rank{0})
            fmt::print("\n{}: not measured: no two of these ranks are connected by it\n", name(path));
        return;
    }
    Window window{*runtime, options.largest_bytes};
    if (runtime->rank() == Rank{0}) {
        const detail::support::AlignedMemory buffer =
            detail::support::allocate_zeroed(options.largest_bytes); // like that of packed chunks
        const std::span memory{buffer.get(), options.largest_bytes};
        const auto cells = detail::model::transfer_grid(options.largest_bytes);
        for (const Direction direction : directions) {
            const auto samples =
                detail::model::measure_transfers(window, *target, direction, cells, memory, 0.35 * seconds);
            detail::model::TransferModel model =
                detail::model::fit_transfers(samples, detail::model::aggregation_of(runtime->state(), path, direction));
            detail::model::refine_changes(model, window, *target, direction, memory, 0.05 * seconds);
            const detail::model::FitQuality quality = detail::model::judge(model, samples);
            constexpr std::uint64_t overlap_bytes = 4 * 1024 * 1024;
            if (path != Path::direct) // there, the processor that would compute is the one that copies
                model.set_overlap(detail::pipeline::fit_overlap(window, *target, direction, model, tables.copy,
                                                                std::min(overlap_bytes, options.largest_bytes / 2),
                                                                memory, 0.1 * seconds));
            tables.transfers(path, direction) = model;
            print_model(path, model, direction, quality);
        }
        print_quotients(path, tables.transfers(path, Direction::put), tables.copy);
        std::fflush(stdout);
    }
    runtime->barrier();
    window.close();
    if (options.rates) {
        tools::measure_access_rates(*runtime, path, options.seconds, tables.rates);
        if (path != Path::direct) // which no cache is for
            tools::measure_mupc_rates(*runtime, path, options.seconds, tables.rates);
        tools::measure_synchronisation(*runtime, path, options.seconds, tables.rates);
        if (runtime->rank() == Rank{0}) print_rates(path, tables.rates);
    }
    runtime->close();
}

void print_copies(const detail::model::CopyModel& copy) {
    fmt::print("\ncopies: ns a block in the cache, by its length in bytes\n  ");
    for (std::size_t i = 0; i < detail::model::CopyModel::lengths.size(); ++i)
        fmt::print("{}: {:.2f}  ", detail::model::CopyModel::lengths[i], 1e9 * copy.block[i]);
    fmt::print("\n  {:.2f} ns more where offsets are read, {:.2f} ns for lengths on top\n", 1e9 * copy.offset,
               1e9 * copy.list);
    fmt::print("  a cache line from memory: {:.2f} ns near the one before, {:.2f} ns in another page\n",
               1e9 * copy.line_near, 1e9 * copy.line_far);
}

/// Installs the fastest copy kernels, and returns where they are not the built-in ones.
std::vector<detail::kernels::CopyChoice> measure_choices(double seconds) {
    const detail::kernels::CopyChoices before;
    const detail::kernels::CopyChoices measured = detail::kernels::measure_copy_kernels(seconds);
    std::vector<detail::kernels::CopyChoice> changed;
    for (const detail::kernels::CopyChoice& choice : measured.entries())
        if (choice.method != before.method(choice.where)) changed.push_back(choice);
    detail::kernels::use_copy_choices(measured);
    fmt::print("copy kernels: {} of {} cells of the table are faster another way than built in\n", changed.size(),
               detail::kernels::CopyChoices::cells);
    return changed;
}

void run(const Options& options) {
    const auto begin = std::chrono::steady_clock::now();
    const Settings given;
    Settings without_profile;
    without_profile.set("LAPWING_PROFILE", "none");   // the new profile is stored there
    without_profile.set("LAPWING_PRIVATE", "off");    // nothing would be measured
    Runtime runtime{MPI_COMM_WORLD, without_profile}; // keeps MPI initialized throughout, and finds the paths
    const bool first = runtime.rank() == Rank{0};
    if (runtime.size() < 2) throw UsageError{"lapwing-tune measures between ranks; start it with mpirun -n 2 at least"};
    const detail::model::ProfileKey key = detail::model::profile_key(runtime);
    detail::model::CostTables tables;
    if (first) {
        fmt::print("machine: {}\nMPI: {}\nnetwork: {}\n", key.machine, key.mpi, key.network);
        tables.choices = measure_choices(0.15 * options.seconds);
        tables.copy = detail::model::measure_copies(0.03 * options.seconds); // with the kernels that will be used
        print_copies(tables.copy);
    }

    const std::string wanted = runtime.settings().text("LAPWING_PATH");
    const double share = 0.8 * options.seconds / (wanted == "auto" ? 3 : 1);
    for (const Path path : {Path::direct, Path::rma, Path::service}) {
        if (wanted != "auto" && wanted != name(path)) continue;
        Settings settings = without_profile;
        settings.set("LAPWING_PATH", path == Path::direct ? "auto" : name(path));
        // On one node only the direct path would be used.
        if (path != Path::direct && runtime.nodes() == 1) settings.set("LAPWING_NODE", "each");
        tune(path, settings, share, options, tables);
    }

    if (first && !options.print_only) {
        const std::string file = options.output.empty() ? detail::model::profile_file(given, key) : options.output;
        if (file.empty()) {
            fmt::print("\nno profile is stored: LAPWING_PROFILE is none, or HOME is not set\n");
        } else {
            detail::model::store_profile(file, detail::model::to_text(key, tables));
            fmt::print("\nprofile: {}\n", file);
        }
    }
    if (first) {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        fmt::print("measured in {:.0f} s\n", taken.count());
        if (options.verdict) std::puts("LAPWING-TEST-VERDICT passed");
        std::fflush(stdout);
    }
    runtime.barrier();
    runtime.close();
}

} // namespace

int main(int argument_count, char** arguments) {
    CLI::App app{
        "Measures transfers and copies, and stores the profile that Lapwing plans with. An MPI program: start it as "
        "the program will be, with two ranks or more."};
    Options options;
    app.add_option("--seconds", options.seconds, "for all measurements together")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    app.add_option("--largest", options.largest_bytes, "bytes of the largest transfer")
        ->transform(CLI::AsSizeValue{false})
        ->check(CLI::Range(least_largest_bytes, most_largest_bytes))
        ->capture_default_str();
    app.add_option("--output", options.output, "file for the profile instead of the one that runtimes look for");
    app.add_flag(
        "--rates", options.rates,
        "also measure single accesses, without a cache, with Lapwing's and with MuPC's, locks, notified puts, "
        "collective "
        "calls and contention, for lapwing-advise: about ten seconds more for each path, and some for each smaller "
        "number of ranks");
    app.add_flag("--print-only", options.print_only, "store nothing");
    app.add_flag("--verdict", options.verdict, "for tests: all is measured and stored, whatever MPI_Finalize does")
        ->group(""); // not in --help
    if (const std::optional<int> code = tools::parse(app, argument_count, arguments)) return *code;
    try {
        run(options);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-tune: {}\n", error.what());
        int initialized = 0;
        int finalized = 0;
        MPI_Initialized(&initialized);
        MPI_Finalized(&finalized);
        if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, 1); // the other ranks would wait for this one
        return 1;
    }
}
