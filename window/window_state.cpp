#include "window/window_state.hpp"

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/atomics.hpp"
#include "window/pending_transfer.hpp"
#include "window/progress/pieces.hpp"
#include "window/team_registry.hpp"

#include <lapwing/error.hpp>

#include <boost/container/small_vector.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace lapwing::window {
namespace {

using support::check_mpi;

constexpr unsigned most_counters = 4096;
/// Atomics need 8; MPI promises no more than a cache line for its shared memory in practice.
constexpr unsigned least_alignment = 8;
constexpr unsigned most_alignment = 64;
/// Puts up to this size are copied, so that they need not wait for MPI to have read them.
constexpr std::size_t largest_staged_bytes = 512;

MPI_Datatype mpi_type(AtomicType type) {
    switch (type) {
    case AtomicType::int32: return MPI_INT32_T;
    case AtomicType::uint32: return MPI_UINT32_T;
    case AtomicType::int64: return MPI_INT64_T;
    case AtomicType::uint64: return MPI_UINT64_T;
    case AtomicType::float32: return MPI_FLOAT;
    case AtomicType::float64: return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

MPI_Op mpi_operation(AtomicOperation operation) {
    switch (operation) {
    case AtomicOperation::add: return MPI_SUM;
    case AtomicOperation::bit_and: return MPI_BAND;
    case AtomicOperation::bit_or: return MPI_BOR;
    case AtomicOperation::bit_xor: return MPI_BXOR;
    case AtomicOperation::min: return MPI_MIN;
    case AtomicOperation::max: return MPI_MAX;
    case AtomicOperation::replace: return MPI_REPLACE;
    case AtomicOperation::read: return MPI_NO_OP;
    }
    return MPI_OP_NULL;
}

bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_consume || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

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

// ---- creation and end -----------------------------------------------------------------------------------------------

WindowState::WindowState(Team& team, std::uint64_t bytes, WindowOptions options)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, counter_count_{options.notification_counters} {
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: Window: {} notification counters are more than the limit of {}", state_.who(),
                                     counter_count_, most_counters)};
    if (!std::has_single_bit(options.alignment) || options.alignment < least_alignment || options.alignment > most_alignment)
        throw RangeError{fmt::format("{}: Window: alignment {} is not a power of 2 in [{}, {}]", state_.who(), options.alignment,
                                     least_alignment, most_alignment)};
    // A rank that cannot have its part must not leave the others waiting: agree first. What the ranks of a node ask for
    // must fit together; summed in floating point, which does not overflow.
    const std::uint64_t limit = machine_memory_bytes();
    state_.barrier(CollectiveCall::window_create, {});
    auto node_bytes = static_cast<double>(bytes);
    auto memory = std::make_unique_for_overwrite<std::byte[]>(sizeof node_bytes);
    std::memcpy(memory.get(), &node_bytes, sizeof node_bytes);
    state_.complete(memory, "Window", [&](std::byte* sum) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, state_.topology().node_communicator(), &request),
                  "MPI_Iallreduce", state_.who());
        return request;
    });
    std::memcpy(&node_bytes, memory.get(), sizeof node_bytes);
    const auto counters = static_cast<std::int64_t>(counter_count_);
    const std::int64_t too_much = bytes > limit ? 2 : node_bytes > static_cast<double>(limit) ? 1 : 0;
    // One number that orders by how much too much, then by rank.
    const std::int64_t alignment = options.alignment;
    std::array<std::int64_t, 5> worst{too_much == 0 ? 0 : -(too_much << 32) - state_.rank(), counters, -counters, alignment,
                                      -alignment};
    team_.min(std::span{worst});
    if (worst[1] != -worst[2])
        throw MismatchError{fmt::format("{}: Window(\"{}\"): {} notification counters here and another number on another rank; "
                                        "pass the same on all ranks",
                                        state_.who(), name_, counter_count_)};
    if (worst[3] != -worst[4])
        throw MismatchError{fmt::format("{}: Window(\"{}\"): alignment {} here and another one on another rank; pass the same on "
                                        "all ranks",
                                        state_.who(), name_, alignment)};
    if (worst[0] != 0)
        throw RangeError{fmt::format("{}: Window(\"{}\"): {} bytes asked for here, and too many on rank {}{}: the limit is the "
                                     "memory of a machine ({} bytes here); ask for less or spread the data over more machines",
                                     state_.who(), name_, bytes, -worst[0] & 0xFFFFFFFF,
                                     worst[0] > -(std::int64_t{2} << 32) ? " together with the others of its node" : "", limit)};

    memory_ = std::make_unique<WindowMemory>(state_, bytes, options.alignment, counter_count_);
    number_ = state_.next_window_number();
    network_ = state_.network_path();
    remote_ = memory_->remote_window();
    shared_ = memory_->shared_window();
    plain_rma_ = network_ == Path::rma;
    mpi_atomics_ = network_ == Path::rma && !state_.avoids_mpi_atomics();
    map_.own = memory_->own();
    map_.own_bytes = bytes;
    map_.own_rank = state_.rank();
    map_.ranks = state_.size();
    const Topology& topology = state_.topology();
    map_.node_first = topology.members().front();
    map_.node_count = topology.node_size();
    map_.node_index = topology.is_run() ? nullptr : topology.index().data();
    map_.bases = memory_->bases().data();
    counters_ = memory_->counters(topology.node_rank());
    share_sizes();
    state_.engine().expose(number_, {map_.own, bytes, counters_, counter_count_});
    state_.add(*this);
    state_.barrier(CollectiveCall::window_create, {}); // nobody may ask before every rank has exposed its memory
}

