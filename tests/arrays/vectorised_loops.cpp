// Loops over mapped arrays, and Chapel's forall, beside the same over plain memory: vectorised_loops.py looks at what
// the compiler has made of them.
#include <lapwing/chapel/forall.hpp>
#include <lapwing/mapped_array.hpp>

#include <cstdint>

using lapwing::MappedArray;

extern "C" {

void plain_loop(const double* x, double* y, std::int64_t n);
void mapped_loop(const MappedArray<double, 1>& x, double* y, std::int64_t n);
void mapped_row(const MappedArray<double, 2>& x, double* y, std::int64_t row, std::int64_t n);
void mapped_pointer(const MappedArray<double, 1>& x, double* y, std::int64_t n);

void forall_loop(const lapwing::GlobalArray<double, 1>& x, lapwing::GlobalArray<double, 1>& y);

void plain_loop(const double* x, double* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = 3 * x[i];
}
void mapped_loop(const MappedArray<double, 1>& x, double* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = 3 * x[i];
}
void mapped_row(const MappedArray<double, 2>& x, double* y, std::int64_t row, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = 3 * x(row, i);
}
void mapped_pointer(const MappedArray<double, 1>& x, double* y, std::int64_t n) {
    const double* const memory = x.data();
    for (std::int64_t i = 0; i < n; ++i) y[i] = 3 * memory[i];
}
void forall_loop(const lapwing::GlobalArray<double, 1>& x, lapwing::GlobalArray<double, 1>& y) {
    double factor = 3; // which another function might change, as far as a compiler sees
    lapwing::chapel::forall(lapwing::chapel::zip(y, x), [&](double& to, double from) { to = factor * from; });
}

} // extern "C"
