#include "transpose.hpp"

#include "patch_buffer.hpp"

#include <lapwing/domain.hpp>

namespace lapwing::detail::kernels {
namespace {

template <class From>
void set_own(Matrix& b, const From& from) {
    for (auto [i, j] : b.local_domain()) b.local(i, j) = from(j, i);
    b.barrier();
}

} // namespace

void transpose_naive(const Matrix& a, Matrix& b) {
    for (auto [i, j] : b.local_domain()) b(i, j) = a(j, i);
    b.barrier();
}

void transpose_bulk(const Matrix& a, Matrix& b) {
    const Domain<2> mine = b.local_domain();
    set_own(b, PatchBuffer<double, 2>{a, Domain<2>{mine.range(1), mine.range(0)}});
}

void transpose_mapped(const Matrix& a, Matrix& b) {
    const Domain<2> mine = b.local_domain();
    set_own(b, a.mapped(Domain<2>{mine.range(1), mine.range(0)}));
}

std::vector<double> transpose_serial(const std::vector<double>& a, std::int64_t rows, std::int64_t columns) {
    std::vector<double> b(a.size());
    for (std::int64_t i = 0; i < columns; ++i)
        for (std::int64_t j = 0; j < rows; ++j)
            b[static_cast<std::size_t>(i * rows + j)] = a[static_cast<std::size_t>(j * columns + i)];
    return b;
}

} // namespace lapwing::detail::kernels
