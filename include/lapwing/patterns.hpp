// Room: prefetch
#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/rank.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

/// The prefetch patterns of LAPPS (Kayraklioglu, Ferguson and El-Ghazawi, 2018, appendix A): which elements of a global
/// array a rank will read besides its own. Pass them to GlobalArray::prefetch().
namespace lapwing {

namespace detail::prefetching {

/// What a pattern is evaluated for: a rank of an array.
template <std::size_t N>
struct PatternSite {
    Domain<N> whole; ///< all indices of the array
    Rank rank;       ///< the rank that reads
    int ranks = 1;   ///< size of the array's team
};

/// Throw RangeError; the text begins with `what`.
[[noreturn]] void throw_depth(std::int64_t depth);
[[noreturn]] void throw_table_size(std::size_t size, int ranks);

/// The indices up to `depth` away from one of `own`, within [0, extent) or wrapping around it: as ranges that may
/// overlap.
[[nodiscard]] std::vector<Range> widened(const Range& own, std::int64_t depth, std::uint64_t extent, bool periodic);

} // namespace detail::prefetching

/// What a stencil reads: the elements up to `depth` away from the local ones.
struct Stencil {
    std::int64_t depth = 1; ///< to each side
    /// True: a square, or a cube, which includes elements offset in several dimensions. False: a star, with
    /// elements offset in one dimension only.
    bool corners = true;
    /// Whether a dimension wraps around. A depth greater than the extent then means all of it, once.
    std::array<bool, max_dimensions> periodic = {};

    /// The domains that the pattern names for a local domain; they may overlap. Throws RangeError for a negative depth.
    template <std::size_t N>
    [[nodiscard]] std::vector<Domain<N>> domains(const Domain<N>& own,
                                                 const detail::prefetching::PatternSite<N>& site) const {
        if (depth < 0) detail::prefetching::throw_depth(depth);
        std::array<std::vector<Range>, N> wide;
        for (std::size_t d = 0; d < N; ++d)
            wide[d] = detail::prefetching::widened(own.range(d), depth, site.whole.range(d).size(), periodic[d]);
        std::vector<Domain<N>> needed;
        if (!corners) {
            for (std::size_t d = 0; d < N; ++d)
                for (const Range& range : wide[d]) {
                    std::array<Range, N> ranges = own.ranges();
                    ranges[d] = range;
                    needed.emplace_back(ranges);
                }
            return needed;
        }
        std::array<Range, N> ranges;
        add_products(wide, 0, ranges, needed);
        return needed;
    }

private:
    template <std::size_t N>
    static void add_products(const std::array<std::vector<Range>, N>& wide, std::size_t d, std::array<Range, N>& ranges,
                             std::vector<Domain<N>>& needed) {
        if (d == N) {
            needed.emplace_back(ranges);
            return;
        }
        for (const Range& range : wide[d]) {
            ranges[d] = range;
            add_products(wide, d + 1, ranges, needed);
        }
    }
};

/// The rows of the local elements: all indices of the last dimension.
struct RowWise {
    /// The domain that the pattern names for a local domain.
    template <std::size_t N>
    [[nodiscard]] Domain<N> domains(const Domain<N>& own, const detail::prefetching::PatternSite<N>& site) const {
        if (own.empty()) return {};
        std::array<Range, N> ranges = own.ranges();
        ranges[N - 1] = site.whole.range(N - 1);
        return Domain<N>{ranges};
    }
};

/// The columns of the local elements: all indices of the first dimension.
struct ColumnWise {
    /// The domain that the pattern names for a local domain.
    template <std::size_t N>
    [[nodiscard]] Domain<N> domains(const Domain<N>& own, const detail::prefetching::PatternSite<N>& site) const {
        if (own.empty()) return {};
        std::array<Range, N> ranges = own.ranges();
        ranges[0] = site.whole.range(0);
        return Domain<N>{ranges};
    }
};

/// The local indices with the dimensions in reverse order: (j, i) for each local (i, j), if the array has it.
struct Transpose {
    /// The domain that the pattern names for a local domain.
    template <std::size_t N>
    [[nodiscard]] Domain<N> domains(const Domain<N>& own, const detail::prefetching::PatternSite<N>& /*site*/) const {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = own.range(N - 1 - d);
        return Domain<N>{ranges};
    }
};

/// All elements.
struct AllToAll {
    /// The domain that the pattern names for a local domain.
    template <std::size_t N>
    [[nodiscard]] Domain<N> domains(const Domain<N>& /*own*/, const detail::prefetching::PatternSite<N>& site) const {
        return site.whole;
    }
};

/// A table: entry r is the domain, or the domains, that rank r reads. Local indices and those that the array does not
/// have are skipped. Every rank need only fill in its own entry.
template <std::size_t N, class Entry = Domain<N>>
struct Custom {
    std::vector<Entry> table; ///< one entry a rank

    /// The rank's entry. Throws RangeError unless the table has one entry for each rank.
    template <std::size_t M>
        requires(M == N)
    [[nodiscard]] Entry domains(const Domain<M>& /*own*/, const detail::prefetching::PatternSite<M>& site) const {
        if (table.size() != static_cast<std::size_t>(site.ranks))
            detail::prefetching::throw_table_size(table.size(), site.ranks);
        return table[static_cast<std::size_t>(site.rank.value)];
    }
};
/// A table of domains.
template <std::size_t N>
Custom(std::vector<Domain<N>>) -> Custom<N, Domain<N>>;
/// A table of vectors of domains.
template <std::size_t N>
Custom(std::vector<std::vector<Domain<N>>>) -> Custom<N, std::vector<Domain<N>>>;

namespace detail::prefetching {

template <class R, std::size_t N>
concept DomainsOf = std::convertible_to<R, Domain<N>> || std::convertible_to<R, std::vector<Domain<N>>>;
template <class P, std::size_t N>
concept NamedPattern = requires(const P& pattern, const Domain<N>& own, const PatternSite<N>& site) {
    { pattern.domains(own, site) } -> DomainsOf<N>;
};
template <class P, std::size_t N>
concept FunctionPattern = requires(const P& pattern, const Domain<N>& own) {
    { pattern(own) } -> DomainsOf<N>;
};

} // namespace detail::prefetching

/// A prefetch pattern of N-dimensional arrays: one of the above, or a user-defined function from a domain that a rank
/// owns to the domain, or a vector of domains, that it reads: `[](const Domain<2>& own) { return own.expand(2); }`. It
/// is called for each local domain; indices that the rank owns, or that the array does not have, are skipped. Arrays
/// keep a copy, and evaluate it again when their extents change: it must not refer to anything that may be gone by
/// then.
template <class P, std::size_t N>
concept Pattern = std::copy_constructible<P> &&
                  (detail::prefetching::NamedPattern<P, N> || detail::prefetching::FunctionPattern<P, N>);

namespace detail::prefetching {

/// What a pattern names for one local domain.
template <std::size_t N, Pattern<N> P>
[[nodiscard]] std::vector<Domain<N>> domains_of(const P& pattern, const Domain<N>& own, const PatternSite<N>& site) {
    auto needed = [&] {
        if constexpr (requires { pattern.domains(own, site); }) return pattern.domains(own, site);
        else return pattern(own);
    }();
    if constexpr (std::convertible_to<decltype(needed), Domain<N>>) return {Domain<N>{std::move(needed)}};
    else return needed;
}

/// A pattern that an array keeps, to call domains_of() again.
template <std::size_t N>
using KeptPattern = std::function<std::vector<Domain<N>>(const Domain<N>& own, const PatternSite<N>& site)>;

} // namespace detail::prefetching
} // namespace lapwing
