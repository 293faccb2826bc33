// Transfers of a window, their order and their completion.
#include "window/window_state.hpp"

#include "src/support/mpi_error.hpp"
#include "window/pending_transfer.hpp"
#include "window/progress/pieces.hpp"

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace lapwing::window {
namespace {

using support::check_mpi;

/// Puts up to this size are copied, so that they need not wait for MPI to have read them.
constexpr std::size_t largest_staged_bytes = 512;

/// A non-blocking transfer through MPI.
class RmaTransfer final : public PendingTransfer {
public:
    explicit RmaTransfer(TeamState& team) : team_{team} {}
    void add(MPI_Request request) { requests_.push_back(request); }

    bool test() override {
        int done = 0;
        check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall",
                  team_.who());
        if (done == 0) team_.progress();
        return done != 0;
    }
    void wait() override {
        team_.wait_until([this] { return test(); }, "Completion::wait");
    }

private:
    TeamState& team_; ///< not the window, which may be closed first: that completes the transfer
    boost::container::small_vector<MPI_Request, 2> requests_;
};

/// A non-blocking transfer through the owner's progress thread.
class ServiceTransfer final : public PendingTransfer {
public:
    ServiceTransfer(TeamState& team, int target) : team_{team}, target_{target} {}
    ~ServiceTransfer() override {
        if (!operation_.done()) team_.engine().abandon(operation_); // after a wait that threw
    }
    [[nodiscard]] Operation& operation() noexcept { return operation_; }

    bool test() override {
        if (!operation_.done()) team_.progress();
        return operation_.done();
    }
    void wait() override {
        team_.wait_until([this] { return operation_.done(); }, "Completion::wait", target_);
    }

private:
    TeamState& team_; ///< not the window, which may be closed first: that completes the transfer
    int target_;
    Operation operation_;
};

} // namespace

std::string WindowState::who(const char* call) const {
    return fmt::format("{}: Window(\"{}\").{}", state_.who(), name_, call);
}

Path WindowState::path(int target) const noexcept {
    if (target == map_.own_rank) return Path::self;
    return map_.base(target) != nullptr ? Path::direct : network_;
}

// ---- order and completion -------------------------------------------------------------------------------------------

void WindowState::wait(Operation& operation, const char* call, int target) {
    try {
        state_.wait_until([&] { return operation.done(); }, call, target);
    } catch (...) {
        state_.engine().abandon(operation);
        throw;
    }
}

void WindowState::complete_conflicting(int target, std::uint64_t offset, std::uint64_t bytes, bool write) {
    bool conflict = false;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        conflict = outstanding_.conflicts(target, offset, bytes, write);
    }
    if (!conflict) return;
    statistics_.add(Counter::conflicts);
    flush(target);
}

void WindowState::flush_service(int target) {
    const Engine::FlushTicket ticket = state_.engine().start_flush(target);
    if (state_.engine().flushed(target, ticket)) return;
    statistics_.add(Counter::service_flushes);
    state_.wait_until([&] { return state_.engine().flushed(target, ticket); }, "Window::flush", target);
}

void WindowState::flush_all_service() {
    // Start all before waiting for the first.
    const std::vector<int> targets = state_.engine().busy_targets();
    std::vector<Engine::FlushTicket> tickets;
    for (const int target : targets) tickets.push_back(state_.engine().start_flush(target));
    for (std::size_t i = 0; i < targets.size(); ++i)
        state_.wait_until([&] { return state_.engine().flushed(targets[i], tickets[i]); }, "Window::flush", targets[i]);
    statistics_.add(Counter::service_flushes);
}

void WindowState::flush(int target) {
    if (!messages_used_.load(std::memory_order_relaxed)) [[likely]] {
        if (!outstanding_.empty()) {
            const support::BiasedMutex::Guard guard{mutex_};
            flush_rma(target);
            forget(target);
        }
    } else {
        support::BiasedMutex::Guard guard{mutex_};
        flush_rma(target);
        const std::uint64_t version = outstanding_.version();
        guard.unlock();
        flush_service(target);
        guard.lock();
        // What another thread has started since may not be complete.
        if (version == outstanding_.version()) forget(target);
    }
    order_stores();
}

void WindowState::flush_rma(int target) {
    if (network_ != Path::rma || !outstanding_.touches(target)) return;
    check_mpi(MPI_Win_flush(target, remote_), "MPI_Win_flush", state_.who());
    statistics_.add(Counter::rma_flushes);
}

