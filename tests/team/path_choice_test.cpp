// Which path a team takes, depending on the settings and on what works.
#include "src/team/path_choice.hpp"

#include <lapwing/error.hpp>

#include "support/catch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::team;

namespace {

enum class Windows { fail, emulated, native, idle_target };

constexpr std::string_view failure = "MPI_Win_allocate failed";

detail::mpi::ProbeResult probe_of(Windows windows) {
    if (windows == Windows::fail) return {.works = false, .reason = std::string{failure}};
    return {.works = true,
            .reason = "",
            .emulated = windows == Windows::emulated,
            .target_idle = windows == Windows::idle_target,
            .atomics = detail::mpi::TrustedAtomics::all()};
}

/// Three ranks on two nodes, and MPI_THREAD_MULTIPLE.
PathFacts facts_of(std::optional<Path> path, Windows windows, SmallTransfers small = SmallTransfers::automatic) {
    PathFacts facts{.who = "rank 2 of 3",
                    .asked = {.path = path, .small = small, .packet_bytes = 8000},
                    .thread_level = MPI_THREAD_MULTIPLE,
                    .nodes = 2};
    if (needs_probe(facts)) facts.probe = probe_of(windows);
    return facts;
}

PathFacts without_threads(PathFacts facts) {
    facts.thread_level = MPI_THREAD_SERIALIZED;
    return facts;
}

std::string refusal_of(const PathFacts& facts) {
    try {
        (void)choose(facts);
    } catch (const SettingError& error) {
        return error.what();
    }
    return "";
}

constexpr std::optional<Path> any_path{};
const std::string works = "windows work between the nodes";
const std::string emulates =
    "MPI makes messages of windows' operations between the nodes, and Lapwing's own are faster";
const std::string asked_rma = "LAPWING_PATH=rma";
const std::string asked_service = "LAPWING_PATH=service";
const std::string small_too = "; small operations as messages (LAPWING_RMA_SMALL)";
const std::string idle = "; gets and puts need no progress of their target";

/// With progress threads.
struct Row {
    std::optional<Path> path;
    Windows windows;
    SmallTransfers small;
    Path network;
    bool small_by_messages;
    bool data_needs_no_target;
    std::string reason;
};

std::vector<Row> rows() {
    using enum Windows;
    using enum SmallTransfers;
    const std::string failed{failure};
    return {
        {any_path, fail, automatic, Path::service, false, false, failed},
        {any_path, fail, by_mpi, Path::service, false, false, failed},
        {any_path, fail, by_messages, Path::service, true, false, failed},
        {any_path, emulated, automatic, Path::service, true, false, emulates},
        {any_path, emulated, by_mpi, Path::rma, false, false, works},
        {any_path, emulated, by_messages, Path::rma, true, false, works + small_too},
        {any_path, native, automatic, Path::rma, false, false, works},
        {any_path, native, by_mpi, Path::rma, false, false, works},
        {any_path, native, by_messages, Path::rma, true, false, works + small_too},
        {any_path, idle_target, automatic, Path::rma, false, true, works + idle},
        {any_path, idle_target, by_mpi, Path::rma, false, true, works + idle},
        {any_path, idle_target, by_messages, Path::rma, true, true, works + small_too + idle},
        {Path::rma, emulated, automatic, Path::rma, true, false, asked_rma + small_too},
        {Path::rma, emulated, by_mpi, Path::rma, false, false, asked_rma},
        {Path::rma, emulated, by_messages, Path::rma, true, false, asked_rma + small_too},
        {Path::rma, native, automatic, Path::rma, false, false, asked_rma},
        {Path::rma, native, by_mpi, Path::rma, false, false, asked_rma},
        {Path::rma, native, by_messages, Path::rma, true, false, asked_rma + small_too},
        {Path::rma, idle_target, automatic, Path::rma, false, true, asked_rma + idle},
        {Path::rma, idle_target, by_messages, Path::rma, true, true, asked_rma + small_too + idle},
        {Path::service, native, automatic, Path::service, false, false, asked_service},
        {Path::service, native, by_mpi, Path::service, false, false, asked_service},
        {Path::service, native, by_messages, Path::service, true, false, asked_service},
    };
}

} // namespace

TEST_CASE("the path between nodes follows the settings and how windows work") {
    for (const Row& row : rows()) {
        INFO("path " << (row.path ? name(*row.path) : "auto") << ", windows " << static_cast<int>(row.windows)
                     << ", small " << static_cast<int>(row.small));
        const PathFacts facts = facts_of(row.path, row.windows, row.small);
        const PathChoice choice = choose(facts);
        CHECK(choice.network == row.network);
        CHECK(choice.progress == ProgressMode::thread);
        CHECK(choice.small_by_messages == row.small_by_messages);
        CHECK(choice.data_needs_no_target == row.data_needs_no_target);
        CHECK(choice.reason == row.reason);
        CHECK(choice.packet_bytes == 8000);

        // Nobody answers messages while a rank waits in MPI: windows are used where they work at all.
        const PathChoice alone = choose(without_threads(facts));
        CHECK(alone.progress == ProgressMode::caller);
        CHECK_FALSE(alone.small_by_messages);
        CHECK(alone.network == (row.path == Path::service || row.windows == Windows::fail ? Path::service : Path::rma));
        CHECK(alone.data_needs_no_target == (alone.network == Path::rma && row.windows == Windows::idle_target));
    }
}

