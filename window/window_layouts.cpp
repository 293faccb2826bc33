// The window's own calls with layouts.
#include <lapwing/window.hpp>

#include "window/upper_rooms.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>

namespace lapwing {
namespace {

const detail::window::LayoutTransfers& transfers() noexcept { return detail::window::upper_rooms().layouts; }

} // namespace

void Window::put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination) {
    transfers().put(*this, source, base, target, offset, destination, {});
}

void Window::get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    transfers().get(*this, target, offset, source, destination, base);
}

void Window::put_notify(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination,
                        unsigned counter) {
    transfers().put(*this, source, base, target, offset, destination, counter);
}

Completion Window::start_put(const Layout& source, const void* base, Rank target, Offset offset,
                             const Layout& destination) {
    return transfers().start_put(*this, source, base, target, offset, destination);
}

Completion Window::start_get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    return transfers().start_get(*this, target, offset, source, destination, base);
}

} // namespace lapwing
