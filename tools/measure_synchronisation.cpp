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
    Measurement(Team& team, Path path, double seconds, MeasuredRates& rates)
        : team_{team},
          path_{name(path)},
          seconds_{seconds},
          repeats_{seconds < too_short ? 1 : 9},
          turns_{seconds < too_short ? 5 : 20},
          rates_{rates} {
        int node = team.rank().value;
        for (int rank = node - 1; rank >= 0; --rank)
            if (team.path(Rank{rank}) == Path::direct) node = rank;
        std::vector<int> nodes(static_cast<std::size_t>(team.size()));
        team.all_gather(std::as_bytes(std::span{&node, 1}), std::as_writable_bytes(std::span{nodes}));
        const bool within_node = path == Path::direct;
        const std::vector<int> order = order_of_ranks(nodes, within_node);
        members_ = static_cast<int>(order.size());
        place_ = place_in(order);
        // Those that reach rank 0 by the path, and then the others.
        std::vector<int> askers = order;
        const auto others = std::stable_partition(askers.begin(), askers.end(), [&](int rank) {
            return rank != 0 && (nodes[static_cast<std::size_t>(rank)] == nodes[0]) == within_node;
        });
        reaching_ = members_ - static_cast<int>(askers.end() - others);
        asker_ = place_in(askers);
    }

    void run(Path path) {
        for (const int ranks : rank_counts(members_)) of_first(ranks, path);
        locks();
        notifications(path);
        one_owner();
        for (auto& [key, points] : points_) rates_[key] = RateCurve{std::move(points)};
    }

private:
    [[nodiscard]] int place_in(const std::vector<int>& ranks) const {
        const auto found = std::ranges::find(ranks, team_.rank().value);
        return found == ranks.end() ? team_.size() : static_cast<int>(found - ranks.begin());
    }
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

    /// The first of the members make collective calls, as a team of their own; the others wait.
    void of_first(int ranks, Path path) {
        MPI_Comm some = MPI_COMM_NULL;
        const bool takes_part = place_ < ranks;
        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, place_, &some);
        if (takes_part) {
            Team first{some, team_.settings()};
            add("barrier", ranks, seconds_of(first, [&] { first.barrier(); }));
            add("sum", ranks, seconds_of(first, [&] { sink = first.sum(1.0); }));
            double value = 1;
            add("broadcast", ranks,
                seconds_of(first, [&] { first.broadcast(std::as_writable_bytes(std::span{&value, 1}), Rank{0}); }));
            if (ranks < team_.size()) measure_rates_of_some(first, path, seconds_, rates_);
            first.close();
            MPI_Comm_free(&some);
        }
        team_.barrier();
    }

    /// A lock whose home is the first rank, wanted by as many.
    void locks() {
        Lock lock{team_};
        std::vector<int> counts = rank_counts(members_);
        counts.insert(counts.begin(), 1);
        for (const int ranks : counts)
            add("lock", ranks, seconds_of(team_, [&] {
                    if (asker_ >= ranks) return;
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

    /// More and more ranks that reach the first one by the path read its elements, at the same time.
    void one_owner() {
        constexpr std::int64_t elements = 1 << 12;
        GlobalArray<double, 1> a{team_, {elements * team_.size()}};
        std::vector<int> counts;
        for (int count = 1; count < reaching_; count *= 2) counts.push_back(count);
        if (reaching_ > 0) counts.push_back(reaching_);
        std::int64_t place = 17 * team_.rank().value;
        for (const int readers : counts)
            add("one_owner.read", readers, seconds_of(team_, [&] {
                    if (asker_ >= readers) return;
                    place = (place + 1021) % elements;
                    sink = a(place);
                }));
        team_.barrier();
    }

    static constexpr double too_short = 5; ///< for medians

    Team& team_;
    std::string path_;
    double seconds_;
    int members_ = 0; ///< ranks that take part where all do
    int place_ = 0;   ///< this rank's among them
    int reaching_ = 0;
    int asker_ = 0; ///< its place where all ask rank 0
    int repeats_;
    int turns_;
    MeasuredRates& rates_;
    std::map<std::string, std::vector<RateCurve::Point>> points_;
};

} // namespace

void measure_synchronisation(Team& team, Path path, double seconds, MeasuredRates& rates) {
    Measurement{team, path, seconds, rates}.run(path);
}

} // namespace lapwing::tools
