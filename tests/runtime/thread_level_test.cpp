// Start and stop with every thread level of MPI; several runtimes; the host program's state is left unchanged.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::message_of;
using test::says;

namespace {

void ignore_error(MPI_Comm* /*communicator*/, int* /*code*/, ...) {}

void check_works(Runtime& runtime) {
    Window window{runtime, 64};
    const Rank to = test::next(runtime);
    const int from = test::previous(runtime).value;
    for (int round = 0; round < 10; ++round) {
        window.put(to, Offset{0}, 100 * round + runtime.rank().value);
        runtime.barrier();
        CHECK(window.local_as<int>()[0] == 100 * round + from);
        runtime.barrier();
    }
    window.atomic<int>(Rank{0}, Offset{8}).fetch_add(1);
    runtime.barrier();
    CHECK(window.get<int>(Rank{0}, Offset{8}) == runtime.size());
    std::int64_t sum = runtime.rank().value;
    runtime.sum(std::span{&sum, 1});
    CHECK(sum == std::int64_t{runtime.size()} * (runtime.size() - 1) / 2);
    runtime.barrier();
}

} // namespace

TEST_CASE("progress is made by a thread only where MPI allows it") {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    for (int round = 0; round < 3; ++round) {
        Runtime runtime;
        const bool caller = level < MPI_THREAD_MULTIPLE || runtime.settings().text("LAPWING_PROGRESS") == "caller";
        CHECK((runtime.progress_mode() == lapwing::ProgressMode::caller) == caller);
        check_works(runtime);
        int now = MPI_THREAD_SINGLE;
        MPI_Query_thread(&now);
        CHECK(now == level);
    }
    if (level < MPI_THREAD_MULTIPLE)
        CHECK_THAT(message_of<lapwing::SettingError>(
                       [] { Runtime(MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PROGRESS", "thread"}}); }),
                   says({"LAPWING_PROGRESS=thread", "MPI_THREAD_MULTIPLE", "leave the setting at auto"}));
    Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PROGRESS", "caller"}}};
    CHECK(runtime.progress_mode() == lapwing::ProgressMode::caller);
    check_works(runtime);
}

TEST_CASE("several runtimes at once, on overlapping and reordered communicators") {
    Runtime all;
    Runtime again;
    MPI_Comm parity = MPI_COMM_NULL;
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm alone = MPI_COMM_SELF;
    MPI_Comm_split(MPI_COMM_WORLD, all.rank().value % 2, all.rank().value, &parity);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -all.rank().value, &reversed);
    {
        Runtime half{parity};
        Runtime backwards{reversed};
        Runtime self{alone};
        CHECK(half.size() == (all.size() + 1 - all.rank().value % 2) / 2);
        CHECK(half.rank().value == all.rank().value / 2);
        CHECK(backwards.rank().value == all.size() - 1 - all.rank().value);
        CHECK(self.size() == 1);
        Window wide{all, 64};
        Window mirrored{backwards, 64};
        // The same process, by two numbers.
        const int target = test::next(all).value;
        wide.put(Rank{target}, Offset{0}, 5);
        mirrored.put(Rank{all.size() - 1 - target}, Offset{0}, 6);
        all.barrier();
        backwards.barrier();
        CHECK(wide.local_as<int>()[0] == 5);
        CHECK(mirrored.local_as<int>()[0] == 6);
        all.barrier();
        for (Runtime* runtime : {&all, &half, &backwards, &self, &again}) check_works(*runtime);
    }
    MPI_Comm_free(&parity);
    MPI_Comm_free(&reversed);
    again.close();
    check_works(all);
}

TEST_CASE("a rank that waits in one runtime serves the others") {
    Runtime older;
    Runtime newer;
    Window window{newer, 64};
    const bool waits = older.rank().value == 0;
    // Whatever the wait is for: a barrier, a runtime to be made, or one to be closed.
    for (int way = 0; way < 3; ++way) {
        Runtime other;
        const auto meet = [&] {
            if (way == 0) older.barrier();
            if (way == 1) Runtime{};
            if (way == 2) other.close();
        };
        if (!waits)
            for (int i = 0; i < 5; ++i) {
                window.atomic<int>(Rank{0}, Offset{0}).fetch_add(1);
                CHECK(window.get<int>(Rank{0}, Offset{4}) == 0);
            }
        meet();
        newer.barrier();
        CHECK(window.get<int>(Rank{0}, Offset{0}) == 5 * (way + 1) * (newer.size() - 1));
        newer.barrier();
    }
}

TEST_CASE("several threads make, use and close runtimes at once") {
    if (!test::many_threads_allowed()) return;
    constexpr int count = 3;
    std::array<MPI_Comm, count> communicators{};
    std::array<int, count> right{};
    for (MPI_Comm& communicator : communicators) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    constexpr int rounds = 4;
    std::array<std::thread, count> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads[i] = std::thread{[&, i] { // assertions are for one thread
            for (int round = 0; round < rounds; ++round) {
                Runtime runtime{communicators[i]};
                Window window{runtime, 64};
                window.put(test::next(runtime), Offset{8 * i}, round);
                runtime.barrier();
                if (window.local_as<int>()[2 * i] == round) ++right[i];
                runtime.barrier();
            }
        }};
    for (std::thread& thread : threads) thread.join();
    for (const int rounds_right : right) CHECK(rounds_right == rounds);
    for (MPI_Comm& communicator : communicators) MPI_Comm_free(&communicator);
}

TEST_CASE(
    "the host program's communicator, attributes and error handlers are not changed, and its messages are its own") {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &host);
    MPI_Comm_set_name(host, "host's");
    int mark = 0;
    MPI_Comm_set_attr(host, key, &mark);
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(ignore_error, &own);
    MPI_Comm_set_errhandler(host, own);
    MPI_Errhandler world_before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world_before);

    int size = 0;
    int rank = 0;
    MPI_Comm_size(host, &size);
    MPI_Comm_rank(host, &rank);
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    int received = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, host, &request); // would catch a stray message
    {
        Runtime runtime{host};
        check_works(runtime);
        MPI_Send(&rank, 1, MPI_INT, to, 17, host);
        MPI_Status status;
        MPI_Wait(&request, &status);
        CHECK(received == from);
        CHECK(status.MPI_TAG == 17);
        check_works(runtime);
    }
    MPI_Errhandler after = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(host, &after);
    CHECK(after == own);
    MPI_Errhandler_free(&after);
    MPI_Errhandler_free(&own);
    MPI_Errhandler world_after = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world_after);
    CHECK(world_after == world_before);
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    MPI_Comm_get_name(host, name.data(), &length);
    CHECK(std::string{name.data()} == "host's");
    void* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(host, key, &value, &found);
    CHECK(found != 0);
    CHECK(value == &mark);
    int flag = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, host, &flag, &status);
    CHECK(flag == 0);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&host);
}
