#include "runtime/recorded_run.hpp"

#include "model/profile.hpp"
#include "src/support/hash.hpp"
#include "src/support/log.hpp"
#include "src/team/block_collectives.hpp"
#include "src/team/team_state.hpp"
#include "src/trace/interval_times.hpp"
#include "src/trace/line_table.hpp"
#include "src/trace/recorder.hpp"
#include "src/trace/tool_events.hpp"
#include "window/private_parts.hpp"
#include "window/recorded_calls.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/statistics.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace lapwing::detail::support::settings_in {
void runtime_recorded_run() {} // see cmake/LapwingSettings.cmake
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

constexpr std::string_view otf2_prefix = "otf2:";

/// LAPWING_TOOLS: nothing, "probes", or "otf2:DIRECTORY".
class ToolsSetting : public support::TextSetting {
public:
    using TextSetting::TextSetting;
    void check(std::string_view value, std::string_view where) const override {
        const auto refuse = [&](std::string_view why) {
            throw SettingError{fmt::format("{}={} ({}): {}", info().name, value, where, why)};
        };
        if (value.empty()) return;
        if (value == "probes") {
            if (!trace::has_probes()) refuse("this library was built without sys/sdt.h; install it and build again");
        } else if (value.starts_with(otf2_prefix) && value.size() > otf2_prefix.size()) {
            if (!has_otf2()) refuse("this library was built without OTF2; install that and build again");
        } else {
            refuse("not allowed; give probes, or otf2:DIRECTORY");
        }
    }
};
[[gnu::init_priority(support::before_programs)]] const ToolsSetting tools_setting{
    {.name = "LAPWING_TOOLS",
     .default_value = "",
     .unit = "",
     .help = "for other tools: accesses pass static probes, or become an archive of OTF2",
     .choices = {},
     .collective = true,
     .range = "empty, probes or otf2:DIRECTORY"}};

[[nodiscard]] std::string head_of(const Team& team) {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    std::string_view library{version.data(), static_cast<std::size_t>(length)};
    library = library.substr(0, library.find_first_of(std::string_view{"\n\r\0", 3}));
    std::string text{trace::first_line_of_trace};
    text += fmt::format("ranks {}\nnodes {}\nnetwork_path {}\nmpi {}\n", team.size(), team.nodes(),
                        name(team.network_path()), library);
    text += fmt::format("profile {}\n", model::profile_file(team.settings(), model::profile_key(team)));
    for (const char* const setting : {"LAPWING_CACHE", "LAPWING_CACHE_BYTES", "LAPWING_CACHE_PAGE", "LAPWING_PRIVATE"})
        text += fmt::format("setting {}={}\n", setting, team.settings().text(setting));
    return text;
}

/// Rank 0's file, while it is written: the head, the text of each rank, and a checksum.
class TraceFile {
public:
    TraceFile(const std::string& file, const std::string& head, std::span<const std::uint64_t> bytes)
        : file_{file}, unfinished_{fmt::format("{}.{}", file, getpid())}, out_{unfinished_, std::ios::binary} {
        out_ << head;
        std::uint64_t at = head.size();
        for (const std::uint64_t of_rank : bytes) begins_.push_back(std::exchange(at, at + of_rank));
    }
    void write(std::size_t rank, std::uint64_t offset, std::string_view text) {
        out_.seekp(static_cast<std::streamoff>(begins_[rank] + offset));
        out_ << text;
    }
    void finish() {
        out_.close();
        if (out_ && seal() && std::rename(unfinished_.c_str(), file_.c_str()) == 0) return;
        const int reason = errno;
        std::remove(unfinished_.c_str());
        support::log_line(fmt::format("LAPWING_TRACE={}: the file cannot be written ({}), and the trace is lost; "
                                      "choose one that can",
                                      file_, std::strerror(reason)));
    }

private:
    /// Adds the checksum of what is there.
    [[nodiscard]] bool seal() const {
        std::ifstream in{unfinished_, std::ios::binary};
        std::vector<char> piece(std::size_t{1} << 20);
        support::Fnv1a hash;
        while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0)
            hash.add(std::span<const char>{piece}.first(static_cast<std::size_t>(in.gcount())));
        std::ofstream end{unfinished_, std::ios::binary | std::ios::app};
        end << fmt::format("checksum {:016x}\n", hash.value());
        end.close();
        return !in.bad() && end;
    }

    std::string file_;
    std::string unfinished_;
    std::ofstream out_;
    std::vector<std::uint64_t> begins_;
};

