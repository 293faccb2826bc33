#include "cache/repeated_reads.hpp"

#include <utility>

namespace lapwing::detail::cache {

void RepeatedReads::missed(Frame frame, std::uint64_t epoch_before) {
    const Rank rank = pages_[frame].rank;
    Continuation& continuation = continuation_of(rank);
    const bool left = continuation.page != no_page && continuation.rank == rank;
    continuation.page = no_page;
    if (left && continuation.epoch == epoch_before && reads_all()) go_further();
    else if (left) distance_ /= 2;
    if (distance_ == 0 && ++not_asked_ == misses_of_pause) {
        not_asked_ = 0;
        distance_ = first_distance / 2;
    }
    ask(rank, frame, epoch_before, std::min({distance_, largest_, most_at_once}));
}

void RepeatedReads::used(Frame frame) {
    ++read_;
    const Page& page = pages_[frame];
    Continuation& continuation = continuation_of(page.rank);
    if (continuation.page != page.number) return;
    continuation.page = no_page;
    go_further();
    ask(page.rank, continuation.after, continuation.epoch, distance_);
}

void RepeatedReads::settle() noexcept {
    if (epoch_ == pages_.now()) return;
    epoch_ = pages_.now();
    asked_ += std::exchange(asked_now_, 0);
    if (asked_ <= judged_pages) return;
    asked_ /= 2;
    read_ /= 2;
}

void RepeatedReads::ask(Rank rank, Frame after, std::uint64_t epoch, std::uint64_t pages) {
    if (pages == 0) return;
    const DropUnsent drop{fetcher_};
    std::array<std::uint64_t, most_pages> numbers; // of those that are asked for
    std::uint64_t count = 0;
    Frame frame = after;
    for (std::uint64_t left = pages * frames_for_a_page; left > 0 && count < pages; --left) {
        frame = frame + 1 < pages_.frames() ? frame + 1 : 0;
        Page& page = pages_[frame];
        if (page.rank != rank || page.epoch != epoch || page.operation != no_operation) continue;
        const std::uint64_t lines = lines_read_before(frame);
        if (lines == 0) continue;
        pages_.renew(frame, pages_.now());
        fetcher_.add_to_group(frame, lines);
        page.listed = true;
        numbers[count++] = page.number;
    }
    fetcher_.send_group();
    settle();
    asked_now_ += count;
    // While half of them are read, more arrive.
    if (count != 0) continuation_of(rank) = {numbers[count / 2], rank, frame, epoch};
}

} // namespace lapwing::detail::cache
