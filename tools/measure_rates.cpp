#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/upc/program.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <string>
#include <utility>

namespace lapwing::tools {

using detail::model::AccessPattern;
using detail::model::MeasuredRates;
using detail::model::RateCurve;

double slowest_seconds(Team& team, const TimedLoop& loop, int repeats) {
    std::vector<double> times;
    for (int k = 0; k < repeats; ++k) {
        loop.prepare();
        team.barrier();
        const auto begin = std::chrono::steady_clock::now();
        loop.run();
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    team.max(std::span{times}); // the slowest rank of each run
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

namespace {

constexpr std::int64_t few = 4096; ///< elements that a processor's cache holds
constexpr std::uint64_t largest_count = std::uint64_t{1} << 14;
/// Fewer elements are loaded or stored in less time than a look at the clock takes.
constexpr std::uint64_t fewest_loads = 16;
volatile double sink; // keeps the reads from being optimised away

class Measurement {
public:
    Measurement(Team& team, Path path, double seconds, MeasuredRates& rates)
        : team_{team},
          path_{path},
          hasty_{seconds < 5},
          longest_{seconds / 800},
          rates_{rates},
          random_{static_cast<unsigned>(team.rank().value) + 1} {
        target_ = team.rank().value;
        for (int step = team.size() - 1; step > 0; --step)
            if (const int other = (team.rank().value + step) % team.size(); team.path(Rank{other}) == path)
                target_ = other;
    }

    /// Every pattern, in an array with such a cache.
    void patterns_of(const CacheOptions& cache, const std::string& prefix) {
        GlobalArray<double, 1> a{team_, {measured_elements * team_.size()}, Block{}, {.cache = cache}};
        elements_ = elements_of(a);
        patterns(prefix);
        team_.barrier();
    }

    void elements(const MeasuredElements& of, bool cached) {
        elements_ = of;
        own();
        if (!dealt()) patterns(name_of_path() + (cached ? ".cached" : ""));
        if (cached) hits();
        team_.barrier();
    }

    /// Collective. Single accesses at random, after so many that the cache has learnt to let them pass.
    void passed(const MeasuredElements& of) {
        elements_ = of;
        constexpr std::uint64_t lessons = 512;
        const std::string prefix = name_of_path() + ".cached.passed.";
        elements_.write(in_order(team_.rank().value, elements_.of_rank)); // memory that is there
        team_.barrier();
        const std::vector<std::int64_t> learn = indices(AccessPattern::baseline, target_, lessons);
        elements_.read(learn);
        accesses(prefix + "read", AccessPattern::baseline, [&](const auto& list) { elements_.read(list); });
        elements_.write(learn);
        accesses(prefix + "write", AccessPattern::baseline, [&](const auto& list) {
            elements_.write(list);
            team_.release();
        });
        team_.barrier();
    }

    void run() {
        const std::int64_t all = measured_elements * team_.size();
        {
            GlobalArray<double, 1> a{team_, {all}};
            elements(elements_of(a), false);
            private_memory();
            lists(a);
            sections(a);
            team_.barrier();
        }
        {
            GlobalArray<double, 1> a{team_, {all}, Block{}, {.cache = {.mode = CacheMode::epoch}}};
            elements_ = elements_of(a);
            patterns(name_of_path() + ".cached");
            hits();
            team_.barrier();
        }
        {
            GlobalArray<double, 1> a{team_, {all}, BlockCyclic{{1}}};
            elements(elements_of(a, measured_elements, 1), false);
        }
        {
            GlobalArray<double, 1> a{team_, {all}, BlockCyclic{{1}}, {.cache = {.mode = CacheMode::epoch}}};
            elements_ = elements_of(a, measured_elements, 1);
            hits();
            team_.barrier();
        }
        {
            GlobalArray<double, 1> a{
                team_, {elements_beyond_cache * team_.size()}, Block{}, {.cache = {.mode = CacheMode::epoch}}};
            passed(elements_of(a, elements_beyond_cache, elements_beyond_cache));
        }
        constexpr int barriers = 20;
        const double seconds = slowest_seconds(team_,
                                               {.run =
                                                    [&] {
                                                        for (int k = 0; k < barriers; ++k) team_.barrier();
                                                    }},
                                               hasty_ ? 1 : 9);
        rates_[name_of_path() + ".barrier"] =
            RateCurve{{{static_cast<std::uint64_t>(team_.size()), seconds / barriers}}};
    }

private:
    [[nodiscard]] std::string name_of_path() const { return std::string{name(path_)}; }
    [[nodiscard]] bool dealt() const { return elements_.block < elements_.of_rank; }
    [[nodiscard]] const char* layout() const { return dealt() ? ".dealt" : ""; }
    /// Of a rank's elements, in their order.
    [[nodiscard]] std::int64_t index_of(int rank, std::int64_t number) const {
        const std::int64_t block = elements_.block;
        return (number / block * team_.size() + rank) * block + number % block;
    }
    [[nodiscard]] static MeasuredElements elements_of(GlobalArray<double, 1>& a) {
        return elements_of(a, measured_elements, measured_elements);
    }
    [[nodiscard]] static MeasuredElements elements_of(GlobalArray<double, 1>& a, std::int64_t of_rank,
                                                      std::int64_t block) {
        return {.of_rank = of_rank,
                .block = block,
                .read =
                    [&a](std::span<const std::int64_t> list) {
                        sink = sum_of_reads(list, [&a](std::int64_t i) -> double { return a(i); });
                    },
                .write =
                    [&a](std::span<const std::int64_t> list) {
                        for (const std::int64_t i : list) a(i) = 1.0;
                    }};
    }

    /// A rank's elements, in the order in which the pattern accesses them.
    [[nodiscard]] std::vector<std::int64_t> indices(AccessPattern pattern, int rank, std::uint64_t count) {
        return indices(pattern, rank, count, elements_.of_rank);
    }
    /// The same of the first ones.
    [[nodiscard]] std::vector<std::int64_t> indices(AccessPattern pattern, int rank, std::uint64_t count,
                                                    std::int64_t first) {
        std::vector<std::int64_t> result(count);
        std::uniform_int_distribution<std::int64_t> anywhere{0, first - 1};
        std::uniform_int_distribution<std::int64_t> near{1, 8};
        std::int64_t place = anywhere(random_);
        for (std::int64_t& index : result) {
            index = index_of(rank, place % first);
            if (pattern == AccessPattern::vector) ++place;
            else if (pattern == AccessPattern::coalesce) place += near(random_);
            else place = anywhere(random_);
        }
        return result;
    }

    /// Measures increasing numbers of accesses, until one takes too long.
    template <class Loop>
    void curve(const std::string& key, std::uint64_t fewest, std::uint64_t most, Loop loop_of) {
        std::vector<RateCurve::Point> points;
        for (std::uint64_t count = fewest; count <= most; count *= 4) {
            const TimedLoop loop = loop_of(count);
            const double seconds = slowest_seconds(team_, loop, hasty_ ? 1 : count < 1024 ? 9 : 5);
            points.push_back({count, seconds / static_cast<double>(loop.accesses)});
            if (seconds > longest_) break;
        }
        rates_[key] = RateCurve{std::move(points)};
    }

    void patterns(const std::string& prefix) {
        for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce}) {
            const std::string key = fmt::format("{}.{}", prefix, name(pattern));
            accesses(key + ".read", pattern, [&](const auto& list) { elements_.read(list); });
            accesses(key + ".write", pattern, [&](const auto& list) {
                elements_.write(list);
                team_.release();
            });
        }
    }
    template <class Run>
    void accesses(const std::string& key, AccessPattern pattern, Run run) {
        if (path_ == Path::direct || target_ == team_.rank().value) {
            in_processor_cache(key, pattern, target_, run);
            return;
        }
        std::vector<std::int64_t> list;
        curve(key, 1, largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, [&, count] { list = indices(pattern, target_, count); }, [&] { run(list); }};
        });
    }
    /// Loads and stores, of what the processor has in its cache: what memory takes longer is part of a program's
    /// computation.
    template <class Run>
    void in_processor_cache(const std::string& key, AccessPattern pattern, int rank, Run run) {
        std::vector<std::int64_t> list;
        curve(key, fewest_loads, largest_count, [&](std::uint64_t count) {
            return TimedLoop{count,
                             [&, count] {
                                 list = indices(pattern, rank, count, few);
                                 run(list);
                             },
                             [&] { run(list); }};
        });
    }

