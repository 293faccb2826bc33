// What operations cost a rank where there are very many: counted by running Lapwing itself on as many simulated ranks.
//
// With --markdown it prints the tables of docs/architecture.md, which takes ten seconds and 2 GB. With --markdown and a
// number it prints them for so many ranks instead of ten thousand. With --tables FILE it runs the tests and writes the
// tables without the rows of ten thousand ranks.
#include "tests/support/session.hpp"
#include "tests/window/simulated_job.hpp"

#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::Lock;
using lapwing::Offset;
using lapwing::PeerLeftError;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::Measured;
using test::measured;
using test::SimulatedMachines;

constexpr int few_targets = 8;

// Operations, as the table names them.
constexpr const char* start_up = "start-up";
constexpr const char* barrier = "barrier";
constexpr const char* creation = "creation of a window";
constexpr const char* uneven_creation = "creation of a window whose parts differ in size";
constexpr const char* release_few = "puts to 8 ranks and a release, by all ranks";
constexpr const char* release_one = "a put to rank 0 and a release, by all ranks";
constexpr const char* lock_alone = "lock and unlock by one rank";
constexpr const char* lock_by_all = "lock and unlock by all ranks";
constexpr const char* window_close = "close of a window";
constexpr const char* team_close = "close of the team";
constexpr const char* one_leaves = "one rank leaves, all others are notified";
constexpr const char* all_leave = "... and then all others leave";

/// What a rank has, in the order in which it is made.
struct Own {
    std::unique_ptr<Runtime> runtime;
    std::optional<Window> window;
    std::optional<Lock> lock;
};

/// Out of the scope of all of it by an exception.
void leave(Own& own) {
    try {
        const Own leaving = std::move(own);
        throw std::runtime_error{"leaves"};
    } catch (const std::runtime_error&) {
    }
}

enum class Ends : bool { by_close, by_leaving };

struct Plan {
    SimulatedMachines machines;
    const char* path = "service";
    Ends ends = Ends::by_close;
    std::set<std::string_view> leaves_out{};
};

class Results {
public:
    explicit Results(const Plan& plan) : plan_{plan} {
        setenv("LAPWING_PATH", plan.path, 1);
        all_ = test::run_simulated(plan.machines, [&](int rank) { program(rank); });
    }

    /// Null if it was left out.
    [[nodiscard]] const Measured* find(std::string_view name) const {
        const auto found = std::ranges::find(all_, name, &Measured::name);
        return found != all_.end() ? &*found : nullptr;
    }
    [[nodiscard]] const Measured& operator[](std::string_view name) const { return *find(name); }
    [[nodiscard]] int ranks() const { return plan_.machines.ranks; }
    [[nodiscard]] int nodes() const {
        return (ranks() + plan_.machines.ranks_of_machine - 1) / plan_.machines.ranks_of_machine;
    }
    /// Of memory, bytes a rank on average.
    [[nodiscard]] double memory(std::string_view name) const {
        return static_cast<double>((*this)[name].total.memory) / ranks();
    }

private:
    template <class Operation>
    void maybe(const char* name, Operation&& operation) const {
        if (!plan_.leaves_out.contains(name)) measured(name, operation);
    }

