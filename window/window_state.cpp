// Transfers of a window, their order and their completion.
#include "window/window_state.hpp"

#include "src/mpi/pieces.hpp"
#include "src/support/mpi_error.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing::window {
namespace {

using support::check_mpi;

/// Puts up to this size are copied, so that they need not wait for MPI to have read them.
constexpr std::size_t largest_staged_bytes = 512;
constexpr std::size_t staging_bytes = 16384;
/// So many small puts to one rank are cheaper in messages than in MPI's one-sided operations, which need no second flush.
constexpr std::size_t least_runs_by_messages = 16;

} // namespace

std::string WindowState::label() const {
    if (!name_.empty()) return fmt::format("Window(\"{}\")", name_);
    return number_ == 0 ? "Window" : fmt::format("Window(#{})", number_);
}

std::string WindowState::who(const char* call) const { return fmt::format("{}: {}.{}", state_.who(), label(), call); }

void WindowState::throw_transfer_error(int code, const char* mpi_call, const char* call, int target,
                                       std::uint64_t offset) const {
    support::throw_mpi_error(code, mpi_call, fmt::format("{} at offset {} of rank {}", who(call), offset, target));
}

Path WindowState::path(int target) const noexcept {
    if (target == map_.own_rank) return Path::self;
    return map_.base(target) != nullptr ? Path::direct : network_;
}

// ---- order and completion -------------------------------------------------------------------------------------------

void WindowState::wait(messages::Operation& operation, const char* call, int target) {
    try {
        state_.wait_until([&] { return operation.done(); }, call, target);
    } catch (...) {
        state_.engine().abandon(operation);
        throw;
    }
}

void WindowState::complete_before(int target, std::uint64_t offset, std::uint64_t bytes, bool write) {
    bool conflict = false;
    bool full = false;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        conflict = outstanding_.conflicts(target, offset, bytes, write) ||
                   (adds_may_be_overtaken() && sent_adds_.conflicts(target, offset, bytes, true));
        full = outstanding_.full();
    }
    if (conflict) {
        statistics_.add(Counter::conflicts);
        complete_started(target);
    } else if (full) {
        complete_started();
    }
}

void WindowState::remove(WindowTransfer& transfer) noexcept {
    const support::BiasedMutex::Guard guard{mutex_};
    if (transfer.is_linked()) transfers_.erase(transfers_.iterator_to(transfer));
    outstanding_.finish_read(&transfer);
}

void WindowState::end_transfers(void (WindowTransfer::*end)()) {
    chunked_transfers_.discard(); // before those that they consist of
    for (;;) {
        WindowTransfer* transfer = nullptr;
        {
            const support::BiasedMutex::Guard guard{mutex_};
            if (transfers_.empty()) return;
            transfer = &transfers_.front();
            transfers_.pop_front();
        }
        (transfer->*end)();
    }
}

void WindowState::finish_flush(int target, messages::Engine::FlushTicket ticket) {
    if (state_.engine().flushed(target, ticket)) return;
    statistics_.add(Counter::service_flushes);
    state_.wait_until([&] { return state_.engine().flushed(target, ticket); }, "Window::flush", target);
}

void WindowState::flush_all_service() {
    std::vector<int> targets = state_.engine().busy_targets();
    if (state_.broken()) {
        // What a rank that left will not acknowledge any more may be no access of this window: the news of a departure.
        const support::BiasedMutex::Guard guard{mutex_};
        std::erase_if(targets, [this](int target) {
            return !outstanding_.touches(target) && !sent_adds_.touches(target) && state_.has_left(target);
        });
    }
    flush_service(targets);
}

void WindowState::flush_service(std::span<const int> targets) {
    // Start all before waiting for the first.
    std::vector<messages::Engine::FlushTicket> tickets;
    for (const int target : targets) tickets.push_back(state_.engine().start_flush(target));
    for (std::size_t i = 0; i < targets.size(); ++i)
        state_.wait_until([&] { return state_.engine().flushed(targets[i], tickets[i]); }, "Window::flush", targets[i]);
    statistics_.add(Counter::service_flushes);
}

