// Barriers, collective calls, locks, notified puts, and many ranks that read from one: how long they take with more and
// more ranks.
#include "src/team/team_state.hpp"
#include "tools/measure_rates.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapwing::tools {
namespace {

using detail::model::MeasuredRates;
using detail::model::RateCurve;

volatile double sink; // keeps the reads from being optimised away

/// From 2 ranks to all, in powers of two.
[[nodiscard]] std::vector<int> rank_counts(int size) {
    std::vector<int> counts;
    for (int count = 2; count < size; count *= 2) counts.push_back(count);
    counts.push_back(size);
    return counts;
}

class Measurement {
public:
    Measurement(Team& team, Path path, bool hasty, MeasuredRates& rates)
        : team_{team}, path_{name(path)}, repeats_{hasty ? 1 : 9}, turns_{hasty ? 5 : 20}, rates_{rates} {}

    void run(Path path) {
        for (const int ranks : rank_counts(team_.size())) of_first(ranks);
        locks();
        notifications(path);
        one_owner(path);
        for (auto& [key, points] : points_) rates_[key] = RateCurve{std::move(points)};
    }

private:
    void add(std::string_view key, int ranks, double seconds) {
        points_[fmt::format("{}.{}", path_, key)].push_back({static_cast<std::uint64_t>(ranks), seconds / turns_});
    }
    /// The time of as many turns, by the slowest rank of those that take part.
    [[nodiscard]] double seconds_of(Team& team, const std::function<void()>& turn) const {
        return slowest_seconds(team,
                               {.run =
                                    [&] {
                                        for (int k = 0; k < turns_; ++k) turn();
                                    }},
                               repeats_);
    }

    /// The first ranks make collective calls, as a team of their own; the others wait.
    void of_first(int ranks) {
        MPI_Comm some = MPI_COMM_NULL;
        const bool takes_part = team_.rank().value < ranks;
        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, team_.rank().value, &some);
        if (takes_part) {
            Team first{some, team_.settings()};
            add("barrier", ranks, seconds_of(first, [&] { first.barrier(); }));
            add("sum", ranks, seconds_of(first, [&] { sink = first.sum(1.0); }));
            double value = 1;
            add("broadcast", ranks,
                seconds_of(first, [&] { first.broadcast(std::as_writable_bytes(std::span{&value, 1}), Rank{0}); }));
            first.close();
            MPI_Comm_free(&some);
        }
        team_.barrier();
    }

    /// A lock whose home is the first rank, wanted by as many.
    void locks() {
        Lock lock{team_};
        std::vector<int> counts = rank_counts(team_.size());
        counts.insert(counts.begin(), 1);
        for (const int ranks : counts)
            // The last ones: the home takes part only where all do.
            add("lock", ranks, seconds_of(team_, [&] {
                    if (team_.rank().value < team_.size() - ranks) return;
                    lock.lock();
                    lock.unlock();
                }));
        team_.barrier();
    }

    /// Every rank notifies the next one on this path, and waits for who notifies it.
    void notifications(Path path) {
        const int own = team_.rank().value;
        int target = own;
        for (int step = team_.size() - 1; step > 0; --step)
            if (const int other = (own + step) % team_.size(); team_.path(Rank{other}) == path) target = other;
        std::vector<int> targets(static_cast<std::size_t>(team_.size()));
        team_.all_gather(std::as_bytes(std::span{&target, 1}), std::as_writable_bytes(std::span{targets}));
        const auto expected = static_cast<std::uint64_t>(std::ranges::count(targets, own));
        Window window{team_, sizeof(double)};
        add("notify", 1, seconds_of(team_, [&] {
                window.put_notify(Rank{target}, Offset{0}, 1.0, 0);
                if (expected != 0) window.wait_notified(0, expected);
            }));
        team_.barrier();
    }

    /// The last ranks read elements of the first one, at the same time.
    void one_owner(Path path) {
        constexpr std::int64_t elements = 1 << 12;
        GlobalArray<double, 1> a{team_, {elements * team_.size()}};
        const int others = team_.size() - 1;
        std::vector<int> counts;
        for (int count = 1; count < others; count *= 2) counts.push_back(count);
        counts.push_back(others);
        const bool reaches = team_.rank() != Rank{0} && team_.path(Rank{0}) == path;
        std::int64_t place = 17 * team_.rank().value;
        for (const int readers : counts)
            add("one_owner.read", readers, seconds_of(team_, [&] {
                    if (!reaches || team_.rank().value < team_.size() - readers) return;
                    place = (place + 1021) % elements;
                    sink = a(place);
                }));
        team_.barrier();
    }

    Team& team_;
    std::string path_;
    int repeats_;
    int turns_;
    MeasuredRates& rates_;
    std::map<std::string, std::vector<RateCurve::Point>> points_;
};

} // namespace

void measure_synchronisation(Team& team, Path path, bool hasty, MeasuredRates& rates) {
    Measurement{team, path, hasty, rates}.run(path);
}

} // namespace lapwing::tools
