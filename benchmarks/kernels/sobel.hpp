#pragma once

#include "image.hpp"

#include <lapwing/global_array.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

/// Edge detection with Sobel's operator: the strength of the grey-value gradient at each pixel.
namespace lapwing::kernels {

using Pixels = GlobalArray<std::uint8_t, 2>;

/// Strength of the edge at (i, j), 0 to 255, from the eight pixels around it; `pixel(i, j)` is a grey value.
template <class Pixel>
[[nodiscard]] std::uint8_t edge_strength(const Pixel& pixel, std::int64_t i, std::int64_t j) {
    const int down = pixel(i + 1, j - 1) + 2 * pixel(i + 1, j) + pixel(i + 1, j + 1) - pixel(i - 1, j - 1) -
                     2 * pixel(i - 1, j) - pixel(i - 1, j + 1);
    const int across = pixel(i - 1, j + 1) + 2 * pixel(i, j + 1) + pixel(i + 1, j + 1) - pixel(i - 1, j - 1) -
                       2 * pixel(i, j - 1) - pixel(i + 1, j - 1);
    const double strength = std::sqrt(static_cast<double>(down * down + across * across));
    return static_cast<std::uint8_t>(std::min(strength, 255.0));
}

/// The image's edges; the outermost pixels are 0. Both arrays have the same extents and the distribution Block. Collective;
/// complete on all ranks on return. The results are the same to the bit: all arithmetic is on small whole numbers, and the
/// square root is correctly rounded.
void sobel_naive(const Pixels& image, Pixels& edges);
void sobel_bulk(const Pixels& image, Pixels& edges);
[[nodiscard]] Image sobel_serial(const Image& image);

} // namespace lapwing::kernels