    void program(int rank) const {
        const int ranks = plan_.machines.ranks;
        const bool messages = std::string_view{plan_.path} == "service";
        Own own;
        std::unique_ptr<Runtime>& runtime = own.runtime; // Clang 14 captures no structured bindings
        std::optional<Window>& window = own.window;
        std::optional<Lock>& lock = own.lock;
        measured(start_up, [&] { runtime = std::make_unique<Runtime>(); });
        measured(barrier, [&] { runtime->barrier(); });
        measured(creation, [&] { window.emplace(*runtime, 64); });
        std::optional<Window> uneven;
        maybe(uneven_creation, [&] { uneven.emplace(*runtime, rank == 0 ? 64 : 128); });
        uneven.reset();
        maybe(release_few, [&] {
            for (int i = 1; i <= few_targets; ++i) window->put(Rank{(rank + 11 * i) % ranks}, Offset{0}, rank);
            runtime->release();
        });
        if (messages) {
            maybe(release_one, [&] {
                window->put(Rank{0}, Offset{8}, rank);
                runtime->release();
            });
            lock.emplace(*runtime, Rank{0});
            maybe(lock_alone, [&] {
                if (rank != ranks / 2) return;
                lock->lock();
                lock->unlock();
            });
            maybe(lock_by_all, [&] {
                lock->lock();
                lock->unlock();
            });
        }
        if (!plan_.leaves_out.contains(window_close)) {
            lock.reset();
            measured(window_close, [&] { window->close(); });
            window.reset();
        }
        if (plan_.ends == Ends::by_close) return measured(team_close, [&] { runtime->close(); });
        measured(one_leaves, [&] {
            if (rank == 0) return leave(own);
            try {
                runtime->barrier();
            } catch (const PeerLeftError&) {
            }
        });
        if (plan_.leaves_out.contains(all_leave)) return void(runtime.release()); // takes as long as all the rest
        measured(all_leave, [&] { leave(own); });
    }

    Plan plan_;
    std::vector<Measured> all_;
};

[[nodiscard]] std::uint64_t levels(int count) {
    return static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(count - 1)));
}

/// What one more rank adds to the memory of each rank, in whole bytes.
[[nodiscard]] long growth(const Results& few, const Results& many, std::string_view name) {
    return std::lround((many.memory(name) - few.memory(name)) / (many.ranks() - few.ranks()));
}

/// At rank 0, for each rank that has put something there; to ten bytes.
[[nodiscard]] long bytes_of_peer(const Results& results) {
    return static_cast<long>(results[release_one].most.memory) / (results.ranks() - 1) / 10 * 10;
}

// The jobs of the tests, each run once.
const Results& hundred() {
    static const Results results{{.machines = {.ranks = 100}, .ends = Ends::by_leaving}};
    return results;
}
const Results& thousand() {
    static const Results results{{.machines = {.ranks = 1000}, .ends = Ends::by_leaving}};
    return results;
}
/// A hundred nodes.
const Results& nodes() {
    static const Results results{{.machines = {.ranks = 1600, .ranks_of_machine = 16}, .leaves_out = {lock_by_all}}};
    return results;
}
const Results& windows_of_mpi() {
    static const Results results{{.machines = {.ranks = 1000}, .path = "rma"}};
    return results;
}

/// What nodes whose ranks do not follow each other add to the memory of each rank, for each rank of the team.
[[nodiscard]] long growth_where_dealt() {
    const auto memory = [](bool dealt) {
        return Results{
            {.machines = {.ranks = 1000, .ranks_of_machine = 10, .dealt = dealt}, .leaves_out = {lock_by_all}}}
            .memory(start_up);
    };
    return std::lround((memory(true) - memory(false)) / 1000);
}

/// The settings of this test, whatever those of whoever runs it.
void set_environment() {
    std::vector<std::string> ours;
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "LAPWING_", 8) == 0) ours.emplace_back(*entry, std::strcspn(*entry, "="));
    for (const std::string& name : ours) unsetenv(name.c_str());
    setenv("LAPWING_SERVICE_PACKET", "512",
           1); // ten thousand ranks need 2 GB with these, and 15 GB with those of 8000 bytes
    setenv("LAPWING_PROFILE", "none", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000", 1); // waits give up the processor at every look
}

std::string in_table(std::uint64_t value) {
    return value < 1000 ? fmt::format("{}", value) : fmt::format("{},{:03}", in_table(value / 1000), value % 1000);
}

