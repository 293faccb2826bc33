#include "cache/window_cache.hpp"

#include "src/support/ended_threads.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/log.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {

WindowCache::WindowCache(window::WindowState& window, CacheMode mode, CacheAcquire scope,
                         const PageCacheConfiguration& configuration, Budget& budget, Advised advised)
    : window_{window},
      mode_{mode},
      scope_{scope},
      configuration_{configuration},
      budget_{budget},
      advised_{std::move(advised)},
      inline_writes_{inline_writes(false)},
      tables_{part_stride(configuration)} {
    budget_.enter(*this);
}

WindowCache::~WindowCache() {
    budget_.remove(*this);
    if (!team::TeamRegistry::mpi_ended()) return;
    for_each_thread([](OfThread& thread) {
        if (thread.pages != nullptr) thread.pages->abandon();
    });
}

template <class Function>
void WindowCache::for_each_thread(Function&& function) const {
    const unsigned count = thread_count_.load(std::memory_order_acquire);
    for (unsigned thread = 0; thread < count; ++thread)
        if (OfThread* const found = threads_[thread].load(std::memory_order_acquire)) function(*found);
}

InlineWrites WindowCache::inline_writes(bool has_copies) const noexcept {
    // Another thread that gives up the cache could not stop them, unless no two threads call at a time.
    const bool allowed = !advised_.mode || (configuration_.alone && !given_up_.load(std::memory_order_relaxed));
    if (!allowed) return InlineWrites::none;
    return has_copies ? InlineWrites::with_copies : InlineWrites::all;
}

bool WindowCache::becomes_user() noexcept {
    unsigned user = no_thread;
    const unsigned thread = support::thread_number();
    return thread < threads_.size() && user_.compare_exchange_strong(user, thread, std::memory_order_seq_cst);
}

void WindowCache::give_up() {
    if (given_up_.load(std::memory_order_acquire)) return;
    static std::once_flag said;
    std::call_once(said, [this] {
        support::log_line(fmt::format(
            "{}: LAPWING_ADVICE is not followed any more: a second thread accesses the window, and threads share the "
            "order of accesses only without a cache. If they hand data over by release and acquire, choose the cache "
            "in the program (CacheOptions::mode)",
            window_.who("cache")));
    });
    user_.store(several_threads, std::memory_order_seq_cst);
    // A thread that makes its cache at this moment sees that it is not the only one, or is seen here: see make_mine().
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // Several threads may do so at a time: each must not go on before all is written back.
    for_each_thread([this](OfThread& thread) {
        const support::BiasedMutex::Guard guard{thread.mutex};
        if (thread.pages == nullptr) return;
        if (configuration_.alone) thread.pages->allow_inline_writes(InlineWrites::none);
        thread.pages->write_back_for_another_thread();
    });
    invalidate();
    given_up_.store(true, std::memory_order_release);
}

template <class Access>
bool WindowCache::through_cache(Access&& access) {
    if (for_this_thread()) [[likely]] {
        OfThread* const own = mine();
        if (own == nullptr) return false;
        const support::BiasedMutex::Guard guard{own->mutex};
        if (for_this_thread()) [[likely]] { // still
            access(*own);
            if (tables_.mine_is_hidden()) show_table(*own);
            return true;
        }
    }
    give_up();
    return false;
}

WindowCache::OfThread* WindowCache::existing() const noexcept {
    const unsigned thread = support::thread_number();
    if (thread >= threads_.size()) return nullptr;
    OfThread* const found = threads_[thread].load(std::memory_order_acquire);
    return found != nullptr && found->pages != nullptr ? found : nullptr;
}

WindowCache::OfThread* WindowCache::mine() {
    const unsigned thread = support::thread_number();
    if (thread < threads_.size()) [[likely]]
        if (OfThread* const found = threads_[thread].load(std::memory_order_acquire)) [[likely]] {
            if (found->pages != nullptr) [[likely]]
                return found;
            if (!found->share.outdated()) return nullptr; // the budget has no more room than before
        }
    return make_mine(thread);
}

