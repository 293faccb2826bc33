// lapwing-bench: measures Lapwing beside plain MPI. scripts/bench builds it, launches it, and prints the tables.
#include "harness.hpp"
#include "tools/command_line.hpp"

#include <lapwing/settings.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <iostream>
#include <map>

namespace {

using namespace lapwing::bench;

void list(bool as_json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Benchmark* benchmark : all_benchmarks()) {
        if (!as_json) {
            fmt::print("{:<24} {}\n", benchmark->name, benchmark->summary);
            continue;
        }
        nlohmann::ordered_json alone = nlohmann::ordered_json::array();
        for (const AloneBaseline& baseline : benchmark->alone) {
            alone.push_back(
                {{"path", baseline.path}, {"bench", baseline.bench}, {"thread_level", baseline.thread_level}});
        }
        all.push_back({{"name", benchmark->name},
                       {"summary", benchmark->summary},
                       {"paths", benchmark->paths},
                       {"alone", std::move(alone)}});
    }
    if (as_json) std::cout << all.dump(2) << '\n';
}

std::vector<const Benchmark*> chosen(const std::vector<std::string>& names) {
    std::vector<const Benchmark*> found;
    for (const std::string& name : names) {
        const auto before = found.size();
        for (const Benchmark* benchmark : all_benchmarks()) {
            if (benchmark->name.starts_with(name)) found.push_back(benchmark);
        }
        if (found.size() == before) {
            throw CLI::ValidationError{
                fmt::format("there is no benchmark '{}'; `lapwing-bench list` names them", name)};
        }
    }
    return found;
}

/// The highest level that Lapwing can use: a progress thread needs MPI_THREAD_MULTIPLE. Without one the level stays
/// below, since Open MPI's windows between TCP hosts refuse to exist at MPI_THREAD_MULTIPLE.
int automatic_level() {
    return lapwing::Settings{}.text("LAPWING_PROGRESS") == "caller" ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
}

int run(const std::vector<const Benchmark*>& benchmarks, const Options& options, const std::string& json_file,
        std::optional<int> thread_level) {
    // Initialised here rather than by the first Runtime, since some benchmarks make several and some none.
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, thread_level.value_or(automatic_level()), &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        MPI_Comm world = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        {
            Context context{world, options};
            for (const Benchmark* benchmark : benchmarks) {
                context.start(benchmark->name, benchmark->default_repetitions);
                benchmark->run(context);
            }
            if (rank == 0 && !json_file.empty()) write_json(json_file, context.rows());
        }
        MPI_Comm_free(&world);
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-bench: rank {}: {}\n", rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1); // the other ranks would wait for this one
    }
    if (rank == 0) {
        // For `scripts/launch --verdict`: all is measured and written, whatever becomes of MPI_Finalize.
        std::puts("LAPWING-TEST-VERDICT passed");
        std::fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

} // namespace

int main(int argument_count, char** arguments) {
    CLI::App app{"Measures Lapwing beside plain MPI, in one run"};
    app.require_subcommand(1);

    bool as_json = false;
    CLI::App* list_command = app.add_subcommand("list", "names the benchmarks");
    list_command->add_flag("--json", as_json, "with what scripts/bench wants to know of each");

    std::vector<std::string> names;
    std::string json_file;
    Options options;
    std::optional<int> thread_level;
    const std::map<std::string, int> levels{{"single", MPI_THREAD_SINGLE},
                                            {"funneled", MPI_THREAD_FUNNELED},
                                            {"serialized", MPI_THREAD_SERIALIZED},
                                            {"multiple", MPI_THREAD_MULTIPLE}};
    CLI::App* run_command = app.add_subcommand("run", "runs benchmarks; an MPI program, 2 ranks unless stated");
    run_command->add_option("NAME", names, "a benchmark or the start of several names")->required();
    run_command->add_option("--json", json_file, "file for the result");
    run_command->add_option("--repetitions", options.repetitions, "of each measurement (default: the benchmark's own)")
        ->check(CLI::PositiveNumber);
    run_command->add_option("--seconds", options.seconds, "length of one measured stretch")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    run_command->add_option("--network", options.network, "the launcher's network: shm, tcp, cluster[:RATE]")
        ->capture_default_str();
    run_command->add_option("--sizes", options.sizes, "in bytes, with the suffixes k and m, for bandwidth/…")
        ->delimiter(',')
        ->transform(CLI::AsSizeValue{false});
    run_command->add_option("--thread-level", thread_level, "asked of MPI (default: what Lapwing's settings need)")
        ->transform(CLI::CheckedTransformer{levels});
    run_command->add_flag("--full", options.full,
                          "for prefetch/…, upc/… and model/predict: the sizes of the publication, which take minutes; "
                          "upc/apex-map/… and model/predict hours; for irregular/… and breadth-first larger graphs");
    run_command->add_flag("--weak", options.weak, "for prefetch/…: sizes grow with the number of ranks");
    run_command->add_flag("--value-only", options.value_only, "without the baselines");

    if (const std::optional<int> code = lapwing::tools::parse(app, argument_count, arguments)) return *code;
    try {
        if (list_command->parsed()) {
            list(as_json);
            return 0;
        }
        return run(chosen(names), options, json_file, thread_level);
    } catch (const std::exception& error) { // a setting that does not exist, before MPI has started
        fmt::print(stderr, "lapwing-bench: {}\n", error.what());
        return 2;
    }
}