WindowState::WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, adopted_{true},
      counter_count_{options.notification_counters}, own_counters_(options.notification_counters) {
    state_.require_open("Window::adopt");
    const std::string where = fmt::format("{}: Window::adopt(\"{}\")", state_.who(), name_);
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: {} notification counters are more than the limit of {}", where, counter_count_,
                                     most_counters)};
    if (window == MPI_WIN_NULL) throw UsageError{where + ": the window is MPI_WIN_NULL"};
    const auto attribute = [&](int key) {
        void* value = nullptr;
        int found = 0;
        check_mpi(MPI_Win_get_attr(window, key, &value, &found), "MPI_Win_get_attr", state_.who());
        return found != 0 ? value : nullptr;
    };
    const int flavor = *static_cast<int*>(attribute(MPI_WIN_CREATE_FLAVOR));
    const int model = *static_cast<int*>(attribute(MPI_WIN_MODEL));
    MPI_Group window_group = MPI_GROUP_NULL;
    MPI_Group team_group = MPI_GROUP_NULL;
    int relation = MPI_UNEQUAL;
    check_mpi(MPI_Win_get_group(window, &window_group), "MPI_Win_get_group", state_.who());
    MPI_Comm_group(state_.communicator(), &team_group);
    MPI_Group_compare(window_group, team_group, &relation);
    MPI_Group_free(&window_group);
    MPI_Group_free(&team_group);
    if (flavor == MPI_WIN_FLAVOR_DYNAMIC)
        throw UsageError{where + ": a dynamic window has no fixed memory; adopt a created, allocated or shared one"};
    if (model != MPI_WIN_UNIFIED)
        throw UsageError{where + ": its memory model is MPI_WIN_SEPARATE; only MPI_WIN_UNIFIED can be adopted"};
    if (relation != MPI_IDENT)
        throw UsageError{where + ": its ranks are not those of the team in the same order; make a team on the communicator that "
                                 "the window was made on"};
    state_.barrier(CollectiveCall::window_create, {});

    number_ = state_.next_window_number();
    remote_ = window;
    unit_ = *static_cast<int*>(attribute(MPI_WIN_DISP_UNIT));
    map_.own = static_cast<std::byte*>(attribute(MPI_WIN_BASE));
    map_.own_bytes = static_cast<std::uint64_t>(*static_cast<MPI_Aint*>(attribute(MPI_WIN_SIZE)));
    map_.own_rank = state_.rank();
    map_.ranks = state_.size();
    map_.node_first = state_.rank();
    map_.node_count = 1;
    network_ = state_.settings().text("LAPWING_PATH") == "service" ? Path::service : Path::rma;
    if (!locked) {
        check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all", state_.who());
        close_lock_ = true;
    }
    if (flavor == MPI_WIN_FLAVOR_SHARED && state_.topology().nodes() == 1) {
        // The only flavor whose node memory MPI tells reliably.
        for (int i = 0; i < state_.size(); ++i) {
            MPI_Aint size = 0;
            int unit = 0;
            std::byte* base = nullptr;
            check_mpi(MPI_Win_shared_query(window, i, &size, &unit, &base), "MPI_Win_shared_query", state_.who());
            bases_.push_back(base);
        }
        map_.node_first = 0;
        map_.node_count = state_.size();
        network_ = Path::direct;
        shared_ = window;
    } else {
        bases_.push_back(map_.own);
    }
    mpi_atomics_ = network_ == Path::rma && !state_.avoids_mpi_atomics();
    map_.bases = bases_.data();

    std::array<int, 2> extremes{unit_, -unit_};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_INT, MPI_MIN, state_.communicator()), "MPI_Allreduce",
              state_.who());
    if (extremes[0] != -extremes[1]) {
        units_.resize(static_cast<std::size_t>(state_.size()));
        check_mpi(MPI_Allgather(&unit_, 1, MPI_INT, units_.data(), 1, MPI_INT, state_.communicator()), "MPI_Allgather",
                  state_.who());
    }
    plain_rma_ = network_ == Path::rma && unit_ == 1 && units_.empty();
    share_sizes();
    counters_ = own_counters_.data();
    state_.engine().expose(number_, {map_.own, map_.own_bytes, counters_, counter_count_});
    state_.add(*this);
    state_.barrier(CollectiveCall::window_create, {});
}

