#include "cache/repeated_reads.hpp"

namespace lapwing::detail::cache {

void RepeatedReads::missed(Frame frame, std::uint64_t epoch_before) {
    const Rank rank = pages_[frame].rank;
    Continuation& continuation = continuation_of(rank);
    const bool left = continuation.page != no_page && continuation.rank == rank;
    continuation.page = no_page;
    if (left) distance_ /= 2;
    if (distance_ == 0 && ++not_asked_ == misses_of_pause) {
        not_asked_ = 0;
        distance_ = first_distance / 2;
    }
    ask(rank, frame, epoch_before, std::min({distance_, largest_, most_at_once}));
}

void RepeatedReads::used(Frame frame) {
    const Page& page = pages_[frame];
    Continuation& continuation = continuation_of(page.rank);
    if (continuation.page != page.number) return;
    continuation.page = no_page;
    distance_ = std::min(2 * std::max<std::uint64_t>(distance_, 1), largest_);
    ask(page.rank, continuation.after, continuation.epoch, distance_);
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
    // While half of them are read, more arrive.
    if (count != 0) continuation_of(rank) = {numbers[count / 2], rank, frame, epoch};
}

} // namespace lapwing::detail::cache
