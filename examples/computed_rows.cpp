// Sending while computing: rows of a matrix leave for another rank as soon as they are computed, and a loop of many
// small puts becomes one transfer.
//
//     mpirun -n 4 computed_rows
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

int main() {
    lapwing::Runtime runtime;
    constexpr std::uint64_t rows = 200;
    constexpr std::uint64_t columns = 500;
    constexpr std::uint64_t sent = 300; // columns that the neighbour needs
    const lapwing::Rank right{(runtime.rank().value + 1) % runtime.size()};
    const int left = (runtime.rank().value + runtime.size() - 1) % runtime.size();
    const auto value = [](int rank, std::uint64_t i, std::uint64_t j) {
        return std::sqrt(static_cast<double>(i * columns + j)) + rank;
    };
    lapwing::Window window{runtime, rows * sent * sizeof(double)};
    const auto arrived = window.local_as<double>();
    bool wrong = false;
    const auto check = [&](const char* what) {
        runtime.barrier();
        bool differs = false;
        for (std::uint64_t i = 0; i < rows; ++i)
            for (std::uint64_t j = 0; j < sent; ++j) differs = differs || arrived[i * sent + j] != value(left, i, j);
        if (differs) std::printf("rank %d: WRONG after %s\n", runtime.rank().value, what);
        wrong = wrong || differs;
        runtime.barrier();
    };

    // A part of each row, without the gaps at the other end.
    constexpr std::uint64_t row_bytes = sent * sizeof(double);
    std::vector<double> matrix(rows * columns);
    lapwing::Plan plan = lapwing::Plan::put(
        window, lapwing::Layout::strided(rows, row_bytes, static_cast<std::int64_t>(columns * sizeof(double))), right,
        lapwing::Offset{0}, lapwing::Layout::contiguous(rows * row_bytes));

    // Row after row: what is ready is packed and sent while the next rows are computed.
    lapwing::Production put = plan.produce(matrix.data());
    for (std::uint64_t i = 0; i < rows; ++i) {
        for (std::uint64_t j = 0; j < columns; ++j) matrix[i * columns + j] = value(runtime.rank().value, i, j);
        put.ready((i + 1) * row_bytes);
    }
    put.finish();
    check("produce");

    // The same where nobody needs the matrix here: computed straight into the messages, in whole rows.
    std::memset(arrived.data(), 0, arrived.size_bytes());
    runtime.barrier();
    plan.execute_filled(row_bytes, [&](std::uint64_t first, std::span<std::byte> bytes) {
        auto* const values = reinterpret_cast<double*>(bytes.data());
        const std::uint64_t row = first / row_bytes;
        for (std::uint64_t i = 0; i < bytes.size() / row_bytes; ++i)
            for (std::uint64_t j = 0; j < sent; ++j) values[i * sent + j] = value(runtime.rank().value, row + i, j);
    });
    check("execute_filled");

    // The loop of an older code, element by element, in whatever order it has: one transfer, planned in the first step.
    lapwing::Recording puts{window};
    for (int step = 0; step < 3; ++step) {
        std::memset(arrived.data(), 0, arrived.size_bytes());
        runtime.barrier();
        for (std::uint64_t j = 0; j < sent; ++j)
            for (std::uint64_t i = 0; i < rows; ++i)
                puts.put(right, lapwing::Offset::of<double>(i * sent + j), matrix[i * columns + j]);
        puts.run();
        check("a recorded loop");
    }
    if (runtime.rank().value == 0)
        std::printf("%llu puts became %llu blocks, planned %llu time\n", static_cast<unsigned long long>(rows) * sent,
                    static_cast<unsigned long long>(puts.blocks(right)),
                    static_cast<unsigned long long>(puts.plans_made()));
    wrong = wrong || puts.blocks(right) != rows || puts.plans_made() != 1;
    window.close();
    return wrong ? 1 : 0;
}