WindowState::~WindowState() = default;

void WindowState::share_sizes() {
    std::array<std::int64_t, 2> extremes{static_cast<std::int64_t>(map_.own_bytes), -static_cast<std::int64_t>(map_.own_bytes)};
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_INT64_T, MPI_MIN, state_.communicator()), "MPI_Allreduce",
              state_.who());
    map_.uniform_bytes = map_.own_bytes;
    if (extremes[0] == -extremes[1]) return;
    sizes_.resize(static_cast<std::size_t>(state_.size()));
    check_mpi(MPI_Allgather(&map_.own_bytes, 1, MPI_UINT64_T, sizes_.data(), 1, MPI_UINT64_T, state_.communicator()),
              "MPI_Allgather", state_.who());
    map_.sizes = sizes_.data();
}

void WindowState::close() {
    if (TeamRegistry::mpi_ended())
        throw UsageError{fmt::format("{}: MPI is finalized already; close windows before MPI_Finalize", who("close"))};
    state_.barrier(CollectiveCall::window_close, {}); // completes the operations of all ranks
    state_.remove(*this);
    state_.statistics().add(statistics_.read());
    state_.engine().withdraw(number_);
    if (memory_ != nullptr) memory_->close();
    if (close_lock_) check_mpi(MPI_Win_unlock_all(remote_), "MPI_Win_unlock_all", state_.who());
}

void WindowState::end_with_scope(std::unique_ptr<WindowState> window) noexcept {
    std::string problem;
    if (std::uncaught_exceptions() == window->exceptions_at_start_ && !window->state_.left() && !window->state_.broken()) {
        try {
            window->close();
            return;
        } catch (const std::exception& error) {
            problem = error.what();
        }
        support::log_line(problem);
    }
    window->state_.remove(*window);
    TeamRegistry::instance().abandon(std::move(window)); // others may still reach its memory
}

void WindowState::check_atomic(int target, std::uint64_t offset, const char* call) const {
    if (mpi_atomics_ && !displacement(target, offset))
        throw RangeError{fmt::format("{}: offset {} is not a multiple of the displacement unit of the adopted window; atomics "
                                     "need one (make the window with displacement unit 1)",
                                     who(call), offset)};
}

std::string WindowState::who(const char* call) const {
    return fmt::format("{}: Window(\"{}\").{}", state_.who(), name_, call);
}

Path WindowState::path(int target) const noexcept {
    if (target == map_.own_rank) return Path::self;
    return map_.base(target) != nullptr ? Path::direct : network_;
}

// ---- order and completion -------------------------------------------------------------------------------------------

template <class Try>
void WindowState::start(Try&& attempt, const char* call, int target) {
    if (attempt()) return;
    state_.wait_until(attempt, call, target);
}

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

// ---- atomics --------------------------------------------------------------------------------------------------------

void WindowState::atomic_fetch(AtomicOperation operation, AtomicType type, int target, std::uint64_t offset,
                               const void* operand, void* result, std::memory_order order) {
    if (releases(order)) release();
    const bool unsigned_type = type == AtomicType::uint32 || type == AtomicType::uint64;
    const bool extreme = operation == AtomicOperation::min || operation == AtomicOperation::max;
    if (mpi_atomics_ && unsigned_type && extreme) {
        fetch_unsigned_extreme(operation, type, target, offset, operand, result);
    } else if (std::byte* const base = map_.base(target); base != nullptr && !mpi_atomics_) {
        processor_fetch(operation, type, base + offset, operand, result);
    } else {
        begin_access(target, offset, size_of(type), true, "Window::fetch");
        if (mpi_atomics_) {
            state_.keep_awake(target);
            check_mpi(MPI_Fetch_and_op(operand, result, mpi_type(type), target, *displacement(target, offset),
                                       mpi_operation(operation), remote_),
                      "MPI_Fetch_and_op", state_.who());
            check_mpi(MPI_Win_flush(target, remote_), "MPI_Win_flush", state_.who());
            statistics_.add(Counter::rma_atomics);
        } else {
            AtomicPayload payload;
            std::memcpy(&payload.operand, operand, size_of(type));
            const Command command{
                .kind = CommandKind::atomic, .operation = operation, .type = type, .window = number_, .offset = offset};
            service_atomic(target, command, payload, result, "Window::fetch");
        }
    }
    if (acquires(order)) acquire();
}

