// Runtimes on communicators of sessions (MPI 4.0), in a program that never calls MPI_Init: a main of its own. Exit code
// 77 where MPI has no sessions.
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Rank;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "session_test: not so: %s\n", what);
    std::_Exit(1);
}

bool refuses(const std::function<void()>& call, const char* text) {
    try {
        call();
    } catch (const lapwing::UsageError& error) {
        if (std::string{error.what()}.find(text) != std::string::npos) return true;
        std::fprintf(stderr, "session_test: another message: %s\n", error.what());
    }
    return false;
}

bool initialised() {
    int flag = 0;
    MPI_Initialized(&flag);
    return flag != 0;
}

void test_refusals() {
    require(refuses([] { lapwing::Runtime runtime{MPI_COMM_NULL}; }, "MPI_COMM_NULL"), "no runtime on MPI_COMM_NULL");
    require(refuses([] { lapwing::Team team{MPI_COMM_WORLD, lapwing::Settings{}}; }, "MPI is not initialised"),
            "no team on MPI_COMM_WORLD without MPI_Init");
    require(!initialised(), "what is refused does not initialise MPI");
}

#ifdef LAPWING_MPI_HAS_SESSIONS

class Session {
public:
    Session() {
        MPI_Info wanted = MPI_INFO_NULL;
        MPI_Info_create(&wanted);
        MPI_Info_set(wanted, "thread_level", "MPI_THREAD_MULTIPLE");
        require(MPI_Session_init(wanted, MPI_ERRORS_ARE_FATAL, &session_) == MPI_SUCCESS, "a session begins");
        MPI_Info_free(&wanted);
    }
    ~Session() { require(MPI_Session_finalize(&session_) == MPI_SUCCESS, "a session ends"); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] MPI_Group all() const {
        MPI_Group group = MPI_GROUP_NULL;
        require(MPI_Group_from_session_pset(session_, "mpi://WORLD", &group) == MPI_SUCCESS, "there are all ranks");
        return group;
    }

private:
    MPI_Session session_ = MPI_SESSION_NULL;
};

class Communicator {
public:
    Communicator(MPI_Group group, const char* tag) {
        require(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &communicator_) ==
                    MPI_SUCCESS,
                "a group makes a communicator");
        MPI_Group_free(&group);
    }
    ~Communicator() { MPI_Comm_free(&communicator_); }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    [[nodiscard]] MPI_Comm get() const { return communicator_; }

private:
    MPI_Comm communicator_ = MPI_COMM_NULL;
};

void test_windows(lapwing::Runtime& runtime) {
    const int own = runtime.rank().value;
    const int ranks = runtime.size();
    const Rank next{(own + 1) % ranks};
    const Rank before{(own + ranks - 1) % ranks};
    constexpr std::size_t many = 20'000; // more than a message's buffer holds
    lapwing::Window window{runtime, 8 * (many + 2), lapwing::WindowOptions{.notification_counters = 1}};
    std::vector<std::int64_t> numbers(many);
    std::iota(numbers.begin(), numbers.end(), own * 1'000'000);
    window.put(next, Offset{16}, std::span<const std::int64_t>{numbers});
    window.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(own + 1);
    std::int64_t expected = window.get<std::int64_t>(Rank{0}, Offset{8});
    while (true) { // raises by one
        const std::int64_t seen = window.atomic<std::int64_t>(Rank{0}, Offset{8}).compare_swap(expected, expected + 1);
        if (seen == expected) break;
        expected = seen;
    }
    runtime.barrier();
    require(window.get<std::int64_t>(Rank{0}, Offset{0}) == ranks * (ranks + 1) / 2, "atomics add up");
    require(window.get<std::int64_t>(Rank{0}, Offset{8}) == ranks, "compare and swap adds up");
    std::vector<std::int64_t> seen(many);
    window.get(next, Offset{16}, std::span{seen});
    require(seen == numbers, "what was put is got");
    runtime.barrier();
    window.put_notify(next, Offset{16}, std::int64_t{77 + own}, 0);
    window.wait_notified(0, 1);
    require(window.get<std::int64_t>(Rank{own}, Offset{16}) == 77 + before.value, "a notified put arrives");

    // Every second number, by a datatype of the program's.
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    MPI_Type_vector(10, 1, 2, MPI_INT64_T, &every_second);
    MPI_Type_commit(&every_second);
    require(lapwing::Layout::from_mpi(every_second) == lapwing::Layout::strided(10, 8, 16), "datatypes are read");
    MPI_Type_free(&every_second);
    runtime.barrier();
}

void test_adoption(lapwing::Runtime& runtime, MPI_Comm communicator) {
    const int own = runtime.rank().value;
    std::int64_t* memory = nullptr;
    MPI_Win host = MPI_WIN_NULL;
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, communicator, &memory, &host);
    std::fill_n(memory, 8, own);
    MPI_Barrier(communicator);
    lapwing::Window window = lapwing::Window::adopt(runtime, host);
    const Rank next{(own + 1) % runtime.size()};
    require(window.get<std::int64_t>(next, Offset{16}) == next.value, "an adopted window is read");
    runtime.barrier();
    window.close();
    MPI_Win_free(&host);
}

