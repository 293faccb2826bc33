// Lists of atomics with results: to a rank of another node many in a message.
#include "window/window_atomics.hpp"

#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing {
namespace detail::window {
namespace {

/// The messages of a list, whose answers go to the caller's results as they come.
class PendingAtomics final : public transport::PendingTransfer {
public:
    PendingAtomics(std::span<const mpi::ListedAtomic> list, std::uint64_t value_bytes)
        : answers_(list.size()), value_bytes_{value_bytes} {
        results_.reserve(list.size());
        for (const mpi::ListedAtomic& one : list) results_.push_back(one.before);
    }

    [[nodiscard]] std::byte* answer(std::size_t k) noexcept {
        return reinterpret_cast<std::byte*>(answers_.data() + k);
    }
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

void WindowAtomics::fetch_here(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, std::byte* base,
                               std::span<const mpi::ListedAtomic> list) {
    const bool swaps = list.front().expected != nullptr;
    for (const mpi::ListedAtomic& one : list) {
        if (facts_.mpi_atomics && swaps)
            compare_swap(type, target, one.offset, one.expected, one.operand, one.before, std::memory_order_relaxed);
        else if (facts_.mpi_atomics)
            fetch(operation, type, target, one.offset, one.operand, one.before, std::memory_order_relaxed);
        else if (swaps) mpi::processor_compare_swap(type, base + one.offset, one.expected, one.operand, one.before);
        else mpi::processor_fetch(operation, type, base + one.offset, one.operand, one.before);
    }
}

Completion WindowAtomics::start(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target,
                                std::span<const mpi::ListedAtomic> list) {
    if (list.empty()) return {};
    facts_.state.progress_driver().serve_now_and_then();
    Completion completion;
    if (std::byte* const base = facts_.map.base(target)) fetch_here(operation, type, target, base, list);
    else completion = start_there(operation, type, target, list);
    if (operation != mpi::AtomicOperation::read && order_.copies().concerns(target)) [[unlikely]]
        for (const mpi::ListedAtomic& one : list) order_.copies().invalidated(target, one.offset, mpi::size_of(type));
    return completion;
}

Completion WindowAtomics::start_there(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target,
                                      std::span<const mpi::ListedAtomic> list) {
    const bool swaps = list.front().expected != nullptr;
    const std::uint64_t bytes = mpi::size_of(type);
    const auto [lowest, highest] = std::ranges::minmax(list, {}, &mpi::ListedAtomic::offset);
    const transport::BegunAccess access = order_.begin({target, lowest.offset, highest.offset + bytes - lowest.offset,
                                                        transport::Access::Kind::update, "Window::fetch"},
                                                       list, bytes);

    auto pending = std::make_unique<PendingAtomics>(list, bytes);
    const std::uint64_t entry = swaps ? sizeof(messages::ListedSwap) : sizeof(messages::AddPayload);
    const std::size_t most = std::max<std::size_t>(1, transports_.messages.inline_limit() / entry);
    std::vector<std::byte> payload;
    for (std::size_t at = 0; at < list.size(); at += most) {
        const auto now = list.subspan(at, std::min(list.size() - at, most));
        payload.resize(now.size() * entry);
        for (std::size_t k = 0; k < now.size(); ++k) {
            messages::ListedSwap one;
            one.offset = now[k].offset;
            std::memcpy(&one.values.operand, now[k].operand, bytes);
            if (swaps) std::memcpy(&one.values.expected, now[k].expected, bytes);
            // AddPayload is its beginning.
            std::memcpy(payload.data() + k * entry, &one, entry);
        }
        const messages::Request request{.kind = messages::RequestKind::atomics,
                                        .operation = operation,
                                        .type = type,
                                        .is_compare_swap = static_cast<std::uint8_t>(swaps ? 1 : 0),
                                        .window = facts_.number,
                                        .size = payload.size()};
        pending->add(Completion{transports_.messages.start_atomics(access, request, payload, pending->answer(at))},
                     at + now.size());
    }
    facts_.statistics.add(Counter::service_atomics, list.size());
    return Completion{std::move(pending)};
}

} // namespace detail::window

std::vector<detail::mpi::ListedAtomic> Window::make_list(std::span<const Offset> offsets, std::size_t results,
                                                         std::size_t operands, const char* call) const {
    const detail::window::WindowState& state = open_state(call);
    if (results != offsets.size() || (operands != SIZE_MAX && operands != offsets.size()))
        throw RangeError{
            fmt::format("{}: {} offsets, {} results{}; pass as many of each, and operands one for all or as many",
                        state.facts().who(call), offsets.size(), results,
                        operands == SIZE_MAX ? "" : fmt::format(" and {} operands", operands))};
    std::vector<detail::mpi::ListedAtomic> list(offsets.size());
    for (std::size_t k = 0; k < list.size(); ++k) list[k].offset = offsets[k].bytes;
    return list;
}

Completion Window::start_atomics(detail::mpi::AtomicOperation operation, detail::mpi::AtomicType type, Rank target,
                                 std::span<const detail::mpi::ListedAtomic> list, const char* call) {
    const bool of_bits = operation == Atomic::bit_and || operation == Atomic::bit_or || operation == Atomic::bit_xor;
    if (of_bits && (type == detail::mpi::AtomicType::float32 || type == detail::mpi::AtomicType::float64))
        throw UsageError{
            fmt::format("{}: {} works on integers, not on floating point numbers; use std::uint32_t or std::uint64_t "
                        "values",
                        open_state(call).facts().who(call), detail::mpi::update_name(operation))};
    (void)checked_address(target, Offset{0}, 0, call);
    for (const detail::mpi::ListedAtomic& one : list)
        detail::window::AtomicPlace{*this, target, Offset{one.offset}}.check(type, call);
    if (!list.empty()) require_host_memory(list.front().before, call);
    return state_->atomics().start(operation, type, target, list);
}

} // namespace lapwing
