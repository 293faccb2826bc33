// Room: arrays
#pragma once

/// What of prefetch by patterns, and of mapped arrays, knows the type of the elements. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <concepts>
#include <cstddef>
#include <vector>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
template <Pattern<N> P>
void GlobalArray<T, N>::prefetch(const P& pattern, const PrefetchOptions& options) {
    const auto domains = [pattern](const Domain<N>& own, const detail::prefetching::PatternSite<N>& site) {
        return detail::prefetching::domains_of(pattern, own, site);
    };
    // Copies may come, or after an error go, whichever way this ends.
    state_.has_other_ways = true;
    state_.mixed.set(false);
    try {
        this->prefetch_by(domains, options);
    } catch (...) {
        choose_ways();
        throw;
    }
    choose_ways();
}

template <TriviallyCopyable T, std::size_t N>
template <class P>
    requires(Pattern<P, N> || std::same_as<P, Domain<N>> || std::same_as<P, OnDemand>)
MappedArray<T, N> GlobalArray<T, N>::mapped(const P& pattern) const {
    if constexpr (std::same_as<P, Domain<N>>) {
        (void)(*this)(pattern); // is within the array
        return {this->map_elements(std::vector{pattern}), core_.extents};
    } else if constexpr (std::same_as<P, OnDemand>) {
        return {this->map_elements({}, true), core_.extents};
    } else {
        const auto domains = [&pattern](const Domain<N>& own, const detail::prefetching::PatternSite<N>& site) {
            return detail::prefetching::domains_of(pattern, own, site);
        };
        return {this->map_elements(typename Base::KeptPattern{domains}), core_.extents};
    }
}

template <TriviallyCopyable T, std::size_t N>
HaloView<T, N> GlobalArray<T, N>::halo_view() const {
    const auto [box, first] = this->box_with_halo();
    return box.empty() ? HaloView<T, N>{}
                       : HaloView<T, N>{box.domain(), reinterpret_cast<const T*>(first), box.strides()};
}

} // namespace lapwing
