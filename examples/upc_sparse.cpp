// A UPC kernel in C++ that reads a shared vector at any index: the product of a sparse matrix, whose vector is mapped,
// so that a read is a load, whoever has the element. The text of each line in UPC is beside it.
#include <lapwing/upc.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace upc = lapwing::upc;

int main(int argc, char** argv) {
    upc::Program program{argc, argv};
    constexpr std::int64_t n = 2000;
    upc::SharedArray<double, upc::dynamic_block> x{n}; // shared [*] double x[n];
    const auto own = static_cast<std::int64_t>(x.size_at(upc::mythread()));
    std::vector<std::int64_t> begin{0}, columns; // of this thread's rows: 2 on the diagonal, and 1 beside it
    std::vector<double> values;
    const auto first = upc::mythread() * static_cast<std::int64_t>(x.block_size());
    for (std::int64_t r = first; r < first + own; ++r) {
        for (const std::int64_t c : {r - 1, r, r + 1, (r * 7) % n})
            if (c >= 0 && c < n) columns.push_back(c), values.push_back(c == r ? 2 : 1);
        begin.push_back(std::ssize(columns));
    }
    upc::forall(0, n, x, [&](std::int64_t i) { x[i] = 1; }); // upc_forall (i = 0; i < n; i++; &x[i]) x[i] = 1;
    upc::barrier();                                          // upc_barrier;

    const auto whole = upc::mapped(x);
    std::vector<double> y(static_cast<std::size_t>(own));
    double norm = 0;
    for (int step = 0; step < 200; ++step) {
        double sum = 0;
        for (std::size_t r = 0; r < y.size(); ++r) {
            y[r] = 0;
            for (auto k = static_cast<std::size_t>(begin[r]); k < static_cast<std::size_t>(begin[r + 1]); ++k)
                y[r] += values[k] * whole[columns[k]]; // y[r] += values[k] * x[columns[k]];
            sum += y[r] * y[r];
        }
        norm = std::sqrt(upc::allv_reduce(sum, upc::Op::add));
        for (std::size_t r = 0; r < y.size(); ++r) x.local()[r] = y[r] / norm;
        upc::barrier();
        whole.refresh(); // what the other threads have written
    }
    if (upc::mythread() == 0) std::printf("largest eigenvalue: %.4f\n", norm);
    upc::barrier();
    return std::abs(norm - 5.0023) < 1e-4 ? 0 : 1; // on any number of threads
}
