#include "prefetch/entry_fills.hpp"

#include "pipeline/round_robin.hpp"

#include <utility>

namespace lapwing::detail::prefetching {

void EntryFills::start(Entry& entry) {
    constexpr std::size_t most_under_way = 4096;
    if (left().size() >= most_under_way) transfers_[completed_++].wait();
    transfers_.push_back(entry.start_fill());
}

bool EntryFills::test() {
    for (; !left().empty(); ++completed_)
        if (!pipeline::test_first(left())) return false;
    return true;
}

void EntryFills::wait(team::TeamState& team) {
    EntryFills fills = std::exchange(*this, {});
    pipeline::wait_round_robin(team, fills.left());
}

void EntryFills::wait_alone() {
    EntryFills fills = std::exchange(*this, {});
    for (Completion& transfer : fills.left()) transfer.wait();
}

void EntryFills::clear() noexcept {
    transfers_.clear();
    completed_ = 0;
}

} // namespace lapwing::detail::prefetching
