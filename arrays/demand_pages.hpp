#pragma once

#include "src/support/address_space.hpp"
#include "src/support/mutex.hpp"

#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/statistics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace lapwing::detail::arrays {

/// Pages, as addresses.
struct Pages {
    std::byte* first = nullptr;
    std::byte* end = nullptr;
};

/// The pages of a mapped array that are fetched when a program touches them first.
///
/// A fault takes as long as some thousand reads, so that pages that were in use are fetched again, in bulk, by a
/// refresh. Whether they still are is seen by the first open one of each group, which the refresh closes; a group that
/// is used in every epoch is looked at in some of them only. Reads that follow one another fetch more and more pages at
/// once.
class DemandPages {
public:
    /// The array's elements begin at `origin`, in a space with a writing view, and take `bytes`. `shown`: pages that
    /// show other memory, and are always open; may be empty. Not more than `most_bytes` are open at a time.
    DemandPages(const support::AddressSpace& space, std::byte* origin, std::uint64_t bytes, const Pages& shown,
                std::uint64_t most_bytes, support::Statistics& statistics);

    // All throw what transfers throw, and RangeError if the system gives no memory.

    /// The page of this address, and pages after it that are likely to be read next. False if it was open.
    bool fetch(const slices::ArrayGeometry& array, std::byte* address);
    /// All pages of these addresses, at the same time. Throws RangeError if they are more than may be open.
    void fetch(const slices::ArrayGeometry& array, const std::vector<Pages>& ranges);
    /// Those that are in use, anew; others are closed. `reopen`: all have been closed meanwhile.
    void refresh(const slices::ArrayGeometry& array, bool reopen);

    using PageNumber = std::uint64_t; ///< from the start of the space on
    struct Span {
        PageNumber first = 0;
        PageNumber end = 0;
    };

private:
    static constexpr PageNumber of_group = 64;
    struct Group {
        std::uint64_t open = 0;   ///< a bit for each page
        bool used = false;        ///< since the last refresh, as far as faults tell
        std::uint8_t streak = 0;  ///< refreshes after which it was used, one after the other
        std::uint8_t trusted = 0; ///< refreshes to come before it has to show again that it is used
    };
    /// Reads that have followed one another so far.
    struct Stream {
        PageNumber next = ~PageNumber{0};
        PageNumber pages = 0; ///< that were fetched last
    };

    [[nodiscard]] PageNumber number_of(const std::byte* address) const noexcept;
    [[nodiscard]] std::byte* address_of(PageNumber page) const noexcept;
    /// The first page from here on that is open, or after the array.
    [[nodiscard]] PageNumber next_open(PageNumber page) const noexcept;
    [[nodiscard]] PageNumber pages_to_fetch(PageNumber page);
    void open(const slices::ArrayGeometry& array, const std::vector<Span>& spans);
    /// Those pages of a stretch that are closed.
    void add_closed(const Span& span, std::vector<Span>& closed) const;
    void close(const std::vector<Span>& spans) const;
    void close_all();
    /// Fills pages that nobody reads meanwhile.
    void load(const slices::ArrayGeometry& array, const std::vector<Span>& spans) const;
    void protect(const Span& span) const;
    [[noreturn]] static void refuse(const char* what);

    const support::AddressSpace& space_;
    std::byte* const origin_;
    const std::uint64_t bytes_;
    const Pages shown_;
    const std::uint64_t most_pages_;
    std::uint64_t pieces_ = 0; ///< stretches of open pages, or more: the system has a limit of those
    support::Statistics& statistics_;
    support::Mutex mutex_{support::LockRank::prefetch_buffer};
    std::map<PageNumber, Group> groups_; ///< by the number of their first page, divided by of_group
    std::uint64_t opened_ = 0;           ///< pages that are open
    std::array<Stream, 4> streams_{};
    std::size_t oldest_stream_ = 0;
};

} // namespace lapwing::detail::arrays
