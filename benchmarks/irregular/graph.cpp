#include "graph.hpp"

#include "exchange.hpp"
#include "random_numbers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

/// Streams of random numbers.
enum : std::uint64_t { kronecker_stream = 500, label_stream };

/// As a part of 2^32, which the halves of a random number are compared with.
constexpr std::uint64_t part_of_word(double probability) { return static_cast<std::uint64_t>(probability * 0x1p32); }

std::uint64_t kronecker_edge(int scale, std::uint64_t number) {
    constexpr double a = 0.57;
    constexpr double b = 0.19;
    constexpr double c = 0.19;
    constexpr std::uint64_t lower_half = part_of_word(a + b);
    constexpr std::uint64_t right_of_upper = part_of_word(a / (a + b));
    constexpr std::uint64_t right_of_lower = part_of_word(c / (1 - (a + b)));
    Number from = 0;
    Number to = 0;
    for (int bit = 0; bit < scale; ++bit) {
        const std::uint64_t random = random_number(kronecker_stream, number * 64 + static_cast<std::uint64_t>(bit));
        const bool lower = number_of(random) > lower_half;
        const bool right = value_of(random) > (lower ? right_of_lower : right_of_upper);
        from |= Number{lower} << bit;
        to |= Number{right} << bit;
    }
    return pair_of(from, to);
}

std::vector<std::uint64_t> own_entries(MPI_Comm world, const Parts& parts, const Edges& edges) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    std::vector<std::uint64_t> made;
    edges.for_each(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(size), [&](Number from, Number to) {
        if (from == to && !edges.loops) return;
        made.push_back(pair_of(from, to));
        if (edges.both_ways) made.push_back(pair_of(to, from));
    });
    Exchange<std::uint64_t> exchange{world};
    const auto entries = exchange([&](auto&& to) {
        for (const std::uint64_t entry : made) to(parts.owner(number_of(entry)), entry);
    });
    made.clear();
    for (const std::uint64_t entry : entries)
        made.push_back(pair_of(number_of(entry) - parts.first(), value_of(entry)));
    return made;
}

} // namespace

Edges graph500(int scale) {
    const Number vertices = Number{1} << scale;
    return {.vertices = vertices, .count = 16 * std::uint64_t{vertices}, .edge = [scale, vertices](std::uint64_t k) {
                const std::uint64_t ends = kronecker_edge(scale, k);
                return pair_of(shuffled(vertices, label_stream, number_of(ends)),
                               shuffled(vertices, label_stream, value_of(ends)));
            }};
}

Edges random_edges(Number vertices, Number degree) {
    return {.vertices = vertices,
            .count = std::uint64_t{vertices} * degree,
            .edge =
                [vertices, degree](std::uint64_t k) {
                    return pair_of(static_cast<Number>(k / degree), static_cast<Number>(scattered(k) % vertices));
                },
            .both_ways = false};
}

PlacedEntries::PlacedEntries(Number rows, std::span<const std::uint64_t> entries)
    : begin(rows + 1), columns(entries.size()) {
    // First begin[row + 2] counts a row's entries, then begin[row + 1] is where its next one goes, at last its end.
    begin.push_back(0);
    for (const std::uint64_t entry : entries) ++begin[number_of(entry) + 2];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (const std::uint64_t entry : entries) columns[begin[number_of(entry) + 1]++] = value_of(entry);
    begin.pop_back();
}

Rows::Rows(const Parts& parts, std::span<const std::uint64_t> entries) : parts_{parts} {
    PlacedEntries placed{parts.own(), entries};
    columns_ = std::move(placed.columns);
    const auto at = [this](std::size_t place) { return columns_.begin() + static_cast<std::ptrdiff_t>(place); };
    begin_.push_back(0);
    std::size_t kept = 0;
    for (Number row = 0; row < parts.own(); ++row) {
        const auto first = at(placed.begin[row]);
        std::sort(first, at(placed.begin[row + 1]));
        const auto last = std::unique(first, at(placed.begin[row + 1]));
        for (auto column = first; column != last; ++column) columns_[kept++] = *column;
        begin_.push_back(kept);
    }
    columns_.resize(kept);
}

Rows::Rows(MPI_Comm world, const Parts& parts, const Edges& edges) : Rows{parts, own_entries(world, parts, edges)} {}

} // namespace lapwing::bench::irregular
