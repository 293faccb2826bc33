#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <optional>

namespace lapwing {
class Layout;
}

namespace lapwing::detail::window {

class CacheFactory;

/// Transfers between blocks here and blocks of another rank: what Window's calls with layouts do.
class LayoutTransfers {
public:
    /// `counter`: the notification counter of the target that is raised after it.
    virtual void put(Window& window, const Layout& source, const void* base, Rank target, Offset offset,
                     const Layout& destination, std::optional<unsigned> counter) const = 0;
    virtual void get(Window& window, Rank target, Offset offset, const Layout& source, const Layout& destination,
                     void* base) const = 0;
    [[nodiscard]] virtual Completion start_put(Window& window, const Layout& source, const void* base, Rank target,
                                               Offset offset, const Layout& destination) const = 0;
    [[nodiscard]] virtual Completion start_get(Window& window, Rank target, Offset offset, const Layout& source,
                                               const Layout& destination, void* base) const = 0;

protected:
    ~LayoutTransfers() = default;
};

/// What the rooms above do for windows, which know nothing of those rooms.
struct UpperRooms {
    const CacheFactory& caches;
    const LayoutTransfers& layouts;
};
/// Defined where all rooms are known: runtime/composition.cpp.
[[nodiscard]] const UpperRooms& upper_rooms() noexcept;

} // namespace lapwing::detail::window
