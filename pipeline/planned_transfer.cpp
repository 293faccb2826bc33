#include "pipeline/planned_transfer.hpp"

#include "datatype/block_copy.hpp"
#include "datatype/run_table.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lapwing::detail::pipeline {

PlannedTransfer::PlannedTransfer(const std::shared_ptr<PlanState>& plan, std::byte* memory)
    : PlannedTransfer{plan, memory, plan->decision} {}

PlannedTransfer::PlannedTransfer(std::shared_ptr<PlanState> plan, std::byte* memory, const Decision& decision,
                                 ByteSource* source)
    : ChunkedTransfer{plan->rank, static_cast<std::uint64_t>(plan->remote.lower()), plan->remote.span(),
                      plan->direction},
      plan_{std::move(plan)},
      memory_{memory},
      source_{source},
      slots_{decision.slots},
      chunks_{decision.chunks},
      remote_{plan_->remote},
      local_{plan_->local},
      left_{plan_->shape.bytes} {
    if (decision.strategy == Strategy::owner_packed) {
        way_ = Way::owner_packed;
        const bool put = plan_->direction == Direction::put;
        if (!plan_->remote.is_contiguous())
            table_room_ = put ? chunk_table_room(chunks_.largest) : plan_->window.team_state().engine().inline_limit();
        // A put follows its table; a get arrives at its place.
        if (!one_block_here() || (put && table_room_ != 0)) data_room_ = chunks_.largest;
    } else if (decision.strategy == Strategy::sieved && !plan_->remote.is_contiguous()) {
        way_ = Way::sieved;
        sieved_.emplace(plan_->remote);
        data_room_ = decision.room;
    } else if (source_ != nullptr || (decision.strategy != Strategy::per_block && !one_block_here())) {
        // A single block here needs no copy: its chunks are sent from, or arrive at, their place.
        way_ = Way::packed;
        data_room_ = chunks_.largest;
    }
}

bool PlannedTransfer::take_buffers(bool must) {
    constexpr std::uint64_t least_chunk = 8192;
    const std::uint64_t least_slot = table_space() + support::rounded_to_alignment(std::min(data_room_, least_chunk));
    const std::uint64_t wanted = slots_ * slot_space();
    buffers_ = plan_->pool.take(wanted, least_slot, plan_->memory_limit);
    if (buffers_->bytes < wanted) {
        if (!must) {
            plan_->pool.give_back(std::move(buffers_));
            return false;
        }
        as_planned_ = false;
        slots_ = std::clamp<std::uint64_t>(buffers_->bytes / least_slot, 1, slots_);
        const std::uint64_t slot_bytes =
            buffers_->bytes / slots_ / support::buffer_alignment * support::buffer_alignment;
        if (slot_bytes >= least_slot) {
            if (data_room_ != 0) {
                data_room_ = std::min(data_room_, slot_bytes - table_space());
                chunks_.largest = std::min(chunks_.largest, data_room_);
                chunks_.first = std::min(chunks_.first, chunks_.largest);
            }
        } else if (source_ != nullptr) { // the bytes are nowhere else
            own_memory_ = support::allocate_aligned(slots_ * slot_space());
        } else { // block by block works without
            way_ = Way::in_place;
            const std::uint64_t block = plan_->shape.bytes / std::max<std::uint64_t>(plan_->shape.pairs(), 1);
            const std::uint64_t chunk = std::max<std::uint64_t>(1, block) * (blocks_under_way / 2);
            chunks_ = {.first = chunk, .growth = 1, .largest = chunk};
            slots_ = 2;
        }
    }
    if (buffers_->under_way.size() < slots_) buffers_->under_way.resize(slots_);
    if (way_ == Way::sieved && buffers_->ranges.size() < slots_) buffers_->ranges.resize(slots_);
    return true;
}

template <class Function>
auto PlannedTransfer::while_locked(Function&& function) {
    if (!entered_.load(std::memory_order_acquire)) return function();
    const window::ChunkedTransfers::Lock lock{plan_->window.order().chunked_transfers()};
    return function();
}

PlannedTransfer::~PlannedTransfer() {
    if (done_) return;
    if (!plan_->is_closed()) {
        while_locked([this] { end(false); });
        return;
    }
    (void)buffers_.release(); // something under way may still read them, and there is no pool that keeps them
    (void)own_memory_.release();
}

