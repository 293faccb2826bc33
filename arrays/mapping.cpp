#include "arrays/mapping.hpp"

#include "arrays/index_texts.hpp"
#include "prefetch/entry_fills.hpp"
#include "src/team/team_state.hpp"
#include "src/team/wait_hook.hpp"
#include "src/transport/pending_transfer.hpp"
#include "window/recorded_calls.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/detail/trace.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
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
             "others end the program with a message; demand: all pages, of which those are fetched when they are read; "
             "refreshed: as named, from a refresh to the next acquire; all: ordinary memory without gaps (for tools "
             "that know no protected pages)",
     .choices = {}},
    {{"named", MappedReads::named},
     {"demand", MappedReads::demand},
     {"refreshed", MappedReads::refreshed},
     {"all", MappedReads::all}}};

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting demand_bytes_setting{
    {.name = "LAPWING_MAPPED_BYTES",
     .default_value = "256m",
     .unit = "bytes",
     .help =
         "most memory, for each mapped array, of pages that are fetched when they are read; when it is used up, all "
         "of them are closed, and fetched again where they are still read",
     .choices = {}},
    std::uint64_t{1} << 18U,
    std::uint64_t{1} << 50U};

/// More stretches of pages than this are opened as one: a process can have some 65,000, of all that is in it.
constexpr std::size_t most_stretches = 512;

std::byte* page_of(std::byte* address) noexcept {
    return address - reinterpret_cast<std::uintptr_t>(address) % support::page_bytes();
}
std::byte* page_after(std::byte* address) noexcept { return page_of(address + (support::page_bytes() - 1)); }

[[nodiscard]] MappedReads mapped_reads(window::WindowState& window) {
    return reads_setting.get(window.team_state().settings());
}

/// Why pages of an array cannot be fetched by a thread of Lapwing's own while the program waits; null if they can.
[[nodiscard]] const char* demand_problem(const slices::ArrayGeometry& array) noexcept {
    // That thread would call the program's functions, which may need a lock of the thread that waits.
    if (array.user_map != nullptr && array.user_map->is_programs())
        return "its distribution is the program's own; name what is read in a pattern";
    const team::TeamState& team = array.window->team_state();
    if (team.topology().nodes() > 1 && team.paths().thread_level < MPI_THREAD_MULTIPLE)
        return "a thread of Lapwing's would call MPI, which is initialised with less than MPI_THREAD_MULTIPLE; name "
               "what is read in a pattern, or initialise MPI by MPI_Init_thread";
    return nullptr;
}

} // namespace

/// A refresh under way.
class Mapping::Refresh final : public transport::PendingTransfer {
public:
    explicit Refresh(std::shared_ptr<Mapping> mapping) : mapping_{std::move(mapping)} {}

    void start() {
        fills_.reserve(mapping_->entries_.size());
        for (prefetching::Entry& entry : mapping_->entries_) fills_.start(entry);
    }
    bool test() override { return fills_.test(); }
    void wait() override {
        if (fills_.empty()) return;
        if (const std::shared_ptr<const slices::ArrayGeometry> array = mapping_->array_.lock())
            fills_.wait(array->window->team_state());
        else fills_.wait_alone();
    }

private:
    std::shared_ptr<Mapping> mapping_; ///< keeps the memory
    prefetching::EntryFills fills_;
};

bool is_on_demand(const ArrayTitle& title, const slices::ArrayGeometry& array, bool asked) {
    const MappedReads reads = mapped_reads(*array.window);
    const char* const problem = demand_problem(array);
    if (asked && problem != nullptr) throw UsageError{fmt::format("{}(OnDemand): {}", title.start(".mapped"), problem)};
    return asked ? reads != MappedReads::all : reads == MappedReads::demand && problem == nullptr;
}