WindowCache::OfThread* WindowCache::make_mine(unsigned thread) {
    if (thread >= threads_.size()) {
        static std::once_flag said;
        std::call_once(said, [this] {
            support::log_line(
                fmt::format("{}: more than {} threads use cached windows at a time; the others are not cached",
                            window_.team_state().who(), threads_.size()));
        });
        return nullptr;
    }
    // Only this thread has this number.
    std::unique_ptr<OfThread>& own = owned_[thread];
    if (own == nullptr) {
        own = std::make_unique<OfThread>(window_, budget_);
        threads_[thread].store(own.get(), std::memory_order_release);
        // Sequentially consistent, as is what it reads the epoch by in show_table(): either begin_epoch() hides this
        // thread's table, or that sees the new epoch.
        unsigned count = thread_count_.load(std::memory_order_relaxed);
        while (count <= thread && !thread_count_.compare_exchange_weak(count, thread + 1, std::memory_order_seq_cst)) {
        }
        std::atomic_thread_fence(std::memory_order_seq_cst); // see give_up()
    }
    const auto fit_mine = [&] {
        const support::BiasedMutex::Guard guard{own->mutex};
        fit(*own);
    };
    fit_mine();
    if (own->share.held() < PageCache::memory_for(configuration_)) {
        budget_.drop_ended();
        if (own->share.outdated()) fit_mine();
    }
    return own->pages != nullptr ? own.get() : nullptr;
}

bool WindowCache::drop_ended() {
    bool all = true;
    const unsigned count = thread_count_.load(std::memory_order_acquire);
    for (unsigned thread = 0; thread < count; ++thread) {
        OfThread* const found = threads_[thread].load(std::memory_order_acquire);
        if (found == nullptr) continue;
        const support::NumberOfEndedThread number{thread};
        if (!number.holds()) continue;
        const support::BiasedMutex::Guard guard{found->mutex};
        if (found->pages != nullptr) {
            try {
                found->pages->release();
                found->pages->finish_all();
            } catch (...) { // of another thread: this one goes on
                all = false;
                continue;
            }
            tables_.hide(thread);
            found->use_pages(nullptr);
        }
        found->share.give_up();
    }
    return all;
}

void WindowCache::fit(OfThread& own) {
    PageCacheConfiguration configuration = configuration_;
    const std::uint64_t wanted = PageCache::memory_for(configuration);
    configuration.bytes = least_pages * configuration.page_bytes;
    const std::uint64_t least = PageCache::memory_for(configuration);
    const std::uint64_t before = own.share.held();
    const std::uint64_t granted = own.share.claim(wanted, least);
    if (granted < wanted && budget_.warn_once())
        support::log_line(fmt::format(
            "{}: the caches of this process want more than LAPWING_CACHE_MEMORY ({} bytes), so that each gets "
            "less; this thread's has {} of {} bytes. Raise it, or lower LAPWING_CACHE_BYTES",
            window_.who("cache"), budget_.limit(), granted, wanted));
    if (granted == before) return;
    configuration.bytes = granted == wanted ? configuration_.bytes : PageCache::bytes_within(configuration_, granted);
    tables_.hide(support::thread_number());
    if (granted < before) own.use_pages(nullptr); // others may take what this one gives back
    if (granted == 0) return;
    try {
        own.use_pages(std::make_unique<PageCache>(configuration, own.backend, epoch_of(own), own.dirty_pages,
                                                  window_.statistics()));
    } catch (const std::bad_alloc&) {
        own.share.keep(own.pages != nullptr ? before : 0);
        if (before != 0) return; // a release: this thread continues with the cache that it has, or without
        throw RangeError{fmt::format(
            "{}: there is no memory for a cache of {} bytes ({} with what it needs beside its pages) for this "
            "thread; make it smaller (LAPWING_CACHE_BYTES, CacheOptions::bytes), bound all caches of the "
            "process (LAPWING_CACHE_MEMORY), or do without (LAPWING_CACHE=off)",
            window_.who("cache"), configuration.bytes, granted)};
    }
    if (!own.pages->page_table().has_room() && !no_room_said_.exchange(true))
        support::log_line(fmt::format(
            "{}: there is no address space to find cached elements in quickly (`ulimit -v`, or parts of all ranks "
            "beyond the processor's address space): each access to one takes several times as long",
            window_.who("cache")));
    own.bytes = configuration.bytes;
    own.pages->allow_inline_writes(inline_writes_.load(std::memory_order_relaxed));
}

void WindowCache::show_table(OfThread& own) noexcept {
    const std::atomic<std::uint64_t>& epoch = epoch_of(own);
    const std::uint64_t now = epoch.load(std::memory_order_acquire);
    FilledPageTable& table = own.pages->page_table();
    table.begin(now);
    tables_.show_mine(table);
    // Either this sees the epoch of a thread that acquires meanwhile, or that hides the table after this.
    if (epoch.load(std::memory_order_seq_cst) != now) tables_.hide(support::thread_number());
}

