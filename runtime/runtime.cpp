#include <lapwing/runtime.hpp>

#include "model/team_costs.hpp"
#include "runtime/advised_run.hpp"
#include "runtime/line_report.hpp"
#include "runtime/open_runtimes.hpp"
#include "runtime/recorded_run.hpp"
#include "src/support/log.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

namespace lapwing::detail::support::settings_in {
void runtime_runtime() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing {
namespace {

constexpr std::string_view json_prefix = "json:";

/// LAPWING_STATS: nothing, "text", "lines" and its variants, or "json:FILE".
class StatsSetting : public detail::support::TextSetting {
public:
    using TextSetting::TextSetting;
    void check(std::string_view value, std::string_view where) const override {
        if (value.empty() || value == "text" || detail::runtime::line_report(value) ||
            (value.starts_with(json_prefix) && value.size() > json_prefix.size()))
            return;
        throw SettingError{fmt::format("{}={} ({}): not allowed; give text, lines, lines:bytes, lines:50, "
                                       "lines:bytes:50, or json:FILE",
                                       info().name, value, where)};
    }
};

[[gnu::init_priority(detail::support::before_programs)]] const StatsSetting stats_setting{
    {.name = "LAPWING_STATS",
     .default_value = "",
     .unit = "",
     .help = "rank 0's: statistics of all ranks when a runtime closes: text, or json:FILE; lines: its accesses by "
             "source line, those with most time first, or most bytes (lines:bytes), and how many lines (lines:50)",
     .choices = {},
     .range = "empty, text, lines[:bytes][:N] or json:FILE"}};
[[gnu::init_priority(detail::support::before_programs)]] const detail::support::ChoiceSetting<bool> verbose_setting{
    {.name = "LAPWING_VERBOSE",
     .default_value = "0",
     .unit = "",
     .help = "1: rank 0 prints what it found and the settings at start-up"},
    {{"0", false}, {"1", true}}};

std::string cannot_write(const std::string& file) {
    return fmt::format("LAPWING_STATS=json:{}: the file cannot be written; choose one that can", file);
}

/// At the start of a long run, not only at its end. An existing file stays as it is, and a missing one is not left
/// behind.
void check_writable(const std::string& file) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status before = fs::status(file, error);
    if (fs::exists(before) && !fs::is_regular_file(before) && !fs::is_directory(before)) return; // a pipe or device
    const bool writable = std::ofstream{file, std::ios::app}.is_open();
    if (!writable) detail::support::log_line(cannot_write(file));
    else if (!fs::exists(before)) fs::remove(file, error);
}

std::string as_text(const StatisticsValues& total) {
    std::string text = "statistics, summed over all ranks:";
    for (std::size_t i = 0; i < counter_count; ++i)
        if (total.values[i] != 0)
            text += fmt::format("\n  {:<20} {:>16}", name(static_cast<Counter>(i)), total.values[i]);
    return text;
}

void write_json(const std::string& file, const StatisticsValues& total, int ranks) {
    std::string text = fmt::format("{{\"ranks\": {}", ranks);
    for (std::size_t i = 0; i < counter_count; ++i)
        text += fmt::format(", \"{}\": {}", name(static_cast<Counter>(i)), total.values[i]);
    text += "}\n";
    std::ofstream out{file};
    out << text << std::flush;
    if (!out) throw FileError{cannot_write(file)};
}

} // namespace

Runtime::Runtime(MPI_Comm communicator, const Settings& settings)
    : detail::runtime::MpiUse{communicator, settings}, Team{communicator, settings} {
    // Rank 0's LAPWING_STATS concerns all ranks if it asks for lines.
    std::uint32_t lines = detail::runtime::as_number(detail::runtime::line_report(stats_setting.get(settings)));
    detail::model::use_profile(*this, &lines);
    try {
        detail::runtime::use_advice(*this);
        recorded_ = std::make_unique<detail::runtime::RecordedRun>(*this, detail::runtime::line_report_of(lines));
    } catch (...) { // on all ranks
        Team::close();
        throw;
    }
    if (rank().value == 0) {
        if (const std::string where = stats_setting.get(settings); where.starts_with(json_prefix))
            check_writable(where.substr(json_prefix.size()));
        if (verbose_setting.get(settings)) detail::support::log_line(report());
    }
    detail::runtime::add_open(*this);
}

Runtime::~Runtime() {
    detail::runtime::remove_open(*this);
    // The base classes' destructors do the rest; statistics need a close that all ranks take part in.
    if (closed() || std::uncaught_exceptions() > 0) return;
    try {
        close();
    } catch (const std::exception& error) {
        // A problem that keeps the team from closing occurs in Team's destructor, too, which reports it.
        if (closed()) detail::support::log_line(error.what());
    }
}

void Runtime::close() {
    if (closed()) return;
    const std::unique_ptr<detail::trace::LineTable> lines = recorded_->end();
    detail::runtime::report_unused_advice(*this);
    Team::close();
    const std::string where = stats_setting.get(settings());
    if (where.empty() || rank().value != 0) return;
    // Only now: when the file cannot be written, or lines are looked up, the other ranks do not wait for this one.
    if (const auto report = detail::runtime::line_report(where)) {
        if (lines != nullptr) detail::support::log_line(as_text(*lines, *report, size()));
        return;
    }
    const StatisticsValues total = total_statistics();
    if (where == "text") detail::support::log_line(as_text(total));
    else write_json(where.substr(json_prefix.size()), total, size());
}

} // namespace lapwing
