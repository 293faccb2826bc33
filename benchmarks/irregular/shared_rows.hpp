#pragma once

#include "graph.hpp"

#include <string>
#include <utility>

namespace lapwing::bench::irregular {

/// A sparse matrix in global arrays: each rank's nonzeros are in its block of an array, row after row.
class SharedRows {
public:
    /// Collective. With room for the nonzeros that ranks own in `model`.
    SharedRows(Ranks ranks, const Rows& model);

    GlobalArray<Number, 1> lengths;
    GlobalArray<Number, 1> begins; ///< of each row, as an index of nonzeros
    GlobalArray<Number, 1> nonzeros;

    /// Collective: lengths and nonzeros become zero.
    void clear();
    /// Collective: begins from lengths. Ends with a barrier; what ranks have put before it is in the result.
    void set_begins();
    /// Collective: becomes equal to `rows`.
    void copy(const Rows& rows);

private:
    Runtime& runtime_;
    Parts parts_;
};

/// The result of a kernel that makes a matrix.
class MadeMatrix {
public:
    /// Collective. `expected`: what is right.
    MadeMatrix(Ranks ranks, const Edges& expected);

    SharedRows shared;        ///< of Lapwing's ways
    PlacedEntries own{0, {}}; ///< this rank's rows where items are sent

    void prepare(Way way);
    [[nodiscard]] std::string fault(Way way) const;
    [[nodiscard]] const Parts& parts() const { return expected_.parts(); }

private:
    MadeMatrix(Ranks ranks, Rows expected) : shared{ranks, expected}, expected_{std::move(expected)} {}

    Rows expected_;
};

} // namespace lapwing::bench::irregular
