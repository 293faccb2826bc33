// Writes what the kernels of lapwing-demo compute serially, as raw bytes, for test_kernels.py.
//
// usage: kernels_reference picture.pgm matrix.mtx CUBE STEPS PRODUCTS DIRECTORY
#include "heat.hpp"
#include "image.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "sparse_matrix.hpp"

#include <lapwing/error.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

using namespace lapwing::detail::kernels;

namespace {

template <class T>
void write(const std::string& file, const std::vector<T>& values) {
    std::ofstream out{file, std::ios::binary};
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
    if (!out.flush()) throw lapwing::FileError{file + ": cannot be written"};
}

} // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        std::fprintf(stderr, "usage: kernels_reference picture.pgm matrix.mtx CUBE STEPS PRODUCTS DIRECTORY\n");
        return 2;
    }
    try {
        const std::string directory = arguments[6];
        write(directory + "/edges", sobel_serial(read_pgm(arguments[1])).pixels);
        const PowerIterationResult products =
            power_iteration_serial(read_matrix_market(arguments[2]), std::atoll(arguments[5]));
        write(directory + "/x", products.x);
        write(directory + "/growth", products.growth);
        write(directory + "/heat", heat_serial(std::atoll(arguments[3]), std::atoll(arguments[4])));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kernels_reference: %s\n", error.what());
        return 1;
    }
    return 0;
}
