// The window's own calls with layouts and with MPI's datatypes: plans that are used once. They are defined here because
// windows know nothing of plans.
#include <lapwing/window.hpp>

#include "datatype/mpi_layouts.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/plan.hpp>

#include <fmt/format.h>

#include <utility>

namespace lapwing {

void Window::put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination) {
    Plan::put(*this, source, target, offset, destination).execute(base);
}

void Window::get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    Plan::get(*this, target, offset, source, destination).execute(base);
}

void Window::put_notify(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination,
                        unsigned counter) {
    Plan::put(*this, source, target, offset, destination).execute_notify(base, counter);
}

Completion Window::start_put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination) {
    return Plan::put(*this, source, target, offset, destination).start(base);
}

Completion Window::start_get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base) {
    return Plan::get(*this, target, offset, source, destination).start(base);
}

namespace {

/// The arguments of MPI_Put and MPI_Get as those of a plan.
struct MpiTransfer {
    Layout local;
    Layout remote;
    Offset offset;

    MpiTransfer(Window& window, const char* call, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement,
                std::int64_t target_count, MPI_Datatype target_type) {
        (void)window.size(Rank{target}); // says if the window is closed, or the rank none
        const window::WindowState& state = window.state();
        if (count < 0 || target_count < 0)
            throw RangeError{fmt::format("{}: the count is {} here and {} at rank {}; counts are 0 or more", state.who(call), count,
                                         target_count, target)};
        const int unit = state.displacement_unit(target);
        std::int64_t bytes = 0;
        if (displacement < 0 || __builtin_mul_overflow(std::int64_t{displacement}, std::int64_t{unit}, &bytes))
            throw RangeError{fmt::format("{}: the displacement is {}, in units of {} bytes; it must name a byte of the part of rank {}, "
                                         "which has {}",
                                         state.who(call), displacement, unit, target, window.size(Rank{target}))};
        offset = Offset{static_cast<std::uint64_t>(bytes)};
        local = datatype::layout_of(type, static_cast<std::uint64_t>(count));
        remote = datatype::layout_of(target_type, static_cast<std::uint64_t>(target_count));
    }
};

} // namespace

void Window::put(const void* buffer, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement,
                 std::int64_t target_count, MPI_Datatype target_type) {
    if (target == MPI_PROC_NULL) return;
    const MpiTransfer transfer{*this, "put", count, type, target, displacement, target_count, target_type};
    Plan::put(*this, transfer.local, Rank{target}, transfer.offset, transfer.remote).execute(buffer);
}

void Window::get(void* buffer, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement, std::int64_t target_count,
                 MPI_Datatype target_type) {
    if (target == MPI_PROC_NULL) return;
    const MpiTransfer transfer{*this, "get", count, type, target, displacement, target_count, target_type};
    Plan::get(*this, Rank{target}, transfer.offset, transfer.remote, transfer.local).execute(buffer);
}

Completion Window::start_put(const void* buffer, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement,
                             std::int64_t target_count, MPI_Datatype target_type) {
    if (target == MPI_PROC_NULL) return {};
    const MpiTransfer transfer{*this, "put", count, type, target, displacement, target_count, target_type};
    return Plan::put(*this, transfer.local, Rank{target}, transfer.offset, transfer.remote).start(buffer);
}

Completion Window::start_get(void* buffer, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement,
                             std::int64_t target_count, MPI_Datatype target_type) {
    if (target == MPI_PROC_NULL) return {};
    const MpiTransfer transfer{*this, "get", count, type, target, displacement, target_count, target_type};
    return Plan::get(*this, Rank{target}, transfer.offset, transfer.remote, transfer.local).start(buffer);
}

} // namespace lapwing
