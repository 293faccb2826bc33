#include "image.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>

namespace lapwing::detail::kernels {
namespace {

/// The numbers of a PGM header, which are separated by white space and comments ("# …" to the end of the line).
class HeaderReader {
public:
    HeaderReader(std::istream& in, const std::string& file) : in_{in}, file_{file} {}

    std::int64_t number(const char* what, std::int64_t lowest, std::int64_t highest) {
        skip_space();
        std::int64_t value = 0;
        int digits = 0;
        for (; std::isdigit(in_.peek()) != 0; ++digits) {
            value = value * 10 + (in_.get() - '0');
            if (value > highest) break;
        }
        if (digits == 0)
            throw FileError{fmt::format("{}: the PGM header has no {}; expected a whole number from {} to {}", file_,
                                        what, lowest, highest)};
        if (value < lowest || value > highest)
            throw FileError{
                fmt::format("{}: {} is {} or more; expected {} to {}", file_, what, value, lowest, highest)};
        return value;
    }

private:
    void skip_space() {
        while (true) {
            const int next = in_.peek();
            if (next == '#') in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
            else if (std::isspace(next) != 0) in_.get();
            else return;
        }
    }

    std::istream& in_;
    const std::string& file_;
};

} // namespace

Image read_pgm(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    if (!in) throw FileError{fmt::format("{}: cannot be read ({}); expected a PGM image", file, std::strerror(errno))};
    char magic[2] = {};
    in.read(magic, sizeof magic);
    if (!in || magic[0] != 'P' || magic[1] != '5')
        throw FileError{fmt::format("{}: does not start with \"P5\"; expected a binary PGM image", file)};

    constexpr std::int64_t longest_side = 1 << 24; // so that the number of pixels does not overflow
    HeaderReader header{in, file};
    Image image;
    image.columns = header.number("width", 1, longest_side);
    image.rows = header.number("height", 1, longest_side);
    (void)header.number("number of grey levels", 1, 255);
    in.get(); // the single white space before the pixels

    const std::streamoff start = in.tellg();
    in.seekg(0, std::ios::end);
    const std::int64_t present = in ? static_cast<std::int64_t>(in.tellg() - start) : 0;
    const std::int64_t wanted = image.rows * image.columns;
    // Before the memory is allocated: a damaged header can ask for a lot.
    if (present < wanted)
        throw FileError{fmt::format("{}: truncated: {} x {} pixels need {} bytes after the header, {} are there", file,
                                    image.columns, image.rows, wanted, present)};
    image.pixels.resize(static_cast<std::size_t>(wanted));
    in.seekg(start);
    in.read(reinterpret_cast<char*>(image.pixels.data()), static_cast<std::streamsize>(wanted));
    if (!in) throw FileError{fmt::format("{}: reading its {} pixels failed ({})", file, wanted, std::strerror(errno))};
    return image;
}

void write_pgm(const std::string& file, const Image& image) {
    std::ofstream out{file, std::ios::binary};
    out << "P5\n" << image.columns << ' ' << image.rows << "\n255\n";
    out.write(reinterpret_cast<const char*>(image.pixels.data()), static_cast<std::streamsize>(image.pixels.size()));
    out.close();
    if (!out) throw FileError{fmt::format("{}: cannot be written ({})", file, std::strerror(errno))};
}

} // namespace lapwing::detail::kernels
