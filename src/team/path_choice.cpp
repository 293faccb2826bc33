#include "src/team/path_choice.hpp"

#include "src/messages/progress_thread.hpp"
#include "src/mpi/agreement.hpp"
#include "src/mpi/thread_level.hpp"
#include "src/mpi/trial_window.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace lapwing::detail::support::settings_in {
void team_path_choice() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::team {
namespace {

using support::check_mpi;

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<std::optional<Path>> path_setting{
    {.name = "LAPWING_PATH",
     .default_value = "auto",
     .unit = "",
     .help = "path between nodes; auto: rma if windows work and are no slower than messages, else service",
     .collective = true},
    {{"auto", {}},
     {name(Path::direct), Path::direct},
     {name(Path::rma), Path::rma},
     {name(Path::service), Path::service}}};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<mpi::NodeMode> node_setting{
    {.name = "LAPWING_NODE",
     .default_value = "auto",
     .unit = "",
     .help = "what a node is; auto: ranks that share memory, each: every rank, pair: two such ranks (for tests)",
     .collective = true},
    {{"auto", mpi::NodeMode::by_memory}, {"each", mpi::NodeMode::each}, {"pair", mpi::NodeMode::pairs}}};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<mpi::NodeSource> memory_setting{
    {.name = "LAPWING_NODE_MEMORY",
     .default_value = "own",
     .unit = "",
     .help = "where the memory that the ranks of a node share comes from; own: files without a name, which are in no "
             "file system, and mpi's where these cannot be had; mpi: MPI_Win_allocate_shared, which needs room in "
             "/dev/shm",
     .collective = true},
    {{"own", mpi::NodeSource::own}, {"mpi", mpi::NodeSource::mpi}}};
[[gnu::init_priority(
    support::before_programs)]] const support::ChoiceSetting<std::optional<ProgressMode>> progress_setting{
    {.name = "LAPWING_PROGRESS",
     .default_value = "auto",
     .unit = "",
     .help = "who keeps communication moving; auto: a thread if MPI provides MPI_THREAD_MULTIPLE, "
             "else calls into Lapwing",
     .collective = true},
    {{"auto", {}},
     {name(ProgressMode::thread), ProgressMode::thread},
     {name(ProgressMode::caller), ProgressMode::caller}}};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<SmallTransfers> small_setting{
    {.name = "LAPWING_RMA_SMALL",
     .default_value = "auto",
     .unit = "",
     .help = "what carries puts and gets that fit into a message buffer, and atomics, on the path rma; auto: messages "
             "to the owner's progress thread where MPI emulates windows",
     .collective = true},
    {{"auto", SmallTransfers::automatic}, {"mpi", SmallTransfers::by_mpi}, {"messages", SmallTransfers::by_messages}}};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting packet_setting{
    {.name = "LAPWING_SERVICE_PACKET",
     .default_value = "8000",
     .unit = "bytes",
     .help = "size of a message buffer of the service path; 192 of them a rank",
     .collective = true},
    512,
    1U << 20};

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting direct_setting{
    {.name = "LAPWING_DIRECT_RANKS",
     .default_value = "128",
     .unit = "ranks",
     .help = "in teams of at most so many, calls that are gathered go to each rank directly; in larger ones, where all "
             "have progress threads, in two or three hops, on each of which a rank sends to at most so many",
     .collective = true},
    2,
    std::numeric_limits<int>::max()};

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<int> checks_setting{
    {.name = "LAPWING_CHECKS",
     .default_value = "build",
     .unit = "",
     .help = "checks inside the library; 1: ranks compare the slices, options and files of collective calls in their "
             "barriers, 2: also costly ones (blocks of a target that overlap, accesses of UPC that leave "
             "their object), 3: also those that communicate (extents and distributions); build: "
             "LAPWING_ASSERTION_LEVEL of the library's build",
     .collective = true},
    {{"build", assertion_level}, {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}};

PathRequest requested(const Settings& settings) {
    return {.path = path_setting.get(settings),
            .progress = progress_setting.get(settings),
            .node = node_setting.get(settings),
            .node_memory = memory_setting.get(settings),
            .small = small_setting.get(settings),
            .packet_bytes = packet_setting.get(settings),
            .direct_ranks = direct_setting.get(settings),
            .checks = checks_setting.get(settings)};
}

/// What all ranks have found out together.
struct Agreed {
    int thread_level = MPI_THREAD_SINGLE; ///< the lowest
    std::uint64_t team_number = 0;
};

/// The highest number of a team that this process has been in.
std::atomic<std::uint64_t> highest_team_number{0};

/// Collective. Every rank must take the same path, or they would wait for each other: throws MismatchError unless all
/// ask for the same.
Agreed agree(MPI_Comm communicator, const Settings& settings, const PathRequest& own, int thread_level,
             const std::string& who) {
    struct Asked {
        const support::Setting& setting;
        std::int64_t value;
    };
    const auto number = [](auto choice) { return choice ? static_cast<std::int64_t>(*choice) : -1; };
    const std::array<Asked, 8> all{{{path_setting, number(own.path)},
                                    {node_setting, static_cast<std::int64_t>(own.node)},
                                    {memory_setting, static_cast<std::int64_t>(own.node_memory)},
                                    {progress_setting, number(own.progress)},
                                    {packet_setting, static_cast<std::int64_t>(own.packet_bytes)},
                                    {small_setting, static_cast<std::int64_t>(own.small)},
                                    {direct_setting, static_cast<std::int64_t>(own.direct_ranks)},
                                    {checks_setting, own.checks}}};
    std::array<std::int64_t, 2 * all.size() + 2> extremes{}; // the lowest of each, and the highest with the other sign
    for (std::size_t i = 0; i < all.size(); ++i) {
        extremes[2 * i] = all[i].value;
        extremes[2 * i + 1] = -all[i].value;
    }
    extremes[2 * all.size()] = thread_level;
    extremes.back() = -static_cast<std::int64_t>(highest_team_number.load());
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), static_cast<int>(extremes.size()), MPI_INT64_T, MPI_MIN,
                            communicator),
              "MPI_Allreduce");
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (extremes[2 * i] == -extremes[2 * i + 1]) continue;
        const std::string& name = all[i].setting.info().name;
        throw MismatchError{
            fmt::format("{}: Team: {} is {} here and something else on another rank; set it alike on all ranks", who,
                        name, settings.text(name))};
    }
    const auto team_number = static_cast<std::uint64_t>(1 - extremes.back());
    std::uint64_t highest = highest_team_number.load();
    while (highest < team_number && !highest_team_number.compare_exchange_weak(highest, team_number)) {
    }
    return {static_cast<int>(extremes[2 * all.size()]), team_number};
}

