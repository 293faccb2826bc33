#include "arrays/mapping.hpp"

#include "arrays/index_texts.hpp"
#include "pipeline/round_robin.hpp"
#include "src/team/team_state.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/detail/trace.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace lapwing::detail::support::settings_in {
void arrays_mapping() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::arrays {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<MappedReads> reads_setting{
    {.name = "LAPWING_MAPPED",
     .default_value = "named",
     .unit = "",
     .help = "what programs may read of a mapped array; named: pages with elements that its pattern names, so that "
             "others end the program with a message; refreshed: the same, from a refresh to the next acquire; all: "
             "ordinary memory without gaps (for tools that know no protected pages)",
     .choices = {}},
    {{"named", MappedReads::named}, {"refreshed", MappedReads::refreshed}, {"all", MappedReads::all}}};

/// More stretches of pages than this are opened as one: a process can have some 65,000, of all that is in it.
constexpr std::size_t most_stretches = 512;
/// Transfers under way; their book-keeping is memory, too.
constexpr std::size_t most_under_way = 4096;

std::byte* page_of(std::byte* address) noexcept {
    return address - reinterpret_cast<std::uintptr_t>(address) % support::page_bytes();
}
std::byte* page_after(std::byte* address) noexcept { return page_of(address + (support::page_bytes() - 1)); }

} // namespace

/// A refresh under way.
class Mapping::Refresh final : public transport::PendingTransfer {
public:
    explicit Refresh(std::shared_ptr<Mapping> mapping) : mapping_{std::move(mapping)} {}

    void start() {
        transfers_.reserve(mapping_->entries_.size());
        for (prefetching::Entry& entry : mapping_->entries_) {
            if (transfers_.size() - completed_ >= most_under_way) transfers_[completed_++].wait();
            transfers_.push_back(entry.start_fill());
        }
    }
    bool test() override {
        for (; completed_ < transfers_.size(); ++completed_)
            if (!pipeline::test_first(std::span{transfers_}.subspan(completed_))) return false;
        return true;
    }
    void wait() override {
        if (completed_ == transfers_.size()) return;
        const std::span<Completion> left = std::span{transfers_}.subspan(completed_);
        completed_ = transfers_.size();
        if (const std::shared_ptr<const slices::ArrayGeometry> array = mapping_->array_.lock())
            pipeline::wait_round_robin(array->window->team_state(), left);
        else // each knows what to do without its window
            for (Completion& transfer : left) transfer.wait();
    }

private:
    std::shared_ptr<Mapping> mapping_; ///< keeps the memory
    std::vector<Completion> transfers_;
    std::size_t completed_ = 0;
};

Mapping::Mapping(const std::shared_ptr<const slices::ArrayGeometry>& array, ArrayTitle title,
                 std::vector<Stretch> named, bool exact, const StretchHere& here)
    : array_{array},
      title_{std::move(title)},
      start_{title_.start(".mapped")},
      window_{*array->window},
      element_bytes_{array->element_bytes},
      extents_{array->used_extents().begin(), array->used_extents().end()},
      reads_{reads_setting.get(window_.team_state().settings())},
      here_{here},
      exact_{exact} {
    std::uint64_t all_bytes = element_bytes_;
    for (const std::int64_t extent : extents_)
        if (__builtin_mul_overflow(all_bytes, static_cast<std::uint64_t>(extent), &all_bytes))
            all_bytes = ~std::uint64_t{0};
    std::erase_if(named, [](const Stretch& one) { return one.first == one.end; });
    if (all_bytes == 0 || (named.empty() && here_.memory == nullptr)) return;

    Stretch hull = named.empty() ? here_.stretch : named.front();
    for (const Stretch& one : named) hull = {std::min(hull.first, one.first), std::max(hull.end, one.end)};
    if (here_.memory != nullptr)
        hull = {std::min(hull.first, here_.stretch.first), std::max(hull.end, here_.stretch.end)};
    reserve(all_bytes, hull);
    show_what_is_here();
    // Else it is copied like any other, as far as it is named.
    if (shown_.first != shown_.end) named.push_back(here_.stretch);
    else here_ = {};
    if (reads_ == MappedReads::all && !named.empty()) {
        named = {hull};
        exact_ = false;
    }
    std::ranges::sort(named, {}, &Stretch::first);
    pages_ = pages_of(named);
    open(".mapped");
    if (reads_ == MappedReads::all) return;
    watched_.emplace(space_.begin(), space_.bytes(), explain, this);
    if (reads_ != MappedReads::refreshed) return;
    window_.order().copies().add(*this);
    notified_ = true;
}

