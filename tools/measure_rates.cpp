#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>

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

constexpr std::int64_t elements_of_rank = std::int64_t{1} << 17;
constexpr std::uint64_t largest_count = std::uint64_t{1} << 14;
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
        all_elements_ = elements_of_rank * team.size();
    }

    void run() {
        own_and_private();
        {
            GlobalArray<double, 1> a{team_, {all_elements_}};
            patterns(a, name_of_path());
            lists(a);
            team_.barrier();
        }
        {
            GlobalArray<double, 1> a{team_, {all_elements_}, Block{}, {.cache = {.mode = CacheMode::epoch}}};
            patterns(a, name_of_path() + ".cached");
            hits(a);
            team_.barrier();
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
    [[nodiscard]] std::int64_t first_of(int rank) const { return elements_of_rank * rank; }

    /// A rank's elements, in the order in which the pattern accesses them.
    [[nodiscard]] std::vector<std::int64_t> indices(AccessPattern pattern, int rank, std::uint64_t count) {
        std::vector<std::int64_t> result(count);
        std::uniform_int_distribution<std::int64_t> anywhere{0, elements_of_rank - 1};
        std::uniform_int_distribution<std::int64_t> near{1, 8};
        std::int64_t place = anywhere(random_);
        for (std::int64_t& index : result) {
            index = first_of(rank) + place % elements_of_rank;
            if (pattern == AccessPattern::vector) ++place;
            else if (pattern == AccessPattern::coalesce) place += near(random_);
            else place = anywhere(random_);
        }
        return result;
    }

    /// Measures increasing numbers of accesses, until one takes too long.
    template <class Loop>
    void curve(const std::string& key, std::uint64_t most, Loop loop_of) {
        std::vector<RateCurve::Point> points;
        for (std::uint64_t count = 16; count <= most; count *= 4) {
            const TimedLoop loop = loop_of(count);
            const double seconds = slowest_seconds(team_, loop, hasty_ ? 1 : count < 1024 ? 9 : 5);
            points.push_back({count, seconds / static_cast<double>(count)});
            if (seconds > longest_) break;
        }
        rates_[key] = RateCurve{std::move(points)};
    }

    void patterns(GlobalArray<double, 1>& a, const std::string& prefix) {
        for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce}) {
            std::vector<std::int64_t> list;
            const auto choose = [&](std::uint64_t count) {
                return [&, count] { list = indices(pattern, target_, count); };
            };
            const std::string key = fmt::format("{}.{}", prefix, name(pattern));
            curve(key + ".read", largest_count,
                  [&](std::uint64_t count) { return TimedLoop{count, choose(count), [&] { read(a, list); }}; });
            curve(key + ".write", largest_count,
                  [&](std::uint64_t count) { return TimedLoop{count, choose(count), [&] { write(a, list); }}; });
        }
    }
    static void read(const GlobalArray<double, 1>& a, const std::vector<std::int64_t>& list) {
        double sum = 0;
        for (const std::int64_t i : list) sum += a(i);
        sink = sum;
    }
    void write(GlobalArray<double, 1>& a, const std::vector<std::int64_t>& list) {
        for (const std::int64_t i : list) a(i) = 1.0;
        team_.release();
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
        curve(path + ".list.read", largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] { a.gather(list, std::span{values}); }};
        });
        curve(path + ".list.write", largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 a.scatter(list, std::span<const double>{values});
                                 team_.release();
                             }};
        });
        curve(path + ".update", largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 for (const std::int64_t i : list) a(i).add(1.0);
                                 team_.release();
                             }};
        });
        curve(path + ".atomic", 4096, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 for (const std::int64_t i : list) sink = a(i).fetch_add(1.0);
                             }};
        });
    }

    /// Elements of cached pages, 32 KiB in all.
    void hits(GlobalArray<double, 1>& a) {
        constexpr std::int64_t few = 4096;
        std::uniform_int_distribution<std::int64_t> anywhere{0, few - 1};
        std::vector<std::int64_t> list(largest_count);
        for (std::int64_t& index : list) index = first_of(target_) + anywhere(random_);
        // Read twice without an acquire in between: the second pass measures hits.
        for (const bool write : {false, true}) {
            std::vector<double> times;
            for (int k = 0; k < (hasty_ ? 1 : 5); ++k) {
                team_.barrier();
                for (std::int64_t i = 0; i < few; ++i) sink = a(first_of(target_) + i);
                read(a, list);
                const auto begin = std::chrono::steady_clock::now();
                if (write)
                    for (const std::int64_t i : list) a(i) = 1.0;
                else read(a, list);
                times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
            }
            team_.max(std::span{times});
            std::ranges::sort(times);
            rates_[name_of_path() + (write ? ".cached.hit.write" : ".cached.hit.read")] =
                RateCurve{{{largest_count, times[times.size() / 2] / static_cast<double>(largest_count)}}};
        }
    }

    void own_and_private() {
        GlobalArray<double, 1> a{team_, {all_elements_}};
        const int own = team_.rank().value;
        std::vector<std::int64_t> list;
        const auto choose = [&](std::uint64_t count) {
            return [&, count] { list = indices(AccessPattern::baseline, own, count); };
        };
        curve("own.read", largest_count,
              [&](std::uint64_t count) { return TimedLoop{count, choose(count), [&] { read(a, list); }}; });
        curve("own.write", largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 for (const std::int64_t i : list) a(i) = 1.0;
                             }};
        });
        std::vector<double> plain(static_cast<std::size_t>(elements_of_rank));
        const std::int64_t begin = first_of(own);
        curve("private.read", largest_count, [&](std::uint64_t count) {
            return TimedLoop{count, choose(count), [&] {
                                 double sum = 0;
                                 for (const std::int64_t i : list) sum += plain[static_cast<std::size_t>(i - begin)];
                                 sink = sum;
                             }};
        });
        team_.barrier();
    }

    Team& team_;
    Path path_;
    bool hasty_;     ///< no time for medians
    double longest_; ///< seconds of a run, after which no larger numbers of accesses are measured
    MeasuredRates& rates_;
    std::mt19937 random_;
    int target_ = 0;
    std::int64_t all_elements_ = 0;
};

} // namespace

void measure_access_rates(Team& team, Path path, double seconds, MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.run();
}

} // namespace lapwing::tools