void print_row(std::FILE* file, const Results& results, const char* name, const char* remark = "") {
    const Measured* const one = results.find(name);
    if (one == nullptr) return;
    const auto with_bytes = [](std::uint64_t count, std::uint64_t bytes) {
        return bytes == 0 ? in_table(count) : fmt::format("{} ({})", in_table(count), in_table(bytes));
    };
    const std::string collectives = with_bytes(one->most.collectives, one->most.collective_bytes);
    fmt::print(
        file, "| {} | {}{} | {} | {} | {} | {}{} |\n", name, in_table(static_cast<std::uint64_t>(results.ranks())),
        remark, in_table(one->steps), with_bytes(one->most.sent, one->most.sent_bytes),
        with_bytes(one->most.received, one->most.received_bytes), collectives,
        one->most.handles == 0 ? "" : fmt::format(", {} of them for communicators or windows", one->most.handles));
}

/// What takes too long with ten thousand ranks.
const std::set<std::string_view> not_of_most{uneven_creation, window_close, all_leave};

/// Without `most`: without its rows.
void print_tables(std::FILE* file, const Results* most) {
    fmt::print(
        file,
        "| operation | ranks | steps | messages sent (bytes) | received (bytes) | MPI's collective calls (bytes) |\n"
        "|---|---|---|---|---|---|\n");
    for (const char* const name : {start_up, barrier, creation, uneven_creation, release_few, release_one, lock_alone,
                                   lock_by_all, window_close, team_close, one_leaves, all_leave}) {
        print_row(file, hundred(), name);
        if (not_of_most.contains(name)) print_row(file, thousand(), name);
        else if (most != nullptr) print_row(file, *most, name);
        if (std::set<std::string_view>{start_up, barrier, creation, team_close}.contains(name))
            print_row(file, nodes(), name, ", 16 a node");
        if (std::set<std::string_view>{start_up, creation, release_few, team_close}.contains(name))
            print_row(file, windows_of_mpi(), name, ", path rma");
    }
    fmt::print(file, "\n| a rank keeps | bytes |\n|---|---|\n");
    const auto keeps = [&](const char* what, long bytes) { fmt::print(file, "| {} | {} |\n", what, bytes); };
    keeps("for each rank of the team", growth(hundred(), thousand(), start_up));
    keeps("... where the ranks of a node are not numbered consecutively", growth_where_dealt());
    keeps("for each rank of the team and window", growth(hundred(), thousand(), creation));
    keeps("... whose parts differ in size", growth(hundred(), thousand(), uneven_creation));
    keeps("for each rank that it has exchanged packets with, about", bytes_of_peer(thousand()));
}

} // namespace

int main(int argc, char** argv) {
    set_environment();
    const std::string_view option = argc > 1 ? argv[1] : "";
    if (option == "--markdown") {
        const Results most{{.machines = {.ranks = argc > 2 ? std::atoi(argv[2]) : 10000},
                            .ends = Ends::by_leaving,
                            .leaves_out = {not_of_most.begin(), not_of_most.end()}}};
        print_tables(stdout, &most);
        return 0;
    }
    if (option != "--tables" || argc < 3) return test::run_test_cases(argc, argv);
    const int failed = test::run_test_cases(1, argv);
    std::FILE* const file = std::fopen(argv[2], "w");
    if (file == nullptr) return 2;
    print_tables(file, nullptr);
    return std::fclose(file) == 0 ? failed : 2;
}

TEST_CASE("messages and steps grow with the logarithm of the number of ranks") {
    for (const Results* results : {&hundred(), &thousand()}) {
        const std::uint64_t rounds = levels(results->ranks());
        INFO(results->ranks() << " ranks");
        const auto costs = [&](const char* name, std::uint64_t messages, std::uint64_t steps) {
            INFO(name);
            CHECK((*results)[name].most.sent == messages);
            CHECK((*results)[name].most.received == messages);
            CHECK((*results)[name].steps == steps);
        };
        // A comparison of what all ranks pass takes a step more where their number is no power of two.
        costs(start_up, rounds, 11 * rounds + 1);
        costs(barrier, rounds, rounds);
        costs(creation, 3 * rounds, 4 * rounds + 1);
        costs(uneven_creation, 3 * rounds, 5 * rounds + 1);
        costs(window_close, rounds, rounds);
        costs(release_few, 2 * few_targets, 2); // and as many from others
        costs(lock_alone, 2, 4);
    }
    CHECK(windows_of_mpi()[team_close].most.sent == levels(1000));
    CHECK(windows_of_mpi()[team_close].most.collectives == 2);
}