Mapping::Mapping(const std::shared_ptr<const slices::ArrayGeometry>& array, ArrayTitle title, Named given,
                 const StretchHere& here)
    : array_{array},
      title_{std::move(title)},
      start_{title_.start(".mapped")},
      window_{*array->window},
      window_life_{array->window_outlives_it.expired() ? std::weak_ptr<const void>{array} : array->window_outlives_it},
      shape_{!given.shape.extents.empty()
                 ? std::move(given.shape)
                 : Shape{{array->used_extents().begin(), array->used_extents().end()}, array->element_bytes}},
      reads_{mapped_reads(window_)},
      here_{here},
      on_demand_{given.on_demand} {
    std::vector<Stretch>& named = given.stretches;
    std::uint64_t all_bytes = shape_.element_bytes;
    for (const std::int64_t extent : shape_.extents)
        if (__builtin_mul_overflow(all_bytes, static_cast<std::uint64_t>(extent), &all_bytes))
            all_bytes = ~std::uint64_t{0};
    std::erase_if(named, [](const Stretch& one) { return one.first == one.end; });
    if (all_bytes == 0 || (named.empty() && here_.memory == nullptr && !on_demand_)) return;

    Stretch hull = named.empty() ? here_.stretch : named.front();
    for (const Stretch& one : named) hull = {std::min(hull.first, one.first), std::max(hull.end, one.end)};
    if (here_.memory != nullptr)
        hull = {std::min(hull.first, here_.stretch.first), std::max(hull.end, here_.stretch.end)};
    reserve(all_bytes, hull);
    end_ = origin_ + all_bytes;
    show_what_is_here();
    if (on_demand_) {
        // A page that is open has all of its elements, of whoever they are.
        edges_.clear();
        named_ = std::exchange(named, {});
    } else if (shown_.first != shown_.end) {
        named.push_back(here_.stretch); // for its edges
    } else {
        here_ = {}; // copied like any other, as far as it is named
    }
    if (reads_ == MappedReads::all && !named.empty()) {
        named = {hull};
        given.exact = false;
    }
    std::ranges::sort(named, {}, &Stretch::first);
    pages_ = pages_of(named, given.exact);
    open(".mapped", given.exact);
    if (reads_ == MappedReads::all) return;
    if (on_demand_) start_serving(all_bytes);
    watched_.emplace(space_.begin(), space_.bytes(), explain, this, on_demand_ ? resolve : nullptr);
    if (reads_ != MappedReads::refreshed) return;
    window_.order().copies().add(*this);
    notified_ = true;
}

Mapping::~Mapping() {
    if (notified_) window_.order().copies().remove(*this);
    if (!window_life_.expired()) window_.statistics().add(Counter::prefetch_memory, std::uint64_t{0} - memory_);
}