bool has_threads(const PathFacts& facts) noexcept {
    return facts.asked.progress != ProgressMode::caller && facts.thread_level == MPI_THREAD_MULTIPLE;
}

bool lacks_threads(const PathFacts& facts) noexcept {
    return facts.asked.progress == ProgressMode::thread && !has_threads(facts);
}

/// Throws SettingError where LAPWING_PROGRESS or LAPWING_PATH cannot be followed.
void refuse_impossible(const PathFacts& facts) {
    if (lacks_threads(facts))
        throw SettingError{
            fmt::format("{}: Team: LAPWING_PROGRESS=thread needs MPI_THREAD_MULTIPLE, and MPI provides level {}; "
                        "initialise MPI with MPI_Init_thread(MPI_THREAD_MULTIPLE), or leave the setting at auto",
                        facts.who, facts.thread_level)};
    if (facts.nodes == 1) return;
    if (facts.asked.path == Path::direct)
        throw SettingError{
            fmt::format("{}: Team: LAPWING_PATH=direct needs all ranks on one node, and there are {} nodes; use "
                        "auto, rma or service",
                        facts.who, facts.nodes)};
    if (facts.asked.path == Path::rma && !facts.probe->works)
        throw SettingError{
            fmt::format("{}: Team: LAPWING_PATH=rma, but MPI windows do not work here: {}; use auto or service",
                        facts.who, facts.probe->reason)};
}

