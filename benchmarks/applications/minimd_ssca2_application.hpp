#pragma once

#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Whole programs that publications on PGAS caches and prefetch are judged on, each in several ways, with a check of
/// the result.
namespace lapwing::bench::applications {

/// How ranks reach what others own.
enum class Way : std::uint8_t {
    mpi,        ///< plain MPI by hand
    elements,   ///< elements of global arrays, one by one, without a cache unless LAPWING_CACHE turns it on
    cached,     ///< the same through the cache
    hinted,     ///< and with hints of what will be read soon
    prefetched, ///< the same elements, from copies that a pattern has named
    mapped,     ///< plain pointers into mapped arrays, refreshed in bulk
    functions,  ///< functions at the owner, through an Aggregator
};
[[nodiscard]] constexpr std::string_view name(Way way) {
    switch (way) {
    case Way::mpi: return "MPI";
    case Way::elements: return "elements";
    case Way::cached: return "cached";
    case Way::hinted: return "hinted";
    case Way::prefetched: return "prefetched";
    case Way::mapped: return "mapped";
    default: return "functions";
    }
}

/// The ranks of a run, for both libraries.
struct Ranks {
    Runtime& runtime;
    MPI_Comm world; ///< of the same ranks in the same order; Lapwing never sees it

    [[nodiscard]] int rank() const { return runtime.rank().value; }
    [[nodiscard]] int size() const { return runtime.size(); }
};

/// One application with its input. All calls but operations() are collective.
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
    /// What all ranks have done in a run, for its rate; after fault().
    [[nodiscard]] virtual double operations() const = 0;
    /// The result of the last run in a line or two; after fault().
    [[nodiscard]] virtual std::string result() const = 0;
};

enum class Size : std::uint8_t {
    small, ///< also for tests, and where a benchmark only has to run
    measured,
    full, ///< with the option --full
};

/// An input of an application.
struct Input {
    std::string name;
    std::vector<Way> ways; ///< that take a reasonable time with it, besides Way::mpi; the best first
    std::function<std::unique_ptr<Application>(Ranks)> make;
    Size size = Size::measured;
};

struct ApplicationKind {
    std::string name; ///< of the benchmark
    std::string summary;
    std::string operations; ///< the word for Application::operations()
    std::vector<Input> inputs;
};

[[nodiscard]] ApplicationKind minimd();
[[nodiscard]] ApplicationKind ssca2();

} // namespace lapwing::bench::applications
