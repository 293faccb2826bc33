// Room: arrays
#pragma once

#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/element_table.hpp>
#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// Neighbours in a row.
template <std::size_t N>
struct IndexRun {
    Index<N> first{};
    std::uint64_t count = 0;

    /// Takes another run in that begins no earlier, if it is of the same row, and meets this one.
    [[nodiscard]] bool join(const IndexRun& other) noexcept {
        if (!std::equal(first.begin(), first.end() - 1, other.first.begin())) return false;
        const std::uint64_t distance =
            static_cast<std::uint64_t>(other.first[N - 1]) - static_cast<std::uint64_t>(first[N - 1]);
        if (distance > count) return false;
        count = std::max(count, distance + other.count);
        return true;
    }
    [[nodiscard]] Index<N> last() const noexcept {
        Index<N> index = first;
        index[N - 1] += static_cast<std::int64_t>(count) - 1;
        return index;
    }
    [[nodiscard]] Domain<N> domain() const noexcept {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = Range::strided(first[d], d == N - 1 ? count : 1, 1);
        return Domain<N>{ranges};
    }
};

template <std::size_t N>
[[nodiscard]] const Domain<N>& domain_of(const Domain<N>& domain) noexcept {
    return domain;
}
template <std::size_t N>
[[nodiscard]] Domain<N> domain_of(const IndexRun<N>& run) noexcept {
    return run.domain();
}

/// Where the copies of prefetched elements are: rectangles of indices, each row-major in memory of its own; or, where
/// the indices are too ragged for that, runs of a row, which a table finds, or a search if the runs are few and far
/// between. Whoever made the memory keeps it.
template <std::size_t N>
class PrefetchedIndices {
public:
    /// Copies of all of `domain`, of `element_bytes` each, from `copies` on, neighbours `strides` apart.
    void add(const Domain<N>& domain, const std::array<std::uint64_t, N>& strides, std::byte* copies,
             std::size_t element_bytes) {
        const bool strided =
            std::ranges::any_of(domain.ranges(), [](const Range& range) { return range.stride() != 1; });
        domains_.push_back(domain);
        reach_to(domain.first(), domain.last());
        others_ = others_ || strided || !dense_.empty();
        if (strided) {
            strided_.push_back({domain, strides, copies, element_bytes});
        } else {
            dense_.push_back({{domain, strides}, copies});
            first_ = dense_.front();
        }
    }
    /// Copies of the elements of a run.
    void add_run(const IndexRun<N>& run, std::byte* copies, std::size_t element_bytes) {
        runs_.push_back({run, copies});
        reach_to(run.first, run.last());
        others_ = true;
        run_element_bytes_ = element_bytes;
    }
    /// A table of runs that have been added. It finds those first; others are searched for.
    void add_table(ElementTable<N> table) {
        table_ = std::move(table);
        run_table_ = typename ElementTable<N>::Reader{table_};
    }
    /// After the last add() and add_run(), before find().
    void order() {
        std::ranges::sort(runs_, {}, &Run::first);
        if (dense_.size() > few_boxes) order_boxes();
    }

    /// The copy of an element; null if it has none. The first rectangle is looked at here, the rest out of line, so
    /// that the loops that this is called from stay small.
    template <class T>
    [[nodiscard, gnu::always_inline]] T* find(const Index<N>& index) const noexcept {
        return reinterpret_cast<T*>(find(index, sizeof(T)));
    }
    [[nodiscard, gnu::always_inline]] std::byte* find(const Index<N>& index, std::size_t element_bytes) const noexcept {
        if (std::byte* const copy = first_.find(index, element_bytes)) [[likely]]
            return copy;
        if (!others_) return nullptr;
        if (std::byte* const copy = run_table_.find(index, element_bytes)) return copy;
        return find_other(index, element_bytes);
    }

