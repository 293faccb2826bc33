// Room: prefetch
#pragma once

#include <lapwing/domain.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::prefetching {

/// The indices of `from` that are not in `taken`, as disjoint ranges.
[[nodiscard]] std::vector<Range> difference(const Range& from, const Range& taken);

/// A set of indices as disjoint rectangular domains.
template <std::size_t N>
class NeededDomains {
public:
    /// More domains than this are not worth looking through at each read.
    static constexpr std::size_t most_domains = 64;

    /// The set becomes larger by the indices of `domain`. False: it would consist of too many domains, and is not to be
    /// used any more.
    [[nodiscard]] bool add(const Domain<N>& domain) {
        std::vector<Domain<N>> fresh{domain};
        for (const Domain<N>& taken : domains_)
            if (!take(fresh, taken)) return false;
        domains_.insert(domains_.end(), fresh.begin(), fresh.end());
        return domains_.size() <= most_domains;
    }
    /// The set becomes smaller by the indices of `domain`. False as above.
    [[nodiscard]] bool remove(const Domain<N>& domain) { return take(domains_, domain); }

    [[nodiscard]] std::span<const Domain<N>> domains() const noexcept { return domains_; }

private:
    [[nodiscard]] static bool take(std::vector<Domain<N>>& from, const Domain<N>& taken) {
        std::vector<Domain<N>> left;
        for (const Domain<N>& domain : from) subtract(domain, taken, left);
        from = std::move(left);
        return from.size() <= most_domains;
    }
    /// Slab by slab: what differs in the first dimension, then, of the rest, what differs in the second, and so on.
    static void subtract(const Domain<N>& from, const Domain<N>& taken, std::vector<Domain<N>>& left) {
        if (from.empty()) return;
        const Domain<N> common = from.intersect(taken);
        if (common.empty()) {
            left.push_back(from);
            return;
        }
        std::array<Range, N> ranges = from.ranges();
        for (std::size_t d = 0; d < N; ++d) {
            for (const Range& range : difference(from.range(d), common.range(d))) {
                ranges[d] = range;
                left.emplace_back(ranges);
            }
            ranges[d] = common.range(d);
        }
    }

    std::vector<Domain<N>> domains_;
};

} // namespace lapwing::detail::prefetching
