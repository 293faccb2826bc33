// An MPI one of whose one-sided operations is wrong, slow, fails or never returns: the trial of its windows finds it,
// whichever it is, and programs get the right values.
#include "mpi/faulty_mpi.hpp"
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Path;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::Window;
using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;
using test::Call;
using test::Fault;
using test::FaultInPlace;
using test::How;

Settings any_path() { return {{"LAPWING_NODE", "each"}, {"LAPWING_CALIBRATE", "0"}}; }
Settings windows() {
    return {
        {"LAPWING_NODE", "each"}, {"LAPWING_CALIBRATE", "0"}, {"LAPWING_PATH", "rma"}, {"LAPWING_RMA_SMALL", "mpi"}};
}

/// Each operation of T on the next rank's value, checked against the processor's.
template <class T>
void check_atomics(Runtime& runtime, Window& window, T before, T operand) {
    const Rank to = test::next(runtime);
    const auto check = [&](T found, T after) {
        CHECK(found == before);
        CHECK(window.get<T>(to, Offset{8}) == after);
        window.put(to, Offset{8}, before);
        window.flush();
    };
    window.put(to, Offset{8}, before);
    window.flush();
    check(window.fetch_add(to, Offset{8}, operand), static_cast<T>(before + operand));
    check(window.fetch_min(to, Offset{8}, operand), std::min(before, operand));
    check(window.fetch_max(to, Offset{8}, operand), std::max(before, operand));
    check(window.swap(to, Offset{8}, operand), operand);
    check(window.atomic_read<T>(to, Offset{8}), before);
    check(window.compare_swap(to, Offset{8}, operand, T{0}), before);
    check(window.compare_swap(to, Offset{8}, before, operand), operand);
    if constexpr (std::is_integral_v<T>) {
        check(window.fetch_and(to, Offset{8}, operand), before & operand);
        check(window.fetch_or(to, Offset{8}, operand), before | operand);
        check(window.fetch_xor(to, Offset{8}, operand), before ^ operand);
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

TEST_CASE("without a fault the path rma works, and its atomics are found right") {
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.network_path() == Path::rma);
    use(runtime);
}

TEST_CASE("windows whose data is wrong, or whose calls fail, are refused where the program asks for them, by name") {
    for (const Fault& fault : test::faults_of_windows()) {
        if (fault.how == How::slow || fault.call == Call::flush_local)
            continue; // which a program may want all the same
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, windows()}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", test::name_of(fault.call)}));
    }
}

TEST_CASE("where the program leaves it open, messages take the place of windows that are wrong, slow or fail") {
    for (const Fault& fault : test::faults_of_windows()) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, any_path()};
        CHECK(runtime.network_path() == Path::service);
        use(runtime);
    }
}

TEST_CASE("an atomic that is wrong, fails or is slow is not used, whichever it is") {
    for (const Fault& fault : test::faults_of_fetches()) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, windows()};
        CHECK(runtime.network_path() == Path::rma);
        CHECK_FALSE(runtime.state().paths().atomics.fetches(*fault.operation, *fault.type));
        use(runtime);
    }
}

TEST_CASE("an atomic that does not add at its owner is not used") {
    const FaultInPlace faulty{{Call::accumulate, How::wrong, AtomicOperation::bit_xor, AtomicType::uint32}};
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK_FALSE(runtime.state().paths().atomics.fetches(AtomicOperation::bit_xor, AtomicType::uint32));
    use(runtime);
}

TEST_CASE("without compare-and-swap all atomics are messages") {
    for (const Fault& fault : test::faults_of_swaps()) {
        INFO(test::name_of(fault));
        const FaultInPlace faulty{fault};
        Runtime runtime{MPI_COMM_WORLD, windows()};
        CHECK(runtime.network_path() == Path::rma);
        CHECK_FALSE(runtime.state().paths().atomics.suffice());
        use(runtime);
    }
}

// Last: what hangs stays in the process. By name, since it takes as long as the trial waits.
TEST_CASE("a call that never returns keeps nobody", "[.hangs]") {
    for (const Call what : {Call::get, Call::flush}) {
        const FaultInPlace faulty{{what, How::hangs}};
        Runtime runtime{MPI_COMM_WORLD, any_path()};
        test::repair_mpi();
        CHECK(runtime.network_path() == Path::service);
        CHECK_THAT(runtime.report(), test::says({test::name_of(what), "had not returned after"}));
        use(runtime);
    }
}
