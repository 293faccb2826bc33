// Room: arrays
#pragma once

#include <lapwing/aligned.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/numbering.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/global_array.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace lapwing {

namespace detail::arrays {

[[noreturn]] void throw_not_in_domain(const Team& team, std::string_view array, const char* call,
                                      std::span<const std::int64_t> index, std::span<const Range> domain);
[[noreturn]] void throw_not_in_domain(const Team& team, std::string_view array, const Triplet& indices,
                                      std::size_t dimension, const Range& domain);
/// Throws a distribution's error, with the rank and the array added to it.
[[noreturn]] void throw_named(const Team& team, std::string_view array, const RangeError& error);

} // namespace detail::arrays

/// A global array with the indices of a domain: lower bounds other than 0, and strides, as in Fortran and Chapel.
///
/// ```cpp
/// lapwing::DomainArray<double, 2> a{runtime, {{1, n + 1}, {1, n + 1}}};         // a(1, 1) … a(n, n)
/// lapwing::DomainArray<double, 1> every_fourth{runtime, lapwing::Range{1, n + 1}.by(4)};
/// every_fourth.slice() = a(lapwing::Range{1, n + 1}.by(4), 3);                  // slices are taken by index, too
/// ```
///
/// It is built on a GlobalArray of the same size, `array()`, whose positions it numbers; what is missing here is
/// available there. An access costs one more subtraction a dimension, and a multiplication where the stride is not 1.
/// With Aligned, arrays over parts of an index space have the elements with the same index on the same rank.
template <TriviallyCopyable T, std::size_t N>
class DomainArray {
public:
    using value_type = T;
    using reference = typename GlobalArray<T, N>::reference;

    /// A closed array.
    DomainArray() noexcept = default;
    /// Collective, as GlobalArray's constructor. The distribution is applied to the positions, so that Block cuts the
    /// domain into parts with equal numbers of indices.
    template <Distribution<N> D = Block>
    DomainArray(Team& team, const Domain<N>& domain, const D& distribution = {}, GlobalArrayOptions options = {})
        : DomainArray{domain, GlobalArray<T, N>{team, extents_of(domain), distribution, std::move(options)}} {}
    /// Collective. Each element is where the space has its index. Also throws RangeError if the domain is not in the
    /// space.
    template <Distribution<N> D>
    DomainArray(Team& team, const Domain<N>& domain, const Aligned<N, D>& space, GlobalArrayOptions options = {})
        : DomainArray{domain, aligned(team, domain, space, std::move(options))} {}

    /// Collective. As GlobalArray's.
    void close() { array_.close(); }
    /// Whether it is closed, or was never opened.
    [[nodiscard]] bool closed() const noexcept { return array_.closed(); }

    /// The indices.
    [[nodiscard]] const Domain<N>& domain() const noexcept { return domain_; }
    [[nodiscard]] std::uint64_t size() const { return domain_.size(); }
    /// The array of the positions: position k of a dimension is the k-th index of domain() in that dimension.
    [[nodiscard]] GlobalArray<T, N>& array() noexcept { return array_; }
    [[nodiscard]] const GlobalArray<T, N>& array() const noexcept { return array_; }
    /// The indices at the given positions, and the position of an index. The latter throws RangeError.
    [[nodiscard]] Domain<N> indices(const Domain<N>& positions) const {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = numbering_[d].indices(positions.range(d));
        return Domain<N>{ranges};
    }
    [[nodiscard]] Index<N> position(const Index<N>& index) const { return checked_position<true>(".position", index); }

