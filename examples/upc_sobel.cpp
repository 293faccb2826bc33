// A UPC kernel in C++: the edges of an image, whose rows lie with the threads in blocks. One line says which rows of
// other threads the loop reads; they come in bulk.
#include <lapwing/upc.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace upc = lapwing::upc;

int main(int argc, char** argv) {
    constexpr std::int64_t n = 240;
    upc::Program program{argc, argv};
    const std::int64_t rows = (n - 1) / upc::threads() + 1;
    const auto block = static_cast<std::size_t>(rows * n);
    upc::SharedArray<std::uint8_t, upc::dynamic_block> image{n * n, block}; // shared [ROWS * N] uint8_t image[N][N];
    upc::SharedArray<std::uint8_t, upc::dynamic_block> edges{n * n, block}; // shared [ROWS * N] uint8_t edges[N][N];
    const std::int64_t first = std::min(n, rows * upc::mythread());
    const std::int64_t last = std::min(n, first + rows);

    for (std::int64_t i = first; i < last; ++i) // own elements: a disc
        for (std::int64_t j = 0; j < n; ++j) image[i * n + j] = std::hypot(i - n / 2, j - n / 2) < 80.5 ? 200 : 20;
    upc::barrier(); // upc_barrier;

    upc::Prefetched around{image, n * std::max<std::int64_t>(0, first - 1), n * std::min(n, last + 1)};
    for (std::int64_t i = std::max<std::int64_t>(1, first); i < std::min(n - 1, last); ++i)
        for (std::int64_t j = 1; j < n - 1; ++j) {
            const auto at = [&](std::int64_t row, std::int64_t column) {
                return static_cast<int>(around[(i + row) * n + j + column]);
            };
            const int down = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
            const int across = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
            edges[i * n + j] = static_cast<std::uint8_t>(std::min(255.0, std::sqrt(down * down + across * across)));
        }
    upc::barrier();

    // The disc's rim is there, and nothing else.
    std::int64_t wrong = 0;
    upc::forall(0, n * n, edges, [&](std::int64_t i) {
        const double distance = std::fabs(std::hypot(i / n - n / 2, i % n - n / 2) - 80.5);
        const int edge = edges[i];
        if ((distance > 2 && edge != 0) || (distance < 0.4 && edge == 0)) ++wrong;
    });
    std::printf("thread %d of %d: rows %lld to %lld, %lld pixels wrong\n", upc::mythread(), upc::threads(),
                static_cast<long long>(first), static_cast<long long>(last), static_cast<long long>(wrong));
    return wrong == 0 ? 0 : 1;
}
