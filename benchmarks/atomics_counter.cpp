// atomics/counter: fetch-and-add on one counter. A wrong sum ends the run.
#include "harness.hpp"
#include "raw_messages.hpp"
#include "raw_window.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

namespace lapwing::bench {
namespace {

/// The value of the counter that this rank expects after each measurement.
struct Expected {
    std::int64_t value = 0;

    void check(std::int64_t counter, std::uint64_t added, const char* who) {
        value += static_cast<std::int64_t>(added);
        if (counter != value) {
            throw std::runtime_error{
                fmt::format("atomics/counter: {}: the counter is {} instead of {}", who, counter, value)};
        }
    }
};

void check_growth(std::int64_t before, std::int64_t last, const char* who) {
    if (before <= last) {
        throw std::runtime_error{fmt::format(
            "atomics/counter: {}: fetch-and-add returned {} after it had returned {} to this rank", who, before, last)};
    }
}

void counter(Context& context) {
    Runtime runtime;
    const auto [target, path] = context.measure_against(runtime);
    Window window{runtime, sizeof(std::int64_t)};
    MPI_Comm world = context.world();
    std::optional<raw::Window> raw_window;
    if (context.windows_work()) raw_window.emplace(context, sizeof(std::int64_t));
    // Offset 0 of rank 0 counts the additions of all ranks, that of `target` those of rank 0.
    Expected of_all, of_one, raw_of_all, raw_of_one;
    const auto ranks = static_cast<std::uint64_t>(context.size());

    const auto add = [&](Rank home, std::uint64_t iterations) {
        std::int64_t last = -1;
        for (std::uint64_t i = 0; i < iterations; ++i) {
            const std::int64_t before = window.atomic<std::int64_t>(home, Offset{0}).fetch_add(1);
            check_growth(before, last, "lapwing");
            last = before;
        }
    };
    const auto raw_add = [&](int home, std::uint64_t iterations) {
        std::int64_t last = -1;
        for (std::uint64_t i = 0; i < iterations; ++i) {
            const std::int64_t before = raw_window->fetch_increment(home);
            check_growth(before, last, "MPI_Fetch_and_op");
            last = before;
        }
    };

    const Subject all{.name = "lapwing", .run = [&](std::uint64_t iterations) {
                          const double seconds = together(runtime, [&] { add(Rank{0}, iterations); });
                          of_all.check(window.atomic<std::int64_t>(Rank{0}, Offset{0}).load(), iterations * ranks,
                                       "lapwing");
                          runtime.barrier(); // nobody adds again before everybody has read
                          return seconds;
                      }};
    const Subject one{.name = "lapwing", .run = [&, target = target](std::uint64_t iterations) {
                          const double seconds = alone(runtime, [&] { add(target, iterations); });
                          of_one.check(window.atomic<std::int64_t>(target, Offset{0}).load(), iterations, "lapwing");
                          runtime.barrier();
                          return seconds;
                      }};
    std::vector<Subject> raw_all, raw_one;
    if (raw_window) {
        raw_all.push_back({.name = "MPI_Fetch_and_op + MPI_Win_flush", .run = [&](std::uint64_t iterations) {
                               const double seconds = together(world, [&] { raw_add(0, iterations); });
                               raw_of_all.check(raw_window->atomic_read(0), iterations * ranks, "MPI_Fetch_and_op");
                               MPI_Barrier(world);
                               return seconds;
                           }});
        raw_one.push_back(
            {.name = "MPI_Fetch_and_op + MPI_Win_flush", .run = [&, target = target](std::uint64_t iterations) {
                 const double seconds = alone(world, [&] { raw_add(target.value, iterations); });
                 raw_of_one.check(raw_window->atomic_read(target.value), iterations, "MPI_Fetch_and_op");
                 MPI_Barrier(world);
                 return seconds;
             }});
    } else {
        raw_all.push_back({.name = "rank 0 as a server over MPI_Send/MPI_Recv (no windows on this stack)",
                           .run = [&](std::uint64_t iterations) {
                               return together(world, [&] {
                                   (void)raw::serve_counter(world, context.rank(), context.size(), iterations);
                               });
                           }});
        raw_one.push_back({.name = "MPI_Send/MPI_Recv ping-pong (no windows on this stack)",
                           .run = [&, target = target](std::uint64_t iterations) {
                               return together(world, [&] {
                                   if (const int rank = context.rank(); rank == 0 || rank == target.value) {
                                       raw::ping_pong(world, rank, target.value, sizeof(std::int64_t), iterations);
                                   }
                               });
                           }});
    }
    Quantity per_addition = microseconds();
    if (path == Path::direct) per_addition = nanoseconds();
    Quantity per_addition_of_all = per_addition;
    per_addition_of_all.scale /= static_cast<double>(ranks);
    context.compare("all ranks", per_addition_of_all, all, std::move(raw_all));
    context.compare("one rank", per_addition, one, std::move(raw_one));
    raw_window.reset();
    window.close();
    runtime.close();
}

const Registration registration{{.name = "atomics/counter",
                                 .summary = "fetch-and-add by all ranks on one counter; fails unless the sum is exact",
                                 .run = counter}};

} // namespace
} // namespace lapwing::bench