void WindowCache::begin_epoch() noexcept {
    // Release order, too: whatever this thread has seen happens before what a thread does that sees the new epoch.
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    const unsigned count = thread_count_.load(std::memory_order_seq_cst);
    for (unsigned thread = 0; thread < count; ++thread) tables_.hide(thread);
}

void WindowCache::begin_epoch(OfThread& own, unsigned thread) noexcept {
    own.epoch.fetch_add(1, std::memory_order_seq_cst);
    tables_.hide(thread);
}

std::uint64_t WindowCache::memory_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for_each_thread(
        [&](const OfThread& thread) { bytes += thread.pages != nullptr ? thread.pages->memory_bytes() : 0; });
    return bytes;
}

void WindowCache::invalidate() {
    for_each_thread([](OfThread& thread) { thread.epoch.fetch_add(1, std::memory_order_seq_cst); });
    begin_epoch(); // which hides the tables of all
}

namespace {

/// Calls `access(value)` with a value of that size, if page tables serve such values at that offset; else returns
/// false.
template <class Access>
[[nodiscard, gnu::always_inline]] inline bool as_value(std::size_t bytes, Offset offset, Access access) {
    if (offset.bytes % bytes != 0) return false;
    switch (bytes) {
    case 1: return access(std::uint8_t{});
    case 2: return access(std::uint16_t{});
    case 4: return access(std::uint32_t{});
    case 8: return access(std::uint64_t{});
    case 16: return access(std::array<std::uint64_t, 2>{});
    default: return false;
    }
}

} // namespace

bool WindowCache::get(Rank target, Offset offset, std::span<std::byte> destination) {
    const bool found = as_value(destination.size(), offset, [&](auto value) {
        const auto* const here = tables_.mine().find<decltype(value)>(tables_.place_of(target, offset));
        if (here != nullptr) std::memcpy(destination.data(), here, sizeof value);
        return here != nullptr;
    });
    return found || through_cache([&](OfThread& own) {
               if (!advised_.reads.empty()) [[unlikely]]
                   ask_for_recorded(own);
               own.pages->get(target, offset, destination);
           });
}

void WindowCache::ask_for_recorded(OfThread& own) {
    const std::uint64_t epoch = epoch_of(own).load(std::memory_order_acquire);
    constexpr unsigned most_in_vain = 2;
    if (own.asked_in == epoch || own.in_vain == most_in_vain) return;
    const StatisticsValues counts = window_.statistics().read();
    const std::uint64_t issued = counts[Counter::read_ahead_issued];
    const std::uint64_t used = counts[Counter::read_ahead_used];
    if (own.asked_in != no_epoch)
        own.in_vain = 2 * (used - own.used_before) < issued - own.issued_before ? own.in_vain + 1 : 0;
    own.asked_in = epoch;
    own.issued_before = issued;
    own.used_before = used;
    if (own.in_vain == most_in_vain) return;
    // Not more than half of the cache, which may be smaller than the one of the recorded run, or of the advice.
    const std::uint64_t page = own.pages->page_bytes();
    std::uint64_t room = own.bytes / 2 / page;
    for (const window::AdvisedWindow::Part& part : advised_.reads) {
        if (window_.map().base(part.owner) != nullptr) continue;
        const std::uint64_t first = part.begin / page;
        const std::uint64_t pages = std::min((part.end - 1) / page - first + 1, room);
        if (pages == 0) continue;
        own.pages->prefetch(part.owner, part.begin, std::min(part.end, (first + pages) * page) - part.begin,
                            PageCache::Hint::whole_pages);
        room -= pages;
    }
}

bool WindowCache::put(Rank target, Offset offset, std::span<const std::byte> source) {
    // Of writes that come here the window notifies the copies.
    const bool copied = inline_writes_.load(std::memory_order_relaxed) == InlineWrites::with_copies;
    const bool written = !copied && as_value(source.size(), offset, [&](auto value) {
        std::memcpy(&value, source.data(), sizeof value);
        return tables_.mine().write(tables_.place_of(target, offset), value);
    });
    if (written) return true;
    if (!through_cache([&](OfThread& own) { own.pages->put(target, offset, source); })) return false;
    if (copied) find_copies(target, offset);
    return true;
}

void WindowCache::find_copies(Rank target, Offset offset) {
    OfThread* const own = existing();
    if (own == nullptr) return;
    // What is known of the copies is asked for without the cache's mutex, which is taken after theirs elsewhere. Only
    // this thread makes its cache's pages dirty, or clean.
    FilledPageTable& table = own->pages->page_table();
    if (!table.wants_copies(table.page_of(target, offset))) return;
    const std::uint64_t page_bytes = own->pages->page_bytes();
    const std::uint64_t before = offset.bytes & (page_bytes - 1);
    const window::CopiesAround copies = window_.order().copies().copies_of(target, offset, before, page_bytes - before);
    const support::BiasedMutex::Guard guard{own->mutex};
    table.enter_copies(table.place_of(target, offset), copies);
}

