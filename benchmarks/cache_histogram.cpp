// cache/histogram: random increments of a table that is dealt over the ranks (MuPC report, section 7.1.1). Increments without
// a result are gathered for each rank, against fetch-and-add one by one. A table that counts wrongly ends the run.
#include "cached_array.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace lapwing::bench {
namespace {

constexpr std::int64_t table_size = 1'000'000;
constexpr std::uint64_t increments = 500'000; ///< by each rank: the report's 50 %
constexpr std::uint64_t one_by_one_share = 100;

using Table = GlobalArray<std::int32_t, 1>;

/// Each rank increments `count` elements; the seconds of all `iterations`, on every rank.
template <class Increment>
double increment_all(Runtime& runtime, Table& table, std::uint64_t iterations, std::uint64_t count, std::int64_t& expected,
                     Increment&& increment) {
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    double seconds = 0;
    for (std::uint64_t round = 0; round < iterations; ++round)
        seconds += together(runtime, [&] {
            for (std::uint64_t i = 0; i < count; ++i)
                increment(table(static_cast<std::int64_t>(scattered(i + (own << 40) + (round << 32)) % table_size)));
        });
    expected += static_cast<std::int64_t>(iterations * count) * runtime.size();
    return seconds;
}

void check(Table& table, std::int64_t expected) {
    std::int64_t sum = 0;
    for (const auto [i] : table.local_domain()) sum += table.local(i);
    table.team().sum(std::span{&sum, 1});
    if (sum != expected)
        throw std::runtime_error{fmt::format("cache/histogram: the table holds {} increments instead of {}", sum, expected)};
}

void histogram(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        Table table{runtime, {table_size}, Cyclic{}, {.name = "histogram"}};
        std::int64_t expected = 0;
        Subject gathered{.name = "add", .run = [&](std::uint64_t iterations) {
                             return increment_all(runtime, table, iterations, increments, expected,
                                                  [](auto element) { element.add(1); });
                         }};
        Subject one_by_one{.name = "fetch_add one by one", .run = [&](std::uint64_t iterations) {
                               return one_by_one_share * increment_all(runtime, table, iterations, increments / one_by_one_share,
                                                                       expected, [](auto element) { (void)element.fetch_add(1); });
                           }};
        context.compare("50 % of 1,000,000", per_access(increments), gathered, {std::move(one_by_one)});
        check(table, expected);
    }
    runtime.close();
}

const Registration registration{{.name = "cache/histogram",
                                 .summary = "random increments of a table dealt over the ranks",
                                 .run = histogram,
                                 .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
