#pragma once

#include "cache/cached_pages.hpp"
#include "cache/fetcher.hpp"

#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::cache {

/// Asks for what the program reads again after an acquire, in the same order: the elements of a list, for instance, in
/// any order of addresses. New pages get neighbouring frames, so the frames after that of a page hold what was read
/// after it.
///
/// The distance doubles while the program follows the list, and halves, down to nothing, when it does not: at a miss.
/// Where nearly all that was asked for was read sooner or later, the program reads the same in another order, and the
/// distance doubles at a miss, too.
/// A page that was asked for in vain is not asked for again before it has been read: no more is fetched in vain than
/// was read.
class RepeatedReads {
public:
    RepeatedReads(CachedPages& pages, Fetcher& fetcher) noexcept : pages_{pages}, fetcher_{fetcher} {}

    /// Forgets all; at most `largest_distance` pages ahead from now on.
    void lay_out(std::uint64_t largest_distance) noexcept {
        largest_ = std::min(largest_distance, most_pages);
        continuations_.fill({});
        asked_ = read_ = asked_now_ = 0;
    }

    /// After an acquire: the lines of a clean page from which the program read in an earlier epoch, one bit each. None
    /// if pages have more than 64 lines.
    [[nodiscard]] std::uint64_t lines_read_before(Frame frame) const noexcept {
        const Page& page = pages_[frame];
        const auto lines = pages_.valid(frame);
        const bool was_read = page.read && page.dirty == DirtyPages::none && page.epoch != pages_.now();
        return was_read && lines.size() == 1 ? lines.front() : 0;
    }

    /// A read misses a page that was read in an earlier epoch, before it is fetched.
    void missed(Frame frame, std::uint64_t epoch_before);
    /// Of a page that was asked for here: it is read.
    void used(Frame frame);

private:
    static constexpr std::uint64_t most_pages = 120;
    static constexpr std::uint64_t first_distance = 8;
    /// Before a read that waits for what it has missed.
    static constexpr std::uint64_t most_at_once = 32;
    /// So many misses after it has become 0 the distance is tried again.
    static constexpr std::uint64_t misses_of_pause = 64;
    /// Pages that count for reads_all(), more or less.
    static constexpr std::uint64_t judged_pages = 1024;
    /// Frames that are looked at for a page: other pages lie between those of a list.
    static constexpr std::uint64_t frames_for_a_page = 4;

    /// When the page is read, more is asked for: what follows a frame, and was read in an epoch.
    struct Continuation {
        std::uint64_t page = no_page;
        Rank rank = -1;
        Frame after = no_frame;
        std::uint64_t epoch = 0;
    };
    /// Many ranks share a place.
    [[nodiscard]] Continuation& continuation_of(Rank rank) noexcept {
        return continuations_[static_cast<std::size_t>(rank.value) % continuations_.size()];
    }
    void ask(Rank rank, Frame after, std::uint64_t epoch, std::uint64_t pages);
    /// Whether nearly all of what was asked for before the last acquire was read.
    [[nodiscard]] bool reads_all() noexcept {
        settle();
        return 4 * read_ >= 3 * asked_;
    }
    /// What was asked for before the last acquire is read, or never will be.
    void settle() noexcept;
    void go_further() noexcept { distance_ = std::min(2 * std::max<std::uint64_t>(distance_, 1), largest_); }

    CachedPages& pages_;
    Fetcher& fetcher_;
    std::uint64_t largest_ = 0;
    std::uint64_t distance_ = first_distance;
    std::uint64_t not_asked_ = 0; ///< misses since the distance became 0
    std::uint64_t asked_ = 0;     ///< pages, before the last acquire
    std::uint64_t read_ = 0;      ///< of those, and of asked_now_
    std::uint64_t asked_now_ = 0; ///< since the acquire that began `epoch_`
    std::uint64_t epoch_ = 0;
    std::array<Continuation, 8> continuations_{};
};

} // namespace lapwing::detail::cache