bool WindowCache::enter_memory(Rank rank, Offset offset, const std::byte* memory, std::uint64_t bytes) noexcept {
    OfThread* const own = existing();
    if (own == nullptr) return false;
    const support::BiasedMutex::Guard guard{own->mutex};
    if (tables_.mine_is_hidden()) show_table(*own);
    return own->pages->page_table().enter_memory(rank, offset, memory, bytes);
}

void WindowCache::prefetch(Rank target, Offset offset, std::uint64_t bytes) {
    (void)through_cache([&](OfThread& own) { own.pages->prefetch(target, offset, bytes); });
}

void WindowCache::before_read(Rank target, Offset offset, std::uint64_t bytes) {
    if (!for_this_thread()) return give_up();
    OfThread* const own = existing();
    if (own == nullptr || !own->pages->may_be_dirty()) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->write_back(target, offset, bytes);
}

void WindowCache::before_write(Rank target, Offset offset, std::uint64_t bytes) {
    if (!for_this_thread()) return give_up();
    OfThread* const own = existing();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->invalidate(target, offset, bytes);
}

void WindowCache::start_write_back() {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages->start_release();
    }
    write_back_others(own);
}

void WindowCache::finish_write_back() {
    OfThread* const own = existing();
    if (own == nullptr) return;
    {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages->finish_release();
        // After a failed release the cache keeps what it could not put, and the next release returns memory.
        if (!own->share.outdated() || own->pages->may_be_dirty()) [[likely]]
            return;
        fit(*own);
    }
    budget_.drop_ended(); // memory is short
}

void WindowCache::write_back(Rank target) {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages->release(target);
    }
    write_back_others(own);
}

void WindowCache::drain() {
    RemoteCache::write_back();
    for_each_thread([](OfThread& thread) {
        const support::BiasedMutex::Guard guard{thread.mutex};
        if (thread.pages != nullptr) thread.pages->finish_all();
    });
}

void WindowCache::write_back_others(const OfThread* mine) {
    for_each_thread([&](OfThread& other) {
        if (&other == mine || other.dirty_pages.load(std::memory_order_acquire) == 0) return;
        const support::BiasedMutex::Guard guard{other.mutex};
        if (other.pages != nullptr)
            other.pages->write_back_for_another_thread(); // its thread may have returned it meanwhile
    });
}

bool WindowCache::look_at_held(team::HeldWrites::Clock::time_point now, bool under_way) noexcept {
    bool old = false;
    for_each_thread([&](OfThread& thread) {
        const bool any = under_way || thread.dirty_pages.load(std::memory_order_acquire) != 0;
        const std::lock_guard guard{thread.pages_mutex};
        const std::uint64_t writes = thread.pages != nullptr ? thread.pages->page_table().writes() : 0;
        old |= thread.held.look(now, any, thread.writes_before + writes);
    });
    return old;
}

void WindowCache::send_old() {
    support::FirstProblem problem;
    for_each_thread([&](OfThread& thread) {
        if (!thread.held.old()) return;
        thread.held.sent();
        const support::BiasedMutex::Guard guard{thread.mutex};
        if (thread.pages != nullptr) problem.attempt([&] { thread.pages->write_back_for_another_thread(); });
    });
    problem.rethrow();
}

void WindowCache::validate_mine() {
    OfThread* const own = existing();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->validate();
}

bool WindowCache::is_of_this_thread() const noexcept {
    const unsigned own = support::thread_number();
    const unsigned count = thread_count_.load(std::memory_order_acquire);
    for (unsigned thread = 0; thread < count; ++thread)
        if (thread != own && threads_[thread].load(std::memory_order_acquire) != nullptr) return false;
    return true;
}

void WindowCache::set_copies_beside(bool any) {
    const InlineWrites allowed = inline_writes(any);
    inline_writes_.store(allowed, std::memory_order_relaxed);
    for_each_thread([allowed](OfThread& thread) {
        const support::BiasedMutex::Guard guard{thread.mutex};
        if (thread.pages != nullptr) thread.pages->allow_inline_writes(allowed);
    });
}

void WindowCache::collect_statistics() {
    if (OfThread* const own = existing()) own->pages->collect_hits();
}

} // namespace lapwing::detail::cache