TEST_CASE("on one node the path is direct, whatever is asked for") {
    for (const auto path :
         {any_path, std::optional{Path::direct}, std::optional{Path::rma}, std::optional{Path::service}}) {
        PathFacts facts = facts_of(path, Windows::fail);
        facts.nodes = 1;
        facts.probe.reset();
        CHECK_FALSE(needs_probe(facts));
        const PathChoice choice = choose(facts);
        CHECK(choice.network == Path::direct);
        CHECK_FALSE(choice.small_by_messages);
        CHECK_FALSE(choice.data_needs_no_target);
        CHECK(choice.reason == "all ranks are on one node");
    }
}

TEST_CASE("windows are tried only where the choice depends on them") {
    const auto tried = [](std::optional<Path> path) { return needs_probe(facts_of(path, Windows::native)); };
    CHECK(tried(any_path));
    CHECK(tried(Path::rma));
    CHECK_FALSE(tried(Path::direct));
    CHECK_FALSE(tried(Path::service));
    PathFacts refused = without_threads(facts_of(any_path, Windows::native));
    refused.asked.progress = ProgressMode::thread;
    CHECK_FALSE(needs_probe(refused));
}

TEST_CASE("a setting that asks for what does not work is refused") {
    CHECK(refusal_of(facts_of(Path::direct, Windows::native)) ==
          "rank 2 of 3: Team: LAPWING_PATH=direct needs all ranks on one node, and there are 2 nodes; use auto, rma or "
          "service");
    CHECK(refusal_of(facts_of(Path::rma, Windows::fail)) ==
          "rank 2 of 3: Team: LAPWING_PATH=rma, but MPI windows do not work here: MPI_Win_allocate failed; use auto or "
          "service");
    PathFacts facts = facts_of(Path::service, Windows::native);
    facts.thread_level = MPI_THREAD_SINGLE;
    CHECK(refusal_of(facts).empty());
    facts.asked.progress = ProgressMode::thread;
    CHECK(refusal_of(facts) ==
          "rank 2 of 3: Team: LAPWING_PROGRESS=thread needs MPI_THREAD_MULTIPLE, and MPI provides level " +
              std::to_string(MPI_THREAD_SINGLE) +
              "; initialise MPI with MPI_Init_thread(MPI_THREAD_MULTIPLE), or leave the setting at auto");
    facts.nodes = 1;
    CHECK_FALSE(refusal_of(facts).empty());
}

TEST_CASE("progress is made by a thread where MPI permits and nobody asks for callers") {
    PathFacts facts = facts_of(Path::service, Windows::native);
    CHECK(choose(facts).progress == ProgressMode::thread);
    facts.asked.progress = ProgressMode::thread;
    CHECK(choose(facts).progress == ProgressMode::thread);
    facts.asked.progress = ProgressMode::caller;
    CHECK(choose(facts).progress == ProgressMode::caller);
    facts.asked.small = SmallTransfers::by_messages;
    CHECK_FALSE(choose(facts).small_by_messages);
}

TEST_CASE("what was found on the way is passed on and said") {
    PathFacts facts = facts_of(any_path, Windows::native);
    CHECK(choose(facts).atomics.suffice());
    facts.split = detail::mpi::MachineSplit::joined;
    CHECK(choose(facts).reason ==
          "MPI puts ranks of one machine on several nodes, and Lapwing shares their memory by itself; " + works);
    facts.memory_problem = "rank 3: memfd_create failed";
    CHECK(choose(facts).reason ==
          "MPI allocates the memory of a node, since Lapwing's own cannot be had (rank 3: memfd_create failed); " +
              works);
    facts.shares_memory = false;
    CHECK(choose(facts).reason == "the ranks of a machine cannot share memory (rank 3: memfd_create failed), so every "
                                  "rank is a node of its own; " +
                                      works);
}

TEST_CASE("of MPI's atomics those are used that are right, if all others can be made of them") {
    PathFacts facts = facts_of(any_path, Windows::native);
    facts.probe->atomics.distrust_fetch(detail::mpi::AtomicOperation::bit_and, detail::mpi::AtomicType::int64);
    facts.probe->doubt = "MPI_BAND of int64 left a wrong value";
    PathChoice choice = choose(facts);
    CHECK(choice.network == Path::rma);
    CHECK(choice.atomics.suffice());
    CHECK_FALSE(choice.atomics.fetches(detail::mpi::AtomicOperation::bit_and, detail::mpi::AtomicType::int64));
    CHECK(choice.atomics.fetches(detail::mpi::AtomicOperation::bit_and, detail::mpi::AtomicType::uint64));
    CHECK(choice.reason ==
          works + "; some atomics are loops of compare-and-swap (MPI_BAND of int64 left a wrong value)");

    facts.probe->atomics.distrust_swaps(detail::mpi::AtomicType::float64);
    choice = choose(facts);
    CHECK(choice.network == Path::rma);
    CHECK_FALSE(choice.atomics.suffice());
    CHECK(choice.reason == works + "; no atomics of MPI's (MPI_BAND of int64 left a wrong value)");
}
