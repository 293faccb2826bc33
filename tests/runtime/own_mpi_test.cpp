// MPI is Lapwing's: the first runtime initialises it and the last one finalizes it. A program of its own, since MPI
// cannot be initialised again.
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "own_mpi_test: not so: %s\n", what);
    std::_Exit(1);
}

bool asked(int (*call)(int*)) {
    int flag = 0;
    call(&flag);
    return flag != 0;
}

} // namespace

int main() {
    require(!asked(MPI_Initialized), "MPI is not initialised before the first runtime");
    auto first = std::make_unique<lapwing::Runtime>();
    require(asked(MPI_Initialized), "the first runtime initialises MPI");
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    const bool caller = first->settings().text("LAPWING_PROGRESS") == "caller";
    require(level == (caller ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE),
            "MPI has the level that the settings can use");
    {
        lapwing::Runtime second;
        lapwing::Window window{second, 64};
        window.atomic<int>(lapwing::Rank{0}, lapwing::Offset{0}).fetch_add(1);
        second.barrier();
        require(window.get<int>(lapwing::Rank{0}, lapwing::Offset{0}) == second.size(), "windows work");
    }
    require(!asked(MPI_Finalized), "MPI stays until the last runtime ends");
    first->close();
    require(!asked(MPI_Finalized), "a closed runtime still exists");
    lapwing::Runtime* const third = new lapwing::Runtime;
    first.reset();
    require(!asked(MPI_Finalized), "and so does MPI, for another");
    third->barrier();
    delete third;
    require(asked(MPI_Finalized), "the last runtime finalizes MPI");
    return 0;
}
