#include "source_place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include <execinfo.h>
#include <link.h>
#include <unistd.h>

namespace upcc {

namespace {

/// Where the program itself is loaded.
struct Loaded {
    std::uint64_t base = 0;
    std::uint64_t begin = UINT64_MAX;
    std::uint64_t end = 0;
};

[[nodiscard]] Loaded program() {
    Loaded found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            auto& here = *static_cast<Loaded*>(context);
            here.base = info->dlpi_addr;
            for (int k = 0; k < info->dlpi_phnum; ++k) {
                if (info->dlpi_phdr[k].p_type != PT_LOAD) continue;
                const std::uint64_t begin = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;
                here.begin = std::min(here.begin, begin);
                here.end = std::max(here.end, begin + info->dlpi_phdr[k].p_memsz);
            }
            return 1; // the first one is the program
        },
        &found);
    return found;
}

[[nodiscard]] bool is_of_program(std::string_view place) {
    const std::string_view file = place.substr(0, place.rfind(':'));
    return !place.starts_with("??") && file.find("/lapwing") == file.npos &&
           (file.ends_with(".upc") || file.ends_with(".c") || file.ends_with(".h"));
}

} // namespace

std::string programs_place() {
    std::array<void*, 64> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    const Loaded loaded = program();
    std::string command = "addr2line -i -e /proc/" + std::to_string(getpid()) + "/exe";
    for (int k = 0; k < count; ++k) {
        const auto address = reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(k)]);
        if (address < loaded.begin || address >= loaded.end) continue;
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), " 0x%llx", static_cast<unsigned long long>(address - loaded.base - 1));
        command += text.data();
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen((command + " 2>/dev/null").c_str(), "r"),
                                                                 pclose};
    if (output == nullptr) return {};
    std::string found;
    std::array<char, 4096> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), output.get()) != nullptr) {
        std::string_view line{buffer.data()};
        line = line.substr(0, line.find_first_of(" \n"));
        if (found.empty() && is_of_program(line)) found = line;
    }
    return found;
}

} // namespace upcc