    /// Whether an element may have a copy: it lies between those that have one.
    [[nodiscard, gnu::always_inline]] bool may_have(const Index<N>& index) const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (index[d] < first_of_all_[d] || index[d] > last_of_all_[d]) return false;
        return true;
    }

    /// Whether there is a copy of an element, and for how many neighbours in its row, of `count` from it on, that is
    /// known to be so, too.
    struct Stretch {
        bool here = false;
        std::uint64_t alike = 1;
    };
    [[nodiscard]] Stretch stretch(const Index<N>& index, std::uint64_t count) const noexcept {
        if (!domains_.empty()) return {find<std::byte>(index) != nullptr, 1};
        const auto same_row = [&](const Run& run) {
            return std::equal(index.begin(), index.end() - 1, run.first.begin());
        };
        const auto after = std::ranges::upper_bound(runs_, index, {}, &Run::first);
        if (after != runs_.begin())
            if (const Run& run = *std::prev(after); same_row(run))
                if (const auto at = static_cast<std::uint64_t>(index[N - 1] - run.first[N - 1]); at < run.count)
                    return {true, std::min(count, run.count - at)};
        if (after != runs_.end() && same_row(*after))
            count = std::min(count, static_cast<std::uint64_t>(after->first[N - 1] - index[N - 1]));
        return {false, count};
    }

    /// The rectangle without strides that holds an index; null if none does. Cost: logarithmic in their number, and
    /// linear in how many reach over the index in the dimension that tells most of them apart.
    [[nodiscard]] const PlacedBox<N>* box_of(const Index<N>& index) const noexcept {
        if (by_start_.empty()) {
            const auto box =
                std::ranges::find_if(dense_, [&](const PlacedBox<N>& one) { return one.box.holds(index); });
            return box != dense_.end() ? &*box : nullptr;
        }
        for (auto place = std::ranges::upper_bound(by_start_, index[along_], {}, &Start::first);
             place != by_start_.begin();) {
            --place;
            if (static_cast<std::uint64_t>(index[along_] - place->first) >= longest_) break;
            if (const PlacedBox<N>& box = dense_[place->box]; box.box.holds(index)) return &box;
        }
        return nullptr;
    }
    /// The first rectangle without strides, if there is any; else one that holds nothing.
    [[nodiscard]] const PlacedBox<N>& first() const noexcept { return first_; }
    /// What is here, but for the runs, as domains.
    [[nodiscard]] const std::vector<Domain<N>>& domains() const noexcept { return domains_; }
    [[nodiscard]] bool has_runs() const noexcept { return !runs_.empty(); }

    /// What this object takes for so many domains, or runs.
    [[nodiscard]] static std::uint64_t bytes_of(std::size_t domains) noexcept {
        return domains * (sizeof(PlacedBox<N>) + sizeof(Domain<N>));
    }
    [[nodiscard]] static std::uint64_t bytes_of_runs(std::size_t runs) noexcept { return runs * sizeof(Run); }

