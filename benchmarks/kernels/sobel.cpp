#include "sobel.hpp"

#include "patch_buffer.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/patterns.hpp>

namespace lapwing::detail::kernels {
namespace {

template <class Pixel>
void set_own_edges(const Pixel& pixels, Pixels& edges) {
    const Domain<2> inner = edges.domain().expand(-1);
    for (auto [i, j] : edges.local_domain().intersect(inner)) edges.local(i, j) = edge_strength(pixels, i, j);
    edges.barrier();
}

} // namespace

void sobel_naive(const Pixels& image, Pixels& edges) {
    const Domain<2> inner = edges.domain().expand(-1);
    for (auto [i, j] : edges.local_domain().intersect(inner)) edges(i, j) = edge_strength(image, i, j);
    edges.barrier();
}

void sobel_bulk(const Pixels& image, Pixels& edges) {
    const Domain<2> needed = edges.local_domain().expand(1).intersect(image.domain());
    set_own_edges(PatchBuffer<std::uint8_t, 2>{image, needed}, edges);
}

void sobel_mapped(const Pixels& image, Pixels& edges) { set_own_edges(image.mapped(Stencil{}), edges); }

Image sobel_serial(const Image& image) {
    Image edges{.rows = image.rows, .columns = image.columns, .pixels = std::vector<std::uint8_t>(image.pixels.size())};
    const LocalView<const std::uint8_t, 2> pixel{image.pixels.data(), {image.rows, image.columns}, {image.columns, 1}};
    for (std::int64_t i = 1; i < image.rows - 1; ++i)
        for (std::int64_t j = 1; j < image.columns - 1; ++j)
            edges.pixels[static_cast<std::size_t>(i * image.columns + j)] = edge_strength(pixel, i, j);
    return edges;
}

} // namespace lapwing::detail::kernels
