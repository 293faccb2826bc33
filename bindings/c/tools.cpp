#include "bindings/c/call.hpp"
#include "src/trace/tool_events.hpp"

#include <lapwing/c/tools.h>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
namespace trace = lapwing::detail::trace;

namespace {

[[nodiscard]] lapwing_tool_access as_c(const trace::ToolEvent& event) noexcept {
    return {.kind = static_cast<int>(event.operation),
            .affinity = static_cast<int>(event.affinity),
            .target = event.owner,
            .thread = static_cast<int>(event.thread),
            .offset = event.offset,
            .bytes = event.bytes,
            .elements = event.elements,
            .accesses = event.accesses,
            .object = event.object_number,
            .name = event.object_name.empty() ? "" : event.object_name.data(),
            .site = event.site.data(),
            .site_size = event.site.size()};
}

/// A tool in C.
class CTool final : public trace::ToolListener {
public:
    bool registered = false;
    lapwing_tool_callbacks callbacks = {};

    void begin(const trace::ToolEvent& access) noexcept override {
        if (callbacks.begin == nullptr) return;
        const lapwing_tool_access in_c = as_c(access);
        callbacks.begin(callbacks.context, &in_c);
    }
    void end(const trace::ToolEvent& call) noexcept override {
        if (callbacks.end == nullptr) return;
        const lapwing_tool_access in_c = as_c(call);
        callbacks.end(callbacks.context, &in_c);
    }
    void sequence_point(const trace::CallSite& site, std::size_t) noexcept override {
        if (callbacks.sequence_point != nullptr)
            callbacks.sequence_point(callbacks.context, site.frames.data(), site.size);
    }
};

/// One of the places for listeners is the library's.
std::array<CTool, trace::most_listeners - 1>& tools() {
    static auto& all = *new std::array<CTool, trace::most_listeners - 1>; // threads may access while the process ends
    return all;
}

} // namespace

extern "C" {

int lapwing_tool_register(const lapwing_tool_callbacks* callbacks, int* tool) {
    return guarded("lapwing_tool_register", [&] {
        require_pointer(callbacks, "callbacks");
        require_pointer(tool, "tool");
        for (std::size_t k = 0; k < tools().size(); ++k) {
            CTool& free = tools()[k];
            if (free.registered) continue;
            free.callbacks = *callbacks;
            if (!trace::add_listener(free)) break;
            free.registered = true;
            *tool = static_cast<int>(k);
            return;
        }
        throw lapwing::UsageError{fmt::format("{} tools are registered already, which is the limit; "
                                              "lapwing_tool_unregister() makes room",
                                              tools().size())};
    });
}

int lapwing_tool_unregister(int tool) {
    return guarded("lapwing_tool_unregister", [&] {
        if (tool < 0 || static_cast<std::size_t>(tool) >= tools().size() ||
            !tools()[static_cast<std::size_t>(tool)].registered)
            throw lapwing::UsageError{
                fmt::format("there is no tool {}; pass a number that lapwing_tool_register() has given", tool)};
        CTool& found = tools()[static_cast<std::size_t>(tool)];
        trace::remove_listener(found);
        found.registered = false;
    });
}

} // extern "C"
