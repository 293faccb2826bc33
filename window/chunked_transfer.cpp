#include "window/chunked_transfer.hpp"

#include "src/support/first_problem.hpp"

#include <optional>

namespace lapwing::detail::window {

void ChunkedTransfers::add(ChunkedTransfer& transfer) {
    const std::lock_guard guard{mutex_};
    list_.push_back(transfer);
    count_.store(list_.size(), std::memory_order_release);
}

void ChunkedTransfers::remove(ChunkedTransfer& transfer) noexcept {
    const std::lock_guard guard{mutex_};
    if (transfer.is_linked()) list_.erase(list_.iterator_to(transfer));
    count_.store(list_.size(), std::memory_order_release);
}

template <class Wanted>
ChunkedTransfer* ChunkedTransfers::find(Wanted&& wanted) {
    const std::lock_guard guard{mutex_};
    for (ChunkedTransfer& transfer : list_)
        if (wanted(transfer)) return &transfer;
    return nullptr;
}

template <class Wanted>
void ChunkedTransfers::finish_if(Wanted&& wanted) {
    support::FirstProblem problem;
    while (ChunkedTransfer* const transfer = find(wanted)) problem.attempt([&] { transfer->finish(); });
    problem.rethrow();
}

void ChunkedTransfers::before(Rank target, Offset offset, std::uint64_t bytes, bool write) {
    if (locked_by_caller()) return;
    const auto wanted = [&](const ChunkedTransfer& transfer) { return transfer.meets(target, offset, bytes, write); };
    if (find(wanted) == nullptr) return; // without waiting for a thread that moves others on
    const Lock lock{*this};
    finish_if(wanted);
}

void ChunkedTransfers::finish(Rank target) {
    if (locked_by_caller()) return;
    const Lock lock{*this};
    finish_if([target](const ChunkedTransfer& transfer) { return transfer.target() == target; });
}

void ChunkedTransfers::finish() {
    if (locked_by_caller()) return;
    const Lock lock{*this};
    finish_if([](const ChunkedTransfer&) { return true; });
}

namespace {
bool with_memory(const ChunkedTransfer& transfer) { return transfer.holds_memory(); }
} // namespace

void ChunkedTransfers::free_memory() {
    if (locked_by_caller()) return finish_if(with_memory);
    const Lock lock{*this};
    finish_if(with_memory);
}

bool ChunkedTransfers::try_to_free_memory() {
    if (empty()) return true;
    std::optional<Lock> lock;
    if (!locked_by_caller()) lock.emplace(*this);
    while (ChunkedTransfer* const transfer = find(with_memory))
        if (!transfer->advance()) return false;
    return true;
}

void ChunkedTransfers::discard() noexcept {
    const Lock lock{*this};
    while (ChunkedTransfer* const transfer = find([](const ChunkedTransfer&) { return true; })) transfer->discard();
}

} // namespace lapwing::detail::window
