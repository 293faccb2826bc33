// The calls of arrays on the copies that they have prefetched, as far as they need not know indices.
#include <lapwing/array_base.hpp>

#include "arrays/section_layouts.hpp"
#include "prefetch/entry_buffer.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/slice_collector.hpp>
#include <lapwing/error.hpp>
#include <lapwing/extents.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// Ragged indices are many short runs, whose layouts would take far more than the copies: their blocks are listed
/// first.
struct CollectedSlices {
    struct Run {
        int owner = 0;
        ByteBlock there;
        std::int64_t here = 0;
    };

    /// In any order of owners.
    [[nodiscard]] std::vector<prefetching::Slice> take() {
        // As they come where there is one owner, and else without the memory of a stable sort: places in the copies
        // grow.
        if (!std::ranges::is_sorted(runs, {}, &Run::owner))
            std::ranges::sort(runs, {}, [](const Run& run) { return std::pair{run.owner, run.here}; });
        std::vector<ByteBlock> there;
        std::vector<ByteBlock> here;
        for (auto run = runs.begin(); run != runs.end();) {
            const int owner = run->owner;
            there.clear();
            here.clear();
            for (; run != runs.end() && run->owner == owner; ++run) {
                there.push_back(run->there);
                here.push_back({run->here, run->there.bytes});
            }
            list.push_back({owner, Layout::list(there), Layout::list(here)});
        }
        runs.clear();
        return std::exchange(list, {});
    }

    std::vector<prefetching::Slice> list;
    std::vector<Run> runs;
};

SliceCollector::SliceCollector(std::uint64_t element_bytes)
    : element_bytes_{element_bytes}, slices_{std::make_unique<CollectedSlices>()} {}

SliceCollector::~SliceCollector() = default;

void SliceCollector::visit(const distribution::Section& section) {
    owners_.visit(section);
    std::uint64_t run = 1;
    bool is_run = true;
    for (const distribution::SectionLevel& level : section.levels) {
        if (level.count == 1) continue;
        is_run = is_run && run == 1 && level.owner_stride == 1 && level.buffer_stride == 1;
        run = level.count;
    }
    if (is_run)
        slices_->runs.push_back(
            {section.owner,
             {static_cast<std::int64_t>(section.owner_offset * element_bytes_), run * element_bytes_},
             static_cast<std::int64_t>(section.buffer_offset * element_bytes_)});
    else
        slices_->list.push_back({section.owner, at_owner(section, element_bytes_), in_buffer(section, element_bytes_)});
}

std::vector<int> OwnerCollector::take() {
    std::ranges::sort(owners_);
    // Not std::ranges::unique, here and elsewhere: Clang before 16 does not compile a subrange of libstdc++.
    owners_.erase(std::unique(owners_.begin(), owners_.end()), owners_.end());
    return std::exchange(owners_, {});
}

namespace {

std::string text_of(const PrefetchOptions& options) {
    return fmt::format("{{consistent = {}, static_domain = {}, storage = {}}}", options.consistent,
                       options.static_domain,
                       options.storage == PrefetchStorage::by_index   ? "by_index"
                       : options.storage == PrefetchStorage::by_owner ? "by_owner"
                                                                      : "halo");
}

} // namespace

void ArrayCopies::begin_call(const ArrayTitle& array, Team& team, const PrefetchOptions& options) {
    team::Synchronisation& synchronisation = team.state().synchronisation();
    const std::int64_t identity = team::identity_on_window("prefetch", array.number);
    if (checks(team) < 1) return synchronisation.barrier(team::CollectiveCall::on_window, identity);
    const auto number = (static_cast<std::int64_t>(options.storage) * 2 + (options.static_domain ? 1 : 0)) * 2 +
                        (options.consistent ? 1 : 0);
    synchronisation.barrier(team::CollectiveCall::on_window, identity,
                            {.number = number,
                             .text = [&] { return "the options " + text_of(options); },
                             .start = [&] { return array.start(".prefetch"); }});
}

void ArrayCopies::check(const ArrayTitle& array, std::int64_t halo, const PrefetchOptions& options) const {
    if (options.storage == PrefetchStorage::halo && halo == 0)
        throw UsageError{fmt::format("{}: PrefetchStorage::halo puts copies around the local block, and the array has "
                                     "no room there; make it with "
                                     "GlobalArrayOptions{{.halo = depth}}, or use PrefetchStorage::by_index",
                                     array.start(".prefetch"))};
    if (buffer_ != nullptr && buffer_->options() != options) {
        throw UsageError{fmt::format(
            "{}: the array has patterns with the options {}, and this one has {}; an element is served from one "
            "copy, so that all patterns of an array need the same options: evict() first, or pass those",
            array.start(".prefetch"), text_of(buffer_->options()), text_of(options))};
    }
}

prefetching::CopyState& ArrayCopies::begin(Window& window, const PrefetchOptions& options) {
    if (buffer_ == nullptr) buffer_ = std::make_shared<prefetching::EntryBuffer>(window, options);
    return buffer_->state();
}

void ArrayCopies::require_halo(const ArrayTitle& array) const {
    if (buffer_ != nullptr && buffer_->options().storage == PrefetchStorage::halo) return;
    throw UsageError{fmt::format("{}: nothing is prefetched into the halo of the array; make it with "
                                 "GlobalArrayOptions{{.halo = depth}} and call "
                                 "prefetch() with PrefetchStorage::halo, on all ranks",
                                 array.start(".halo_view"))};
}

std::byte* ArrayCopies::add(std::uint64_t bytes, SliceCollector& slices, std::uint64_t index_bytes, std::byte* memory) {
    return buffer_->add(bytes, slices.slices().take(), index_bytes, memory);
}

prefetching::EntryBuffer& ArrayCopies::buffer(const ArrayTitle& array, const char* call) const {
    if (buffer_ == nullptr)
        throw UsageError{fmt::format(
            "{}: no elements of the array are prefetched; call prefetch() with a pattern first, on all ranks",
            array.start(call))};
    return *buffer_;
}

PrefetchOptions ArrayCopies::options() const noexcept { return buffer_->options(); }

void ArrayCopies::require_free_extents(const ArrayTitle& array) const {
    if (buffer_ == nullptr || !buffer_->options().static_domain) return;
    throw UsageError{fmt::format(
        "{}: the array has patterns with static_domain = true, so that its extents must stay; evict() first, or "
        "prefetch without static_domain",
        array.start(".resize"))};
}

void ArrayCopies::fill_new() { buffer_->fill_new(); }

void ArrayCopies::refresh() const {
    const trace::CallScope call{trace::Way::prefetch};
    buffer_->refresh();
}

void ArrayCopies::drop() noexcept {
    if (buffer_ == nullptr) return;
    buffer_->detach();
    buffer_.reset();
}

void ArrayCopies::collect_statistics() const {
    if (buffer_ != nullptr) buffer_->collect_statistics();
}

void ArrayBase::update() {
    const trace::CallScope call{trace::Way::prefetch};
    require_open(".update");
    copies_.buffer(title_, ".update").fill();
}

Completion ArrayBase::update_async() {
    require_open(".update_async");
    return copies_.buffer(title_, ".update_async").start_fill();
}

} // namespace lapwing::detail::arrays
