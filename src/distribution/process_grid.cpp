#include "src/distribution/process_grid.hpp"

#include <lapwing/extents.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <vector>

namespace lapwing::detail::distribution {

namespace {

/// What is compared of two grids. In floating point, because products of extents may overflow and a choice needs no
/// more precision.
struct Cost {
    double elements = 0;
    double surface = 0;

    friend auto operator<=>(const Cost&, const Cost&) = default;
};

class GridSearch {
public:
    GridSearch(std::span<int> grid, std::span<const std::int64_t> extents) : fixed_{grid}, extents_{extents} {
        std::copy(grid.begin(), grid.end(), current_.begin());
    }

    void run(int ranks) {
        for (int divisor = 1; divisor <= ranks / divisor; ++divisor) {
            if (ranks % divisor != 0) continue;
            divisors_.push_back(divisor);
            if (divisor != ranks / divisor) divisors_.push_back(ranks / divisor);
        }
        // Largest first: of equal grids the one with more processes in the first dimensions is met, and kept, first.
        std::sort(divisors_.begin(), divisors_.end(), std::greater<>{});
        for (std::size_t d = 0; d < fixed_.size(); ++d)
            if (fixed_[d] == 0) last_open_ = d;
        descend(0, ranks);
    }

    [[nodiscard]] const std::array<int, max_dimensions>& best() const noexcept { return best_; }

private:
    void descend(std::size_t d, int left) {
        if (d == fixed_.size()) {
            if (left == 1) consider();
            return;
        }
        if (fixed_[d] != 0) {
            if (left % fixed_[d] == 0) descend(d + 1, left / fixed_[d]);
            return;
        }
        if (d == last_open_) {
            int rest = left;
            for (std::size_t later = d + 1; later < fixed_.size(); ++later) {
                if (rest % fixed_[later] != 0) return;
                rest /= fixed_[later];
            }
            current_[d] = rest;
            descend(d + 1, left / rest);
            return;
        }
        for (const int divisor : divisors_) {
            if (left % divisor != 0) continue;
            current_[d] = divisor;
            descend(d + 1, left / divisor);
        }
    }

    void consider() {
        Cost cost{1, 0};
        for (std::size_t d = 0; d < fixed_.size(); ++d) {
            const std::int64_t extent = extents_[d];
            const std::int64_t largest_part = extent / current_[d] + (extent % current_[d] != 0 ? 1 : 0);
            cost.elements *= static_cast<double>(largest_part);
            // All cuts through this dimension, each as large as the array's section, relative to the array's size.
            if (extent > 0) cost.surface += (current_[d] - 1) / static_cast<double>(extent);
        }
        if (found_ && !(cost < best_cost_)) return;
        found_ = true;
        best_cost_ = cost;
        best_ = current_;
    }

    std::span<const int> fixed_;
    std::span<const std::int64_t> extents_;
    std::vector<int> divisors_;
    std::size_t last_open_ = max_dimensions;
    std::array<int, max_dimensions> current_{};
    std::array<int, max_dimensions> best_{};
    Cost best_cost_;
    bool found_ = false;
};

} // namespace

void choose_grid(std::span<int> grid, int ranks, std::span<const std::int64_t> extents) {
    GridSearch search{grid, extents};
    search.run(ranks);
    std::copy_n(search.best().begin(), grid.size(), grid.begin());
}

} // namespace lapwing::detail::distribution
