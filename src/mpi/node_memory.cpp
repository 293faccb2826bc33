#include "src/mpi/node_memory.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/address_space.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/unnamed_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;

std::string system_problem(const char* what) { return fmt::format("{} failed ({})", what, std::strerror(errno)); }

/// By which processes under one kernel know a file.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity identity_of(const struct stat& facts) { return {facts.st_dev, facts.st_ino}; }
FileIdentity identity_of(int file) {
    struct stat facts{};
    return file >= 0 && fstat(file, &facts) == 0 ? identity_of(facts) : FileIdentity{};
}

/// What each rank tells the others: the size of its part; the first one also where its file is.
struct NodePart {
    std::uint64_t bytes = 0;
    pid_t process = 0;
    int file = -1;
    FileIdentity identity;
};

} // namespace

std::string NodeMemory::make(MPI_Comm node, NodeSource source, std::uint64_t bytes) {
    return source == NodeSource::mpi ? allocate(node, bytes) : map_own(node, bytes);
}

std::string NodeMemory::allocate(MPI_Comm node, std::uint64_t bytes) {
    // MPI puts the parts one after another (MPI 3.1, section 11.2.3).
    std::byte* start = nullptr;
    const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, node, &start, &window_);
    if (code != MPI_SUCCESS) return fmt::format("MPI_Win_allocate_shared failed: {}", support::mpi_error_text(code));
    int ranks = 0;
    check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
    bases_.resize(static_cast<std::size_t>(ranks));
    std::byte* end = nullptr;
    for (int i = 0; i < ranks; ++i) {
        MPI_Aint size = 0;
        int unit = 0;
        const int found = MPI_Win_shared_query(window_, i, &size, &unit, &bases_[static_cast<std::size_t>(i)]);
        if (found != MPI_SUCCESS) return fmt::format("MPI_Win_shared_query failed: {}", support::mpi_error_text(found));
        if (bases_[static_cast<std::size_t>(i)] != nullptr) end = bases_[static_cast<std::size_t>(i)] + size;
    }
    map_again(end);
    return {};
}

void NodeMemory::map_again(const std::byte* end_of_all) {
    // A part of 0 bytes may have no address.
    const auto first = std::ranges::find_if(bases_, [](const std::byte* base) { return base != nullptr; });
    if (first == bases_.end()) return;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(*first) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(end_of_all);
    const std::uint64_t bytes = (end - begin + page - 1) / page * page;
    if (bytes == 0) return;
    if (!support::is_one_shared_mapping(reinterpret_cast<const std::byte*>(begin), bytes)) return;
    // A mapping of 0 bytes that grows is a second one of the same memory (mremap(2)).
    void* const again =
        mremap(reinterpret_cast<void*>(begin), 0, bytes, MREMAP_MAYMOVE); // NOLINT(performance-no-int-to-ptr)
    if (again == MAP_FAILED) return;
    mapping_ = static_cast<std::byte*>(again);
    mapped_bytes_ = bytes;
    for (std::byte*& base : bases_)
        if (base != nullptr) base = mapping_ + (reinterpret_cast<std::uintptr_t>(base) - begin);
}

std::string NodeMemory::map_own(MPI_Comm node, std::uint64_t bytes) {
    int ranks = 0;
    int rank = 0;
    check_mpi(MPI_Comm_size(node, &ranks), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");

    // The node's first rank makes the file, and keeps it open until the others have opened it, too, by its number.
    std::string problem;
    NodePart own{.bytes = bytes, .process = getpid(), .file = rank == 0 ? support::unnamed_file() : -1, .identity = {}};
    if (rank == 0 && own.file < 0) problem = system_problem("memfd_create");
    own.identity = identity_of(own.file);
    std::vector<NodePart> parts(static_cast<std::size_t>(ranks));
    check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, parts.data(), sizeof own, MPI_BYTE, node), "MPI_Allgather");
    mapped_bytes_ = 0;
    for (const NodePart& part : parts) mapped_bytes_ += part.bytes;
    mapped_bytes_ = std::max<std::uint64_t>(mapped_bytes_, 1);

    int file = own.file;
    const NodePart& first_part = parts.front();
    if (rank == 0 && file >= 0 && ftruncate(file, static_cast<off_t>(mapped_bytes_)) != 0)
        problem = system_problem(fmt::format("a file of {} bytes by memfd_create", mapped_bytes_).c_str());
    if (rank != 0 && first_part.file >= 0) {
        const std::string path = fmt::format("/proc/{}/fd/{}", first_part.process, first_part.file);
        // Where the ranks see different processes it is something else, which is not to be opened.
        struct stat facts{};
        if (stat(path.c_str(), &facts) != 0) problem = system_problem(("stat of " + path).c_str());
        else if (identity_of(facts) != first_part.identity)
            problem = fmt::format("{} is another file: the ranks see different processes", path);
        else if ((file = open(path.c_str(), O_RDWR | O_CLOEXEC)) < 0)
            problem = system_problem(("open of " + path).c_str());
    }
    if (file >= 0) {
        void* const mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapping != MAP_FAILED) mapping_ = static_cast<std::byte*>(mapping);
        else problem = system_problem(fmt::format("mmap of {} bytes", mapped_bytes_).c_str());
    }
    const Problem first = first_problem(node, problem);
    if (file >= 0) ::close(file);
    if (!first.text.empty()) {
        unmap();
        return fmt::format("rank {} of its node: {}", first.rank, first.text);
    }
    std::byte* start = mapping_;
    for (const NodePart& part : parts) {
        bases_.push_back(start);
        start += part.bytes;
    }
    return {};
}

void NodeMemory::unmap() noexcept {
    if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
    mapping_ = nullptr;
}

int NodeMemory::close() noexcept {
    unmap();
    bases_.clear();
    return window_ != MPI_WIN_NULL ? MPI_Win_free(&window_) : MPI_SUCCESS;
}

std::string problem_of_sharing(MPI_Comm node, NodeSource source) {
    NodeMemory memory;
    std::string problem = memory.make(node, source, 64);
    if (Problem first = first_problem(node, problem); !first.text.empty()) return first.text;
    int rank = 0;
    check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    // It might be each rank's own, or another job's.
    auto token = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    check_mpi(MPI_Bcast(&token, 1, MPI_UINT64_T, 0, node), "MPI_Bcast");
    const auto word = [&](std::size_t of) {
        return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(memory.bases()[of])};
    };
    const auto own = static_cast<std::size_t>(rank);
    word(own).store(token + own);
    check_mpi(MPI_Barrier(node), "MPI_Barrier");
    bool right = true;
    for (std::size_t i = 0; i < memory.bases().size() && right; ++i) right = word(i).load() == token + i;
    right = all_agree(node, right); // before any of it is given back
    memory.close();
    return right ? "" : "not all ranks see what others store";
}

} // namespace lapwing::detail::mpi
