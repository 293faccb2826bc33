#pragma once

#include "runtime/line_report.hpp"
#include "runtime/otf2_writer.hpp"

#include <lapwing/team.hpp>

#include <memory>
#include <optional>
#include <string>

namespace lapwing::detail::runtime {

/// The recording of a runtime's accesses, if LAPWING_TRACE, rank 0's LAPWING_STATS or a tool asks for one and no other
/// runtime of the processes is being recorded.
class RecordedRun {
public:
    /// Collective. Starts it, before the team has any window. `lines`: what rank 0's LAPWING_STATS asks for. Throws
    /// FileError on every rank if an archive (LAPWING_TOOLS) cannot be made.
    RecordedRun(Team& team, std::optional<LineReport> lines);
    /// Ends it without a file, if end() was not called.
    ~RecordedRun();
    RecordedRun(const RecordedRun&) = delete;
    RecordedRun& operator=(const RecordedRun&) = delete;

    /// Collective. Ends it, and rank 0 writes LAPWING_TRACE's file with what all ranks have recorded. A file that
    /// cannot be written is reported in one line, and the run goes on. Returns rank 0's table of call sites, if it asks
    /// for a report by lines; else null.
    [[nodiscard]] std::unique_ptr<trace::LineTable> end();

private:
    void start_tools();
    void end_tools();
    void report_losses();
    void write_trace(const std::string& file);
    [[nodiscard]] std::unique_ptr<trace::LineTable> join_lines();

    Team& team_;
    std::optional<LineReport> lines_;
    std::unique_ptr<Otf2Writer> otf2_;
    bool recording_ = false;
};

} // namespace lapwing::detail::runtime
