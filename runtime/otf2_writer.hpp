#pragma once

#include "src/trace/tool_events.hpp"

#include <lapwing/team.hpp>

#include <memory>
#include <string>

namespace lapwing::detail::runtime {

/// Writes an archive in the Open Trace Format 2: a location for each thread, a region for each kind of call, and the
/// one-sided operations in it.
class Otf2Writer : public trace::ToolListener {
public:
    virtual ~Otf2Writer() = default;
    /// Collective, when nothing is recorded any more: writes what all ranks have in common. Throws FileError on every
    /// rank if any of them has failed.
    virtual void close() = 0;
};

/// Whether the library was there when Lapwing was built.
[[nodiscard]] bool has_otf2() noexcept;
/// Collective. An archive in a directory that does not exist yet; null without the library. Throws FileError on every
/// rank if the directory cannot be made.
[[nodiscard]] std::unique_ptr<Otf2Writer> make_otf2_writer(Team& team, const std::string& directory);

} // namespace lapwing::detail::runtime
