#pragma once

#include <lapwing/team.hpp>

namespace lapwing::detail::runtime {

/// The recording of a runtime's accesses, if LAPWING_TRACE asks for one and no other runtime of the process is being
/// recorded.
class TraceFile {
public:
    /// Collective. Starts it, before the team has any window.
    explicit TraceFile(Team& team);
    /// Ends it without a file, if write() was not called.
    ~TraceFile();
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;

    /// Collective. Ends it, and rank 0 writes what all ranks have recorded. A file that cannot be written is reported
    /// in one line, and the run goes on.
    void write();

private:
    Team& team_;
    bool recording_ = false;
};

} // namespace lapwing::detail::runtime
