// progress/halo: a stencil whose ranks exchange halos after each step of about a millisecond. The progress thread must
// serve the exchange and leave the processors to the computation.
#include "harness.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::size_t columns = 1024;
constexpr std::size_t rows = 768; ///< of each rank
constexpr std::size_t row_bytes = columns * sizeof(double);
constexpr int tag = 5;

/// A rank's rows of two grids, with a row above and one below for those of its neighbours.
class Block {
public:
    Block() : grids_{std::vector<double>((rows + 2) * columns, 1.0), std::vector<double>((rows + 2) * columns, 1.0)} {}

    [[nodiscard]] std::span<double> row(std::size_t grid, std::size_t index) {
        return std::span{grids_[grid]}.subspan(index * columns, columns);
    }
    /// From grid `from` to the other: the mean of the four neighbours.
    void step(std::size_t from) {
        const double* const in = grids_[from].data();
        double* const out = grids_[1 - from].data();
        for (std::size_t i = 1; i <= rows; ++i)
            for (std::size_t j = 1; j + 1 < columns; ++j) {
                const std::size_t at = i * columns + j;
                out[at] = 0.25 * (in[at - columns] + in[at + columns] + in[at - 1] + in[at + 1]);
            }
    }

private:
    std::array<std::vector<double>, 2> grids_;
};

/// The ranks above and below, or none.
struct Neighbours {
    int above = MPI_PROC_NULL;
    int below = MPI_PROC_NULL;

    explicit Neighbours(const Context& context) {
        if (context.rank() > 0) above = context.rank() - 1;
        if (context.rank() + 1 < context.size()) below = context.rank() + 1;
    }
};

/// Halos come by notified puts into a window: for each grid one from above and one from below.
double by_notified_puts(Runtime& runtime, Window& window, Block& block, const Neighbours& neighbours,
                        std::uint64_t steps) {
    const auto place = [](std::size_t grid, bool from_above) { return (2 * grid + (from_above ? 0 : 1)) * row_bytes; };
    const auto halos = window.local_as<double>();
    return together(runtime, [&] {
        for (std::uint64_t i = 0; i < steps; ++i) {
            const std::size_t grid = i % 2;
            // A neighbour is at most one step ahead: it waits for this rank's halo. So two sets of places and counters
            // do.
            if (neighbours.above != MPI_PROC_NULL)
                window.put_notify(Rank{neighbours.above}, Offset{place(grid, false)}, block.row(grid, 1),
                                  static_cast<unsigned>(2 * grid + 1));
            if (neighbours.below != MPI_PROC_NULL)
                window.put_notify(Rank{neighbours.below}, Offset{place(grid, true)}, block.row(grid, rows),
                                  static_cast<unsigned>(2 * grid));
            const auto take = [&](bool from_above, std::size_t row) {
                window.wait_notified(static_cast<unsigned>(2 * grid + (from_above ? 0 : 1)));
                std::ranges::copy(halos.subspan(place(grid, from_above) / sizeof(double), columns),
                                  block.row(grid, row).begin());
            };
            if (neighbours.above != MPI_PROC_NULL) take(true, 0);
            if (neighbours.below != MPI_PROC_NULL) take(false, rows + 1);
            block.step(grid);
        }
    });
}

double by_messages(MPI_Comm world, Block& block, const Neighbours& neighbours, std::uint64_t steps) {
    constexpr int count = columns;
    return together(world, [&] {
        for (std::uint64_t i = 0; i < steps; ++i) {
            const std::size_t grid = i % 2;
            std::array<MPI_Request, 4> requests{};
            MPI_Irecv(block.row(grid, 0).data(), count, MPI_DOUBLE, neighbours.above, tag, world, &requests[0]);
            MPI_Irecv(block.row(grid, rows + 1).data(), count, MPI_DOUBLE, neighbours.below, tag, world, &requests[1]);
            MPI_Isend(block.row(grid, 1).data(), count, MPI_DOUBLE, neighbours.above, tag, world, &requests[2]);
            MPI_Isend(block.row(grid, rows).data(), count, MPI_DOUBLE, neighbours.below, tag, world, &requests[3]);
            MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
            block.step(grid);
        }
    });
}

void halo(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const Neighbours neighbours{context};
    Window window{runtime, 4 * row_bytes};
    Block block;
    const Subject value{.name = "notified puts", .run = [&](std::uint64_t steps) {
                            return by_notified_puts(runtime, window, block, neighbours, steps);
                        }};
    const Subject messages{.name = "MPI_Isend, MPI_Irecv, MPI_Waitall", .run = [&](std::uint64_t steps) {
                               return by_messages(context.world(), block, neighbours, steps);
                           }};
    context.compare("1024 x 768 a rank", microseconds(), value, {messages});
    window.close();
    runtime.close();
}

const Registration registration{
    {.name = "progress/halo",
     .summary = "stencil steps of about 1 ms with a halo exchange each, against plain messages",
     .run = halo}};

} // namespace
} // namespace lapwing::bench
