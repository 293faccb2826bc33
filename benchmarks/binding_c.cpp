// binding/c: the most frequent calls through the C interface, compared with the same in C++, on one team.
#include "harness.hpp"

#include "bindings/c/runtime.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/lapwing.h>
#include <lapwing/window.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t columns = 512; ///< a row is 4 KiB

void ok(int code) {
    if (code != LAPWING_SUCCESS) throw std::runtime_error{lapwing_error_text()};
}

/// Objects of the C interface, whose runtime those of C++ share.
struct InC {
    lapwing_runtime* runtime = nullptr;
    lapwing_array* array = nullptr;
    lapwing_window* window = nullptr;

    InC() { ok(lapwing_runtime_create(MPI_COMM_WORLD, nullptr, &runtime)); }
    void make(std::int64_t rows) {
        const std::int64_t extents[] = {rows, columns};
        const int grid[] = {0, 1};
        lapwing_distribution by_rows{};
        by_rows.kind = LAPWING_BLOCK;
        by_rows.grid = grid;
        ok(lapwing_array_create(runtime, LAPWING_DOUBLE, 2, extents, &by_rows, nullptr, &array));
        ok(lapwing_window_create(runtime, 4096, nullptr, &window));
    }
    void free() {
        ok(lapwing_window_free(&window));
        ok(lapwing_array_free(&array));
        ok(lapwing_runtime_free(&runtime));
    }
};

/// Rank 0 alone runs both; the others wait.
template <class InCpp, class ByC>
void both(Context& context, Team& team, const std::string& name, const Quantity& quantity, InCpp in_cpp, ByC by_c) {
    const auto subject = [&](const char* language, auto step) {
        return Subject{.name = language, .run = [&team, step](std::uint64_t iterations) {
                           return alone(team, [&] {
                               for (std::uint64_t i = 0; i < iterations; ++i) step(i);
                               team.release();
                           });
                       }};
    };
    context.compare(name, quantity, subject("C", by_c), {subject("C++", in_cpp)});
}

void elements(Context& context, Team& team, GlobalArray<double, 2>& a, lapwing_array* c, std::int64_t first,
              std::int64_t rows, const std::string& where) {
    // Rows that a cache holds; a step of an odd number of elements.
    const auto place = [first, rows](std::uint64_t i) {
        const std::uint64_t k = i * 37 % static_cast<std::uint64_t>(rows * columns);
        return Index<2>{first + static_cast<std::int64_t>(k) / columns, static_cast<std::int64_t>(k) % columns};
    };
    both(
        context, team, "read " + where, nanoseconds(),
        [&a, place](std::uint64_t i) {
            double value = a(place(i));
            keep(value);
        },
        [c, place](std::uint64_t i) {
            const Index<2> index = place(i);
            double value;
            ok(lapwing_array_get_double_2(c, index[0], index[1], &value));
            keep(value);
        });
    both(
        context, team, "write " + where, nanoseconds(), [&a, place](std::uint64_t i) { a(place(i)) = 1.0; },
        [c, place](std::uint64_t i) {
            const Index<2> index = place(i);
            ok(lapwing_array_put_double_2(c, index[0], index[1], 1.0));
        });
}

void binding_c(Context& context) {
    InC c;
    Team& team = detail::bindings::team_of(c.runtime);
    const auto rows = std::int64_t{512};
    c.make(rows * team.size());
    {
        GlobalArray<double, 2> a{team, {rows * team.size(), columns}, Block{.grid = {0, 1}}};
        Window window{team, 4096};
        context.set_path("self");
        elements(context, team, a, c.array, 0, 16, "own");
        const Route route = context.measure_against(team);
        const std::int64_t first = route.target.value * rows;
        elements(context, team, a, c.array, first, 16, "other rank");

        std::vector<double> buffer(static_cast<std::size_t>(rows * columns));
        for (const std::int64_t high : {std::int64_t{2}, std::int64_t{256}}) {
            const Domain<2> patch{{first, first + high}, {0, columns}};
            const lapwing_range ranges[] = {{first, static_cast<std::uint64_t>(high), 1},
                                            {0, static_cast<std::uint64_t>(columns), 1}};
            const auto elements_of = static_cast<std::size_t>(high * columns);
            const std::string size = high == 2 ? "8 KiB" : "1 MiB";
            const auto bytes = static_cast<double>(elements_of * sizeof(double));
            both(
                context, team, "get patch " + size, gigabytes_per_second(bytes),
                [&](std::uint64_t) { a(patch).get(std::span{buffer.data(), elements_of}); },
                [&](std::uint64_t) { lapwing_array_get(c.array, ranges, buffer.data(), nullptr); });
            both(
                context, team, "put patch " + size, gigabytes_per_second(bytes),
                [&](std::uint64_t) { a(patch).put(std::span<const double>{buffer.data(), elements_of}); },
                [&](std::uint64_t) { lapwing_array_put(c.array, ranges, buffer.data(), nullptr); });
        }
        std::int64_t value = 1;
        const auto place = [](std::uint64_t i) { return i % 512 * 8; };
        both(
            context, team, "window get 8", nanoseconds(),
            [&](std::uint64_t i) { window.get(route.target, Offset{place(i)}, value); },
            [&](std::uint64_t i) { ok(lapwing_window_get_int64(c.window, route.target.value, place(i), &value)); });
        both(
            context, team, "window put 8", nanoseconds(),
            [&](std::uint64_t i) { window.put(route.target, Offset{place(i)}, value); },
            [&](std::uint64_t i) { ok(lapwing_window_put_int64(c.window, route.target.value, place(i), value)); });
        const std::int64_t one = 1;
        std::int64_t before = 0;
        both(
            context, team, "fetch_add", nanoseconds(),
            [&](std::uint64_t) { before = window.atomic<std::int64_t>(route.target, Offset{0}).fetch_add(1); },
            [&](std::uint64_t) {
                lapwing_window_fetch(c.window, LAPWING_ADD, LAPWING_INT64, route.target.value, 0, &one, &before,
                                     LAPWING_ORDER_RELAXED);
            });
        keep(before);
        window.close();
        a.close();
    }
    c.free();
}

const Registration registration{{.name = "binding/c",
                                 .summary = "elements, patches, puts, gets and atomics through C, compared with C++",
                                 .run = binding_c}};

} // namespace
} // namespace lapwing::bench
