// Needed by every test on several ranks. The main program is tests/support/main.cpp.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace test {

/// Number of this rank in MPI_COMM_WORLD.
[[nodiscard]] inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// Number of ranks in MPI_COMM_WORLD.
[[nodiscard]] inline int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/// Collective: MPI's own barrier, independent of what is tested.
inline void world_barrier() { MPI_Barrier(MPI_COMM_WORLD); }

/// Collective: true on every rank when `value` is true on all. `REQUIRE(test::on_all_ranks(x == 3))` stops the test
/// case on all ranks together; a plain REQUIRE that fails on one rank leaves the others waiting in their next
/// collective call until the timeout ends the run (with the failure printed). Use it where ranks can differ and a
/// collective call follows.
[[nodiscard]] inline bool on_all_ranks(bool value) {
    int agreed = value ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return agreed != 0;
}

/// Whether a test case could not run here; see skip().
inline bool skipped = false;

/// To be called on all ranks by a test case that cannot run here, and ends: the run counts as skipped instead of
/// passed.
inline void skip() { skipped = true; }

/// Sets an environment variable, or removes it (no value), and restores it at the end of the scope.
class ScopedEnvironment {
public:
    ScopedEnvironment(std::string name, std::optional<std::string> value) : name_{std::move(name)} {
        if (const char* before = std::getenv(name_.c_str())) before_ = before;
        assign(value);
    }
    ~ScopedEnvironment() { assign(before_); }
    ScopedEnvironment(const ScopedEnvironment&) = delete;
    ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

private:
    void assign(const std::optional<std::string>& value) const {
        if (value) setenv(name_.c_str(), value->c_str(), 1);
        else unsetenv(name_.c_str());
    }

    std::string name_;
    std::optional<std::string> before_;
};

} // namespace test
