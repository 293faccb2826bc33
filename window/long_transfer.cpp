#include "window/long_transfer.hpp"

#include "src/support/first_problem.hpp"

namespace lapwing::window {

void LongTransfers::add(LongTransfer& transfer) {
    const std::lock_guard guard{mutex_};
    list_.push_back(transfer);
    count_.store(list_.size(), std::memory_order_release);
}

void LongTransfers::remove(LongTransfer& transfer) noexcept {
    const std::lock_guard guard{mutex_};
    if (transfer.is_linked()) list_.erase(list_.iterator_to(transfer));
    count_.store(list_.size(), std::memory_order_release);
}

template <class Wanted>
LongTransfer* LongTransfers::find(Wanted&& wanted) {
    const std::lock_guard guard{mutex_};
    for (LongTransfer& transfer : list_)
        if (wanted(transfer)) return &transfer;
    return nullptr;
}

template <class Wanted>
void LongTransfers::finish_if(Wanted&& wanted) {
    support::FirstProblem problem;
    while (LongTransfer* const transfer = find(wanted)) problem.attempt([&] { transfer->finish(); });
    problem.rethrow();
}

void LongTransfers::before(int target, std::uint64_t offset, std::uint64_t bytes, bool write) {
    if (has_turn()) return;
    const auto wanted = [&](const LongTransfer& transfer) { return transfer.meets(target, offset, bytes, write); };
    if (find(wanted) == nullptr) return; // without waiting for a thread that moves others on
    const Turn turn{*this};
    finish_if(wanted);
}

void LongTransfers::finish(int target) {
    if (has_turn()) return;
    const Turn turn{*this};
    finish_if([target](const LongTransfer& transfer) { return transfer.target() == target; });
}

void LongTransfers::finish() {
    if (has_turn()) return;
    const Turn turn{*this};
    finish_if([](const LongTransfer&) { return true; });
}

void LongTransfers::free_memory() {
    const auto wanted = [](const LongTransfer& transfer) { return transfer.holds_memory(); };
    if (has_turn()) return finish_if(wanted);
    const Turn turn{*this};
    finish_if(wanted);
}

void LongTransfers::discard() noexcept {
    const Turn turn{*this};
    while (LongTransfer* const transfer = find([](const LongTransfer&) { return true; })) transfer->discard();
}

} // namespace lapwing::window
