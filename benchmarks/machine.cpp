#include "machine.hpp"

#include <lapwing/detail/config.hpp>

#include "src/support/mpi_kind.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace lapwing::bench {
namespace {

std::string cpu_model() {
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string text; std::getline(info, text);) {
        if (text.starts_with("model name")) return text.substr(text.find(':') + 2);
    }
    return "unknown";
}

std::string kernel_release() {
    utsname names{};
    return uname(&names) == 0 ? fmt::format("{} {}", names.sysname, names.release) : "unknown";
}

std::string mpi_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string all{text.data(), static_cast<std::size_t>(length)};
    // Open MPI puts everything on one line, separated by commas; MPICH writes a page of configuration after the first.
    return all.substr(0, all.find_first_of(",\n"));
}

std::string compiler() {
#if defined(__clang__)
    return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    return "unknown";
#endif
}

} // namespace

std::string mpi_name() {
    using detail::support::MpiKind;
    switch (detail::support::mpi_kind) {
    case MpiKind::open_mpi: return "openmpi";
    case MpiKind::mpich: return "mpich";
    case MpiKind::other: break;
    }
    return "other";
}

nlohmann::ordered_json machine() {
    return {
        {"cpu", cpu_model()},
        {"cores", std::thread::hardware_concurrency()},
        {"kernel", kernel_release()},
        {"compiler", compiler()},
#ifdef NDEBUG
        {"optimised", true},
#else
        {"optimised", false},
#endif
        {"assertion_level", assertion_level},
        {"mpi", {{mpi_name(), mpi_version()}}},
    };
}

} // namespace lapwing::bench
