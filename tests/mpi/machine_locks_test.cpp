// Teams lock machines, which are simulated here: one thread for each leader, no MPI.
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/machine_locks.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::detail::mpi::lock_machines;
using lapwing::detail::mpi::MachineLocker;
using lapwing::detail::mpi::MachineName;
using Clock = MachineLocker::Clock;
using Timeout = MachineLocker::Timeout;

constexpr int nobody = -1;
constexpr int stranger = -2;

struct Machine {
    std::atomic<int> holder{nobody};
    std::atomic<int> creating{nobody}; ///< the team that uses it
};

struct Team {
    Team(int number, std::vector<int> machines) : number{number}, machines{std::move(machines)} {
        for (std::size_t i = 0; i < this->machines.size(); ++i) tokens.push_back(std::make_unique<Token>());
    }
    struct Token {
        std::binary_semaphore passed{0};
        Timeout left{0};
    };
    /// Whether `own` holds for all.
    bool agree(bool own) {
        if (!own) all.store(false);
        meeting.arrive_and_wait();
        const bool agreed = all.load();
        meeting.arrive_and_wait();
        all.store(true);
        meeting.arrive_and_wait();
        return agreed;
    }
    int number;
    std::vector<int> machines; ///< of its leaders
    std::vector<std::unique_ptr<Token>> tokens;
    std::barrier<> meeting{static_cast<std::ptrdiff_t>(machines.size())};
    std::atomic<bool> all{true};
};

class SimulatedLeader final : public MachineLocker {
public:
    SimulatedLeader(Team& team, std::size_t rank, std::vector<Machine>& machines, Clock::time_point end)
        : team_{team}, rank_{rank}, machines_{machines}, end_{end} {}

    [[nodiscard]] bool leads() const override { return true; }
    [[nodiscard]] bool take() override {
        int free = nobody;
        return holds_ = machine().holder.compare_exchange_strong(free, team_.number);
    }
    void give_back() override {
        if (holds_) machine().holder.store(nobody);
        holds_ = false;
    }
    [[nodiscard]] bool all_agree(bool own) override { return team_.agree(own); }
    void order_leaders() override {
        order_.resize(team_.machines.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return team_.machines[i]; });
        place_ = static_cast<std::size_t>(std::ranges::find(order_, rank_) - order_.begin());
    }
    [[nodiscard]] bool name_is_taken_by_team() const override {
        return place_ > 0 && team_.machines[order_[place_ - 1]] == team_.machines[rank_];
    }
    [[nodiscard]] Timeout wait_for_leader_before(Timeout all) override {
        if (place_ == 0) return all;
        team_.tokens[place_]->passed.acquire();
        return team_.tokens[place_]->left;
    }
    void pass_on(Timeout left) override {
        if (place_ + 1 == order_.size()) return;
        team_.tokens[place_ + 1]->left = left;
        team_.tokens[place_ + 1]->passed.release();
    }
    [[nodiscard]] Clock::time_point now() const override { return Clock::now(); }
    void sleep(Timeout time) override {
        if (Clock::now() > end_) {
            std::fprintf(stderr, "turns_test: team %d still waits for machine %d\n", team_.number,
                         team_.machines[rank_]);
            std::_Exit(1); // no way to end the threads that wait for this one
        }
        std::this_thread::sleep_for(time);
    }
    [[nodiscard]] Machine& machine() { return machines_[static_cast<std::size_t>(team_.machines[rank_])]; }
    [[nodiscard]] bool holds() const { return holds_; }

private:
    Team& team_;
    std::size_t rank_;
    std::vector<Machine>& machines_;
    Clock::time_point end_;
    std::vector<std::size_t> order_;
    std::size_t place_ = 0;
    bool holds_ = false;
};

struct Outcome {
    int locks = 0;    ///< that leaders got
    int without = 0;  ///< leaders that went on without their machine's name
    int meetings = 0; ///< of two teams on a machine
};