void Mapping::reserve(std::uint64_t all_bytes, const Stretch& named) {
    const std::uint64_t page = support::page_bytes();
    // So that what is here begins as far after a page's start as it does where it is.
    const std::uint64_t shift =
        here_.memory == nullptr ? 0 : (reinterpret_cast<std::uintptr_t>(here_.memory) - here_.stretch.first) % page;
    if (on_demand_) {
        if (all_bytes < ~std::uint64_t{0} - 2 * page)
            space_ = support::AddressSpace::with_writing_view(all_bytes + 2 * page);
        if (space_.empty())
            throw RangeError{fmt::format("{}: on demand it takes twice {} bytes of addresses, and a file in memory as "
                                         "large, which the system does not give ({}); name what is read in a pattern, "
                                         "or raise the limit (ulimit -v, ulimit -f, vm.overcommit_memory)",
                                         title_.start(".mapped"), all_bytes, std::generic_category().message(errno))};
        origin_ = space_.begin() + shift;
        return;
    }
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

std::vector<Pages> Mapping::pages_of(const std::vector<Stretch>& named, bool& exact) {
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
    exact = false;
    std::vector<Pages> few;
    std::swap(few, pages);
    const Pages hull{few.front().first, few.back().end};
    if (shown_.first == shown_.end) return {hull};
    add(hull.first, shown_.first);
    add(std::max(hull.first, shown_.end), hull.end);
    return pages;
}

void Mapping::open(const char* call, bool exact) {
    for (const Pages& one : pages_) {
        if (!space_.open(one.first, one.end)) refuse(call, "memory", static_cast<std::uint64_t>(one.end - one.first));
        memory_ += static_cast<std::uint64_t>(one.end - one.first);
        if (exact) space_.provide(one.first, one.end);
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
    entries_ = prefetching::entries_of(window_, std::move(slices), space_.to_write(origin_), {.consistent = false});
}

void Mapping::start_serving(std::uint64_t all_bytes) {
    std::uint64_t most = demand_bytes_setting.get(window_.team_state().settings());
    for (const Stretch& one : named_) most += one.end - one.first + 2 * support::page_bytes();
    demand_ = std::make_unique<DemandPages>(space_, origin_, all_bytes, shown_, most, window_.statistics());
}

std::shared_ptr<const slices::ArrayGeometry> Mapping::open_array(const char* call) const {
    std::shared_ptr<const slices::ArrayGeometry> array = array_.lock();
    if (array == nullptr || array->window != &window_)
        throw UsageError{fmt::format("{}: the array was closed or destroyed, or has got other extents or another "
                                     "distribution; where it is there, map it again",
                                     title_.start(call))};
    return array;
}

void Mapping::pin(const char* call, std::span<const Range> domain) {
    const std::shared_ptr<const slices::ArrayGeometry> array = open_array(call);
    if (std::ranges::any_of(domain, &Range::empty)) return;
    for (std::size_t d = 0; d < domain.size(); ++d)
        if (domain[d].first() < 0 || domain[d].last() >= shape_.extents[d])
            throw RangeError{fmt::format("{}: {} of dimension {} leaves [0, {}); cut the domain to the array with "
                                         "intersect(a.domain())",
                                         title_.start(call), to_string(domain[d]), d, shape_.extents[d])};
    if (demand_ == nullptr) return;
    std::vector<std::uint64_t> strides(domain.size(), shape_.element_bytes);
    for (std::size_t d = domain.size() - 1; d-- > 0;)
        strides[d] = strides[d + 1] * static_cast<std::uint64_t>(shape_.extents[d + 1]);
    std::vector<Pages> rows;
    std::vector<std::uint64_t> position(domain.size(), 0);
    for (bool more = true; more;) {
        std::byte* first = origin_;
        for (std::size_t d = 0; d < domain.size(); ++d)
            first += static_cast<std::uint64_t>(domain[d][position[d]]) * strides[d];
        const auto length = static_cast<std::uint64_t>(domain.back().last() - domain.back().first() + 1);
        std::byte* const end = first + length * shape_.element_bytes;
        if (!rows.empty() && first <= rows.back().end + support::page_bytes()) rows.back().end = end;
        else rows.push_back({first, end});
        more = false;
        for (std::size_t d = domain.size() - 1; !more && d-- > 0;) {
            more = ++position[d] < domain[d].size();
            if (!more) position[d] = 0;
        }
    }
    demand_->fetch(*array, rows);
}

support::WatchedRange::Outcome Mapping::resolve(void* mapping, std::byte* address) noexcept {
    using Outcome = support::WatchedRange::Outcome;
    team::wait_as_own_thread();
    Mapping& self = *static_cast<Mapping*>(mapping);
    if (self.closed_ || address < self.origin_ || address >= self.end_) return Outcome::refused;
    const auto start = std::chrono::steady_clock::now();
    const auto fail = [&self](const char* why) {
        *fmt::format_to_n(self.failure_.data(), self.failure_.size() - 1, "{}", why).out = '\0';
        return Outcome::refused;
    };
    try {
        if (!self.demand_->fetch(*self.open_array(".mapped"), address)) return Outcome::was_open;
    } catch (const std::exception& error) {
        return fail(error.what());
    } catch (...) {
        return fail("a function of the program's has thrown what is no std::exception");
    }
    const auto waited = std::chrono::steady_clock::now() - start;
    self.window_.statistics().add(Counter::mapped_fault_ns,
                                  static_cast<std::uint64_t>(std::chrono::nanoseconds{waited}.count()));
    return Outcome::opened;
}

Completion Mapping::start_refresh(const char* call) {
    const std::shared_ptr<const slices::ArrayGeometry> array = open_array(call);
    const trace::CallScope scope{trace::Way::prefetch};
    const bool strict = reads_ == MappedReads::refreshed;
    if (strict) begin_filling();
    const auto end = [](Mapping* mapping) { mapping->end_filling(); };
    const std::unique_ptr<Mapping, decltype(end)> filling{strict ? this : nullptr,
                                                          end}; // the next acquire closes pages
    if (window::RemoteCache* const cache = window_.cache()) cache->write_back();
    for (const Edge& edge : edges_) std::memcpy(space_.to_write(edge.to), edge.from, edge.bytes);
    auto refresh = std::make_unique<Refresh>(shared_from_this());
    refresh->start();
    if (demand_ != nullptr) {
        demand_->refresh(*array, strict);
        std::vector<Pages> named;
        for (const Stretch& one : named_) named.push_back({origin_ + one.first, origin_ + one.end});
        demand_->fetch(*array, named);
    }
    if (strict) refresh->wait();
    std::uint64_t bytes = 0;
    for (const prefetching::Entry& entry : entries_) {
        bytes += entry.bytes();
        window::note(window_.facts(), trace::Operation::read, entry.owner(), Offset{entry.offset()}, entry.bytes(),
                     entry.bytes() / shape_.element_bytes, trace::Way::prefetch);
    }
    window_.statistics().add(Counter::prefetch_fills);
    window_.statistics().add(Counter::prefetch_transfers, entries_.size());
    window_.statistics().add(Counter::prefetch_bytes, bytes);
    if (refresh->test()) return {};
    return Completion{std::move(refresh)};
}

void Mapping::begin_filling() {
    const std::lock_guard lock{gate_};
    if (closed_.exchange(false)) {
        bool open = space_.open_for_reading(shown_.first, shown_.end);
        for (const Pages& one : pages_) open = open && space_.open(one.first, one.end);
        if (!open) {
            closed_ = true;
            refuse(".refresh", "memory", memory_);
        }
    }
    ++filling_;
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

void Mapping::close_pages() const noexcept { (void)space_.close(space_.begin(), space_.begin() + space_.bytes()); }

std::size_t Mapping::explain(const void* mapping, const std::byte* address, bool write, char* text,
                             std::size_t size) noexcept {
    const Mapping& self = *static_cast<const Mapping*>(mapping);
    std::array<std::int64_t, max_dimensions> index{};
    auto element = static_cast<std::uint64_t>(address - self.origin_) / self.shape_.element_bytes;
    bool within = address >= self.origin_;
    for (std::size_t d = self.shape_.extents.size(); d-- > 0;) {
        const auto extent = static_cast<std::uint64_t>(self.shape_.extents[d]);
        index[d] = static_cast<std::int64_t>(element % extent);
        element /= extent;
    }
    within = within && element == 0;
    char* out = fmt::format_to_n(text, size, "lapwing: {}: ", self.start_).out;
    const auto left = [&] { return size - static_cast<std::size_t>(out - text); };
    if (within) {
        out = fmt::format_to_n(out, left(), "{} element (", write ? "write to" : "read of").out;
        for (std::size_t d = 0; d < self.shape_.extents.size(); ++d)
            out = fmt::format_to_n(out, left(), "{}{}", d == 0 ? "" : ", ", index[d]).out;
    }
    const char* const why =
        self.failure_[0] != '\0' ? self.failure_.data()
        : !within                ? "read beyond the array; check the indices of the loop\n"
        : write                  ? "): a mapped array is for reading; write to the array itself\n"
        : self.closed_.load(std::memory_order_relaxed)
            ? "): the mapped array has not been refreshed since the last acquire; call refresh() after it\n"
        : self.on_demand_
            ? "): a thread of the library fetches it, which a child process (after a fork) does not have, "
              "and which cannot wait for itself; have it fetched before, by pin() in C++ and C\n"
            : "): the pattern, or the ranges, that mapped() was given do not name it; name it there\n";
    if (within && self.failure_[0] != '\0') out = fmt::format_to_n(out, left(), "): ").out;
    out = fmt::format_to_n(out, left(), "{}", why).out;
    if (self.failure_[0] != '\0') out = fmt::format_to_n(out, left(), "\n").out;
    return static_cast<std::size_t>(out - text);
}

std::shared_ptr<Mapping> SpareMapping::take(const std::shared_ptr<const slices::ArrayGeometry>& array,
                                            const std::vector<Range>& ranges, bool on_demand) {
    Kept kept;
    {
        const std::lock_guard lock{mutex_};
        kept = std::exchange(kept_, Kept{});
    }
    if (kept.mapping == nullptr || kept.ranges != ranges || kept.mapping->on_demand() != on_demand ||
        !kept.mapping->is_of(array))
        return nullptr;
    return share(std::move(kept));
}

std::shared_ptr<Mapping> SpareMapping::share(std::unique_ptr<Mapping> mapping, std::vector<Range> ranges) {
    return share(Kept{std::move(mapping), std::move(ranges)});
}

void SpareMapping::drop() {
    Kept kept;
    const std::lock_guard lock{mutex_};
    std::swap(kept, kept_);
}

std::shared_ptr<Mapping> SpareMapping::share(Kept kept) {
    Mapping* const mapping = kept.mapping.get();
    // The array may be gone by then.
    auto give_back = [spare = weak_from_this(), kept = std::make_shared<Kept>(std::move(kept))](Mapping*) mutable {
        if (const std::shared_ptr<SpareMapping> here = spare.lock()) {
            const std::lock_guard lock{here->mutex_};
            std::swap(here->kept_, *kept);
        }
        kept.reset(); // the one that was here before
    };
    return {mapping, std::move(give_back)};
}

// ---- what programs have of it ---------------------------------------------------------------------------------------

MappedElements::MappedElements(std::shared_ptr<Mapping> mapping) noexcept
    : origin_{mapping->origin()}, mapping_{std::move(mapping)} {}

const std::shared_ptr<Mapping>& MappedElements::mapping(const char* call) const {
    if (mapping_ == nullptr)
        throw UsageError{fmt::format("MappedArray{}: it is of no array; make it by GlobalArray::mapped()", call)};
    return mapping_;
}

void MappedElements::refresh() const {
    const trace::CallScope scope{trace::Way::prefetch}; // which waits
    mapping(".refresh")->start_refresh(".mapped().refresh").wait();
}

Completion MappedElements::start_refresh() const {
    return mapping(".start_refresh")->start_refresh(".mapped().start_refresh");
}

void MappedElements::pin(std::span<const Range> domain) const { mapping(".pin")->pin(".mapped().pin", domain); }

std::uint64_t MappedElements::memory() const noexcept { return mapping_ == nullptr ? 0 : mapping_->memory(); }

} // namespace lapwing::detail::arrays
