// A power iteration whose sparse product knows nothing of Lapwing: it reads the whole vector by a plain pointer. Two
// calls are all that makes it a program for many ranks: one that maps the vector, and one a step that brings what the
// other ranks have computed.
#include <lapwing/lapwing.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

// As in any library: y = matrix * x, by rows.
static void multiply(std::int64_t rows, const std::int64_t* begin, const std::int64_t* columns, const double* values,
                     const double* x, double* y) {
    for (std::int64_t r = 0; r < rows; ++r) {
        y[r] = 0;
        for (std::int64_t k = begin[r]; k < begin[r + 1]; ++k) y[r] += values[k] * x[columns[k]];
    }
}

// [program]
int main() {
    lapwing::Runtime runtime;
    constexpr std::int64_t n = 2000;
    lapwing::GlobalArray<double, 1> x{runtime, {n}, lapwing::Block{}, {.name = "x"}};
    const auto own = x.local_domain().range(0);
    std::vector<std::int64_t> begin{0}, columns; // of this rank's rows: 2 on the diagonal, and 1 beside it
    std::vector<double> values;
    for (const std::int64_t r : own) {
        for (const std::int64_t c : {r - 1, r, r + 1, (r * 7) % n})
            if (c >= 0 && c < n) columns.push_back(c), values.push_back(c == r ? 2 : 1);
        begin.push_back(std::ssize(columns));
    }
    x.fill(1);

    const auto whole = x.mapped(); // everything; patterns name less
    std::vector<double> y(own.size());
    double norm = 0;
    for (int step = 0; step < 200; ++step) {
        multiply(std::ssize(y), begin.data(), columns.data(), values.data(), whole.data(), y.data());
        double sum = 0;
        for (const double value : y) sum += value * value;
        norm = std::sqrt(runtime.sum(sum));
        for (std::size_t k = 0; k < y.size(); ++k) x.local_span()[k] = y[k] / norm;
        runtime.barrier();
        whole.refresh(); // what the others have written
    }
    if (runtime.rank() == lapwing::Rank{0}) std::printf("largest eigenvalue: %.4f\n", norm);
    x.close();
    runtime.close();
    return std::abs(norm - 5.0023) < 1e-4 ? 0 : 1; // on any number of ranks
}
// [end]
