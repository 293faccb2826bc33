// The window's own calls with layouts and with MPI's datatypes.
#include <lapwing/window.hpp>

#include "datatype/mpi_layouts.hpp"
#include "window/upper_rooms.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <utility>

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

namespace {

/// The arguments of MPI_Put and MPI_Get as arguments of a plan.
struct MpiTransfer {
    Layout local;
    Layout remote;
    Offset offset;

    MpiTransfer(Window& window, const char* call, std::int64_t count, MPI_Datatype type, Rank target,
                MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type) {
        (void)window.size(target); // says if the window is closed, or the rank none
        detail::window::WindowState& state = window.state();
        if (count < 0 || target_count < 0)
            throw RangeError{fmt::format("{}: the count is {} here and {} at rank {}; counts are 0 or more",
                                         state.who(call), count, target_count, target.value)};
        const int unit = state.transports().rma.unit(target.value);
        std::int64_t bytes = 0;
        if (displacement < 0 || __builtin_mul_overflow(std::int64_t{displacement}, std::int64_t{unit}, &bytes))
            throw RangeError{fmt::format(
                "{}: the displacement is {}, in units of {} bytes; it must name a byte of the part of rank {}, "
                "which has {}",
                state.who(call), displacement, unit, target.value, window.size(target))};
        offset = Offset{static_cast<std::uint64_t>(bytes)};
        local = detail::datatype::layout_of(type, static_cast<std::uint64_t>(count));
        remote = detail::datatype::layout_of(target_type, static_cast<std::uint64_t>(target_count));
    }
};

} // namespace

void Window::put(const void* buffer, std::int64_t count, MPI_Datatype type, Rank target, MPI_Aint displacement,
                 std::int64_t target_count, MPI_Datatype target_type) {
    if (target.value == MPI_PROC_NULL) return;
    const MpiTransfer transfer{*this, "put", count, type, target, displacement, target_count, target_type};
    transfers().put(*this, transfer.local, buffer, target, transfer.offset, transfer.remote, {});
}

void Window::get(void* buffer, std::int64_t count, MPI_Datatype type, Rank target, MPI_Aint displacement,
                 std::int64_t target_count, MPI_Datatype target_type) {
    if (target.value == MPI_PROC_NULL) return;
    const MpiTransfer transfer{*this, "get", count, type, target, displacement, target_count, target_type};
    transfers().get(*this, target, transfer.offset, transfer.remote, transfer.local, buffer);
}

Completion Window::start_put(const void* buffer, std::int64_t count, MPI_Datatype type, Rank target,
                             MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type) {
    if (target.value == MPI_PROC_NULL) return {};
    const MpiTransfer transfer{*this, "put", count, type, target, displacement, target_count, target_type};
    return transfers().start_put(*this, transfer.local, buffer, target, transfer.offset, transfer.remote);
}

Completion Window::start_get(void* buffer, std::int64_t count, MPI_Datatype type, Rank target, MPI_Aint displacement,
                             std::int64_t target_count, MPI_Datatype target_type) {
    if (target.value == MPI_PROC_NULL) return {};
    const MpiTransfer transfer{*this, "get", count, type, target, displacement, target_count, target_type};
    return transfers().start_get(*this, target, transfer.offset, transfer.remote, transfer.local, buffer);
}

} // namespace lapwing
