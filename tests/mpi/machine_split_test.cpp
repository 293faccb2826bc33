// An MPI that takes each rank of a machine for the only one there, as MPICH 5.0.2 does where its launcher does not tell
// it who else is: the ranks share memory all the same, of Lapwing's own, or say why they cannot.
#include "src/mpi/node_memory.hpp"
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using lapwing::Offset;
using lapwing::Path;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::Window;
using lapwing::detail::mpi::NodeSource;

bool refuses_files = false;
bool knows_machine = false; ///< that the ranks are on one

/// Puts, gets and atomics, with the ranks at distances of one and two: of the node and of others, where there are two.
void use(Runtime& runtime) {
    Window window{runtime, 1 << 16};
    const std::vector<std::int64_t> own(1000, runtime.rank().value + 1);
    for (int distance = 1; distance <= 2; ++distance) {
        const lapwing::Rank to{(runtime.rank().value + distance) % runtime.size()};
        window.put(to, Offset{64}, std::span{own});
        window.atomic<std::int64_t>(to, Offset{0}).add(1);
        runtime.barrier();
        std::vector<std::int64_t> found(own.size());
        window.get(to, Offset{64}, std::span{found});
        CHECK(found == own);
        CHECK(window.atomic<std::int64_t>(to, Offset{8}).fetch_add(1) == distance - 1);
        runtime.barrier();
    }
    CHECK(window.get<std::int64_t>(runtime.rank(), Offset{0}) == 2);
    runtime.barrier();
}

Settings without_calibration() { return {{"LAPWING_CALIBRATE", "0"}}; }

} // namespace

int MPI_Comm_split_type(MPI_Comm from, int type, int key, MPI_Info info, MPI_Comm* made) {
    if (knows_machine) return PMPI_Comm_split_type(from, type, key, info, made);
    int rank = 0;
    MPI_Comm_rank(from, &rank);
    return MPI_Comm_split(from, rank, key, made);
}
extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
    if (refuses_files) {
        errno = EPERM;
        return -1;
    }
    return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

TEST_CASE("ranks of one machine share memory though MPI does not know that they are on one") {
    Runtime runtime{MPI_COMM_WORLD, without_calibration()};
    CHECK(runtime.nodes() == 1);
    CHECK(runtime.state().topology().node_source() == NodeSource::own);
    CHECK(runtime.state().topology().ranks_of_machine() == runtime.size());
    CHECK(runtime.path(test::next(runtime)) == Path::direct);
    CHECK_THAT(runtime.report(), test::says({"MPI puts ranks of one machine on several nodes, and Lapwing shares"}));
    use(runtime);
}

TEST_CASE("such memory is reached by all paths") {
    for (const char* const path : {"service", "rma"}) {
        Settings pairs = without_calibration();
        pairs.set("LAPWING_NODE", "pair");
        pairs.set("LAPWING_PATH", path);
        INFO(path);
        try {
            Runtime runtime{MPI_COMM_WORLD, pairs};
            CHECK(runtime.nodes() == (runtime.size() + 1) / 2);
            use(runtime);
        } catch (const lapwing::SettingError& error) { // not every MPI has windows everywhere
            CHECK_THAT(error.what(), test::says({"MPI windows do not work here"}));
        }
    }
}

TEST_CASE("where their memory cannot be shared the ranks say why, and go on as on several machines") {
    refuses_files = true;
    Runtime runtime{MPI_COMM_WORLD, without_calibration()};
    refuses_files = false;
    CHECK(runtime.nodes() == runtime.size());
    CHECK(runtime.path(test::next(runtime)) != Path::direct);
    CHECK_THAT(runtime.report(), test::says({"MPI puts ranks of one machine on several nodes", "cannot be shared"}));
    CHECK_THAT(runtime.state().topology().machine_problem(),
               test::says({"rank 0 of its node: memfd_create failed (Operation not permitted)"}));
    use(runtime);
}

TEST_CASE("where Lapwing's memory is not to be had, or not asked for, it is MPI's") {
    for (const char* const source : {"own", "mpi"}) {
        Settings settings = without_calibration();
        settings.set("LAPWING_NODE_MEMORY", source);
        refuses_files = std::string_view{source} == "own";
        knows_machine = true;
        Runtime runtime{MPI_COMM_WORLD, settings};
        refuses_files = knows_machine = false;
        CHECK(runtime.state().topology().node_source() == NodeSource::mpi);
        CHECK(runtime.path(test::next(runtime)) == Path::direct);
        use(runtime);
    }
}

TEST_CASE("the parts of a node's memory follow one another, and may be empty") {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    lapwing::detail::mpi::NodeMemory memory;
    REQUIRE(memory.make(MPI_COMM_WORLD, NodeSource::own, rank == 1 ? 0 : 100).empty());
    REQUIRE(std::ssize(memory.bases()) == size);
    CHECK(memory.bases()[1] - memory.bases()[0] == 100);
    CHECK(memory.bases()[2] == memory.bases()[1]);
    memory.bases()[0][rank] = static_cast<std::byte>(rank + 7);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) CHECK(memory.bases()[0][i] == static_cast<std::byte>(i + 7));
    MPI_Barrier(MPI_COMM_WORLD);
    memory.close();
}
