#pragma once

/// The members of ArrayCore that map an array as memory.
#include "arrays/array_core_prefetch.hpp"
#include "arrays/collected_slices.hpp"
#include "arrays/mapping.hpp"

#include <lapwing/detail/array_core.hpp>
#include <lapwing/detail/needed_domains.hpp>
#include <lapwing/detail/slice_collector.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// Where a domain is in the row-major order of an array, in elements.
template <std::size_t N>
[[nodiscard]] distribution::BufferShape<N> shape_in_order(const Domain<N>& whole, const Domain<N>& domain) {
    return shape_within(distribution::BufferShape<N>::row_major(whole), Index<N>{}, domain);
}

/// How far the last element of a domain of this shape is from the first, in the dimensions from `d` on.
template <std::size_t N>
[[nodiscard]] std::uint64_t reach(const Domain<N>& domain, const distribution::BufferShape<N>& shape, std::size_t d) {
    std::uint64_t last = 0;
    for (; d < N; ++d) last += (domain.range(d).size() - 1) * shape.strides[d];
    return last;
}

/// Adds where the elements of a domain are, in bytes; returns whether nothing else is among that. Else it is what lies
/// between two of a row, or of many rows.
template <std::size_t N>
[[nodiscard]] bool add_stretches(const Domain<N>& whole, const Domain<N>& domain, std::uint64_t element_bytes,
                                 std::vector<Stretch>& to) {
    if (domain.empty()) return true;
    // Not more stretches than are worth telling apart.
    constexpr std::uint64_t most = 1 << 16;
    std::size_t outer = N - 1; // dimensions in front of a stretch
    while (outer > 0 && domain.range(outer) == whole.range(outer)) --outer;
    if (domain.range(outer).size() > 1 && domain.range(outer).stride() > 1) ++outer; // with others in between
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < outer; ++d) {
        count *= domain.range(d).size();
        if (count <= most) continue;
        outer = d;
        break;
    }
    std::array<Range, N> firsts = domain.ranges();
    for (std::size_t d = outer; d < N; ++d) firsts[d] = Range::strided(firsts[d].first(), 1, 1);
    const Domain<N> starts{firsts}; // of the stretches
    const std::array<std::uint64_t, N> strides = distribution::BufferShape<N>::row_major(whole).strides;
    const std::uint64_t last = reach(domain, shape_in_order(whole, domain), outer);
    for (const Index<N>& index : starts) {
        std::uint64_t first = 0;
        for (std::size_t d = 0; d < N; ++d) first += static_cast<std::uint64_t>(index[d]) * strides[d];
        to.push_back({first * element_bytes, (first + last + 1) * element_bytes});
    }
    return (last + 1) * starts.size() == domain.size();
}

/// What is named, each element once, so that nothing is fetched twice: as few rectangles, or else as runs of rows.
template <std::size_t N>
class NamedDomains {
public:
    NamedDomains(const Domain<N>& whole, const std::vector<Domain<N>>& named, bool as_rectangles) : whole_{whole} {
        few_ = as_rectangles;
        for (const Domain<N>& one : named) few_ = few_ && rectangles_.add(one.intersect(whole));
        if (!few_) rows_ = disjoint_rows(whole, named);
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const Domain<N>& one : rectangles_.domains())
            if (few_) visit(one);
        for (const IndexRun<N>& row : rows_) visit(row.domain());
    }
    /// Where they are in the array's order.
    void add_stretches(std::uint64_t element_bytes, Mapping::Named& to) const {
        for_each(
            [&](const Domain<N>& one) { to.exact &= arrays::add_stretches(whole_, one, element_bytes, to.stretches); });
    }

private:
    Domain<N> whole_;
    prefetching::NeededDomains<N> rectangles_;
    bool few_ = false;
    std::vector<IndexRun<N>> rows_;
};

/// Passes on the sections that have to be copied.
class CopiedSections final : public distribution::SectionVisitor {
public:
    CopiedSections(const Mapping& mapping, SliceCollector& slices, int own_rank, bool replicated) noexcept
        : mapping_{mapping}, slices_{slices}, own_rank_{own_rank}, replicated_{replicated} {}

    void visit(const distribution::Section& section) override {
        distribution::Section copied = section;
        if (replicated_) copied.owner = own_rank_;
        if (!mapping_.shows(copied.owner)) slices_.visit(copied);
    }

private:
    const Mapping& mapping_;
    SliceCollector& slices_;
    int own_rank_;
    bool replicated_;
};

