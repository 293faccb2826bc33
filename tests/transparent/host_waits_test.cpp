// Programs without progress threads that are linked to lapwing::transparent: their own blocking calls of MPI serve
// others.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

MPI_Comm world_of_calls() { return MPI_COMM_WORLD; }

/// The program's own way of having no progress thread, where the variant of the test asks for it.
[[nodiscard]] lapwing::Settings settings() {
    lapwing::Settings settings;
    if (std::getenv("TEST_PROGRESS_BY_SETTINGS") != nullptr) settings.set("LAPWING_PROGRESS", "caller");
    return settings;
}

/// What rank 0 does after its release, and the other ranks while it waits for their acknowledgements.
struct HandOver {
    const char* name;
    std::function<void()> first;
    std::function<void()> others;
};

} // namespace

TEST_CASE("a release and a message hand data over to a rank that waits in MPI") {
    Runtime runtime{MPI_COMM_WORLD, settings()};
    const int ranks = runtime.size();
    const int own = runtime.rank().value;
    if (ranks == 1) return;
    constexpr std::size_t count = 4000; // more than a message buffer
    Window window{runtime, 2 * count * sizeof(std::int64_t)};
    const MPI_Comm world = world_of_calls();
    int word = 0;
    int result = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    const auto send = [&] {
        for (int to = 1; to < ranks; ++to) MPI_Send(&word, 1, MPI_INT, to, 3, world);
    };
    std::vector<int> here(static_cast<std::size_t>(ranks), own);
    std::vector<int> there(static_cast<std::size_t>(ranks));
    const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
    std::vector<int> places(static_cast<std::size_t>(ranks));
    std::iota(places.begin(), places.end(), 0);
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(ranks), MPI_INT);
    std::vector<int> byte_places(places);
    for (int& place : byte_places) place *= static_cast<int>(sizeof(int));
    const auto collective = [](const char* name, const std::function<void()>& call) {
        return HandOver{name, call, call};
    };
    const std::vector<HandOver> ways{
        {"MPI_Recv", send,
         [&] {
             MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, world, &status);
             CHECK(status.MPI_SOURCE == 0);
             CHECK(status.MPI_TAG == 3);
         }},
        {"MPI_Wait", send,
         [&] {
             MPI_Irecv(&word, 1, MPI_INT, 0, 3, world, &request);
             MPI_Wait(&request, &status);
             CHECK(request == MPI_REQUEST_NULL);
             CHECK(status.MPI_SOURCE == 0);
         }},
        {"MPI_Waitall, MPI_Waitany, MPI_Waitsome",
         [&] {
             for (int i = 0; i < 6; ++i) send();
         },
         [&] {
             std::array<int, 2> values{};
             std::array<MPI_Request, 2> requests{};
             std::array<MPI_Status, 2> statuses{};
             std::array<int, 2> indices{};
             const auto receive = [&] {
                 for (std::size_t i = 0; i < 2; ++i) MPI_Irecv(&values[i], 1, MPI_INT, 0, 3, world, &requests[i]);
             };
             receive();
             MPI_Waitall(2, requests.data(), statuses.data());
             CHECK(statuses[1].MPI_SOURCE == 0);
             receive();
             for (int i = 0; i < 2; ++i) {
                 int index = -1;
                 MPI_Waitany(2, requests.data(), &index, &status);
                 CHECK((index == 0 || index == 1));
             }
             int index = -1;
             MPI_Waitany(2, requests.data(), &index, &status);
             CHECK(index == MPI_UNDEFINED);
             receive();
             int done = 0;
             for (int all = 0; all < 2; all += done)
                 MPI_Waitsome(2, requests.data(), &done, indices.data(), statuses.data());
             MPI_Waitsome(2, requests.data(), &done, indices.data(), statuses.data());
             CHECK(done == MPI_UNDEFINED);
         }},
        {"MPI_Probe and MPI_Mprobe",
         [&] {
             send();
             send();
         },
         [&] {
             MPI_Probe(0, 3, world, &status);
             CHECK(status.MPI_SOURCE == 0);
             MPI_Recv(&word, 1, MPI_INT, 0, 3, world, MPI_STATUS_IGNORE);
             MPI_Message message = MPI_MESSAGE_NULL;
             MPI_Mprobe(0, 3, world, &message, &status);
             MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
         }},
        {"MPI_Ssend",
         [&] {
             for (int from = 1; from < ranks; ++from) MPI_Recv(&word, 1, MPI_INT, from, 3, world, MPI_STATUS_IGNORE);
         },
         [&] { MPI_Ssend(&own, 1, MPI_INT, 0, 3, world); }},
        collective("MPI_Sendrecv and MPI_Sendrecv_replace",
                   [&] {
                       int from = -1;
                       MPI_Sendrecv(&own, 1, MPI_INT, (own + 1) % ranks, 3, &from, 1, MPI_INT,
                                    (own + ranks - 1) % ranks, 3, world, &status);
                       CHECK(from == (own + ranks - 1) % ranks);
                       from = own;
                       MPI_Sendrecv_replace(&from, 1, MPI_INT, (own + 1) % ranks, 3, (own + ranks - 1) % ranks, 3,
                                            world, &status);
                       CHECK(from == (own + ranks - 1) % ranks);
                   }),
        collective("MPI_Barrier", [&] { MPI_Barrier(world); }),
        collective("MPI_Bcast",
                   [&] {
                       result = own == 0 ? 17 : 0;
                       MPI_Bcast(&result, 1, MPI_INT, 0, world);
                       CHECK(result == 17);
                   }),
        collective("MPI_Reduce and MPI_Allreduce",
                   [&] {
                       MPI_Allreduce(&own, &result, 1, MPI_INT, MPI_SUM, world);
                       CHECK(result == ranks * (ranks - 1) / 2);
                       MPI_Reduce(&own, &result, 1, MPI_INT, MPI_MAX, 0, world);
                       if (own == 0) CHECK(result == ranks - 1);
                   }),
        collective("MPI_Scan, MPI_Exscan, MPI_Reduce_scatter, MPI_Reduce_scatter_block",
                   [&] {
                       const int one = 1;
                       MPI_Scan(&one, &result, 1, MPI_INT, MPI_SUM, world);
                       CHECK(result == own + 1);
                       MPI_Exscan(&one, &result, 1, MPI_INT, MPI_SUM, world);
                       if (own > 0) CHECK(result == own);
                       MPI_Reduce_scatter(ones.data(), &result, ones.data(), MPI_INT, MPI_SUM, world);
                       CHECK(result == ranks);
                       MPI_Reduce_scatter_block(ones.data(), &result, 1, MPI_INT, MPI_SUM, world);
                       CHECK(result == ranks);
                   }),
        collective("MPI_Gather, MPI_Gatherv, MPI_Scatter, MPI_Scatterv",
                   [&] {
                       MPI_Gather(&own, 1, MPI_INT, there.data(), 1, MPI_INT, 0, world);
                       if (own == 0) CHECK(there == places);
                       MPI_Gatherv(&own, 1, MPI_INT, there.data(), ones.data(), places.data(), MPI_INT, 0, world);
                       if (own == 0) CHECK(there == places);
                       MPI_Scatter(places.data(), 1, MPI_INT, &result, 1, MPI_INT, 0, world);
                       CHECK(result == own);
                       MPI_Scatterv(places.data(), ones.data(), places.data(), MPI_INT, &result, 1, MPI_INT, 0, world);
                       CHECK(result == own);
                   }),
        collective("MPI_Allgather, MPI_Allgatherv, MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw",
                   [&] {
                       MPI_Allgather(&own, 1, MPI_INT, there.data(), 1, MPI_INT, world);
                       CHECK(there == places);
                       MPI_Allgatherv(&own, 1, MPI_INT, there.data(), ones.data(), places.data(), MPI_INT, world);
                       CHECK(there == places);
                       MPI_Alltoall(here.data(), 1, MPI_INT, there.data(), 1, MPI_INT, world);
                       CHECK(there == places);
                       MPI_Alltoallv(here.data(), ones.data(), places.data(), MPI_INT, there.data(), ones.data(),
                                     places.data(), MPI_INT, world);
                       CHECK(there == places);
                       MPI_Alltoallw(here.data(), ones.data(), byte_places.data(), types.data(), there.data(),
                                     ones.data(), byte_places.data(), types.data(), world);
                       CHECK(there == places);
                   }),
        collective("MPI_Comm_dup, MPI_Comm_split, MPI_Comm_create, MPI_Comm_split_type",
                   [&] {
                       MPI_Comm made = MPI_COMM_NULL;
                       MPI_Comm_dup(world, &made);
                       MPI_Comm_free(&made);
                       MPI_Comm_split(world, own % 2, 0, &made);
                       MPI_Comm_free(&made);
                       MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
                       MPI_Comm_free(&made);
                       MPI_Group all = MPI_GROUP_NULL;
                       MPI_Comm_group(world, &all);
                       MPI_Comm_create(world, all, &made);
                       MPI_Comm_free(&made);
                       MPI_Group_free(&all);
                   }),
    };
    std::int64_t round = 0;
    for (const HandOver& way : ways) {
        INFO(way.name);
        ++round;
        const std::vector<std::int64_t> values(count, round);
        if (own == 0) {
            for (int to = 1; to < ranks; ++to) {
                window.put(Rank{to}, Offset{0}, round);
                window.put(Rank{to}, Offset{count * sizeof round}, std::span<const std::int64_t>{values});
            }
            window.release();
            way.first();
        } else {
            way.others();
            window.acquire();
            CHECK(window.local_as<std::int64_t>()[0] == round);
            CHECK(window.local_as<std::int64_t>()[2 * count - 1] == round);
        }
        runtime.barrier();
    }
    window.close();
}

TEST_CASE("collective calls match, whichever of their ranks are in a team without a progress thread") {
    const int world_size = test::world_size();
    if (world_size < 3) return;
    const int own = test::world_rank();
    // The last rank is in no team, and knows nothing of the settings of the others'.
    const bool member = own + 1 < world_size;
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : 1, 0, &part);
    const auto meet_all = [&] {
        MPI_Barrier(MPI_COMM_WORLD);
        int sum = 0;
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == world_size * (world_size - 1) / 2);
    };
    meet_all();
    if (member) {
        Runtime team{part, settings()};
        Window window{team, 64};
        meet_all();
        for (int round = 1; round < 20; ++round) {
            if (own == 0) {
                window.put(Rank{1}, Offset{0}, round);
                window.release();
            }
            MPI_Barrier(part); // the others serve the release
            window.acquire();
            if (own == 1) CHECK(window.local_as<int>()[0] == round);
            MPI_Barrier(part);
        }
        meet_all();
        window.close();
        team.close();
    } else {
        meet_all();
        meet_all();
    }
    meet_all();
    MPI_Barrier(part);
    MPI_Comm_free(&part);
}
