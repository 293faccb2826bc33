#include "arrays/slices/pairing.hpp"

#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace lapwing::detail::slices {

namespace {

/// A dimension of a buffer: one process has it all.
const distribution::DimensionMap undivided;

struct PlaceInDimension {
    int process = 0;
    std::uint64_t place = 0;
};

[[nodiscard]] PlaceInDimension place_of(const distribution::DimensionMap& map, std::int64_t index) noexcept {
    const auto [block, in_block] = map.by_block.divide(static_cast<std::uint64_t>(index));
    const auto [round, process] = map.by_processes.divide(block);
    return {static_cast<int>(process), round * map.block() + in_block};
}

} // namespace

Location user_location(const ArrayGeometry& array, const std::int64_t* index) {
    Location location = array.user_map->locate_at(index);
    if (location.owner.value < 0) return location;
    const int owner = array.replicated ? array.team->rank().value : location.owner.value;
    // Without a window: of a distribution that has been asked, but has no array yet.
    const auto room = [&](int rank) {
        return array.window == nullptr ? array.user_map->local_capacity()
                                       : array.window->map().bytes(rank) / array.element_bytes;
    };
    if (owner >= array.team->size() || location.contiguous == 0 || location.offset >= room(owner) ||
        location.contiguous > room(owner) - location.offset)
        throw RangeError{
            fmt::format("{}: {}: the distribution puts index {} at rank {}, offset {}, with {} contiguous elements (at "
                        "least 1); correct its locate() or local_capacity()",
                        array.team->who(), array.name, datatype::index_text(index, array.dimensions),
                        location.owner.value, location.offset, location.contiguous)};
    location.owner = Rank{owner};
    return location;
}

// Sides.

Side Side::of(const ArrayGeometry& array, const SliceShape& shape) {
    Side side;
    side.shape_ = shape;
    side.element_bytes_ = array.element_bytes;
    if (array.window != nullptr) side.memory_ = array.window->map().own;
    side.own_rank_ = array.team->rank().value;
    side.array_ = &array;
    return side;
}

Side Side::buffer(const SliceShape& shape, std::span<const std::int64_t> strides, std::uint64_t element_bytes,
                  std::byte* memory) {
    Side side;
    side.shape_.count = shape.count;
    for (std::size_t d = 0; d < shape.count; ++d) {
        side.shape_.dimensions[d] = {d, Triplet::strided(0, shape.dimensions[d].indices.size(), 1)};
        side.strides_[d] = strides[d];
    }
    side.element_bytes_ = element_bytes;
    side.memory_ = memory;
    return side;
}

std::uint64_t DealtPositions::before(std::uint64_t position) const noexcept {
    const std::uint64_t at = first + position;
    const std::uint64_t round = block * processes;
    const std::uint64_t in_round = at % round;
    const std::uint64_t begin = process * block;
    return at / round * block + (in_round < begin ? 0 : std::min(in_round - begin, block));
}

void Side::deal(std::size_t d, const DealtPositions& positions) {
    dealt_.resize(shape_.count);
    DealtDimension& dealt = dealt_[d].emplace();
    dealt.map.by_block = distribution::Reciprocal{positions.block};
    dealt.map.by_processes = distribution::Reciprocal{positions.processes};
    dealt.process = static_cast<int>(positions.process);
    dealt.first_place = positions.before(0);
    Triplet& indices = shape_.dimensions[d].indices;
    indices = Triplet::strided(static_cast<std::int64_t>(positions.first), indices.size(), 1);
}

const distribution::DimensionMap& Side::map(std::size_t d) const noexcept {
    if (array_ != nullptr) return array_->maps[shape_.dimensions[d].of_array];
    return d < dealt_.size() && dealt_[d] ? dealt_[d]->map : undivided;
}

distribution::IndexSequence Side::indices(std::size_t d, bool reversed) const noexcept {
    const Triplet& forward = shape_.dimensions[d].indices;
    const Triplet triplet = reversed ? forward.reversed() : forward;
    return {triplet.first(), triplet.stride(), triplet.size()};
}

int Side::rank_stride(std::size_t d) const noexcept { return is_replicated() ? 0 : map(d).rank_stride; }

