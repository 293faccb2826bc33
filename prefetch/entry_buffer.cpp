#include "prefetch/entry_buffer.hpp"

#include "src/support/assert.hpp"
#include "src/team/team_state.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace lapwing::detail::prefetching {

/// The fill that start_fill() has started.
class EntryBuffer::FillUnderWay final : public transport::PendingTransfer {
public:
    explicit FillUnderWay(std::shared_ptr<EntryBuffer> buffer) noexcept
        : buffer_{std::move(buffer)}, number_{buffer_->filling_} {}

    bool test() override {
        const support::BiasedMutex::Guard lock{buffer_->mutex_, std::try_to_lock};
        if (!lock.holds()) return false; // another thread waits for it, or writes
        if (buffer_->filling_ != number_) return true;
        if (!buffer_->under_way_.test()) return false;
        buffer_->finish_all();
        return true;
    }
    void wait() override {
        const support::BiasedMutex::Guard lock{buffer_->mutex_};
        if (buffer_->filling_ == number_) buffer_->finish_all();
    }

private:
    std::shared_ptr<EntryBuffer> buffer_;
    std::uint64_t number_;
};

EntryBuffer::EntryBuffer(Window& window, const PrefetchOptions& options, Eviction eviction)
    : window_{window.state()}, options_{options}, eviction_{eviction} {
    window_.order().copies().add(*this);
}

EntryBuffer::~EntryBuffer() { detach(); }

void EntryBuffer::detach() noexcept {
    if (!attached_) return;
    try {
        evict();
    } catch (const Error&) { // of the fill that was under way: its copies are not wanted any more
        const support::BiasedMutex::Guard lock{mutex_};
        clear();
    }
    window_.order().copies().remove(*this);
    attached_ = false;
}

void EntryBuffer::window_closes() noexcept {
    const support::BiasedMutex::Guard lock{mutex_};
    filling_ = 0;
    count_hits();
    clear();
    attached_ = false;
}

void EntryBuffer::clear() noexcept {
    state_.expire();
    window_.order().copies().forget_places();
    if (std::exchange(of_node_, false)) window_.order().copies().near_bindings().remove_copies();
    under_way_.clear();
    entries_.clear();
    by_owner_.clear();
    memory_.clear();
    lost_.clear();
    count_memory(-static_cast<std::int64_t>(memory_bytes_));
}

