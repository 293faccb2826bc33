#include <lapwing/window.hpp>

#include "src/mpi/atomics.hpp"
#include "src/support/device_memory.hpp"
#include "src/support/rank_check.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace lapwing {
using detail::window::WindowState;

Window::Window() noexcept = default;

Window::Window(std::unique_ptr<WindowState> state) : state_{std::move(state)}, map_{state_->map()} {
    state_->keep_up_to_date(map_, least_noted_);
}

Window::Window(Team& team, std::uint64_t bytes, WindowOptions options)
    : Window{std::make_unique<WindowState>(team, bytes, std::move(options))} {}

Window Window::adopt(Team& team, MPI_Win window, bool locked, WindowOptions options) {
    return Window{std::make_unique<WindowState>(team, window, locked, std::move(options))};
}

Window::Window(Window&& other) noexcept : state_{std::move(other.state_)}, map_{std::exchange(other.map_, {})} {
    if (state_ != nullptr) state_->keep_up_to_date(map_, least_noted_);
}

Window& Window::operator=(Window&& other) noexcept {
    if (this != &other) {
        Window old{std::move(*this)}; // ends as a destroyed window does
        state_ = std::move(other.state_);
        map_ = std::exchange(other.map_, {});
        if (state_ != nullptr) state_->keep_up_to_date(map_, least_noted_);
    }
    return *this;
}

Window::~Window() {
    if (state_ == nullptr) return;
    WindowState::end_with_scope(std::move(state_));
}

void Window::close() {
    if (state_ == nullptr) return;
    state_->close();
    state_.reset();
    map_ = {};
}

WindowState& Window::open_state(const char* call) const {
    if (state_ == nullptr)
        throw UsageError{fmt::format("Window.{}: the window was closed before, or never opened; make a new one", call)};
    state_->require_memory(call);
    return *state_;
}

WindowState& Window::state() const { return open_state("state"); }
Team& Window::team() const { return open_state("team").facts().team; }
std::string_view Window::name() const { return open_state("name").facts().name; }

std::uint64_t Window::size(Rank target) const {
    (void)checked_address(target, Offset{0}, 0, "size");
    return map_.bytes(target);
}

Path Window::path(Rank target) const {
    (void)checked_address(target, Offset{0}, 0, "path");
    return state_->facts().path(target);
}

std::span<std::byte> Window::reachable(Rank target) const {
    std::byte* const base = checked_address(target, Offset{0}, 0, "reachable");
    if (base == nullptr) return {};
    return {base, static_cast<std::size_t>(map_.bytes(target))};
}

std::byte* Window::other_address(Rank target, Offset offset, std::uint64_t bytes, const char* call) const {
    const bool rank_ok = static_cast<unsigned>(target.value) < static_cast<unsigned>(map_.ranks);
    if (!rank_ok || bytes > map_.bytes(target) || offset.bytes > map_.bytes(target) - bytes) {
        const WindowState& window = open_state(call); // a closed window has no ranks: every call on it comes here
        detail::support::require_rank(target, map_.ranks, [&] { return window.who(call); });
        throw RangeError{fmt::format(
            "{}: {} bytes at offset {} of rank {} leave its part of {} bytes; stay within Window::size(rank)",
            window.who(call), bytes, detail::support::text_of(offset), target.value, map_.bytes(target))};
    }
    detail::window::note_call(state_->facts(), call, target, offset, bytes);
    std::byte* const base = map_.base(target);
    return target.value == map_.own_rank ? map_.own + offset.bytes : base == nullptr ? nullptr : base + offset.bytes;
}

void Window::count(Counter counter, std::uint64_t amount) { state_->statistics().add(counter, amount); }

void Window::note_put(Rank target, Offset offset, std::span<const std::byte> source) {
    if (source.size() >= detail::window::counted_bytes) count(Counter::direct_put_bytes, source.size());
    state_->order().copies().written(target, offset, source);
}

void Window::remote_get(Rank target, Offset offset, std::span<std::byte> destination) {
    const detail::trace::TimeOfLast time;
    state_->puts_and_gets().get(target, offset, destination);
}

void Window::remote_put(Rank target, Offset offset, std::span<const std::byte> source) {
    const detail::trace::TimeOfLast time;
    state_->puts_and_gets().put(target, offset, source);
}

void Window::remote_prefetch(Rank target, Offset offset, std::uint64_t bytes) {
    if (state_->cache() != nullptr && bytes != 0) state_->cache()->prefetch(target, offset, bytes);
}

void Window::invalidate_cache() {
    if (detail::window::RemoteCache* const cache = open_state("invalidate_cache").cache()) cache->invalidate();
}

const detail::window::PageTables* Window::page_tables() const noexcept {
    return state_ == nullptr || state_->cache() == nullptr ? nullptr : &state_->cache()->page_tables();
}

bool detail::window::enter_memory(const Window& window, Rank target, Offset offset) noexcept {
    const transport::MemoryMap& map = window.map();
    const std::byte* const memory = map.base(target);
    RemoteCache* const cache = window.state().cache();
    return memory != nullptr && cache != nullptr && cache->enter_memory(target, offset, memory, map.bytes(target));
}

void Window::require_host_memory(const void* memory, const char* call) const {
    detail::support::require_host_memory(memory, [&] { return open_state(call).who(call); });
}

Completion Window::start_get_bytes(Rank target, Offset offset, std::span<std::byte> destination) {
    require_host_memory(destination.data(), "start_get");
    if (const std::byte* source = checked_address(target, offset, destination.size(), "start_get")) {
        copy_in(destination.data(), source, destination.size());
        return {};
    }
    const detail::trace::TimeOfLast time;
    return state_->puts_and_gets().start_get(target, offset, destination);
}

Completion Window::start_put_bytes(Rank target, Offset offset, std::span<const std::byte> source) {
    require_host_memory(source.data(), "start_put");
    if (std::byte* destination = checked_address(target, offset, source.size(), "start_put")) {
        copy_out(destination, target, offset, source);
        return {};
    }
    const detail::trace::TimeOfLast time;
    return state_->puts_and_gets().start_put(target, offset, source);
}

void Window::flush(Rank target) {
    (void)checked_address(target, Offset{0}, 0, "flush");
    state_->order().flush(target);
}

void Window::flush() { open_state("flush").order().flush(); }
void Window::release() { open_state("release").order().release(); }
void Window::acquire() { open_state("acquire").order().acquire(); }

void Window::fence() {
    detail::window::AccessOrder& order = open_state("fence").order();
    order.release();
    order.acquire();
}

void Window::put_notify_bytes(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter) {
    require_host_memory(source.data(), "put_notify");
    (void)checked_address(target, offset, source.size(), "put_notify");
    const detail::trace::TimeOfLast time;
    state_->notifications().put(target, offset, source, counter);
}

void Window::wait_notified(unsigned counter, std::uint64_t count) {
    open_state("wait_notified").notifications().wait(counter, count);
}
std::uint64_t Window::notified(unsigned counter) { return open_state("notified").notifications().read(counter); }

StatisticsValues Window::statistics() const {
    WindowState& window = open_state("statistics");
    if (window.cache() != nullptr) window.cache()->collect_statistics();
    return window.statistics().read();
}

StatisticsValues Window::total_statistics() {
    StatisticsValues values = statistics();
    team().all_reduce(values.values.data(), values.values.size(), MPI_UINT64_T, MPI_SUM);
    return values;
}

} // namespace lapwing