/// Without progress threads a rank that waits in MPI serves MPI's operations, but no messages.
bool small_by_messages(const PathFacts& facts) noexcept {
    const SmallTransfers small = facts.asked.small;
    const bool faster = facts.probe && facts.probe->emulated;
    return has_threads(facts) &&
           (small == SmallTransfers::by_messages || (small == SmallTransfers::automatic && faster));
}

/// Where MPI emulates windows, their operations are messages too, which a progress thread at the target answers:
/// Lapwing's own are faster at any size, and need no window over all ranks.
bool leaves_emulated_windows(const PathFacts& facts) noexcept {
    return !facts.asked.path && facts.asked.small == SmallTransfers::automatic && has_threads(facts);
}

/// The path between several nodes, and why.
struct Network {
    Path path;
    std::string reason;
};
Network network_of(const PathFacts& facts) {
    const PathRequest& asked = facts.asked;
    if (asked.path) return {*asked.path, fmt::format("LAPWING_PATH={}", name(*asked.path))};
    if (!facts.probe->works) return {Path::service, facts.probe->reason};
    if (facts.probe->emulated && leaves_emulated_windows(facts))
        return {Path::service,
                "MPI makes messages of windows' operations between the nodes, and Lapwing's own are faster"};
    return {Path::rma, "windows work between the nodes"};
}

/// What is unusual about the nodes.
std::string of_nodes(const PathFacts& facts) {
    if (!facts.shares_memory)
        return fmt::format("the ranks of a machine cannot share memory ({}), so every rank is a node of its own; ",
                           facts.memory_problem);
    if (!facts.memory_problem.empty())
        return fmt::format("MPI allocates the memory of a node, since Lapwing's own cannot be had ({}); ",
                           facts.memory_problem);
    if (facts.split == mpi::MachineSplit::joined)
        return "MPI puts ranks of one machine on several nodes, and Lapwing shares their memory by itself; ";
    if (facts.split == mpi::MachineSplit::apart)
        return "MPI puts ranks of one machine on several nodes, and their memory cannot be shared; ";
    return {};
}

/// Collective. Finds where the ranks of each node have their shared memory from: from the same source on all nodes but
/// those that only Lapwing's own memory has joined.
void find_node_memory(MPI_Comm communicator, mpi::Topology& topology, PathFacts& facts) {
    const bool joined = topology.node_source() == mpi::NodeSource::own; // tried, to find it
    const auto works = [&](mpi::NodeSource source) {
        const mpi::Problem first = mpi::first_problem(
            communicator, joined ? std::string{} : mpi::problem_of_sharing(topology.node_communicator(), source));
        if (!first.text.empty()) {
            facts.memory_problem = fmt::format("rank {}: {}", first.rank, first.text);
            return false;
        }
        if (!joined) topology.take_memory_from(source);
        return true;
    };
    if (facts.asked.node_memory == mpi::NodeSource::own && works(mpi::NodeSource::own)) return;
    facts.shares_memory = works(mpi::NodeSource::mpi);
}

/// Collective. A program does not see by itself why it is slow.
void say_split(MPI_Comm communicator, const mpi::Topology& topology, const std::string& who) {
    const bool joined = topology.machine_split() == mpi::MachineSplit::joined;
    const mpi::Problem first = joined ? mpi::Problem{} : mpi::first_problem(communicator, topology.machine_problem());
    static std::atomic<bool> said{false};
    int rank = 0;
    check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    if (rank != 0 || said.exchange(true)) return;
    const std::string outcome =
        joined ? "Lapwing shares their memory by itself; MPI's own messages between them go as between machines"
               : fmt::format("their memory cannot be shared (rank {}: {}), so that they reach each other as ranks of "
                             "different machines do",
                             first.rank, first.text);
    support::log_line(fmt::format("{}: MPI puts ranks of one machine on several nodes (MPI_COMM_TYPE_SHARED): {}. "
                                  "Another launcher or build of MPI may know better; LAPWING_NODE=each takes every "
                                  "rank for a node of its own",
                                  who, outcome));
}

} // namespace