void WindowState::complete_sent_adds() {
    std::vector<int> targets;
    Versions reached;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        sent_adds_.for_each_written_rank([&](int target) { targets.push_back(target); });
        reached = versions();
    }
    // What a rank that left will not acknowledge is told by the next release, and keeps nobody from adding elsewhere.
    if (state_.broken()) std::erase_if(targets, [this](int target) { return state_.has_left(target); });
    flush_service(targets);
    const support::BiasedMutex::Guard guard{mutex_};
    for (const int target : targets) sent_adds_.complete(target, reached.adds);
}

template <class Step>
inline void WindowState::with_lost_adds(const char* call, Step&& step) {
    try {
        step();
    } catch (const PeerLeftError&) { // says less
        if (adds_.any_lost()) throw_lost_adds(call);
        throw;
    }
    if (adds_.any_lost()) [[unlikely]]
        throw_lost_adds(call);
}

void WindowState::throw_lost_adds(const char* call) {
    throw PeerLeftError{fmt::format("{}: {} could not be delivered, because the rank left the team; those to others "
                                    "have been sent; see that rank's error",
                                    who(call), adds_.take_lost())};
}

void WindowState::flush(int target) {
    state_.serve_now_and_then();
    if (!adds_.empty()) adds_.send(target); // first: cached writes to their bytes come after them
    with_lost_adds("flush", [&] {
        if (cache_ != nullptr) cache_->write_back(target);
        complete(target);
    });
    if (cache_ != nullptr) cache_->acquire();
}

void WindowState::flush() {
    state_.serve_now_and_then();
    release_all("flush");
    if (cache_ != nullptr) cache_->acquire();
}

void WindowState::release() {
    state_.check_usable("Window::release");
    state_.serve_now_and_then();
    release_all("release");
}

void WindowState::release_all(const char* call) {
    if (!adds_.empty()) adds_.send(); // first: cached writes to their bytes come after them
    with_lost_adds(call, [&] {
        if (cache_ != nullptr) cache_->write_back();
        complete();
    });
    order_memory();
}

void WindowState::start_release() {
    if (!adds_.empty()) adds_.send(); // first, as above
    if (cache_ != nullptr) with_lost_adds("release", [&] { cache_->write_back(); });
}

void WindowState::finish_release() {
    with_lost_adds("release", [&] { complete(); });
}

void WindowState::drop_copies() {
    if (cache_ != nullptr) cache_->acquire();
}

void WindowState::complete(int target) {
    state_.check_usable("Window::flush");
    if (!chunked_transfers_.empty()) [[unlikely]] chunked_transfers_.finish(target);
    complete_started(target);
}

void WindowState::complete() {
    state_.check_usable("Window::flush");
    if (!chunked_transfers_.empty()) [[unlikely]] chunked_transfers_.finish();
    complete_started();
}

void WindowState::complete_started(int target) {
    if (!messages_under_way()) [[likely]] {
        if (!outstanding_.empty()) {
            const support::BiasedMutex::Guard guard{mutex_};
            if (outstanding_.touches(target)) {
                flush_rma(target);
                forget(target, versions());
            }
        }
    } else {
        support::BiasedMutex::Guard guard{mutex_};
        const Versions reached = versions(); // what another thread starts later may not be complete
        const bool by_window = outstanding_.touches_by_window(target);
        guard.unlock();
        // Both are under way at a time.
        const messages::Engine::FlushTicket ticket = state_.engine().start_flush(target);
        if (by_window) {
            guard.lock();
            flush_rma(target);
            guard.unlock();
        }
        finish_flush(target, ticket);
        guard.lock();
        forget(target, reached);
    }
    // Release and acquire, for what that rank and this one do with each other's memory. Where it is not shared, MPI or the
    // owner's engine moves the bytes, and the processor need only keep its accesses on their side of the flush.
    if (map_.base(target) != nullptr) order_memory();
    else std::atomic_thread_fence(std::memory_order_acq_rel);
}

void WindowState::flush_rma(int target) {
    if (network_ != Path::rma) return;
    const team::TeamState::WaitingInMpi waiting{state_};
    check_transfer(MPI_Win_flush(target, remote_), "MPI_Win_flush", "flush", target, 0);
    statistics_.add(Counter::rma_flushes);
}

