#include <lapwing/prefetch.hpp>

#include "pipeline/planned_transfer.hpp"
#include "prefetch/entry_buffer.hpp"
#include "src/support/rank_check.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <atomic>
#include <utility>
#include <vector>

namespace lapwing {
namespace {

[[nodiscard]] std::uint64_t new_set() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

} // namespace

Prefetch::Prefetch(Window& window, const PrefetchOptions& options)
    : buffer_{std::make_shared<detail::prefetching::EntryBuffer>(window, options,
                                                                 detail::prefetching::EntryBuffer::Eviction::any_time)},
      set_{new_set()} {}

Prefetch::Prefetch(Prefetch&&) noexcept = default;

Prefetch& Prefetch::operator=(Prefetch&& other) noexcept {
    if (this == &other) return *this;
    if (buffer_ != nullptr) buffer_->detach();
    buffer_ = std::move(other.buffer_);
    memory_ = std::exchange(other.memory_, 0);
    set_ = other.set_;
    return *this;
}

Prefetch::~Prefetch() {
    if (buffer_ != nullptr) buffer_->detach();
}

detail::prefetching::EntryBuffer& Prefetch::buffer(const char* call) const {
    if (buffer_ == nullptr)
        throw UsageError{fmt::format("Prefetch::{}: the object was moved from; use the one it was moved to", call)};
    if (!buffer_->attached())
        throw UsageError{fmt::format("Prefetch::{}: the window was closed; make a Prefetch for the new one", call)};
    buffer_->window().require_memory(call);
    return *buffer_;
}

detail::prefetching::EntryBuffer& Prefetch::buffer(const char* call, const PrefetchedSlice& slice) const {
    detail::prefetching::EntryBuffer& copies = buffer(call);
    if (slice.set_ != set_) [[unlikely]]
        throw UsageError{
            fmt::format("{}: the slice belongs to another Prefetch, or evict() has freed its copy; request() it again",
                        copies.window().who(fmt::format("Prefetch::{}", call).c_str()))};
    return copies;
}

std::uint64_t Prefetch::memory() const noexcept { return buffer_ != nullptr && buffer_->attached() ? memory_ : 0; }

PrefetchedSlice Prefetch::request(Rank owner, Offset offset, const Layout& slice) {
    detail::prefetching::EntryBuffer& copies = buffer("request");
    const detail::transport::MemoryMap& map = copies.window().map();
    detail::support::require_rank(owner, map.ranks, [&] { return copies.window().who("Prefetch::request"); });
    if (owner.value == map.own_rank)
        throw UsageError{
            fmt::format("{}: rank {} is this rank, whose own part needs no copy; read it with Window::local()",
                        copies.window().who("Prefetch::request"), owner.value)};
    // Before there is memory for its copy.
    Layout there = detail::pipeline::layout_in_part(copies.window(), "Prefetch::request", owner, offset, slice);
    std::vector<detail::prefetching::Slice> slices;
    slices.push_back({owner, std::move(there), Layout::contiguous(slice.bytes())});
    std::byte* const copy = copies.add(slice.bytes(), std::move(slices), 0);
    memory_ += slice.bytes();
    return {copy, slice.bytes(), set_};
}

PrefetchedSlice Prefetch::request(Rank owner) {
    const detail::transport::MemoryMap& map = buffer("request").window().map();
    const bool known = owner.value >= 0 && owner.value < map.ranks; // else the other call says that it is not
    return request(owner, Offset{0}, Layout::contiguous(known ? map.bytes(owner) : 0));
}

std::span<const std::byte> Prefetch::access(const PrefetchedSlice& slice) {
    detail::prefetching::EntryBuffer& copies = buffer("access", slice);
    while (!copies.state().is_fresh()) copies.refresh();
    copies.state().count_hit();
    return {slice.copy_, static_cast<std::size_t>(slice.bytes_)};
}

void Prefetch::read_bytes(const PrefetchedSlice& slice, std::uint64_t k, std::span<std::byte> value) {
    detail::prefetching::EntryBuffer& copies = buffer("read", slice);
    if (k >= slice.bytes_ / value.size())
        throw RangeError{fmt::format(
            "{}: value {} of {} bytes is outside of the slice of {} bytes; read below PrefetchedSlice::size()",
            copies.window().who("Prefetch::read"), k, value.size(), slice.bytes_)};
    const std::byte* const copy = slice.copy_ + k * value.size();
    while (!copies.state().read_bytes(copy, value)) copies.refresh();
    copies.state().count_hit();
}

void Prefetch::update() { buffer("update").fill(); }

Completion Prefetch::update_async() { return buffer("update_async").start_fill(); }

void Prefetch::evict() {
    buffer("evict").evict();
    memory_ = 0;
    set_ = new_set();
}

} // namespace lapwing
