// From MPI-3 RMA to Lapwing: each step is done twice, with the calls of MPI and with those of Lapwing, and the results
// are compared. docs/porting.md shows the parts between the marks.
//
//     mpirun -n 4 porting_mpi_rma
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int each = 100; // values of each rank

double value(int rank, int i) { return 1000.0 * rank + i; }

/// A value of the neighbour, and its first ten replaced.
std::array<double, 2> access_mpi(int rank, int next) {
    double seen = 0;
    std::vector<double> ten(10, rank);
    // [access: before]
    double* numbers = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(each * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &numbers, &window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < each; ++i) numbers[i] = value(rank, i);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Get(&seen, 1, MPI_DOUBLE, next, 42, 1, MPI_DOUBLE, window);
    MPI_Win_flush(next, window);
    MPI_Put(ten.data(), 10, MPI_DOUBLE, next, 0, 10, MPI_DOUBLE, window);
    MPI_Win_flush(next, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    // [end]
    const double first = numbers[0];
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    return {seen, first};
}

std::array<double, 2> access_lapwing(int rank, lapwing::Rank next) {
    double seen = 0;
    std::vector<double> ten(10, rank);
    // [access: after]
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, each * sizeof(double)};
    const auto numbers = window.local_as<double>();
    for (int i = 0; i < each; ++i) numbers[static_cast<std::size_t>(i)] = value(rank, i);
    runtime.barrier();

    window.get(next, lapwing::Offset::of<double>(42), seen); // the value is here
    window.put(next, lapwing::Offset{0}, ten);               // ten may be used again
    runtime.barrier();                                       // it is there, and can be read
    // [end]
    return {seen, numbers[0]};
}

/// Tickets from one counter: the sum of those that this rank drew.
std::int64_t tickets_mpi(int rank) {
    std::int64_t sum = 0;
    std::int64_t* counter = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(rank == 0 ? sizeof(std::int64_t) : 0, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 0) *counter = 0;
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 20; ++k) {
        // [counter: before]
        const std::int64_t one = 1;
        std::int64_t ticket = 0;
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        // [end]
        sum += ticket;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

std::int64_t tickets_lapwing(lapwing::Team& team) {
    std::int64_t sum = 0;
    lapwing::Window window{team, team.rank() == 0 ? sizeof(std::int64_t) : 0};
    for (int k = 0; k < 20; ++k) {
        // [counter: after]
        const auto ticket = window.atomic<std::int64_t>(lapwing::Rank{0}, lapwing::Offset{0}).fetch_add(1);
        // [end]
        sum += ticket;
    }
    return team.sum(sum);
}

/// What the left neighbour sends to this rank in each of five rounds, added up.
double ring_mpi(int next, int previous, int rank) {
    double sum = 0;
    double* place = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    // Room for two: MPICH 4.0.2 over UCX puts to the wrong rank where a part does not begin at a multiple of 16 bytes.
    MPI_Win_allocate(2 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &place, &window);
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group from = MPI_GROUP_NULL;
    MPI_Group to = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &previous, &from);
    MPI_Group_incl(world, 1, &next, &to);
    for (int round = 0; round < 5; ++round) {
        const double sent = value(rank, round);
        // [notify: before]
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(&sent, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
        sum += *place;
        // [end]
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Group_free(&world);
    MPI_Win_free(&window);
    return sum;
}

double ring_lapwing(lapwing::Team& team, lapwing::Rank next, lapwing::Rank previous) {
    double sum = 0;
    lapwing::Window window{team, sizeof(double)};
    const auto place = window.local_as<double>();
    constexpr unsigned arrived = 0; // which of the window's counters
    constexpr unsigned taken = 1;
    for (int round = 0; round < 5; ++round) {
        const double sent = value(team.rank().value, round);
        // [notify: after]
        window.put_notify(next, lapwing::Offset{0}, sent, arrived);
        window.wait_notified(arrived);
        sum += place[0];
        window.put_notify(previous, lapwing::Offset{0}, {}, taken); // the place is free again
        window.wait_notified(taken);
        // [end]
    }
    return sum;
}

/// A column of a matrix of each rank goes to its neighbour.
double column_mpi(int next, const std::vector<double>& matrix) {
    double* received = nullptr;
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_allocate(each * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &received, &window);
    // [column: before]
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(each, 1, each, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Win_fence(0, window);
    MPI_Put(matrix.data(), 1, column, next, 0, each, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    MPI_Type_free(&column);
    // [end]
    double sum = 0;
    for (int i = 0; i < each; ++i) sum += (i + 1) * received[i];
    MPI_Win_free(&window);
    return sum;
}

double column_lapwing(lapwing::Team& team, lapwing::Rank next, const std::vector<double>& matrix) {
    lapwing::Window window{team, each * sizeof(double)};
    // [column: after]
    const auto column = lapwing::Layout::strided(each, sizeof(double), each * sizeof(double));
    window.put(column, matrix.data(), next, lapwing::Offset{0}, lapwing::Layout::contiguous(column.bytes()));
    team.barrier();
    // [end]
    double sum = 0;
    for (int i = 0; i < each; ++i) sum += (i + 1) * window.local_as<double>()[static_cast<std::size_t>(i)];
    return sum;
}

} // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided); // was MPI_Init
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int next = (rank + 1) % ranks;
    const int previous = (rank + ranks - 1) % ranks;

    int wrong = 0;
    const auto compare = [&](const char* what, auto before, auto after) {
        if (before == after) return;
        std::printf("rank %d: %s: NOT the same\n", rank, what);
        wrong = 1;
    };
    compare("access", access_mpi(rank, next), access_lapwing(rank, lapwing::Rank{next}));
    {
        lapwing::Runtime runtime;
        compare("counter", tickets_mpi(rank), tickets_lapwing(runtime));
        compare("notify", ring_mpi(next, previous, rank),
                ring_lapwing(runtime, lapwing::Rank{next}, lapwing::Rank{previous}));
        std::vector<double> matrix(static_cast<std::size_t>(each) * each);
        for (int i = 0; i < each * each; ++i) matrix[static_cast<std::size_t>(i)] = value(rank, i);
        compare("column", column_mpi(next, matrix), column_lapwing(runtime, lapwing::Rank{next}, matrix));
    }
    if (rank == 0 && wrong == 0) std::printf("four steps with MPI's calls and with Lapwing's: the same results\n");
    MPI_Finalize();
    return wrong;
}