int Side::process_of(std::size_t d, int rank) const noexcept {
    if (array_ != nullptr) return map(d).process_of(rank);
    return d < dealt_.size() && dealt_[d] ? dealt_[d]->process : 0;
}

bool Side::has_fixed(int rank) const noexcept {
    if (array_ == nullptr) return true;
    for (std::size_t d = 0; d < array_->dimensions; ++d)
        if (shape_.is_fixed[d] &&
            place_of(array_->maps[d], shape_.fixed[d]).process != array_->maps[d].process_of(rank))
            return false;
    return true;
}

int Side::rank_of_fixed() const noexcept {
    int rank = 0;
    if (array_ == nullptr || is_replicated()) return own_rank_;
    for (std::size_t d = 0; d < array_->dimensions; ++d)
        if (shape_.is_fixed[d])
            rank += place_of(array_->maps[d], shape_.fixed[d]).process * array_->maps[d].rank_stride;
    return rank;
}

Side::Placement Side::placement(int rank) const noexcept {
    Placement placement;
    const auto bytes = static_cast<std::int64_t>(element_bytes_);
    if (array_ == nullptr) {
        for (std::size_t d = 0; d < shape_.count; ++d) placement.strides[d] = strides_[d] * bytes;
        for (std::size_t d = 0; d < dealt_.size(); ++d)
            if (dealt_[d]) placement.offset -= static_cast<std::int64_t>(dealt_[d]->first_place) * placement.strides[d];
        return placement;
    }
    std::array<std::int64_t, max_dimensions> by_array{};
    std::int64_t stride = bytes;
    placement.offset = static_cast<std::int64_t>(array_->origin) * bytes;
    for (std::size_t d = array_->dimensions; d-- > 0;) {
        const distribution::DimensionMap& map = array_->maps[d];
        by_array[d] = stride;
        if (shape_.is_fixed[d])
            placement.offset += static_cast<std::int64_t>(place_of(map, shape_.fixed[d]).place) * stride;
        stride *= static_cast<std::int64_t>(map.room(static_cast<std::uint64_t>(map.process_of(rank))));
    }
    for (std::size_t d = 0; d < shape_.count; ++d) placement.strides[d] = by_array[shape_.dimensions[d].of_array];
    return placement;
}

Location Side::locate(std::span<const std::int64_t> position) const {
    if (array_ == nullptr) {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < shape_.count; ++d) offset += position[d] * strides_[d];
        const std::uint64_t row = shape_.dimensions[shape_.count - 1].indices.size();
        return {Rank{own_rank_}, static_cast<std::uint64_t>(offset),
                row - static_cast<std::uint64_t>(position[shape_.count - 1])};
    }
    std::array<std::int64_t, max_dimensions> index = shape_.fixed;
    for (std::size_t d = 0; d < shape_.count; ++d)
        index[shape_.dimensions[d].of_array] = shape_.dimensions[d].indices[static_cast<std::uint64_t>(position[d])];
    if (is_user_defined()) return user_location(*array_, index.data());
    std::uint64_t stride = 1;
    Location location{Rank{0}, array_->origin, 1};
    for (std::size_t d = array_->dimensions; d-- > 0;) {
        const distribution::DimensionMap& map = array_->maps[d];
        const PlaceInDimension found = place_of(map, index[d]);
        location.owner.value += found.process * map.rank_stride;
        location.offset += found.place * stride;
        stride *= map.room(static_cast<std::uint64_t>(found.process));
        if (d + 1 == array_->dimensions) {
            const std::uint64_t in_block = map.by_block.divide(static_cast<std::uint64_t>(index[d])).remainder;
            location.contiguous = std::min(map.block() - in_block, map.extent - static_cast<std::uint64_t>(index[d]));
        }
    }
    if (is_replicated()) location.owner = Rank{own_rank_};
    return location;
}

void Side::throw_not_stored(std::span<const std::int64_t> position) const {
    std::array<std::int64_t, max_dimensions> index = shape_.fixed;
    for (std::size_t d = 0; d < shape_.count; ++d)
        index[shape_.dimensions[d].of_array] = shape_.dimensions[d].indices[static_cast<std::uint64_t>(position[d])];
    throw RangeError{fmt::format("{}: {}: the distribution stores no element at {}; take a slice of what it stores",
                                 array_->team->who(), text_of(*array_, shape_),
                                 datatype::index_text(index.data(), array_->dimensions))};
}