int checks_asked(const Settings& settings) { return checks_setting.get(settings); }

bool needs_probe(const PathFacts& facts) noexcept {
    return facts.nodes > 1 && facts.asked.path.value_or(Path::rma) == Path::rma && !lacks_threads(facts);
}

PathChoice choose(const PathFacts& facts) {
    refuse_impossible(facts);
    PathChoice choice{.progress = has_threads(facts) ? ProgressMode::thread : ProgressMode::caller,
                      .thread_level = facts.thread_level,
                      .small_by_messages = small_by_messages(facts),
                      .packet_bytes = facts.asked.packet_bytes,
                      .direct_ranks = has_threads(facts) ? static_cast<int>(facts.asked.direct_ranks)
                                                         : std::numeric_limits<int>::max(),
                      .reason = of_nodes(facts)};
    if (facts.nodes == 1) {
        choice.reason += "all ranks are on one node";
        return choice;
    }
    const Network network = network_of(facts);
    choice.network = network.path;
    choice.reason += network.reason;
    if (network.path != Path::rma) return choice;
    choice.windows = facts.probe->kind;
    choice.data_needs_no_target = facts.probe->target_idle;
    if (facts.probe->atomics.suffice()) choice.atomics = facts.probe->atomics;
    if (!facts.probe->doubt.empty())
        choice.reason +=
            fmt::format("; {} ({})",
                        choice.atomics.suffice() ? "some atomics are loops of compare-and-swap" : "no atomics of MPI's",
                        facts.probe->doubt);
    if (choice.small_by_messages) choice.reason += "; small operations as messages (LAPWING_RMA_SMALL)";
    if (choice.data_needs_no_target) choice.reason += "; gets and puts need no progress of their target";
    return choice;
}

ChosenPaths choose_paths(MPI_Comm communicator, const Settings& settings, const std::string& who) {
    PathFacts facts{.who = who, .asked = requested(settings)};
    const int level = mpi::thread_level(settings);
    const Agreed agreed = agree(communicator, settings, facts.asked, level, who);
    facts.thread_level = agreed.thread_level;

    auto topology = std::make_shared<mpi::Topology>(communicator, facts.asked.node);
    facts.split = topology->machine_split();
    if (facts.split != mpi::MachineSplit::none) say_split(communicator, *topology, who);
    if (topology->largest_node() > 1) {
        find_node_memory(communicator, *topology, facts);
        if (!facts.shares_memory) topology = std::make_shared<mpi::Topology>(communicator, mpi::NodeMode::each);
    }
    facts.nodes = topology->nodes();
    if (needs_probe(facts)) {
        // As WindowMemory makes windows.
        const bool shares = topology->largest_node() > 1;
        facts.probe = try_windows({.communicator = communicator,
                                   .topology = topology,
                                   .thread_level = facts.thread_level,
                                   .kind = shares ? mpi::WindowKind::created_over_shared : mpi::WindowKind::allocated,
                                   .emulated_too = !leaves_emulated_windows(facts),
                                   .progress_threads = has_threads(facts)});
    }
    PathChoice choice = choose(facts);
    if (facts.probe)
        choice.reason += fmt::format("; MPI's windows were tried in {:.1f} ms",
                                     std::chrono::duration<double, std::milli>{facts.probe->taken}.count());
    return {std::move(topology), std::move(choice), agreed.team_number};
}

mpi::ProbeResult try_windows(mpi::ProbeRequest request) {
    request.sleep_outside_mpi = [](std::chrono::microseconds time, std::int64_t* asleep) {
        messages::ProgressThread::instance().sleep_outside_mpi(time, asleep); // that of other teams
    };
    mpi::ProbeResult result = mpi::probe_windows(request);
    // A window stays, and where it hangs, a thread in MPI.
    const int unfreed = mpi::TrialWindow::take_unfreed() + (result.hangs ? 1 : 0);
    if (unfreed > 0) TeamRegistry::unfreed_windows().fetch_add(unfreed, std::memory_order_relaxed);
    return result;
}

} // namespace lapwing::detail::team
