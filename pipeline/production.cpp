// Puts whose bytes are computed while they travel.
#include "pipeline/production.hpp"

#include "datatype/block_copy.hpp"
#include "src/support/log.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace lapwing::detail::pipeline {
namespace {

/// What is copied at a time where the owner's memory is mapped: less would cost more to begin than to copy.
constexpr std::uint64_t least_copy = 4096;
constexpr std::size_t fill_alignment = 16;
/// Bytes computed between two checks whether a buffer has become free: a check takes as long as copying some KiB.
constexpr std::uint64_t least_step = 8192;

void require_put(const PlanState& plan, const char* call) {
    if (plan.direction == Direction::get)
        throw UsageError{
            fmt::format("{}: the plan is one of a get; what is computed here can only be put", plan.window.who(call))};
}

[[nodiscard]] bool copies_directly(const PlanState& plan) { return plan.decision.strategy == Strategy::direct_copy; }

/// Bytes that the program computes by granules, in portions of any size.
class FilledBytes final : public ByteSource {
public:
    FilledBytes(const FillBytes& fill, std::uint64_t granule)
        : fill_{fill}, granule_{granule}, one_{support::allocate_aligned(granule)}, used_{granule} {}

    void next(std::span<std::byte> bytes) override {
        while (!bytes.empty()) {
            if (used_ < granule_) { // the rest of one that was cut
                const std::uint64_t part = std::min<std::uint64_t>(granule_ - used_, bytes.size());
                std::memcpy(bytes.data(), one_.get() + used_, part);
                used_ += part;
                bytes = bytes.subspan(part);
            } else if (bytes.size() >= granule_ &&
                       reinterpret_cast<std::uintptr_t>(bytes.data()) % fill_alignment == 0) {
                const std::uint64_t whole = bytes.size() / granule_ * granule_;
                fill_(first_, bytes.first(whole));
                first_ += whole;
                bytes = bytes.subspan(whole);
            } else {
                fill_(first_, {one_.get(), granule_});
                first_ += granule_;
                used_ = 0;
            }
        }
    }

private:
    const FillBytes& fill_;
    std::uint64_t granule_;
    support::AlignedMemory one_;
    std::uint64_t used_;      ///< bytes of `one_` that have gone
    std::uint64_t first_ = 0; ///< byte to compute next
};

} // namespace

void finish_earlier(PlanState& plan) {
    window::ChunkedTransfers& transfers = plan.window.order().chunked_transfers();
    if (!transfers.empty()) [[unlikely]]
        transfers.before(plan.rank, static_cast<std::uint64_t>(plan.remote.lower()), plan.remote.span(),
                         plan.direction == Direction::put);
}

UnknownWrite::~UnknownWrite() {
    if (!begun_ || plan_.is_closed()) return;
    try {
        plan_.notify_invalidated();
    } catch (const std::exception& error) {
        support::log_line(error.what());
    }
}

void UnknownWrite::complete(const std::byte* memory) {
    begun_ = false;
    plan_.notify_written(memory);
}

ProductionState::ProductionState(std::shared_ptr<PlanState> plan, const std::byte* memory)
    : plan_{std::move(plan)}, memory_{memory}, write_{*plan_} {
    require_put(*plan_, "produce");
    plan_->refresh();
    finish_earlier(*plan_);
    if (copies_directly(*plan_) || plan_->shape.bytes == 0) return;
    transfer_.emplace(plan_, const_cast<std::byte*>(memory), plan_->produced()); // a put only reads it
    transfer_->limit(0);
}

void ProductionState::ready(std::uint64_t bytes) {
    plan_->require_open("produce");
    if (bytes > plan_->shape.bytes)
        throw RangeError{fmt::format("{}: {} bytes are ready of a plan of {}", plan_->window.who("Production::ready"),
                                     bytes, plan_->shape.bytes)};
    if (bytes <= ready_) return;
    ready_ = bytes;
    write_.begin();
    if (transfer_) {
        if (bytes < next_try_) return;
        transfer_->limit(bytes);
        (void)transfer_->test();
        // Not before there is another chunk; and while the buffers are in use, not at every row.
        next_try_ = std::max(transfer_->next_chunk_end(), bytes + least_step);
    } else if (bytes - copied_ >= least_copy || bytes == plan_->shape.bytes) {
        copy_until(bytes);
    }
}

void ProductionState::copy_until(std::uint64_t end) {
    datatype::copy(plan_->mapped, plan_->remote.slice(copied_, end), memory_, plan_->local.slice(copied_, end));
    plan_->window.statistics().add(Counter::direct_put_bytes, end - copied_);
    copied_ = end;
}

void ProductionState::finish() {
    plan_->require_open("produce");
    write_.begin();
    ready_ = plan_->shape.bytes;
    if (transfer_) {
        transfer_->limit(ready_);
        transfer_->wait();
    } else if (copied_ < ready_) {
        copy_until(ready_);
    }
    write_.complete(memory_);
}

void execute_filled(const std::shared_ptr<PlanState>& plan, std::uint64_t granule, const FillBytes& fill) {
    require_put(*plan, "execute_filled");
    const std::uint64_t bytes = plan->shape.bytes;
    if (granule == 0 || bytes % granule != 0)
        throw RangeError{fmt::format(
            "{}: the {} bytes of the plan are not a multiple of the granule of {}; pass the bytes of a row, or "
            "of an element",
            plan->window.who("execute_filled"), bytes, granule)};
    if (bytes == 0) return;
    plan->refresh();
    finish_earlier(*plan);
    FilledBytes source{fill, granule};
    UnknownWrite write{*plan}; // these bytes exist nowhere else
    write.begin();
    if (!copies_directly(*plan)) {
        PlannedTransfer transfer{plan, nullptr, plan->produced(), &source};
        transfer.wait();
        return;
    }
    std::byte* const there = plan->mapped;
    if (plan->remote.is_contiguous()) {
        source.next({there + plan->remote.lower(), bytes});
    } else {
        const std::uint64_t portion = std::min(bytes, (least_copy + granule - 1) / granule * granule);
        const support::AlignedMemory packed = support::allocate_aligned(portion);
        LayoutCursor cursor{plan->remote};
        for (std::uint64_t done = 0; done < bytes;) {
            const std::uint64_t part = std::min(portion, bytes - done);
            source.next({packed.get(), part});
            datatype::unpack(there, cursor, packed.get(), part);
            done += part;
        }
    }
    plan->window.statistics().add(Counter::direct_put_bytes, bytes);
}

} // namespace lapwing::detail::pipeline

namespace lapwing {

Production::Production(std::unique_ptr<detail::pipeline::ProductionState> state) noexcept : state_{std::move(state)} {}
Production::Production(Production&&) noexcept = default;
Production& Production::operator=(Production&&) noexcept = default;
Production::~Production() = default;

void Production::ready(std::uint64_t bytes) { state_->ready(bytes); }
void Production::finish() { state_->finish(); }

} // namespace lapwing
