#include <lapwing/detail/array_copies.hpp>

#include "arrays/collected_slices.hpp"
#include "prefetch/entry_buffer.hpp"
#include "src/support/assert.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/array_base.hpp>
#include <lapwing/detail/slice_collector.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::detail::arrays {

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
    LAPWING_ASSERT(!empty());
    return buffer_->add(bytes, slices.slices().take(), index_bytes, memory);
}

prefetching::EntryBuffer& ArrayCopies::buffer(const ArrayTitle& array, const char* call) const {
    if (buffer_ == nullptr)
        throw UsageError{fmt::format(
            "{}: no elements of the array are prefetched; call prefetch() with a pattern first, on all ranks",
            array.start(call))};
    return *buffer_;
}

PrefetchOptions ArrayCopies::options() const noexcept {
    LAPWING_ASSERT(!empty());
    return buffer_->options();
}

void ArrayCopies::require_free_extents(const ArrayTitle& array) const {
    if (buffer_ == nullptr || !buffer_->options().static_domain) return;
    throw UsageError{fmt::format(
        "{}: the array has patterns with static_domain = true, so that its extents must stay; evict() first, or "
        "prefetch without static_domain",
        array.start(".resize"))};
}

void ArrayCopies::fill_new() {
    LAPWING_ASSERT(!empty());
    buffer_->fill_new();
}

void ArrayCopies::refresh() const {
    const trace::CallScope call{trace::Way::prefetch};
    LAPWING_ASSERT(!empty());
    buffer_->refresh();
}

void ArrayCopies::drop() noexcept {
    if (buffer_ == nullptr) return;
    buffer_->detach();
    buffer_.reset();
}

void ArrayCopies::count_hits() const {
    if (buffer_ != nullptr) buffer_->count_hits();
}

} // namespace lapwing::detail::arrays
