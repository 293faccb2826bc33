// The kernels of lapwing-demo in C++ behind the interface of languages.h, in a module that Python loads to compare.
#include "heat.hpp"
#include "languages.h"
#include "patch_buffer.hpp"
#include "power_iteration.hpp"
#include "sobel.hpp"
#include "transpose.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace lapwing;
using namespace lapwing::detail::kernels;

/// What a kernel reads, and what it writes.
template <class Array>
struct Pair {
    Array from;
    Array to;
};

struct State {
    Runtime runtime;
    std::optional<Pair<Pixels>> pixels = {};
    std::optional<Pair<Matrix>> matrices = {};
    std::optional<Pair<Temperature>> cubes = {};
    std::optional<Pair<Vector>> vectors = {};
    SparseMatrix own_rows = {};
};
State* state = nullptr;

template <class Array>
void make_both(std::optional<Pair<Array>>& both, const Extents<Array::dimensions()>& from,
               const Extents<Array::dimensions()>& to, const Block& distribution) {
    both.emplace(Pair<Array>{{state->runtime, from, distribution}, {state->runtime, to, distribution}});
}

template <class Array>
void close(std::optional<Pair<Array>>& both) {
    if (!both) return;
    both->to.close();
    both->from.close();
    both.reset();
}

void make_vectors(const lapwing_matrix_rows& rows) {
    make_both(state->vectors, {rows.rows}, {rows.rows}, {});
    SparseMatrix matrix{.rows = rows.rows, .columns = rows.rows};
    matrix.row_start.assign(rows.row_start, rows.row_start + rows.rows + 1);
    matrix.column.assign(rows.column, rows.column + matrix.row_start.back());
    matrix.value.assign(rows.value, rows.value + matrix.row_start.back());
    state->own_rows = rows_of(matrix, state->vectors->from.local_domain().range(0));
    set_elements(state->vectors->from, starting_vector(rows.rows));
}

template <class Array>
void read_all(const Array& array, void* elements) {
    const auto all = all_elements(array);
    std::ranges::copy(all, static_cast<typename Array::value_type*>(elements));
}

template <class T>
std::vector<T> copied(const void* input, std::int64_t count) {
    return {static_cast<const T*>(input), static_cast<const T*>(input) + count};
}

} // namespace

extern "C" {

void lapwing_cpp_start(void) { state = new State; }

void lapwing_cpp_make(int kernel, const int64_t* extents, const void* input) {
    const Block by_rows{.grid = {0, 1}};
    switch (kernel) {
    case LAPWING_SOBEL:
        make_both(state->pixels, {extents[0], extents[1]}, {extents[0], extents[1]}, by_rows);
        set_elements(state->pixels->from, copied<std::uint8_t>(input, extents[0] * extents[1]));
        break;
    case LAPWING_TRANSPOSE:
        make_both(state->matrices, {extents[0], extents[1]}, {extents[1], extents[0]}, by_rows);
        set_elements(state->matrices->from, copied<double>(input, extents[0] * extents[1]));
        break;
    case LAPWING_HEAT:
        make_both(state->cubes, {extents[0], extents[1], extents[2]}, {extents[0], extents[1], extents[2]}, {});
        set_initial_temperature(state->cubes->from, state->cubes->to);
        break;
    default: make_vectors(*static_cast<const lapwing_matrix_rows*>(input));
    }
}

void lapwing_cpp_run(int kernel, int64_t iterations, double* growth) {
    switch (kernel) {
    case LAPWING_SOBEL:
        for (std::int64_t n = 0; n < iterations; ++n) sobel_bulk(state->pixels->from, state->pixels->to);
        break;
    case LAPWING_TRANSPOSE:
        for (std::int64_t n = 0; n < iterations; ++n) transpose_bulk(state->matrices->from, state->matrices->to);
        break;
    case LAPWING_HEAT: heat_bulk(state->cubes->from, state->cubes->to, iterations); break;
    default:
        std::ranges::copy(
            power_iteration(multiply_bulk, state->own_rows, state->vectors->from, state->vectors->to, iterations),
            growth);
    }
}

void lapwing_cpp_result(int kernel, void* elements) {
    switch (kernel) {
    case LAPWING_SOBEL: return read_all(state->pixels->to, elements);
    case LAPWING_TRANSPOSE: return read_all(state->matrices->to, elements);
    case LAPWING_HEAT: return read_all(state->cubes->from, elements);
    default: return read_all(state->vectors->from, elements);
    }
}

void lapwing_cpp_end(void) {
    close(state->pixels);
    close(state->matrices);
    close(state->cubes);
    close(state->vectors);
}

void lapwing_cpp_finish(void) {
    state->runtime.close();
    delete std::exchange(state, nullptr);
}

} // extern "C"
