// Random increments of a table that is distributed over the ranks, for 10 to 90 % as many as it has elements (MuPC
// report, section 7.1.1). cache/histogram: atomic increments without a result, which are gathered for each rank,
// against fetch-and-add one by one; a table that counts wrongly ends the run. cache/histogram-report: array[loc]++ as
// the report has it, a read and a write, through the cache and past it; increments of several ranks may then be lost,
// and nothing is checked.
#include "cached_array.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t table_size = 1'000'000;
constexpr std::uint64_t one_by_one_share = 100; ///< of the increments, for loops that wait for each

/// By each rank.
[[nodiscard]] constexpr std::uint64_t increments(int percentage) {
    return static_cast<std::uint64_t>(percentage) * (table_size / 100);
}

/// As in the report; few where the benchmark only has to run.
[[nodiscard]] std::vector<int> percentages(const Context& context) {
    if (context.options().seconds < 0.05) return {10};
    return {10, 20, 30, 40, 50, 60, 70, 80, 90};
}

using Table = GlobalArray<std::int32_t, 1>;

/// Each rank increments `count` elements; the seconds of all `iterations`, on every rank.
template <class Increment>
double increment_all(Runtime& runtime, Table& table, std::uint64_t iterations, std::uint64_t count,
                     std::int64_t& expected, Increment&& increment) {
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

[[nodiscard]] std::string case_name(int percentage) { return fmt::format("{} % of 1,000,000", percentage); }

void check(Table& table, std::int64_t expected) {
    std::int64_t sum = 0;
    for (const auto [i] : table.local_domain()) sum += table.local(i);
    table.team().sum(std::span{&sum, 1});
    if (sum != expected)
        throw std::runtime_error{
            fmt::format("cache/histogram: the table holds {} increments instead of {}", sum, expected)};
}

void histogram(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        Table table{runtime, {table_size}, Cyclic{}, {.name = "histogram"}};
        std::int64_t expected = 0;
        for (const int percentage : percentages(context)) {
            const std::uint64_t count = increments(percentage);
            Subject gathered{.name = "add", .run = [&](std::uint64_t iterations) {
                                 return increment_all(runtime, table, iterations, count, expected,
                                                      [](auto element) { element.atomic().add(1); });
                             }};
            Subject one_by_one{.name = "fetch_add one by one", .run = [&](std::uint64_t iterations) {
                                   return one_by_one_share *
                                          increment_all(runtime, table, iterations, count / one_by_one_share, expected,
                                                        [](auto element) { (void)element.atomic().fetch_add(1); });
                               }};
            context.compare(case_name(percentage), per_access(count), gathered, {std::move(one_by_one)});
        }
        check(table, expected);
    }
    runtime.close();
}

/// array[loc]++ by all ranks.
void report(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        const auto table = [&](const CacheOptions& options) {
            return Table{runtime, {table_size}, Cyclic{}, {.name = "histogram", .cache = options}};
        };
        Table adaptive = table(cached());
        Table as_mupc = table(fixed_cache(CachePolicy::direct_mapped, 1024, 2048));
        Table far = table(uncached());
        std::int64_t expected = 0; // unless increments are lost
        for (const int percentage : percentages(context)) {
            const std::uint64_t count = increments(percentage);
            const auto subject = [&](std::string name, Table& of, std::uint64_t share) {
                return Subject{.name = std::move(name),
                               .run =
                                   [&runtime, &of, &expected, count, share](std::uint64_t iterations) {
                                       return static_cast<double>(share) *
                                              increment_all(runtime, of, iterations, count / share, expected,
                                                            [](auto element) { element += 1; });
                                   },
                               .iterations = 1};
            };
            const Subject baseline = subject("uncached", far, one_by_one_share);
            context.compare(case_name(percentage), per_access(count), subject("cached", adaptive, 1), {baseline});
            context.compare(case_name(percentage) + ", MuPC's policy", per_access(count), subject("cached", as_mupc, 1),
                            {baseline});
        }
    }
    runtime.close();
}

const Registration registration{{.name = "cache/histogram",
                                 .summary = "random increments of a distributed table, gathered",
                                 .run = histogram,
                                 .paths = {"rma", "service"}}};
const Registration report_registration{{.name = "cache/histogram-report",
                                        .summary = "the same as array[loc]++, reads and writes through the cache",
                                        .run = report,
                                        .default_repetitions = 5,
                                        .paths = {"rma", "service"}}};

} // namespace
} // namespace lapwing::bench
