#include "report.hpp"

#include <lapwing/config.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <sys/utsname.h>
#include <thread>

namespace lapwing::bench {
namespace {

using Json = nlohmann::ordered_json;

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

Json machine() {
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

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const Row& row) {
    return {
        {"bench", row.bench},
        {"case", row.case_name},
        {"mpi", row.mpi},
        {"network", row.network},
        {"path", row.path},
        {"ranks", row.ranks},
        {"metric", row.metric},
        {"value", row.value},
        {"unit", row.unit},
        {"baseline", row.baseline},
        {"baseline_value", number(row.baseline_value)},
        {"ratio", number(row.ratio)},
        {"min", row.min},
        {"max", row.max},
        {"repetitions", row.repetitions},
    };
}

} // namespace

std::string mpi_name() {
#if defined(OPEN_MPI)
    return "openmpi";
#elif defined(MPICH_VERSION)
    return "mpich";
#else
    return "other";
#endif
}

std::string line(const Row& row) {
    std::string text =
        fmt::format("{}: {}, {} {}: {:.4g} {}", row.bench, row.case_name, row.path, row.metric, row.value, row.unit);
    if (row.ratio) {
        text += fmt::format("; {}: {:.4g} {}; {:.3f} times better", row.baseline, row.baseline_value.value_or(0),
                            row.unit, *row.ratio);
    }
    return text;
}

void write_json(const std::string& file, std::span<const Row> rows) {
    Json list = Json::array();
    for (const Row& row : rows) list.push_back(to_json(row));
    const Json all = {{"machine", machine()}, {"rows", std::move(list)}};
    // Renamed when complete, so that whoever finds the file finds all of it.
    const std::string unfinished = file + ".part";
    {
        std::ofstream out{unfinished};
        out << all.dump(2) << '\n';
        out.close();
        if (!out) throw std::runtime_error{fmt::format("{} cannot be written", unfinished)};
    }
    if (std::rename(unfinished.c_str(), file.c_str()) != 0) {
        throw std::runtime_error{fmt::format("{} cannot be written", file)};
    }
}

} // namespace lapwing::bench
