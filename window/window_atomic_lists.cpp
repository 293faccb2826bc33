// Lists of atomics with results: to a rank of another node many in a message.
#include "window/window_state.hpp"

#include "src/mpi/atomics.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing {
namespace window {
namespace {

/// The messages of a list, whose answers go to the caller's results as they come.
class PendingAtomics final : public PendingTransfer {
public:
    PendingAtomics(std::span<const mpi::ListedAtomic> list, std::uint64_t value_bytes)
        : answers_(list.size()), value_bytes_{value_bytes} {
        results_.reserve(list.size());
        for (const mpi::ListedAtomic& one : list) results_.push_back(one.before);
    }

    [[nodiscard]] std::byte* answer(std::size_t k) noexcept { return reinterpret_cast<std::byte*>(answers_.data() + k); }
    void add(Completion completion, std::size_t end) { messages_.push_back({std::move(completion), end}); }

    bool test() override {
        while (next_ < messages_.size()) {
            if (!messages_[next_].completion.test()) return false;
            deliver();
        }
        return true;
    }
    void wait() override {
        while (next_ < messages_.size()) {
            messages_[next_].completion.wait();
            deliver();
        }
    }

private:
    struct Message {
        Completion completion;
        std::size_t end = 0; ///< of what it answers
    };

    void deliver() noexcept {
        for (const std::size_t end = messages_[next_].end; delivered_ < end; ++delivered_)
            std::memcpy(results_[delivered_], &answers_[delivered_], value_bytes_);
        ++next_;
    }

    std::vector<std::uint64_t> answers_;
    std::vector<void*> results_;
    std::uint64_t value_bytes_;
    std::vector<Message> messages_; ///< destroyed before what they write to
    std::size_t next_ = 0;
    std::size_t delivered_ = 0;
};

} // namespace

Completion WindowState::start_atomics(mpi::AtomicOperation operation, mpi::AtomicType type, int target,
                                      std::span<const mpi::ListedAtomic> list) {
    if (list.empty()) return {};
    state_.serve_now_and_then();
    const bool swaps = list.front().expected != nullptr;
    if (std::byte* const base = map_.base(target); base != nullptr) {
        for (const mpi::ListedAtomic& one : list) {
            if (mpi_atomics_ && swaps)
                atomic_compare_swap(type, target, one.offset, one.expected, one.operand, one.before, std::memory_order_relaxed);
            else if (mpi_atomics_)
                atomic_fetch(operation, type, target, one.offset, one.operand, one.before, std::memory_order_relaxed);
            else if (swaps) mpi::processor_compare_swap(type, base + one.offset, one.expected, one.operand, one.before);
            else mpi::processor_fetch(operation, type, base + one.offset, one.operand, one.before);
        }
        return {};
    }
    const std::uint64_t bytes = mpi::size_of(type);
    const auto [lowest, highest] = std::ranges::minmax(list, {}, &mpi::ListedAtomic::offset);
    const std::uint64_t begin = lowest.offset;
    const std::uint64_t touched = highest.offset + bytes - begin;
    for (const mpi::ListedAtomic& one : list) cache_before_update(target, one.offset, bytes);
    begin_access(target, begin, touched, true, "Window::fetch");

    auto pending = std::make_unique<PendingAtomics>(list, bytes);
    const std::uint64_t entry = swaps ? sizeof(messages::ListedSwap) : sizeof(messages::AddPayload);
    const std::size_t most = std::max<std::size_t>(1, state_.engine().inline_limit() / entry);
    std::vector<std::byte> payload;
    for (std::size_t at = 0; at < list.size(); at += most) {
        const std::size_t end = std::min(list.size(), at + most);
        payload.resize((end - at) * entry);
        for (std::size_t k = at; k < end; ++k) {
            messages::ListedSwap one;
            one.offset = list[k].offset;
            std::memcpy(&one.values.operand, list[k].operand, bytes);
            if (swaps) std::memcpy(&one.values.expected, list[k].expected, bytes);
            // AddPayload is its beginning.
            std::memcpy(payload.data() + (k - at) * entry, &one, entry);
        }
        const messages::Command command{.kind = messages::CommandKind::atomics,
                              .operation = operation,
                              .type = type,
                              .is_compare_swap = static_cast<std::uint8_t>(swaps ? 1 : 0),
                              .window = number_,
                              .size = payload.size()};
        auto transfer = std::make_unique<ServiceTransfer>(*this, target);
        transfer->operation().destination = pending->answer(at);
        // Noted in the same step as it is started: see start_by_messages(). MPI's operations would pass it.
        start(
            [&] {
                const support::BiasedMutex::Guard guard{mutex_};
                if (!state_.engine().try_atomics(transfer->operation(), target, command, payload)) return false;
                note_message();
                transfers_.push_back(*transfer);
                if (network_ == Path::rma) outstanding_.add_write(target, begin, touched, Carrier::messages);
                return true;
            },
            "Window::fetch", target);
        nudge_progress(payload.size());
        pending->add(Completion{std::move(transfer)}, end);
    }
    statistics_.add(Counter::service_atomics, list.size());
    return Completion{std::move(pending)};
}

} // namespace window

std::vector<mpi::ListedAtomic> Window::make_list(std::span<const Offset> offsets, std::size_t results, std::size_t operands,
                                                    const char* call) const {
    const window::WindowState& state = open_state(call);
    if (results != offsets.size() || (operands != SIZE_MAX && operands != offsets.size()))
        throw RangeError{fmt::format("{}: {} offsets, {} results{}; pass as many of each, and operands one for all or as many",
                                     state.who(call), offsets.size(), results,
                                     operands == SIZE_MAX ? "" : fmt::format(" and {} operands", operands))};
    std::vector<mpi::ListedAtomic> list(offsets.size());
    for (std::size_t k = 0; k < list.size(); ++k) list[k].offset = offsets[k].bytes;
    return list;
}

Completion Window::start_atomics(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target,
                                 std::span<const mpi::ListedAtomic> list, const char* call) {
    const bool of_bits = operation == Atomic::bit_and || operation == Atomic::bit_or || operation == Atomic::bit_xor;
    if (of_bits && (type == mpi::AtomicType::float32 || type == mpi::AtomicType::float64))
        throw UsageError{fmt::format("{}: {} works on integers, not on floating point numbers; use std::uint32_t or std::uint64_t "
                                     "values",
                                     open_state(call).who(call), mpi::update_name(operation))};
    (void)checked_address(target, Offset{0}, 0, call);
    for (const mpi::ListedAtomic& one : list) check_atomic(type, target, Offset{one.offset}, call);
    return state_->start_atomics(operation, type, target.value, list);
}

} // namespace lapwing
