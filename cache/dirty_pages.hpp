#pragma once

#include "cache/bits.hpp"
#include "cache/page_cache_configuration.hpp"
#include "cache/replacement.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::cache {

/// Which bytes are dirty: a mask, one bit per byte, for each of a bounded number of pages, in the order in which they
/// became dirty.
class DirtyPages {
public:
    using Mask = std::uint32_t;
    static constexpr Mask none = ~Mask{0};

    /// `count` counts the masks in use, for other threads to read.
    DirtyPages(const PageCacheConfiguration& configuration, std::atomic<std::uint32_t>& count);

    /// Drops all masks, and makes room for those of the layout.
    void lay_out(const PageCacheLayout& layout);

    [[nodiscard]] bool any() const noexcept { return count() != 0; }
    /// Of dirty pages.
    [[nodiscard]] std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
    [[nodiscard]] bool full() const noexcept { return free_ == none; }
    /// The number of masks.
    [[nodiscard]] std::size_t room() const noexcept { return links_.size(); }

    /// An empty mask for the page in `frame`. Must not be called when full().
    [[nodiscard]] Mask attach(Frame frame) noexcept;
    void detach(Mask mask) noexcept;

    /// The page that has been dirty longest; none if no page is dirty.
    [[nodiscard]] Mask oldest() const noexcept { return oldest_; }
    /// The one that became dirty next after it.
    [[nodiscard]] Mask after(Mask mask) const noexcept { return links_[mask].after; }
    [[nodiscard]] Frame frame(Mask mask) const noexcept { return links_[mask].frame; }

    [[nodiscard]] std::span<std::uint64_t> bits(Mask mask) noexcept { return {bits_.data() + mask * words_, words_}; }
    [[nodiscard]] std::span<const std::uint64_t> bits(Mask mask) const noexcept {
        return {bits_.data() + mask * words_, words_};
    }
    /// Whether any of, or all, these bytes of a page are dirty; `mask` may be none.
    [[nodiscard]] bool any(Mask mask, std::uint64_t begin, std::uint64_t end) const noexcept {
        return mask != none && bits::any(bits(mask), begin, end);
    }
    [[nodiscard]] bool all(Mask mask, std::uint64_t begin, std::uint64_t end) const noexcept {
        return mask != none && bits::all(bits(mask), begin, end);
    }

    /// Aborts the process if an invariant is violated, in builds with internal assertions.
    void validate() const;

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept;

private:
    /// The page of a mask, and its neighbours in the list.
    struct Links {
        Frame frame = no_frame;
        Mask before = none;
        Mask after = none;
    };

    std::atomic<std::uint32_t>& count_;
    std::size_t words_ = 0; ///< of one mask
    std::vector<std::uint64_t> bits_;
    std::vector<Links> links_; ///< of each mask
    Mask free_ = none;         ///< list through `after`
    Mask oldest_ = none;
    Mask newest_ = none;
};

} // namespace lapwing::detail::cache