void WindowState::flush_rma() {
    if (network_ != Path::rma) return;
    // One target after the other, though their operations are all under way: MPICH 4.0.2 over UCX returns from
    // MPI_Win_flush_all before it has even read the origin's memory of all puts, when there are several targets. Open MPI's
    // works, and saves its component for messages a round trip a target.
#ifdef OPEN_MPI
    int ranks = 0;
    outstanding_.for_each_rank_by_window([&](int) { ++ranks; });
    if (ranks > 1) {
        check_mpi(MPI_Win_flush_all(remote_), "MPI_Win_flush_all", state_.who());
        return statistics_.add(Counter::rma_flushes);
    }
#endif
    outstanding_.for_each_rank_by_window([&](int target) { flush_rma(target); });
}

void WindowState::complete_started() {
    if (!outstanding_.empty() || messages_under_way()) {
        support::BiasedMutex::Guard guard{mutex_};
        flush_rma();
        const Versions reached = versions(); // what another thread starts later may not be complete
        if (messages_under_way() && state_.engine().busy()) {
            guard.unlock();
            flush_all_service();
            guard.lock();
        }
        forget(any_rank, reached);
    }
}

void WindowState::forget(int target, Versions versions) noexcept {
    if (target == any_rank) {
        outstanding_.complete(versions.transfers);
        sent_adds_.complete(versions.adds);
        if (messages_complete_.load(std::memory_order_relaxed) < versions.messages)
            messages_complete_.store(versions.messages, std::memory_order_release);
    } else {
        outstanding_.complete(target, versions.transfers);
        if (!sent_adds_.empty()) sent_adds_.complete(target, versions.adds);
    }
    if (outstanding_.empty()) staged_ = 0;
}

void WindowState::acquire() {
    state_.check_usable("Window::acquire");
    state_.serve_looks();
    order_memory();
    if (cache_ != nullptr) cache_->acquire();
}

void WindowState::order_memory() {
    // Sequentially consistent: of two ranks that store, flush and load what the other stores, one must see it.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // MPI's public and private copies are one (MPI_WIN_UNIFIED), but MPI still asks for this call between stores of one
    // process and loads of another in shared memory (MPI 3.1, section 11.7.3), and between this rank's accesses to its own
    // part and those that others make to it through MPI.
    if (shared_ != MPI_WIN_NULL) check_mpi(MPI_Win_sync(shared_), "MPI_Win_sync", state_.who());
    if (remote_ != MPI_WIN_NULL && remote_ != shared_) check_mpi(MPI_Win_sync(remote_), "MPI_Win_sync", state_.who());
}

// ---- put and get ----------------------------------------------------------------------------------------------------

template <class Piece>
[[gnu::always_inline]] inline void WindowState::for_each_rma_piece(int target, std::uint64_t offset, std::uint64_t bytes,
                                                                   Piece piece) {
    const MPI_Aint at = *displacement(target, offset);
    if (bytes <= mpi::largest_piece_bytes) [[likely]]
        return piece(0, static_cast<int>(bytes), at);
    // Only windows whose displacements count bytes get here: see by_rma().
    mpi::for_each_piece(bytes, [&](std::uint64_t begin, int size) { piece(begin, size, at + static_cast<MPI_Aint>(begin)); });
}

inline void WindowState::start_rma_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    for_each_rma_piece(target, offset, destination.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        check_transfer(MPI_Get(destination.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_), "MPI_Get", "get",
                       target, offset);
    });
}

inline void WindowState::start_rma_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    for_each_rma_piece(target, offset, source.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        check_transfer(MPI_Put(source.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_), "MPI_Put", "put",
                       target, offset);
    });
}

inline bool WindowState::finish_locally(int target) {
#ifdef OPEN_MPI
    const bool local = state_.progress_mode() == ProgressMode::caller; // the cheaper call over TCP
#else
    constexpr bool local = false; // MPICH 4.0.2 returns from it before the data has moved when several threads are at work
#endif
    const team::TeamState::WaitingInMpi waiting{state_};
    check_mpi(local ? MPI_Win_flush_local(target, remote_) : MPI_Win_flush(target, remote_),
              local ? "MPI_Win_flush_local" : "MPI_Win_flush", state_.who());
    return !local;
}

inline void WindowState::rma_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    keep_awake(target);
    start_rma_get(target, offset, destination);
    finish_locally(target);
    statistics_.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
}

