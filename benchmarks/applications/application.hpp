#pragma once

#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// The applications by which Ferguson and Buettner judge their cache: whole programs whose loops read elements of
/// arrays one by one, whoever owns them. Each is written once, runs in several ways, and checks its result. The
/// benchmarks measure them, and a test runs them all.
namespace lapwing::bench::applications {

/// How a program reaches what others own.
enum class Way : std::uint8_t {
    mpi,        ///< plain MPI by hand: each rank is sent what it will read
    elements,   ///< elements of global arrays, one by one, without a cache
    cached,     ///< the same through the cache
    hinted,     ///< and with hints of what will be read soon
    prefetched, ///< the same elements, of which copies are fetched in bulk
    mapped,     ///< mapped arrays
    functions,  ///< functions at the owner, through an Aggregator
};
[[nodiscard]] constexpr std::string_view name(Way way) {
    switch (way) {
    case Way::mpi: return "MPI";
    case Way::elements: return "elements";
    case Way::cached: return "elements, cached";
    case Way::hinted: return "elements, cached, with hints";
    case Way::prefetched: return "elements, prefetched";
    case Way::mapped: return "mapped";
    default: return "functions at the owner";
    }
}

/// The ranks of a run, for both libraries.
struct Ranks {
    Runtime& runtime;
    MPI_Comm world; ///< of the same ranks in the same order; Lapwing never sees it

    [[nodiscard]] int rank() const { return runtime.rank().value; }
    [[nodiscard]] int size() const { return runtime.size(); }
};

/// One program with its input. All calls but operations() are collective.
class Application {
public:
    Application() = default;
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;
    virtual ~Application() = default;

    /// Makes what run() begins with; not part of what is measured.
    virtual void prepare(Way way) = 0;
    /// The whole computation once.
    virtual void run(Way way) = 0;
    /// What is wrong with the result of the last run, which was in this way, as far as this rank sees; empty if
    /// nothing.
    [[nodiscard]] virtual std::string fault(Way way) = 0;
    /// What all ranks have done in a run, for its rate.
    [[nodiscard]] virtual double operations() const = 0;
};

enum class Size : std::uint8_t {
    small, ///< for tests, and where a benchmark only has to run
    measured,
    full, ///< with the option --full
};

/// An input of an application.
struct Input {
    std::string name;
    std::vector<Way> ways; ///< that take a reasonable time with it, besides Way::mpi
    std::function<std::unique_ptr<Application>(Ranks)> make;
    Size size = Size::measured;
};

struct ApplicationKind {
    std::string name; ///< of the benchmark
    std::string summary;
    std::string operations; ///< the word for Application::operations()
    std::vector<Input> inputs;
};

[[nodiscard]] ApplicationKind lulesh();
[[nodiscard]] ApplicationKind minimd();
[[nodiscard]] ApplicationKind ssca2();

[[nodiscard]] std::vector<ApplicationKind> all_applications();

} // namespace lapwing::bench::applications
