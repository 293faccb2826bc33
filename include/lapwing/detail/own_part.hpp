// Room: arrays
#pragma once

#include <lapwing/detail/array_errors.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/location.hpp>
#include <lapwing/range.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::arrays {

/// Indices of one row that are neighbours in memory, too.
template <std::size_t N>
struct OwnStretch {
    Index<N> index{};           ///< the first
    std::int64_t stride = 1;    ///< from one to the next, in the last dimension
    std::uint64_t count = 0;    ///< of them
    std::uint64_t offset = 0;   ///< of the first, in the rank's part, in elements
    std::uint64_t position = 0; ///< how many come before it in the loop
};

/// Goes through the domains of a source, stretch by stretch, the last dimension fastest. It is no call with a function:
/// a compiler then sees that the body of the loop around it is used nowhere else, and keeps its values in registers.
/// If the source goes by_strides(), the rows of a domain are as far apart in memory, in each dimension; otherwise
/// place() is asked for each of them.
template <std::size_t N, class Source>
class OwnStretches {
public:
    explicit OwnStretches(const Source& source)
        : source_{source}, domains_{source.domains()}, strides_{source.strides()}, by_strides_{source.by_strides()} {}

    /// Whether there is another one.
    [[nodiscard, gnu::always_inline]] bool next(OwnStretch<N>& found) {
        if (left_ == 0 && !next_row()) return false;
        found.position += found.count;
        found.index = index_;
        found.stride = domain_.range(N - 1).stride();
        found.offset = offset_;
        found.count = by_strides_ ? left_ : source_.place(index_, found.stride, left_, found.offset);
        left_ -= found.count;
        if (left_ != 0) index_[N - 1] += static_cast<std::int64_t>(found.count) * found.stride;
        return true;
    }

private:
    [[nodiscard, gnu::always_inline]] bool next_row() {
        for (std::size_t d = N - 1; d-- > 0;) {
            const Range& range = domain_.range(d);
            if (++row_[d] < range.size()) {
                index_[d] += range.stride();
                offset_ += strides_[d];
                index_[N - 1] = domain_.range(N - 1).first();
                left_ = domain_.range(N - 1).size();
                return true;
            }
            index_[d] = range.first();
            offset_ -= strides_[d] * (row_[d] - 1);
            row_[d] = 0;
        }
        return next_domain();
    }
    [[nodiscard, gnu::noinline]] bool next_domain() {
        do {
            if (k_ == domains_) return false;
            domain_ = source_.domain(k_++);
        } while (domain_.empty());
        row_ = {};
        index_ = domain_.first();
        left_ = domain_.range(N - 1).size();
        offset_ = 0;
        if (by_strides_) static_cast<void>(source_.place(index_, 1, 1, offset_));
        return true;
    }

    Source source_;
    std::uint64_t domains_;
    std::array<std::uint64_t, N> strides_;
    bool by_strides_;
    std::uint64_t k_ = 0; ///< of the next domain
    Domain<N> domain_;
    Index<N> index_{};
    std::array<std::uint64_t, N> row_{}; ///< of the row in the domain, by dimension
    std::uint64_t offset_ = 0;           ///< of the row, by strides
    std::uint64_t left_ = 0;             ///< of the row
};

