#include "window/lost_writes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

namespace lapwing::detail::window {

LostWrites::Lost& LostWrites::of(Rank rank) {
    any_.store(true, std::memory_order_relaxed);
    const auto found = std::ranges::find(lost_, rank, &Lost::rank);
    return found != lost_.end() ? *found : lost_.emplace_back(Lost{.rank = rank});
}

void LostWrites::note(Rank rank, std::uint64_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard guard{mutex_};
    of(rank).bytes += bytes;
}

void LostWrites::note_under_way(Rank rank) {
    const std::lock_guard guard{mutex_};
    of(rank).under_way = true;
}

std::string LostWrites::take() {
    const std::lock_guard guard{mutex_};
    std::string text;
    const auto add = [&](const std::string& what, Rank rank) {
        text += fmt::format("{}{} to rank {}", text.empty() ? "" : ", ", what, rank.value);
    };
    for (const Lost& lost : lost_) {
        if (lost.bytes != 0) add(fmt::format("{} {}", lost.bytes, lost.bytes == 1 ? "byte" : "bytes"), lost.rank);
        if (lost.under_way) add("what was under way", lost.rank);
    }
    lost_.clear();
    any_.store(false, std::memory_order_relaxed);
    return text;
}

} // namespace lapwing::detail::window