Mapping::~Mapping() {
    if (notified_) window_.order().copies().remove(*this);
    const std::shared_ptr<const slices::ArrayGeometry> array = array_.lock();
    if (array != nullptr) window_.statistics().add(Counter::prefetch_memory, std::uint64_t{0} - memory_);
}

void Mapping::reserve(std::uint64_t all_bytes, const Stretch& named) {
    const std::uint64_t page = support::page_bytes();
    // So that what is here begins as far after a page's start as it does where it is.
    const std::uint64_t shift =
        here_.memory == nullptr ? 0 : (reinterpret_cast<std::uintptr_t>(here_.memory) - here_.stretch.first) % page;
    // Where there are not enough addresses for the whole array: from the first named element to the last.
    if (reads_ != MappedReads::all && all_bytes < ~std::uint64_t{0} - 2 * page)
        space_ = support::AddressSpace{all_bytes + 2 * page};
    if (!space_.empty()) {
        origin_ = space_.begin() + shift;
        return;
    }
    space_ = support::AddressSpace{named.end - named.first + 2 * page};
    if (space_.empty()) refuse(".mapped", "addresses", named.end - named.first);
    origin_ = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(space_.begin()) +
                                           (named.first + shift) % page - named.first);
}

void Mapping::show_what_is_here() {
    if (here_.memory == nullptr) return;
    std::byte* const begin = origin_ + here_.stretch.first;
    std::byte* const end = origin_ + here_.stretch.end;
    std::byte* const first_page = page_after(begin);
    std::byte* const last_page = page_of(end);
    if (first_page >= last_page || !space_.show(first_page, last_page, here_.memory + (first_page - begin))) return;
    shown_ = {first_page, last_page};
    if (begin != first_page) edges_.push_back({begin, here_.memory, static_cast<std::size_t>(first_page - begin)});
    if (last_page != end)
        edges_.push_back({last_page, here_.memory + (last_page - begin), static_cast<std::size_t>(end - last_page)});
}

std::vector<Mapping::Pages> Mapping::pages_of(const std::vector<Stretch>& named) {
    std::vector<Pages> pages;
    const auto add = [&pages](std::byte* first, std::byte* end) {
        if (first >= end) return;
        if (!pages.empty() && first <= pages.back().end) pages.back().end = std::max(pages.back().end, end);
        else pages.push_back({first, end});
    };
    for (const Stretch& one : named) {
        std::byte* const first = page_of(origin_ + one.first);
        std::byte* const end = page_after(origin_ + one.end);
        // What is shown needs no memory.
        if (shown_.first == shown_.end || end <= shown_.first || first >= shown_.end) {
            add(first, end);
        } else {
            add(first, shown_.first);
            add(shown_.end, end);
        }
    }
    if (pages.size() <= most_stretches) return pages;
    exact_ = false;
    std::vector<Pages> few;
    std::swap(few, pages);
    const Pages hull{few.front().first, few.back().end};
    if (shown_.first == shown_.end) return {hull};
    add(hull.first, shown_.first);
    add(std::max(hull.first, shown_.end), hull.end);
    return pages;
}

void Mapping::open(const char* call) {
    for (const Pages& one : pages_) {
        if (!space_.open(one.first, one.end)) refuse(call, "memory", static_cast<std::uint64_t>(one.end - one.first));
        memory_ += static_cast<std::uint64_t>(one.end - one.first);
        if (exact_) support::AddressSpace::provide(one.first, one.end);
    }
    window_.statistics().add(Counter::prefetch_memory, memory_);
    const StatisticsValues now = window_.statistics().read();
    if (now[Counter::prefetch_memory] > now[Counter::prefetch_memory_peak])
        window_.statistics().add(Counter::prefetch_memory_peak,
                                 now[Counter::prefetch_memory] - now[Counter::prefetch_memory_peak]);
}

void Mapping::refuse(const char* call, const char* what, std::uint64_t bytes) const {
    throw RangeError{fmt::format("{}: the system gives no {} for {} bytes ({}); name fewer elements in the pattern, or "
                                 "raise the limit (ulimit -v, vm.max_map_count, or that of the container)",
                                 title_.start(call), what, bytes, std::generic_category().message(errno))};
}

void Mapping::add(std::vector<prefetching::Slice> slices) {
    entries_ = prefetching::entries_of(window_, std::move(slices), origin_, {.consistent = false});
}