void WindowState::service_atomic(int target, const Command& command, const AtomicPayload& payload, void* result,
                                 const char* call) {
    std::uint64_t before = 0;
    Operation waiting;
    waiting.destination = reinterpret_cast<std::byte*>(&before);
    start([&] { return state_.engine().try_atomic(waiting, target, command, payload); }, call, target);
    wait(waiting, call, target);
    std::memcpy(result, &before, size_of(command.type));
    statistics_.add(Counter::service_atomics);
}

void WindowState::fetch_unsigned_extreme(AtomicOperation operation, AtomicType type, int target, std::uint64_t offset,
                                         const void* operand, void* result) {
    const auto value = [type](const void* bytes) {
        std::uint64_t wide = 0;
        std::uint32_t narrow = 0;
        if (type == AtomicType::uint64) std::memcpy(&wide, bytes, sizeof wide);
        else std::memcpy(&narrow, bytes, sizeof narrow);
        return wide + narrow;
    };
    const std::uint64_t wanted = value(operand);
    atomic_fetch(AtomicOperation::read, type, target, offset, operand, result, std::memory_order_relaxed);
    while (operation == AtomicOperation::min ? wanted < value(result) : wanted > value(result)) {
        std::array<std::byte, 8> expected{};
        std::memcpy(expected.data(), result, size_of(type));
        atomic_compare_swap(type, target, offset, expected.data(), operand, result, std::memory_order_relaxed);
        if (value(result) == value(expected.data())) return;
    }
}

void WindowState::atomic_compare_swap(AtomicType type, int target, std::uint64_t offset, const void* expected,
                                      const void* desired, void* result, std::memory_order order) {
    if (releases(order)) release();
    if (std::byte* const base = map_.base(target); base != nullptr && !mpi_atomics_) {
        processor_compare_swap(type, base + offset, expected, desired, result);
    } else {
        begin_access(target, offset, size_of(type), true, "Window::compare_swap");
        if (mpi_atomics_) {
            state_.keep_awake(target);
            // MPI compares integers only; equal bits are what is asked for.
            const MPI_Datatype bits = size_of(type) == 4 ? MPI_UINT32_T : MPI_UINT64_T;
            check_mpi(MPI_Compare_and_swap(desired, expected, result, bits, target, *displacement(target, offset), remote_),
                      "MPI_Compare_and_swap", state_.who());
            check_mpi(MPI_Win_flush(target, remote_), "MPI_Win_flush", state_.who());
            statistics_.add(Counter::rma_atomics);
        } else {
            AtomicPayload payload;
            std::memcpy(&payload.operand, desired, size_of(type));
            std::memcpy(&payload.expected, expected, size_of(type));
            const Command command{
                .kind = CommandKind::atomic, .type = type, .is_compare_swap = 1, .window = number_, .offset = offset};
            service_atomic(target, command, payload, result, "Window::compare_swap");
        }
    }
    if (acquires(order)) acquire();
}

// ---- notified put ---------------------------------------------------------------------------------------------------

void WindowState::check_counter(unsigned counter, const char* call) const {
    if (counter >= counter_count_)
        throw RangeError{fmt::format("{}: notification counter {} is outside [0, {}); ask for more with "
                                     "WindowOptions::notification_counters",
                                     who(call), counter, counter_count_)};
}

void WindowState::put_notify(int target, std::uint64_t offset, std::span<const std::byte> source, unsigned counter) {
    check_counter(counter, "put_notify");
    if (std::byte* const base = map_.base(target)) {
        if (!source.empty()) std::memcpy(base + offset, source.data(), source.size());
        if (!adopted_ || target == map_.own_rank) {
            auto* const counters =
                target == map_.own_rank ? counters_ : memory_->counters(state_.topology().node_index(target));
            // Release: whoever sees the counter sees the bytes.
            counters[counter].fetch_add(1, std::memory_order_release);
            return;
        }
        // The counters of an adopted window are in its rank's private memory.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return service_put(target, 0, {}, counter + 1);
    }
    begin_access(target, offset, source.size(), true, "Window::put_notify");
    if (network_ == Path::rma && source.size() > state_.engine().inline_limit()) {
        put(target, offset, source);
        flush(target);
        return service_put(target, 0, {}, counter + 1);
    }
    service_put(target, offset, source, counter + 1);
}

void WindowState::wait_notified(unsigned counter, std::uint64_t count) {
    check_counter(counter, "wait_notified");
    state_.wait_until([&] { return counters_[counter].load(std::memory_order_acquire) >= count; }, "Window::wait_notified");
    counters_[counter].fetch_sub(count, std::memory_order_relaxed);
    acquire();
}

std::uint64_t WindowState::notified(unsigned counter) {
    check_counter(counter, "notified");
    state_.progress();
    return counters_[counter].load(std::memory_order_acquire);
}

} // namespace lapwing::window
