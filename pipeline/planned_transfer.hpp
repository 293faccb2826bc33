#pragma once

#include "pipeline/chunk_pool.hpp"
#include "pipeline/planner.hpp"
#include "pipeline/remembered_decisions.hpp"
#include "pipeline/serving.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/recycled.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/chunked_transfer.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/rank.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>

namespace lapwing::detail::pipeline {

/// What a plan fixes. The layouts are the plan's own copies; cursors point into them.
class PlanState {
public:
    /// `rank` is one of the window's; `remote` begins at `offset` of its part, and must stay within it: RangeError.
    PlanState(window::WindowState& window, Direction direction, const Layout& local, Rank rank, Offset offset,
              const Layout& remote, const PlanOptions& options, Serving serving = Serving::by_thread);

    /// Decides anew if the cost model has changed since.
    void refresh();
    /// How it is carried out while the bytes are still being computed.
    [[nodiscard]] Decision produced() const;
    [[nodiscard]] std::string explain() const;
    /// Before anything else of a call of the program's: throws UsageError if the window is closed. What is said then
    /// names no team, which may be gone, too.
    void require_open(const char* call) const;
    [[nodiscard]] bool is_closed() const noexcept { return life_.expired(); }

    // Notifies copies of the rank's part of a put: of what it has written there, or started to, from `memory`, or from
    // bytes that are not known.
    void notify_written(const std::byte* memory) const;
    void notify_invalidated() const;

    window::WindowState& window;
    const Direction direction;
    const Layout local;
    const Layout remote; ///< relative to the start of the rank's part
    const Rank rank;
    const Path path;
    /// The rank's part if it is mapped here, so that it is loaded and stored; else null. Plans are carried out
    /// accordingly.
    std::byte* const mapped;
    const PlanOptions options;
    TransferShape shape;
    Decision decision;
    ChunkPool& pool;
    RememberedDecisions& decisions;
    model::CostModel& costs;
    std::uint64_t memory_limit = 0;
    std::uint64_t version = 0; ///< of the cost model, when this was decided
    bool tells_copies = true;  ///< start_plan(): copies of the rank's part are notified of a put

private:
    void check() const;

    std::weak_ptr<const void> life_; ///< of the window
};

/// A layout that begins at `offset` of a rank's part, from the start of that part. Throws RangeError if it leaves it.
[[nodiscard]] Layout layout_in_part(const window::WindowState& window, const char* call, Rank rank, Offset offset,
                                    const Layout& layout);
/// Whether a rank can pack and unpack for others. Without a progress thread it would have to call Lapwing, which it has
/// to anyway where all transfers are messages.
[[nodiscard]] bool may_be_owner_packed(window::WindowState& window, Rank rank, Serving serving = Serving::by_thread);
/// Starts a get into `memory`, also where the window is cached: only this rank's writes that the cache holds back
/// matter. Until it is complete this rank must not write the bytes that are read.
[[nodiscard]] Completion start_past_cache(const std::shared_ptr<PlanState>& plan, std::byte* memory);

/// Like Plan::start().
[[nodiscard]] Completion start_plan(const std::shared_ptr<PlanState>& plan, std::byte* memory);

/// The bytes of a put, from the first to the last: portion by portion, each computed into memory that is passed.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual void next(std::span<std::byte> bytes) = 0;
};

