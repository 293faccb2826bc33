#include "arrays/demand_pages.hpp"

#include "arrays/slices/patch.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

namespace lapwing::detail::arrays {
namespace {

/// Calls `visit(shape)` for boxes that have the elements [first, end) of the row-major order, one box after the other.
template <class Visit>
void for_each_box(const slices::ArrayGeometry& array, std::uint64_t first, std::uint64_t end, Visit visit) {
    const std::span<const std::int64_t> extents = array.used_extents();
    slices::SliceShape shape;
    shape.count = extents.size();
    while (first < end) {
        // In the outermost dimension in which a whole step begins here, and is wanted.
        std::uint64_t step = 1;
        std::size_t d = extents.size() - 1;
        for (; d > 0; --d) {
            const std::uint64_t larger = step * static_cast<std::uint64_t>(extents[d]);
            if (first % larger != 0 || larger > end - first) break;
            step = larger;
        }
        std::uint64_t outer = first / step;
        std::uint64_t count = 1;
        for (std::size_t k = extents.size(); k-- > 0;) {
            if (k > d) {
                shape.dimensions[k] = {k, Range{0, extents[k]}};
                continue;
            }
            const auto index = static_cast<std::int64_t>(outer % static_cast<std::uint64_t>(extents[k]));
            outer /= static_cast<std::uint64_t>(extents[k]);
            if (k == d) count = std::min((end - first) / step, static_cast<std::uint64_t>(extents[k] - index));
            shape.dimensions[k] = {k, Range::strided(index, k == d ? count : 1, 1)};
        }
        visit(shape);
        first += count * step;
    }
}

void add_page(std::vector<DemandPages::Span>& to, std::uint64_t page) {
    if (!to.empty() && to.back().end == page) ++to.back().end;
    else to.push_back({page, page + 1});
}

/// A process can have some 65,000 stretches of pages, of all that is in it; an open page among closed ones makes two.
constexpr std::uint64_t most_pieces = 16'384;

/// Elements on their way to where a program will read them.
struct Staged {
    std::vector<std::byte> memory = {}; ///< in between, of elements that are not all on these pages
    std::vector<Completion> transfers = {};
    std::byte* to = nullptr;
    std::uint64_t skipped = 0; ///< bytes of the first element that are not of these pages
    std::uint64_t bytes = 0;

