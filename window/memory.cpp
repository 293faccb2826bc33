#include "window/memory.hpp"

#include "src/support/mpi_error.hpp"
#include "window/creation_turn.hpp"
#include "window/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace lapwing::window {
namespace {

using support::check_mpi;

/// An info object that is freed with the scope.
class Info {
public:
    Info() { check_mpi(MPI_Info_create(&info_), "MPI_Info_create"); }
    ~Info() { MPI_Info_free(&info_); }
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    void set(const char* key, const char* value) { check_mpi(MPI_Info_set(info_, key, value), "MPI_Info_set"); }
    [[nodiscard]] MPI_Info get() const { return info_; }

private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// One passive epoch from the window's creation to its end.
void open_epoch(MPI_Win window, const std::string& who) {
    check_mpi(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler", who);
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all", who);
}

} // namespace

std::uint64_t machine_memory_bytes() noexcept {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

WindowMemory::WindowMemory(TeamState& team, std::uint64_t bytes, std::uint64_t prefix_bytes) : team_{team} {
    // Parts of a node may lie one behind the other: whole cache lines keep every part aligned. At least one: MPICH 4.0.2
    // reads from the wrong place in windows of less than 64 bytes a rank.
    total_bytes_ = std::max<std::uint64_t>(64, (prefix_bytes + bytes + 63) / 64 * 64);
    const auto size = static_cast<MPI_Aint>(total_bytes_);
    const Topology& topology = team.topology();
    const bool rma = team.network_path() == Path::rma;
    if (topology.largest_node() > 1) {
        Info info;
        info.set("alloc_shared_noncontig", "true"); // each part on pages of its own, near its owner
        check_mpi(MPI_Win_allocate_shared(size, 1, info.get(), topology.node_communicator(), &own_, &shared_),
                  "MPI_Win_allocate_shared", team.who());
        open_epoch(shared_, team.who());
        bases_.resize(static_cast<std::size_t>(topology.node_size()));
        for (int i = 0; i < topology.node_size(); ++i) {
            MPI_Aint part_size = 0;
            int unit = 0;
            check_mpi(MPI_Win_shared_query(shared_, i, &part_size, &unit, &bases_[static_cast<std::size_t>(i)]),
                      "MPI_Win_shared_query", team.who());
        }
        if (rma) {
            CreationTurn turn{team.communicator(), topology};
            check_mpi(MPI_Win_create(own_, size, 1, MPI_INFO_NULL, team.communicator(), &remote_), "MPI_Win_create", team.who());
            turn.end();
        }
    } else {
        if (rma) {
            CreationTurn turn{team.communicator(), topology};
            check_mpi(MPI_Win_allocate(size, 1, MPI_INFO_NULL, team.communicator(), &own_, &remote_), "MPI_Win_allocate",
                      team.who());
            turn.end();
        } else {
            void* const mapping = mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (mapping == MAP_FAILED)
                throw RangeError{fmt::format("{}: Window: {} bytes of memory cannot be had; ask for less", team.who(), bytes)};
            own_ = static_cast<std::byte*>(mapping);
            mapped_ = true;
        }
        bases_.assign(1, own_);
    }
    if (rma) open_epoch(remote_, team.who());
    if (!mapped_) std::memset(own_, 0, total_bytes_); // a mapping is zero already
}

WindowMemory::~WindowMemory() = default; // freeing is collective: close() does it

void WindowMemory::close() {
    // The barrier of the window's close has completed all operations; ending an epoch flushes by itself.
    if (remote_ != MPI_WIN_NULL) {
        check_mpi(MPI_Win_unlock_all(remote_), "MPI_Win_unlock_all", team_.who());
        check_mpi(MPI_Win_free(&remote_), "MPI_Win_free", team_.who());
    }
    if (shared_ != MPI_WIN_NULL) {
        check_mpi(MPI_Win_unlock_all(shared_), "MPI_Win_unlock_all", team_.who());
        check_mpi(MPI_Win_free(&shared_), "MPI_Win_free", team_.who());
    }
    if (mapped_) munmap(own_, total_bytes_);
    mapped_ = false;
    own_ = nullptr;
}

} // namespace lapwing::window
