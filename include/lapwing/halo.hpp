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
#include <memory>
#include <utility>
#include <vector>

namespace lapwing {

/// What a stencil reads: the local block of an array and, `depth` elements deep on every side and at the corners, the
/// elements of other ranks around it, in one block of memory. The program still writes to the array:
///
/// ```cpp
/// lapwing::Halo halo{a, 1};
/// for (int step = 0; step < steps; ++step) {
///     halo.exchange();                                       // the current values of the local block and around it
///     for (auto [i, j] : inner)
///         a.local(i, j) = 0.25 * (halo(i - 1, j) + halo(i + 1, j) + halo(i, j - 1) + halo(i, j + 1));
/// }
/// ```
///
/// Elements beyond the array's edges belong to the program: zero at first, and never changed by an exchange. A periodic
/// dimension wraps around, and these elements are those of the other side:
///
/// ```cpp
/// lapwing::Halo ring{a, 1, {true, false}}; // wraps around in the first dimension
/// double x = ring(-1, j);                  // on the rank with row 0: of the array's last row
/// ```
///
/// The array must not be moved or assigned to while it has halos. Once it is closed, resized or redistributed, calls of
/// its halos throw UsageError.
template <TriviallyCopyable T, std::size_t N>
class Halo {
public:
    /// Local call. Memory: that of the local block with its margin. Throws UsageError if the calling rank owns several
    /// separate domains or one with strides (Cyclic, most of BlockCyclic), RangeError for a negative depth and one that
    /// needs more than 2^62 bytes. A depth larger than the array's extent in a periodic dimension goes around several
    /// times, and the same elements occur again.
    Halo(GlobalArray<T, N>& array, std::int64_t depth, const std::array<bool, N>& periodic = {})
        : array_{&array}, geometry_{array.slice().array()}, own_{array.local_domain()} {
        array_->check_halo(own_.ranges(), depth);
        if (own_.empty()) return;
        domain_ = own_.expand(depth);
        Index<N> extents{};
        for (std::size_t d = 0; d < N; ++d) extents[d] = static_cast<std::int64_t>(domain_.range(d).size());
        memory_.resize(domain_.size()); // first: what fits into memory has not too many sections
        find_sections(depth, periodic);
        view_ = {memory_.data(), Extents<N>{extents}};
        first_ = domain_.first();
        for (std::size_t d = 0; d < N; ++d) origin_ += first_[d] * view_.stride(d);
    }
    // The view points to the memory, which survives a move but not a copy.
    Halo(const Halo&) = delete;
    Halo& operator=(const Halo&) = delete;
    Halo(Halo&&) noexcept = default;
    Halo& operator=(Halo&&) noexcept = default;

    /// Collective over the array's team: a barrier, fetch(), and a barrier. So every rank gets what all have written
    /// before, and may write its part again when this returns. If one rank cannot fetch, that rank throws why, and the
    /// others throw UsageError with its text. Cost: two barriers and fetch().
    void exchange() {
        require_array("exchange");
        array_->barrier();
        array_->end_collective(".exchange", [this] { fetch(); }, "some halos may be what they were");
    }
    /// Local call: fetches the current values of the local block and its halo. For programs that order their accesses
    /// by other means. Cost: a copy of the local block; for each neighbour on another node a planned transfer, all
    /// under way at once, and one more for each edge of a periodic dimension in between.
    void fetch() { start_fetch().wait(); }
    /// The memory must not be used until the completion is done.
    Completion start_fetch() {
        require_array("fetch");
        if (sections_.size() == 1) return start_get(sections_.front());
        std::vector<Completion> gets;
        for (const Section& section : sections_) gets.push_back(start_get(section));
        return GlobalArray<T, N>::all_of(std::move(gets));
    }
    /// Local call: writes the local block back to the array, but not the halo. Cost: a copy.
    void store() {
        require_array("store");
        if (!own_.empty()) (*array_)(own_).put(part(own_));
    }

    /// An element by its global index. Not checked: `index` must be in domain().
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] T& operator()(I... index) {
        return memory_[place(detail::datatype::index_of<N>(index...))];
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] const T& operator()(I... index) const {
        return memory_[place(detail::datatype::index_of<N>(index...))];
    }

    /// The indices that have memory here: those of the local block, and `depth` more on each side, also beyond the
    /// array's edges.
    [[nodiscard]] const Domain<N>& domain() const noexcept { return domain_; }
    /// All of it, and the local block within it; for loops at the speed of a pointer.
    [[nodiscard]] LocalView<T, N> view() noexcept { return view_; }
    [[nodiscard]] LocalView<T, N> own() noexcept { return own_.empty() ? LocalView<T, N>{} : part(own_); }

private:
    /// Which part of the array goes where: the same domain, or a shifted one across edges of periodic dimensions.
    struct Section {
        Domain<N> source; ///< of the array
        Domain<N> place;  ///< of domain_
    };

    void require_array(const char* call) const {
        if (geometry_.expired()) detail::arrays::throw_old_halo(call);
    }
    void find_sections(std::int64_t depth, const std::array<bool, N>& periodic) {
        const Domain<N>& whole = array_->domain();
        Index<N> most{}; // turns around the array, for each dimension
        for (std::size_t d = 0; d < N; ++d) most[d] = periodic[d] ? detail::arrays::turns(depth, whole.range(d)) : 0;
        Index<N> turns{};
        for (std::size_t d = 0; d < N; ++d) turns[d] = -most[d];
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
                if (++turns[d] <= most[d]) break;
                turns[d] = -most[d];
                if (d == 0) return;
            }
        }
    }
    [[nodiscard]] Completion start_get(const Section& section) const {
        return (*array_)(section.source).start_get(part(section.place));
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
    std::weak_ptr<const detail::slices::ArrayGeometry> geometry_; ///< of the array as it was
    Domain<N> own_;
    Domain<N> domain_;              ///< of the memory
    std::vector<Section> sections_; ///< the parts of it that the array has
    std::vector<T> memory_;
    LocalView<T, N> view_;
    Index<N> first_{};
    std::int64_t origin_ = 0; ///< place that the index (0, …, 0) would have
};

} // namespace lapwing