/// All teams at the same time, each several times.
Outcome run(std::vector<Machine>& machines, const std::vector<std::vector<int>>& teams, int rounds, Timeout timeout) {
    std::vector<std::unique_ptr<Team>> all;
    all.reserve(teams.size());
    for (const auto& of_team : teams) all.push_back(std::make_unique<Team>(static_cast<int>(all.size()), of_team));
    const Clock::time_point end = Clock::now() + std::chrono::seconds{30};
    std::mutex mutex;
    Outcome outcome;
    std::vector<std::thread> threads;
    for (const auto& team : all) {
        for (std::size_t rank = 0; rank < team->machines.size(); ++rank) {
            threads.emplace_back([&, rank, team = team.get()] {
                for (int round = 0; round < rounds; ++round) {
                    SimulatedLeader leader{*team, rank, machines, end};
                    (void)team->agree(true);
                    const bool taken = lock_machines(leader, timeout);
                    const int before = leader.machine().creating.exchange(team->number);
                    (void)team->agree(true); // the creation
                    if (leader.holds()) leader.machine().creating.store(nobody);
                    leader.give_back();
                    const std::lock_guard guard{mutex};
                    ++outcome.locks;
                    if (!taken) ++outcome.without;
                    if (before != nobody && before != team->number) ++outcome.meetings;
                }
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
    return outcome;
}

constexpr Timeout endless = std::chrono::hours{1};

} // namespace

TEST_CASE("32 teams that each have a rank on every one of 32 machines get the lock, one team at a time") {
    constexpr int many = 32;
    std::minstd_rand random{5};
    std::vector<Machine> machines(many);
    std::vector<std::vector<int>> teams(many, std::vector<int>(many));
    for (auto& team : teams) {
        std::iota(team.begin(), team.end(), 0);
        std::ranges::shuffle(team, random); // the ranks' order is each team's own
    }
    const Outcome outcome = run(machines, teams, 2, endless);
    CHECK(outcome.locks == 2 * many * many);
    CHECK(outcome.without == 0);
    CHECK(outcome.meetings == 0);
}

TEST_CASE("teams on some of the machines each get the lock") {
    const int seed = GENERATE(1, 2, 3);
    std::minstd_rand random{static_cast<unsigned>(seed)};
    std::vector<Machine> machines(12);
    std::vector<std::vector<int>> teams;
    std::size_t leaders = 0;
    for (int i = 0; i < 20; ++i) {
        std::vector<int> team(machines.size());
        std::iota(team.begin(), team.end(), 0);
        std::ranges::shuffle(team, random);
        team.resize(1 + random() % machines.size());
        leaders += team.size();
        teams.push_back(std::move(team));
    }
    const Outcome outcome = run(machines, teams, 5, endless);
    CHECK(outcome.locks == static_cast<int>(5 * leaders));
    CHECK(outcome.without == 0);
    CHECK(outcome.meetings == 0);
}

TEST_CASE("two leaders of a team that have the same name to take do not wait for each other") {
    std::vector<Machine> machines(2);
    const Outcome outcome = run(machines, {{1, 0, 1}, {0, 1, 0}}, 5, endless);
    CHECK(outcome.locks == 2 * 5 * 3);
    CHECK(outcome.without == 0);
    CHECK(outcome.meetings == 0);
}

TEST_CASE("names that strangers keep are waited for once, whatever the number of machines") {
    std::vector<Machine> machines(20);
    for (Machine& machine : machines) machine.holder.store(stranger);
    machines[0].holder.store(nobody);
    std::vector<int> team(machines.size());
    std::iota(team.begin(), team.end(), 0);
    constexpr Timeout timeout{50'000};
    const Clock::time_point begin = Clock::now();
    const Outcome outcome = run(machines, {team}, 1, timeout);
    CHECK(outcome.without == 19);
    CHECK(Clock::now() - begin >= timeout);
    CHECK(Clock::now() - begin < 10 * timeout); // 19 times would be each with its own
}

TEST_CASE("a machine's name belongs to one at a time") {
    const std::string text = "lapwing-lock-test-" + std::to_string(getpid());
    MachineName one{text};
    MachineName other{text};
    REQUIRE(one.take());
    CHECK_FALSE(other.take());
    CHECK_FALSE(other.take());
    CHECK(one.take()); // has it: the system's answer is an error that waiting does not change
    one.give_back();
    CHECK(other.take());
    CHECK_FALSE(one.take());
}
