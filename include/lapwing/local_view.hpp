// Room: datatype
#pragma once

#include <lapwing/extents.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {

/// A strided N-dimensional view of local memory, with the naming of std::mdspan (C++23): indices start at 0 in every
/// dimension, strides count elements, the last dimension is contiguous. A view does not own its elements; it is valid
/// as long as the array is.
template <class T, std::size_t N>
class LocalView {
public:
    using element_type = T;
    using index_type = std::int64_t;
    using size_type = std::uint64_t;

    constexpr LocalView() noexcept = default;
    /// `data` is the first element; strides count elements.
    constexpr LocalView(T* data, const Extents<N>& extents, const std::array<std::int64_t, N>& strides) noexcept
        : data_{data}, extents_{extents}, strides_{strides} {}
    /// Rows without gaps.
    constexpr LocalView(T* data, const Extents<N>& extents) noexcept : data_{data}, extents_{extents} {
        std::int64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            strides_[d] = stride;
            stride *= extents[d];
        }
    }
    /// A read-only view, from one that may write.
    template <class U>
        requires(std::same_as<const U, T> && !std::same_as<U, T>)
    constexpr LocalView(const LocalView<U, N>& other) noexcept
        : LocalView{other.data_handle(), other.extents(), other.strides()} {}

    /// Number of dimensions.
    [[nodiscard]] static constexpr std::size_t dimensions() noexcept { return N; }
    /// The same, as in std::mdspan; not a rank of a team.
    [[nodiscard]] static constexpr std::size_t rank() noexcept { return dimensions(); }
    /// Elements in all dimensions, and in one of them, which must be less than dimensions().
    [[nodiscard]] constexpr const Extents<N>& extents() const noexcept { return extents_; }
    [[nodiscard]] constexpr std::int64_t extent(std::size_t dimension) const { return extents_[dimension]; }
    /// Distance in elements between neighbours in one dimension, and in all.
    [[nodiscard]] constexpr std::int64_t stride(std::size_t dimension) const { return strides_[dimension]; }
    [[nodiscard]] constexpr const std::array<std::int64_t, N>& strides() const noexcept { return strides_; }
    /// First element; may be null if the view is empty.
    [[nodiscard]] constexpr T* data_handle() const noexcept { return data_; }
    /// Number of elements.
    [[nodiscard]] constexpr std::uint64_t size() const noexcept {
        std::uint64_t product = 1;
        for (std::size_t d = 0; d < N; ++d) product *= static_cast<std::uint64_t>(extents_[d]);
        return product;
    }
    /// Whether there are no elements.
    [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
    /// Whether there are no gaps between the rows.
    [[nodiscard]] constexpr bool is_exhaustive() const noexcept {
        if (empty()) return true;
        std::int64_t dense = 1;
        for (std::size_t d = N; d-- > 0;) {
            if (extents_[d] > 1 && strides_[d] != dense) return false;
            dense *= extents_[d];
        }
        return true;
    }

    /// The elements as a contiguous span. Only for views without gaps between their rows (is_exhaustive()).
    [[nodiscard]] constexpr std::span<T> elements() const noexcept { return {data_, static_cast<std::size_t>(size())}; }
    /// The part of the view starting at index `first`, with these extents: the inside of a margin is `view.part({1, 1},
    /// {n - 2, m - 2})`. Not checked.
    [[nodiscard]] constexpr LocalView part(const Index<N>& first, const Extents<N>& extents) const noexcept {
        std::int64_t offset = 0;
        for (std::size_t d = 0; d < N; ++d) offset += first[d] * strides_[d];
        return {data_ + offset, extents, strides_};
    }

    /// Not checked.
    template <IndexValue... I>
        requires(sizeof...(I) == N)
    [[nodiscard]] constexpr T& operator()(I... indices) const {
        return (*this)[Index<N>{static_cast<std::int64_t>(indices)...}];
    }
    [[nodiscard]] constexpr T& operator[](const Index<N>& index) const {
        std::int64_t offset = index[N - 1];
        for (std::size_t d = 0; d + 1 < N; ++d) offset += index[d] * strides_[d];
        return data_[offset];
    }

private:
    T* data_ = nullptr;
    Extents<N> extents_{};
    std::array<std::int64_t, N> strides_{};
};

} // namespace lapwing
