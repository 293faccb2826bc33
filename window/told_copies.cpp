#include "window/told_copies.hpp"

#include <lapwing/detail/layout_cursor.hpp>

#include <algorithm>

namespace lapwing::detail::window {

void ToldCopies::add(ReadCopies& copies) {
    const support::BiasedMutex::Guard guard{mutex_};
    list_.push_back(&copies);
    count_.store(list_.size(), std::memory_order_relaxed);
    if (list_.size() == 1) observer_.copies_changed();
}

void ToldCopies::remove(ReadCopies& copies) {
    const support::BiasedMutex::Guard guard{mutex_};
    const auto found = std::ranges::find(list_, &copies);
    if (found == list_.end()) return;
    list_.erase(found);
    count_.store(list_.size(), std::memory_order_relaxed);
    if (list_.empty()) observer_.copies_changed();
}

void ToldCopies::end() noexcept {
    std::vector<ReadCopies*> list;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        list.swap(list_);
        count_.store(0, std::memory_order_relaxed);
    }
    for (ReadCopies* const copies : list) copies->window_closes();
}

template <class Call>
void ToldCopies::tell(Call&& call) {
    const support::BiasedMutex::Guard guard{mutex_};
    for (ReadCopies* const copies : list_) call(*copies);
}

void ToldCopies::tell_acquired() noexcept {
    tell([](ReadCopies& copies) { copies.acquired(); });
}

void ToldCopies::tell_written(int target, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    tell([&](ReadCopies& copies) { copies.written(target, offset, bytes); });
}

void ToldCopies::tell_written(int target, const Layout& there, const Layout& here, const std::byte* base) {
    if (there.empty()) return;
    tell([&](ReadCopies& copies) { copies.written(target, there, here, base); });
}

void ToldCopies::tell_left(int target, std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t mark) {
    tell([&](ReadCopies& copies) { copies.left(target, offset, bytes, mark); });
}

void ToldCopies::tell_updated(int target, std::uint64_t offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                              const void* operand, std::uint64_t mark) {
    tell([&](ReadCopies& copies) { copies.updated(target, offset, operation, type, operand, mark); });
}

void ToldCopies::tell_lost(int target, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0) return;
    tell([&](ReadCopies& copies) { copies.lost(target, offset, bytes); });
}

void ToldCopies::tell_lost(int target, const Layout& there) {
    tell([&](ReadCopies& copies) {
        for (LayoutCursor cursor{there}; !cursor.done();) {
            const ByteBlock block = cursor.next();
            copies.lost(target, static_cast<std::uint64_t>(block.offset), block.bytes);
        }
    });
}

} // namespace lapwing::detail::window
