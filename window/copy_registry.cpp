#include "window/copy_registry.hpp"

#include "src/support/process_fence.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>

namespace lapwing::detail::window {

void CopyRegistry::add(CoherentCopies& copies) {
    const support::BiasedMutex::Guard guard{mutex_};
    forget_places(); // there may be two copies of a byte now
    list_.push_back(&copies);
    count_.store(list_.size(), std::memory_order_relaxed);
    if (list_.size() == 1) observer_.copies_changed();
}

void CopyRegistry::remove(CoherentCopies& copies) {
    const support::BiasedMutex::Guard guard{mutex_};
    const auto found = std::ranges::find(list_, &copies);
    if (found == list_.end()) return;
    forget_places();
    list_.erase(found);
    count_.store(list_.size(), std::memory_order_relaxed);
    if (list_.empty()) observer_.copies_changed();
}

void CopyRegistry::end() noexcept {
    near_bindings_.end();
    std::vector<CoherentCopies*> list;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        list.swap(list_);
        count_.store(0, std::memory_order_relaxed);
    }
    for (CoherentCopies* const copies : list) copies->window_closes();
}

CopiesAround CopyRegistry::copies_of(Rank target, Offset offset, std::uint64_t before, std::uint64_t after) {
    if (!support::can_fence_all_threads()) return {};
    const support::BiasedMutex::Guard guard{mutex_};
    if (list_.size() != 1) return {};
    // First the version, then the thread: forget_places() looks at them in the reverse order, so that whoever it does
    // not see gets the new version or asks the copies after it. Then the copies, which wait for the end of a fill.
    const std::uint64_t version = version_.load(std::memory_order_acquire);
    const unsigned me = support::thread_number() + 1;
    unsigned asked_by = nobody;
    if (!asked_by_.compare_exchange_strong(asked_by, me, std::memory_order_acq_rel) && asked_by != me)
        asked_by_.store(several_threads, std::memory_order_release);
    CopiesAround copies = list_.front()->copies_of(target, offset, before, after);
    copies.version = &version_;
    copies.known_at = version;
    return copies;
}

void CopyRegistry::forget_places() noexcept {
    const unsigned asked_by = asked_by_.exchange(nobody, std::memory_order_acq_rel);
    if (asked_by == nobody) return;
    version_.fetch_add(1, std::memory_order_release);
    if (asked_by != support::thread_number() + 1) support::fence_all_threads();
}

void CopyRegistry::forget_places_of_others() noexcept {
    const unsigned asked_by = asked_by_.load(std::memory_order_acquire);
    if (asked_by != nobody && asked_by != support::thread_number() + 1) forget_places();
}

template <class Call>
void CopyRegistry::notify(Call&& call) {
    const support::BiasedMutex::Guard guard{mutex_};
    for (CoherentCopies* const copies : list_) call(*copies);
}

void CopyRegistry::notify_acquired() noexcept {
    notify([](CoherentCopies& copies) { copies.acquired(); });
}

void CopyRegistry::notify_written(Rank target, Offset offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    notify([&](CoherentCopies& copies) { copies.written(target, offset, bytes); });
}

void CopyRegistry::notify_written(Rank target, const Layout& there, const Layout& here, const std::byte* base) {
    if (there.empty()) return;
    notify([&](CoherentCopies& copies) { copies.written(target, there, here, base); });
}

void CopyRegistry::notify_atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes,
                                        std::uint64_t mark) {
    notify([&](CoherentCopies& copies) { copies.atomic_result(target, offset, bytes, mark); });
}

void CopyRegistry::notify_atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                                      const void* operand, std::uint64_t mark) {
    notify([&](CoherentCopies& copies) { copies.atomic_sent(target, offset, operation, type, operand, mark); });
}

void CopyRegistry::notify_invalidated(Rank target, Offset offset, std::uint64_t bytes) {
    if (bytes == 0) return;
    notify([&](CoherentCopies& copies) { copies.invalidated(target, offset, bytes); });
}

void CopyRegistry::notify_invalidated(Rank target, const Layout& there) {
    notify([&](CoherentCopies& copies) {
        for (LayoutCursor cursor{there}; !cursor.done();) {
            const ByteBlock block = cursor.next();
            copies.invalidated(target, static_cast<std::uint64_t>(block.offset), block.bytes);
        }
    });
}

} // namespace lapwing::detail::window
