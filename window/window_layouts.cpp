// The window's own calls with layouts.
#include <lapwing/window.hpp>

#include "window/upper_rooms.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>

#include <mpi.h>

namespace lapwing {
namespace {

const detail::window::LayoutTransfers& transfers() noexcept { return detail::window::upper_rooms().layouts; }

/// What MPI calls a rank that does not exist, beyond the edge of a grid: transfers with it do nothing.
bool is_none(Rank target) noexcept { return target.value == MPI_PROC_NULL; }

} // namespace

void Window::put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination) {
    if (is_none(target)) return;
    transfers().put(*this, source, base, target, offset, destination, {});
}

void Window::get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    if (is_none(target)) return;
    transfers().get(*this, target, offset, source, destination, base);
}

void Window::put_notify(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination,
                        unsigned counter) {
    transfers().put(*this, source, base, target, offset, destination, counter);
}

Completion Window::start_put(const Layout& source, const void* base, Rank target, Offset offset,
                             const Layout& destination) {
    if (is_none(target)) return {};
    return transfers().start_put(*this, source, base, target, offset, destination);
}

Completion Window::start_get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    if (is_none(target)) return {};
    return transfers().start_get(*this, target, offset, source, destination, base);
}

} // namespace lapwing
