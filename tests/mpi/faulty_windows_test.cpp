// An MPI one of whose one-sided operations is wrong, slow, fails or never returns: the trial of its windows finds it,
// whichever it is, and programs get the right values.
#include "mpi/faulty_mpi.hpp"
#include "src/mpi/components.hpp"
#include "src/mpi/creation_lock.hpp"
#include "src/mpi/probe.hpp"
#include "src/mpi/topology.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/mpi/window_trial.hpp"
#include "src/support/mpi_kind.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <unistd.h>

namespace {

/// In shared memory, operations of these wait for their target, and some atomics are wrong without a fault of ours.
#if (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000) || \
    (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
constexpr bool waits_for_targets = true;
#else
constexpr bool waits_for_targets = false;
#endif

using lapwing::Offset;
using lapwing::Path;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::Window;
using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;
using lapwing::detail::mpi::WindowKind;
using test::Call;
using test::Fault;
using test::FaultInPlace;
using test::How;

/// TEST_NODE says what a node is.
std::string node() {
    const char* const set = std::getenv("TEST_NODE");
    return set != nullptr ? set : "each";
}
Settings any_path() { return {{"LAPWING_NODE", node()}, {"LAPWING_CALIBRATE", "0"}}; }
Settings windows() {
    return {
        {"LAPWING_NODE", node()}, {"LAPWING_CALIBRATE", "0"}, {"LAPWING_PATH", "rma"}, {"LAPWING_RMA_SMALL", "mpi"}};
}

/// Each of them; TEST_EVERY=n: each n-th, of which the first.
std::vector<Fault> chosen(const std::vector<Fault>& faults) {
    const auto every = static_cast<std::size_t>(test::number_from_environment("TEST_EVERY", 1));
    std::vector<Fault> some;
    for (std::size_t i = 0; i < faults.size(); i += every) some.push_back(faults[i]);
    return some;
}

/// How long the trial says it took, in ms. Its own bound is 50 ms for two ranks; on a busy machine either rank may wait
/// for a processor in each of its barriers.
double time_of_trial(const Runtime& runtime) {
    const std::string report = runtime.report();
    const std::string before = "MPI's windows were tried in ";
    const std::size_t at = report.find(before);
    INFO(report);
    REQUIRE(test::on_all_ranks(at != std::string::npos));
    return std::strtod(report.c_str() + at + before.size(), nullptr);
}

/// Each operation of T on the next rank's value, checked against the processor's.
template <class T>
void check_atomics(Runtime& runtime, Window& window, T before, T operand) {
    const Rank to = test::next(runtime);
    const lapwing::AtomicReference<T> value = window.atomic<T>(to, Offset{8});
    const auto check = [&](T found, T after) {
        CHECK(found == before);
        CHECK(window.get<T>(to, Offset{8}) == after);
        window.put(to, Offset{8}, before);
        window.flush();
    };
    window.put(to, Offset{8}, before);
    window.flush();
    check(value.fetch_add(operand), static_cast<T>(before + operand));
    check(value.fetch_min(operand), std::min(before, operand));
    check(value.fetch_max(operand), std::max(before, operand));
    check(value.exchange(operand), operand);
    check(value.load(), before);
    check(value.compare_swap(operand, T{0}), before);
    check(value.compare_swap(before, operand), operand);
    if constexpr (std::is_integral_v<T>) {
        check(value.fetch_and(operand), before & operand);
        check(value.fetch_or(operand), before | operand);
        check(value.fetch_xor(operand), before ^ operand);
    }
}

/// A program that works whatever MPI does.
void use(Runtime& runtime) {
    Window window{runtime, 1 << 17};
    check_atomics(runtime, window, std::int32_t{-5}, std::int32_t{9});
    check_atomics(runtime, window, std::uint32_t{0x9abcdef0}, std::uint32_t{0x07654321});
    check_atomics(runtime, window, std::int64_t{-5}, std::int64_t{0x0fedcba987654321});
    check_atomics(runtime, window, ~std::uint64_t{5}, std::uint64_t{0x123456789});
    check_atomics(runtime, window, 1.5F, -2.25F);
    check_atomics(runtime, window, -7.0, -7.5);
    runtime.barrier();
    std::vector<std::int32_t> values(20'000, runtime.rank().value);
    const Rank to = test::next(runtime);
    lapwing::Completion put = window.start_put(to, Offset{64}, std::span<const std::int32_t>{values});
    put.wait();
    runtime.barrier();
    lapwing::Completion get = window.start_get(runtime.rank(), Offset{64}, std::span{values});
    get.wait();
    CHECK(std::ranges::count(values, test::previous(runtime).value) == std::ssize(values));
    window.get(to, Offset{64}, std::span{values});
    CHECK(std::ranges::count(values, runtime.rank().value) == std::ssize(values));
    runtime.barrier();
}

} // namespace

namespace {

/// While it lives, windows over shared memory are fast enough for a program that leaves the path open.
class WindowsFoundFast {
public:
    WindowsFoundFast() { longest_ = limit().exchange(std::chrono::microseconds{100}); }
    ~WindowsFoundFast() { limit() = longest_; }
    WindowsFoundFast(const WindowsFoundFast&) = delete;
    WindowsFoundFast& operator=(const WindowsFoundFast&) = delete;

    /// In one of several starts: a busy machine interrupts as well.
    [[nodiscard]] static bool chosen() {
        for (int start = 0; start < 10; ++start)
            if (Runtime{MPI_COMM_WORLD, any_path()}.network_path() == Path::rma) return true;
        return false;
    }

private:
    static std::atomic<std::chrono::nanoseconds>& limit() {
        return lapwing::detail::mpi::WindowTrial::longest_operation();
    }
    std::chrono::nanoseconds longest_;
};

} // namespace

TEST_CASE("without a fault the path rma works, and its atomics are found right") {
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.network_path() == Path::rma);
    use(runtime);
}

TEST_CASE("a trial has a bound") {
    for (const Settings& settings : {any_path(), windows()}) {
        bool bounded = false;
        for (int start = 0; start < 10 && !bounded; ++start) {
            const Runtime runtime{MPI_COMM_WORLD, settings};
            bounded = test::on_all_ranks(time_of_trial(runtime) < 200);
        }
        CHECK(bounded);
    }
}

TEST_CASE("windows whose data is wrong, or whose calls fail, are refused where the program asks for them, by name") {
    for (const Fault& fault : test::faults_of_windows()) {
        if (fault.how == How::slow) continue; // which a program may want all the same
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, windows()}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", test::name_of(fault.call)}));
    }
}

