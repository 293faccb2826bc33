#pragma once

#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Kernels whose ranks reach into each other's data at places that the data say: each in several ways, with a check of
/// the result. The benchmarks measure them, and a test runs them all.
namespace lapwing::bench::irregular {

/// How ranks reach what others own.
enum class Way {
    mpi,        ///< plain MPI by hand: what ranks have for each other is counted and exchanged by MPI_Alltoallv
    elements,   ///< elements of global arrays, one by one
    lists,      ///< lists of elements: gather, scatter, fetch, compare_swap
    aggregated, ///< element by element through an Aggregator: copies, and functions at the owner
};
/// Whether items are sent to their owners, which keep the data in memory of their own.
[[nodiscard]] constexpr bool sends_items(Way way) { return way == Way::mpi || way == Way::aggregated; }
[[nodiscard]] constexpr std::string_view name(Way way) {
    switch (way) {
    case Way::mpi: return "MPI_Alltoallv";
    case Way::elements: return "elements";
    case Way::lists: return "lists";
    default: return "aggregated";
    }
}

/// The ranks of a run, for both libraries.
struct Ranks {
    Runtime& runtime;
    MPI_Comm world; ///< of the same ranks in the same order; Lapwing never sees it

    [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(runtime.rank().value); }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(runtime.size()); }
};

/// One kernel with its input. All calls but operations() are collective.
class Kernel {
public:
    Kernel() = default;
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
    virtual ~Kernel() = default;

    /// Makes what run() begins with; not part of what is measured.
    virtual void prepare(Way way) = 0;
    /// The whole computation once.
    virtual void run(Way way) = 0;
    /// What is wrong with the result of the last run, which was in this way, as far as this rank sees; empty if
    /// nothing.
    [[nodiscard]] virtual std::string fault(Way way) = 0;
    /// What all ranks have done in a run, for its rate; after fault().
    [[nodiscard]] virtual double operations() const = 0;
};

enum class Size {
    small, ///< also for tests, and where a benchmark only has to run
    measured,
    full, ///< with the option --full
};

/// An input of a kernel.
struct Input {
    std::string name;
    std::vector<Way> ways; ///< that take a reasonable time with it, besides Way::mpi; the best first
    std::function<std::unique_ptr<Kernel>(Ranks)> make;
    Size size = Size::measured;
    bool shows_time = false; ///< instead of a rate
};

struct KernelKind {
    std::string name; ///< of the benchmark
    std::string summary;
    std::string operations; ///< the word for Kernel::operations()
    std::vector<Input> inputs;
};

[[nodiscard]] KernelKind histogram();
[[nodiscard]] KernelKind index_gather();
[[nodiscard]] KernelKind random_permutation();
[[nodiscard]] KernelKind breadth_first();
[[nodiscard]] KernelKind matrix_transpose();
[[nodiscard]] KernelKind matrix_permutation();
[[nodiscard]] KernelKind triangles();
[[nodiscard]] KernelKind topological_sort();
[[nodiscard]] KernelKind shortest_paths();
[[nodiscard]] KernelKind components();

[[nodiscard]] std::vector<KernelKind> all_kernels();

} // namespace lapwing::bench::irregular
