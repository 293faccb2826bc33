#pragma once

#include <cstdint>
#include <utility>

namespace lapwing::detail::cache {

/// When reads or writes bypass the cache, and for how long.
struct BypassLimits {
    std::uint32_t misses_per_hit = 16; ///< one hit per so many misses pays for their overhead
    std::uint32_t first_probe = 256;   ///< misses
    std::uint32_t later_probe = 64;
    std::uint32_t first_pause = 4096; ///< accesses
    std::uint32_t longest_pause = 1U << 14;
    std::uint32_t least_pause = 1024; ///< after so many an acquire ends it
};

/// Predicts whether reading through the cache pays. Random reads that almost never return to a page only cost time:
/// after a run of them, reads bypass the cache for a while, each time for longer, before it is tried again; also after
/// an acquire, since a program may read then what it has read before. The same for writes, with their own limits.
class BypassPredictor {
public:
    explicit BypassPredictor(bool adapt, const BypassLimits& limits = {}) noexcept : adapt_{adapt}, limits_{limits} {}

    /// Whether an access to `page`, which the page table did not serve, should bypass the cache. Consecutive
    /// accesses to neighbouring pages end the bypass at once. `epoch`: the number of acquires so far, of reads.
    [[nodiscard]] bool pass(std::uint64_t page, std::uint64_t epoch = 0) noexcept {
        if (passing_ == 0) [[likely]]
            return false;
        if (epoch != std::exchange(epoch_, epoch) && passed_ >= limits_.least_pause) {
            passing_ = 0;
            probe_ = limits_.later_probe;
            return false;
        }
        ++passed_;
        near_ += page - last_page_ + 1 <= 2 ? 1U : 0U;
        last_page_ = page;
        --passing_;
        if (near_ >= enough_near) passing_ = 0;
        if (passing_ % near_window == 0) near_ = 0;
        if (passing_ == 0) probe_ = limits_.later_probe;
        return true;
    }

    /// An access found what an earlier epoch had taught the cache to ask for: the program repeats its reads, so some
    /// misses now are hits in the next epoch.
    void repeated() noexcept { credit_ = credit_ < most_credit ? credit_ + misses_of_repeated : credit_; }

    /// The outcome of an access; `table_hits` is the number of accesses of its kind, reads or writes, that the page
    /// table has served so far. True when such accesses bypass the cache from now on.
    bool judge(bool hit, std::uint64_t table_hits) noexcept {
        hits_ += hit ? 1U : 0U;
        misses_ += hit ? 0U : 1U;
        if (misses_ < probe_) return false;
        const std::uint64_t all_hits = hits_ + (table_hits - table_hits_before_);
        bool pays = all_hits * limits_.misses_per_hit >= misses_;
        if (!pays && credit_ >= misses_) {
            credit_ -= misses_;
            pays = true;
        }
        table_hits_before_ = table_hits;
        hits_ = 0;
        misses_ = 0;
        if (pays || !adapt_) {
            pause_ = limits_.first_pause;
            probe_ = limits_.first_probe;
            return false;
        }
        passing_ = pause_;
        passed_ = 0;
        pause_ = pause_ * 2 < limits_.longest_pause ? pause_ * 2 : limits_.longest_pause;
        return true;
    }

private:
    static constexpr std::uint32_t enough_near = 4; ///< among near_window reads
    static constexpr std::uint32_t near_window = 32;
    static constexpr std::uint32_t misses_of_repeated = 4; ///< far fewer than a hit pays for by itself
    static constexpr std::uint32_t most_credit = 4096;

    bool adapt_;
    BypassLimits limits_;
    std::uint32_t passing_ = 0;
    std::uint32_t passed_ = 0; ///< in this bypass
    std::uint64_t epoch_ = 0;  ///< of the last access that bypassed the cache
    std::uint32_t near_ = 0;
    std::uint64_t last_page_ = 0;
    std::uint32_t pause_ = limits_.first_pause;
    std::uint32_t probe_ = limits_.first_probe;
    std::uint32_t credit_ = 0; ///< misses that do not count
    std::uint32_t hits_ = 0;
    std::uint32_t misses_ = 0;
    std::uint64_t table_hits_before_ = 0;
};

} // namespace lapwing::detail::cache
