#pragma once

#include "harness.hpp"
#include "raw_window.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Non-contiguous puts and gets of one shape, by all available methods.
namespace lapwing::bench {

/// "4 KiB".
[[nodiscard]] std::string size_name(std::uint64_t bytes);

/// A shape: `total` bytes in blocks of `block`, `stride` bytes apart (on average, where they are indexed), and which
/// way they go.
struct StridedCell {
    std::uint64_t block = 0;
    std::uint64_t stride = 0;
    std::uint64_t total = 0;
    bool indexed = false;        ///< distances differ from block to block
    bool target_strided = false; ///< the other rank's side has the same layout; else it is contiguous
    bool get = false;            ///< from the other rank; else to it

    [[nodiscard]] std::uint64_t blocks() const { return total / block; }
    [[nodiscard]] std::uint64_t bytes() const { return blocks() * block; }
    [[nodiscard]] std::uint64_t extent() const { return (blocks() + 1) * stride; }
    [[nodiscard]] std::string name() const;
    /// On this rank's side, and on the other's.
    [[nodiscard]] Layout here() const;
    [[nodiscard]] Layout there() const;
};

/// Median seconds of each way to make the same transfer, and how the planner decided.
struct StridedTimes {
    struct Way {
        std::string name;
        double seconds = 0;
    };
    std::vector<Way> forced; ///< strategies, where they do not take too long
    double planned = 0;
    double predicted = 0; ///< of the planned transfer
    std::string strategy; ///< that the planner chose
    double packing = 0;   ///< of copying alone
    double wire = 0;      ///< of a contiguous transfer of as many bytes
    int repetitions = 0;
    std::optional<double> raw; ///< MPI_Put or MPI_Get with derived datatypes + MPI_Win_flush

    [[nodiscard]] const Way& best() const;
    [[nodiscard]] std::optional<double> of(std::string_view name) const;
};

/// Measures cells between rank 0 and the target of a route. Collective.
class StridedBench {
public:
    StridedBench(Context& context, Runtime& runtime, Route route, std::uint64_t most_extent);
    ~StridedBench();
    StridedBench(const StridedBench&) = delete;
    StridedBench& operator=(const StridedBench&) = delete;

    /// What is measured beside the planned transfer.
    struct Beside {
        bool pipelines = false; ///< all strategies; else only one by one and full pack
        bool parts = false;     ///< packing alone, and a contiguous transfer
        bool raw = false;       ///< MPI's derived datatypes
        bool paper = false;     ///< the pipelines with the paper's own sizes, FP(20 KB) and SP(20 KB, 1.3)
    };
    /// Measures all ways in turns; times on rank 0 only. A cell that needs more memory than `most_extent` is counted in
    /// left_out() and not measured.
    std::optional<StridedTimes> measure(const StridedCell& cell, const Beside& beside);
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

private:
    struct NamedPlan {
        std::string name;
        Plan plan;
    };

    /// The automatic plan, and then those that it is compared with.
    std::vector<NamedPlan> plans_of(const StridedCell& cell, const Beside& beside);
    void execute(Plan& plan, bool get);
    void pack_or_unpack(const StridedCell& cell, const Layout& here, std::span<std::byte> packed);
    void transfer_contiguous(const StridedCell& cell, std::span<std::byte> packed);
    void transfer_raw(const StridedCell& cell, MPI_Datatype type);
    StridedTimes measure_all(const StridedCell& cell, const Beside& beside);
    /// Seconds of one call of each way, in each repetition; slow ways are measured once.
    std::vector<std::vector<double>> times(const std::vector<std::function<void()>>& ways);

    Context& context_;
    Runtime& runtime_;
    Route route_;
    std::uint64_t most_extent_;
    std::uint64_t left_out_ = 0;
    int repetitions_;
    double stretch_seconds_; ///< of one measurement of a short transfer
    bool shaped_;            ///< by a token bucket
    Window window_;
    std::optional<raw::Window> raw_window_;
    std::vector<std::byte> memory_;
};

} // namespace lapwing::bench
