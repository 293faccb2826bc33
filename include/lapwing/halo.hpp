// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/local_view.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing {

/// What a stencil reads: the own block of an array and, `depth` elements deep on every side and at the corners, those
/// of other ranks around it, in one block of memory. The array stays what the program writes to:
///
/// ```cpp
/// lapwing::Halo halo{a, 1};
/// for (int step = 0; step < steps; ++step) {
///     halo.exchange();                                       // the own block and what lies around it, as they are now
///     for (auto [i, j] : inner) a.local(i, j) = 0.25 * (halo(i - 1, j) + halo(i + 1, j) + halo(i, j - 1) + halo(i, j +
///     1));
/// }
/// ```
///
/// Elements beyond the array's edges are the program's: zero at first, and never changed by an exchange. In periodic
/// dimensions the array goes on behind its last index with its first, and these elements are those of the other side:
///
/// ```cpp
/// lapwing::Halo ring{a, 1, {true, false}}; // a torus in the first dimension: ring(-1, j) on the rank with row 0 is
/// a's last row
/// ```
///
/// The array must not be closed, moved, assigned to or resized while it has halos.
template <TriviallyCopyable T, std::size_t N>
class Halo {
public:
    /// Local call. Memory: that of the own block with its margin. Throws UsageError where the calling rank owns several
    /// separate domains or one with strides (Cyclic, most of BlockCyclic), RangeError for a negative depth, and on
    /// every rank for one that is larger than the array's extent in a periodic dimension: elements would be there more
    /// than once.
    Halo(GlobalArray<T, N>& array, std::int64_t depth, const std::array<bool, N>& periodic = {})
        : array_{&array}, own_{array.local_domain()} {
        array_->check_halo(own_.ranges(), depth, array.domain().ranges(), periodic);
        if (own_.empty()) return;
        domain_ = own_.expand(depth);
        find_sections(periodic);
        Index<N> extents{};
        for (std::size_t d = 0; d < N; ++d) extents[d] = static_cast<std::int64_t>(domain_.range(d).size());
        memory_.resize(domain_.size());
        view_ = {memory_.data(), Extents<N>{extents}};
        first_ = domain_.first();
        for (std::size_t d = 0; d < N; ++d) origin_ += first_[d] * view_.stride(d);
    }
    // The view leads to the memory, which a move keeps and a copy would not.
    Halo(const Halo&) = delete;
    Halo& operator=(const Halo&) = delete;
    Halo(Halo&&) noexcept = default;
    Halo& operator=(Halo&&) noexcept = default;

    /// Collective over the array's team: a barrier, fetch(), and a barrier, so that every rank gets what all have
    /// written before, and may write its part when this returns. Cost: two barriers and fetch().
    void exchange() {
        array_->barrier();
        fetch();
        array_->barrier();
    }
    /// Local call: the own block and its halo as they are. For programs that order their accesses by other means.
    /// Cost: a copy of the own block; for each neighbour on another node a planned transfer, all under way at a time,
    /// and another for each edge of a periodic dimension that lies between.
    void fetch() { start_fetch().wait(); }
    /// The memory must not be used until the completion says so.
    Completion start_fetch() {
        if (sections_.size() == 1) return array_->start_get(sections_.front().source, part(sections_.front().place));
        std::vector<Completion> gets;
        for (const Section& section : sections_) gets.push_back(array_->start_get(section.source, part(section.place)));
        return GlobalArray<T, N>::all_of(std::move(gets));
    }
    /// Local call: writes the own block back to the array, but no halo. Cost: a copy.
    void store() {
        if (!own_.empty()) array_->put(own_, part(own_));
    }

    /// An element by its global index. Not checked: `index` must lie in domain().
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] T& operator()(I... indices) {
        return memory_[place(Index<N>{static_cast<std::int64_t>(indices)...})];
    }
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] const T& operator()(I... indices) const {
        return memory_[place(Index<N>{static_cast<std::int64_t>(indices)...})];
    }
    [[nodiscard]] T& operator()(const Index<N>& index) { return memory_[place(index)]; }
    [[nodiscard]] const T& operator()(const Index<N>& index) const { return memory_[place(index)]; }

    /// The indices that have memory here: those of the own block, and `depth` more on each side, beyond the array's
    /// edges too.
    [[nodiscard]] const Domain<N>& domain() const noexcept { return domain_; }
    /// All of it, and what of it is the own block; for loops at the speed of a pointer.
    [[nodiscard]] LocalView<T, N> view() noexcept { return view_; }
    [[nodiscard]] LocalView<T, N> own() noexcept { return own_.empty() ? LocalView<T, N>{} : part(own_); }

private:
    /// What of the array goes where: the same domain, or across edges of periodic dimensions a shifted one.
    struct Section {
        Domain<N> source; ///< of the array
        Domain<N> place;  ///< of domain_
    };

    void find_sections(const std::array<bool, N>& periodic) {
        const Domain<N>& whole = array_->domain();
        Index<N> turns{}; // around the array, for each dimension
        for (std::size_t d = 0; d < N; ++d) turns[d] = periodic[d] ? -1 : 0;
        for (;;) {
            Index<N> there{};
            Index<N> back{};
            for (std::size_t d = 0; d < N; ++d) {
                there[d] = turns[d] * static_cast<std::int64_t>(whole.range(d).size());
                back[d] = -there[d];
            }
            if (const Domain<N> place = domain_.intersect(whole.shift(there)); !place.empty())
                sections_.push_back({place.shift(back), place});
            std::size_t d = N;
            while (d-- > 0) {
                if (periodic[d] && ++turns[d] <= 1) break;
                turns[d] = periodic[d] ? -1 : 0;
                if (d == 0) return;
            }
        }
    }
    [[nodiscard]] std::size_t place(const Index<N>& index) const noexcept {
        std::int64_t offset = index[N - 1] - origin_;
        for (std::size_t d = 0; d + 1 < N; ++d) offset += index[d] * view_.stride(d);
        return static_cast<std::size_t>(offset);
    }
    [[nodiscard]] LocalView<T, N> part(const Domain<N>& domain) const noexcept {
        Index<N> first{};
        Index<N> extents{};
        for (std::size_t d = 0; d < N; ++d) {
            first[d] = domain.range(d).first() - first_[d];
            extents[d] = static_cast<std::int64_t>(domain.range(d).size());
        }
        return view_.part(first, Extents<N>{extents});
    }

    GlobalArray<T, N>* array_;
    Domain<N> own_;
    Domain<N> domain_;              ///< of the memory
    std::vector<Section> sections_; ///< of that, what the array has
    std::vector<T> memory_;
    LocalView<T, N> view_;
    Index<N> first_{};
    std::int64_t origin_ = 0; ///< place of the index (0, …, 0), if it had one
};

} // namespace lapwing
