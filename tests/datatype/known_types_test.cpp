// Layouts that are kept with datatypes: what MPI is asked for and in which order, and threads that look up at once.
#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>

#include "support/catch.hpp"
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace lapwing;

namespace {

MPI_Datatype vector_of(int count, int stride, MPI_Datatype inner = MPI_INT) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, stride, inner, &type);
    MPI_Type_commit(&type);
    return type;
}

/// What Lapwing asks MPI of datatypes, as the functions below see it.
struct Asked {
    bool on = false;
    std::vector<std::string> calls = {};
    MPI_Datatype freed = MPI_DATATYPE_NULL; ///< MPI_Pack takes it for one that was freed

    void add(const char* call) {
        if (on) calls.emplace_back(call);
    }
};
Asked asked;

/// MPIs may keep the tables of attributes locked while they call back; Open MPI 4.1 and MPICH 4.0 do not.
std::recursive_mutex attributes;

std::string refusal_of(MPI_Datatype type) {
    try {
        (void)Layout::from_mpi(type, 1);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no UsageError";
}

} // namespace

// MPI's profiling interface (MPI 3.1, section 14.2): these take the place of MPI's own in this program.
int MPI_Pack(const void* from, int count, MPI_Datatype type, void* to, int bytes, int* position, MPI_Comm comm) {
    asked.add("MPI_Pack");
    if (asked.on && type == asked.freed) return MPI_ERR_TYPE;
    return PMPI_Pack(from, count, type, to, bytes, position, comm);
}
int MPI_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner) {
    asked.add("MPI_Type_get_envelope");
    return PMPI_Type_get_envelope(type, integers, addresses, types, combiner);
}
int MPI_Type_get_attr(MPI_Datatype type, int key, void* value, int* found) {
    asked.add("MPI_Type_get_attr");
    const std::lock_guard lock{attributes};
    return PMPI_Type_get_attr(type, key, value, found);
}
int MPI_Type_set_attr(MPI_Datatype type, int key, void* value) {
    const std::lock_guard lock{attributes};
    return PMPI_Type_set_attr(type, key, value);
}
int MPI_Type_free(MPI_Datatype* type) {
    const std::lock_guard lock{attributes};
    return PMPI_Type_free(type);
}
#if MPI_VERSION >= 4
int MPI_Type_get_extent_c(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
    asked.add("MPI_Type_get_extent_c");
    return PMPI_Type_get_extent_c(type, lower, extent);
}
#else
int MPI_Type_get_extent_x(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
    asked.add("MPI_Type_get_extent_x");
    return PMPI_Type_get_extent_x(type, lower, extent);
}
#endif

TEST_CASE("MPI is asked about a datatype once") {
    for (const bool predefined : {false, true}) {
        MPI_Datatype type = predefined ? MPI_DOUBLE_INT : vector_of(5, 3);
        const Layout first = Layout::from_mpi(type, 7);
        asked = {.on = true};
        const Layout second = Layout::from_mpi(type, 7);
        asked.on = false;
        CHECK(second == first);
        CHECK(asked.calls.empty());
        if (!predefined) MPI_Type_free(&type);
    }
}

// Neither Open MPI 4.1 nor MPICH 4.0 can tell a handle that was freed: most calls with it end the program by a signal,
// whatever the error handler, MPI_Pack of no elements takes it, and MPI_Type_get_envelope, where it does notice, goes
// to the error handler of MPI_COMM_WORLD. So an MPI that can tell is played here: what is asked first is a call whose
// errors come back.
TEST_CASE("a handle that MPI knows to be freed is an error that says what to do, before anything else looks at it") {
    MPI_Datatype type = vector_of(4, 2);
    asked = {.on = true, .calls = {}, .freed = type};
    std::string message = refusal_of(type);
    asked.on = false;
    CHECK_THAT(message, Catch::Contains("MPI_Type_free"));
    CHECK(asked.calls == std::vector<std::string>{"MPI_Pack"});

    // One that was used before is not served from memory either.
    CHECK(Layout::from_mpi(type, 1) == Layout::strided(4, 4, 8));
    MPI_Datatype copy = type;
    MPI_Type_free(&type);
    asked = {.on = true, .calls = {}, .freed = copy};
    message = refusal_of(copy);
    asked.on = false;
    CHECK_THAT(message, Catch::Contains("MPI_Type_free"));
}

TEST_CASE("a duplicate of a known datatype is known by itself") {
    MPI_Datatype type = vector_of(6, 2);
    const Layout layout = Layout::from_mpi(type, 1);
    MPI_Datatype duplicate = MPI_DATATYPE_NULL;
    MPI_Type_dup(type, &duplicate);
    CHECK(Layout::from_mpi(duplicate, 1) == layout);
    MPI_Type_free(&type);
    CHECK(Layout::from_mpi(duplicate, 1) == layout);
    MPI_Type_free(&duplicate);
}

TEST_CASE("threads may meet new datatypes while others free theirs") {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) return;
    constexpr int threads = 3;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{400};
    MPI_Datatype shared = vector_of(3, 9);
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    running.reserve(threads);
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&, t] {
            for (int round = 0; round < 200 || std::chrono::steady_clock::now() < end; ++round) {
                const int stride = 2 + (round + t) % 50;
                MPI_Datatype type = vector_of(3, stride);
                for (int time = 0; time < 2; ++time)
                    wrong += Layout::from_mpi(type, 1) == Layout::strided(3, 4, 4 * stride) ? 0 : 1;
                MPI_Type_free(&type);
                wrong += Layout::from_mpi(shared, 1) == Layout::strided(3, 4, 36) ? 0 : 1;
            }
        });
    for (std::thread& thread : running) thread.join();
    CHECK(wrong == 0);

    // One new datatype that all of them meet at the same time.
    for (int round = 0; round < 100; ++round) {
        MPI_Datatype type = vector_of(3, 5 + round);
        std::atomic<int> ready{0};
        running.clear();
        for (int t = 0; t < threads; ++t)
            running.emplace_back([&] {
                for (++ready; ready < threads;) std::this_thread::yield();
                wrong += Layout::from_mpi(type, 1) == Layout::strided(3, 4, 4 * (5 + round)) ? 0 : 1;
            });
        for (std::thread& thread : running) thread.join();
        asked = {.on = true};
        wrong += Layout::from_mpi(type, 1) == Layout::strided(3, 4, 4 * (5 + round)) ? 0 : 1;
        asked.on = false;
        wrong += asked.calls.empty() ? 0 : 1; // known, whoever came last
        MPI_Type_free(&type);
    }
    CHECK(wrong == 0);
    MPI_Type_free(&shared);
}
