// Teams without a common rank do the same at the same time.
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

TEST_CASE("two halves of the ranks make runtimes and windows at the same time") {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    REQUIRE(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half) == MPI_SUCCESS);
    for (int round = 0; round < 5; ++round) {
        Runtime runtime{half};
        for (int i = 0; i < 10; ++i) {
            Window window{runtime, 64};
            const int value = 2 * i + rank % 2;
            for (int r = 0; r < runtime.size(); ++r)
                window.put(Rank{r}, Offset{4 * static_cast<std::uint64_t>(runtime.rank().value)}, value);
            runtime.barrier();
            for (int r = 0; r < runtime.size(); ++r)
                CHECK(window.local_as<int>()[static_cast<std::size_t>(r)] == value);
        }
    }
    MPI_Comm_free(&half);
}
