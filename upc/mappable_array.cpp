#include "upc/mappable_array.hpp"

#include "arrays/array_core_mapping.hpp"
#include "src/support/mutex.hpp"
#include "upc/guarded.hpp"
#include "upc/program.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/slice_collector.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::upc::detail {
namespace {

namespace arrays = lapwing::detail::arrays;
namespace distribution = lapwing::detail::distribution;
using lapwing::detail::slices::ArrayGeometry;

/// The largest unit in which elements, and the addresses of what is allocated, can be counted.
[[nodiscard]] std::uint64_t unit_of(const DealtArray& array) noexcept {
    if (array.begin.address % array.element_bytes == 0) return array.element_bytes;
    return std::min<std::uint64_t>(array.element_bytes & (~array.element_bytes + 1), granule);
}

[[nodiscard]] std::shared_ptr<const ArrayGeometry> geometry_of(ProgramState& program, const DealtArray& array) {
    auto geometry = std::make_shared<ArrayGeometry>();
    geometry->team = &program.team();
    geometry->window = &program.heap().state();
    geometry->window_outlives_it = program.life();
    geometry->element_bytes = unit_of(array);
    const std::uint64_t row = array.element_bytes / geometry->element_bytes;
    geometry->dimensions = row == 1 ? 1 : 2;
    geometry->extents = {static_cast<std::int64_t>(array.size), static_cast<std::int64_t>(row)};
    geometry->origin = array.begin.address / geometry->element_bytes;
    const bool one_thread = array.block_size == indefinite; // thread 0
    const int threads = one_thread ? 1 : program.threads().threads();
    const std::array<int, 2> grid{threads, 1};
    const std::array<std::int64_t, 2> blocks{one_thread ? 1 : static_cast<std::int64_t>(array.block_size), 1};
    const std::size_t used = geometry->dimensions;
    (void)distribution::make_dimensions(std::span{geometry->maps}.first(used), "upc::SharedArray",
                                        geometry->used_extents(), threads, std::span{grid}.first(used),
                                        std::span{blocks}.first(used), distribution::Dealing::blocks);
    return geometry;
}

/// This thread's elements, if they are one block.
[[nodiscard]] arrays::StretchHere here_of(const ProgramState& program, const DealtArray& array) {
    const auto threads = static_cast<std::uint64_t>(program.threads().threads());
    const int own = program.own_thread();
    std::uint64_t first = 0;
    std::uint64_t end = own == 0 ? array.size : 0;
    if (array.block_size != indefinite) {
        if ((array.size + array.block_size - 1) / array.block_size > threads) return {};
        first = std::min<std::uint64_t>(array.size, array.block_size * static_cast<std::uint64_t>(own));
        end = std::min<std::uint64_t>(array.size, first + array.block_size);
    }
    if (first >= end) return {};
    return {{first * array.element_bytes, end * array.element_bytes}, heap_access.own + array.begin.address, own, own};
}

} // namespace

MappableArray::MappableArray(ProgramState& program, const DealtArray& array, std::span<const std::size_t> extents)
    : title_{.who = fmt::format("thread {} of {}", program.own_thread(), program.threads().threads()),
             .other = fmt::format("upc::SharedArray({} in blocks of {})", fmt::join(extents, " x "), array.block_size)},
      extents_{extents.begin(), extents.end()},
      element_bytes_{array.element_bytes},
      own_thread_{program.own_thread()},
      geometry_{geometry_of(program, array)},
      here_{here_of(program, array)} {}

arrays::MappedElements MappableArray::map(std::vector<Range> named, bool asked) const {
    const bool on_demand = arrays::is_on_demand(title_, *geometry_, asked);
    const Domain<1> whole{Range{0, geometry_->extents[0]}};
    if (asked && !on_demand) named = {whole.range(0)}; // no page is closed
    if (std::shared_ptr<arrays::Mapping> spare = spare_->take(geometry_, named, on_demand)) {
        arrays::MappedElements elements{std::move(spare)};
        elements.refresh();
        return elements;
    }
    const arrays::NamedDomains<1> disjoint{whole, {named.begin(), named.end()}, true};
    arrays::Mapping::Named stretches{.on_demand = on_demand, .shape = {extents_, element_bytes_}};
    disjoint.add_stretches(element_bytes_, stretches);
    auto mapping = std::make_unique<arrays::Mapping>(geometry_, title_, std::move(stretches), here_);
    if (!on_demand) { // else whole pages are fetched
        const std::uint64_t row = element_bytes_ / geometry_->element_bytes;
        const std::size_t used = geometry_->dimensions;
        arrays::SliceCollector slices{geometry_->element_bytes};
        arrays::CopiedSections copied{*mapping, slices, own_thread_, false};
        disjoint.for_each([&](const Domain<1>& one) {
            if (one.empty()) return;
            const std::array<Range, 2> domain{one.range(0), Range{0, geometry_->extents[1]}};
            const std::array<std::uint64_t, 2> strides{static_cast<std::uint64_t>(one.range(0).stride()) * row, 1};
            distribution::cut(std::span{geometry_->maps}.first(used), geometry_->origin, std::span{domain}.first(used),
                              static_cast<std::uint64_t>(one.range(0).first()) * row, std::span{strides}.first(used),
                              copied);
        });
        mapping->add(slices.slices().take());
    }
    arrays::MappedElements elements{spare_->share(std::move(mapping), std::move(named))};
    elements.refresh();
    return elements;
}

const MappableArray& mappable(std::shared_ptr<const MappableArray>& made, const DealtArray& array,
                              std::span<const std::size_t> extents) {
    static constinit lapwing::detail::support::Mutex mutex{lapwing::detail::support::LockRank::leaf};
    const std::lock_guard lock{mutex};
    if (made == nullptr)
        guarded([&] { made = std::make_shared<const MappableArray>(program("mapped"), array, extents); });
    return *made;
}

arrays::MappedElements map(const MappableArray& array, const std::vector<Range>& elements) {
    return guarded([&] { return array.map(elements, false); });
}

arrays::MappedElements map_on_demand(const MappableArray& array) {
    return guarded([&] { return array.map({}, true); });
}

void drop_spare(const MappableArray& array) { array.drop_spare(); }

} // namespace lapwing::upc::detail
