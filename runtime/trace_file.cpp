#include "runtime/trace_file.hpp"

#include "model/profile.hpp"
#include "src/support/hash.hpp"
#include "src/support/log.hpp"
#include "src/team/block_collectives.hpp"
#include "src/team/team_state.hpp"
#include "src/trace/recorder.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace lapwing::detail::support::settings_in {
void runtime_trace_file() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::runtime {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::TextSetting trace_setting{
    {.name = "LAPWING_TRACE",
     .default_value = "",
     .unit = "",
     .help = "file for a record of all accesses to arrays, windows and UPC's objects, for lapwing-advise",
     .choices = {},
     .collective = true,
     .range = "empty or a path"}};

constexpr std::string_view first_line = "lapwing trace 1\n";

[[nodiscard]] std::string head_of(const Team& team) {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    std::string_view library{version.data(), static_cast<std::size_t>(length)};
    library = library.substr(0, library.find_first_of(std::string_view{"\n\r\0", 3}));
    std::string text{first_line};
    text += fmt::format("ranks {}\nnodes {}\nnetwork_path {}\nmpi {}\n", team.size(), team.nodes(),
                        name(team.network_path()), library);
    text += fmt::format("profile {}\n", model::profile_file(team.settings(), model::profile_key(team)));
    for (const char* const setting : {"LAPWING_CACHE", "LAPWING_CACHE_BYTES", "LAPWING_CACHE_PAGE"})
        text += fmt::format("setting {}={}\n", setting, team.settings().text(setting));
    return text;
}

/// Collective. The texts of all ranks in their order, at rank 0.
[[nodiscard]] std::string gathered(Team& team, const std::string& own) {
    std::int64_t longest = static_cast<std::int64_t>(own.size());
    team.max(std::span{&longest, 1});
    const auto ranks = static_cast<std::size_t>(team.size());
    // With its length in front, so that all blocks are alike.
    std::string padded = fmt::format("{:016x}", own.size()) + own;
    padded.resize(static_cast<std::size_t>(longest) + 16);
    const std::size_t block = std::max<std::size_t>(1, std::min(padded.size(), team::largest_blocks / ranks));
    std::vector<std::string> texts(team.rank() == Rank{0} ? ranks : 0);
    std::vector<std::byte> all(texts.empty() ? 0 : block * ranks);
    for (std::size_t begin = 0; begin < padded.size(); begin += block) {
        std::string part = padded.substr(begin, block);
        part.resize(block);
        team::gather(team.state(), "LAPWING_TRACE", 0, std::as_bytes(std::span{part}), all);
        for (std::size_t r = 0; r < texts.size(); ++r)
            texts[r].append(reinterpret_cast<const char*>(all.data()) + r * block, block);
    }
    std::string joined;
    for (const std::string& text : texts)
        joined += std::string_view{text}.substr(16, std::stoull(text.substr(0, 16), nullptr, 16));
    return joined;
}

void write_file(const std::string& file, std::string text) {
    text += fmt::format("checksum {:016x}\n", support::checksum_of(text));
    const std::string unfinished = fmt::format("{}.{}", file, getpid());
    std::ofstream out{unfinished, std::ios::binary};
    out << text;
    out.close();
    if (out && std::rename(unfinished.c_str(), file.c_str()) == 0) return;
    const int reason = errno;
    std::remove(unfinished.c_str());
    support::log_line(
        fmt::format("LAPWING_TRACE={}: the file cannot be written ({}), and the trace is lost; choose one "
                    "that can",
                    file, std::strerror(reason)));
}

} // namespace

TraceFile::TraceFile(Team& team) : team_{team} {
    const std::string file = trace_setting.get(team.settings());
    if (file.empty()) return;
    // At the start of a long run, not only at its end.
    if (team.rank() == Rank{0}) {
        const std::string probe = fmt::format("{}.{}", file, getpid());
        if (!std::ofstream{probe}.is_open())
            support::log_line(fmt::format("LAPWING_TRACE={}: no file can be written there ({}); choose another place",
                                          file, std::strerror(errno)));
        std::remove(probe.c_str());
    }
    recording_ = trace::start();
}

TraceFile::~TraceFile() {
    if (recording_) trace::stop();
}

void TraceFile::write() {
    if (!recording_) return;
    recording_ = false;
    trace::stop();
    const std::string file = trace_setting.get(team_.settings());
    try {
        const std::string text = gathered(team_, trace::take_text(team_.rank().value));
        if (team_.rank() == Rank{0}) write_file(file, head_of(team_) + text);
    } catch (const std::exception& error) { // the close goes on, and says it if it cannot
        support::log_line(fmt::format("LAPWING_TRACE={}: the trace is lost: {}", file, error.what()));
    }
}

} // namespace lapwing::detail::runtime
