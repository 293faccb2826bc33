// Implements bupc_teams.h: Berkeley UPC's teams of threads, which are communicators of MPI.
#include "source_place.hpp"

#include <lapwing/upc.h>

#include <mpi.h>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

extern "C" {

extern void* lapwing_upcc_team_all;
void* lapwing_upcc_team_all = nullptr;

// Called at the start of a program that uses teams.
void lapwing_upcc_start_teams();
void* lapwing_upcc_team_split(void* parent, int colour, int key);
void* lapwing_upcc_team_broadcast(void* team, lapwing_upc_pointer to, lapwing_upc_pointer from, std::size_t bytes,
                                  int flags);
void* lapwing_upcc_team_exchange(void* team, lapwing_upc_pointer to, lapwing_upc_pointer from, std::size_t bytes,
                                 int flags);

} // extern "C"

namespace {

struct Team {
    /// The communicator is the team's own.
    explicit Team(MPI_Comm of) : communicator{of} {
        int size = 0;
        MPI_Comm_size(of, &size);
        MPI_Comm_rank(of, &own);
        threads.resize(static_cast<std::size_t>(size));
        const int here = lapwing_upc_mythread();
        MPI_Allgather(&here, 1, MPI_INT, threads.data(), 1, MPI_INT, of);
    }

    MPI_Comm communicator;
    int own = 0;              ///< the calling thread's number in the team
    std::vector<int> threads; ///< by their numbers in the team
};

[[noreturn]] void refuse(const char* call, const std::string& why) {
    const std::string place = upcc::programs_place();
    std::fprintf(stderr, "%s%slapwing: UPC: %s at thread %d: %s\n", place.c_str(), place.empty() ? "" : ": ", call,
                 lapwing_upc_mythread(), why.c_str());
    lapwing_upc_global_exit(1);
    __builtin_unreachable();
}

[[nodiscard]] std::vector<std::unique_ptr<Team>>& teams() {
    static std::vector<std::unique_ptr<Team>> all;
    return all;
}

[[nodiscard]] const Team& team_of(const char* call, const void* handle) {
    for (const auto& team : teams())
        if (team.get() == handle) return *team;
    refuse(call, "this is not a team; BUPC_TEAM_ALL is one, and bupc_team_split returns one");
}

/// With a fence on both sides. Unlike MPI_Barrier it answers other threads, which may need something before they come.
void barrier(MPI_Comm communicator) {
    lapwing_upc_fence();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(communicator, &request);
    for (int passed = 0;;) {
        MPI_Test(&request, &passed, MPI_STATUS_IGNORE);
        lapwing_upc_fence();
        if (passed != 0) return;
        sched_yield();
    }
}

/// Each thread fetches what it gets.
template <class Fetch>
void perform(const Team& team, int flags, Fetch&& fetch) {
    if ((flags & LAPWING_UPC_IN_NOSYNC) == 0) barrier(team.communicator);
    fetch();
    if ((flags & LAPWING_UPC_OUT_NOSYNC) == 0) barrier(team.communicator);
}

/// The calling thread's memory at the address of a pointer-to-shared.
[[nodiscard]] lapwing_upc_pointer own_place(const lapwing_upc_pointer& of) {
    return {of.address, static_cast<std::uint32_t>(lapwing_upc_mythread()), 0};
}

} // namespace

void lapwing_upcc_start_teams() {
    MPI_Comm all = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    teams().push_back(std::make_unique<Team>(all));
    lapwing_upcc_team_all = teams().front().get();
}

void* lapwing_upcc_team_split(void* parent, int colour, int key) {
    const Team& whole = team_of("bupc_team_split", parent);
    barrier(whole.communicator);
    // Any number is a colour, but MPI takes none below 0: the first thread that has it stands for it.
    std::vector<int> colours(whole.threads.size());
    MPI_Allgather(&colour, 1, MPI_INT, colours.data(), 1, MPI_INT, whole.communicator);
    const auto first = std::find(colours.begin(), colours.end(), colour) - colours.begin();
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(whole.communicator, static_cast<int>(first), key, &part);
    teams().push_back(std::make_unique<Team>(part));
    return teams().back().get();
}

void* lapwing_upcc_team_broadcast(void* handle, lapwing_upc_pointer to, lapwing_upc_pointer from, std::size_t bytes,
                                  int flags) {
    const Team& team = team_of("bupc_team_broadcast", handle);
    if (std::find(team.threads.begin(), team.threads.end(), static_cast<int>(from.thread)) == team.threads.end())
        refuse("bupc_team_broadcast", "the source is with thread " + std::to_string(from.thread) +
                                          ", which is not one of the team's " + std::to_string(team.threads.size()) +
                                          " threads");
    perform(team, flags, [&] { lapwing_upc_memcpy(own_place(to), from, bytes); });
    return nullptr;
}

void* lapwing_upcc_team_exchange(void* handle, lapwing_upc_pointer to, lapwing_upc_pointer from, std::size_t bytes,
                                 int flags) {
    const Team& team = team_of("bupc_team_exchange", handle);
    perform(team, flags, [&] {
        lapwing_upc_pointer place = own_place(to);
        for (const int thread : team.threads) {
            lapwing_upc_memcpy(
                place,
                {from.address + static_cast<std::size_t>(team.own) * bytes, static_cast<std::uint32_t>(thread), 0},
                bytes);
            place.address += bytes;
        }
    });
    return nullptr;
}
