#include "cache/dirty_pages.hpp"

#include <algorithm>

namespace lapwing::detail::cache {
namespace {

/// Words of all masks at the largest page size.
[[nodiscard]] std::uint64_t words_of_largest_pages(const PageCacheConfiguration& configuration) noexcept {
    const std::uint64_t largest = largest_page_bytes(configuration);
    return std::min(configuration.dirty_pages, configuration.bytes / largest) * (largest / 64);
}

} // namespace

DirtyPages::DirtyPages(const PageCacheConfiguration& configuration, std::atomic<std::uint32_t>& count) : count_{count} {
    bits_.reserve(words_of_largest_pages(configuration));
}

void DirtyPages::lay_out(const PageCacheLayout& layout) {
    const auto masks = static_cast<Mask>(layout.dirty_pages);
    words_ = layout.page_bytes / 64;
    bits_.assign(masks * words_, 0);
    links_.assign(masks, {});
    free_ = none;
    for (Mask mask = masks; mask-- > 0;) {
        links_[mask].after = free_;
        free_ = mask;
    }
    oldest_ = newest_ = none;
}

DirtyPages::Mask DirtyPages::attach(Frame frame) noexcept {
    const Mask mask = free_;
    free_ = links_[mask].after;
    links_[mask] = {frame, newest_, none};
    (newest_ != none ? links_[newest_].after : oldest_) = mask;
    newest_ = mask;
    count_.fetch_add(1, std::memory_order_release);
    return mask;
}

void DirtyPages::detach(Mask mask) noexcept {
    std::ranges::fill(bits(mask), 0);
    const Links links = links_[mask];
    (links.before != none ? links_[links.before].after : oldest_) = links.after;
    (links.after != none ? links_[links.after].before : newest_) = links.before;
    links_[mask] = {no_frame, none, free_};
    free_ = mask;
    count_.fetch_sub(1, std::memory_order_release);
}

std::uint64_t DirtyPages::memory_bytes() const noexcept {
    return bits_.capacity() * sizeof(std::uint64_t) + links_.capacity() * sizeof(Links);
}

std::uint64_t DirtyPages::memory_for(const PageCacheConfiguration& configuration) noexcept {
    const PageCacheLayout most{configuration, least_page_bytes(configuration)};
    return most.dirty_pages * sizeof(Links) +
           std::max(most.dirty_pages * (most.page_bytes / 64), words_of_largest_pages(configuration)) *
               sizeof(std::uint64_t);
}

} // namespace lapwing::detail::cache
