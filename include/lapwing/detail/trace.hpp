// Room: trace
#pragma once

#include <atomic>
#include <cstdint>

/// Records of a program's accesses (LAPWING_TRACE): as much as inline code must know of them.
namespace lapwing::detail::trace {

/// Whether accesses are recorded. Set by a runtime before any of its windows and arrays is made: those that are made
/// meanwhile have no inline ways to memory, so that accesses without a record look at nothing.
inline constinit std::atomic<bool> recording{false};
[[nodiscard]] inline bool on() noexcept { return recording.load(std::memory_order_relaxed); }

/// By which kind of call a program accesses memory.
enum class Way : std::uint8_t { element, window, patch, list, slice, prefetch, upc };

/// A call of the program. What the calling thread accesses meanwhile is recorded as its, with the time that it takes;
/// of nested scopes the outermost counts. `site` is where the call returns to; null: the scope finds out. Costs a load
/// and two comparisons where nothing is recorded.
class CallScope {
public:
    explicit CallScope(Way way, const void* site = nullptr) noexcept {
        if (on()) [[unlikely]]
            begun_ = begin(way, site);
    }
    ~CallScope() {
        if (begun_) [[unlikely]]
            end();
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

private:
    /// Whether it is the outermost one.
    [[nodiscard]] static bool begin(Way way, const void* site) noexcept;
    static void end() noexcept;

    bool begun_ = false;
};

} // namespace lapwing::detail::trace
