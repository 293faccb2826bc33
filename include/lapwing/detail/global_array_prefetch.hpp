// Room: arrays
#pragma once

/// Prefetch by patterns that know the type of the elements: views. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
    requires(Pattern<P, N> || std::same_as<P, Domain<N>>)
MappedArray<T, N> GlobalArray<T, N>::mapped(const P& pattern) const {
    if constexpr (std::same_as<P, Domain<N>>) {
        return {this->map_elements(std::vector{pattern}), core_.extents};
    } else {
        const auto domains = [&pattern](const Domain<N>& own, const detail::prefetching::PatternSite<N>& site) {
            return detail::prefetching::domains_of(pattern, own, site);
        };
        return {this->map_elements(typename Base::KeptPattern{domains}), core_.extents};
    }
}

namespace detail::arrays {

/// The table that a view of an array of one dimension reads own elements and copies by, if that is of use.
template <class T, std::size_t N>
class ViewTable {
public:
    explicit ViewTable(const GlobalArray<T, N>& array) noexcept : array_{array} {}

    /// Made by the first view after a prefetch. Any threads may call it together.
    [[nodiscard]] typename ElementTable<N>::Reader reader() {
        using Reader = typename ElementTable<N>::Reader;
        if (N != 1 || array_.core_.prefetched == nullptr) return {};
        ViewTables<N>& tables = array_.core_.prefetched->tables;
        if (const ElementTable<N>* const made = tables.latest()) return Reader{*made};
        const auto [latest, is_new] = tables.set(table());
        if (is_new) array_.core_.prefetched->state.count_index(latest->bytes());
        return Reader{*latest};
    }

private:
    /// Empty where reads of neighbours are better off with boxes: where the array has more dimensions, or fewer than a
    /// quarter as many copies as own elements, so that a loop can foresee where most elements are. And where the table
    /// would take far more memory than the copies.
    [[nodiscard]] ElementTable<N> table() {
        if constexpr (N != 1) {
            return {};
        } else {
            const auto& state = array_.state_;
            const auto& core = array_.core_;
            if (core.prefetched->around.empty() && !state.near_box.empty()) add(state.near_box, state.near);
            const std::uint64_t own = elements_;
            core.prefetched->indices.for_each_part(
                [this](const Domain<N>& part, std::byte* copies) { add(part.range(0).first(), part.size(), copies); });
            const std::uint64_t copies = elements_ - own;
            if (own == 0 || copies < own / 4 || !ElementTable<N>::is_worth_its_memory(first_, end_, copies * sizeof(T)))
                return {};
            ElementTable<N> table{core.extents, first_, end_};
            for (const Part& part : parts_) table.add(part.first, part.count, part.address, sizeof(T));
            return table;
        }
    }

    struct Part {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        std::byte* address = nullptr;
    };

    void add(const DenseBox<N>& box, T* address) {
        add(box.first()[0], box.extent(0), reinterpret_cast<std::byte*>(address));
    }
    void add(std::int64_t first, std::uint64_t count, std::byte* address) {
        const auto place = static_cast<std::uint64_t>(first);
        parts_.push_back({place, count, address});
        first_ = std::min(first_, place);
        end_ = std::max(end_, place + count);
        elements_ += count;
    }

    const GlobalArray<T, N>& array_;
    std::vector<Part> parts_;
    std::uint64_t first_ = ~std::uint64_t{0};
    std::uint64_t end_ = 0;
    std::uint64_t elements_ = 0;
};

} // namespace detail::arrays

template <TriviallyCopyable T, std::size_t N>
PrefetchedView<T, N> GlobalArray<T, N>::view() const {
    this->require_open(".view");
    this->refresh_copies();
    const auto near = detail::arrays::ViewTable<T, N>{*this}.reader();
    if (core_.prefetched != nullptr && !core_.prefetched->around.empty())
        return {core_.prefetched->around.front(), *this, near};
    // All of the node, if that is one box.
    if (!state_.near_box.empty()) return {{state_.near_box, reinterpret_cast<std::byte*>(state_.near)}, *this, near};
    return {{state_.box, reinterpret_cast<std::byte*>(state_.own)}, *this, near};
}

template <TriviallyCopyable T, std::size_t N>
HaloView<T, N> GlobalArray<T, N>::halo_view() const {
    const auto [box, first] = this->box_with_halo();
    return box.empty() ? HaloView<T, N>{}
                       : HaloView<T, N>{box.domain(), reinterpret_cast<const T*>(first), box.strides()};
}

} // namespace lapwing
