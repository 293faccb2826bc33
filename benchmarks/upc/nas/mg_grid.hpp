// The arithmetic of MG on one plane of a grid, for all variants. A grid of n points in each dimension is stored with
// one more at both ends, which repeat those of the other side; a grid's type says how its rows are found: row(z, y)[x],
// for indices from 0 to n + 1. Rows of planes that may be elsewhere are read as beside(z, y)[x], after fetch(z).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing::nas {

/// A grid, or consecutive planes of one, in plain memory.
struct PlainGrid {
    double* base;
    std::int64_t n;
    [[nodiscard]] double* row(std::int64_t z, std::int64_t y) const noexcept {
        return base + (z * (n + 2) + y) * (n + 2);
    }
    /// A row in memory of the thread: here where it is; grids that are elsewhere copy it into `room`.
    [[nodiscard]] const double* loaded(std::int64_t z, std::int64_t y, double* /*room*/) const noexcept {
        return row(z, y);
    }
    void fetch(std::int64_t /*z*/) const noexcept {}
    [[nodiscard]] const double* beside(std::int64_t z, std::int64_t y) const noexcept { return row(z, y); }
};

/// The coefficients of NPB's smoother, by the number of dimensions in which a neighbour differs; the fourth is 0.
using Smoother = std::array<double, 3>;

/// What the stencils need around one row: it and the rows beside it, and the sums across z of all three. They move on
/// from row to row, so that each element of the grid is read once for a plane.
class Neighbourhood {
public:
    explicit Neighbourhood(std::int64_t largest_n)
        : sides_(static_cast<std::size_t>(largest_n) + 2), corners_(sides_.size()) {
        for (auto& rows : {&copies_, &across_})
            for (std::vector<double>& row : *rows) row.resize(sides_.size());
    }
    /// Before the rows of plane z are loaded.
    template <class Grid>
    void start(const Grid& grid, std::int64_t z) {
        grid.fetch(z - 1);
        grid.fetch(z + 1);
    }
    /// Row y of plane z, in the place of that three rows before it.
    template <class Grid>
    void load(const Grid& grid, std::int64_t z, std::int64_t y) {
        const std::size_t slot = slot_of(y);
        rows_[slot] = grid.loaded(z, y, copies_[slot].data());
        const auto& before = grid.beside(z - 1, y);
        const auto& behind = grid.beside(z + 1, y);
        double* const __restrict sum = across_[slot].data();
        for (std::int64_t x = 0; x < grid.n + 2; ++x) sum[x] = before[x] + behind[x];
    }
    /// Around row y: those before and after it have been loaded, too.
    void add_up(std::int64_t y, std::int64_t n) {
        const double* const below = row(y - 1);
        const double* const above = row(y + 1);
        const double* const across = across_[slot_of(y)].data();
        const double* const across_below = across_[slot_of(y - 1)].data();
        const double* const across_above = across_[slot_of(y + 1)].data();
        double* const __restrict sides = sides_.data();
        double* const __restrict corners = corners_.data();
        for (std::int64_t x = 0; x < n + 2; ++x) {
            sides[x] = below[x] + above[x] + across[x];
            corners[x] = across_below[x] + across_above[x];
        }
    }
    [[nodiscard]] const double* row(std::int64_t y) const noexcept { return rows_[slot_of(y)]; }
    /// Sums of the four points beside those of the row, and of the four at corners, in the plane across x.
    [[nodiscard]] const double* sides() const noexcept { return sides_.data(); }
    [[nodiscard]] const double* corners() const noexcept { return corners_.data(); }
    /// Two rows, for other uses.
    [[nodiscard]] std::array<double*, 2> room() noexcept { return {sides_.data(), corners_.data()}; }

private:
    [[nodiscard]] static std::size_t slot_of(std::int64_t y) noexcept { return static_cast<std::size_t>(y) % 3; }

    std::array<std::vector<double>, 3> copies_, across_;
    std::array<const double*, 3> rows_{};
    std::vector<double> sides_, corners_;
};

/// Calls body(y) for the rows of a plane, with their neighbourhood added up.
template <class Grid, class Body>
void each_row(const Grid& grid, std::int64_t z, Neighbourhood& around, Body body) {
    around.start(grid, z);
    around.load(grid, z, 0);
    around.load(grid, z, 1);
    for (std::int64_t y = 1; y <= grid.n; ++y) {
        around.load(grid, z, y + 1);
        around.add_up(y, grid.n);
        body(y);
    }
}

/// r = v - A u in plane z; v may be r.
template <class U, class V, class R>
void residual_plane(const U& u, const V& v, const R& r, std::int64_t z, Neighbourhood& around) {
    constexpr double a0 = -8.0 / 3.0;
    constexpr double a2 = 1.0 / 6.0;
    constexpr double a3 = 1.0 / 12.0; // a1 is 0
    each_row(u, z, around, [&](std::int64_t y) {
        const double* const centre = around.row(y);
        const double* const sides = around.sides();
        const double* const corners = around.corners();
        const auto& right = v.row(z, y);
        const auto& result = r.row(z, y);
        for (std::int64_t x = 1; x <= u.n; ++x)
            result[x] = right[x] - a0 * centre[x] - a2 * (corners[x] + sides[x - 1] + sides[x + 1]) -
                        a3 * (corners[x - 1] + corners[x + 1]);
    });
}

