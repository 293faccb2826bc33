// latency/get8, latency/put8: one 8-byte operation at a time, complete before the next begins.
#include "harness.hpp"
#include "raw_messages.hpp"
#include "raw_window.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <optional>

namespace lapwing::bench {
namespace {

enum class Operation { get, put };

constexpr std::uint64_t bytes = 8;
constexpr std::uint64_t window_bytes = 4096;

/// Every operation goes to the next place, so that none waits for the one before because they overlap.
std::uint64_t offset_of(std::uint64_t iteration) { return iteration % (window_bytes / bytes) * bytes; }

const char* raw_name(Operation operation) {
    return operation == Operation::get ? "MPI_Get + MPI_Win_flush" : "MPI_Put + MPI_Win_flush";
}

Subject raw_rma(Context& context, raw::Window& window, Operation operation, int target) {
    return {.name = raw_name(operation), .run = [&context, &window, operation, target](std::uint64_t iterations) {
                MPI_Comm world = context.world();
                return alone(world, [&] {
                    std::uint64_t value = 1;
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        if (operation == Operation::get) window.start_get(&value, bytes, target, offset_of(i));
                        else window.start_put(&value, bytes, target, offset_of(i));
                        window.flush(target);
                    }
                });
            }};
}

Subject raw_ping_pong(Context& context, int target) {
    return {.name = "MPI_Send/MPI_Recv ping-pong", .run = [&context, target](std::uint64_t iterations) {
                MPI_Comm world = context.world();
                MPI_Barrier(world);
                const Stopwatch watch;
                const int rank = context.rank();
                if (rank == 0 || rank == target) raw::ping_pong(world, rank, target, bytes, iterations);
                const double seconds = watch.seconds();
                MPI_Barrier(world);
                return seconds;
            }};
}

/// A load or a store of the same shared memory; a store is followed by the fence that makes it complete for others.
Subject raw_memory(Runtime& runtime, Window& window, Operation operation, Rank target) {
    return {.name = operation == Operation::get ? "load" : "store + fence",
            .run = [&runtime, memory = window.reachable(target), operation](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    auto* values = reinterpret_cast<volatile std::uint64_t*>(memory.data());
                    std::uint64_t sum = 0;
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        const std::uint64_t index = offset_of(i) / bytes;
                        if (operation == Operation::get) {
                            sum += values[index];
                        } else {
                            values[index] = i;
                            std::atomic_thread_fence(std::memory_order_seq_cst);
                        }
                    }
                    keep(sum);
                });
            }};
}

Subject lapwing_operation(Runtime& runtime, Window& window, Operation operation, Rank target) {
    return {.name = "lapwing", .run = [&runtime, &window, operation, target](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    std::uint64_t sum = 0;
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        const Offset offset{offset_of(i)};
                        if (operation == Operation::get) {
                            sum += window.get<std::uint64_t>(target, offset);
                        } else {
                            window.put(target, offset, i);
                            window.flush(target);
                        }
                    }
                    keep(sum);
                });
            }};
}

void latency(Context& context, Operation operation) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    Window window{runtime, window_bytes};
    std::optional<raw::Window> raw_window;
    std::vector<Subject> baselines;
    switch (route.path) {
    case Path::self:
    case Path::direct: baselines.push_back(raw_memory(runtime, window, operation, route.target)); break;
    case Path::rma:
        raw_window.emplace(context, window_bytes);
        baselines.push_back(raw_rma(context, *raw_window, operation, route.target.value));
        break;
    case Path::service: baselines.push_back(raw_ping_pong(context, route.target.value)); break;
    }
    context.compare("8 bytes", route.path == Path::direct ? nanoseconds() : microseconds(),
                    lapwing_operation(runtime, window, operation, route.target), std::move(baselines));
    raw_window.reset();
    window.close();
    runtime.close();
}

void raw_latency(Context& context, Operation operation) {
    raw::Window window{context, window_bytes};
    context.compare("8 bytes", microseconds(), raw_rma(context, window, operation, context.size() - 1), {});
}

std::vector<AloneBaseline> alone_baselines(const char* rma) {
    return {{.path = "rma", .bench = rma, .thread_level = ""},
            {.path = "service", .bench = "raw/ping-pong8", .thread_level = "single"}};
}

const Registration get8{{.name = "latency/get8",
                         .summary = "blocking 8-byte get at an idle target",
                         .run = [](Context& context) { latency(context, Operation::get); },
                         .alone = alone_baselines("raw/get8")}};
const Registration put8{{.name = "latency/put8",
                         .summary = "8-byte put and flush at an idle target",
                         .run = [](Context& context) { latency(context, Operation::put); },
                         .alone = alone_baselines("raw/put8")}};

const Registration raw_get8{{.name = "raw/get8",
                             .summary = "MPI_Get + MPI_Win_flush of 8 bytes, without Lapwing",
                             .run = [](Context& context) { raw_latency(context, Operation::get); },
                             .paths = {}}};
const Registration raw_put8{{.name = "raw/put8",
                             .summary = "MPI_Put + MPI_Win_flush of 8 bytes, without Lapwing",
                             .run = [](Context& context) { raw_latency(context, Operation::put); },
                             .paths = {}}};
const Registration raw_ping_pong8{{.name = "raw/ping-pong8",
                                   .summary = "MPI_Send/MPI_Recv round trip of 8 bytes, without Lapwing",
                                   .run =
                                       [](Context& context) {
                                           context.compare("8 bytes", microseconds(),
                                                           raw_ping_pong(context, context.size() - 1), {});
                                       },
                                   .paths = {}}};

} // namespace
} // namespace lapwing::bench
