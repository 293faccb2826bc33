#include "heat.hpp"

#include "patch_buffer.hpp"

#include <lapwing/domain.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/patterns.hpp>

#include <utility>

namespace lapwing::detail::kernels {

double initial_temperature(std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t k) {
    if (i == 0) return 100.0;
    const std::int64_t di = 2 * i - n;
    const std::int64_t dj = 2 * j - n;
    const std::int64_t dk = 2 * k - n;
    return 9 * (di * di + dj * dj + dk * dk) < n * n ? 80.0 : 0.0; // a third of the cube's side across
}

void set_initial_temperature(Temperature& now, Temperature& next) {
    for (auto [i, j, k] : now.local_domain())
        now.local(i, j, k) = next.local(i, j, k) = initial_temperature(now.extent(0), i, j, k);
    now.barrier();
}

void heat_naive(Temperature& now, Temperature& next, std::int64_t steps) {
    const Domain<3> mine = now.local_domain().intersect(now.domain().expand(-1));
    for (std::int64_t step = 0; step < steps; ++step) {
        for (auto [i, j, k] : mine) next(i, j, k) = diffused(now, i, j, k);
        now.barrier();
        std::swap(now, next);
    }
}

namespace {

/// With what `read` makes of `now` in each step.
template <class Read>
void heat_by(Read read, Temperature& now, Temperature& next, std::int64_t steps) {
    const Domain<3> mine = now.local_domain().intersect(now.domain().expand(-1));
    for (std::int64_t step = 0; step < steps; ++step) {
        const auto field = read(now, mine);
        for (auto [i, j, k] : mine) next.local(i, j, k) = diffused(field, i, j, k);
        now.barrier();
        std::swap(now, next);
    }
}

} // namespace

void heat_bulk(Temperature& now, Temperature& next, std::int64_t steps) {
    const auto patch = [](const Temperature& from, const Domain<3>& mine) {
        return PatchBuffer<double, 3>{from, mine.expand(1)};
    };
    heat_by(patch, now, next, steps);
}

void heat_mapped(Temperature& now, Temperature& next, std::int64_t steps) {
    const auto map = [](const Temperature& from, const Domain<3>&) { return from.mapped(Stencil{.corners = false}); };
    heat_by(map, now, next, steps);
}

std::vector<double> heat_serial(std::int64_t n, std::int64_t steps) {
    std::vector<double> now(static_cast<std::size_t>(n * n * n));
    const auto view = [n](std::vector<double>& values) {
        return LocalView<double, 3>{values.data(), {n, n, n}, {n * n, n, 1}};
    };
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t k = 0; k < n; ++k) view(now)(i, j, k) = initial_temperature(n, i, j, k);
    std::vector<double> next = now;
    for (std::int64_t step = 0; step < steps; ++step) {
        const LocalView<double, 3> from = view(now);
        const LocalView<double, 3> to = view(next);
        for (std::int64_t i = 1; i < n - 1; ++i)
            for (std::int64_t j = 1; j < n - 1; ++j)
                for (std::int64_t k = 1; k < n - 1; ++k) to(i, j, k) = diffused(from, i, j, k);
        std::swap(now, next);
    }
    return now;
}

} // namespace lapwing::detail::kernels
