#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::kernels {

/// A grey-scale image, row by row from the top; 0 is black, 255 white.
struct Image {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::vector<std::uint8_t> pixels = {};
};

/// Reads a binary PGM file ("P5", at most 255 grey levels). Throws FileError that names the file, what is wrong in it
/// and what was expected.
[[nodiscard]] Image read_pgm(const std::string& file);

/// Writes a binary PGM file. Throws FileError.
void write_pgm(const std::string& file, const Image& image);

} // namespace lapwing::detail::kernels
