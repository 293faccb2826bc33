#pragma once

#include "model/program_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// The three programs of Zhang's thesis (2007, section 7.1) on tables of any kind, and their descriptions.
namespace lapwing::bench::thesis {

namespace model = detail::model;
using Index = std::int64_t;

struct Sizes {
    Index histogram = Index{1} << 20; ///< elements
    Index increments = 60000;         ///< increments by each rank at 100 %
    Index matrix = 48;
    Index image = 480;
    std::vector<int> percentages = {10, 50, 90};
};
[[nodiscard]] inline Sizes published_sizes() {
    return {.increments = Index{1} << 20,
            .matrix = 240,
            .image = 2000,
            .percentages = {10, 20, 30, 40, 50, 60, 70, 80, 90}};
}
/// That show that it runs.
[[nodiscard]] inline Sizes small_sizes() {
    return {.histogram = 1 << 12, .increments = 200, .matrix = 12, .image = 48, .percentages = {50}};
}

/// A program: its three tables, what each rank does, and its description.
struct Kernel {
    enum class Program : std::uint8_t { histogram, multiply_cyclic, multiply_blocks, sobel };
    Program program = Program::histogram;
    std::string name = {};
    Index elements = 0;   ///< of each table
    Index block = 1;      ///< of the tables a and c
    Index block_of_b = 1; ///< of b
    Index size = 0;       ///< increments, rows of a matrix or of an image
    model::ProgramDescription description = {};
};

// Each is a function of its own, as in a program: so the compiler does not weigh one's registers against another's.

/// array[loc]++ at random places.
template <class Table>
[[gnu::noinline]] void histogram(Table& table, Index elements, Index increments, int rank) {
    std::mt19937 random{static_cast<unsigned>(rank) + 1};
    for (Index k = 0; k < increments; ++k) {
        const auto i = static_cast<Index>(random() % static_cast<unsigned>(elements));
        table.write(i, table.read(i) + 1);
    }
}

/// C = A B for the rank's rows, from `first` on, one in `step`.
template <class Table>
[[gnu::noinline]] void multiply(Table& a, Table& b, Table& c, Index n, Index first, Index end, Index step) {
    for (Index i = first; i < end; i += step)
        for (Index j = 0; j < n; ++j) {
            c.write(i * n + j, 0);
            for (Index k = 0; k < n; ++k) c.write(i * n + j, c.read(i * n + j) + a.read(i * n + k) * b.read(k * n + j));
        }
}

/// The edges of an image whose rows are in blocks.
template <class Table>
[[gnu::noinline]] void sobel(Table& o, Table& e, Index n, int rank, int ranks) {
    const Index first = std::max<Index>(1, n / ranks * rank);
    const Index last = std::min<Index>(n - 1, n / ranks * (rank + 1));
    for (Index i = first; i < last; ++i)
        for (Index j = 1; j < n - 1; ++j) {
            const auto at = [&](Index row, Index column) { return o.read(row * n + column); };
            double d1 = at(i - 1, j + 1) - at(i - 1, j - 1);
            d1 += 2 * (at(i, j + 1) - at(i, j - 1));
            d1 += at(i + 1, j + 1) - at(i + 1, j - 1);
            double d2 = at(i - 1, j - 1) - at(i + 1, j - 1);
            d2 += 2 * (at(i - 1, j) - at(i + 1, j));
            d2 += at(i - 1, j + 1) - at(i + 1, j + 1);
            e.write(i * n + j, std::min(255.0, std::sqrt(d1 * d1 + d2 * d2)));
        }
}

template <class Table>
void run_kernel(const Kernel& kernel, Table& a, Table& b, Table& c, int rank, int ranks) {
    const Index n = kernel.size;
    switch (kernel.program) {
    case Kernel::Program::histogram: return histogram(a, kernel.elements, n, rank);
    case Kernel::Program::multiply_cyclic: return multiply(a, b, c, n, rank, n, ranks);
    case Kernel::Program::multiply_blocks: return multiply(a, b, c, n, n / ranks * rank, n / ranks * (rank + 1), 1);
    case Kernel::Program::sobel: return sobel(a, c, n, rank, ranks);
    }
}

[[nodiscard]] inline model::Reference reference(std::string object, bool write, Index count,
                                                model::ReferenceAffinity affinity, model::Walk walk) {
    return {.name = object,
            .object = std::move(object),
            .write = write,
            .count = static_cast<std::uint64_t>(count),
            .affinity = affinity,
            .walk = walk};
}

[[nodiscard]] inline model::ProgramDescription described(const Kernel& kernel, int ranks,
                                                         std::vector<model::Reference> references) {
    model::ProgramDescription program{.threads = ranks};
    for (const char* const table : {"a", "b", "c"})
        program.objects.push_back(
            {.name = table,
             .elements = static_cast<std::uint64_t>(kernel.elements),
             .block = static_cast<std::uint64_t>(*table == 'b' ? kernel.block_of_b : kernel.block)});
    program.intervals.push_back({.name = kernel.name, .references = std::move(references)});
    return program;
}

/// What the rank with the most does.
[[nodiscard]] inline std::vector<model::Reference> references_of(const Kernel& kernel, int ranks) {
    using enum model::ReferenceAffinity::Kind;
    const model::ReferenceAffinity whole_table{};
    const model::Walk unit{model::Walk::Kind::stride, 1};
    const Index n = kernel.size;
    if (kernel.program == Kernel::Program::histogram)
        return {reference("a", false, n, whole_table, {}), reference("a", true, n, whole_table, {})};
    if (kernel.program == Kernel::Program::sobel) {
        const Index pixels = n / ranks * (n - 2);
        return {reference("c", true, pixels, {own}, unit), reference("a", false, 2 * pixels, {own}, unit),
                reference("a", false, 5 * pixels, {shift, -n}, unit),
                reference("a", false, 5 * pixels, {shift, n}, unit)};
    }
    const Index rows = (n + ranks - 1) / ranks;
    const Index inner = rows * n * n;
    return {reference("c", true, inner + rows * n, {own}, unit), reference("c", false, inner, {own}, unit),
            reference("a", false, inner, {own}, unit),
            reference("b", false, inner, whole_table, {model::Walk::Kind::stride, n})};
}

[[nodiscard]] inline std::vector<Kernel> kernels(const Sizes& sizes, int ranks) {
    using enum Kernel::Program;
    std::vector<Kernel> result;
    for (const int percent : sizes.percentages)
        result.push_back({.program = histogram,
                          .name = fmt::format("histogram {} %", percent),
                          .elements = sizes.histogram,
                          .size = sizes.increments * percent / 100});
    // As in the thesis, sizes that the number of ranks divides.
    const Index n = std::max<Index>(sizes.matrix / ranks, 1) * ranks;
    const Index m = std::max<Index>(sizes.image / ranks, 2) * ranks;
    result.push_back({.program = multiply_cyclic, .name = "matmul cyclic", .elements = n * n, .block = n, .size = n});
    result.push_back({.program = multiply_blocks,
                      .name = "matmul blocks",
                      .elements = n * n,
                      .block = n * n / ranks,
                      .block_of_b = n / ranks,
                      .size = n});
    result.push_back({.program = sobel, .name = "sobel", .elements = m * m, .block = m / ranks * m, .size = m});
    for (Kernel& kernel : result) kernel.description = described(kernel, ranks, references_of(kernel, ranks));
    return result;
}

} // namespace lapwing::bench::thesis
