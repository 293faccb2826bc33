// strided/produced: rows that are computed and sent, packed at the end, compared with chunks that are packed and sent
// while the next rows are computed, and beside rows that are computed into the messages. strided/recorded: a loop of
// short puts as one transfer, compared with the puts themselves.
#include "cached_array.hpp"
#include "strided_cell.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/recording.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::uint64_t row_values = 128; ///< that are sent
constexpr std::uint64_t row_bytes = row_values * sizeof(double);
constexpr std::uint64_t row_extent = 4 * row_values;

/// Values of one row; `work` steps each.
void compute(double* row, std::uint64_t seed, int work) {
    for (std::uint64_t j = 0; j < row_values; ++j) {
        double value = 1.0 + static_cast<double>((seed + j) % 1000);
        for (int step = 0; step < work; ++step) value = value * 0.999 + 0.5;
        row[j] = value;
    }
}

void produced(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    for (const std::uint64_t total : {std::uint64_t{256} << 10, std::uint64_t{4} << 20}) {
        const std::uint64_t rows = total / row_bytes;
        Window window{runtime, total};
        std::vector<double> matrix(rows * row_extent);
        Plan plan = Plan::put(window, Layout::strided(rows, row_bytes, row_extent * sizeof(double)), route.target,
                              Offset{0}, Layout::contiguous(total));
        for (const int work : {2, 20}) {
            std::uint64_t round = 0;
            Subject at_the_end = by_one("packed at the end", runtime, [&, work] {
                ++round;
                for (std::uint64_t i = 0; i < rows; ++i) compute(&matrix[i * row_extent], round + i, work);
                plan.execute(static_cast<const void*>(matrix.data()));
                window.flush();
            });
            const Subject meanwhile = by_one("produce", runtime, [&, work] {
                ++round;
                Production put = plan.produce(matrix.data());
                for (std::uint64_t i = 0; i < rows; ++i) {
                    compute(&matrix[i * row_extent], round + i, work);
                    put.ready((i + 1) * row_bytes);
                }
                put.finish();
                window.flush();
            });
            const Subject filled = by_one("execute_filled", runtime, [&, work] {
                ++round;
                plan.execute_filled(row_bytes, [&](std::uint64_t first, std::span<std::byte> bytes) {
                    auto* const values = reinterpret_cast<double*>(bytes.data());
                    for (std::uint64_t at = 0; at < bytes.size() / row_bytes; ++at)
                        compute(values + at * row_values, round + first / row_bytes + at, work);
                });
                window.flush();
            });
            const std::string name = fmt::format("{}, {} steps a value", size_name(total), work);
            context.compare(name, microseconds(), meanwhile, {at_the_end});
            context.compare(name + ", into the messages", microseconds(), filled, {at_the_end});
        }
        window.close();
    }
    runtime.close();
}

void recorded(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    constexpr std::uint64_t count = 4096;
    Window window{runtime, 4 * count * sizeof(double)};
    std::vector<double> values(4 * count, 1.0);
    for (const std::uint64_t stride : {1U, 3U}) {
        Recording puts{window};
        const Subject recording = by_one("Recording", runtime, [&, stride] {
            for (std::uint64_t i = 0; i < count; ++i)
                puts.put(route.target, Offset::of<double>(i * stride), values[3 * i]);
            puts.run();
            window.flush();
        });
        Subject one_by_one = by_one("Window::put", runtime, [&, stride] {
            for (std::uint64_t i = 0; i < count; ++i)
                window.put(route.target, Offset::of<double>(i * stride), values[3 * i]);
            window.flush();
        });
        context.compare(fmt::format("4096 of 8 bytes, {} apart there", 8 * stride), microseconds(), recording,
                        {std::move(one_by_one)});
    }
    window.close();
    runtime.close();
}

const std::vector<std::string> network_paths{"rma", "service"};
const Registration production{{.name = "strided/produced",
                               .summary = "puts of rows that are computed: sent meanwhile against packed at the end",
                               .run = produced,
                               .paths = network_paths}};
const Registration recording{{.name = "strided/recorded",
                              .summary = "a program's loop of short puts: as one transfer against one by one",
                              .run = recorded,
                              .paths = network_paths}};

} // namespace
} // namespace lapwing::bench
