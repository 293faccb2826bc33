#include "window/window_memory.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/window_info.hpp"
#include "src/mpi/window_targets.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace lapwing::detail::window {
namespace {

using support::check_mpi;

constexpr std::uint64_t cache_line = 64;
constexpr std::uint64_t page = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

void return_errors(MPI_Win window, const std::string& who) {
    check_mpi(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler", who);
}

/// One passive epoch from the window's creation to its end.
void open_epoch(MPI_Win window, const std::string& who) {
    check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all", who);
}

std::string mpi_problem(int code, const char* call) {
    return code == MPI_SUCCESS ? "" : fmt::format("{} failed: {}", call, support::mpi_error_text(code));
}

/// What is known of the memory that MPI_Win_allocate gives. Open MPI's of osc/pt2pt, and of 4.1.4 on one machine,
/// begins 8 bytes after a multiple of 16, and it does not know the info key.
struct MpiMemory final : team::TeamPart {
    bool is_aligned = true; ///< to 64 bytes on all ranks, as far as one has seen
};

std::string system_problem(std::uint64_t bytes) {
    return fmt::format("{} bytes of memory cannot be mapped ({})", bytes, std::strerror(errno));
}

/// Whether the system gives private memory huge pages without being asked for it; shared memory has none as a rule.
bool gets_huge_pages(std::uint64_t bytes) {
    static const bool always = [] {
        std::ifstream file{"/sys/kernel/mm/transparent_hugepage/enabled"};
        std::string choices;
        return std::getline(file, choices) && choices.find("[always]") != std::string::npos;
    }();
    return always && bytes >= std::uint64_t{4} << 20U;
}

} // namespace

MemoryLimit memory_limit(const mpi::Topology& topology) noexcept {
    MemoryLimit limit{static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                      "the memory of the machine; ask for less, or spread the data over more machines"};
    // Both MPIs put shared memory in files there, and MPICH does not reserve the space: a write beyond it would be a
    // SIGBUS.
    struct statvfs file_system{};
    const bool in_files = topology.node_size() > 1 && topology.node_source() == mpi::NodeSource::mpi;
    if (in_files && statvfs("/dev/shm", &file_system) == 0 && file_system.f_blocks != 0) {
        const std::uint64_t available = static_cast<std::uint64_t>(file_system.f_bavail) * file_system.f_frsize;
        if (available < limit.bytes)
            limit = {available,
                     "the memory that is free in /dev/shm; ask for less, or make it larger (in a container: "
                     "--shm-size; else "
                     "mount -o remount,size=… /dev/shm), or leave LAPWING_NODE_MEMORY at own, or set LAPWING_NODE=each "
                     "(with LAPWING_PATH=rma: service)"};
    }
    return limit;
}

std::string cannot_map(std::uint64_t bytes) {
    void* const mapping =
        mmap(nullptr, std::max(bytes, page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return system_problem(bytes);
    munmap(mapping, std::max(bytes, page));
    return {};
}

void throw_no_memory(const std::string& who, std::uint64_t bytes, const mpi::Problem& first) {
    throw RangeError{
        fmt::format("{}: {} bytes asked for here, and rank {} cannot have its part: {}; ask for less, or raise that "
                    "rank's limits (ulimit -v, its container's memory)",
                    who, bytes, first.rank, first.text)};
}

WindowMemory::WindowMemory(team::TeamState& team, const std::string& who, std::uint64_t bytes, bool same_size,
                           unsigned alignment, unsigned counters, std::uint64_t zeroed_bytes)
    : team_{team}, counter_stride_{round_up(counters, cache_line / sizeof(std::uint64_t))} {
    const mpi::Topology& topology = team.topology();
    const bool rma = team.paths().network == Path::rma;
    // MPICH 4.0.2 over UCX assumes that a rank's part starts at a multiple of 16 bytes, and otherwise moves the wrong
    // bytes; it may not if the part before it, also allocated by MPI_Win_allocate, has another size. Parts that are not
    // dense begin at cache lines, wherever MPI puts one after another.
    const bool dense = topology.largest_node() > 1;
    total_bytes_ = round_up(std::max<std::uint64_t>(cache_line, bytes), !rma    ? alignment
                                                                        : dense ? std::max(alignment, 16U)
                                                                                : cache_line);
    const auto create_over_own = [&] {
        create(
            [&](MPI_Info info) {
                return MPI_Win_create(own_, static_cast<MPI_Aint>(total_bytes_), 1, info, team.communicator(),
                                      &remote_);
            },
            "MPI_Win_create", who, bytes, same_size);
    };
    if (dense) {
        kind_ = mpi::WindowKind::created_over_shared;
        share_parts(who, bytes);
        for (unsigned i = 0; i < counters; ++i)
            new (this->counters(topology.node_rank()) + i) std::atomic<std::uint64_t>{0};
        if (rma) create_over_own();
    } else {
        if (rma) allocate_part(who, bytes, same_size);
        if (remote_ == MPI_WIN_NULL) {
            map_part(who, bytes);
            if (rma) create_over_own();
        }
        bases_.assign(1, own_);
        own_counters_ = std::vector<std::atomic<std::uint64_t>>(counters);
        counters_ = own_counters_.data();
    }
    if (rma) {
        return_errors(remote_, who);
        check_mpi(mpi::WindowTargets::enter(remote_, team.size(), team.rank()), "MPI_Win_lock", who);
        open_epoch(remote_, who);
    }
    // Private mappings are zero already. So is shared memory of Lapwing's own, but whoever writes to a page first has
    // it near, where memory is not alike for all processors.
    if (!mapped_) std::memset(own_, 0, std::min(zeroed_bytes, total_bytes_));
}

// After every step that can fail on a single rank, all ask whether it has: otherwise they would wait in the next step.
template <class Call>
void WindowMemory::create(Call&& call, const char* name, const std::string& who, std::uint64_t bytes, bool same_size) {
    const mpi::WindowInfo info{same_size};
    mpi::CreationLock lock{team_.communicator(), team_.topology()};
    const int code = call(info.get());
    if (code == MPI_SUCCESS) team::TeamRegistry::unfreed_windows().fetch_add(1, std::memory_order_relaxed);
    agree(who, mpi_problem(code, name), bytes);
    lock.end();
}

void WindowMemory::allocate_part(const std::string& who, std::uint64_t bytes, bool same_size) {
    // The trial of windows has found out whether MPI aligns them, and has tried windows of the right kind.
    bool& mpi_aligns = team_.part<MpiMemory>().is_aligned;
    if (team_.paths().windows != mpi::WindowKind::allocated || !mpi_aligns) return;
    create(
        [&](MPI_Info info) {
            return MPI_Win_allocate(static_cast<MPI_Aint>(total_bytes_), 1, info, team_.communicator(), &own_,
                                    &remote_);
        },
        "MPI_Win_allocate", who, bytes, same_size);
    mpi_aligns = mpi::all_agree(team_.communicator(), reinterpret_cast<std::uintptr_t>(own_) % cache_line == 0);
    if (mpi_aligns) kind_ = mpi::WindowKind::allocated;
    else free_remote();
}

void WindowMemory::map_part(const std::string& who, std::uint64_t bytes) {
    // Shared memory can be mapped once more, for mapped arrays.
    const int kind = gets_huge_pages(total_bytes_) ? MAP_PRIVATE : MAP_SHARED;
    void* const mapping = mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    mapped_ = mapping != MAP_FAILED;
    if (mapped_) own_ = static_cast<std::byte*>(mapping);
    agree(who, mapped_ ? "" : system_problem(total_bytes_), bytes);
}

void WindowMemory::free_remote() {
    check_mpi(MPI_Win_free(&remote_), "MPI_Win_free", team_.who());
    team::TeamRegistry::unfreed_windows().fetch_sub(1, std::memory_order_relaxed);
}

void WindowMemory::share_parts(const std::string& who, std::uint64_t bytes) {
    // The first part has the node's counters in front.
    const mpi::Topology& topology = team_.topology();
    const auto ranks = static_cast<std::size_t>(topology.node_size());
    const std::uint64_t front = round_up(ranks * counter_stride_ * sizeof(std::uint64_t), page) + cache_line;
    const bool first = topology.node_rank() == 0;
    agree(
        who,
        shared_.make(topology.node_communicator(), topology.node_source(), first ? front + total_bytes_ : total_bytes_),
        bytes);
    if (shared_window() != MPI_WIN_NULL) {
        return_errors(shared_window(), who);
        open_epoch(shared_window(), who);
    }
    bases_ = shared_.bases();
    counters_ = reinterpret_cast<std::atomic<std::uint64_t>*>(bases_[0]);
    bases_[0] += front;
    // Open MPI 4.1.4 begins its memory 8 bytes after a multiple of 64. All parts are moved forward by the same amount,
    // into the room after the counters.
    const std::uint64_t behind = reinterpret_cast<std::uintptr_t>(bases_[0]) % cache_line;
    for (std::byte*& base : bases_) base -= behind;
    own_ = bases_[static_cast<std::size_t>(topology.node_rank())];
}

void WindowMemory::agree(const std::string& who, const std::string& problem, std::uint64_t bytes) {
    const mpi::Problem first = mpi::first_problem(team_.communicator(), problem);
    if (first.text.empty()) return;
    if (mapped_) munmap(own_, total_bytes_);
    // What is not MPI's, nor below a window of MPI's.
    if (shared_window() == MPI_WIN_NULL && remote_ == MPI_WIN_NULL) shared_.close();
    throw_no_memory(who, bytes, first);
}

WindowMemory::~WindowMemory() = default; // freeing is collective: close() does it

void WindowMemory::close() {
    // The barrier of the window's close has completed all operations; ending an epoch flushes by itself.
    if (remote_ != MPI_WIN_NULL) {
        check_mpi(MPI_Win_unlock_all(remote_), "MPI_Win_unlock_all", team_.who());
        free_remote();
    }
    if (shared_window() != MPI_WIN_NULL)
        check_mpi(MPI_Win_unlock_all(shared_window()), "MPI_Win_unlock_all", team_.who());
    check_mpi(shared_.close(), "MPI_Win_free", team_.who());
    if (mapped_) munmap(own_, total_bytes_);
    mapped_ = false;
    own_ = nullptr;
}

} // namespace lapwing::detail::window