TEST_CASE("where the program leaves it open, messages take the place of windows that are wrong, slow or fail") {
    for (const Fault& fault : chosen(test::faults_of_windows())) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, any_path()};
        CHECK(runtime.network_path() == Path::service);
        CHECK(time_of_trial(runtime) < 5000);
        use(runtime);
    }
}

TEST_CASE("fast windows are chosen where they do what they should") {
    const WindowsFoundFast fast;
    CHECK(WindowsFoundFast::chosen());
    for (const Fault& fault : chosen(test::faults_of_windows())) {
        if (fault.how == How::slow) continue; // but not for this limit
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, any_path()};
        CHECK(runtime.network_path() == Path::service);
        use(runtime);
    }
    for (const How how : {How::wrong, How::slow}) {
        const Fault fault{Call::fetch, how, AtomicOperation::bit_and, AtomicType::uint64};
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        CHECK(WindowsFoundFast::chosen());
        Runtime runtime{MPI_COMM_WORLD, any_path()};
        CHECK_FALSE(runtime.state().paths().atomics.fetches(*fault.operation, *fault.type));
        use(runtime);
    }
}

TEST_CASE("windows that are hardly faster than messages are left to them each time") {
    for (const Call call : {Call::get, Call::put, Call::rget, Call::rput})
        for (int time = 0; time < 3; ++time) {
            const Fault fault{call, How::spins};
            INFO(test::name_of(fault));
            const FaultInPlace faulty{fault};
            const Runtime runtime{MPI_COMM_WORLD, any_path()};
            CHECK(runtime.network_path() == Path::service);
        }
}

TEST_CASE("a connection that takes its time, or one interruption, does not leave fast windows to messages",
          "[.interrupted]") {
    const WindowsFoundFast fast;
    constexpr int of_a_batch = 64;
    for (const Call call : {Call::get, Call::put, Call::rget, Call::rput})
        for (const int before : {0, of_a_batch + 5}) {
            bool chosen = false;
            // Other processes may interrupt a start, too.
            for (int start = 0; start < 50 && !chosen; ++start) {
                const FaultInPlace faulty{{.call = call, .how = How::pauses_once, .rank = 0, .calls_before = before}};
                chosen = Runtime{MPI_COMM_WORLD, any_path()}.network_path() == Path::rma;
            }
            INFO(test::name_of(call) << ", " << before << " calls before the pause");
            CHECK(chosen);
        }
}

