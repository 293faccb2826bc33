#include "src/team/barrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lapwing::detail::team {
namespace {

template <class T>
void lower_to(std::atomic<T>& cell, T value) {
    T seen = cell.load(std::memory_order_relaxed); // ordered by the arrival counter
    while (value < seen && !cell.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
}

template <class T>
void raise_to(std::atomic<T>& cell, T value) {
    T seen = cell.load(std::memory_order_relaxed); // ordered by the arrival counter
    while (value > seen && !cell.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
}

/// Whether there is a CollectiveCall of this number.
constexpr bool is_collective_call(std::int32_t call) {
    return call >= 0 && call <= static_cast<std::int32_t>(CollectiveCall::refused); // the last one
}

} // namespace

const char* name(CollectiveCall call) {
    switch (call) {
    case CollectiveCall::barrier: return "Team::barrier (or notify and wait)";
    case CollectiveCall::window_create: return "the creation of a window";
    case CollectiveCall::window_close: return "the close of a window";
    case CollectiveCall::team_close: return "Team::close";
    case CollectiveCall::on_window: return "a collective call on an array";
    case CollectiveCall::end_on_window: return "the end of a collective call on an array";
    case CollectiveCall::file_load: return "the load of an array from a file";
    case CollectiveCall::lock_create: return "the creation of a lock";
    case CollectiveCall::lock_close: return "the close of a lock";
    case CollectiveCall::upc_collective: return "a collective call of UPC";
    case CollectiveCall::refused: return "a call that it could not make";
    }
    return "?";
}

bool begins_with_barrier(std::string_view call) {
    for (std::int32_t one = 0; is_collective_call(one); ++one)
        if (call == name(static_cast<CollectiveCall>(one))) return true;
    return false;
}

namespace {

/// The letter of each number of five bits; 0 stands for none.
constexpr std::string_view letters{"\0abcdefghijklmnopqrstuvwxyz_", 28};
constexpr int letter_bits = 5;
constexpr int name_letters = 9;
constexpr int window_bits = 16;

} // namespace

std::int64_t identity_on_window(std::string_view call, std::uint64_t window) noexcept {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < name_letters; ++i) {
        const std::size_t number = i < call.size() ? letters.find(call[i]) : 0;
        word = word << letter_bits | (number < letters.size() ? number : 0);
    }
    return static_cast<std::int64_t>(word << window_bits | (window & 0xFFFF));
}

std::string call_on_window(std::int64_t identity) {
    const auto word = static_cast<std::uint64_t>(identity);
    std::string call;
    for (int shift = window_bits + (name_letters - 1) * letter_bits; shift >= window_bits; shift -= letter_bits)
        if (const std::size_t number = word >> shift & 31; number != 0 && number < letters.size())
            call += letters[number];
    return call;
}

std::string text_on_window(std::int64_t identity) {
    return fmt::format("{} on that made as number {}", call_on_window(identity),
                       static_cast<std::uint64_t>(identity) & 0xFFFF);
}

std::string text_of_lock(std::int64_t identity) {
    return fmt::format("the one in place {} with home rank {}", identity >> 32,
                       static_cast<std::int32_t>(identity & 0xFFFFFFFF));
}

void Attendance::merge(const Attendance& other) {
    lowest_identity = std::min(lowest_identity, other.lowest_identity);
    highest_identity = std::max(highest_identity, other.highest_identity);
    lowest_arguments = std::min(lowest_arguments, other.lowest_arguments);
    highest_arguments = std::max(highest_arguments, other.highest_arguments);
    lowest_call = std::min(lowest_call, other.lowest_call);
    highest_call = std::max(highest_call, other.highest_call);
}

void NodeBarrier::reset() {
    const Attendance none;
    lowest_identity.store(none.lowest_identity, std::memory_order_relaxed);
    highest_identity.store(none.highest_identity, std::memory_order_relaxed);
    lowest_arguments.store(none.lowest_arguments, std::memory_order_relaxed);
    highest_arguments.store(none.highest_arguments, std::memory_order_relaxed);
    lowest_call.store(none.lowest_call, std::memory_order_relaxed);
    highest_call.store(none.highest_call, std::memory_order_relaxed);
    arrived.store(0, std::memory_order_relaxed);
}

void Barrier::notify(CollectiveCall call, std::optional<std::int64_t> identity, std::optional<std::int64_t> arguments) {
    Attendance own;
    own.lowest_call = own.highest_call = static_cast<std::int32_t>(call);
    if (identity) own.lowest_identity = own.highest_identity = *identity;
    if (arguments) own.lowest_arguments = own.highest_arguments = *arguments;

    notified_.store(true, std::memory_order_relaxed);
    if (node_ != nullptr) {
        if (call == CollectiveCall::team_close) state(topology_.node_rank()).store(closing, std::memory_order_release);
        arrive(own);
        if (rounds() == 0) return; // the last to arrive, or the first rank of the node, lets all go
    }
    const std::lock_guard guard{engine_.mutex()};
    merged_ = own;
    round_ = 0;
    gathered_ = node_ == nullptr;
    gathering_.store(!gathered_, std::memory_order_relaxed);
    sent_ = false;
    active_ = true;
    advance_rounds();
}

void Barrier::arrive(const Attendance& own) {
    lower_to(node_->lowest_call, own.lowest_call);
    raise_to(node_->highest_call, own.highest_call);
    if (own.lowest_identity <= own.highest_identity) {
        lower_to(node_->lowest_identity, own.lowest_identity);
        raise_to(node_->highest_identity, own.highest_identity);
    }
    if (own.lowest_arguments <= own.highest_arguments) {
        lower_to(node_->lowest_arguments, own.lowest_arguments);
        raise_to(node_->highest_arguments, own.highest_arguments);
    }
    // Acquire and release: the last to arrive sees everything that the others did, and passes it on.
    if (node_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != static_cast<std::uint32_t>(topology_.node_size()))
        return;
    node_->result[own_ & 1] = {node_->lowest_identity.load(std::memory_order_relaxed),
                               node_->highest_identity.load(std::memory_order_relaxed),
                               node_->lowest_arguments.load(std::memory_order_relaxed),
                               node_->highest_arguments.load(std::memory_order_relaxed),
                               node_->lowest_call.load(std::memory_order_relaxed),
                               node_->highest_call.load(std::memory_order_relaxed)};
    node_->reset();
    // Release: as above, for the first rank of the node, or for all where there is no other node.
    if (topology_.nodes() == 1) node_->generation.store(own_ + 1, std::memory_order_release);
    else node_->gathered.store(own_ + 1, std::memory_order_release);
}

void Barrier::advance_rounds() {
    if (!gathered_) {
        if (node_->gathered.load(std::memory_order_acquire) <= sequence_) return;
        merged_ = node_->result[sequence_ & 1];
        gathered_ = true;
        gathering_.store(false, std::memory_order_relaxed);
    }
    while (round_ < rounds()) {
        if (!sent_) {
            const messages::BarrierToken token{.sequence = sequence_,
                                               .round = static_cast<std::uint64_t>(round_),
                                               .lowest_identity = merged_.lowest_identity,
                                               .highest_identity = merged_.highest_identity,
                                               .lowest_arguments = merged_.lowest_arguments,
                                               .highest_arguments = merged_.highest_arguments,
                                               .lowest_call = merged_.lowest_call,
                                               .highest_call = merged_.highest_call,
                                               .origin = rank_};
            if (!engine_.try_send_locked(topology_.next_leaders()[static_cast<std::size_t>(round_)], token)) return;
            sent_ = true;
        }
        Received& received = received_[sequence_ & 1][round_];
        if (!received.here) return;
        received.here = false;
        merged_.merge(received.attendance);
        sent_ = false;
        ++round_;
    }
    active_ = false;
    if (node_ != nullptr) node_->result[sequence_ & 1] = merged_;
    ++sequence_;
    // Release: what the other ranks wrote before they notified is visible to whoever sees this.
    if (node_ != nullptr) node_->generation.store(sequence_, std::memory_order_release);
    else carried_.store(sequence_, std::memory_order_release);
}

bool Barrier::on_token(const messages::BarrierToken& token) {
    if (token.round >= static_cast<std::uint64_t>(rounds()) ||
        token.origin != topology_.previous_leaders()[token.round] ||
        (token.sequence != sequence_ && token.sequence != sequence_ + 1) || !is_collective_call(token.lowest_call) ||
        !is_collective_call(token.highest_call))
        return false;
    Received& received = received_[token.sequence & 1][token.round];
    if (received.here || (token.sequence == sequence_ && active_ && token.round < static_cast<std::uint64_t>(round_)))
        return false; // twice
    received = {true,
                {token.lowest_identity, token.highest_identity, token.lowest_arguments, token.highest_arguments,
                 token.lowest_call, token.highest_call},
                token.origin};
    advance();
    return true;
}

bool Barrier::complete() const noexcept {
    const std::atomic<std::uint64_t>& complete = node_ != nullptr ? node_->generation : carried_;
    return complete.load(std::memory_order_acquire) > own_;
}

Attendance Barrier::attendance() {
    if (node_ != nullptr) return node_->result[(own_ - 1) & 1];
    const std::lock_guard guard{engine_.mutex()};
    return merged_;
}

void Barrier::end() noexcept {
    ++own_;
    notified_.store(false, std::memory_order_relaxed);
    // A close that met another call has ended; the next close notifies again.
    if (node_ == nullptr) return;
    std::atomic<std::uint8_t>& own_state = state(topology_.node_rank());
    if (own_state.load(std::memory_order_relaxed) != 0) own_state.store(0, std::memory_order_relaxed);
}

void Barrier::mark_waiting() noexcept {
    if (node_ != nullptr && notified()) state(topology_.node_rank()).fetch_or(long_waiting, std::memory_order_relaxed);
}

std::optional<std::string> Barrier::missing() {
    if (!notified()) return {}; // it waits for another call's
    if (node_ != nullptr) {
        constexpr int most = 4;
        std::string ranks;
        int count = 0;
        for (int i = 0; i < topology_.node_size(); ++i) {
            if (i == topology_.node_rank() || (state(i).load(std::memory_order_relaxed) & long_waiting) != 0) continue;
            if (count++ < most)
                ranks +=
                    fmt::format("{}{}", ranks.empty() ? "" : ", ", topology_.members()[static_cast<std::size_t>(i)]);
        }
        if (count != 0)
            return fmt::format("{} {}{}", count == 1 ? "rank" : "ranks", ranks,
                               count > most ? fmt::format(" and {} more", count - most) : "");
        if (rounds() == 0) return "ranks of other nodes";
    }
    const std::lock_guard guard{engine_.mutex()};
    if (!active_) return {};
    return fmt::format("rank {}, or one that it waits for",
                       topology_.previous_leaders()[static_cast<std::size_t>(round_)]);
}

int Barrier::closing_rank() {
    if (notified()) return -1;
    if (node_ != nullptr)
        for (int i = 0; i < topology_.node_size(); ++i)
            if (i != topology_.node_rank() && (state(i).load(std::memory_order_acquire) & closing) != 0)
                return topology_.members()[static_cast<std::size_t>(i)];
    const std::lock_guard guard{engine_.mutex()};
    for (const Received& received : received_[sequence_ & 1])
        if (received.here && received.attendance.highest_call == static_cast<std::int32_t>(CollectiveCall::team_close))
            return received.origin;
    return -1;
}

} // namespace lapwing::detail::team