/// The elements of a rank, whose part is mapped here at `memory`, if they are one stretch of the array's order; else
/// none. `place`: what the map calls the rank.
template <std::size_t N>
[[nodiscard]] StretchHere stretch_of(const BlockCyclicMap<N>& map, const Domain<N>& whole, int rank, int place,
                                     std::byte* memory, std::uint64_t element_bytes) {
    if (memory == nullptr || map.domain_count(Rank{place}) != 1) return {};
    const Domain<N> domain = map.domain(Rank{place}, 0);
    if (domain.empty()) return {};
    const distribution::BufferShape<N> shape = shape_in_order(whole, domain);
    const std::array<std::uint64_t, N> strides = map.strides(Rank{place});
    for (std::size_t d = 0; d < N; ++d)
        if (domain.range(d).size() > 1 && shape.strides[d] != strides[d]) return {};
    // A part with margins may have the array's strides, and others' elements in its gaps.
    if (reach(domain, shape, 0) + 1 != domain.size()) return {};
    const std::uint64_t first = shape.offset * element_bytes;
    return {{first, first + domain.size() * element_bytes}, memory + map.origin() * element_bytes, rank, rank};
}

/// The calling rank's elements, and those of the node around them, as far as they are one stretch of the array's order.
template <std::size_t N>
[[nodiscard]] StretchHere stretch_here(const BlockCyclicMap<N>& map, const Domain<N>& whole,
                                       const transport::MemoryMap& memory, bool replicated,
                                       std::uint64_t element_bytes) {
    if (replicated) return stretch_of(map, whole, memory.own_rank, 0, memory.own, element_bytes);
    const auto of = [&](int rank) {
        return stretch_of(map, whole, rank, rank, memory.base(Rank{rank}), element_bytes);
    };
    const auto follows = [](const StretchHere& one, const StretchHere& next) {
        return one.memory != nullptr && next.memory == one.memory + (one.stretch.end - one.stretch.first) &&
               next.stretch.first == one.stretch.end;
    };
    StretchHere here = of(memory.own_rank);
    if (here.memory == nullptr) return here;
    for (; here.last_rank + 1 < memory.ranks; ++here.last_rank) {
        const StretchHere next = of(here.last_rank + 1);
        if (!follows(here, next)) break;
        here.stretch.end = next.stretch.end;
    }
    for (; here.first_rank > 0; --here.first_rank) {
        const StretchHere before = of(here.first_rank - 1);
        if (!follows(before, here)) break;
        here.stretch.first = before.stretch.first;
        here.memory = before.memory;
    }
    return here;
}

template <std::size_t N>
MappedElements ArrayCore<N>::map_elements(const KeptPattern& pattern) const {
    this->require_open(".mapped");
    std::vector<Domain<N>> named = needed_by(pattern);
    const Rank own{core_.own_rank};
    for (std::uint64_t k = 0; k < domain_count(own); ++k) named.push_back(domain_of(own, k));
    return map_elements(named);
}

template <std::size_t N>
MappedElements ArrayCore<N>::map_elements(std::vector<Domain<N>> named, bool on_demand) const {
    this->require_open(".mapped");
    const bool asked = std::exchange(on_demand, is_on_demand(this->title_, *this->geometry_, on_demand));
    if (asked && !on_demand) named = {whole()}; // no page is closed
    std::vector<Range> ranges;
    for (const Domain<N>& one : named) ranges.insert(ranges.end(), one.ranges().begin(), one.ranges().end());
    if (std::shared_ptr<Mapping> spare = core_.spare_mapping->take(this->geometry_, ranges, on_demand)) {
        MappedElements elements{std::move(spare)};
        elements.refresh();
        return elements;
    }
    const NamedDomains<N> disjoint{whole(), named, core_.user_map == nullptr};
    Mapping::Named stretches{.on_demand = on_demand};
    disjoint.add_stretches(core_.element_bytes, stretches);
    const StretchHere here = core_.user_map != nullptr ? StretchHere{}
                                                       : stretch_here(core_.map, whole(), this->window_.map(),
                                                                      core_.replicated, core_.element_bytes);
    auto mapping = std::make_unique<Mapping>(this->geometry_, this->title_, std::move(stretches), here);

    if (!on_demand) { // else whole pages are fetched
        SliceCollector slices{core_.element_bytes};
        CopiedSections copied{*mapping, slices, core_.own_rank, core_.replicated};
        disjoint.for_each([&](const Domain<N>& one) { cut(one, shape_in_order(whole(), one), copied); });
        mapping->add(slices.slices().take());
    }
    MappedElements elements{core_.spare_mapping->share(std::move(mapping), std::move(ranges))};
    elements.refresh();
    return elements;
}

} // namespace lapwing::detail::arrays