    /// The element at an index, whoever owns it. Assertion level 1 checks that the index exists (RangeError).
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard, gnu::always_inline]] reference operator()(I... index) {
        return array_(checked_position<assertion_level >= 1>("", detail::datatype::index_of<N>(index...)));
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard, gnu::always_inline]] T operator()(I... index) const {
        return array_(checked_position<assertion_level >= 1>("", detail::datatype::index_of<N>(index...)));
    }

    /// Part of the array by its indices, as of GlobalArray: see ArraySlice, whose positions start at 0. Throws
    /// RangeError if an index is not in the domain.
    template <SliceArgument... S>
        requires(sizeof...(S) == N && !(IndexValue<S> && ...))
    [[nodiscard]] auto operator()(const S&... parts) {
        return part(array_, std::make_index_sequence<N>{}, parts...);
    }
    template <SliceArgument... S>
        requires(sizeof...(S) == N && !(IndexValue<S> && ...))
    [[nodiscard]] auto operator()(const S&... parts) const {
        return part(array_, std::make_index_sequence<N>{}, parts...);
    }
    /// The same for the indices of a domain, and for all indices.
    [[nodiscard]] ArraySlice<T, N> operator()(const Domain<N>& domain) {
        return std::apply([this](const auto&... ranges) { return (*this)(ranges...); }, domain.ranges());
    }
    [[nodiscard]] ArraySlice<const T, N> operator()(const Domain<N>& domain) const {
        return std::apply([this](const auto&... ranges) { return (*this)(ranges...); }, domain.ranges());
    }
    [[nodiscard]] ArraySlice<T, N> slice() { return array_.slice(); }
    [[nodiscard]] ArraySlice<const T, N> slice() const { return array_.slice(); }

    /// As GlobalArray's, by index.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] Rank owner(I... index) const {
        return array_.owner(checked_position<true>(".owner", detail::datatype::index_of<N>(index...)));
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] bool is_local(I... index) const {
        return array_.is_local(checked_position<true>(".is_local", detail::datatype::index_of<N>(index...)));
    }
    /// The local indices, if they are one domain. Throws UsageError if they are several: then use `for (auto positions
    /// : a.array().local_domains()) for (auto index : a.indices(positions)) …`, or for_each_local().
    [[nodiscard]] Domain<N> local_domain() const { return indices(array_.local_domain()); }
    [[nodiscard]] Domain<N> local_domain(Rank rank) const { return indices(array_.local_domain(rank)); }
    /// A local element as plain memory. Assertion level 1 checks that the calling rank owns it (RangeError).
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] T& local(I... index) {
        return array_.local(checked_position<assertion_level >= 1>(".local", detail::datatype::index_of<N>(index...)));
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] const T& local(I... index) const {
        return array_.local(checked_position<assertion_level >= 1>(".local", detail::datatype::index_of<N>(index...)));
    }
    /// Calls `function(index, element)` for each local element.
    template <class Function>
    void for_each_local(Function function) {
        array_.for_each_local([&](const Index<N>& position, T& element) {
            Index<N> index;
            for (std::size_t d = 0; d < N; ++d) index[d] = numbering_[d].index(position[d]);
            function(index, element);
        });
    }

    /// Collective, as GlobalArray's.
    void barrier() { array_.barrier(); }
    void fill(const T& value) { array_.fill(value); }

private:
    DomainArray(const Domain<N>& domain, GlobalArray<T, N> array) : array_{std::move(array)}, domain_{domain} {
        for (std::size_t d = 0; d < N; ++d) numbering_[d] = detail::arrays::Numbering{domain.range(d)};
    }

    [[nodiscard]] static Extents<N> extents_of(const Domain<N>& domain) {
        static_cast<void>(domain.size()); // which must fit into 64 bits
        Index<N> extents;
        for (std::size_t d = 0; d < N; ++d) extents[d] = static_cast<std::int64_t>(domain.range(d).size());
        return extents;
    }
    template <Distribution<N> D>
    [[nodiscard]] static GlobalArray<T, N> aligned(Team& team, const Domain<N>& domain, const Aligned<N, D>& space,
                                                   GlobalArrayOptions options) {
        if (domain == space.space())
            return GlobalArray<T, N>{team, extents_of(domain), space.distribution(), std::move(options)};
        const auto part = detail::arrays::before_collective(team, [&] {
            try {
                return space.part(domain);
            } catch (const RangeError& error) {
                detail::arrays::throw_named(team, options.name, error);
            }
        });
        try {
            return GlobalArray<T, N>{team, extents_of(domain), part, options};
        } catch (const RangeError& error) {
            detail::arrays::throw_named(team, options.name, error);
        }
    }

    template <bool Checked>
    [[nodiscard, gnu::always_inline]] Index<N> checked_position(const char* call, const Index<N>& index) const {
        Index<N> position;
        bool inside = true;
        for (std::size_t d = 0; d < N; ++d) {
            const std::uint64_t found = numbering_[d].position(index[d]);
            inside &= found < numbering_[d].size();
            position[d] = static_cast<std::int64_t>(found);
        }
        if constexpr (Checked)
            if (!inside) [[unlikely]]
                throw_not_inside(call, index);
        return position;
    }
    [[noreturn, gnu::noinline]] void throw_not_inside(const char* call, Index<N> index) const {
        detail::arrays::throw_not_in_domain(array_.team(), array_.name(), call, index, domain_.ranges());
    }

    template <class Array, std::size_t... D, class... S>
    [[nodiscard]] auto part(Array& array, std::index_sequence<D...>, const S&... parts) const {
        return array(position_of(D, parts)...);
    }
    template <class S>
    [[nodiscard]] auto position_of(std::size_t dimension, const S& part) const {
        if constexpr (std::same_as<S, All>) {
            return part;
        } else if constexpr (IndexValue<S>) {
            return positions_of(dimension, Triplet::strided(detail::datatype::checked_index(part), 1, 1)).first();
        } else {
            return positions_of(dimension, Triplet{part});
        }
    }
    [[nodiscard]] Triplet positions_of(std::size_t dimension, const Triplet& indices) const {
        Triplet positions;
        if (!numbering_[dimension].find(indices, positions))
            detail::arrays::throw_not_in_domain(array_.team(), array_.name(), indices, dimension,
                                                domain_.range(dimension));
        return positions;
    }

    GlobalArray<T, N> array_;
    std::array<detail::arrays::Numbering, N> numbering_{};
    Domain<N> domain_;
};

} // namespace lapwing
