// MPI calls that fail in the middle of a program: every rank gets an error, none waits forever, and nothing wrong is
// read. The failing calls replace MPI's by its profiling interface.
#include "src/messages/engine.hpp"
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/window_state.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

enum class Call { none, test_some, test_some_after, isend, rget };
std::atomic<Call> failing{Call::none};
std::atomic<int> calls_left{0}; ///< before the one that fails

bool fails(Call call) {
    if (failing.load() != call || calls_left.fetch_sub(1) != 0) return false;
    failing.store(Call::none);
    return true;
}

/// Of which those of teams that have failed stay.
std::set<MPI_Comm> open_communicators;

/// Receives what nobody has received on these communicators: MPICH 4.2 over UCX ends a program whose large messages are
/// still under way in MPI_Finalize. Collective.
void receive_what_is_left() {
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all_are_here);
    std::vector<std::byte> scrap;
    int here = 0;
    // After the barrier everybody sends no more, and some more turns receive what has been sent.
    for (int turns_left = 1000; turns_left > 0; turns_left -= here) {
        MPI_Test(&all_are_here, &here, MPI_STATUS_IGNORE);
        for (MPI_Comm communicator : open_communicators) {
            int found = 0;
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Status status;
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator, &found, &message, &status);
            if (found == 0) continue;
            int bytes = 0;
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            scrap.resize(static_cast<std::size_t>(bytes));
            MPI_Mrecv(scrap.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        }
        std::this_thread::yield();
    }
    test::world_barrier();
}

} // namespace

extern "C" {
int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
    if (fails(Call::test_some)) return MPI_ERR_OTHER;
    const int code = PMPI_Testsome(count, requests, done, indices, statuses);
    // One that has done its work all the same, and says which request failed.
    if (*done == MPI_UNDEFINED || *done == 0 || !fails(Call::test_some_after)) return code;
    for (int i = 0; i < *done; ++i) statuses[i].MPI_ERROR = i == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    return MPI_ERR_IN_STATUS;
}
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm communicator,
              MPI_Request* request) {
    if (fails(Call::isend)) return MPI_ERR_OTHER;
    return PMPI_Isend(buffer, count, type, target, tag, communicator, request);
}
int MPI_Rget(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int target_count,
             MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
    if (fails(Call::rget)) return MPI_ERR_OTHER;
    return PMPI_Rget(to, count, type, target, at, target_count, target_type, window, request);
}
int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* own) {
    const int code = PMPI_Comm_dup(communicator, own);
    open_communicators.insert(*own);
    return code;
}
int MPI_Comm_free(MPI_Comm* communicator) {
    open_communicators.erase(*communicator);
    return PMPI_Comm_free(communicator);
}
}

namespace {

using lapwing::Error;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

constexpr std::size_t words = 8192;

std::int64_t value_at(int rank, std::size_t index) { return static_cast<std::int64_t>(index) * 10 + rank; }

/// Gets, puts and barriers until something fails; returns how many words were read wrong. `told`: an error came.
void use(Runtime& runtime, Window& window, std::size_t& wrong, bool& told) {
    const int own = runtime.rank().value;
    const int to = (own + 1) % runtime.size();
    std::vector<std::int64_t> many(4000); // more than a message buffer
    std::vector<std::int64_t> more(2000);
    try {
        for (int round = 0; round < 50; ++round) {
            const auto at = static_cast<std::size_t>(round * 37 % 1000);
            many.assign(many.size(), -1);
            lapwing::Completion first = window.start_get(Rank{to}, Offset{at * 8}, std::span{many});
            lapwing::Completion second = window.start_get(Rank{to}, Offset{(at + 4000) * 8}, std::span{more});
            const auto word = window.get<std::int64_t>(Rank{to}, Offset{at * 8});
            wrong += word != value_at(to, at) ? 1 : 0;
            first.wait();
            for (std::size_t i = 0; i < many.size(); ++i) wrong += many[i] != value_at(to, at + i) ? 1 : 0;
            second.wait();
            for (std::size_t i = 0; i < more.size(); ++i) wrong += more[i] != value_at(to, at + 4000 + i) ? 1 : 0;
            window.put(Rank{to}, Offset{words * 8}, std::span<const std::int64_t>{many});
            window.put(Rank{to}, Offset{(words + 4000) * 8}, word);
            window.flush();
            runtime.barrier();
        }
    } catch (const Error&) {
        told = true;
        throw;
    }
}

} // namespace

TEST_CASE("an MPI call that fails on one rank is an error on all, and nothing wrong is read") {
    if (test::world_size() == 1) return;
    for (const Call call : {Call::test_some, Call::test_some_after, Call::isend, Call::rget})
        for (const int nth : {0, 23}) {
            INFO("call " << static_cast<int>(call) << ", number " << nth);
            std::size_t wrong = 0;
            bool told = false;
            bool reached = false;
            try {
                Runtime runtime;
                Window window{runtime, (words + 4001) * 8, {.name = "mended"}};
                for (std::size_t i = 0; i < words; ++i)
                    window.local_as<std::int64_t>()[i] = value_at(runtime.rank().value, i);
                runtime.barrier();
                if (runtime.rank() == Rank{0}) {
                    calls_left = nth;
                    failing = call;
                }
                use(runtime, window, wrong, told);
                reached = true;
            } catch (const Error&) {
            }
            const bool happened = failing.exchange(Call::none) == Call::none;
            CHECK(wrong == 0);
            int anywhere = test::world_rank() == 0 && happened ? 1 : 0;
            MPI_Bcast(&anywhere, 1, MPI_INT, 0, MPI_COMM_WORLD);
            CHECK(told == (anywhere != 0)); // the path decides which calls are made
            CHECK(reached == !told);
            test::world_barrier();
        }
    receive_what_is_left();
}

TEST_CASE("what still comes for a transfer that was given up does not reach a later one") {
    Runtime runtime;
    const int own = runtime.rank().value;
    if (runtime.size() > 1 && runtime.network_path() == lapwing::Path::service) {
        Window window{runtime, words * 8, {.name = "given up"}};
        for (std::size_t i = 0; i < words; ++i) window.local_as<std::int64_t>()[i] = value_at(own, i);
        runtime.barrier();
        lapwing::detail::messages::Engine& engine = runtime.state().engine();
        const int to = (own + 1) % runtime.size();
        std::vector<std::int64_t> first(2000);
        std::vector<std::int64_t> second(2000);
        for (int round = 0; round < 100; ++round) { // more often than a slot has numbers for tags
            lapwing::detail::messages::Operation given_up;
            given_up.destination = reinterpret_cast<std::byte*>(first.data());
            REQUIRE(engine.try_get(given_up, to, window.state().number(), 0, first.size() * 8, true));
            engine.abandon(given_up);
            second.assign(second.size(), -1);
            window.start_get(Rank{to}, Offset{4000 * 8}, std::span{second}).wait();
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < second.size(); ++i) wrong += second[i] != value_at(to, 4000 + i) ? 1 : 0;
            CHECK(wrong == 0);
        }
        runtime.barrier();
        // What came for nobody is still unread in MPI: nothing waits for it.
        window.close();
    }
    runtime.close();
}
