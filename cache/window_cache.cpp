#include "cache/window_cache.hpp"

#include "src/support/ended_threads.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/log.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
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
      inline_writes_{inline_writes(false)} {
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
        unsigned count = thread_count_.load(std::memory_order_relaxed);
        while (count <= thread && !thread_count_.compare_exchange_weak(count, thread + 1, std::memory_order_release)) {
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
            hot_pages_.drop(thread);
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
    if (granted < before) { // others may take what this one gives back
        hot_pages_.drop_mine();
        own.use_pages(nullptr);
    }
    if (granted == 0) return;
    try {
        own.use_pages(std::make_unique<PageCache>(configuration, own.backend,
                                                  scope_ == CacheAcquire::rank ? epoch_ : own.epoch, own.dirty_pages,
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
    own.bytes = configuration.bytes;
    own.pages->allow_inline_writes(inline_writes_.load(std::memory_order_relaxed));
    hot_pages_.set_mine(own.pages->hot_pages());
}

std::uint64_t WindowCache::memory_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for_each_thread(
        [&](const OfThread& thread) { bytes += thread.pages != nullptr ? thread.pages->memory_bytes() : 0; });
    return bytes;
}

void WindowCache::invalidate() {
    begin_epoch(epoch_);
    for_each_thread([](OfThread& thread) { begin_epoch(thread.epoch); });
}

bool WindowCache::get(Rank target, Offset offset, std::span<std::byte> destination) {
    if (destination.size() == 8 && offset.bytes % 8 == 0) {
        if (const auto* value = hot_pages_.mine().find<std::uint64_t>(target.value, offset.bytes)) {
            std::memcpy(destination.data(), value, 8);
            return true;
        }
    }
    return through_cache([&](OfThread& own) {
        if (!advised_.reads.empty()) [[unlikely]]
            ask_for_recorded(own);
        own.pages->get(target, offset, destination);
    });
}

void WindowCache::ask_for_recorded(OfThread& own) {
    const std::uint64_t epoch = (scope_ == CacheAcquire::rank ? epoch_ : own.epoch).load(std::memory_order_acquire);
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
    return through_cache([&](OfThread& own) { own.pages->put(target, offset, source); });
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

team::HeldWrites::Age WindowCache::look_at_held(team::HeldWrites::Clock::time_point now, bool under_way) noexcept {
    auto oldest = team::HeldWrites::Age::none;
    for_each_thread([&](OfThread& thread) {
        const bool any = under_way || thread.dirty_pages.load(std::memory_order_acquire) != 0;
        const std::lock_guard guard{thread.pages_mutex};
        const std::uint64_t writes = thread.pages != nullptr ? thread.pages->hot_pages().writes() : 0;
        oldest = std::max(oldest, thread.held.look(now, any, thread.writes_before + writes));
    });
    return oldest;
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
