#include "window/access_order.hpp"

#include "src/support/first_problem.hpp"
#include "src/trace/interval_times.hpp"
#include "src/trace/recorder.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lapwing::detail::window {
namespace {

[[gnu::cold]] void throw_if_lost(const char* call, const transport::WindowFacts& facts, GatheredAdds& lost_adds,
                                 LostWrites& lost_writes) {
    std::string lost = lost_adds.take_lost();
    const std::string writes = lost_writes.take();
    if (lost.empty() && writes.empty()) return; // another thread has reported it meanwhile
    if (!lost.empty() && !writes.empty()) lost += ", ";
    throw PeerLeftError{
        fmt::format("{}: {} could not be delivered, because the rank left the team; what others are to get "
                    "has been sent; see that rank's error",
                    facts.who(call), lost + writes)};
}

} // namespace

// ---- before an access -----------------------------------------------------------------------------------------------

void AccessOrder::complete_entered_before(const transport::Access& access) {
    bool conflict = false;
    bool full = false;
    {
        const support::BiasedMutex::Guard guard{ledger_.mutex()};
        conflict = ledger_.conflicts(access) || ledger_.conflicts_with_adds(access);
        full = ledger_.full();
    }
    if (conflict) {
        facts_.statistics.add(Counter::conflicts);
        complete_started(access.target);
    } else if (full) {
        complete_started();
    }
}

transport::BegunAccess AccessOrder::begin(const transport::Access& whole, std::span<const mpi::ListedAtomic> values,
                                          std::uint64_t value_bytes) {
    enter(whole);
    for (const mpi::ListedAtomic& one : values)
        cache_before({.target = whole.target, .offset = one.offset, .bytes = value_bytes, .kind = whole.kind});
    complete_before(whole);
    return begun(whole);
}

// ---- adds -----------------------------------------------------------------------------------------------------------

void AccessOrder::add(const transport::Access& access, transport::AddKind kind, const void* operand) {
    enter(access);
    cache_before(access);
    held_.start();
    adds_.add(access.target, access.offset, kind, operand); // begins as send_adds()
}

AddSender::Limits AccessOrder::add_limits() const {
    return {.message = transports_.messages.inline_limit() / sizeof(messages::AddPayload),
            .bytes = add_memory(facts_.state.settings()),
            .ranks = static_cast<std::size_t>(facts_.state.size())};
}

void AccessOrder::send_adds(Rank target, transport::AddKind kind, std::uint64_t begin, std::uint64_t end,
                            std::span<const messages::AddPayload> adds) {
    const transport::Access access{target, begin, end - begin, transport::Access::Kind::update, "Window::add"};
    facts_.state.check_reachable(access.call, target);
    bool conflict = false;
    bool full = false;
    {
        const support::BiasedMutex::Guard guard{ledger_.mutex()};
        conflict = ledger_.conflicts(access);
        full = ledger_.full_of_adds();
    }
    if (conflict) {
        facts_.statistics.add(Counter::conflicts);
        complete_started(target);
    }
    if (full) complete_sent_adds();
    transports_.messages.adds(begun(access), kind, adds);
}

void AccessOrder::complete_sent_adds() {
    std::vector<Rank> targets;
    transport::AccessLedger::Versions reached;
    {
        const support::BiasedMutex::Guard guard{ledger_.mutex()};
        targets = ledger_.ranks_of_adds();
        reached = ledger_.versions();
    }
    // A rank that left does not acknowledge: the next release reports it. That does not keep anybody from adding
    // elsewhere.
    if (facts_.state.membership().broken())
        std::erase_if(targets, [this](Rank target) { return facts_.state.membership().has_left(target); });
    transports_.messages.flush(targets);
    const support::BiasedMutex::Guard guard{ledger_.mutex()};
    for (const Rank target : targets) ledger_.complete_adds(target, reached);
}

// ---- completion -----------------------------------------------------------------------------------------------------

template <class... Steps>
inline void AccessOrder::with_lost(const char* call, Steps&&... steps) {
    try {
        support::attempt_all(steps...);
    } catch (const PeerLeftError&) { // says less
        throw_if_lost(call, facts_, adds_, lost_);
        throw;
    }
    if (adds_.any_lost() || lost_.any()) throw_if_lost(call, facts_, adds_, lost_);
    if (held_.failed()) [[unlikely]]
        held_.rethrow();
}

void AccessOrder::flush(Rank target) {
    facts_.state.progress_driver().serve_now_and_then();
    const auto complete_target = [&] { complete(target); };
    if (adds_.empty() && cache_ == nullptr) [[likely]]
        with_lost("flush", complete_target);
    else
        with_lost(
            "flush",
            [&] { // first: cached writes to their bytes come after them
                if (!adds_.empty()) adds_.send(target);
            },
            [&] {
                if (cache_ != nullptr) cache_->write_back(target);
            },
            complete_target);
    drop_copies();
}