void PlannedTransfer::end(bool intact) noexcept {
    if (buffers_ != nullptr) {
        // After an error: operations under way still use the buffers, and the completions wait for them as long as
        // there is hope.
        for (auto& slot : buffers_->under_way) slot.clear();
        if (intact) plan_->pool.give_back(std::move(buffers_));
        else plan_->pool.keep(std::move(buffers_));
        if (!intact) (void)own_memory_.release(); // as what the pool keeps: something under way may still read it
    }
    done_ = true;
    if (!entered_.load(std::memory_order_relaxed)) return;
    plan_->window.order().chunked_transfers().remove(*this);
    entered_.store(false, std::memory_order_release);
}

void PlannedTransfer::discard() noexcept {
    try {
        problem_ = std::make_exception_ptr(UsageError{
            fmt::format("{}: the window was closed before the transfer with rank {} was complete; wait for it first",
                        plan_->window.who("Completion::wait"), plan_->rank.value)});
    } catch (...) {
        problem_ = std::current_exception();
    }
    end(false);
}

void PlannedTransfer::start_operation(std::uint64_t slot, Offset offset, std::byte* memory, std::uint64_t bytes) {
    if (std::byte* const base = plan_->mapped) { // a network strategy that is forced inside a node
        if (plan_->direction == Direction::put) std::memcpy(base + offset.bytes, memory, bytes);
        else std::memcpy(memory, base + offset.bytes, bytes);
        return;
    }
    window::WindowState& window = plan_->window;
    auto& under_way = buffers_->under_way[slot];
    if (under_way.size() >= blocks_under_way) (void)slot_complete(slot, true); // many blocks there, and a large chunk
    under_way.push_back(plan_->direction == Direction::put
                            ? window.puts_and_gets().start_put_part(plan_->rank, offset, {memory, bytes})
                            : window.puts_and_gets().start_get(plan_->rank, offset, {memory, bytes}));
}

void PlannedTransfer::pack_next(std::byte* packed, std::uint64_t bytes) {
    if (source_ != nullptr) source_->next({packed, bytes});
    else datatype::pack(packed, memory_, local_, bytes);
}

void PlannedTransfer::start_packed(std::uint64_t slot, std::uint64_t bytes) {
    std::byte* const packed = slot_memory(slot);
    if (plan_->direction == Direction::put) pack_next(packed, bytes);
    for (std::uint64_t done = 0; done < bytes;) {
        const ByteBlock block = remote_.next(bytes - done);
        start_operation(slot, static_cast<std::uint64_t>(block.offset), packed + done, block.bytes);
        done += block.bytes;
    }
}

