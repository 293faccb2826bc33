#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/global_array.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::kernels {

/// A rectangular part of a global array, fetched with one bulk get and read with the array's own indices.
template <class T, std::size_t N>
class PatchBuffer {
public:
    /// `domain` has no strides. Cost: the bulk get.
    PatchBuffer(const GlobalArray<T, N>& array, const Domain<N>& domain) : elements_(domain.size()) {
        array(domain).get(elements_);
        if (domain.empty()) return;
        std::int64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            strides_[d] = stride;
            start_ -= domain.first()[d] * stride;
            stride *= static_cast<std::int64_t>(domain.range(d).size());
        }
    }

    /// Not checked.
    template <class... I>
    [[nodiscard]] const T& operator()(I... indices) const {
        const Index<N> index{static_cast<std::int64_t>(indices)...};
        std::int64_t position = start_ + index[N - 1];
        for (std::size_t d = 0; d + 1 < N; ++d) position += index[d] * strides_[d];
        return elements_[static_cast<std::size_t>(position)];
    }

private:
    std::vector<T> elements_;
    std::array<std::int64_t, N> strides_{};
    std::int64_t start_ = 0; ///< where element (0, …, 0) would be
};

/// All elements of an array, row-major. For checking results.
template <class T, std::size_t N>
[[nodiscard]] std::vector<T> all_elements(const GlobalArray<T, N>& array) {
    std::vector<T> elements(array.size());
    array(array.domain()).get(elements);
    return elements;
}

/// Sets an array from a row-major copy of all its elements that every rank has. Collective.
template <class T, std::size_t N>
void set_elements(GlobalArray<T, N>& array, const std::vector<T>& elements) {
    const Domain<N> mine = array.local_domain();
    for (const Index<N>& index : mine) {
        std::int64_t position = 0;
        for (std::size_t d = 0; d < N; ++d) position = position * array.extent(d) + index[d];
        array.local(index) = elements[static_cast<std::size_t>(position)];
    }
    array.barrier();
}

} // namespace lapwing::detail::kernels