void AccessOrder::flush() {
    facts_.state.progress_driver().serve_now_and_then();
    release_all("flush");
    drop_copies();
}

void AccessOrder::release() {
    facts_.state.check_usable("Window::release");
    facts_.state.progress_driver().serve_now_and_then();
    release_all("release");
}

void AccessOrder::release_all(const char* call) {
    with_lost(
        call,
        [&] { // first: cached writes to their bytes come after them
            if (!adds_.empty()) adds_.send();
        },
        [&] {
            if (cache_ != nullptr) cache_->write_back();
        },
        [&] { complete(); });
    facts_.order_memory();
}

void AccessOrder::acquire() {
    facts_.state.check_usable("Window::acquire");
    if (trace::has_intervals()) [[unlikely]]
        trace::sequence_point();
    facts_.state.progress_driver().serve_looks();
    facts_.order_memory();
    drop_copies();
}

void AccessOrder::start_release() {
    with_lost(
        "release",
        [&] { // first, as above
            if (!adds_.empty()) adds_.send();
        },
        [&] {
            if (cache_ != nullptr) cache_->start_write_back();
        });
}

void AccessOrder::finish_release() {
    with_lost(
        "release",
        [&] {
            if (cache_ != nullptr) cache_->finish_write_back();
        },
        [&] { complete(); });
}

void AccessOrder::use_cache(RemoteCache* cache) {
    held_.stop(); // the flusher does not look at the cache while it comes or goes
    cache_ = cache;
    if (cache != nullptr) held_.start();
}

void AccessOrder::drop_copies() {
    if (cache_ != nullptr) cache_->acquire();
    copies_.acquired();
}

void AccessOrder::complete(Rank target) {
    facts_.state.check_usable("Window::flush");
    if (chunked_transfers_.empty()) [[likely]]
        return complete_started(target);
    support::attempt_all([&] { chunked_transfers_.finish(target); }, [&] { complete_started(target); });
}

void AccessOrder::complete() {
    facts_.state.check_usable("Window::flush");
    if (chunked_transfers_.empty()) [[likely]]
        return complete_started();
    support::attempt_all([&] { chunked_transfers_.finish(); }, [&] { complete_started(); });
}

void AccessOrder::complete_started(Rank target) {
    if (!ledger_.empty() || ledger_.messages_under_way()) {
        support::BiasedMutex::Guard guard{ledger_.mutex()};
        const transport::AccessLedger::Versions reached = ledger_.versions();
        // Asked under the mutex: a message of another thread that is in the ledger has been counted.
        if (!ledger_.messages_under_way()) [[likely]] {
            if (ledger_.outstanding().touches(target)) {
                transports_.rma.flush(target);
                ledger_.complete(target, reached);
            }
        } else {
            const bool by_window = ledger_.outstanding().touches_by_window(target);
            guard.unlock();
            // Both are under way at a time.
            const messages::Engine::FlushTicket ticket = transports_.messages.start_flush(target);
            if (by_window) {
                guard.lock();
                transports_.rma.flush(target);
                guard.unlock();
            }
            transports_.messages.finish_flush(target, ticket);
            guard.lock();
            ledger_.complete(target, reached);
            guard.unlock();
            transports_.messages.check_dropped("Window::flush");
        }
    }
    // Release and acquire, for the accesses of that rank and this one to each other's memory. Where memory is not
    // shared, MPI or the owner's engine moves the bytes, and the processor need only keep its accesses on their side of
    // the flush.
    if (facts_.map.base(target) != nullptr) facts_.order_memory();
    else std::atomic_thread_fence(std::memory_order_acq_rel);
}

void AccessOrder::complete_started() {
    if (ledger_.empty() && !ledger_.messages_under_way()) return;
    support::BiasedMutex::Guard guard{ledger_.mutex()};
    transports_.rma.flush();
    const transport::AccessLedger::Versions reached = ledger_.versions();
    if (ledger_.messages_under_way() && transports_.messages.busy()) {
        guard.unlock();
        // Operations to ranks that left are over, too; nobody who continues with other ranks is held up by them.
        for (const Rank target : transports_.messages.flush()) lost_.note_under_way(target);
        guard.lock();
    }
    ledger_.complete(transport::AccessLedger::any_rank, reached);
    guard.unlock();
    transports_.messages.check_dropped("Window::flush");
}

void AccessOrder::detach_transfers() {
    held_.stop();
    chunked_transfers_.discard(); // before those that they consist of
    ledger_.end_transfers(&transport::WindowTransfer::detach);
}

void AccessOrder::lose_transfers() noexcept {
    held_.stop();
    // First the parts of chunked transfers: a chunked transfer that ends, or a thread, must not go on waiting for them.
    ledger_.end_transfers(&transport::WindowTransfer::lose);
    chunked_transfers_.discard();
    ledger_.end_transfers(&transport::WindowTransfer::lose); // and what such a thread has started meanwhile
}

} // namespace lapwing::detail::window