std::uint64_t PlannedTransfer::start_owner_packed(std::uint64_t slot, std::uint64_t bytes) {
    window::WindowState& window = plan_->window;
    const bool put = plan_->direction == Direction::put;
    transport::MessageTransport& messages = window.transports().messages;
    const auto begin = [&] {
        return window.order().begin({.target = plan_->rank,
                                     .offset = static_cast<std::uint64_t>(plan_->remote.lower()),
                                     .bytes = plan_->remote.span(),
                                     .kind = put ? transport::Access::Kind::update : transport::Access::Kind::read,
                                     .call = put ? "Window::put" : "Window::get",
                                     .continues = started_ != 0});
    };
    std::byte* const table = slot_memory(slot);
    const bool one_block = plan_->remote.is_contiguous();
    datatype::RunTable runs{.table_bytes = 0, .data_bytes = bytes};
    if (!one_block) runs = datatype::encode_runs(remote_, bytes, table, table_room_);
    bytes = runs.data_bytes;
    auto& under_way = buffers_->under_way[slot];
    if (put && !one_block) {
        std::byte* const data = table + runs.table_bytes;
        pack_next(data, bytes);
        under_way.emplace_back(messages.start_scatter(begin(), {table, runs.table_bytes + bytes}, runs.table_bytes));
        return bytes;
    }
    // Directly from or to the memory if it is one block.
    std::byte* data = slot_data(slot);
    if (one_block_here()) data = memory_ + local_.next(bytes).offset;
    else if (put) pack_next(data, bytes);
    if (!one_block) {
        under_way.emplace_back(messages.start_gather(begin(), {table, runs.table_bytes}, {data, bytes}));
        return bytes;
    }
    const auto offset = static_cast<std::uint64_t>(remote_.next(bytes).offset);
    under_way.emplace_back(put ? messages.start_put_part(begin(), offset, {data, bytes})
                               : messages.start_get_part(begin(), offset, {data, bytes}));
    return bytes;
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

std::uint64_t PlannedTransfer::start_sieved(std::uint64_t slot, std::uint64_t bytes) {
    const std::uint64_t most_ranges = std::max<std::uint64_t>(1, data_room_ / 64); // their list is memory, too
    std::vector<FetchedRange>& ranges = buffers_->ranges[slot];
    ranges.clear();
    const std::uint64_t gap = plan_->shape.sieve.gap;
    const auto fetch = [&](const FetchedRange& range) {
        start_operation(slot, static_cast<std::uint64_t>(range.there.begin), slot_data(slot) + range.place,
                        range.there.bytes());
    };
    std::uint64_t data = 0;
    while (data < bytes) {
        const std::uint64_t position = remote_.position();
        ByteBlock block = remote_.next(std::min(bytes - data, data_room_));
        if (!ranges.empty()) {
            FetchedRange& last = ranges.back();
            const SievedRange before = last.there;
            if (last.there.extend(block, gap)) {
                if (last.place + last.there.bytes() <= data_room_) {
                    last.bytes += block.bytes;
                    data += block.bytes;
                    continue;
                }
                last.there = before;
            }
            fetch(last);
        }
        const std::uint64_t place = ranges.empty() ? 0 : ranges.back().next_place();
        const std::uint64_t room = data_room_ - std::min(place, data_room_);
        if (ranges.size() >= most_ranges || (block.bytes > room && 4 * room < data_room_)) {
            remote_.seek(position);
            return data;
        }
        if (block.bytes > room) {
            remote_.seek(position);
            block = remote_.next(room);
        }
        ranges.push_back({.there = SievedRange{block}, .place = place, .bytes = block.bytes});
        data += block.bytes;
    }
    fetch(ranges.back());
    return data;
}

void PlannedTransfer::sieve(std::uint64_t slot) {
    for (const FetchedRange& range : buffers_->ranges[slot]) {
        const std::byte* const from = slot_data(slot) + range.place - range.there.begin;
        if (one_block_here()) {
            datatype::pack(memory_ + local_.next(range.bytes).offset, from, *sieved_, range.bytes);
            continue;
        }
        std::array<std::byte, 4096> piece;
        for (std::uint64_t left = range.bytes; left > 0;) {
            const std::uint64_t bytes = std::min<std::uint64_t>(left, piece.size());
            datatype::pack(piece.data(), from, *sieved_, bytes);
            datatype::unpack(memory_, local_, piece.data(), bytes);
            left -= bytes;
        }
    }
}

void PlannedTransfer::start_chunk() {
    const std::uint64_t slot = started_ % slots_;
    std::uint64_t bytes = chunks_.next(left_, previous_);
    previous_ = bytes;
    switch (way_) {
    case Way::packed: start_packed(slot, bytes); break;
    case Way::owner_packed: bytes = start_owner_packed(slot, bytes); break;
    case Way::in_place: start_blocks(slot, bytes); break;
    case Way::sieved: bytes = start_sieved(slot, bytes); break;
    }
    sizes_[slot] = bytes;
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
    if (way_ == Way::sieved) sieve(slot);
    else if (way_ != Way::in_place && plan_->direction == Direction::get && !plan_->local.is_contiguous())
        datatype::unpack(memory_, local_, slot_data(slot), sizes_[slot]);
    ++finished_;
}

bool PlannedTransfer::step(bool block) {
    while (left_ > 0 || finished_ < started_) {
        if (left_ > 0 && started_ - finished_ < slots_ && next_is_ready()) {
            start_chunk();
            continue;
        }
        if (finished_ == started_) return false; // the rest is not ready
        if (!slot_complete(finished_ % slots_, block)) return false;
        finish_chunk();
    }
    return true;
}

bool PlannedTransfer::go_on(bool block) {
    if (problem_ != nullptr) std::rethrow_exception(problem_);
    if (done_) return true;
    try {
        if (buffers_ == nullptr && !take_buffers(false)) {
            // Whoever started transfers of this window, no thread may be left that would continue them.
            window::ChunkedTransfers& transfers = plan_->window.order().chunked_transfers();
            if (block) transfers.free_memory();
            else if (!transfers.try_to_free_memory()) return false;
            (void)take_buffers(true);
        }
        if (!step(block)) return false;
    } catch (...) {
        problem_ = std::current_exception();
        end(false);
        throw;
    }
    end(true);
    return true;
}

bool PlannedTransfer::advance() noexcept {
    try {
        return go_on(false);
    } catch (...) { // kept for its wait
        return true;
    }
}

bool PlannedTransfer::start() {
    // Nothing else is moved on here: a start takes no longer where many have been started before.
    if (take_buffers(false) && go_on(false)) return true;
    entered_.store(true, std::memory_order_relaxed);
    plan_->window.order().chunked_transfers().add(*this);
    return false;
}

bool PlannedTransfer::test() {
    return while_locked([this] { return go_on(false); });
}

void PlannedTransfer::wait() {
    while_locked([this] { finish(); });
}

} // namespace lapwing::detail::pipeline