std::byte* EntryBuffer::add(std::uint64_t bytes, std::vector<Slice> slices, std::uint64_t index_bytes,
                            std::byte* place) {
    support::AlignedMemory memory;
    if (place == nullptr) {
        memory = support::allocate_aligned(bytes);
        place = memory.get();
    }
    std::vector<Entry> entries = entries_of(window_, std::move(slices), place, options_);

    std::uint64_t all_bytes = bytes + index_bytes;
    for (const Entry& entry : entries) all_bytes += entry.memory();
    const bool of_node = std::ranges::any_of(
        entries, [this](const Entry& entry) { return window_.map().base(entry.owner()) != nullptr; });

    const support::BiasedMutex::Guard lock{mutex_};
    finish_under_way();
    window_.order().copies().forget_places(); // what had no copy may have one now
    entries_.insert(entries_.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    by_owner_.resize(entries_.size());
    std::iota(by_owner_.begin(), by_owner_.end(), 0U);
    std::ranges::stable_sort(by_owner_, {}, [this](std::uint32_t entry) { return entries_[entry].owner(); });
    if (memory != nullptr) memory_.push_back(std::move(memory));
    if (of_node && !std::exchange(of_node_, true)) window_.order().copies().near_bindings().add_copies();
    state_.expire();
    count_memory(static_cast<std::int64_t>(all_bytes));
    return place;
}

void EntryBuffer::count_memory(std::int64_t change) {
    memory_bytes_ += static_cast<std::uint64_t>(change);
    // Counters add up modulo 2^64.
    window_.statistics().add(Counter::prefetch_memory, static_cast<std::uint64_t>(change));
    if (memory_bytes_ <= memory_peak_) return;
    window_.statistics().add(Counter::prefetch_memory_peak, memory_bytes_ - memory_peak_);
    memory_peak_ = memory_bytes_;
}

// ---- fills ----------------------------------------------------------------------------------------------------------

void EntryBuffer::start(Which which) {
    LAPWING_ASSERT(filling_ == 0 && under_way_.empty()); // of one fill at a time
    LAPWING_ASSERT(by_owner_.size() == entries_.size());
    filling_ = state_.wanted();
    filled_at_ = window_.order().copies().change();
    if (which == Which::all) {
        lost_.clear();
        for (Entry& entry : entries_) entry.set_filled(false); // until the end of this fill
    }
    under_way_.reserve(entries_.size());
    std::uint64_t bytes = 0;
    std::uint64_t transfers = 0;
    try {
        state_.begin_fill();
        take_writes();
        for (Entry& entry : entries_) {
            if (entry.filled()) continue;
            under_way_.start(entry);
            bytes += entry.bytes();
            ++transfers;
        }
    } catch (...) { // the copies stay stale
        filling_ = 0;
        under_way_.clear();
        throw;
    }
    if (which == Which::unfilled && transfers == 0) return;
    window_.statistics().add(Counter::prefetch_fills);
    window_.statistics().add(Counter::prefetch_transfers, transfers);
    window_.statistics().add(Counter::prefetch_bytes, bytes);
}

void EntryBuffer::take_writes() {
    window_.order().copies().forget_places_of_others();
    if (window::RemoteCache* const cache = window_.cache()) cache->write_back();
}

void EntryBuffer::finish_all() {
    // Whether it succeeds or not, the fill is over.
    const std::uint64_t number = std::exchange(filling_, 0);
    under_way_.wait(window_.team_state());
    for (Entry& entry : entries_) entry.set_filled(true);
    filled_at_ = window_.order().copies().change();
    state_.end_fill(number);
}

void EntryBuffer::finish_under_way() {
    if (filling_ != 0) finish_all();
}

void EntryBuffer::fill(Which which) {
    finish_under_way();
    start(which);
    finish_all();
}

void EntryBuffer::fill() {
    const support::BiasedMutex::Guard lock{mutex_};
    // A fill has a number of its own, by which readers of other threads see that there was one.
    if (options_.consistent) state_.expire();
    fill(Which::all);
}

void EntryBuffer::fill_new() {
    const support::BiasedMutex::Guard lock{mutex_};
    renew();
}

Completion EntryBuffer::start_fill() {
    const support::BiasedMutex::Guard lock{mutex_};
    finish_under_way();
    if (options_.consistent) state_.expire();
    start(Which::all);
    return Completion{std::make_unique<FillUnderWay>(shared_from_this())};
}

void EntryBuffer::refresh() {
    const support::BiasedMutex::Guard lock{mutex_};
    if (!attached_)
        throw UsageError{"a read of a prefetched element: the window of the copies is closed; close the array, not its "
                         "window, when nobody reads it any more"};
    finish_under_way();
    if (state_.is_fresh()) return;
    if (options_.consistent) fill(Which::all);
    else renew();
}

void EntryBuffer::renew() {
    finish_under_way();
    state_.begin_fill();
    repair();
    fill(Which::unfilled);
}

void EntryBuffer::repair() {
    if (lost_.empty()) return;
    take_writes();
    // A list of atomics may have made the same value unknown many times.
    const auto key = [](const Lost& lost) { return std::tuple{lost.target, lost.offset, lost.bytes}; };
    std::ranges::sort(lost_, {}, key);
    lost_.erase(
        std::unique(lost_.begin(), lost_.end(), [&key](const Lost& a, const Lost& b) { return key(a) == key(b); }),
        lost_.end());
    for (const Lost& lost : lost_)
        of_owner(lost.target, [&](Entry& entry) {
            entry.for_copies(lost.offset.bytes, lost.offset.bytes + lost.bytes,
                             [&](std::byte* copy, std::uint64_t offset, std::uint64_t bytes) {
                                 if (const std::byte* const segment = window_.map().base(lost.target))
                                     std::memcpy(copy, segment + offset, bytes);
                                 else window_.puts_and_gets().get_past_cache(lost.target, offset, {copy, bytes});
                             });
        });
    lost_.clear();
}

void EntryBuffer::evict() {
    const support::BiasedMutex::Guard lock{mutex_};
    finish_under_way();
    count_hits();
    clear();
}

void EntryBuffer::count_hits() noexcept {
    if (attached_) window_.statistics().add(Counter::prefetch_hits, state_.take_hits());
}

// ---- writes of this rank --------------------------------------------------------------------------------------------

template <class Function>
void EntryBuffer::of_owner(Rank owner, Function&& function) {
    const auto owner_at = [this](std::uint32_t place) { return entries_[place].owner(); };
    const auto last = std::ranges::upper_bound(by_owner_, owner, {}, owner_at);
    for (auto place = std::ranges::lower_bound(by_owner_, owner, {}, owner_at); place != last; ++place) {
        Entry& entry = entries_[*place];
        if (const std::uint64_t listed = entry.list_runs(); listed != 0)
            count_memory(static_cast<std::int64_t>(listed));
        function(entry);
    }
}

void EntryBuffer::written(Rank target, Offset offset, std::span<const std::byte> bytes) {
    const support::BiasedMutex::Guard lock{mutex_};
    write(target, offset, bytes);
}

void EntryBuffer::write(Rank target, Offset offset, std::span<const std::byte> bytes) {
    bool any = false;
    of_owner(target, [&](Entry& entry) {
        entry.for_copies(offset.bytes, offset.bytes + bytes.size(),
                         [&](std::byte* copy, std::uint64_t first, std::uint64_t count) {
                             std::memcpy(copy, bytes.data() + (first - offset.bytes), count);
                             any = true;
                         });
    });
    if (any) window_.statistics().add(Counter::prefetch_writes);
}

void EntryBuffer::written(Rank target, const Layout& there, const Layout& here, const std::byte* base) {
    LayoutZip zip{here, there};
    while (!zip.done()) {
        const BlockPair pair = zip.next();
        written(target, static_cast<std::uint64_t>(pair.target), {base + pair.source, pair.bytes});
    }
}

bool EntryBuffer::passed(Rank target, Offset offset, std::uint64_t mark) {
    std::uint64_t& changed =
        changed_at_[(offset.bytes / 8 + static_cast<std::uint64_t>(target.value)) % changed_at_.size()];
    return std::exchange(changed, window_.order().copies().change()) > mark || filled_at_ > mark;
}

void EntryBuffer::atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes, std::uint64_t mark) {
    const support::BiasedMutex::Guard lock{mutex_};
    if (passed(target, offset, mark)) lose(target, offset, bytes.size());
    else write(target, offset, bytes);
}

