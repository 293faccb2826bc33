#include "src/trace/call_sites.hpp"

#include <execinfo.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace lapwing::detail::trace {

std::uint64_t CallSite::key() const noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t k = 0; k < size; ++k)
        hash = (hash ^ reinterpret_cast<std::uint64_t>(frames[k])) * 0x9e3779b97f4a7c15 + (hash >> 31);
    return hash | 1;
}

CallSite CallSite::of_caller() noexcept {
    constexpr int own = 1; // this function
    std::array<void*, most + own> addresses{};
    const int found = backtrace(addresses.data(), static_cast<int>(addresses.size()));
    CallSite site;
    for (int k = own; k < found; ++k) site.frames[site.size++] = addresses[static_cast<std::size_t>(k)];
    return site;
}

std::vector<LoadedFile> loaded_files() {
    std::vector<LoadedFile> files;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            LoadedFile file{.path = info->dlpi_name, .base = info->dlpi_addr, .begin = UINT64_MAX};
            for (int k = 0; k < info->dlpi_phnum; ++k) {
                const auto& part = info->dlpi_phdr[k];
                if (part.p_type != PT_LOAD) continue;
                file.begin = std::min(file.begin, static_cast<std::uint64_t>(info->dlpi_addr + part.p_vaddr));
                file.end =
                    std::max(file.end, static_cast<std::uint64_t>(info->dlpi_addr + part.p_vaddr + part.p_memsz));
            }
            std::error_code none;
            // The program itself has no name here.
            if (file.path.empty()) file.path = std::filesystem::read_symlink("/proc/self/exe", none).string();
            struct stat status{};
            if (stat(file.path.c_str(), &status) == 0) {
                file.bytes = static_cast<std::uint64_t>(status.st_size);
                file.changed = status.st_mtime;
            }
            static_cast<std::vector<LoadedFile>*>(context)->push_back(std::move(file));
            return 0;
        },
        &files);
    return files;
}

} // namespace lapwing::detail::trace
