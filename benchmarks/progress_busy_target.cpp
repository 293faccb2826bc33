// progress/busy-target: the cost of a get while its target computes for seconds without calling MPI.
#include "computation.hpp"
#include "harness.hpp"
#include "median.hpp"
#include "raw_messages.hpp"
#include "raw_window.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <optional>
#include <thread>

namespace lapwing::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::duration<double> busy_time{2.0};
constexpr std::chrono::duration<double> idle_time{0.3};
/// Rank 0 starts this long after the barrier, so that the target surely computes; and ends this long before the target.
constexpr std::chrono::duration<double> margin{0.02};

Clock::time_point after(std::chrono::duration<double> time) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
}

/// Median seconds of one call of `get`, called until `end` with `pause` of computation before each.
template <class Get>
double median_latency(Clock::time_point end, std::chrono::duration<double> pause, Get&& get) {
    (void)compute_until(after(margin));
    std::vector<double> samples;
    do {
        if (pause.count() > 0) (void)compute_until(after(pause));
        const Stopwatch watch;
        get();
        samples.push_back(watch.seconds());
    } while (Clock::now() < end);
    return median(std::move(samples));
}

/// One measurement: rank 0 gets, the others compute or wait. `Ranks` is a Team or a communicator.
template <class Ranks, class Get>
Subject subject(const std::string& subject_name, Ranks& ranks, bool busy, std::chrono::duration<double> pause,
                Get get) {
    return {.name = subject_name,
            .run =
                [&ranks, busy, pause, get](std::uint64_t) {
                    double latency = 0;
                    wait_for_all(ranks);
                    const auto time = busy ? busy_time : idle_time;
                    if (measures(ranks)) latency = median_latency(after(time - margin), pause, get);
                    else if (busy) (void)compute_until(after(time));
                    wait_for_all(ranks);
                    return latency;
                },
            .iterations = 1};
}

void busy_target(Context& context) {
    Runtime runtime;
    const auto [target, path] = context.measure_against(runtime);
    Window window{runtime, 4096};
    const auto get = [&window, target = target] { (void)window.get<std::uint64_t>(target, Offset{0}); };
    const auto quantity = microseconds();

    struct Pace {
        const char* name;
        std::chrono::duration<double> pause;
    };
    // Gets with pauses between them find a progress thread that has gone to sleep.
    for (const Pace& pace : {Pace{"back to back", {}}, Pace{"every ms", std::chrono::milliseconds{1}}}) {
        context.compare(pace.name, quantity, subject("busy", runtime, true, pace.pause, get),
                        {subject("the same at an idle target", runtime, false, pace.pause, get)});
    }

    MPI_Comm world = context.world();
    if (context.windows_work()) {
        raw::Window raw_window{context, 4096};
        const auto raw_get = [&raw_window, target = target] {
            std::uint64_t value = 0;
            raw_window.start_get(&value, sizeof value, target.value);
            raw_window.flush(target.value);
        };
        context.set_path("raw");
        context.compare("MPI_Get + MPI_Win_flush", quantity, subject("busy", world, true, {}, raw_get),
                        {subject("the same at an idle target", world, false, {}, raw_get)});
    } else {
        // The target answers when its computation is over: messages cannot do better without a progress thread.
        const auto round_trip = [&context, world, target = target](bool busy) -> Subject {
            return {.name = "the same with an idle target",
                    .run =
                        [&context, world, target, busy](std::uint64_t) {
                            const int rank = context.rank();
                            MPI_Barrier(world);
                            if (busy && rank != 0) (void)compute_until(after(busy_time));
                            if (busy && rank == 0) (void)compute_until(after(margin));
                            const Stopwatch watch;
                            if (rank == 0 || rank == target.value) {
                                raw::ping_pong(world, rank, target.value, sizeof(std::uint64_t), 1);
                            }
                            const double seconds = watch.seconds();
                            MPI_Barrier(world);
                            return seconds;
                        },
                    .iterations = 1};
        };
        context.set_path("raw");
        context.compare("MPI_Send/MPI_Recv (no windows on this stack)", quantity, round_trip(true),
                        {round_trip(false)});
    }
    window.close();
    runtime.close();
}

const Registration registration{{.name = "progress/busy-target",
                                 .summary = "8-byte gets while the target computes for 2 s without calling MPI",
                                 .run = busy_target,
                                 .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
