// Whether a launcher and the program's MPI belong together, from what launchers put into the environment.
#include "runtime/launcher.hpp"

#include "support/catch.hpp"

#include <map>
#include <string>

namespace {

using Catch::Contains;
using Catch::StartsWith;
using lapwing::detail::support::MpiKind;
using Environment = std::map<std::string, std::string>;

std::string said(const Environment& environment, MpiKind own, int size) {
    return lapwing::detail::runtime::other_launcher(
        [&](const char* name) {
            const auto found = environment.find(name);
            return found == environment.end() ? nullptr : found->second.c_str();
        },
        own, size);
}

Environment operator+(Environment one, const Environment& other) {
    one.insert(other.begin(), other.end());
    return one;
}

// Each as its process 0 of 4 on one host sees it.
const Environment hydra{
    {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"PMI_FD", "6"}, {"MPI_LOCALNRANKS", "4"}, {"MPI_LOCALRANKID", "0"}};
const Environment orte{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"PMIX_RANK", "0"}};
const Environment prrte = orte + Environment{{"PRTE_LAUNCHED", "1"}, {"PMIX_NAMESPACE", "prterun-host-1@1"}};
const Environment srun{
    {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}};
const Environment srun_pmi2 =
    srun + Environment{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}, {"PMI_FD", "17"}, {"PMI_JOBID", "7.0"}};
const Environment srun_pmix = srun + Environment{{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "slurm.pmix.7.0"}};
const Environment mvapich2{{"MV2_COMM_WORLD_SIZE", "4"}, {"MV2_COMM_WORLD_RANK", "0"}, {"MPIRUN_RANK", "0"}};
const Environment mvapich3{{"MVP_COMM_WORLD_SIZE", "4"}, {"MVP_COMM_WORLD_RANK", "0"}};

TEST_CASE("a world of the launcher's size is right, whoever the launcher is", "[launcher]") {
    for (const MpiKind own : {MpiKind::open_mpi, MpiKind::mpich, MpiKind::other}) {
        for (const Environment& launcher : {hydra, orte, prrte, srun, srun_pmi2, srun_pmix, mvapich2, mvapich3})
            CHECK(said(launcher, own, 4).empty());
        CHECK(said({}, own, 1).empty());
        CHECK(said({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, own, 1).empty()); // a batch script, not a job step
        CHECK(said({{"PALS_RANKID", "3"}}, own, 4).empty());
        CHECK(said({{"PMIX_RANK", "0"}}, own, 1).empty());
    }
}

TEST_CASE("the other MPI's launcher is named, with what to use instead", "[launcher]") {
    for (const Environment& launcher : {orte, prrte}) {
        const std::string line = said(launcher, MpiKind::mpich, 1);
        CHECK_THAT(
            line, StartsWith(
                      "the launcher (Open MPI's: OMPI_COMM_WORLD_SIZE=4) started 4 ranks, and MPI_COMM_WORLD has 1: "));
        CHECK_THAT(line, Contains("built with MPICH,") && Contains("Start it with mpirun.mpich ("));
    }
    const std::string line = said(hydra, MpiKind::open_mpi, 1);
    CHECK_THAT(
        line,
        StartsWith("the launcher (MPICH's or one like it: PMI_SIZE=4) started 4 ranks, and MPI_COMM_WORLD has 1: "));
    CHECK_THAT(line, Contains("built with Open MPI,") && Contains("Start it with mpirun.openmpi ("));
    CHECK_THAT(said({{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}}, MpiKind::open_mpi, 1),
               Contains("MPI_LOCALNRANKS=2"));
    CHECK_THAT(said(mvapich2, MpiKind::open_mpi, 1), StartsWith("the launcher (MVAPICH's: MV2_COMM_WORLD_SIZE=4)"));
    CHECK_THAT(said(mvapich3, MpiKind::open_mpi, 1), StartsWith("the launcher (MVAPICH's: MVP_COMM_WORLD_SIZE=4)"));
}

TEST_CASE("srun with no PMI, or another than the MPI speaks, is named with the option that is right", "[launcher]") {
    for (const Environment& launcher : {srun, srun_pmi2, srun_pmix}) {
        CHECK_THAT(said(launcher, MpiKind::open_mpi, 1),
                   StartsWith("the launcher (srun: SLURM_STEP_NUM_TASKS=4) started 4 ranks, and ") &&
                       Contains("Start it with srun --mpi=pmix (srun --mpi=list"));
        CHECK_THAT(said(launcher, MpiKind::mpich, 1), Contains("Start it with srun --mpi=pmi2 (srun --mpi=list"));
    }
}

TEST_CASE("a launcher that tells no number of ranks is noticed by a rank outside of the world", "[launcher]") {
    for (const char* const rank : {"PALS_RANKID", "ALPS_APP_PE", "PMIX_RANK"}) {
        CHECK(said({{rank, "0"}}, MpiKind::open_mpi, 1).empty());
        CHECK_THAT(said({{rank, "1"}}, MpiKind::open_mpi, 1),
                   Contains("started at least 2 ranks, and MPI_COMM_WORLD has 1: "));
        CHECK(said({{rank, "2"}}, MpiKind::open_mpi, 1).empty());
    }
}

TEST_CASE("one process says it", "[launcher]") {
    for (const Environment& launcher : {hydra, orte, srun, srun_pmi2, mvapich2}) {
        Environment alone;
        for (const auto& [name, value] : launcher) alone[name] = value == "0" ? "1" : value;
        for (const MpiKind own : {MpiKind::open_mpi, MpiKind::mpich}) CHECK(said(alone, own, 1).empty());
    }
}

TEST_CASE("a launcher inside of another counts", "[launcher]") {
    const Environment shell{
        {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}, {"PMIX_RANK", "0"}}; // srun --pty bash
    CHECK_THAT(said(shell + hydra, MpiKind::open_mpi, 1),
               StartsWith("the launcher (MPICH's or one like it: PMI_SIZE=4)"));
    CHECK(said(shell + hydra, MpiKind::mpich, 4).empty());
    // Hydra has srun start one proxy a host, and ranks inherit the step's variables from it.
    const Environment proxies{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}};
    CHECK_THAT(said(proxies + hydra, MpiKind::open_mpi, 1),
               StartsWith("the launcher (MPICH's or one like it: PMI_SIZE=4)"));
    CHECK(said(proxies + hydra, MpiKind::mpich, 4).empty());
    // Each task of a step starts a run of its own.
    const Environment alone{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}};
    CHECK(said(srun_pmix + alone, MpiKind::open_mpi, 1).empty());
    CHECK_THAT(said(srun_pmix + alone, MpiKind::mpich, 1), StartsWith("the launcher (srun: SLURM_STEP_NUM_TASKS=4)"));
}

TEST_CASE("what is no number is no launcher's", "[launcher]") {
    CHECK(said({{"PMI_SIZE", "4x"}, {"OMPI_COMM_WORLD_SIZE", ""}, {"SLURM_STEP_NUM_TASKS", "-4"}}, MpiKind::open_mpi, 1)
              .empty());
}

} // namespace