TEST_CASE("without progress threads no atomic is too slow, since messages would wait for their target") {
    namespace mpi = lapwing::detail::mpi;
    const mpi::ProbeRequest request{
        .communicator = MPI_COMM_WORLD,
        .topology = std::make_shared<mpi::Topology>(MPI_COMM_WORLD, mpi::NodeMode::each),
        .thread_level = MPI_THREAD_MULTIPLE,
        .sleep_outside_mpi = [](std::chrono::microseconds time, std::int64_t*) { std::this_thread::sleep_for(time); },
        .emulated_too = true,
        .progress_threads = false};
    const bool crashes = mpi::compare_and_swap_crashes();
    Settings settings = any_path();
    settings.set("LAPWING_PROGRESS", "caller");
    for (const Call call : {Call::fetch, Call::swap})
        for (const How how : {How::slow, How::ends_slowly, How::wrong}) {
            if (call == Call::swap && crashes) continue;
            const Fault fault{call, how, std::nullopt, AtomicType::int64};
            INFO(test::name_of(fault));
            const FaultInPlace faulty{fault};
            const auto trusts = [call](const mpi::TrustedAtomics& atomics) {
                return call == Call::swap ? atomics.swaps(AtomicType::int64)
                                          : atomics.fetches(AtomicOperation::add, AtomicType::int64);
            };
            CHECK(trusts(mpi::probe_windows(request).atomics) == (how != How::wrong));
            if (crashes) continue; // and a team uses no atomic of MPI's
            const Runtime runtime{MPI_COMM_WORLD, settings};
            CHECK(runtime.network_path() == Path::rma);
            CHECK(trusts(runtime.state().paths().atomics) == (how != How::wrong));
            // A window of another kind than the one that was tried first.
            CHECK(trusts(runtime.state().try_windows(WindowKind::created, false).atomics) == (how != How::wrong));
        }
}

namespace {

/// Of operations on targets that sleep alone; none: those work as well.
std::optional<Fault> fault_of_sleep;

/// Between its attempts, a rank whose partner sleeps calls this without a flag.
void sleep_outside_mpi(std::chrono::microseconds time, std::int64_t* asleep) {
    if (asleep == nullptr && fault_of_sleep) test::break_mpi(*fault_of_sleep);
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(1);
    std::this_thread::sleep_for(time);
    if (asleep != nullptr) std::atomic_ref{*asleep}.store(0);
}

/// Tries fast windows, with this fault of operations on targets that sleep.
lapwing::detail::mpi::ProbeResult try_sleep(std::optional<Fault> fault) {
    namespace mpi = lapwing::detail::mpi;
    fault_of_sleep = fault;
    auto result = mpi::probe_windows({.communicator = MPI_COMM_WORLD,
                                      .topology = std::make_shared<mpi::Topology>(MPI_COMM_WORLD, mpi::NodeMode::each),
                                      .thread_level = MPI_THREAD_MULTIPLE,
                                      .sleep_outside_mpi = sleep_outside_mpi,
                                      .emulated_too = true});
    test::repair_mpi();
    test::world_barrier();
    return result;
}

} // namespace

TEST_CASE("operations that are wrong, or wait, while their target is outside MPI are found") {
    const WindowsFoundFast fast;
    // On a busy machine the partner may have woken before anything is tried.
    const auto becomes = [](std::optional<Fault> fault, auto&& expected) {
        for (int time = 0; time < 10; ++time)
            if (expected(try_sleep(fault))) return true;
        return false;
    };
    const bool idle = becomes(std::nullopt, [](const auto& result) { return result.works && result.target_idle; });
    if (waits_for_targets && !idle) return;
    CHECK(idle);
    CHECK(
        becomes(Fault{Call::put, How::waits}, [](const auto& result) { return result.works && !result.target_idle; }));
    CHECK(becomes(Fault{Call::put, How::wrong}, [](const auto& result) {
        return !result.works &&
               test::says({"MPI_Put wrote a wrong value while the target was outside MPI"}).match(result.reason);
    }));
    if (lapwing::detail::mpi::compare_and_swap_crashes()) return; // and no atomic is used
    const Fault of_xor{Call::fetch, How::wrong, AtomicOperation::bit_xor, AtomicType::int64};
    CHECK(becomes(of_xor, [](const auto& result) {
        return result.works && !result.atomics.fetches(AtomicOperation::bit_xor, AtomicType::int64) &&
               result.atomics.fetches(AtomicOperation::bit_or, AtomicType::int64) &&
               test::says({"MPI_BXOR of int64"}).match(result.doubt);
    }));
}

