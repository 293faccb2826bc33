#include "src/mpi/shared_parts.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;

/// A place in a file, as the kernel names it.
struct FilePlace {
    std::uint64_t device = 0;
    std::uint64_t inode = 0; ///< 0: no file
    std::uint64_t path = 0;  ///< its hash: where mounts share a device, inodes of different files may be equal
    std::uint64_t offset = 0;

    [[nodiscard]] bool same_file(const FilePlace& other) const noexcept {
        return device == other.device && inode == other.inode && path == other.path;
    }
};

/// Memory of this process that others can map as well.
struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    FilePlace place; ///< of `begin`
};

/// One part, as its owner describes it.
struct Part {
    FilePlace place;
    std::uint64_t bytes = 0;
};
static_assert(std::is_trivially_copyable_v<Part>);

[[nodiscard]] std::vector<Mapping> shared_mappings() {
    std::vector<Mapping> mappings;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        unsigned long long begin = 0;
        unsigned long long end = 0;
        unsigned long long offset = 0;
        unsigned long long inode = 0;
        unsigned major = 0;
        unsigned minor = 0;
        std::array<char, 5> access{};
        int path_at = 0;
        if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %x:%x %llu %n", &begin, &end, access.data(), &offset, &major,
                        &minor, &inode, &path_at) != 7)
            continue;
        const std::string path = line.substr(static_cast<std::size_t>(path_at));
        // The numbers of System V's segments are those of an IPC namespace, of which a machine may have several.
        if (std::string{access.data()} != "rw-s" || inode == 0 || path.starts_with("/SYSV")) continue;
        const FilePlace place{.device = std::uint64_t{major} << 32 | minor,
                              .inode = inode,
                              .path = std::hash<std::string>{}(path),
                              .offset = offset};
        // The kernel splits mappings whose attributes differ.
        if (!mappings.empty() && mappings.back().end == begin && mappings.back().place.same_file(place) &&
            mappings.back().place.offset + (mappings.back().end - mappings.back().begin) == offset)
            mappings.back().end = end;
        else mappings.push_back({begin, end, place});
    }
    return mappings;
}

[[nodiscard]] FilePlace place_of(const std::vector<Mapping>& mappings, const std::byte* memory, std::uint64_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    for (const Mapping& mapping : mappings) {
        if (at < mapping.begin || at >= mapping.end || bytes > mapping.end - at) continue;
        FilePlace place = mapping.place;
        place.offset += at - mapping.begin;
        return place;
    }
    return {};
}

/// Null if it is not mapped here.
[[nodiscard]] std::byte* find(const std::vector<Mapping>& mappings, const Part& part) {
    for (const Mapping& mapping : mappings) {
        const std::uint64_t length = mapping.end - mapping.begin;
        if (!mapping.place.same_file(part.place) || part.place.offset < mapping.place.offset) continue;
        const std::uint64_t skipped = part.place.offset - mapping.place.offset;
        if (skipped <= length && part.bytes <= length - skipped)
            return reinterpret_cast<std::byte*>(mapping.begin + skipped);
    }
    return nullptr;
}

} // namespace

Overlap find_overlap(std::span<const PartOfMemory> parts) {
    std::vector<int> order;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i].bytes != 0) order.push_back(static_cast<int>(i));
    const auto part = [&](int i) -> const PartOfMemory& { return parts[static_cast<std::size_t>(i)]; };
    std::ranges::sort(order, {}, [&](int i) { return std::tuple{part(i).memory, part(i).place, i}; });
    for (std::size_t k = 1; k < order.size(); ++k) {
        const PartOfMemory& before = part(order[k - 1]);
        const PartOfMemory& here = part(order[k]);
        if (before.memory == here.memory && here.place - before.place < before.bytes)
            return {order[k - 1], order[k], before.bytes, here.place - before.place};
    }
    return {};
}

SharedParts find_shared_parts(MPI_Comm node, std::byte* own, std::uint64_t bytes) {
    int size = 0;
    int rank = 0;
    check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size");
    check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    const std::vector<Mapping> mappings = shared_mappings();
    std::vector<Part> parts(static_cast<std::size_t>(size));
    const Part mine{bytes == 0 ? FilePlace{} : place_of(mappings, own, bytes), bytes};
    check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, parts.data(), sizeof mine, MPI_BYTE, node), "MPI_Allgather");
    std::vector<PartOfMemory> in_files;
    in_files.reserve(parts.size());
    std::vector<FilePlace> files;
    for (const Part& part : parts) {
        auto file = std::ranges::find_if(files, [&](const FilePlace& known) { return known.same_file(part.place); });
        if (file == files.end()) file = files.insert(file, part.place);
        in_files.push_back({static_cast<std::uint64_t>(file - files.begin()), part.place.offset,
                            part.place.inode == 0 ? 0 : part.bytes});
    }
    std::vector<std::byte*> found;
    found.reserve(parts.size());
    for (const Part& part : parts)
        found.push_back(part.bytes == 0 || part.place.inode == 0 ? nullptr : find(mappings, part));
    found[static_cast<std::size_t>(rank)] = own; // where several mappings show it, the program's pointer
    bool all = true;
    for (std::size_t i = 0; i < parts.size(); ++i) all = all && (parts[i].bytes == 0 || found[i] != nullptr);
    if (!all_agree(node, all)) found.clear();
    return {std::move(found), find_overlap(in_files)};
}

} // namespace lapwing::detail::mpi
