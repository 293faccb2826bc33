// From an address in the program to its source line, for records of accesses.
#include "upc/access_recorder.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <link.h>

namespace lapwing::upc {

namespace {

/// A file that is part of the process. Processes of one program load it at different addresses.
struct LoadedFile {
    std::uint64_t base = 0;
    std::uint64_t hash = 0; ///< of its name, 16 bits
    std::string name;
};

[[nodiscard]] std::uint64_t hash_of(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U; // FNV-1a (Fowler, Noll and Vo)
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash >> 48;
}

/// The first loaded file for which `wanted(info, file)` is true.
template <class Wanted>
[[nodiscard]] LoadedFile find_file(Wanted wanted) {
    struct Search {
        Wanted& wanted;
        LoadedFile found;
    } search{wanted, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            auto& here = *static_cast<Search*>(context);
            // The program itself has no name here.
            LoadedFile file{.base = info->dlpi_addr, .hash = hash_of(info->dlpi_name), .name = info->dlpi_name};
            if (!here.wanted(*info, file)) return 0;
            here.found = std::move(file);
            return 1;
        },
        &search);
    return search.found;
}

constexpr std::uint64_t offset_mask = (std::uint64_t{1} << 48) - 1;

/// The output of addr2line has, for each function that was inlined at the place, innermost first, its name and its
/// line. Returns the first line outside Lapwing.
[[nodiscard]] std::string programs_line(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
    if (output == nullptr) return {};
    std::array<char, 4096> buffer{};
    std::string found;
    for (int number = 0; std::fgets(buffer.data(), static_cast<int>(buffer.size()), output.get()) != nullptr;
         ++number) {
        std::string_view line{buffer.data()};
        if (number % 2 == 0 || !found.empty()) continue; // the name
        line = line.substr(0, line.find_first_of(" \n"));
        if (line.starts_with("??") || line.find("/lapwing/upc/") != line.npos || line.ends_with(":?")) continue;
        found = line;
    }
    return found;
}

} // namespace

std::uint64_t portable_place(const void* address) {
    const auto place = reinterpret_cast<std::uint64_t>(address);
    const LoadedFile file = find_file([place](const dl_phdr_info& info, const LoadedFile&) {
        for (int k = 0; k < info.dlpi_phnum; ++k) {
            const std::uint64_t begin = info.dlpi_addr + info.dlpi_phdr[k].p_vaddr;
            if (info.dlpi_phdr[k].p_type == PT_LOAD && place >= begin && place - begin < info.dlpi_phdr[k].p_memsz)
                return true;
        }
        return false;
    });
    return file.hash << 48 | ((place - file.base) & offset_mask);
}

std::string source_line(std::uint64_t place) {
    const LoadedFile file =
        find_file([hash = place >> 48](const dl_phdr_info&, const LoadedFile& file) { return file.hash == hash; });
    const std::uint64_t offset = (place & offset_mask) - 1; // inside the call, not after it
    std::error_code none;
    const std::string name =
        file.name.empty() ? std::filesystem::read_symlink("/proc/self/exe", none).string() : file.name;
    if (name.find('\'') == name.npos)
        if (std::string line = programs_line(fmt::format("addr2line -f -i -e '{}' {:#x} 2>/dev/null", name, offset));
            !line.empty())
            return line;
    return fmt::format("{} {:#x}", std::filesystem::path{name}.filename().string(), offset);
}

} // namespace lapwing::upc
