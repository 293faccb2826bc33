// Where copies are found: rectangles of a grid, many of them, against a table.
#include <lapwing/detail/element_table.hpp>
#include <lapwing/detail/prefetched_indices.hpp>
#include <lapwing/domain.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

using lapwing::Domain;
using lapwing::Index;
using lapwing::Range;
using lapwing::detail::arrays::IndexRun;
using lapwing::detail::arrays::PrefetchedIndices;

namespace {

/// Some rectangles of a grid of `rows` by `columns`, which begin anywhere, in random order; every sixth has strides.
void check_rectangles(std::int64_t rows, std::int64_t columns, unsigned seed) {
    INFO(rows << " by " << columns << ", seed " << seed);
    std::mt19937 generator{seed};
    const auto draw = [&](std::int64_t from, std::int64_t to) {
        return std::uniform_int_distribution<std::int64_t>{from, to}(generator);
    };
    std::vector<Domain<2>> boxes;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            if (draw(0, 4) == 0) continue;
            const std::int64_t stride = draw(0, 5) == 0 ? 2 : 1;
            const auto range = [&](std::int64_t k) {
                return Range::strided(-100 + 10 * k + draw(0, 4), static_cast<std::uint64_t>(draw(1, 5) / stride + 1),
                                      stride);
            };
            boxes.push_back(Domain<2>{std::array{range(i), range(j)}});
        }
    std::ranges::shuffle(boxes, generator);
    std::vector<double> memory(static_cast<std::size_t>(100 * rows * columns));
    PrefetchedIndices<2> indices;
    std::map<Index<2>, double*> expected;
    double* next = memory.data();
    for (const Domain<2>& box : boxes) {
        indices.add(box, {box.range(1).size(), 1}, reinterpret_cast<std::byte*>(next), sizeof(double));
        for (const Index<2>& index : box) expected[index] = next++;
    }
    for (const std::int64_t row : {-200, -190}) { // and runs of rows where no box is
        indices.add_run(IndexRun<2>{{row, 3}, 4}, reinterpret_cast<std::byte*>(next), sizeof(double));
        for (std::int64_t j = 3; j < 7; ++j) expected[{row, j}] = next++;
    }
    indices.order();
    std::size_t wrong = 0;
    for (std::int64_t i = -201; i < 10 * rows - 90; ++i)
        for (std::int64_t j = -101; j < 10 * columns - 90; ++j) {
            const auto found = expected.find({i, j});
            double* const copy = found == expected.end() ? nullptr : found->second;
            wrong += indices.find<double>({i, j}) != copy;
            const auto* const box = indices.box_of({i, j});
            wrong += box != nullptr && box->find<double>({i, j}) != copy;
        }
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("a table has the elements that were added, and no others") {
    using Table = lapwing::detail::arrays::ElementTable<2>;
    const lapwing::Extents<2> extents{9, 50};
    std::vector<double> memory(1000);
    const auto bytes = [&](std::size_t k) { return reinterpret_cast<std::byte*>(&memory[k]); };
    Table table{extents, 70, 400};
    std::map<std::uint64_t, double*> expected;
    const auto add = [&](std::uint64_t place, std::uint64_t count, std::size_t at) {
        for (std::uint64_t k = 0; k < count; ++k) expected[place + k] = &memory[at + k];
        table.add(place, count, bytes(at), sizeof(double));
    };
    add(70, 1, 6);
    add(75, 3, 11);     // as far after the one before as their places are
    add(128, 64, 100);  // a whole group
    add(190, 200, 162); // some of it, and several more
    std::size_t wrong = 0;
    const Table::Reader reader{table};
    for (std::int64_t i = -2; i < 11; ++i)
        for (std::int64_t j = -2; j < 60; ++j) {
            const bool inside = i >= 0 && i < 9 && j >= 0 && j < 50;
            const auto found = inside ? expected.find(Table::place(extents, {i, j})) : expected.end();
            wrong += reader.find({i, j}, sizeof(double)) !=
                     reinterpret_cast<std::byte*>(found == expected.end() ? nullptr : found->second);
        }
    CHECK(wrong == 0);
    CHECK(Table::Reader{}.find({0, 0}, sizeof(double)) == nullptr);
}

TEST_CASE("an element is found among rectangles, few and many, beside each other in one dimension or in two") {
    for (unsigned seed = 0; seed < 5; ++seed) {
        check_rectangles(1, 1, seed);
        check_rectangles(2, 3, seed);
        check_rectangles(40, 1, seed);
        check_rectangles(1, 40, seed);
        check_rectangles(12, 9, seed);
    }
}