bool Side::has_rows() const noexcept {
    const SliceShape::Dimension& last = shape_.dimensions[shape_.count - 1];
    if (array_ == nullptr) return strides_[shape_.count - 1] == 1;
    return last.of_array + 1 == array_->dimensions && last.indices.stride() == 1;
}

template <class Visit>
void Side::for_own_positions(Visit visit) const {
    std::array<Triplet, max_dimensions> positions;
    if (array_ == nullptr) {
        for (std::size_t d = 0; d < shape_.count; ++d) positions[d] = shape_.dimensions[d].indices;
        return visit(std::span<const Triplet>{positions.data(), shape_.count});
    }
    // The domains of this rank, whatever the distribution, and what the slice has of each.
    std::array<Range, max_dimensions> domain;
    const Rank rank{is_replicated() ? 0 : own_rank_};
    const auto visit_domain = [&] {
        for (std::size_t d = 0; d < array_->dimensions; ++d)
            if (shape_.is_fixed[d] && !domain[d].contains(shape_.fixed[d])) return;
        for (std::size_t d = 0; d < shape_.count; ++d) {
            const Triplet& indices = shape_.dimensions[d].indices;
            const Range own = domain[shape_.dimensions[d].of_array].intersect(indices.range());
            if (own.empty()) return;
            const std::int64_t first = (own.first() - indices.first()) / indices.stride();
            const std::int64_t last = (own.last() - indices.first()) / indices.stride();
            const std::int64_t step = own.size() == 1 ? 1 : (last - first) / static_cast<std::int64_t>(own.size() - 1);
            positions[d] = Triplet::strided(first, own.size(), step);
            if (step < 0) positions[d] = positions[d].reversed();
        }
        visit(std::span<const Triplet>{positions.data(), shape_.count});
    };
    if (is_user_defined()) {
        const std::uint64_t count = array_->user_map->domains_of(rank);
        for (std::uint64_t k = 0; k < count; ++k) {
            array_->user_map->copy_domain(rank, k, domain.data());
            visit_domain();
        }
        return;
    }
    // All combinations of the ranges of the dimensions.
    std::array<std::uint64_t, max_dimensions> counts{};
    std::array<std::uint64_t, max_dimensions> k{};
    const std::size_t dimensions = array_->dimensions;
    for (std::size_t d = 0; d < dimensions; ++d) {
        counts[d] = array_->maps[d].range_count(array_->maps[d].process_of(rank.value));
        if (counts[d] == 0) return;
    }
    for (;;) {
        for (std::size_t d = 0; d < dimensions; ++d)
            domain[d] = array_->maps[d].range(array_->maps[d].process_of(rank.value), k[d]);
        visit_domain();
        std::size_t d = dimensions;
        while (d > 0 && ++k[d - 1] == counts[d - 1]) k[--d] = 0;
        if (d == 0) return;
    }
}

std::vector<std::array<Triplet, max_dimensions>> Side::own_boxes() const {
    std::vector<std::array<Triplet, max_dimensions>> boxes;
    for_own_positions([&](std::span<const Triplet> positions) {
        auto& box = boxes.emplace_back();
        std::ranges::copy(positions, box.begin());
    });
    return boxes;
}

// Pairings.

Pairing::Pairing(const Side& here, const Side& there, bool pass_over)
    : here_{here}, there_{there}, pass_over_{pass_over} {
    if (std::ranges::any_of(here.dimensions(),
                            [](const SliceShape::Dimension& dimension) { return dimension.indices.empty(); }))
        return;
    if (here_.is_user_defined() || there_.is_user_defined()) list_runs();
    else match_dimensions();
}