void WindowState::flush() {
    if (!outstanding_.empty() || messages_used_.load(std::memory_order_relaxed)) {
        support::BiasedMutex::Guard guard{mutex_};
        if (network_ == Path::rma && !outstanding_.empty()) {
            if (const int only = outstanding_.only_rank(); only >= 0)
                check_mpi(MPI_Win_flush(only, remote_), "MPI_Win_flush", state_.who());
            else
                check_mpi(MPI_Win_flush_all(remote_), "MPI_Win_flush_all", state_.who());
            statistics_.add(Counter::rma_flushes);
        }
        const std::uint64_t version = outstanding_.version();
        if (messages_used_.load(std::memory_order_relaxed) && state_.engine().busy()) {
            guard.unlock();
            flush_all_service();
            guard.lock();
        }
        // What another thread has started since may not be complete.
        if (version == outstanding_.version()) forget(any_rank);
    }
    order_stores();
}

void WindowState::forget(int target) {
    if (target == any_rank) outstanding_.clear();
    else outstanding_.clear(target);
    if (outstanding_.empty()) staged_ = 0;
}

void WindowState::release() {
    flush();
    // MPI's public and private copies are one (MPI_WIN_UNIFIED), but MPI still asks for this call between stores of one
    // process and loads of another in shared memory (MPI 3.1, section 11.7.3).
    if (shared_ != MPI_WIN_NULL) check_mpi(MPI_Win_sync(shared_), "MPI_Win_sync", state_.who());
}

void WindowState::acquire() {
    std::atomic_thread_fence(std::memory_order_seq_cst); // no later load may have been made before
    if (shared_ != MPI_WIN_NULL) check_mpi(MPI_Win_sync(shared_), "MPI_Win_sync", state_.who());
    // The same for bytes of this rank that others have put.
    if (remote_ != MPI_WIN_NULL && remote_ != shared_) check_mpi(MPI_Win_sync(remote_), "MPI_Win_sync", state_.who());
}

// ---- put and get ----------------------------------------------------------------------------------------------------

template <class Piece>
void WindowState::for_each_rma_piece(int target, std::uint64_t offset, std::uint64_t bytes, Piece piece) {
    const MPI_Aint at = *displacement(target, offset);
    if (bytes <= largest_piece_bytes) [[likely]]
        return piece(0, static_cast<int>(bytes), at);
    // Only windows whose displacements count bytes get here: see by_rma().
    for_each_piece(bytes, [&](std::uint64_t begin, int size) { piece(begin, size, at + static_cast<MPI_Aint>(begin)); });
}

inline void WindowState::start_rma_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    for_each_rma_piece(target, offset, destination.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        check_mpi(MPI_Get(destination.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_), "MPI_Get",
                  state_.who());
    });
}

inline void WindowState::start_rma_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    for_each_rma_piece(target, offset, source.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        check_mpi(MPI_Put(source.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_), "MPI_Put",
                  state_.who());
    });
}

inline void WindowState::finish_locally(int target) {
    // Local completion is the cheaper call in Open MPI over TCP. But with several threads at work MPICH 4.0.2 returns from it
    // before the data has moved.
    const bool local = state_.progress_mode() == ProgressMode::caller;
    if (target != any_rank) [[likely]]
        check_mpi(local ? MPI_Win_flush_local(target, remote_) : MPI_Win_flush(target, remote_),
                  local ? "MPI_Win_flush_local" : "MPI_Win_flush", state_.who());
    else
        check_mpi(local ? MPI_Win_flush_local_all(remote_) : MPI_Win_flush_all(remote_),
                  local ? "MPI_Win_flush_local_all" : "MPI_Win_flush_all", state_.who());
}

inline void WindowState::rma_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    state_.keep_awake(target);
    start_rma_get(target, offset, destination);
    finish_locally(target);
    statistics_.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
}

inline const std::byte* WindowState::stage(std::span<const std::byte> source) {
    if (staged_ + source.size() > staging_.size()) [[unlikely]] {
        finish_locally(any_rank);
        staged_ = 0;
    }
    std::byte* const copy = staging_.data() + staged_;
    if (source.size() == 8) std::memcpy(copy, source.data(), 8); // the most common size without a call
    else std::memcpy(copy, source.data(), source.size());
    staged_ += (source.size() + 7) / 8 * 8;
    return copy;
}

inline void WindowState::rma_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    state_.keep_awake(target);
    {
        const support::BiasedMutex::Guard guard{mutex_};
        const bool staged = source.size() <= largest_staged_bytes;
        const std::byte* const from = staged ? stage(source) : source.data();
        outstanding_.add(target, offset, source.size(), true);
        start_rma_put(target, offset, {from, source.size()});
        if (!staged) finish_locally(target);
    }
    statistics_.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
}

void WindowState::get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return;
    begin_access(target, offset, destination.size(), false, "Window::get");
    if (by_rma(target, offset, destination.size())) [[likely]]
        rma_get(target, offset, destination);
    else
        service_get(target, offset, destination);
}