TEST_CASE("nobody is notified of puts that a network carries out by itself") {
    CHECK(windows_of_mpi()[release_few].most.sent == 0);
}

TEST_CASE("the ranks of a node meet without messages") {
    const std::uint64_t rounds = levels(nodes().nodes());
    CHECK(nodes()[barrier].most.sent == rounds);
    CHECK(nodes()[barrier].steps == rounds);
    CHECK(nodes()[barrier].total.sent == rounds * static_cast<std::uint64_t>(nodes().nodes())); // the first ranks'
    CHECK(nodes()[creation].most.sent == 2 * rounds + levels(nodes().ranks())); // and what all ranks compare
}

TEST_CASE("of what all ranks want of one, each of them sends and gets as much as if it were alone") {
    for (const Results* results : {&hundred(), &thousand()}) {
        const auto others = static_cast<std::uint64_t>(results->ranks() - 1);
        const Measured& put = (*results)[release_one];
        CHECK(put.steps == 2);
        CHECK(put.total.sent == 2 * others);
        CHECK(put.most.received == others); // at the one
        CHECK(put.most_unread_bytes >= others);
        CHECK(put.most_unread_bytes <= 64 * others);
        const Measured& lock = (*results)[lock_by_all];
        CHECK(lock.steps <= others + 8);      // a rank has it a step after the one before it
        CHECK(lock.total.sent >= 2 * others); // to ask for it, and to pass it on
        CHECK(lock.total.sent <= 6 * others);
    }
}

TEST_CASE("a collective call of MPI brings as much to a rank of many as to one of few") {
    for (const char* const name : {start_up, barrier, creation, window_close}) {
        INFO(name);
        CHECK(thousand()[name].most.collectives == hundred()[name].most.collectives);
        CHECK(thousand()[name].most.collective_bytes == hundred()[name].most.collective_bytes);
    }
    // The sizes of parts that differ: 8 bytes a rank.
    const auto bytes = [](const Results& results) {
        return results[uneven_creation].most.collective_bytes - results[creation].most.collective_bytes;
    };
    CHECK(bytes(hundred()) == 800);
    CHECK(bytes(thousand()) == 8000);
}

TEST_CASE("the news that a rank has left reaches all ranks in as many steps as a barrier takes, by as many messages of "
          "each") {
    for (const Results* results : {&hundred(), &thousand()}) {
        const std::uint64_t rounds = levels(results->ranks());
        INFO(results->ranks() << " ranks");
        const Measured& one = (*results)[one_leaves];
        CHECK(one.steps >= rounds / 2);
        CHECK(one.steps <= rounds);
        // To tell others, to acknowledge what they tell, and the barrier that was not to be.
        CHECK(one.most.sent >= rounds);
        CHECK(one.most.sent <= 3 * rounds);
        CHECK(one.most.received <= 3 * rounds);
        // A rank announces that it leaves, and passes on the first 16 ranks that it learns have left.
        const Measured& all = (*results)[all_leave];
        CHECK(all.most.sent >= rounds);
        CHECK(all.most.sent <= 2 * 17 * rounds);
        CHECK(all.most.received <= 2 * 17 * rounds);
    }
}

TEST_CASE("what a rank keeps of the others") {
    CHECK(growth(hundred(), thousand(), start_up) == 0);
    CHECK(growth(hundred(), thousand(), creation) == 0);
    CHECK(growth(hundred(), thousand(), uneven_creation) == 8);
    CHECK(growth(hundred(), thousand(), lock_by_all) == 0);
    CHECK(bytes_of_peer(thousand()) == 120);
    CHECK(growth_where_dealt() == 4); // the place of each rank in its node
}