/// u += C r in plane z.
template <class R, class U>
void smooth_plane(const R& r, const U& u, const Smoother& c, std::int64_t z, Neighbourhood& around) {
    const double c0 = c[0];
    const double c1 = c[1];
    const double c2 = c[2];
    each_row(r, z, around, [&](std::int64_t y) {
        const double* const centre = around.row(y);
        const double* const sides = around.sides();
        const double* const corners = around.corners();
        const auto& result = u.row(z, y);
        for (std::int64_t x = 1; x <= u.n; ++x)
            result[x] += c0 * centre[x] + c1 * (centre[x - 1] + centre[x + 1] + sides[x]) +
                         c2 * (corners[x] + sides[x - 1] + sides[x + 1]);
    });
}

/// Plane `coarse_z` of the coarse grid, whose point (x, y) is weighed from those around (2x, 2y) of plane `fine_z` of
/// the fine one.
template <class Fine, class Coarse>
void restrict_plane(const Fine& fine, std::int64_t fine_z, const Coarse& coarse, std::int64_t coarse_z,
                    Neighbourhood& around) {
    around.start(fine, fine_z);
    around.load(fine, fine_z, 1);
    for (std::int64_t y = 1; y <= coarse.n; ++y) {
        around.load(fine, fine_z, 2 * y);
        around.load(fine, fine_z, 2 * y + 1);
        around.add_up(2 * y, fine.n);
        const double* const centre = around.row(2 * y);
        const double* const sides = around.sides();
        const double* const corners = around.corners();
        const auto& result = coarse.row(coarse_z, y);
        for (std::int64_t x = 1; x <= coarse.n; ++x)
            result[x] = 0.5 * centre[2 * x] + 0.25 * (centre[2 * x - 1] + centre[2 * x + 1] + sides[2 * x]) +
                        0.125 * (sides[2 * x - 1] + sides[2 * x + 1] + corners[2 * x]) +
                        0.0625 * (corners[2 * x - 1] + corners[2 * x + 1]);
    }
}

/// Adds the coarse grid, interpolated, to plane `fine_z` of the fine one, its ends included: even planes have one of
/// the coarse grid below them, odd ones lie between two.
template <class Coarse, class Fine>
void interpolate_plane(const Coarse& coarse, const Fine& fine, std::int64_t fine_z, Neighbourhood& around) {
    const std::int64_t z = fine_z / 2;
    const bool between = fine_z % 2 != 0;
    coarse.fetch(z);
    if (between) coarse.fetch(z + 1);
    auto [lower, upper] = around.room();
    const auto load = [&](std::int64_t y, double* __restrict line) {
        const auto& from = coarse.beside(z, y);
        if (between) {
            const auto& next = coarse.beside(z + 1, y);
            for (std::int64_t x = 0; x < coarse.n + 2; ++x) line[x] = 0.5 * (from[x] + next[x]);
        } else {
            for (std::int64_t x = 0; x < coarse.n + 2; ++x) line[x] = from[x];
        }
    };
    load(0, lower);
    for (std::int64_t y = 0; y <= coarse.n; ++y) {
        load(y + 1, upper);
        const auto& even = fine.row(fine_z, 2 * y);
        const auto& odd = fine.row(fine_z, 2 * y + 1);
        for (std::int64_t x = 0; x <= coarse.n; ++x) {
            even[2 * x] += lower[x];
            even[2 * x + 1] += 0.5 * (lower[x] + lower[x + 1]);
        }
        for (std::int64_t x = 0; x <= coarse.n; ++x) {
            odd[2 * x] += 0.5 * (lower[x] + upper[x]);
            odd[2 * x + 1] += 0.25 * (lower[x] + lower[x + 1] + upper[x] + upper[x + 1]);
        }
        std::swap(lower, upper);
    }
}

/// Gives a plane its ends in x and y.
template <class Grid>
void wrap_plane(const Grid& grid, std::int64_t z) {
    const std::int64_t n = grid.n;
    for (std::int64_t y = 1; y <= n; ++y) {
        const auto& row = grid.row(z, y);
        row[0] = row[n];
        row[n + 1] = row[1];
    }
    const auto copy = [&](std::int64_t to, std::int64_t from) {
        const auto& target = grid.row(z, to);
        const auto& source = grid.row(z, from);
        for (std::int64_t x = 0; x < n + 2; ++x) target[x] = source[x];
    };
    copy(0, n);
    copy(n + 1, 1);
}

template <class Grid>
void clear_plane(const Grid& grid, std::int64_t z) {
    for (std::int64_t y = 0; y < grid.n + 2; ++y) {
        const auto& row = grid.row(z, y);
        for (std::int64_t x = 0; x < grid.n + 2; ++x) row[x] = 0;
    }
}

template <class Grid>
[[nodiscard]] double square_of_plane(const Grid& grid, std::int64_t z) {
    double sum = 0;
    for (std::int64_t y = 1; y <= grid.n; ++y) {
        const auto& row = grid.row(z, y);
        for (std::int64_t x = 1; x <= grid.n; ++x) sum += row[x] * row[x];
    }
    return sum;
}

} // namespace lapwing::nas
