#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::cache {

/// Which page size suits a program: the study of MuPC's cache with Apex-MAP found that long pages pay exactly for long
/// vectors. The cost of a page size is the network time of its misses and of the bytes that it fetched, plus the
/// processor time of streamed pages. A neighbouring size is tried for a number of misses or streamed pages, and kept
/// if it costs clearly less.
class PageSize {
public:
    /// The initial `page_bytes`, and its bounds.
    PageSize(std::uint64_t page_bytes, std::uint64_t least, std::uint64_t largest) noexcept
        : size_{page_bytes}, least_{least}, largest_{largest} {}

    void missed() noexcept { ++misses_; }
    void fetched(std::uint64_t bytes) noexcept { bytes_ += bytes; }
    void read_ahead(std::uint64_t pages) noexcept { pages_ahead_ += pages; }

    /// The size from now on. Called at a release, where a change costs nothing; `reads` is the number of all reads so
    /// far.
    [[nodiscard]] std::uint64_t choose(std::uint64_t reads) noexcept {
        const bool busy = misses_ + pages_ahead_ >= judged_misses;
        if (!busy && reads - reads_before_ < judged_reads) return size_;
        if (reads == reads_before_) return size_;
        const double cost = static_cast<double>(misses_ * round_trip_bytes + pages_ahead_ * page_ahead_bytes + bytes_) /
                            static_cast<double>(reads - reads_before_);
        misses_ = 0;
        pages_ahead_ = 0;
        bytes_ = 0;
        reads_before_ = reads;
        if (trying_) {
            trying_ = false;
            if (cost < cost_before_ * gain) {
                pause_ = 0; // continue in the same direction
            } else {
                size_ = size_before_;
                larger_ = !larger_;
                pause_ = larger_ ? std::min(2 * last_pause_, longest_pause) : 1;
                last_pause_ = larger_ ? pause_ : last_pause_;
                return size_;
            }
        }
        if (!busy || pause_-- > 0) return size_; // few misses and streamed pages: nothing to gain
        const std::uint64_t next = larger_ ? size_ * 2 : size_ / 2;
        pause_ = 0;
        if (next < least_ || next > largest_) {
            larger_ = !larger_;
            pause_ = last_pause_;
            return size_;
        }
        cost_before_ = cost;
        size_before_ = size_;
        size_ = next;
        trying_ = true;
        return size_;
    }

private:
    static constexpr std::uint64_t judged_misses = 512; ///< and streamed pages
    static constexpr std::uint64_t judged_reads = 1U << 20;
    /// What the network transfers during a round trip: 20 us at 0.8 GB/s.
    static constexpr std::uint64_t round_trip_bytes = 16384;
    /// What the network transfers while the processor handles a page that is read ahead: 0.36 us at 3 GB/s, over TCP
    /// on one machine.
    static constexpr std::uint64_t page_ahead_bytes = 1024;
    static constexpr double gain = 0.9;
    static constexpr std::int64_t longest_pause = 256; ///< judgements

    std::uint64_t size_;
    std::uint64_t least_;
    std::uint64_t largest_;
    std::uint64_t misses_ = 0;
    std::uint64_t pages_ahead_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t reads_before_ = 0;
    std::uint64_t size_before_ = 0;
    double cost_before_ = 0;
    std::int64_t pause_ = 0;
    std::int64_t last_pause_ = 4;
    bool larger_ = true;
    bool trying_ = false;
};

} // namespace lapwing::detail::cache