/// One execution of a plan that goes over the network: chunk by chunk, each through a slot of the buffers. It gives
/// back its resources and leaves the window as soon as it is complete: the object may outlive the window.
class PlannedTransfer final : public transport::PendingTransfer,
                              public window::ChunkedTransfer,
                              public support::Recycled<PlannedTransfer> {
public:
    PlannedTransfer(const std::shared_ptr<PlanState>& plan, std::byte* memory);
    /// Carried out as `decision` says, rather than the plan. With a source the bytes come from it, and `memory` is
    /// null.
    PlannedTransfer(std::shared_ptr<PlanState> plan, std::byte* memory, const Decision& decision,
                    ByteSource* source = nullptr);
    ~PlannedTransfer() override;

    /// For a transfer that is not registered with the window: only the first `bytes` of its bytes are there yet. Chunks
    /// that need more are not started.
    void limit(std::uint64_t bytes) noexcept { ready_ = bytes; }
    /// How many must be there before the next chunk can be started.
    [[nodiscard]] std::uint64_t next_chunk_end() const noexcept {
        return plan_->shape.bytes - left_ + (left_ != 0 ? chunks_.next(left_, previous_) : 0);
    }

    /// Starts the chunks that there is memory for. Unless that completes it, the window knows the transfer from now on.
    [[nodiscard]] bool start();
    bool test() override;
    void wait() override;

    void finish() override { (void)go_on(true); }
    bool advance() noexcept override;
    void discard() noexcept override;
    [[nodiscard]] bool holds_memory() const noexcept override { return buffers_ != nullptr && buffers_->bytes > 0; }

    /// Whether it had all the memory that its plan counts on.
    [[nodiscard]] bool as_planned() const noexcept { return as_planned_; }

private:
    /// Takes buffers: fewer bytes than it wants only if it must. False if it would have to wait for others.
    [[nodiscard]] bool take_buffers(bool must);
    /// Advances as far as there is memory and data has arrived, or to the end if it may block. Without buffers it first
    /// moves on the transfers that hold them. Whether it is complete.
    [[nodiscard]] bool go_on(bool block);
    /// Calls `function()`, under the lock of chunked transfers if the window knows the transfer.
    template <class Function>
    auto while_locked(Function&& function);
    /// The next bytes, packed.
    void pack_next(std::byte* packed, std::uint64_t bytes);
    /// Whether chunks are sent from, or arrive at, their place in the memory.
    [[nodiscard]] bool one_block_here() const noexcept { return source_ == nullptr && plan_->local.is_contiguous(); }
    [[nodiscard]] bool next_is_ready() const noexcept {
        return ready_ >= plan_->shape.bytes || next_chunk_end() <= ready_;
    }
    /// Gives the buffers back and leaves the window.
    void end(bool intact) noexcept;
    /// Starts the next chunk in the next slot, which must be free.
    void start_chunk();
    /// Starts operations for the bytes of the chunk in `slot`, one for each block of the remote side.
    void start_packed(std::uint64_t slot, std::uint64_t bytes);
    /// One message, which the owner unpacks or answers. Returns how many bytes it holds: fewer than `bytes` if their
    /// description leaves no room.
    [[nodiscard]] std::uint64_t start_owner_packed(std::uint64_t slot, std::uint64_t bytes);
    void start_blocks(std::uint64_t slot, std::uint64_t bytes);
    /// Operations for the blocks of the chunk in `slot` with the gaps between them. Returns how many bytes of the get
    /// these are: fewer than `bytes` if the slot is full before.
    [[nodiscard]] std::uint64_t start_sieved(std::uint64_t slot, std::uint64_t bytes);
    /// Takes the chunk's bytes out of what has arrived.
    void sieve(std::uint64_t slot);
    void start_operation(std::uint64_t slot, Offset offset, std::byte* memory, std::uint64_t bytes);
    [[nodiscard]] bool slot_complete(std::uint64_t slot, bool block);
    /// With its oldest chunk complete at this end: unpacks it, and frees its slot.
    void finish_chunk();
    [[nodiscard]] bool step(bool block);
    /// Both parts of a slot begin aligned.
    [[nodiscard]] std::uint64_t table_space() const noexcept { return support::rounded_to_alignment(table_room_); }
    [[nodiscard]] std::uint64_t slot_space() const noexcept {
        return table_space() + support::rounded_to_alignment(data_room_);
    }
    [[nodiscard]] std::byte* slot_memory(std::uint64_t slot) const noexcept {
        return (own_memory_ != nullptr ? own_memory_ : buffers_->memory).get() + slot * slot_space();
    }
    /// Where the packed bytes of a get are, after the room for its table.
    [[nodiscard]] std::byte* slot_data(std::uint64_t slot) const noexcept { return slot_memory(slot) + table_space(); }

    std::shared_ptr<PlanState> plan_;
    std::byte* memory_;
    ByteSource* source_;
    std::uint64_t ready_ = ~std::uint64_t{0};
    std::unique_ptr<ChunkBuffers> buffers_;
    support::AlignedMemory
        own_memory_; ///< in place of theirs, where there is no other memory that the bytes could be in
    /// How the bytes get from the memory to the operations, or back.
    enum class Way : std::uint8_t {
        in_place, ///< they do not: operations have the memory itself
        packed,
        owner_packed, ///< through messages that the owner unpacks or packs
        sieved,       ///< from ranges of bytes that they are in
    };
    Way way_ = Way::in_place;
    std::uint64_t table_room_ = 0; ///< of a slot
    std::uint64_t data_room_ = 0;  ///< of a slot
    std::uint64_t slots_ = 1;
    Chunks chunks_;
    LayoutCursor remote_;                ///< of the next chunk to start
    LayoutCursor local_;                 ///< of the next chunk to pack or unpack
    std::optional<LayoutCursor> sieved_; ///< the remote side of the next chunk to be sieved
    std::uint64_t left_;                 ///< bytes of the chunks that are not started
    std::uint64_t previous_ = 0;
    std::uint64_t started_ = 0;            ///< chunks
    std::uint64_t finished_ = 0;           ///< chunks
    std::array<std::uint64_t, 4> sizes_{}; ///< of the chunks in the slots
    bool as_planned_ = true;
    bool done_ = false;
    std::exception_ptr problem_;
    /// The window knows it: only a thread that holds ChunkedTransfers::Lock moves it on.
    std::atomic<bool> entered_{false};
};

} // namespace lapwing::detail::pipeline
