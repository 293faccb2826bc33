// Room: upc
#pragma once

#include <lapwing/upc/recording.h>

namespace lapwing::upc {

/// Records the accesses of its scope: see lapwing/upc/recording.h.
class [[nodiscard]] RecordingScope {
public:
    explicit RecordingScope(bool by_line = false) : before_{lapwing_upc_recording()} {
        lapwing_upc_record_start(by_line || before_ == 2 ? 1 : 0);
    }
    RecordingScope(const RecordingScope&) = delete;
    RecordingScope& operator=(const RecordingScope&) = delete;
    /// Restores the previous state.
    ~RecordingScope() {
        if (before_ == 0) lapwing_upc_record_stop();
        else lapwing_upc_record_start(before_ - 1);
    }

private:
    int before_;
};

} // namespace lapwing::upc
