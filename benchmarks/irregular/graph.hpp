#pragma once

#include "parts.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lapwing::bench::irregular {

/// The edges of a graph, each computed from its number, wherever it is wanted.
struct Edges {
    Number vertices = 0;
    std::uint64_t count = 0;
    std::function<std::uint64_t(std::uint64_t)> edge; ///< the two vertices, as a pair_of()
    bool both_ways = true;                            ///< undirected
    bool loops = false;                               ///< those from a vertex to itself are kept: for matrices

    /// Calls `function(from, to)` for the edges of one of `parts` equal parts.
    template <class Function>
    void for_each(std::uint64_t part, std::uint64_t parts, const Function& function) const {
        for (std::uint64_t k = count * part / parts; k < count * (part + 1) / parts; ++k) {
            const std::uint64_t ends = edge(k);
            function(number_of(ends), value_of(ends));
        }
    }
};

/// The edges of the Graph500 benchmark, 2^scale vertices and 16 edges for each: the generator of its specification
/// (version 2.0, "Generating the Edge List"), with the initiator 0.57, 0.19, 0.19, 0.05 and permuted vertices. Edges
/// are not permuted, since each rank makes a part of them and they are sorted by their vertices.
[[nodiscard]] Edges graph500(int scale);
/// `degree` edges from each vertex to any vertices, in this direction only.
[[nodiscard]] Edges random_edges(Number vertices, Number degree);

/// The columns of rows' entries in any order, and where those of each row begin.
struct PlacedEntries {
    /// The entries are pairs of a row, below `rows`, and a column.
    PlacedEntries(Number rows, std::span<const std::uint64_t> entries);

    std::vector<std::size_t> begin; ///< one more than rows
    std::vector<Number> columns;
};

/// A sparse matrix, or a graph: the columns of the nonzeros of this rank's rows, ascending, each once.
class Rows {
public:
    /// The entries are pairs of a row, counted from this rank's first, and a column; in any order.
    Rows(const Parts& parts, std::span<const std::uint64_t> entries);
    /// Collective. The neighbours of this rank's vertices; of all vertices with MPI_COMM_SELF and parts
    /// for one rank.
    Rows(MPI_Comm world, const Parts& parts, const Edges& edges);

    [[nodiscard]] const Parts& parts() const { return parts_; }
    [[nodiscard]] std::span<const Number> row(Number local) const {
        return std::span{columns_}.subspan(begin_[local], begin_[local + 1] - begin_[local]);
    }
    [[nodiscard]] Number degree(Number local) const { return static_cast<Number>(begin_[local + 1] - begin_[local]); }
    [[nodiscard]] std::span<const Number> columns() const { return columns_; }
    /// Where a row begins in columns().
    [[nodiscard]] std::size_t begin(Number local) const { return begin_[local]; }

private:
    Parts parts_;
    std::vector<std::size_t> begin_;
    std::vector<Number> columns_;
};

} // namespace lapwing::bench::irregular
