#pragma once

#include "image.hpp"

#include <lapwing/global_array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

/// Edge detection with Sobel's operator: the strength of the grey-value gradient at each pixel.
namespace lapwing::detail::kernels {

using Pixels = GlobalArray<std::uint8_t, 2>;

/// Strength of the edge at (i, j), 0 to 255, from the eight pixels around it; `pixel(i, j)` is a grey value.
template <class Pixel>
[[nodiscard]] std::uint8_t edge_strength(const Pixel& pixel, std::int64_t i, std::int64_t j) {
    // Each of the eight once: an access may be a message.
    const int above_left = pixel(i - 1, j - 1), above = pixel(i - 1, j), above_right = pixel(i - 1, j + 1);
    const int left = pixel(i, j - 1), right = pixel(i, j + 1);
    const int below_left = pixel(i + 1, j - 1), below = pixel(i + 1, j), below_right = pixel(i + 1, j + 1);
    const int down = (below_left + 2 * below + below_right) - (above_left + 2 * above + above_right);
    const int across = (above_right + 2 * right + below_right) - (above_left + 2 * left + below_left);
    const double strength = std::sqrt(static_cast<double>(down * down + across * across));
    return static_cast<std::uint8_t>(std::min(strength, 255.0));
}

/// The image's edges; the outermost pixels are 0. Both arrays have the same extents and the distribution Block.
/// Collective; complete on all ranks on return. The results are the same to the bit: all arithmetic is on small whole
/// numbers, and the square root is correctly rounded.
void sobel_naive(const Pixels& image, Pixels& edges);
void sobel_bulk(const Pixels& image, Pixels& edges);
void sobel_mapped(const Pixels& image, Pixels& edges);
[[nodiscard]] Image sobel_serial(const Image& image);

} // namespace lapwing::detail::kernels