/// What loops over the own elements of arrays need to know of them.
struct OwnPart {
    template <class T, std::size_t N>
    [[nodiscard]] static std::uint64_t domains(const GlobalArray<T, N>& array) {
        return array.domain_count(Rank{array.core_.own_rank});
    }
    template <class T, std::size_t N>
    [[nodiscard]] static Domain<N> domain(const GlobalArray<T, N>& array, std::uint64_t k) {
        return array.domain_of(Rank{array.core_.own_rank}, k);
    }
    /// Where the part has an own element; returns how many of the `left` ones from it on are its neighbours there.
    template <class T, std::size_t N>
    [[nodiscard]] static std::uint64_t place(const GlobalArray<T, N>& array, const Index<N>& index, std::int64_t stride,
                                             std::uint64_t left, std::uint64_t& offset) {
        // In a domain of a block-cyclic map neighbours are neighbours in memory, whatever the distance of their
        // indices.
        if (array.core_.user_map == nullptr) {
            offset = array.core_.map.locate(index).offset;
            return left;
        }
        for (std::size_t d = 0; d < N; ++d)
            if (index[d] < 0 || index[d] >= array.extent(d)) throw_wrong_domain(array.title_, index, Rank{-1});
        const Location found = array.locate(index);
        if (found.owner.value != array.core_.own_rank) throw_wrong_domain(array.title_, index, found.owner);
        offset = found.offset;
        return stride == 1 ? std::min(found.contiguous, left) : std::uint64_t{1};
    }
    /// Elements between neighbours in each dimension, in one of the rank's domains; unless the map is a user-defined
    /// one.
    template <class T, std::size_t N>
    [[nodiscard]] static std::array<std::uint64_t, N> strides(const GlobalArray<T, N>& array) {
        if (has_user_map(array)) return {};
        return array.core_.map.strides(array.own_place());
    }
    template <class T, std::size_t N>
    [[nodiscard]] static bool has_user_map(const GlobalArray<T, N>& array) noexcept {
        return array.core_.user_map != nullptr;
    }
    /// Throws UsageError after close().
    template <class T, std::size_t N>
    [[nodiscard]] static T* memory(const GlobalArray<T, N>& array, const char* call) {
        array.require_open(call);
        return array.segment();
    }
    /// Whether the part is one piece of memory from origin() on, with the elements in the order of their places.
    template <class T, std::size_t N>
    [[nodiscard]] static bool dense(const GlobalArray<T, N>& array) noexcept {
        return array.core_.user_map == nullptr && !array.core_.map.has_gaps();
    }
    template <class T, std::size_t N>
    [[nodiscard]] static std::uint64_t origin(const GlobalArray<T, N>& array) noexcept {
        return array.core_.map.origin();
    }
    template <class T, std::size_t N>
    [[nodiscard]] static bool replicated(const GlobalArray<T, N>& array) noexcept {
        return array.core_.replicated;
    }
    template <class T, std::size_t N>
    [[nodiscard]] static const ArrayTitle& title(const GlobalArray<T, N>& array) noexcept {
        return array.title_;
    }
    /// The barrier that collective calls begin with; throws MismatchError unless all ranks make this call.
    template <class T, std::size_t N>
    static void begin_collective(const GlobalArray<T, N>& array, const char* call) {
        array.begin_collective(call);
    }
    /// Whether each element of `b` is at the place at which `a` has the one with the same index.
    template <class T, class U, std::size_t N>
    [[nodiscard]] static bool same_places(const GlobalArray<T, N>& a, const GlobalArray<U, N>& b) {
        return a.team_ != nullptr && a.team_ == b.team_ && a.core_.user_map == nullptr && b.core_.user_map == nullptr &&
               a.core_.replicated == b.core_.replicated && a.core_.map == b.core_.map;
    }
    /// Whether this rank has the elements of `b` from an index on, `count` of them, one after the other in memory;
    /// `offset` is then the place of the first.
    template <class T, std::size_t N>
    [[nodiscard]] static bool has(const GlobalArray<T, N>& b, const Index<N>& index, std::int64_t stride,
                                  std::uint64_t count, std::uint64_t& offset) {
        const Location found = b.locate(index);
        offset = found.offset;
        return found.owner.value == b.core_.own_rank && (count == 1 || (stride == 1 && found.contiguous >= count));
    }
};

/// The own elements of an array.
template <class T, std::size_t N>
struct OwnSource {
    const GlobalArray<T, N>* array;

    [[nodiscard]] std::uint64_t domains() const { return OwnPart::domains(*array); }
    [[nodiscard]] Domain<N> domain(std::uint64_t k) const { return OwnPart::domain(*array, k); }
    [[nodiscard]] std::array<std::uint64_t, N> strides() const { return OwnPart::strides(*array); }
    [[nodiscard]] bool by_strides() const noexcept { return !OwnPart::has_user_map(*array); }
    [[nodiscard]] std::uint64_t place(const Index<N>& index, std::int64_t stride, std::uint64_t left,
                                      std::uint64_t& offset) const {
        return OwnPart::place(*array, index, stride, left, offset);
    }
};

/// The indices of one domain.
template <std::size_t N>
struct DomainSource {
    Domain<N> all;

    [[nodiscard]] std::uint64_t domains() const noexcept { return 1; }
    [[nodiscard]] const Domain<N>& domain(std::uint64_t /*k*/) const noexcept { return all; }
    [[nodiscard]] std::array<std::uint64_t, N> strides() const noexcept { return {}; }
    [[nodiscard]] bool by_strides() const noexcept { return true; }
    [[nodiscard]] std::uint64_t place(const Index<N>& /*index*/, std::int64_t /*stride*/, std::uint64_t left,
                                      std::uint64_t& /*offset*/) const noexcept {
        return left;
    }
};

} // namespace lapwing::detail::arrays
