// bandwidth/get, bandwidth/put: large transfers, complete at both ends.
#include "harness.hpp"
#include "raw_messages.hpp"
#include "raw_window.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace lapwing::bench {
namespace {

enum class Operation { get, put };

/// `in_flight` transfers of `bytes` are under way at a time, each to a place of its own.
struct Transfer {
    Operation operation;
    std::uint64_t bytes;
    int in_flight;

    [[nodiscard]] std::uint64_t total() const { return bytes * static_cast<std::uint64_t>(in_flight); }
    [[nodiscard]] std::uint64_t place(int index) const { return bytes * static_cast<std::uint64_t>(index); }
};

std::string size_name(std::uint64_t bytes) {
    constexpr std::uint64_t kib = 1024;
    if (bytes >= kib * kib && bytes % (kib * kib) == 0) return fmt::format("{} MiB", bytes / (kib * kib));
    if (bytes >= kib && bytes % kib == 0) return fmt::format("{} KiB", bytes / kib);
    return fmt::format("{} B", bytes);
}

Subject lapwing_transfer(Runtime& runtime, Window& window, Transfer transfer, Rank target, std::byte* memory) {
    return {.name = "lapwing", .run = [&runtime, &window, transfer, target, memory](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    std::vector<Completion> completions(static_cast<std::size_t>(transfer.in_flight));
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        for (int t = 0; t < transfer.in_flight; ++t) {
                            const std::span<std::byte> mine{memory + transfer.place(t), transfer.bytes};
                            const Offset offset{transfer.place(t)};
                            const bool single = transfer.in_flight == 1;
                            auto& completion = completions[static_cast<std::size_t>(t)];
                            if (transfer.operation == Operation::get) {
                                if (single) window.get(target, offset, mine);
                                else completion = window.start_get(target, offset, mine);
                            } else {
                                if (single) window.put(target, offset, mine);
                                else completion = window.start_put(target, offset, mine);
                            }
                        }
                        for (Completion& completion : completions) completion.wait();
                        if (transfer.operation == Operation::put) window.flush(target);
                    }
                });
            }};
}

Subject raw_rma(Context& context, raw::Window& window, Transfer transfer, int target, std::byte* memory) {
    return {.name = transfer.operation == Operation::get ? "MPI_Get + MPI_Win_flush" : "MPI_Put + MPI_Win_flush",
            .run = [&context, &window, transfer, target, memory](std::uint64_t iterations) {
                MPI_Comm world = context.world();
                return alone(world, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        for (int t = 0; t < transfer.in_flight; ++t) {
                            const std::uint64_t place = transfer.place(t);
                            if (transfer.operation == Operation::get) {
                                window.start_get(memory + place, transfer.bytes, target, place);
                            } else {
                                window.start_put(memory + place, transfer.bytes, target, place);
                            }
                        }
                        window.flush(target);
                    }
                });
            }};
}

Subject raw_messages(Context& context, Transfer transfer, int target, std::byte* memory) {
    return {.name = transfer.operation == Operation::get ? "MPI_Isend/MPI_Irecv after an empty request"
                                                         : "MPI_Isend/MPI_Irecv and an empty answer",
            .run = [&context, transfer, target, memory](std::uint64_t iterations) {
                MPI_Comm world = context.world();
                const int rank = context.rank();
                MPI_Barrier(world);
                const Stopwatch watch;
                if (rank == 0 || rank == target) {
                    const auto exchange =
                        transfer.operation == Operation::get ? raw::request_data : raw::send_acknowledged;
                    exchange(world, rank, target, memory, transfer.bytes, transfer.in_flight, iterations);
                }
                const double seconds = watch.seconds();
                MPI_Barrier(world);
                return seconds;
            }};
}

Subject raw_memory(Runtime& runtime, Window& window, Transfer transfer, Rank target, std::byte* memory) {
    return {.name = "memcpy",
            .run = [&runtime, reachable = window.reachable(target), transfer, memory](std::uint64_t iterations) {
                return alone(runtime, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) {
                        for (int t = 0; t < transfer.in_flight; ++t) {
                            std::byte* const mine = memory + transfer.place(t);
                            std::byte* const theirs = reachable.data() + transfer.place(t);
                            if (transfer.operation == Operation::get) std::memcpy(mine, theirs, transfer.bytes);
                            else std::memcpy(theirs, mine, transfer.bytes);
                            keep(*mine);
                        }
                    }
                });
            }};
}

void bandwidth(Context& context, Operation operation) {
    constexpr std::uint64_t mib = 1024 * 1024;
    std::vector<Transfer> transfers;
    if (context.options().sizes.empty()) {
        transfers = {{operation, mib, 1}, {operation, 64 * mib, 1}, {operation, mib, 8}};
    } else {
        for (const std::uint64_t bytes : context.options().sizes) transfers.push_back({operation, bytes, 1});
    }
    std::uint64_t largest = 0;
    for (const Transfer& transfer : transfers) largest = std::max(largest, transfer.total());

    Runtime runtime;
    const auto [target, path] = context.measure_against(runtime);
    Window window{runtime, largest};
    std::ranges::fill(window.local(), std::byte{1}); // touches every page
    std::vector<std::byte> memory(largest);
    std::optional<raw::Window> raw_window;
    if (path != Path::direct && context.windows_work()) raw_window.emplace(context, largest);
    runtime.barrier();

    for (const Transfer& transfer : transfers) {
        std::vector<Subject> baselines;
        if (path == Path::direct) {
            baselines.push_back(raw_memory(runtime, window, transfer, target, memory.data()));
        } else {
            if (raw_window) {
                baselines.push_back(raw_rma(context, *raw_window, transfer, target.value, memory.data()));
            }
            if (path == Path::service) {
                baselines.push_back(raw_messages(context, transfer, target.value, memory.data()));
                if (raw_window) baselines.back().case_suffix = ", messages";
                else baselines.back().name += " (no windows on this stack)";
            }
        }
        const std::string size = size_name(transfer.bytes);
        context.compare(transfer.in_flight == 1 ? size : fmt::format("{} x {}", transfer.in_flight, size),
                        gigabytes_per_second(static_cast<double>(transfer.total())),
                        lapwing_transfer(runtime, window, transfer, target, memory.data()), std::move(baselines));
    }
    raw_window.reset();
    window.close();
    runtime.close();
}

const Registration get{{.name = "bandwidth/get",
                        .summary = "large gets at an idle target; --sizes for a curve",
                        .run = [](Context& context) { bandwidth(context, Operation::get); }}};
const Registration put{{.name = "bandwidth/put",
                        .summary = "large puts with flush at an idle target; --sizes for a curve",
                        .run = [](Context& context) { bandwidth(context, Operation::put); }}};

} // namespace
} // namespace lapwing::bench
