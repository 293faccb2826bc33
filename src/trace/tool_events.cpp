#include "src/trace/tool_events.hpp"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define LAPWING_HAS_PROBES 1
#else
#define LAPWING_HAS_PROBES 0
#endif

namespace lapwing::detail::trace {
namespace {

constinit std::array<std::atomic<ToolListener*>, most_listeners> listeners{};
constinit std::atomic<bool> probes{false};

template <class Tell>
void tell_all(Tell tell) noexcept {
    for (const auto& entry : listeners)
        if (ToolListener* const listener = entry.load(std::memory_order_acquire)) tell(*listener);
}

#if LAPWING_HAS_PROBES
[[nodiscard]] const void* place(const ToolEvent& event) noexcept {
    return event.site.empty() ? nullptr : event.site.front();
}
#endif

} // namespace

bool add_listener(ToolListener& listener) noexcept {
    for (auto& entry : listeners) {
        ToolListener* none = nullptr;
        if (entry.compare_exchange_strong(none, &listener, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void remove_listener(ToolListener& listener) noexcept {
    for (auto& entry : listeners) {
        ToolListener* own = &listener;
        entry.compare_exchange_strong(own, nullptr, std::memory_order_acq_rel);
    }
}

bool any_listener() noexcept {
    bool any = false;
    tell_all([&](ToolListener&) { any = true; });
    return any;
}

bool has_probes() noexcept { return LAPWING_HAS_PROBES != 0; }
void use_probes(bool used) noexcept { probes.store(used, std::memory_order_relaxed); }
bool probes_used() noexcept { return probes.load(std::memory_order_relaxed); }

void tell_begin(const ToolEvent& access) noexcept {
#if LAPWING_HAS_PROBES
    DTRACE_PROBE6(lapwing, access_begin, static_cast<int>(access.operation), access.owner, access.offset, access.bytes,
                  access.object_number, place(access));
#endif
    tell_all([&](ToolListener& listener) { listener.begin(access); });
}

void tell_end(const ToolEvent& call) noexcept {
#if LAPWING_HAS_PROBES
    DTRACE_PROBE6(lapwing, access_end, static_cast<int>(call.operation), call.owner, call.accesses, call.bytes,
                  call.object_number, place(call));
#endif
    tell_all([&](ToolListener& listener) { listener.end(call); });
}

void tell_sequence_point(const CallSite& site, std::size_t thread) noexcept {
#if LAPWING_HAS_PROBES
    DTRACE_PROBE1(lapwing, sequence_point, site.size == 0 ? nullptr : site.frames[0]);
#endif
    tell_all([&](ToolListener& listener) { listener.sequence_point(site, thread); });
}

} // namespace lapwing::detail::trace