    void lists(GlobalArray<double, 1>& a) {
        std::vector<std::int64_t> list;
        std::vector<double> values;
        const auto choose = [&](std::uint64_t count) {
            return [&, count] {
                list = indices(AccessPattern::baseline, target_, count);
                values.assign(count, 1.0);
            };
        };
        const std::string path = name_of_path();
        curve(path + ".list.read", 1, largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] { a.gather(list, std::span{values}); }};
        });
        curve(path + ".list.write", 1, largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 a.scatter(list, std::span<const double>{values});
                                 team_.release();
                             }};
        });
        curve(path + ".update", 1, largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 for (const std::int64_t i : list) a(i).atomic().add(1.0);
                                 team_.release();
                             }};
        });
        curve(path + ".atomic", 1, 4096, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 for (const std::int64_t i : list) sink = a(i).atomic().fetch_add(1.0);
                             }};
        });
    }

    /// Transfers of one rank's elements, one after another, while all ranks make them.
    void sections(GlobalArray<double, 1>& a) {
        std::vector<double> values(static_cast<std::size_t>(measured_elements), 1.0);
        const std::int64_t first = index_of(target_, 0);
        for (const bool write : {false, true})
            curve(name_of_path() + (write ? ".bulk.write" : ".bulk.read"), 1,
                  static_cast<std::uint64_t>(measured_elements), [&, write](std::uint64_t count) {
                      constexpr std::uint64_t most_transfers = 16;
                      const std::uint64_t transfers = std::clamp<std::uint64_t>(4096 / count, 1, most_transfers);
                      const Domain<1> section{{first, first + static_cast<std::int64_t>(count)}};
                      const std::span some = std::span{values}.first(count);
                      return TimedLoop{transfers * count, [] {},
                                       [&, write, transfers, section, some] {
                                           for (std::uint64_t k = 0; k < transfers; ++k) {
                                               if (write) a(section).put(some);
                                               else a(section).get(some);
                                               if (write) team_.release();
                                           }
                                       }};
                  });
    }

    /// Elements of cached pages.
    void hits() {
        const std::vector<std::int64_t> all = in_order(target_, few);
        const std::vector<std::int64_t> list = indices(AccessPattern::baseline, target_, largest_count, few);
        // Read twice without an acquire in between: the second pass measures hits.
        for (const bool write : {false, true}) {
            std::vector<double> times;
            for (int k = 0; k < (hasty_ ? 1 : 5); ++k) {
                team_.barrier();
                elements_.read(all);
                elements_.read(list);
                const auto begin = std::chrono::steady_clock::now();
                if (write) elements_.write(list);
                else elements_.read(list);
                times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
            }
            team_.max(std::span{times});
            std::ranges::sort(times);
            rates_[fmt::format("{}.cached.hit{}.{}", name_of_path(), layout(), write ? "write" : "read")] =
                RateCurve{{{largest_count, times[times.size() / 2] / static_cast<double>(largest_count)}}};
        }
    }

    /// A rank's first elements.
    [[nodiscard]] std::vector<std::int64_t> in_order(int rank, std::int64_t count) const {
        std::vector<std::int64_t> all(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = index_of(rank, static_cast<std::int64_t>(i));
        return all;
    }
    void own() {
        const int rank = team_.rank().value;
        // Memory that nobody has written may be one page of zeros for all of it, which a processor has in its cache.
        elements_.write(in_order(rank, elements_.of_rank));
        const auto key = [this](const char* kind) { return fmt::format("own{}.{}", layout(), kind); };
        in_processor_cache(key("read"), AccessPattern::baseline, rank, [&](const auto& list) { elements_.read(list); });
        in_processor_cache(key("write"), AccessPattern::baseline, rank,
                           [&](const auto& list) { elements_.write(list); });
    }
    void private_memory() {
        const int rank = team_.rank().value;
        std::vector<double> plain(static_cast<std::size_t>(measured_elements), 1.0);
        const std::int64_t begin = index_of(rank, 0);
        const auto read = [&](std::span<const std::int64_t> list) {
            sink = sum_of_reads(list, [&](std::int64_t i) { return plain[static_cast<std::size_t>(i - begin)]; });
        };
        in_processor_cache("private.read", AccessPattern::baseline, rank, read);
        in_processor_cache("private.vector.read", AccessPattern::vector, rank, read);
        team_.barrier();
    }

    Team& team_;
    Path path_;
    bool hasty_;     ///< no time for medians
    double longest_; ///< seconds of a run, after which no larger numbers of accesses are measured
    MeasuredRates& rates_;
    std::mt19937 random_;
    int target_ = 0;
    MeasuredElements elements_;
};

} // namespace

void measure_access_rates(Team& team, Path path, double seconds, MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.run();
}

void measure_mupc_rates(Team& team, Path path, double seconds, MeasuredRates& rates) {
    const auto others = static_cast<std::uint64_t>(std::max(1, team.size() - 1));
    Measurement{team, path, seconds, rates}.patterns_of(upc::mupc_cache(256 * others, 1024),
                                                        fmt::format("{}.mupc", name(path)));
}

void measure_rates_of_some(Team& team, Path path, double seconds, MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.patterns_of({.mode = CacheMode::off},
                                                        fmt::format("{}.ranks{}", name(path), team.size()));
}

void measure_element_rates(Team& team, Path path, double seconds, const MeasuredElements& elements, bool cached,
                           MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.elements(elements, cached);
}

void measure_passed_rates(Team& team, Path path, double seconds, const MeasuredElements& elements,
                          MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.passed(elements);
}

} // namespace lapwing::tools