void WindowState::put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return;
    begin_access(target, offset, source.size(), true, "Window::put");
    if (by_rma(target, offset, source.size())) [[likely]]
        rma_put(target, offset, source);
    else
        service_put(target, offset, source, 0);
}

void WindowState::service_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    messages_used_.store(true, std::memory_order_relaxed);
    Operation operation;
    operation.destination = destination.data();
    start([&] { return state_.engine().try_get(operation, target, number_, offset, destination.size(), true); }, "Window::get",
          target);
    wait(operation, "Window::get", target);
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
}

bool WindowState::try_service_put(Operation& operation, int target, std::uint64_t offset, std::span<const std::byte> source,
                                  std::uint32_t counter_plus_one) {
    messages_used_.store(true, std::memory_order_relaxed);
    // Messages of a pair of ranks stay in order by themselves; bulk data moves on its own, and MPI's operations pass both.
    const bool passed = network_ == Path::rma || source.size() > state_.engine().inline_limit();
    support::BiasedMutex::Guard guard{mutex_, std::defer_lock};
    if (passed) guard.lock();
    if (!state_.engine().try_put(operation, target, number_, offset, source.data(), source.size(), counter_plus_one)) return false;
    if (passed && !source.empty()) outstanding_.add(target, offset, source.size(), true);
    return true;
}

void WindowState::service_put(int target, std::uint64_t offset, std::span<const std::byte> source,
                              std::uint32_t counter_plus_one) {
    Operation operation;
    start([&] { return try_service_put(operation, target, offset, source, counter_plus_one); }, "Window::put", target);
    wait(operation, "Window::put", target);
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, source.size());
}

bool WindowState::try_service_get(Operation& operation, int target, std::uint64_t offset, std::uint64_t bytes) {
    messages_used_.store(true, std::memory_order_relaxed);
    const bool passed = network_ == Path::rma || bytes > state_.engine().inline_limit();
    support::BiasedMutex::Guard guard{mutex_, std::defer_lock};
    if (passed) guard.lock();
    if (!state_.engine().try_get(operation, target, number_, offset, bytes, false)) return false;
    if (passed) outstanding_.add(target, offset, bytes, false);
    return true;
}

Completion WindowState::start_get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    if (destination.empty()) return {};
    begin_access(target, offset, destination.size(), false, "Window::start_get");
    if (by_rma(target, offset, destination.size())) {
        state_.keep_awake(target);
        auto transfer = std::make_unique<RmaTransfer>(state_);
        const support::BiasedMutex::Guard guard{mutex_};
        outstanding_.add(target, offset, destination.size(), false);
        for_each_rma_piece(target, offset, destination.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Rget(destination.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_, &request),
                      "MPI_Rget", state_.who());
            transfer->add(request);
        });
        statistics_.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
        return Completion{std::move(transfer)};
    }
    auto transfer = std::make_unique<ServiceTransfer>(state_, target);
    Operation& operation = transfer->operation();
    operation.destination = destination.data();
    start([&] { return try_service_get(operation, target, offset, destination.size()); }, "Window::start_get", target);
    ProgressThread::instance().nudge();
    statistics_.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return Completion{std::move(transfer)};
}

Completion WindowState::start_put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    if (source.empty()) return {};
    const bool rma = by_rma(target, offset, source.size());
    if (source.size() <= (rma ? largest_staged_bytes : state_.engine().inline_limit())) {
        put(target, offset, source); // copied: complete at once
        return {};
    }
    begin_access(target, offset, source.size(), true, "Window::start_put");
    if (rma) {
        state_.keep_awake(target);
        auto transfer = std::make_unique<RmaTransfer>(state_);
        const support::BiasedMutex::Guard guard{mutex_};
        outstanding_.add(target, offset, source.size(), true);
        for_each_rma_piece(target, offset, source.size(), [&](std::uint64_t begin, int bytes, MPI_Aint at) {
            MPI_Request request = MPI_REQUEST_NULL;
            check_mpi(MPI_Rput(source.data() + begin, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, remote_, &request),
                      "MPI_Rput", state_.who());
            transfer->add(request);
        });
        statistics_.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
        return Completion{std::move(transfer)};
    }
    auto transfer = std::make_unique<ServiceTransfer>(state_, target);
    Operation& operation = transfer->operation();
    start([&] { return try_service_put(operation, target, offset, source, 0); }, "Window::start_put", target);
    ProgressThread::instance().nudge();
    statistics_.add(Counter::service_puts, Counter::service_put_bytes, source.size());
    return Completion{std::move(transfer)};
}

} // namespace lapwing::window