void Pairing::match_dimensions() {
    if (!here_.has_fixed(here_.own_rank())) return;
    const std::size_t count = here_.dimensions().size();
    std::array<std::size_t, max_dimensions> found{};
    for (std::size_t d = 0; d < count; ++d) {
        // Along the memory of the other rank.
        reversed_[d] = there_.indices(d, false).stride < 0;
        matches_[d] =
            distribution::match(here_.map(d), here_.process_of(d, here_.own_rank()), here_.indices(d, reversed_[d]),
                                there_.map(d), there_.indices(d, reversed_[d]));
        if (matches_[d].empty()) return;
        found[d] = matches_[d].size();
    }
    partners_.reserve(std::accumulate(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), std::size_t{1},
                                      std::multiplies<>{}));
    Partner partner;
    for (;;) {
        partner.rank = there_.rank_of_fixed();
        for (std::size_t d = 0; d < count; ++d)
            partner.rank += matches_[d][partner.match[d]].process * there_.rank_stride(d);
        partners_.push_back(partner);
        std::size_t d = count;
        while (d > 0 && ++partner.match[d - 1] == found[d - 1]) partner.match[--d] = 0;
        if (d == 0) break;
    }
    std::ranges::sort(partners_, {}, &Partner::rank);
}

void Pairing::list_row(std::span<std::int64_t> position, const Triplet& last) {
    const bool rows = here_.has_rows() && there_.has_rows() && last.stride() == 1;
    for (std::uint64_t k = 0; k < last.size();) {
        position.back() = last[k];
        const Location here = here_.locate(position);
        const Location there = there_.locate(position);
        if (there.owner.value < 0) {
            if (!pass_over_) there_.throw_not_stored(position);
            ++k;
            continue;
        }
        if (here.owner.value != here_.own_rank())
            throw RangeError{fmt::format(
                "{}: {}: the distribution's domain() lists an index for this rank that locate() puts at rank {}; "
                "correct one of them",
                here_.array()->team->who(), here_.array()->name, here.owner.value)};
        const std::uint64_t steps = rows ? std::min({here.contiguous, there.contiguous, last.size() - k}) : 1;
        k += steps;
        if (!runs_.empty()) {
            Run& before = runs_.back();
            if (before.rank == there.owner.value && before.here + before.count == here.offset &&
                before.there + before.count == there.offset) {
                before.count += steps;
                continue;
            }
        }
        runs_.push_back({there.owner.value, here.offset, there.offset, steps});
    }
}

void Pairing::list_runs() {
    here_.for_own_positions([&](std::span<const Triplet> positions) {
        const std::size_t rows = positions.size() - 1; // dimensions before the last
        std::array<std::int64_t, max_dimensions> position{};
        std::array<std::uint64_t, max_dimensions> k{};
        for (;;) {
            for (std::size_t d = 0; d < rows; ++d) position[d] = positions[d][k[d]];
            list_row({position.data(), positions.size()}, positions.back());
            std::size_t d = rows;
            while (d > 0 && ++k[d - 1] == positions[d - 1].size()) k[--d] = 0;
            if (d == 0) return;
        }
    });
    // In the order of this rank's memory, and in place: there may be a run for each element.
    std::ranges::sort(runs_, {}, [](const Run& run) { return std::pair{run.rank, run.here}; });
    for (std::size_t begin = 0; begin < runs_.size();) {
        std::size_t end = begin;
        while (end < runs_.size() && runs_[end].rank == runs_[begin].rank) ++end;
        Partner partner{.rank = runs_[begin].rank};
        partner.match[0] = static_cast<std::uint32_t>(begin);
        partner.match[1] = static_cast<std::uint32_t>(end);
        partners_.push_back(partner);
        begin = end;
    }
}

std::uint64_t Pairing::elements(const Partner& partner) const {
    if (!runs_.empty()) {
        std::uint64_t elements = 0;
        for (std::size_t k = partner.match[0]; k < partner.match[1]; ++k) elements += runs_[k].count;
        return elements;
    }
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < here_.dimensions().size(); ++d) elements *= matches_[d][partner.match[d]].count;
    return elements;
}

LayoutPair Pairing::layouts_of_runs(const Partner& partner) const {
    std::vector<ByteBlock> here;
    std::vector<ByteBlock> there;
    for (std::size_t k = partner.match[0]; k < partner.match[1]; ++k) {
        const Run& run = runs_[k];
        here.push_back(
            {static_cast<std::int64_t>(run.here * here_.element_bytes()), run.count * here_.element_bytes()});
        there.push_back(
            {static_cast<std::int64_t>(run.there * there_.element_bytes()), run.count * there_.element_bytes()});
    }
    return {Layout::list(here), Layout::list(there)};
}

