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

void ArrayBase::throw_not_in_view(std::span<const std::int64_t> index) const {
    throw RangeError{fmt::format(
        "{}{}: the element is neither the rank's own nor prefetched, nor of its node; prefetch a pattern that has "
        "it, or read it from the array",
        start_of_text(".view()"), datatype::index_text(index.data(), index.size()))};
}

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

void ArrayBase::begin_prefetch_call(const PrefetchOptions& options) const {
    if (checks(*team_) < 1) return begin_collective("prefetch");
    const auto number = (static_cast<std::int64_t>(options.storage) * 2 + (options.static_domain ? 1 : 0)) * 2 +
                        (options.consistent ? 1 : 0);
    team_->state().synchronisation().barrier(team::CollectiveCall::on_window,
                                             team::identity_on_window("prefetch", number_),
                                             {.number = number,
                                              .text = [&] { return "the options " + text_of(options); },
                                              .start = [&] { return start_of_text(".prefetch"); }});
}

void ArrayBase::check_prefetch(const PrefetchOptions& options) const {
    if (options.storage == PrefetchStorage::halo && halo_ == 0)
        throw UsageError{fmt::format("{}: PrefetchStorage::halo puts copies around the local block, and the array has "
                                     "no room there; make it with "
                                     "GlobalArrayOptions{{.halo = depth}}, or use PrefetchStorage::by_index",
                                     start_of_text(".prefetch"))};
    if (copies_ != nullptr && copies_->options() != options) {
        throw UsageError{fmt::format(
            "{}: the array has patterns with the options {}, and this one has {}; an element is served from one "
            "copy, so that all patterns of an array need the same options: evict() first, or pass those",
            start_of_text(".prefetch"), text_of(copies_->options()), text_of(options))};
    }
}

prefetching::CopyState& ArrayBase::begin_prefetch(const PrefetchOptions& options) {
    if (copies_ == nullptr) copies_ = std::make_shared<prefetching::EntryBuffer>(window_, options);
    return copies_->state();
}

void ArrayBase::require_halo_copies() const {
    if (copies_ != nullptr && copies_->options().storage == PrefetchStorage::halo) return;
    throw UsageError{fmt::format("{}: nothing is prefetched into the halo of the array; make it with "
                                 "GlobalArrayOptions{{.halo = depth}} and call "
                                 "prefetch() with PrefetchStorage::halo, on all ranks",
                                 start_of_text(".halo_view"))};
}

std::byte* ArrayBase::add_copies(std::uint64_t bytes, SliceCollector& slices, std::uint64_t index_bytes,
                                 std::byte* memory) {
    return copies_->add(bytes, slices.slices().take(), index_bytes, memory);
}

prefetching::EntryBuffer& ArrayBase::copies(const char* call) const {
    require_open(call);
    if (copies_ == nullptr)
        throw UsageError{fmt::format(
            "{}: no elements of the array are prefetched; call prefetch() with a pattern first, on all ranks",
            start_of_text(call))};
    return *copies_;
}

void ArrayBase::update() {
    const trace::CallScope call{trace::Way::prefetch};
    copies(".update").fill();
}

Completion ArrayBase::update_async() { return copies(".update_async").start_fill(); }

void ArrayBase::fill_new_copies() { copies_->fill_new(); }

void ArrayBase::refresh_copies() const {
    const trace::CallScope call{trace::Way::prefetch};
    copies_->refresh();
}

void ArrayBase::drop_copies() noexcept {
    if (copies_ == nullptr) return;
    copies_->detach();
    copies_.reset();
}

void ArrayBase::collect_prefetch_statistics() const {
    if (copies_ != nullptr) copies_->collect_statistics();
}

} // namespace lapwing::detail::arrays