inline const std::byte* WindowState::stage(std::span<const std::byte> source) {
    if (staged_ + source.size() > staging_.size()) [[unlikely]] {
        if (staging_.empty()) staging_.resize(staging_bytes); // many windows never need it: those of locks
        else flush_rma();
        staged_ = 0;
    }
    std::byte* const copy = staging_.data() + staged_;
    if (source.size() == 8) std::memcpy(copy, source.data(), 8); // the most common size without a call
    else std::memcpy(copy, source.data(), source.size());
    staged_ += (source.size() + 7) / 8 * 8;
    return copy;
}

inline void WindowState::rma_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    keep_awake(target);
    {
        const support::BiasedMutex::Guard guard{mutex_};
        const bool staged = source.size() <= largest_staged_bytes;
        const std::byte* const from = staged ? stage(source) : source.data();
        outstanding_.add_write(target, offset, source.size(), Carrier::window);
        start_rma_put(target, offset, {from, source.size()});
        // Complete at the target, too, with what went there before it; unless messages did.
        if (!staged && finish_locally(target) && !messages_under_way())
            forget(target, versions());
    }
    statistics_.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
}

void WindowState::get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return;
    if (cache_ != nullptr) return cache_->get(target, offset, destination);
    get_uncached(target, offset, destination);
}

void WindowState::put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return;
    if (cache_ != nullptr) return cache_->put(target, offset, source);
    put_uncached(target, offset, source);
}

void WindowState::get_uncached(int target, std::uint64_t offset, std::span<std::byte> destination) {
    begin_access(target, offset, destination.size(), false, "Window::get");
    if (by_rma(target, offset, destination.size())) [[likely]]
        rma_get(target, offset, destination);
    else
        service_get(target, offset, destination);
}

void WindowState::put_uncached(int target, std::uint64_t offset, std::span<const std::byte> source) {
    begin_access(target, offset, source.size(), true, "Window::put");
    if (by_rma(target, offset, source.size())) [[likely]]
        rma_put(target, offset, source);
    else
        service_put(target, offset, source, 0);
}

void WindowState::put_runs_uncached(int target, std::span<const DirtyRun> runs) {
    // MPI's puts of more than fits the stage are waited for one by one.
    const bool staged = std::ranges::all_of(runs, [](const DirtyRun& run) { return run.bytes <= largest_staged_bytes; });
    if (network_ != Path::rma || (staged && runs.size() < least_runs_by_messages)) {
        for (const DirtyRun& run : runs) put_uncached(target, run.offset, {run.source, run.bytes});
        return;
    }
    // Many of them fit one message to the owner's progress thread, while MPI sends each put by itself: in MPICH over TCP a
    // put costs 5 us. They are looked for among what is under way before the first of them is, which they do not overlap.
    for (const DirtyRun& run : runs) begin_access(target, run.offset, run.bytes, true, "Window::put");
    for (const DirtyRun& run : runs) {
        if (outstanding_.full()) complete();
        if (run.bytes <= state_.engine().inline_limit()) service_put(target, run.offset, {run.source, run.bytes}, 0);
        else put_uncached(target, run.offset, {run.source, run.bytes});
    }
}

void WindowState::service_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    messages::Operation operation;
    operation.destination = destination.data();
    start([&] { return state_.engine().try_get(operation, target, number_, offset, destination.size(), true); }, "Window::get",
          target);
    wait(operation, "Window::get", target);
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
}

bool WindowState::try_service_put(messages::Operation& operation, int target, std::uint64_t offset, std::span<const std::byte> source,
                                  std::uint32_t counter_plus_one) {
    // Messages of a pair of ranks stay in order by themselves; bulk data moves on its own, and MPI's operations pass both.
    const bool may_be_overtaken = network_ == Path::rma || source.size() > state_.engine().inline_limit();
    support::BiasedMutex::Guard guard{mutex_, std::defer_lock};
    if (may_be_overtaken) guard.lock();
    if (!state_.engine().try_put(operation, target, number_, offset, source.data(), source.size(), counter_plus_one)) return false;
    note_message();
    if (may_be_overtaken && !source.empty()) outstanding_.add_write(target, offset, source.size(), Carrier::messages);
    return true;
}

void WindowState::service_put(int target, std::uint64_t offset, std::span<const std::byte> source,
                              std::uint32_t counter_plus_one) {
    messages::Operation operation;
    start([&] { return try_service_put(operation, target, offset, source, counter_plus_one); }, "Window::put", target);
    wait(operation, "Window::put", target);
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, source.size());
}