private:
    /// A rectangle with strides.
    class StridedBox {
    public:
        StridedBox(const Domain<N>& domain, const std::array<std::uint64_t, N>& strides, std::byte* copies,
                   std::size_t element_bytes) noexcept
            : strides_{strides}, copies_{copies}, element_bytes_{element_bytes} {
            for (std::size_t d = 0; d < N; ++d) {
                const Range& range = domain.range(d);
                first_[d] = range.first();
                const auto stride = static_cast<std::uint64_t>(range.stride());
                span_[d] = (range.size() - 1) * stride + 1;
                by_stride_[d] = distribution::Reciprocal{stride};
            }
        }
        [[nodiscard]] std::byte* find(const Index<N>& index) const noexcept {
            std::uint64_t offset = 0;
            for (std::size_t d = 0; d < N; ++d) {
                const std::uint64_t i = static_cast<std::uint64_t>(index[d]) - static_cast<std::uint64_t>(first_[d]);
                if (i >= span_[d]) return nullptr;
                const auto [position, beside] = by_stride_[d].divide(i);
                if (beside != 0) return nullptr;
                offset += position * strides_[d];
            }
            return copies_ + offset * element_bytes_;
        }

    private:
        Index<N> first_{};
        std::array<std::uint64_t, N> span_{}; ///< from the first index to one past the last
        std::array<distribution::Reciprocal, N> by_stride_{};
        std::array<std::uint64_t, N> strides_; ///< of the copies
        std::byte* copies_;
        std::size_t element_bytes_;
    };
    struct Run : IndexRun<N> {
        std::byte* copies = nullptr;
    };

    /// Where a rectangle without strides begins in dimension along_.
    struct Start {
        std::int64_t first = 0;
        std::uint32_t box = 0; ///< place in dense_
    };
    static constexpr std::size_t few_boxes = 8;

    void reach_to(const Index<N>& first, const Index<N>& last) noexcept {
        for (std::size_t d = 0; d < N; ++d) {
            first_of_all_[d] = std::min(first_of_all_[d], first[d]);
            last_of_all_[d] = std::max(last_of_all_[d], last[d]);
        }
    }
    [[nodiscard]] static constexpr Index<N> all_indices(std::int64_t value) noexcept {
        Index<N> index{};
        index.fill(value);
        return index;
    }

    void order_boxes() {
        std::size_t most = 0;
        std::vector<std::int64_t> firsts(dense_.size());
        for (std::size_t d = 0; d < N; ++d) {
            std::ranges::transform(dense_, firsts.begin(), [d](const PlacedBox<N>& one) { return one.box.first()[d]; });
            std::ranges::sort(firsts);
            const auto different = static_cast<std::size_t>(std::unique(firsts.begin(), firsts.end()) - firsts.begin());
            if (different > std::exchange(most, std::max(most, different))) along_ = d;
        }
        by_start_.clear();
        longest_ = 0;
        for (const PlacedBox<N>& one : dense_) {
            by_start_.push_back({one.box.first()[along_], static_cast<std::uint32_t>(by_start_.size())});
            longest_ = std::max(longest_, one.box.extent(along_));
        }
        std::ranges::sort(by_start_, {}, &Start::first);
    }
    // The index by value: a reference to it would keep it in memory in the loops that this is called from.
    [[nodiscard, gnu::noinline]] std::byte* find_other(Index<N> index, std::size_t element_bytes) const noexcept {
        if (const PlacedBox<N>* const box = box_of(index)) return box->find(index, element_bytes);
        return strided_.empty() && runs_.empty() ? nullptr : find_ragged(index);
    }
    [[nodiscard]] std::byte* find_ragged(const Index<N>& index) const noexcept {
        for (const StridedBox& box : strided_)
            if (std::byte* const copy = box.find(index)) return copy;
        auto run = std::ranges::upper_bound(runs_, index, {}, &Run::first);
        if (run == runs_.begin()) return nullptr;
        --run;
        if (!std::equal(index.begin(), index.end() - 1, run->first.begin())) return nullptr;
        const auto place = static_cast<std::uint64_t>(index[N - 1] - run->first[N - 1]);
        return place < run->count ? run->copies + place * run_element_bytes_ : nullptr;
    }

    PlacedBox<N> first_;  ///< of the dense ones, or one that holds nothing
    bool others_ = false; ///< there is more than that
    Index<N> first_of_all_ =
        all_indices(std::numeric_limits<std::int64_t>::max()); ///< lowest index with a copy, by dimension
    Index<N> last_of_all_ = all_indices(std::numeric_limits<std::int64_t>::min()); ///< highest
    std::vector<PlacedBox<N>> dense_;
    std::vector<Start> by_start_; ///< of the dense ones, ordered; empty where they are few
    std::size_t along_ = 0;       ///< the dimension of by_start_
    std::uint64_t longest_ = 0;   ///< most indices that a dense one has there
    std::vector<StridedBox> strided_;
    std::vector<Domain<N>> domains_;
    std::vector<Run> runs_;
    std::size_t run_element_bytes_ = 0;
    ElementTable<N> table_; ///< of runs
    typename ElementTable<N>::Reader run_table_;
};

} // namespace lapwing::detail::arrays