/// Collective. Rank 0 writes the texts of all ranks, in their order, and holds a block of each at a time.
void write_together(Team& team, const std::string& file, const std::string& head, const std::string& own) {
    constexpr const char* call = "LAPWING_TRACE";
    const auto ranks = static_cast<std::size_t>(team.size());
    const bool first = team.rank() == Rank{0};
    const std::uint64_t bytes = own.size();
    std::vector<std::uint64_t> all_bytes(first ? ranks : 0);
    team::gather(team.state(), call, 0, std::as_bytes(std::span{&bytes, 1}),
                 std::as_writable_bytes(std::span{all_bytes}));
    const auto longest = static_cast<std::size_t>(team.max(static_cast<std::int64_t>(bytes)));
    std::optional<TraceFile> out;
    if (first) out.emplace(file, head, all_bytes);
    const std::size_t block = std::max<std::size_t>(1, std::min(longest, team::largest_blocks / ranks));
    std::vector<char> all(first ? block * ranks : 0);
    for (std::size_t begin = 0; begin < longest; begin += block) {
        std::string part = begin < own.size() ? own.substr(begin, block) : std::string{};
        part.resize(block);
        team::gather(team.state(), call, 0, std::as_bytes(std::span{part}), std::as_writable_bytes(std::span{all}));
        for (std::size_t r = 0; r < all_bytes.size(); ++r)
            if (begin < all_bytes[r])
                out->write(r, begin, {all.data() + r * block, std::min<std::size_t>(block, all_bytes[r] - begin)});
    }
    if (first) out->finish();
}

/// At the start of a long run, not only at its end.
void check_writable(const std::string& file) {
    const std::string probe = fmt::format("{}.{}", file, getpid());
    if (!std::ofstream{probe}.is_open())
        support::log_line(fmt::format("LAPWING_TRACE={}: no file can be written there ({}); choose another place", file,
                                      std::strerror(errno)));
    std::remove(probe.c_str());
}

} // namespace

RecordedRun::RecordedRun(Team& team, std::optional<LineReport> lines) : team_{team}, lines_{lines} {
    const std::string file = trace_setting.get(team.settings());
    const bool on_private_memory = window::parts_are_private(team.settings());
    if (on_private_memory && team.rank() == Rank{0})
        support::log_line(
            "LAPWING_PRIVATE=on: ranks find their own elements in the place of all others', so that the "
            "run takes the time of its computation; its results are wrong, and accesses are not recorded");
    start_tools();
    const bool together = !file.empty() || lines_;
    auto& recorded_team = team.state().part<window::RecordedTeam>();
    recorded_team.set(window::RecordedTeam::Of::another_runtime);
    if (!together && !trace::any_listener() && !trace::probes_used()) return;
    if (team.rank() == Rank{0} && !file.empty()) check_writable(file);
    recording_ = on_private_memory ? trace::start_timing() : trace::start();
    if (recording_) recorded_team.set(window::RecordedTeam::Of::recording);
    if (!together) return;
    // Ranks may have another runtime that is recorded, and then none of this one's is.
    const bool everywhere = team.min(static_cast<std::int64_t>(recording_ ? 1 : 0)) != 0;
    if (recording_ && !everywhere) trace::stop();
    recording_ = everywhere;
    if (!recording_) recorded_team.set(window::RecordedTeam::Of::another_runtime);
    if (!recording_ && team.rank() == Rank{0})
        support::log_line("a runtime is not recorded (LAPWING_TRACE, LAPWING_STATS=lines), because another one of the "
                          "process is; close that one first");
}

