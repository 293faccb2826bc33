// Room: array
#pragma once

#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::array {

/// Neighbours in a row.
template <std::size_t N>
struct IndexRun {
    Index<N> first{};
    std::uint64_t count = 0;

    /// Takes another run in that begins no earlier, if it is of the same row, and meets this one.
    [[nodiscard]] bool join(const IndexRun& other) noexcept {
        if (!std::equal(first.begin(), first.end() - 1, other.first.begin())) return false;
        const std::uint64_t distance = static_cast<std::uint64_t>(other.first[N - 1]) - static_cast<std::uint64_t>(first[N - 1]);
        if (distance > count) return false;
        count = std::max(count, distance + other.count);
        return true;
    }
    [[nodiscard]] Domain<N> domain() const noexcept {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = Range::strided(first[d], d == N - 1 ? count : 1, 1);
        return Domain<N>{ranges};
    }
};

/// Where the copies of prefetched elements are: rectangles of indices, each row-major in memory of its own; or, where the indices are
/// too ragged for that, runs of a row, which a search finds. Whoever made the memory keeps it.
template <std::size_t N>
class PrefetchedIndices {
public:
    /// Copies of all of `domain`, of `element_bytes` each, from `copies` on.
    void add(const Domain<N>& domain, std::byte* copies, std::size_t element_bytes) {
        Box box;
        Strides strides;
        bool strided = false;
        std::uint64_t distance = element_bytes;
        for (std::size_t d = N; d-- > 0;) {
            const Range& range = domain.range(d);
            const auto stride = static_cast<std::uint64_t>(range.stride());
            box.first[d] = range.first();
            box.span[d] = (range.size() - 1) * stride + 1;
            box.distance[d] = distance;
            strides[d] = Reciprocal{stride};
            strided = strided || stride != 1;
            distance *= range.size();
        }
        box.copies = copies;
        domains_.push_back(domain);
        others_ = others_ || strided || !dense_.empty();
        if (!strided) {
            dense_.push_back(box);
            first_ = dense_.front();
            return;
        }
        strided_.push_back(box);
        strides_.push_back(strides);
    }
    /// Copies of the elements of a run.
    void add_run(const IndexRun<N>& run, std::byte* copies, std::size_t element_bytes) {
        runs_.push_back({run, copies});
        others_ = true;
        run_element_bytes_ = element_bytes;
    }
    /// Behind the last add_run().
    void order_runs() {
        std::ranges::sort(runs_, {}, &Run::first);
    }

    /// The copy of an element; null if it has none. The first rectangle is looked at here, the rest out of line, so that the loops that
    /// this is called from stay small.
    template <class T>
    [[nodiscard, gnu::always_inline]] T* find(const Index<N>& index) const noexcept {
        std::uint64_t offset = 0;
        if (inside<T>(first_, index, offset)) [[likely]]
            return reinterpret_cast<T*>(first_.copies + offset);
        return others_ ? find_other<T>(index) : nullptr;
    }

    struct Box {
        Index<N> first{};
        std::array<std::uint64_t, N> span{};     ///< from the first index to behind the last
        std::array<std::uint64_t, N> distance{}; ///< of neighbours in memory, in bytes
        std::byte* copies = nullptr;
    };
    /// Whether a box without strides holds an index, and where in it, in bytes.
    template <class T>
    [[nodiscard, gnu::always_inline]] static bool inside(const Box& box, const Index<N>& index, std::uint64_t& offset) noexcept {
        offset = 0;
        for (std::size_t d = 0; d < N; ++d) {
            const std::uint64_t i = static_cast<std::uint64_t>(index[d]) - static_cast<std::uint64_t>(box.first[d]);
            if (i >= box.span[d]) return false;
            // Neighbours in a row are neighbours in memory.
            offset += d == N - 1 ? i * sizeof(T) : i * box.distance[d];
        }
        return true;
    }
    /// The rectangles without strides.
    [[nodiscard]] const std::vector<Box>& dense() const noexcept { return dense_; }
    /// What is here, but for the runs, as domains.
    [[nodiscard]] const std::vector<Domain<N>>& domains() const noexcept { return domains_; }
    [[nodiscard]] bool has_runs() const noexcept { return !runs_.empty(); }

    /// What this object takes for so many domains, or runs.
    [[nodiscard]] static std::uint64_t bytes_of(std::size_t domains) noexcept { return domains * (sizeof(Box) + sizeof(Domain<N>)); }
    [[nodiscard]] static std::uint64_t bytes_of_runs(std::size_t runs) noexcept { return runs * sizeof(Run); }

private:
    using Strides = std::array<Reciprocal, N>;
    struct Run : IndexRun<N> {
        std::byte* copies = nullptr;
    };

    // The index by value: a reference to it would keep it in memory in the loops that this is called from.
    template <class T>
    [[nodiscard, gnu::noinline]] T* find_other(Index<N> index) const noexcept {
        std::uint64_t offset = 0;
        for (std::size_t k = 1; k < dense_.size(); ++k)
            if (inside<T>(dense_[k], index, offset)) return reinterpret_cast<T*>(dense_[k].copies + offset);
        return strided_.empty() && runs_.empty() ? nullptr : reinterpret_cast<T*>(find_ragged(index));
    }
    [[nodiscard]] std::byte* find_ragged(const Index<N>& index) const noexcept {
        for (std::size_t k = 0; k < strided_.size(); ++k) {
            const Box& box = strided_[k];
            std::uint64_t offset = 0;
            bool inside = true;
            for (std::size_t d = 0; d < N && inside; ++d) {
                const std::uint64_t i = static_cast<std::uint64_t>(index[d]) - static_cast<std::uint64_t>(box.first[d]);
                inside = i < box.span[d];
                if (!inside) break;
                const auto [position, beside] = strides_[k][d].divide(i);
                inside = beside == 0;
                offset += position * box.distance[d];
            }
            if (inside) return box.copies + offset;
        }
        auto run = std::ranges::upper_bound(runs_, index, {}, &Run::first);
        if (run == runs_.begin()) return nullptr;
        --run;
        if (!std::equal(index.begin(), index.end() - 1, run->first.begin())) return nullptr;
        const auto behind = static_cast<std::uint64_t>(index[N - 1] - run->first[N - 1]);
        return behind < run->count ? run->copies + behind * run_element_bytes_ : nullptr;
    }

    Box first_; ///< of the dense ones, or one that holds nothing
    bool others_ = false; ///< there is more than that
    std::vector<Box> dense_;
    std::vector<Box> strided_;
    std::vector<Strides> strides_; ///< of those
    std::vector<Domain<N>> domains_;
    std::vector<Run> runs_;
    std::size_t run_element_bytes_ = 0;
};

} // namespace lapwing::array