void test_arrays(lapwing::Runtime& runtime) {
    lapwing::GlobalArray<double, 2> a{runtime, {30, 40}, lapwing::Block{}};
    for (auto [i, j] : a.local_domain()) a.local(i, j) = static_cast<double>(40 * i + j);
    runtime.barrier();
    for (std::int64_t i = 0; i < 30; ++i)
        require(a(i, 39 - i) == static_cast<double>(40 * i + 39 - i), "elements are read");
    require(a.sum() == 1199.0 * 1200 / 2, "elements are summed");
    lapwing::Lock lock{runtime, Rank{0}};
    lapwing::Window count{runtime, 8};
    for (int i = 0; i < 3; ++i) {
        lock.lock();
        count.put(Rank{0}, Offset{0}, count.get<std::int64_t>(Rank{0}, Offset{0}) + 1);
        count.flush(Rank{0});
        lock.unlock();
    }
    runtime.barrier();
    require(count.get<std::int64_t>(Rank{0}, Offset{0}) == 3 * runtime.size(), "locks exclude");
    runtime.barrier();
}

void test_all(MPI_Comm communicator) {
    lapwing::Runtime runtime{communicator};
    test_windows(runtime);
    test_adoption(runtime, communicator);
    test_arrays(runtime);
#ifdef OPEN_MPI
    const bool threads =
        runtime.settings().text("LAPWING_THREAD_LEVEL") == "multiple"; // Open MPI says MPI_THREAD_SINGLE
#else
    const bool threads = runtime.settings().text("LAPWING_THREAD_LEVEL") != "serialized";
#endif
    require(runtime.report().find(threads ? "progress by thread" : "progress by caller") != std::string::npos,
            "there is a progress thread where the session has the level for it");
    runtime.close();
    require(!initialised(), "nobody initialises MPI");
}

/// Each with a runtime of its own, and one of them with another of fewer ranks.
void test_two_at_a_time() {
    const Session one;
    const Session other;
    const Communicator first{one.all(), "first"};
    const Communicator second{other.all(), "second"};
    // All of them before there is a progress thread: beside one, Open MPI 5.0.7 hangs in MPI_Comm_create_from_group now
    // and then.
    MPI_Group some = other.all();
    int own = 0;
    int last = 0;
    MPI_Group_rank(some, &own);
    MPI_Group_size(some, &last);
    --last;
    std::optional<Communicator> fewer;
    if (own != last) {
        MPI_Group without_last = MPI_GROUP_NULL;
        MPI_Group_excl(some, 1, &last, &without_last);
        fewer.emplace(without_last, "fewer");
    }
    MPI_Group_free(&some);
    lapwing::Runtime runtime{first.get()};
    {
        lapwing::Runtime inner{second.get()};
        lapwing::Window outside{runtime, 8};
        lapwing::Window inside{inner, 8};
        outside.atomic<std::int64_t>(Rank{last}, Offset{0}).fetch_add(1);
        inside.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(2);
        inner.barrier();
        runtime.barrier();
        require(outside.get<std::int64_t>(Rank{last}, Offset{0}) == runtime.size(), "one runtime counts");
        require(inside.get<std::int64_t>(Rank{0}, Offset{0}) == 2 * runtime.size(), "and the other");
        runtime.barrier();
    }
    if (fewer) {
        lapwing::Runtime part{fewer->get()};
        lapwing::Window window{part, 8};
        window.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(1);
        part.barrier();
        require(window.get<std::int64_t>(Rank{0}, Offset{0}) == last, "a runtime of some ranks counts");
        part.barrier();
    }
    runtime.barrier();
}

int run() {
    test_refusals();
    // No MPI begins anew for sure once its last session has ended: MPICH 4.0.2 crashes in MPI_Session_init, 4.2.1 ends
    // the program in MPI_Win_allocate_shared (utils.c, "actual_pack_bytes > 0"), and Open MPI 5.0.7 hangs in one of ten
    // MPI_Session_init.
    const Session open_all_the_time;
    for (int round = 0; round < 2; ++round) {
        const Session session;
        const Communicator communicator{session.all(), "all"};
        test_all(communicator.get());
    }
    test_two_at_a_time();
    require(!initialised(), "nobody initialises MPI");
    return 0;
}

#else

int run() {
    test_refusals();
#ifdef OPEN_MPI
    int nothing = 0;
    const auto any = reinterpret_cast<MPI_Comm>(&nothing); // nobody looks at it
    require(refuses([&] { lapwing::Runtime runtime{any}; }, "this MPI has no sessions"),
            "other communicators need MPI_Init");
#endif
    std::puts("session_test: skipped: this MPI has no sessions");
    return 77;
}

#endif

} // namespace

int main() {
    try {
        return run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "session_test: %s\n", error.what());
        std::_Exit(1);
    }
}
