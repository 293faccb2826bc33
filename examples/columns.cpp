// The transposition at the heart of a parallel FFT: each rank owns rows of a matrix and puts columns of them where the
// others want rows. A column is not contiguous here, and lands in one piece there; how it travels is Lapwing's to
// decide.
//
//     mpirun -n 4 columns
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    lapwing::Runtime runtime;
    const int ranks = runtime.size();
    const std::int64_t rows = 96; // of each rank
    const std::int64_t n = rows * ranks;
    const auto value = [n](std::int64_t i, std::int64_t j) { return static_cast<double>(i * n + j); };

    // This rank's rows of the matrix, and a window for its rows of the transpose.
    const std::int64_t first = runtime.rank().value * rows;
    std::vector<double> matrix(static_cast<std::size_t>(rows * n));
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < n; ++j) matrix[static_cast<std::size_t>(i * n + j)] = value(first + i, j);
    lapwing::Window transpose{runtime, static_cast<std::uint64_t>(rows * n) * sizeof(double)};

    // For each other rank: my rows of its columns, column by column. They land in its rows, beside those of other
    // ranks, so that both sides have gaps. Planned once, and used in every step.
    const std::int64_t row_bytes = n * static_cast<std::int64_t>(sizeof(double));
    std::vector<lapwing::Plan> plans;
    for (int step = 0; step < ranks; ++step) {
        const int to = (runtime.rank().value + step) % ranks; // not all to the same one at a time
        const lapwing::Layout::Dimension here[] = {{static_cast<std::uint64_t>(rows), sizeof(double)}, // columns
                                                   {static_cast<std::uint64_t>(rows), row_bytes}};     // down the rows
        plans.push_back(lapwing::Plan::put(
            transpose,
            lapwing::Layout::strided(here, sizeof(double), to * rows * static_cast<std::int64_t>(sizeof(double))),
            lapwing::Rank{to}, lapwing::Offset{0},
            lapwing::Layout::strided(static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(rows) * sizeof(double), row_bytes,
                                     first * static_cast<std::int64_t>(sizeof(double)))));
    }
    if (runtime.rank().value == 0) std::printf("%s", plans.back().explain().c_str());

    bool wrong = false;
    for (int iteration = 0; iteration < 3; ++iteration) {
        for (lapwing::Plan& plan : plans) plan.execute(matrix.data());
        runtime.barrier();
        const auto mine = transpose.local_as<double>();
        for (std::int64_t j = 0; j < rows; ++j)
            for (std::int64_t i = 0; i < n; ++i)
                wrong = wrong || mine[static_cast<std::size_t>(j * n + i)] != value(i, first + j);
        runtime.barrier();
    }

    // The same put in a code that has MPI datatypes already.
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(rows), 1, static_cast<int>(n), MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    const int right = (runtime.rank().value + 1) % ranks;
    transpose.put(lapwing::Layout::from_mpi(column), matrix.data() + 5, right, 0,
                  lapwing::Layout::from_mpi(MPI_DOUBLE, rows));
    runtime.barrier();
    const std::int64_t left = (runtime.rank().value + ranks - 1) % ranks;
    for (std::int64_t i = 0; i < rows; ++i)
        wrong = wrong || transpose.local_as<double>()[static_cast<std::size_t>(i)] != value(left * rows + i, 5);
    runtime.barrier();
    MPI_Type_free(&column);
    transpose.close();
    if (wrong) std::printf("rank %d: WRONG\n", runtime.rank().value);
    return wrong ? 1 : 0;
}