Completion Mapping::start_refresh(const char* call) {
    const std::shared_ptr<const slices::ArrayGeometry> array = array_.lock();
    if (array == nullptr || array->window != &window_)
        throw UsageError{fmt::format("{}: the array was closed, or has got other extents or another distribution; map "
                                     "it again",
                                     title_.start(call))};
    const trace::CallScope scope{trace::Way::prefetch};
    if (reads_ == MappedReads::refreshed) begin_filling();
    if (window::RemoteCache* const cache = window_.cache()) cache->write_back();
    for (const Edge& edge : edges_) std::memcpy(edge.to, edge.from, edge.bytes);
    auto refresh = std::make_unique<Refresh>(shared_from_this());
    refresh->start();
    if (reads_ == MappedReads::refreshed) { // the next acquire closes the pages
        refresh->wait();
        end_filling();
    }
    std::uint64_t bytes = 0;
    for (const prefetching::Entry& entry : entries_) bytes += entry.bytes();
    window_.statistics().add(Counter::prefetch_fills);
    window_.statistics().add(Counter::prefetch_transfers, entries_.size());
    window_.statistics().add(Counter::prefetch_bytes, bytes);
    if (refresh->test()) return {};
    return Completion{std::move(refresh)};
}

void Mapping::begin_filling() {
    const std::lock_guard lock{gate_};
    ++filling_;
    if (!closed_.exchange(false)) return;
    for (const Pages& one : pages_)
        if (!space_.open(one.first, one.end)) refuse(".refresh", "memory", memory_);
    if (!space_.open_for_reading(shown_.first, shown_.end)) refuse(".refresh", "memory", memory_);
}

void Mapping::end_filling() noexcept {
    const std::lock_guard lock{gate_};
    if (--filling_ == 0 && closed_) close_pages();
}

void Mapping::acquired() noexcept {
    const std::lock_guard lock{gate_};
    closed_ = true;
    if (filling_ == 0) close_pages();
}

void Mapping::close_pages() const noexcept { space_.close(space_.begin(), space_.begin() + space_.bytes()); }

std::size_t Mapping::explain(const void* mapping, const std::byte* address, char* text, std::size_t size) noexcept {
    const Mapping& self = *static_cast<const Mapping*>(mapping);
    std::array<std::int64_t, max_dimensions> index{};
    auto element = static_cast<std::uint64_t>(address - self.origin_) / self.element_bytes_;
    bool within = address >= self.origin_;
    for (std::size_t d = self.extents_.size(); d-- > 0;) {
        const auto extent = static_cast<std::uint64_t>(self.extents_[d]);
        index[d] = static_cast<std::int64_t>(element % extent);
        element /= extent;
    }
    within = within && element == 0;
    char* out = fmt::format_to_n(text, size, "lapwing: {}: ", self.start_).out;
    const auto left = [&] { return size - static_cast<std::size_t>(out - text); };
    if (within) {
        out = fmt::format_to_n(out, left(), "read of element (").out;
        for (std::size_t d = 0; d < self.extents_.size(); ++d)
            out = fmt::format_to_n(out, left(), "{}{}", d == 0 ? "" : ", ", index[d]).out;
    }
    const char* const why =
        !within ? "read beyond the array; check the indices of the loop\n"
        : self.closed_.load(std::memory_order_relaxed)
            ? "): the mapped array has not been refreshed since the last acquire; call refresh() after it\n"
            : "): the pattern that was passed to mapped() does not name it, or it was written to; name it in the "
              "pattern\n";
    return static_cast<std::size_t>(fmt::format_to_n(out, left(), "{}", why).out - text);
}

// ---- what programs have of it ---------------------------------------------------------------------------------------

MappedElements::MappedElements(std::shared_ptr<Mapping> mapping) noexcept
    : origin_{mapping->origin()}, mapping_{std::move(mapping)} {}

const std::shared_ptr<Mapping>& MappedElements::mapping(const char* call) const {
    if (mapping_ == nullptr)
        throw UsageError{fmt::format("MappedArray{}: it is of no array; make it by GlobalArray::mapped()", call)};
    return mapping_;
}

void MappedElements::refresh() const { mapping(".refresh")->start_refresh(".mapped().refresh").wait(); }

Completion MappedElements::start_refresh() const {
    return mapping(".start_refresh")->start_refresh(".mapped().start_refresh");
}

std::uint64_t MappedElements::memory() const noexcept { return mapping_ == nullptr ? 0 : mapping_->memory(); }

} // namespace lapwing::detail::arrays
