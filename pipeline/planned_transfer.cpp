#include "pipeline/planned_transfer.hpp"

#include "pipeline/block_copy.hpp"
#include "window/window_state.hpp"

#include <algorithm>
#include <cstring>

namespace lapwing::pipeline {

PlannedTransfer::PlannedTransfer(std::shared_ptr<PlanState> plan, std::byte* memory)
    : plan_{std::move(plan)}, memory_{memory}, packed_{plan_->decision.strategy != Strategy::per_block},
      slots_{plan_->decision.slots}, chunks_{plan_->decision.chunks}, remote_{plan_->remote}, local_{plan_->local},
      left_{plan_->shape.bytes} {
    // One block here needs no copy: its chunks leave from, or arrive at, their place.
    if (plan_->local.is_contiguous()) packed_ = false;
    const std::uint64_t wanted = packed_ ? slots_ * chunks_.largest : 0;
    buffers_ = plan_->pool.take(wanted, plan_->memory_limit);
    if (buffers_->bytes < wanted) packed_ = false; // others hold the buffers: block by block works without
    if (buffers_->under_way.size() < slots_) buffers_->under_way.resize(slots_);
}

PlannedTransfer::~PlannedTransfer() {
    // After an error: what is under way still uses the buffers, and the completions wait for it.
    for (auto& slot : buffers_->under_way) slot.clear();
    plan_->pool.give_back(std::move(buffers_));
}

void PlannedTransfer::start_operation(std::uint64_t slot, std::uint64_t offset, std::byte* memory, std::uint64_t bytes) {
    window::WindowState& window = plan_->window;
    if (std::byte* const base = window.map().base(plan_->rank)) { // a network strategy that is forced inside a node
        if (plan_->direction == Direction::put) std::memcpy(base + offset, memory, bytes);
        else std::memcpy(memory, base + offset, bytes);
        return;
    }
    buffers_->under_way[slot].push_back(plan_->direction == Direction::put
                                            ? window.start_put(plan_->rank, offset, {memory, bytes})
                                            : window.start_get(plan_->rank, offset, {memory, bytes}));
}

void PlannedTransfer::start_packed(std::uint64_t slot, std::uint64_t bytes) {
    std::byte* const packed = slot_memory(slot);
    if (plan_->direction == Direction::put) pack(packed, memory_, local_, bytes);
    for (std::uint64_t done = 0; done < bytes;) {
        const ByteBlock block = remote_.next(bytes - done);
        start_operation(slot, static_cast<std::uint64_t>(block.offset), packed + done, block.bytes);
        done += block.bytes;
    }
}

void PlannedTransfer::start_blocks(std::uint64_t slot, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
        ByteBlock there = remote_.next(bytes - done);
        done += there.bytes;
        while (there.bytes > 0) {
            const ByteBlock here = local_.next(there.bytes);
            start_operation(slot, static_cast<std::uint64_t>(there.offset), memory_ + here.offset, here.bytes);
            there.offset += static_cast<std::int64_t>(here.bytes);
            there.bytes -= here.bytes;
        }
    }
}

void PlannedTransfer::start_chunk() {
    const std::uint64_t slot = started_ % slots_;
    const std::uint64_t bytes = chunks_.next(left_, previous_);
    if (packed_) start_packed(slot, bytes);
    else start_blocks(slot, bytes);
    sizes_[slot] = bytes;
    previous_ = bytes;
    left_ -= bytes;
    ++started_;
}

bool PlannedTransfer::slot_complete(std::uint64_t slot, bool block) {
    auto& operations = buffers_->under_way[slot];
    for (; !operations.empty(); operations.pop_back()) {
        if (block) operations.back().wait();
        else if (!operations.back().test()) return false;
    }
    return true;
}

void PlannedTransfer::finish_chunk() {
    const std::uint64_t slot = finished_ % slots_;
    if (packed_ && plan_->direction == Direction::get) unpack(memory_, local_, slot_memory(slot), sizes_[slot]);
    ++finished_;
}

bool PlannedTransfer::step(bool block) {
    while (left_ > 0 || finished_ < started_) {
        if (left_ > 0 && started_ - finished_ < slots_) {
            start_chunk();
            continue;
        }
        if (!slot_complete(finished_ % slots_, block)) return false;
        finish_chunk();
    }
    return true;
}

bool PlannedTransfer::test() { return step(false); }
void PlannedTransfer::wait() { (void)step(true); }

} // namespace lapwing::pipeline
