#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"
#include "cache/operations_under_way.hpp"
#include "cache/page_size.hpp"
#include "cache/write_behind.hpp"

#include <lapwing/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

/// Fetches lines and pages into their frames: at once, in the background, several neighbouring pages in one get, or
/// lines of many pages in one message. Decides what must be waited for and sent first. Leaves dirty bytes as they are.
class Fetcher {
public:
    /// `page_size` is notified of what is fetched.
    Fetcher(const PageCacheConfiguration& configuration, Backend& backend, CachedPages& pages,
            OperationsUnderWay& under_way, WriteBehind& write_behind, PageSize& page_size,
            support::Statistics& statistics);

    /// Makes room for pages of this size.
    void lay_out(const PageCacheLayout& layout) { scratch_.resize(layout.page_bytes); }

    /// Fetches lines, and waits for them.
    void fetch(Frame frame, Lines lines);
    /// Starts to fetch lines, which become valid when the page's operation is complete. Waits for them if some of their
    /// bytes are dirty.
    void start(Frame frame, Lines lines);

    /// The block: pages in neighbouring frames that are fetched whole, ahead and in one get. A page that does not
    /// continue the block starts a new one, and the old one is sent.
    void add_to_block(Frame frame);
    [[nodiscard]] bool continues_block(Frame frame) const noexcept {
        return block_.count != 0 && frame == block_.first + block_.count &&
               pages_[frame].number == pages_[frame - 1].number + 1;
    }
    [[nodiscard]] bool in_block(Frame frame) const noexcept { return frame - block_.first < block_.count; }
    [[nodiscard]] bool has_block() const noexcept { return block_.count != 0; }
    void send_block();
    void drop_block() noexcept { block_ = {}; }

    /// The group: lines of any pages of one rank that are fetched ahead, together. The pages are clean, have no
    /// operation in flight, and join once each. If one message cannot hold them and those before, these are sent.
    void add_to_group(Frame frame, Lines lines);
    /// One bit a line.
    void add_to_group(Frame frame, std::uint64_t lines);
    [[nodiscard]] bool has_group() const noexcept { return !group_.empty(); }
    void send_group();
    void drop_group() noexcept;

    [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
        return scratch_.capacity() + group_.capacity() * sizeof(Member) + runs_.capacity() * sizeof(WantedRun) +
               frames_.capacity() * sizeof(Frame);
    }
    [[nodiscard]] static std::uint64_t memory_for(const PageCacheConfiguration& configuration) noexcept {
        return largest_page_bytes(configuration) + most_members * (sizeof(Member) + sizeof(WantedRun) + sizeof(Frame));
    }

private:
    struct Block {
        Frame first = 0;
        Frame count = 0;
    };
    /// Lines of one page in the group.
    struct Member {
        Frame frame = 0;
        Lines lines;
    };
    static constexpr std::size_t most_members = Backend::most_bytes_of_runs / line_bytes;

    /// Before a page joins the group. All of its lines are fetched together: it has one operation at a time.
    void begin_member(Frame frame, std::uint64_t ranges, std::uint64_t bytes);

    /// Where the lines end, within the page and the part.
    [[nodiscard]] std::uint64_t end_of(const Page& page, Lines lines) const {
        return std::min(lines.last * line_bytes, pages_.page_end(page));
    }

    Backend& backend_;
    CachedPages& pages_;
    OperationsUnderWay& under_way_;
    WriteBehind& write_behind_;
    PageSize& page_size_;
    support::Statistics& statistics_;
    Block block_;
    std::vector<Member> group_;
    std::uint64_t group_bytes_ = 0;
    std::vector<WantedRun> runs_;    ///< of the group, while it is sent
    std::vector<Frame> frames_;      ///< likewise
    std::vector<std::byte> scratch_; ///< for a page with dirty bytes
};

/// At the end of its scope: after an error nobody sends the rest of what was to be fetched together, whose frames may
/// then be reused.
struct DropUnsent {
    Fetcher& fetcher;
    explicit DropUnsent(Fetcher& its_fetcher) noexcept : fetcher{its_fetcher} {}
    DropUnsent(const DropUnsent&) = delete;
    DropUnsent& operator=(const DropUnsent&) = delete;
    ~DropUnsent() {
        fetcher.drop_block();
        fetcher.drop_group();
    }
};

} // namespace lapwing::detail::cache