namespace {

using distribution::Match;
using distribution::MatchedRun;

/// One side of a match in bytes.
struct MatchSide {
    std::int64_t MatchedRun::* place;
    std::int64_t scale = 0;  ///< bytes from place to place
    std::int64_t step = 0;   ///< from position to position of a run
    std::int64_t stride = 0; ///< from repetition to repetition
};

/// The places of positions [first, first + count) of a match.
[[nodiscard]] Layout::Offsets offsets_of(const Match& match, const MatchSide& side, std::uint64_t first,
                                         std::uint64_t count) {
    Layout::Offsets offsets;
    offsets.reserve(count);
    std::uint64_t seen = 0;
    for (std::uint64_t repeat = 0; offsets.size() < count; ++repeat)
        for (const MatchedRun& run : match.runs)
            for (std::uint64_t k = 0; k < run.count && offsets.size() < count; ++k)
                if (seen++ >= first)
                    offsets.push_back(run.*side.place * side.scale + static_cast<std::int64_t>(k) * side.step +
                                      static_cast<std::int64_t>(repeat) * side.stride);
    return offsets;
}

/// `inner` at each position of the runs of a match, once through them.
[[nodiscard]] Layout one_period(const Layout& inner, const Match& match, const MatchSide& side) {
    const std::uint64_t count = match.runs.front().count;
    if (std::ranges::all_of(match.runs, [&](const MatchedRun& run) { return run.count == count; })) {
        const Layout run = count == 1 ? inner : inner.repeat(count, side.step);
        if (match.runs.size() == 1) return run.shift(match.runs.front().*side.place * side.scale);
        Layout::Offsets offsets;
        for (const MatchedRun& one : match.runs) offsets.push_back(one.*side.place * side.scale);
        return run.repeat_at(std::move(offsets));
    }
    if (!inner.is_contiguous() || side.step != static_cast<std::int64_t>(inner.bytes()))
        return inner.repeat_at(offsets_of(match, side, 0, match.period()));
    std::vector<ByteBlock> blocks;
    for (const MatchedRun& run : match.runs)
        blocks.push_back({run.*side.place * side.scale + inner.lower(), run.count * inner.bytes()});
    return Layout::list(blocks);
}

/// `inner` at each position of a match. `outermost`: no dimension is put around it.
[[nodiscard]] Layout around(const Layout& inner, const Match& match, const MatchSide& side, bool outermost) {
    // A level around a slice would write out every block inside of it.
    if (!match.whole() && !outermost && !inner.is_contiguous())
        return inner.repeat_at(offsets_of(match, side, match.skip, match.count));
    const Layout all = one_period(inner, match, side).repeat(match.repeats, side.stride);
    return match.whole() ? all : all.slice(match.skip * inner.bytes(), (match.skip + match.count) * inner.bytes());
}

} // namespace

LayoutPair Pairing::layouts(const Partner& partner, bool by_here) const {
    if (!runs_.empty()) return layouts_of_runs(partner);
    const Side::Placement here = here_.placement(here_.own_rank());
    const Side::Placement there = there_.placement(partner.rank);
    // From the outermost dimension to the innermost: as the one memory or the other has them.
    const std::size_t count = here_.dimensions().size();
    std::array<std::size_t, max_dimensions> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Side::Placement& leading = by_here ? here : there;
    const auto used = std::span{order}.first(count);
    std::ranges::stable_sort(used, std::ranges::greater{}, [&](std::size_t d) { return leading.strides[d]; });

    LayoutPair pair{Layout::contiguous(here_.element_bytes()), Layout::contiguous(there_.element_bytes())};
    for (std::size_t k = count; k-- > 0;) {
        const std::size_t d = used[k];
        const Match& match = matches_[d][partner.match[d]];
        const std::int64_t here_scale = here.strides[d];
        const std::int64_t there_scale = there.strides[d];
        pair.here = around(pair.here, match,
                           {&MatchedRun::here, here_scale, here_.indices(d, reversed_[d]).stride * here_scale,
                            match.here_stride * here_scale},
                           k == 0);
        pair.there = around(pair.there, match,
                            {&MatchedRun::there, there_scale, there_.indices(d, reversed_[d]).stride * there_scale,
                             match.there_stride * there_scale},
                            k == 0);
    }
    pair.here = pair.here.shift(here.offset);
    pair.there = pair.there.shift(there.offset);
    return pair;
}

} // namespace lapwing::detail::slices