bool WindowState::try_service_get(ServiceTransfer& transfer, int target, std::uint64_t offset, std::uint64_t bytes, bool tracked) {
    const bool may_be_overtaken = tracked && (network_ == Path::rma || bytes > state_.engine().inline_limit());
    const support::BiasedMutex::Guard guard{mutex_};
    if (!state_.engine().try_get(transfer.operation(), target, number_, offset, bytes, false)) return false;
    note_message();
    transfers_.push_back(transfer);
    if (may_be_overtaken) outstanding_.add_read(target, offset, bytes, &transfer, Carrier::messages);
    return true;
}

template <class Start>
std::unique_ptr<RmaTransfer> WindowState::start_rma_transfer(int target, std::uint64_t offset, std::uint64_t bytes, bool write,
                                                             bool tracked, Start&& start) {
    keep_awake(target);
    auto transfer = std::make_unique<RmaTransfer>(*this, target);
    const support::BiasedMutex::Guard guard{mutex_};
    transfers_.push_back(*transfer);
    if (write) outstanding_.add_write(target, offset, bytes, Carrier::window);
    else if (tracked) outstanding_.add_read(target, offset, bytes, transfer.get(), Carrier::window);
    for_each_rma_piece(target, offset, bytes, [&](std::uint64_t begin, int size, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        start(begin, size, at, &request);
        transfer->add(request);
    });
    return transfer;
}

Completion WindowState::start_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return {};
    if (cache_ != nullptr) cache_->before_read(target, offset, destination.size());
    return Completion{begin_get(target, offset, destination, Starter::program)};
}

Completion WindowState::start_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return {};
    if (cache_ != nullptr) cache_->before_write(target, offset, source.size());
    return Completion{begin_put(target, offset, source, Starter::program)};
}

std::unique_ptr<PendingTransfer> WindowState::begin_get(int target, std::uint64_t offset, std::span<std::byte> destination,
                                                        Starter starter) {
    const bool tracked = starter == Starter::program;
    begin_access(target, offset, destination.size(), false, "Window::start_get");
    if (by_rma(target, offset, destination.size())) {
        const auto start_piece = [&](std::uint64_t begin, int size, MPI_Aint at, MPI_Request* request) {
            check_transfer(MPI_Rget(destination.data() + begin, size, MPI_BYTE, target, at, size, MPI_BYTE, remote_, request),
                           "MPI_Rget", "start_get", target, offset);
        };
        auto transfer = start_rma_transfer(target, offset, destination.size(), false, tracked, start_piece);
        statistics_.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
        return transfer;
    }
    auto transfer = std::make_unique<ServiceTransfer>(*this, target);
    transfer->operation().destination = destination.data();
    start([&] { return try_service_get(*transfer, target, offset, destination.size(), tracked); }, "Window::start_get", target);
    nudge_progress(destination.size(), starter);
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return transfer;
}

std::unique_ptr<PendingTransfer> WindowState::begin_put(int target, std::uint64_t offset, std::span<const std::byte> source,
                                                        Starter starter) {
    const bool rma = by_rma(target, offset, source.size());
    begin_access(target, offset, source.size(), true, "Window::start_put");
    if (source.size() <= (rma ? largest_staged_bytes : state_.engine().inline_limit())) { // copied: complete at once
        rma ? rma_put(target, offset, source) : service_put(target, offset, source, 0);
        return {};
    }
    if (rma) {
        auto transfer = start_rma_transfer(
            target, offset, source.size(), true, true, [&](std::uint64_t begin, int bytes, MPI_Aint at, MPI_Request* request) {
                check_transfer(MPI_Rput(source.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_, request),
                               "MPI_Rput", "start_put", target, offset);
            });
        statistics_.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
        return transfer;
    }
    auto transfer = std::make_unique<ServiceTransfer>(*this, target);
    start(
        [&] {
            if (!try_service_put(transfer->operation(), target, offset, source, 0)) return false;
            const support::BiasedMutex::Guard guard{mutex_};
            transfers_.push_back(*transfer);
            return true;
        },
        "Window::start_put", target);
    nudge_progress(source.size(), starter);
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, source.size());
    return transfer;
}

} // namespace lapwing::window
