// A UPC kernel in C++: the product of two matrices. Rows of A and C are dealt to the threads, and so are the columns of
// B, so that most reads of B are of other threads. The loops stay as they are in UPC; the cache, switched on at the
// program's start, reads the columns in pages.
#include <lapwing/upc.hpp>

#include <cmath>
#include <cstdio>

// [program]
namespace upc = lapwing::upc;

int main(int argc, char** argv) {
    constexpr std::int64_t n = 60;
    upc::Program program{argc, argv, {.cache = {.mode = lapwing::CacheMode::epoch}}};
    upc::SharedArray<double, n, 2> a{{n, n}}; // shared [N] double A[N][N];
    upc::SharedArray<double, 1, 2> b{{n, n}}; // shared     double B[N][N];
    upc::SharedArray<double, n, 2> c{{n, n}}; // shared [N] double C[N][N];

    upc::forall(0, n, [&](std::int64_t i) { // upc_forall (i = 0; i < N; i++; i)
        for (std::int64_t j = 0; j < n; ++j) a[i][j] = 1.0 / static_cast<double>(i + j + 1);
    });
    upc::forall(0, n, [&](std::int64_t i) {
        for (std::int64_t j = 0; j < n; ++j) b[i][j] = i == j ? 2.0 : 0.0;
    });
    upc::barrier(); // upc_barrier;

    upc::forall(
        0, n, [&](std::int64_t i) { return a[i]; }, [&](std::int64_t i) { // upc_forall (i = 0; i < N; i++; &A[i][0])
            for (std::int64_t j = 0; j < n; ++j) {
                c[i][j] = 0;
                for (std::int64_t k = 0; k < n; ++k) c[i][j] += a[i][k] * b[k][j]; // C[i][j] += A[i][k] * B[k][j];
            }
        });
    upc::barrier();

    bool right = true;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            right = right && std::fabs(c[i][j] - 2.0 / static_cast<double>(i + j + 1)) < 1e-15;
    if (upc::mythread() == 0) std::printf("%d threads: C is %s\n", upc::threads(), right ? "2 A" : "wrong");
    upc::barrier();
    return right ? 0 : 1;
}
// [end]