    void finish() {
        for (Completion& transfer : transfers) transfer.wait();
        if (!memory.empty()) std::memcpy(to, memory.data() + skipped, bytes);
    }
};

} // namespace

DemandPages::DemandPages(const support::AddressSpace& space, std::byte* origin, std::uint64_t bytes, const Pages& shown,
                         std::uint64_t most_bytes, support::Statistics& statistics)
    : space_{space},
      origin_{origin},
      bytes_{bytes},
      shown_{shown},
      most_pages_{std::max<std::uint64_t>(most_bytes / support::page_bytes(), of_group)},
      statistics_{statistics} {}

auto DemandPages::number_of(const std::byte* address) const noexcept -> PageNumber {
    return static_cast<std::uint64_t>(address - space_.begin()) / support::page_bytes();
}

std::byte* DemandPages::address_of(PageNumber page) const noexcept {
    return space_.begin() + page * support::page_bytes();
}

auto DemandPages::next_open(PageNumber page) const noexcept -> PageNumber {
    PageNumber end = number_of(origin_ + bytes_ - 1) + 1;
    if (shown_.first != shown_.end && address_of(page) < shown_.end)
        end = std::min(end, std::max(page, number_of(shown_.first)));
    for (auto group = groups_.lower_bound(page / of_group); group != groups_.end(); ++group) {
        const PageNumber first = group->first * of_group;
        if (first >= end) break;
        std::uint64_t open = group->second.open;
        if (first < page) open &= ~std::uint64_t{0} << (page - first);
        if (open != 0) return std::min(end, first + static_cast<PageNumber>(std::countr_zero(open)));
    }
    return end;
}

auto DemandPages::pages_to_fetch(PageNumber page) -> PageNumber {
    constexpr PageNumber most_at_once = 32;
    const auto found = std::ranges::find(streams_, page, &Stream::next);
    Stream& stream = found != streams_.end() ? *found : streams_[oldest_stream_++ % streams_.size()];
    stream.pages = found != streams_.end() ? std::min(stream.pages * 2, most_at_once) : 1;
    const PageNumber end = std::min(page + stream.pages, next_open(page));
    stream.next = end;
    return end - page;
}

bool DemandPages::fetch(const slices::ArrayGeometry& array, std::byte* address) {
    const std::lock_guard lock{mutex_};
    const PageNumber page = number_of(address);
    if (next_open(page) == page) return false; // by a fault of another thread
    statistics_.add(Counter::mapped_faults);
    const PageNumber count = pages_to_fetch(page);
    if (opened_ + count > most_pages_ || pieces_ >= most_pieces) close_all();
    open(array, {{page, page + count}});
    groups_[page / of_group].used = true;
    return true;
}

void DemandPages::fetch(const slices::ArrayGeometry& array, const std::vector<Pages>& ranges) {
    const std::lock_guard lock{mutex_};
    std::vector<Span> wanted;
    const auto want = [&wanted](PageNumber first, PageNumber end) {
        if (first < end) wanted.push_back({first, end});
    };
    const Span shown = shown_.first == shown_.end ? Span{} : Span{number_of(shown_.first), number_of(shown_.end)};
    for (const Pages& range : ranges) {
        if (range.first >= range.end) continue;
        const Span span{number_of(range.first), number_of(range.end - 1) + 1};
        if (span.end <= shown.first || span.first >= shown.end) {
            want(span.first, span.end);
        } else {
            want(span.first, shown.first);
            want(shown.end, span.end);
        }
    }
    std::ranges::sort(wanted, {}, &Span::first);
    std::vector<Span> spans; // that do not overlap
    std::uint64_t pages = 0;
    for (const Span& span : wanted) {
        const PageNumber first = spans.empty() ? span.first : std::max(span.first, spans.back().end);
        if (first >= span.end) continue;
        spans.push_back({first, span.end});
        pages += span.end - first;
    }
    if (pages > most_pages_)
        throw RangeError{fmt::format("{} pages of {} bytes are asked for at a time, and {} may be open; raise "
                                     "LAPWING_MAPPED_BYTES, or ask for less",
                                     pages, support::page_bytes(), most_pages_)};
    const auto closed_of_these = [&] {
        std::vector<Span> closed;
        for (const Span& span : spans) add_closed(span, closed);
        return closed;
    };
    std::vector<Span> closed = closed_of_these();
    std::uint64_t more = 0;
    for (const Span& span : closed) more += span.end - span.first;
    if (opened_ + more > most_pages_ || pieces_ + closed.size() >= most_pieces) {
        close_all();
        closed = closed_of_these();
    }
    open(array, closed);
}

void DemandPages::add_closed(const Span& span, std::vector<Span>& closed) const {
    for (PageNumber page = span.first; page < span.end;) {
        const PageNumber next = std::min(next_open(page), span.end);
        if (next > page) closed.push_back({page, next});
        page = std::max(page + 1, next);
    }
}

void DemandPages::open(const slices::ArrayGeometry& array, const std::vector<Span>& spans) {
    for (const Span& span : spans) space_.provide(address_of(span.first), address_of(span.end));
    try {
        load(array, spans);
        for (const Span& span : spans) protect(span);
    } catch (...) {
        close(spans);
        throw;
    }
    pieces_ += spans.size();
    for (const Span& span : spans) {
        for (PageNumber page = span.first; page < span.end; ++page)
            groups_[page / of_group].open |= std::uint64_t{1} << page % of_group;
        opened_ += span.end - span.first;
        statistics_.add(Counter::mapped_pages, span.end - span.first);
    }
}

void DemandPages::close(const std::vector<Span>& spans) const {
    bool closed = true;
    for (const Span& span : spans) {
        if (space_.close(address_of(span.first), address_of(span.end)))
            space_.forget(address_of(span.first), address_of(span.end));
        else closed = false; // they keep what they have
    }
    if (!closed) refuse("closes");
}

void DemandPages::close_all() {
    std::vector<Span> closed;
    for (const auto& [number, group] : groups_)
        for (PageNumber page = 0; page < of_group; ++page)
            if ((group.open >> page & 1U) != 0) add_page(closed, number * of_group + page);
    groups_.clear();
    opened_ = 0;
    pieces_ = 0;
    close(closed);
}

void DemandPages::refresh(const slices::ArrayGeometry& array, bool reopen) {
    const std::lock_guard lock{mutex_};
    std::vector<Span> kept;
    std::vector<Span> closed;
    opened_ = 0;
    for (auto at = groups_.begin(); at != groups_.end();) {
        auto& [number, group] = *at;
        constexpr std::uint8_t longest_streak = 8;
        if (group.used) {
            group.streak = std::min<std::uint8_t>(static_cast<std::uint8_t>(group.streak + 1), longest_streak);
            group.trusted = static_cast<std::uint8_t>(group.streak - 1);
        } else if (group.trusted > 0) {
            --group.trusted;
        } else {
            group.streak = 0;
        }
        std::uint64_t keep = group.streak == 0 ? 0 : group.open;
        if (group.trusted == 0) keep &= keep - 1; // the first one shows whether the group is used
        for (PageNumber page = 0; page < of_group; ++page)
            if ((group.open >> page & 1U) != 0)
                add_page((keep >> page & 1U) != 0 ? kept : closed, number * of_group + page);
        group.open = keep;
        group.used = false;
        opened_ += static_cast<std::uint64_t>(std::popcount(keep));
        at = group.streak == 0 ? groups_.erase(at) : std::next(at);
    }
    pieces_ = kept.size();
    try {
        close(closed);
        load(array, kept);
        if (reopen)
            for (const Span& span : kept) protect(span);
    } catch (...) { // they are fetched when they are read
        close_all();
        throw;
    }
    statistics_.add(Counter::mapped_pages, opened_);
}

void DemandPages::load(const slices::ArrayGeometry& array, const std::vector<Span>& spans) const {
    constexpr std::uint64_t most_staged = std::uint64_t{4} << 20U;
    constexpr PageNumber most_at_once = 256;
    std::deque<Staged> staged; // under way, the oldest first
    std::uint64_t staged_bytes = 0;
    const auto finish_one = [&] {
        staged.front().finish();
        staged_bytes -= staged.front().bytes;
        staged.pop_front();
    };
    for (const Span& span : spans)
        for (PageNumber page = span.first; page < span.end; page += most_at_once) {
            std::byte* const first = std::max(address_of(page), origin_);
            std::byte* const end = std::min(address_of(std::min(page + most_at_once, span.end)), origin_ + bytes_);
            const auto begin_byte = static_cast<std::uint64_t>(first - origin_);
            const auto end_byte = static_cast<std::uint64_t>(end - origin_);
            const std::uint64_t first_element = begin_byte / array.element_bytes;
            const std::uint64_t end_element = (end_byte - 1) / array.element_bytes + 1;
            while (staged_bytes + (end_byte - begin_byte) > most_staged && !staged.empty()) finish_one();
            // Elements that begin or end on other pages are put there by whoever fetches those.
            Staged& one = staged.emplace_back(Staged{.to = space_.to_write(first),
                                                     .skipped = begin_byte - first_element * array.element_bytes,
                                                     .bytes = end_byte - begin_byte});
            const std::uint64_t all_bytes = (end_element - first_element) * array.element_bytes;
            if (all_bytes != one.bytes) one.memory.resize(all_bytes);
            std::byte* buffer = one.memory.empty() ? one.to : one.memory.data();
            for_each_box(array, first_element, end_element, [&](const slices::SliceShape& box) {
                one.transfers.push_back(
                    slices::start_patch(".mapped", transport::Direction::get, array, box, buffer, box.dense_strides()));
                buffer += box.size() * array.element_bytes;
            });
            staged_bytes += one.bytes;
        }
    while (!staged.empty()) finish_one();
}

void DemandPages::protect(const Span& span) const {
    if (!space_.open(address_of(span.first), address_of(span.end))) refuse("opens");
}

void DemandPages::refuse(const char* what) {
    throw RangeError{fmt::format("the system {} no more pages ({}); name what is read in a pattern, or raise the limit "
                                 "(vm.max_map_count)",
                                 what, std::generic_category().message(errno))};
}

} // namespace lapwing::detail::arrays
