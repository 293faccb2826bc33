// Room: upc
#pragma once

#include <lapwing/upc/recording.h>

namespace lapwing::upc {

/// Records the accesses of its scope: see lapwing/upc/recording.h.
class [[nodiscard]] RecordingScope {
public:
    explicit RecordingScope(bool by_line = false) { lapwing_upc_record_start(by_line ? 1 : 0); }
    RecordingScope(const RecordingScope&) = delete;
    RecordingScope& operator=(const RecordingScope&) = delete;
    ~RecordingScope() { lapwing_upc_record_stop(); }
};

} // namespace lapwing::upc