TEST_CASE("a rank whose neighbours' memory is not to be had, or is another's, is a node of its own") {
    Settings by_memory = any_path();
    by_memory.set("LAPWING_NODE", "auto");
    by_memory.set("LAPWING_NODE_MEMORY", "mpi");
    for (const How how : {How::fails, How::wrong}) {
        const Fault fault{Call::allocate_shared, how};
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, by_memory};
        CHECK(runtime.path(test::next(runtime)) != Path::direct);
        CHECK_THAT(runtime.report(), test::says({"the ranks of a machine cannot share memory (rank "}));
        use(runtime);
    }
}

TEST_CASE("a trial whose window cannot be created gives back its node's memory", "[ranks]") {
    Settings pairs = any_path();
    pairs.set("LAPWING_NODE", "pair");
    pairs.set("LAPWING_NODE_MEMORY", "mpi");
    const int before = test::living_windows();
    {
        const FaultInPlace faulty{{Call::create, How::fails}};
        Runtime runtime{MPI_COMM_WORLD, pairs};
        CHECK(runtime.network_path() == Path::service);
        use(runtime);
    }
    CHECK(test::living_windows() == before);
    // Others stop in MPI_Finalize where a window was not freed.
    if (lapwing::detail::support::mpi_kind != lapwing::detail::support::MpiKind::open_mpi) return;
    const int unfreed = lapwing::detail::team::TeamRegistry::unfreed_windows().load();
    {
        const FaultInPlace faulty{{.call = Call::create, .how = How::fails, .rank = 1}};
        Runtime runtime{MPI_COMM_WORLD, pairs};
        CHECK(runtime.network_path() == Path::service);
        CHECK(lapwing::detail::team::TeamRegistry::unfreed_windows().load() == unfreed + 1);
        use(runtime);
    }
}

TEST_CASE("windows are not tried where /dev/shm has no room for it", "[ranks]") {
    Settings pairs = any_path();
    pairs.set("LAPWING_NODE", "pair");
    pairs.set("LAPWING_NODE_MEMORY", "mpi");
    {
        const test::SharedMemoryLeft little{100'000};
        const Runtime runtime{MPI_COMM_WORLD, pairs};
        CHECK(runtime.network_path() == Path::service);
        CHECK_THAT(runtime.report(), test::says({"windows were not tried", "bytes of /dev/shm"}));
        pairs.set("LAPWING_PATH", "rma");
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime other{MPI_COMM_WORLD, pairs}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", "windows were not tried"}));
    }
    const Runtime runtime{MPI_COMM_WORLD, pairs};
    CHECK(runtime.network_path() == Path::rma);
    for (const WindowKind kind : {WindowKind::allocated, WindowKind::created_over_shared}) {
        const test::SharedMemoryLeft little{100'000};
        CHECK_THAT(runtime.state().try_windows(kind, kind == WindowKind::allocated).reason,
                   test::says({"windows were not tried", "bytes of /dev/shm"}));
    }
}

// By name, since it takes longer than a trial is watched for, where it waits for nobody.
TEST_CASE("a trial waits its turn to create a window while another job has it", "[.turn]") {
    MPI_Comm team = MPI_COMM_NULL;
    const bool in_team = test::world_rank() + 1 < test::world_size();
    MPI_Comm_split(MPI_COMM_WORLD, in_team ? 0 : 1, 0, &team);
    lapwing::detail::mpi::MachineName name{"lapwing-window-creation-" + std::to_string(getuid())};
    if (!in_team) CHECK(name.take());
    test::world_barrier();
    if (in_team) {
        Runtime runtime{team, windows()};
        CHECK(runtime.network_path() == Path::rma);
    } else {
        std::this_thread::sleep_for(std::chrono::seconds{12});
        name.give_back();
    }
    MPI_Comm_free(&team);
}

TEST_CASE("a fault on one rank is found by all", "[ranks]") {
    std::vector<Fault> faults{{Call::get, How::wrong},
                              {Call::put, How::wrong},
                              {Call::rput, How::early},
                              {Call::flush, How::undelivered},
                              {Call::flush, How::fails}};
    if (node() != "pair") // where the ranks of a node share windows, messages do not do without these
        faults.insert(faults.end(), {{Call::lock_all, How::fails}, {Call::unlock_all, How::fails}});
    // Others stop in MPI_Finalize where a window was not freed.
    if (lapwing::detail::support::mpi_kind == lapwing::detail::support::MpiKind::open_mpi)
        faults.push_back({node() == "pair" ? Call::create : Call::allocate, How::fails});
    int rank = 0;
    for (Fault fault : faults) {
        rank = test::world_size() - 1 - rank; // the first and the last in turns
        fault.rank = rank;
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        {
            Runtime runtime{MPI_COMM_WORLD, any_path()};
            REQUIRE(test::on_all_ranks(runtime.network_path() == Path::service));
            use(runtime);
        }
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, windows()}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", test::name_of(fault.call)}));
    }
}

TEST_CASE("an atomic that is wrong on one rank is used by none", "[ranks]") {
    for (Fault fault : {Fault{Call::fetch, How::wrong, AtomicOperation::bit_and, AtomicType::uint64},
                        Fault{Call::fetch, How::wrong_result, AtomicOperation::max, AtomicType::uint64},
                        Fault{Call::accumulate, How::wrong, AtomicOperation::bit_xor, AtomicType::uint32},
                        Fault{Call::swap, How::wrong, std::nullopt, AtomicType::int32}}) {
        for (const int rank : {0, test::world_size() - 1}) {
            fault.rank = rank;
            INFO(test::name_of(fault));
            const FaultInPlace faulty{fault};
            Runtime runtime{MPI_COMM_WORLD, windows()};
            CHECK(runtime.network_path() == Path::rma);
            const auto& trusted = runtime.state().paths().atomics;
            CHECK_FALSE(
                (fault.call == Call::swap ? trusted.suffice() : trusted.fetches(*fault.operation, *fault.type)));
            use(runtime);
        }
    }
}

TEST_CASE("memory over that of a node's ranks is tried where they share it", "[ranks]") {
    if (node() != "pair") return;
    for (const Fault& fault : {Fault{Call::create, How::fails}, Fault{Call::get, How::wrong}}) {
        const FaultInPlace faulty{fault};
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, windows()}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", test::name_of(fault.call)}));
    }
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.state().paths().windows == WindowKind::created_over_shared);
    use(runtime);
}

