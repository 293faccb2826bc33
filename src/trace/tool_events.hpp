#pragma once

#include "src/trace/recorder.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lapwing::detail::trace {

/// What tools learn about an access.
struct ToolEvent {
    Operation operation = Operation::read;
    Way way = Way::window;
    Affinity affinity = Affinity::own;
    int owner = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t elements = 0;
    std::uint64_t accesses = 1; ///< at the end of a call: those that it began
    std::uint64_t object_number = 0;
    std::string_view object_name = {};      ///< ends with a zero byte
    bool other_team = false;                ///< the owner is a number in another team than the runtime's
    std::span<const void* const> site = {}; ///< return addresses, from the inside out
    std::size_t thread = 0;                 ///< of the recording, from 0 on
};

/// A tool. Called by the thread that accesses, which waits for it; must not access anything itself, or throw.
class ToolListener {
public:
    virtual void begin(const ToolEvent& access) noexcept = 0;
    /// A call of the program returns: the first access that it began, with the bytes, elements and number of all.
    virtual void end(const ToolEvent& call) noexcept = 0;
    virtual void sequence_point(const CallSite& site, std::size_t thread) noexcept = 0;

protected:
    ~ToolListener() = default;
};

inline constexpr std::size_t most_listeners = 4;

/// From the next recording on. Returns whether there was room.
[[nodiscard]] bool add_listener(ToolListener& listener) noexcept;
/// While nothing is recorded.
void remove_listener(ToolListener& listener) noexcept;
[[nodiscard]] bool any_listener() noexcept;

/// Static probes are in the library (sys/sdt.h was there when it was built).
[[nodiscard]] bool has_probes() noexcept;
/// Whether they are to be passed, from the next recording on.
void use_probes(bool used) noexcept;
[[nodiscard]] bool probes_used() noexcept;

// To all tools, and to probes.
void tell_begin(const ToolEvent& access) noexcept;
void tell_end(const ToolEvent& call) noexcept;
void tell_sequence_point(const CallSite& site, std::size_t thread) noexcept;

} // namespace lapwing::detail::trace