void EntryBuffer::atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                              const void* operand, std::uint64_t mark) {
    const support::BiasedMutex::Guard lock{mutex_};
    const std::uint64_t size = mpi::size_of(type);
    if (passed(target, offset, mark)) return lose(target, offset, size);
    bool any_lost = false;
    of_owner(target, [&](Entry& entry) {
        entry.for_copies(offset.bytes, offset.bytes + size, [&](std::byte* copy, std::uint64_t, std::uint64_t count) {
            // A copy that ends within the value cannot be added to.
            std::uint64_t before = 0;
            if (count == size && reinterpret_cast<std::uintptr_t>(copy) % size == 0)
                mpi::processor_fetch(operation, type, copy, operand, &before);
            else any_lost = true;
        });
    });
    if (any_lost) note_lost({target, offset, size});
}

window::CopiesAround EntryBuffer::copies_of(Rank target, Offset offset, std::uint64_t before, std::uint64_t after) {
    if (eviction_ == Eviction::any_time) return {};
    const support::BiasedMutex::Guard lock{mutex_};
    window::CopiesAround around{.before = before, .after = after};
    of_owner(target, [&](const Entry& entry) { entry.reduce(offset.bytes, around); });
    return around;
}

void EntryBuffer::note_lost(const Lost& lost) {
    // Automatic copies are all filled again.
    if (!options_.consistent) lost_.push_back(lost);
    state_.expire();
}

void EntryBuffer::invalidated(Rank target, Offset offset, std::uint64_t bytes) {
    const support::BiasedMutex::Guard lock{mutex_};
    lose(target, offset, bytes);
}

void EntryBuffer::lose(Rank target, Offset offset, std::uint64_t bytes) {
    bool any = false;
    of_owner(target, [&](Entry& entry) {
        entry.for_copies(offset.bytes, offset.bytes + bytes,
                         [&](std::byte*, std::uint64_t, std::uint64_t) { any = true; });
    });
    if (any) note_lost({target, offset, bytes});
}

} // namespace lapwing::detail::prefetching