TEST_CASE("windows of programs are tried by their kind and displacement unit, and no atomic of theirs is too slow") {
    Runtime runtime{MPI_COMM_WORLD, any_path()};
    struct Kind {
        WindowKind kind;
        int unit;
    };
    for (const auto& [kind, unit] :
         {Kind{WindowKind::created, 8}, Kind{WindowKind::allocated, 1}, Kind{WindowKind::shared, 8}}) {
        const auto adopt = [&runtime, kind = kind, unit = unit] {
            return runtime.state().try_windows(kind, true, unit);
        };
        INFO("kind " << static_cast<int>(kind) << ", unit " << unit);
        const auto right = adopt();
        CHECK(right.works);
        CHECK(right.reason.empty());
        CHECK(right.kind == kind);
        CHECK(right.atomics.fetches(AtomicOperation::add, AtomicType::int64));
        for (const Fault& fault :
             {Fault{Call::put, How::wrong}, Fault{Call::flush, How::undelivered}, Fault{Call::rput, How::early}}) {
            INFO(test::name_of(fault));
            const FaultInPlace faulty{fault};
            const auto wrong = adopt();
            CHECK_FALSE(wrong.works);
            CHECK_THAT(wrong.reason, test::says({test::name_of(fault.call)}));
        }
        for (const How how : {How::slow, How::ends_slowly, How::wrong}) {
            const Fault fault{Call::fetch, how, AtomicOperation::add, AtomicType::int64};
            INFO(test::name_of(fault));
            const FaultInPlace faulty{fault};
            CHECK(adopt().atomics.fetches(AtomicOperation::add, AtomicType::int64) == (how != How::wrong));
        }
    }
}

TEST_CASE("an atomic that is wrong, fails or is slow is not used, whichever it is") {
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.network_path() == Path::rma);
    for (const Fault& fault : chosen(test::faults_of_fetches())) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        const auto found = runtime.state().try_windows(WindowKind::allocated, false);
        CHECK(found.works);
        CHECK_FALSE(found.atomics.fetches(*fault.operation, *fault.type));
        CHECK_THAT(found.doubt, test::says({"MPI_"}));
    }
    // What a window makes of it; the random programs of faulty_programs_test have every fault.
    for (const How how : {How::wrong, How::wrong_result, How::fails}) {
        const Fault fault{Call::fetch, how, AtomicOperation::bit_and, AtomicType::uint64};
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime other{MPI_COMM_WORLD, windows()};
        CHECK_FALSE(other.state().paths().atomics.fetches(*fault.operation, *fault.type));
        use(other);
    }
}

