#pragma once

#include "src/messages/engine.hpp"
#include "src/mpi/pieces.hpp"
#include "src/support/biased_mutex.hpp"
#include "src/team/team_state.hpp"
#include "window/gathered_adds.hpp"
#include "window/chunked_transfer.hpp"
#include "window/memory.hpp"
#include "window/outstanding_accesses.hpp"
#include "window/pending_transfer.hpp"
#include "window/remote_cache.hpp"
#include "window/window_transfer.hpp"

#include <lapwing/window.hpp>

#include <mpi.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lapwing::window {

/// Most notification counters of a window.
inline constexpr unsigned most_counters = 4096;

/// The inside of a Window: how it reaches memory that this rank cannot load and store.
class WindowState final : public team::EpochMember, private AddSender {
public:
    /// Whether the team's releases and acquires look after it, and its close asks for it. What is not listed has no operations
    /// under way when its calls return, and is closed by who made it.
    enum class Listed : std::uint8_t { no, yes };
    /// Collective: allocates memory.
    WindowState(Team& team, std::uint64_t bytes, WindowOptions options, Listed listed = Listed::yes);
    /// Collective: uses the memory of the program's window.
    WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options);
    ~WindowState() override;
    WindowState(const WindowState&) = delete;
    WindowState& operator=(const WindowState&) = delete;

    [[nodiscard]] Team& team() const noexcept { return team_; }
    [[nodiscard]] team::TeamState& team_state() const noexcept override { return state_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// In messages: Window("a"), or of one without a name Window(#3), the third that its team made, those of arrays and those
    /// that locks share included.
    [[nodiscard]] std::string label() const override;
    [[nodiscard]] const MemoryMap& map() const noexcept { return map_; }
    [[nodiscard]] Path path(int target) const noexcept;
    /// Of the program's window; 1 where the window is Lapwing's.
    [[nodiscard]] int displacement_unit(int target) const noexcept {
        return units_.empty() ? unit_ : units_[static_cast<std::size_t>(target)];
    }
    [[nodiscard]] support::Statistics& statistics() noexcept { return statistics_; }
    /// "rank 2 of 4: Window("a").get", the start of a message.
    [[nodiscard]] std::string who(const char* call) const;

    // Operations on ranks that are not reachable by load and store. The range has been checked.
    void get(int target, std::uint64_t offset, std::span<std::byte> destination);
    void put(int target, std::uint64_t offset, std::span<const std::byte> source);
    [[nodiscard]] Completion start_get(int target, std::uint64_t offset, std::span<std::byte> destination);
    [[nodiscard]] Completion start_put(int target, std::uint64_t offset, std::span<const std::byte> source);

    /// The bytes of a rank that a transfer of several parts may touch. The first part waits for what they conflict with; the
    /// others do not wait for each other.
    struct Touched {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        bool first = true; ///< nothing of the transfer has been started yet
    };
    // Parts of transfers to such ranks that go by messages even where MPI's windows work: the owner's progress thread moves
    // the bytes. None may be empty.
    [[nodiscard]] Completion start_put_by_messages(int target, const Touched& touched, std::uint64_t offset,
                                                   std::span<const std::byte> source);
    [[nodiscard]] Completion start_get_by_messages(int target, const Touched& touched, std::uint64_t offset,
                                                   std::span<std::byte> destination);
    /// The owner unpacks: `message` is a datatype::RunTable of `table_bytes` and the bytes for its places, at most
    /// Engine::largest_staged() together. It stays until the completion says so.
    [[nodiscard]] Completion start_scatter(int target, const Touched& touched, std::span<const std::byte> message,
                                           std::uint64_t table_bytes);
    /// The owner packs what `table` names, of at most Engine::inline_limit() bytes, into at most Engine::largest_staged(). The
    /// table is copied.
    [[nodiscard]] Completion start_gather(int target, const Touched& touched, std::span<const std::byte> table,
                                          std::span<std::byte> destination);
    // The same past the cache: what the cache itself is made of. A null transfer is complete.
    void get_uncached(int target, std::uint64_t offset, std::span<std::byte> destination);
    void put_uncached(int target, std::uint64_t offset, std::span<const std::byte> source);
    /// Small runs, copied, in as few messages as there can be.
    void put_runs_uncached(int target, std::span<const DirtyRun> runs);
    /// Who starts a transfer. The cache keeps its gets and later writes apart by itself, and waits soon for what it starts.
    enum class Starter : std::uint8_t { program, cache };
    [[nodiscard]] std::unique_ptr<PendingTransfer> begin_get(int target, std::uint64_t offset, std::span<std::byte> destination,
                                                             Starter starter);
    [[nodiscard]] std::unique_ptr<PendingTransfer> begin_put(int target, std::uint64_t offset, std::span<const std::byte> source,
                                                             Starter starter);
    [[nodiscard]] ChunkedTransfers& chunked_transfers() noexcept { return chunked_transfers_; }
    /// Null if the window is not cached.
    [[nodiscard]] RemoteCache* cache() const noexcept { return cache_.get(); }

    // Operations on any rank.
    void flush(int target);
    void flush();
    void release();
    void acquire();
    // The parts of a team's release and acquire, which order the memory of all windows at once. All windows start before the
    // first is finished, so that their round trips overlap.
    [[nodiscard]] bool holds_back() const noexcept override { return cache_ != nullptr || !adds_.empty(); }
    void start_release() override;
    [[nodiscard]] bool under_way() const noexcept override {
        return !outstanding_.empty() || messages_under_way() || !chunked_transfers_.empty() || adds_.any_lost();
    }
    void finish_release() override;
    [[nodiscard]] bool has_copies() const noexcept override { return cache_ != nullptr; }
    void drop_copies() override;
    /// Own accesses to the memory of this node, before and behind, are seen in that order.
    void order_memory() override;
    void atomic_fetch(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset, const void* operand,
                      void* result, std::memory_order order);
    void atomic_compare_swap(mpi::AtomicType type, int target, std::uint64_t offset, const void* expected, const void* desired,
                             void* result, std::memory_order order);
    void atomic_update(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset, const void* operand);
    /// See Window::fetch; of compare_swap the operation is replace.
    [[nodiscard]] Completion start_atomics(mpi::AtomicOperation operation, mpi::AtomicType type, int target,
                                           std::span<const mpi::ListedAtomic> list);
    void put_notify(int target, std::uint64_t offset, std::span<const std::byte> source, unsigned counter);
    /// Throws RangeError unless there is such a notification counter.
    void check_counter(unsigned counter, const char* call) const;
    void wait_notified(unsigned counter, std::uint64_t count);
    [[nodiscard]] std::uint64_t notified(unsigned counter);

    /// Throws RangeError when an adopted window cannot have such an atomic: its displacement unit cannot express the offset, or a
    /// rank's part does not begin at a multiple of the value's size.
    void check_atomic(mpi::AtomicType type, int target, std::uint64_t offset, const char* call) const;

    /// Throws UsageError when the program has freed its window.
    void require_memory(const char* call) const;
    [[nodiscard]] bool freed() const noexcept { return freed_.load(std::memory_order_acquire); }
    /// The program frees its window, on all ranks: called in its MPI_Win_free. `gone`: MPI has freed it already.
    void on_host_free(bool gone) noexcept;
    /// `copy` of map() is kept up to date.
    void keep_copy(MemoryMap* copy) noexcept { map_of_window_ = copy; }

    /// Collective.
    void close();
    /// The rest of a close, once no rank uses the window any more.
    void close_behind_barrier();
    /// What a window's destructor does: closes it, unless the scope ends by an exception. Then the other ranks need not be
    /// closing theirs: the memory stays, and is served, until the process ends.
    static void end_with_scope(std::unique_ptr<WindowState> window) noexcept;

    /// The number that all ranks know the window by.
    [[nodiscard]] std::uint64_t number() const noexcept override { return number_; }
    /// Collective, when nothing of the team is under way: frees what MPI and the system have of a window that its scope left.
    void free_left() override {
        if (memory_ != nullptr) memory_->close();
    }

    /// A wait for an own operation of the service path, which the caller's memory must outlive.
    void wait(messages::Operation& operation, const char* call, int target);

    /// A transfer that is complete.
    void remove(WindowTransfer& transfer) noexcept;

private:
    /// Of a window whose memory is about to go, while others may still ask for it.
    void abandon_memory() noexcept;
    /// By a constructor that throws once others may ask for the memory.
    void undo_creation() noexcept;
    /// Of an adopted window that the program frees: nobody asks for it any more.
    void lose_memory() noexcept;
    /// Collective. `same`: all ranks' parts have the same size.
    void share_sizes(bool same);
    /// Throws MismatchError unless all ranks have chosen the same cache. `least`: of all ranks' choices, each and its negative.
    void check_cache_choices(const std::string& what, const CacheChoices& own,
                             std::span<const std::int64_t, 2 * cache_choices> least);
    [[nodiscard]] messages::ExposedMemory exposed() const noexcept;
    /// Before an access: throws if the target has left, and completes what is under way to it if the access overlaps that,
    /// or everything if too much is under way to tell.
    void begin_access(int target, std::uint64_t offset, std::uint64_t bytes, bool write, const char* call) {
        state_.check_reachable(call, target);
        if (!chunked_transfers_.empty()) [[unlikely]] chunked_transfers_.before(target, offset, bytes, write);
        if (!adds_.empty()) adds_.before(target, offset, bytes);
        if (!outstanding_.empty() || adds_may_be_overtaken()) complete_before(target, offset, bytes, write);
    }
    /// Messages of a pair of ranks stay in order by themselves; MPI's operations do not wait for them.
    [[nodiscard]] bool adds_may_be_overtaken() const noexcept { return network_ == Path::rma && !sent_adds_.empty(); }
    void complete_before(int target, std::uint64_t offset, std::uint64_t bytes, bool write);
    /// Starts an operation of the engine, making progress until there is room for it.
    template <class Try>
    void start(Try&& attempt, const char* call, int target) {
        if (!attempt()) state_.wait_until(attempt, call, target);
    }
    // AddSender
    [[nodiscard]] AddSender::Limits add_limits() const override;
    void send_adds(int target, AddKind kind, std::uint64_t begin, std::uint64_t end, std::span<const messages::AddPayload> adds) override;
    [[nodiscard]] bool has_left(int target) override { return state_.has_left(target); }
    /// A step of a release: when it fails because a rank left, lost adds say more.
    template <class Step>
    void with_lost_adds(const char* call, Step&& step);
    void release_all(const char* call);
    [[noreturn]] void throw_lost_adds(const char* call);
    /// The window is about to go: takes all transfers out and ends each of them so.
    void end_transfers(void (WindowTransfer::*end)());
    /// What reads and writes at the owner, as an atomic does, or writes some of these bytes only.
    void cache_before_update(int target, std::uint64_t offset, std::uint64_t bytes) {
        if (cache_ == nullptr || map_.base(target) != nullptr) return;
        cache_->before_read(target, offset, bytes);
        cache_->before_write(target, offset, bytes);
    }
    /// What flush() does with what is under way, of which the cache and the gathered adds hold nothing back any more.
    void complete(int target);
    void complete();
    /// The same of what has been started: the rest of long transfers conflicts with nothing that is, and may ask for this.
    void complete_started(int target);
    void complete_started();
    /// Completes the adds on their way to all ranks that have not left.
    void complete_sent_adds();
    void finish_flush(int target, messages::Engine::FlushTicket ticket);
    void flush_service(std::span<const int> targets);
    void flush_all_service();
    static constexpr int any_rank = -1;
    /// With the mutex held: MPI's part of a flush, of one target or of all that have accesses under way; and what follows
    /// when everything to `target` is complete that was under way when the records of those accesses had these versions.
    void flush_rma();
    void flush_rma(int target);
    struct Versions {
        std::uint64_t transfers = 0;
        std::uint64_t adds = 0;
        std::uint64_t messages = 0;
    };
    [[nodiscard]] Versions versions() const noexcept {
        return {outstanding_.version(), sent_adds_.version(), messages_started_.load(std::memory_order_acquire)};
    }
    void forget(int target, Versions versions) noexcept;
    [[nodiscard]] bool messages_under_way() const noexcept {
        // Acquire: what another thread has completed, such as this one's gets, is seen by this one, too.
        return messages_complete_.load(std::memory_order_acquire) != messages_started_.load(std::memory_order_relaxed);
    }
    /// A message has been given to the engine; with the mutex held if it is recorded under it, too. Not before: a flush by another
    /// thread in between would count it among the complete ones.
    void note_message() noexcept {
        // Release: who counts it among the started sees the engine busy with it, too.
        messages_started_.fetch_add(1, std::memory_order_release);
    }
    using Carrier = OutstandingAccesses::Carrier;
    /// A transfer by messages of so many bytes has been started.
    void nudge_progress(std::uint64_t bytes, Starter starter = Starter::program) const noexcept {
        if (bytes > state_.engine().inline_limit() && starter == Starter::program) return messages::ProgressThread::instance().nudge();
        state_.streams(bytes);
        messages::ProgressThread::instance().nudge_seldom();
    }
    /// Start a transfer by messages, and note it where a later access could pass it, in one step: a flush by another
    /// thread sees both or neither.
    [[nodiscard]] bool try_service_get(ServiceTransfer& transfer, int target, std::uint64_t offset, std::uint64_t bytes,
                                       bool tracked);
    [[nodiscard]] bool try_service_put(messages::Operation& operation, int target, std::uint64_t offset, std::span<const std::byte> source,
                                       std::uint32_t counter_plus_one);

    /// Displacement of `offset` in the MPI window of `target`, or nothing if its displacement unit cannot express it.
    [[nodiscard]] std::optional<MPI_Aint> displacement(int target, std::uint64_t offset) const noexcept {
        if (plain_rma_) [[likely]]
            return static_cast<MPI_Aint>(offset);
        const auto unit = static_cast<std::uint64_t>(units_.empty() ? unit_ : units_[static_cast<std::size_t>(target)]);
        if (offset % unit != 0) return {};
        return static_cast<MPI_Aint>(offset / unit);
    }
    /// Whether this operation goes through MPI's one-sided calls.
    [[nodiscard]] bool by_rma(int target, std::uint64_t offset, std::uint64_t bytes) const noexcept {
        if (bytes < least_rma_bytes_) return false;
        if (plain_rma_) [[likely]]
            return true;
        if (network_ != Path::rma) return false;
        return displacement(target, offset).has_value() && bytes <= mpi::largest_piece_bytes;
    }

    /// Minimum or maximum of unsigned values, by compare-and-swap: MPI_MIN and MPI_MAX on MPI_UINT32_T and MPI_UINT64_T
    /// compare as if signed in Open MPI 4.1.4 (created windows) and MPICH 4.0.2 (shared memory).
    void fetch_unsigned_extreme(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset,
                                const void* operand, void* result);
    /// Calls `piece(begin, size, displacement)` for each MPI call that a transfer takes.
    template <class Piece>
    void for_each_rma_piece(int target, std::uint64_t offset, std::uint64_t bytes, Piece piece);
    /// With the mutex held: a copy of a small source, which stays until MPI has read it.
    const std::byte* stage(std::span<const std::byte> source);
    /// Waits until MPI has read and written the origin's memory of operations to `target`. Returns whether they are complete
    /// at the target, too.
    bool finish_locally(int target);
    /// Calls `start(begin, size, displacement, request)` for each piece of a non-blocking transfer.
    template <class Start>
    [[nodiscard]] std::unique_ptr<RmaTransfer> start_rma_transfer(int target, std::uint64_t offset, std::uint64_t bytes, bool write,
                                                                  bool tracked, Start&& start);
    /// Throws MpiError unless `code` is MPI_SUCCESS, naming the place at the target.
    void check_transfer(int code, const char* mpi_call, const char* call, int target, std::uint64_t offset) const {
        if (code != MPI_SUCCESS) [[unlikely]]
            throw_transfer_error(code, mpi_call, call, target, offset);
    }
    [[noreturn]] void throw_transfer_error(int code, const char* mpi_call, const char* call, int target,
                                           std::uint64_t offset) const;
    /// Before a get or put through MPI. How memory of the program's is served was not tried.
    void keep_awake(int target) {
        if (adopted_) state_.keep_awake(target);
        else state_.keep_awake_for_data(target);
    }
    void start_rma_get(int target, std::uint64_t offset, std::span<std::byte> destination);
    void start_rma_put(int target, std::uint64_t offset, std::span<const std::byte> source);
    void rma_get(int target, std::uint64_t offset, std::span<std::byte> destination);
    void rma_put(int target, std::uint64_t offset, std::span<const std::byte> source);
    void begin_part(int target, const Touched& touched, bool write, const char* call);
    template <class Try>
    [[nodiscard]] Completion start_by_messages(int target, const Touched& touched, bool write, std::uint64_t message_bytes,
                                               std::byte* destination, Try&& attempt, const char* call);
    void service_atomic(int target, const messages::Command& command, const messages::AtomicPayload& payload, void* result, const char* call);
    /// Waits for an atomic that MPI was given with this result.
    void finish_mpi_atomic(int code, const char* mpi_call, const char* call, int target, std::uint64_t offset);
    void service_get(int target, std::uint64_t offset, std::span<std::byte> destination);
    void service_put(int target, std::uint64_t offset, std::span<const std::byte> source, std::uint32_t counter_plus_one);

    Team& team_;
    team::TeamState& state_;
    std::string name_;
    std::uint64_t number_ = 0;
    bool adopted_ = false;
    bool close_lock_ = false; ///< the epoch of an adopted window is Lapwing's
    std::atomic<bool> freed_{false}; ///< by the program
    Path network_ = Path::service;
    bool plain_rma_ = false; ///< rma, and all ranks' displacements count bytes
    /// Atomics must all be of one kind: MPI's when any pair of ranks uses them, else the processor's.
    bool mpi_atomics_ = false;
    std::uint64_t alignment_ = 8; ///< of all ranks' parts, as far as atomics need it

    MemoryMap map_;
    MemoryMap* map_of_window_ = nullptr; ///< the copy that the inline accesses of a Window use
    std::unique_ptr<WindowMemory> memory_;
    std::vector<std::byte*> bases_; ///< of an adopted window
    std::vector<std::uint64_t> sizes_;
    MPI_Win remote_ = MPI_WIN_NULL;
    MPI_Win shared_ = MPI_WIN_NULL;
    int unit_ = 1;
    std::vector<int> units_;

    int exceptions_at_start_ = std::uncaught_exceptions();
    unsigned counter_count_ = 0;
    std::vector<std::atomic<std::uint64_t>> own_counters_; ///< of adopted windows
    std::atomic<std::uint64_t>* counters_ = nullptr;       ///< this rank's
    std::vector<std::atomic<std::uint64_t>> told_ = std::vector<std::atomic<std::uint64_t>>(counter_count_); ///< what notified() last returned of each

    support::Statistics statistics_;

    /// Messages to any rank that need a flush, and how many of them are known to be complete. On the rma path too: notified puts,
    /// small transfers, and what an adopted window's displacement units cannot express.
    std::atomic<std::uint64_t> messages_started_{0};
    std::atomic<std::uint64_t> messages_complete_{0};
    /// Puts and gets of fewer bytes go as messages on the path rma, too.
    std::uint64_t least_rma_bytes_ = 0;

    /// Guards the fields below. Held before the engine's mutex, never after it.
    support::BiasedMutex mutex_;
    OutstandingAccesses outstanding_;
    /// Where messages with gathered adds have gone: apart from the others, since adds do not wait for adds.
    OutstandingAccesses sent_adds_;
    /// Non-blocking ones that are not known to be complete.
    boost::intrusive::list<WindowTransfer> transfers_;
    /// Copies of small puts until MPI has read them: so that the program may reuse its own at once. Empty before the first.
    std::vector<std::byte> staging_;
    std::size_t staged_ = 0;

    ChunkedTransfers chunked_transfers_;
    GatheredAdds adds_{*this};
    /// The last to be made and the first to go: its transfers are in the list above.
    std::unique_ptr<RemoteCache> cache_;
};

} // namespace lapwing::window
