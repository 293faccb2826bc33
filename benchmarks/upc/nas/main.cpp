// lapwing-nas: runs one of the NAS Parallel Benchmarks, in UPC or in plain MPI, and reports it as NPB does. The exit
// code is 0 only if the result is verified.
#include "nas.hpp"
#include "tools/command_line.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace lapwing;
using namespace lapwing::nas;

struct Options {
    const Benchmark* benchmark = nullptr;
    Class size = Class::S;
    Variant variant = Variant::optimised;
    bool cache = false;
};

void print_report(const Options& options, int threads, const Result& result) {
    fmt::print("NAS Parallel Benchmarks: {}\n", options.benchmark->name);
    fmt::print(" Class        = {}\n", letter(options.size));
    fmt::print(" Variant      = {}{}\n", name(options.variant), options.cache ? ", with cache" : "");
    fmt::print(" {:<12} = {}\n", is_mpi(options.variant) ? "Ranks" : "Threads", threads);
    fmt::print(" Seconds      = {:.4f}\n", result.seconds);
    fmt::print(" Mop/s        = {:.2f}\n", result.million_operations / result.seconds);
    fmt::print(" {}\n", result.detail);
    fmt::print(" Verification = {}\n", result.verified ? "successful" : "FAILED");
}

Result run_mpi(const Options& options) {
    // Nothing of Lapwing: neither its progress thread nor the level that it needs.
    MPI_Init(nullptr, nullptr);
    Result result = options.benchmark->run(options.size, options.variant);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) print_report(options, ranks, result);
    MPI_Finalize();
    return result;
}

Result run_upc(const Options& options) {
    Runtime runtime; // starts MPI, so that the number of ranks is known before the heap is made
    Result result;
    {
        const HeapNeeds needs = options.benchmark->heap(options.size, runtime.size());
        upc::ProgramOptions program_options{.heap_bytes = needs.blocks + heap_slack,
                                            .local_heap_bytes = needs.local + heap_slack};
        if (options.cache) program_options.cache.mode = CacheMode::epoch;
        const upc::Program program{program_options};
        result = options.benchmark->run(options.size, options.variant);
        if (upc::mythread() == 0) print_report(options, upc::threads(), result);
    }
    runtime.close();
    return result;
}

} // namespace

int main(int argument_count, char** arguments) {
    CLI::App app{"Runs one of the NAS Parallel Benchmarks, in UPC or in plain MPI"};
    Options options;
    std::string benchmark;
    std::vector<std::string> names;
    for (const Benchmark& each : benchmarks()) names.emplace_back(each.name);
    const std::map<std::string, Class> classes{
        {"T", Class::T}, {"S", Class::S}, {"W", Class::W}, {"A", Class::A}, {"B", Class::B}};
    const std::map<std::string, Variant> variants{{"naive", Variant::naive},
                                                  {"naive-rows", Variant::naive_rows},
                                                  {"naive-mapped", Variant::naive_mapped},
                                                  {"optimised", Variant::optimised},
                                                  {"mpi", Variant::mpi},
                                                  {"mpi-overlapped", Variant::mpi_overlapped}};
    app.add_option("benchmark", benchmark, "which one")->required()->check(CLI::IsMember(names, CLI::ignore_case));
    app.add_option("--class", options.size, "the size of the problem")
        ->transform(CLI::CheckedTransformer(classes, CLI::ignore_case));
    app.add_option(
           "--variant", options.variant,
           "in UPC as one writes it first, the same with upc_memget of rows, in UPC with bulk transfers and casts, "
           "in plain MPI, or in plain MPI that computes while messages travel")
        ->transform(CLI::CheckedTransformer(variants, CLI::ignore_case));
    app.add_flag("--cache", options.cache, "with the cache of other nodes' memory; for UPC");
    if (const std::optional<int> code = tools::parse(app, argument_count, arguments)) return *code;
    options.benchmark = find(benchmark);
    if (options.cache && is_mpi(options.variant)) {
        fmt::print(stderr, "lapwing-nas: --cache is for UPC, not for --variant mpi\n");
        return 2;
    }
    try {
        const Result result = is_mpi(options.variant) ? run_mpi(options) : run_upc(options);
        return result.verified ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "lapwing-nas: {} of class {}: {}\n", options.benchmark->name, letter(options.size),
                   error.what());
        int initialised = 0;
        MPI_Initialized(&initialised);
        if (initialised != 0) MPI_Abort(MPI_COMM_WORLD, 1); // the other ranks may wait for this one
        return 1;
    }
}