TEST_CASE("an atomic that does not add at its owner is not used") {
    const FaultInPlace faulty{{Call::accumulate, How::wrong, AtomicOperation::bit_xor, AtomicType::uint32}};
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK_FALSE(runtime.state().paths().atomics.fetches(AtomicOperation::bit_xor, AtomicType::uint32));
    use(runtime);
}

TEST_CASE("atomics that lose each other's changes, or pass each other, are not used") {
    if (lapwing::detail::mpi::compare_and_swap_crashes()) return; // and none is used
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.state().paths().atomics.suffice());
    for (const auto& [call, how, doubt] :
         {std::tuple{Call::fetch, How::torn, "lost each other's changes"},
          std::tuple{Call::accumulate, How::passed, "did not come one after another"}}) {
        const Fault fault{call, how, AtomicOperation::add, AtomicType::int64};
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        // As a program's own, whose atomics may be slow. On a busy machine the ranks may work on the value one after
        // the other.
        const auto try_again = [&] { return runtime.state().try_windows(WindowKind::allocated, true); };
        auto found = try_again();
        for (int time = 1; time < 20 && found.atomics.suffice(); ++time) found = try_again();
        CHECK_FALSE(found.atomics.suffice());
        CHECK_THAT(found.doubt, test::says({doubt}));
    }
}

TEST_CASE("without compare-and-swap all atomics are messages") {
    Runtime runtime{MPI_COMM_WORLD, windows()};
    for (const Fault& fault : chosen(test::faults_of_swaps())) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        CHECK_FALSE(runtime.state().try_windows(WindowKind::allocated, false).atomics.suffice());
    }
    const FaultInPlace faulty{{Call::swap, How::wrong, std::nullopt, AtomicType::int64}};
    Runtime other{MPI_COMM_WORLD, windows()};
    CHECK(other.network_path() == Path::rma);
    CHECK_FALSE(other.state().paths().atomics.suffice());
    use(other);
}

// Last: what hangs stays in the process. By name, since it takes as long as the trial waits; TEST_HANGS says which
// call.
TEST_CASE("a call that never returns keeps nobody", "[.hangs]") {
    const char* const name = std::getenv("TEST_HANGS");
    const char* const on = std::getenv("TEST_HANGS_ON");
    const int rank = on != nullptr ? std::atoi(on) : -1;
    Settings by_messages = any_path();
    by_messages.set("LAPWING_PATH", "service");
    Settings by_windows = windows();
    by_windows.set("LAPWING_PROGRESS", "caller"); // or there might be no time for atomics
    for (const Call what :
         {Call::get, Call::put, Call::rget, Call::rput, Call::fetch, Call::swap, Call::accumulate, Call::flush,
          Call::flush_local, Call::flush_all, Call::lock_all, Call::allocate, Call::create}) {
        if (name == nullptr || test::name_of(what) != name) continue;
        if (what == Call::swap && lapwing::detail::mpi::compare_and_swap_crashes()) return test::skip();
        const FaultInPlace faulty{{.call = what, .how = How::hangs, .rank = rank}};
        // The first rank says what it waits for, which may be an operation at one that hangs.
        const std::string call = rank > 0 || waits_for_targets ? "" : test::name_of(what);
        if (what == Call::create) { // by the kind, since MPI may have aligned what it has allocated
            const Runtime runtime{MPI_COMM_WORLD, by_messages};
            const auto found = runtime.state().try_windows(WindowKind::created, true);
            CHECK(found.hangs);
            CHECK_THAT(found.reason, test::says({call, "had not returned after"}));
        } else {
            CHECK_THAT(
                test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, by_windows}; }),
                test::says({call, "had not returned after"}));
        }
        if (rank < 0 || rank == test::world_rank()) {
            CHECK(lapwing::detail::mpi::abandoned_calls() == 1);
            CHECK_FALSE(lapwing::detail::team::TeamRegistry::instance().can_finalize()); // that thread is in MPI
        }
        test::repair_mpi();
        {
            Runtime runtime{MPI_COMM_WORLD, by_messages};
            use(runtime);
        }
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
        while (lapwing::detail::mpi::abandoned_calls() > 0 && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        CHECK(lapwing::detail::mpi::abandoned_calls() == 0);
        CHECK(lapwing::detail::team::TeamRegistry::instance().can_finalize());
        return;
    }
    FAIL("TEST_HANGS is none of the calls");
}