RecordedRun::~RecordedRun() {
    if (recording_) trace::stop();
    if (otf2_ != nullptr) trace::remove_listener(*otf2_);
}

void RecordedRun::start_tools() {
    const std::string tools = tools_setting.get(team_.settings());
    trace::use_probes(tools == "probes");
    if (!tools.starts_with(otf2_prefix)) return;
    // Of two runtimes the first one's accesses are written.
    if (team_.max(static_cast<std::int64_t>(trace::on() ? 1 : 0)) != 0) return;
    otf2_ = make_otf2_writer(team_, tools.substr(otf2_prefix.size()));
    if (otf2_ != nullptr && !trace::add_listener(*otf2_)) // not reached: there is a place that no tool in C takes
        throw UsageError{"LAPWING_TOOLS: there are too many tools; end one of them"};
}

void RecordedRun::end_tools() {
    if (otf2_ == nullptr) return;
    trace::remove_listener(*otf2_);
    try {
        otf2_->close();
    } catch (const FileError& error) { // of all ranks
        if (team_.rank() == Rank{0}) support::log_line(error.what());
    } catch (const std::exception& error) { // the close goes on, and says it if it cannot
        support::log_line(error.what());
    }
    otf2_.reset();
}

std::unique_ptr<trace::LineTable> RecordedRun::end() {
    if (recording_) trace::stop();
    end_tools();
    if (!recording_) return {};
    recording_ = false;
    report_losses();
    if (const std::string file = trace_setting.get(team_.settings()); !file.empty()) write_trace(file);
    return lines_ ? join_lines() : nullptr;
}

void RecordedRun::report_losses() {
    const trace::Losses own = trace::losses();
    std::array<std::int64_t, 4> most{own.accesses, own.objects, own.ranges, own.threads};
    const bool together = lines_ || !trace_setting.get(team_.settings()).empty();
    if (together) {
        try {
            team_.max(std::span<std::int64_t>{most});
        } catch (const std::exception&) { // the close goes on, and says it if it cannot
            return;
        }
        if (team_.rank() != Rank{0}) return;
    }
    std::vector<std::string> lost;
    const auto add = [&](std::int64_t count, const std::string& what) {
        if (count != 0) lost.push_back(fmt::format("{} {}", count, what));
    };
    add(most[0],
        fmt::format("accesses of call sites beyond {} of a thread, counted as 'several'", trace::most_records));
    add(most[1], fmt::format("windows or arrays beyond {}, counted as 'several'", trace::most_objects));
    add(most[2], fmt::format("UPC arrays beyond {}, counted as the shared heap", trace::most_ranges));
    add(most[3], fmt::format("accesses of threads beyond {} at a time, not recorded", support::numbered_threads));
    if (!lost.empty())
        support::log_line(fmt::format("the recording had no room for all, on the rank with most: {}. Totals are {}",
                                      fmt::join(lost, "; "), most[3] == 0 ? "right" : "too low"));
}

void RecordedRun::write_trace(const std::string& file) {
    try {
        write_together(team_, file, head_of(team_), trace::take_text(team_.rank().value));
    } catch (const std::exception& error) { // the close goes on, and says it if it cannot
        support::log_line(fmt::format("LAPWING_TRACE={}: the trace is lost: {}", file, error.what()));
    }
}

std::unique_ptr<trace::LineTable> RecordedRun::join_lines() {
    try {
        auto table = std::make_unique<trace::LineTable>(trace::take_lines(team_.rank().value, lines_->order));
        const auto combine = [](void*, void* left, const void* right) {
            const auto other = std::make_unique<trace::LineTable>();
            std::memcpy(static_cast<void*>(other.get()), right, sizeof *other);
            static_cast<trace::LineTable*>(left)->add(*other);
        };
        team_.combine(std::as_writable_bytes(std::span{table.get(), 1}), combine, nullptr);
        if (team_.rank() != Rank{0}) table.reset();
        return table;
    } catch (const std::exception& error) {
        support::log_line(fmt::format("LAPWING_STATS=lines: the counts are lost: {}", error.what()));
        return {};
    }
}

} // namespace lapwing::detail::runtime
