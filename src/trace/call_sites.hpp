#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::trace {

/// Where in the program a call was made: the address that it returns to, or those of the calls around it, from the
/// inside out, the library's own among them.
struct CallSite {
    static constexpr std::size_t most = 12;
    std::array<const void*, most> frames{};
    std::size_t size = 0;

    /// Differs between call sites, and is never 0.
    [[nodiscard]] std::uint64_t key() const noexcept;
    [[nodiscard]] static CallSite at(const void* address) noexcept { return {{address}, 1}; }
    /// Of the caller. Takes microseconds.
    [[nodiscard]] static CallSite of_caller() noexcept;
};

/// A file that is part of the process. Processes of one program load it at other addresses.
struct LoadedFile {
    std::string path = {};
    std::uint64_t base = 0;
    std::uint64_t begin = 0; ///< of the addresses of its code
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;  ///< of the file
    std::int64_t changed = 0; ///< seconds since 1970
};
[[nodiscard]] std::vector<LoadedFile> loaded_files();

} // namespace lapwing::detail::trace
