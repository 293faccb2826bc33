// An MPI one of whose one-sided operations is wrong, slow, fails or never returns: the trial of its windows finds it,
// whichever it is, and programs get the right values. The faulty calls stand in the place of MPI's by its profiling
// interface.
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::Offset;
using lapwing::Path;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::Window;
using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;

enum class Call {
    none,
    get,
    put,
    rget,
    rput,
    fetch,
    swap,
    accumulate,
    flush,
    flush_local,
    flush_all,
    lock_all,
    allocate
};
enum class How { wrong, wrong_result, slow, fails, hangs };

struct Fault {
    Call call = Call::none;
    How how = How::wrong;
    MPI_Op operation = MPI_OP_NULL;        ///< of an atomic; MPI_OP_NULL: all
    MPI_Datatype type = MPI_DATATYPE_NULL; ///< the same
};
Fault fault;
std::atomic<bool> in_place{false};

bool is_faulty(Call call, MPI_Op operation = MPI_OP_NULL, MPI_Datatype type = MPI_DATATYPE_NULL) {
    return in_place.load() && fault.call == call && (fault.operation == MPI_OP_NULL || fault.operation == operation) &&
           (fault.type == MPI_DATATYPE_NULL || fault.type == type);
}

/// What a faulty call does before MPI's: it takes its time, or does not come to it.
int before_call() {
    if (fault.how == How::slow) usleep(500);
    while (fault.how == How::hangs) pause();
    return fault.how == How::fails ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/// A faulty call of data does its work one byte further.
MPI_Aint shift() { return fault.how == How::wrong ? 1 : 0; }

template <class Mpi>
int call(Call which, Mpi&& mpi) {
    if (!is_faulty(which)) return mpi(0);
    const int code = before_call();
    return code != MPI_SUCCESS ? code : mpi(shift());
}

std::array<std::int64_t, 2> nobody_looks_here{};

} // namespace

extern "C" {
int MPI_Get(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
            MPI_Win window) {
    return call(Call::get,
                [&](MPI_Aint by) { return PMPI_Get(to, count, type, target, at + by, there, type_there, window); });
}
int MPI_Put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
            MPI_Win window) {
    return call(Call::put,
                [&](MPI_Aint by) { return PMPI_Put(from, count, type, target, at + by, there, type_there, window); });
}
int MPI_Rget(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
             MPI_Win window, MPI_Request* request) {
    return call(Call::rget, [&](MPI_Aint by) {
        return PMPI_Rget(to, count, type, target, at + by, there, type_there, window, request);
    });
}
int MPI_Rput(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
             MPI_Datatype type_there, MPI_Win window, MPI_Request* request) {
    return call(Call::rput, [&](MPI_Aint by) {
        return PMPI_Rput(from, count, type, target, at + by, there, type_there, window, request);
    });
}
int MPI_Fetch_and_op(const void* operand, void* before, MPI_Datatype type, int target, MPI_Aint at, MPI_Op operation,
                     MPI_Win window) {
    if (is_faulty(Call::fetch, operation, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) operation = operation == MPI_NO_OP ? MPI_REPLACE : MPI_NO_OP;
        if (fault.how == How::wrong_result) before = nobody_looks_here.data();
    }
    return PMPI_Fetch_and_op(operand, before, type, target, at, operation, window);
}
int MPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type, int target,
                         MPI_Aint at, MPI_Win window) {
    if (is_faulty(Call::swap, MPI_OP_NULL, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) expected = desired;
        if (fault.how == How::wrong_result) before = nobody_looks_here.data();
    }
    return PMPI_Compare_and_swap(desired, expected, before, type, target, at, window);
}
int MPI_Accumulate(const void* operand, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
                   MPI_Datatype type_there, MPI_Op operation, MPI_Win window) {
    if (is_faulty(Call::accumulate, operation, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) return MPI_SUCCESS;
    }
    return PMPI_Accumulate(operand, count, type, target, at, there, type_there, operation, window);
}
int MPI_Win_flush(int target, MPI_Win window) {
    return call(Call::flush, [&](MPI_Aint) { return PMPI_Win_flush(target, window); });
}
int MPI_Win_flush_local(int target, MPI_Win window) {
    return call(Call::flush_local, [&](MPI_Aint) { return PMPI_Win_flush_local(target, window); });
}
int MPI_Win_flush_all(MPI_Win window) {
    return call(Call::flush_all, [&](MPI_Aint) { return PMPI_Win_flush_all(window); });
}
int MPI_Win_lock_all(int assert, MPI_Win window) {
    return call(Call::lock_all, [&](MPI_Aint) { return PMPI_Win_lock_all(assert, window); });
}
int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm communicator, void* memory, MPI_Win* window) {
    return call(Call::allocate,
                [&](MPI_Aint) { return PMPI_Win_allocate(bytes, unit, info, communicator, memory, window); });
}
}

namespace {

/// While it lives, MPI has this fault; collective.
class FaultInPlace {
public:
    explicit FaultInPlace(const Fault& what) {
        test::world_barrier();
        fault = what;
        in_place.store(true);
    }
    ~FaultInPlace() {
        in_place.store(false);
        test::world_barrier();
    }
    FaultInPlace(const FaultInPlace&) = delete;
    FaultInPlace& operator=(const FaultInPlace&) = delete;
};

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

constexpr std::array operations{AtomicOperation::add,     AtomicOperation::bit_and, AtomicOperation::bit_or,
                                AtomicOperation::bit_xor, AtomicOperation::min,     AtomicOperation::max,
                                AtomicOperation::replace, AtomicOperation::read};
constexpr std::array types{AtomicType::int32,  AtomicType::uint32,  AtomicType::int64,
                           AtomicType::uint64, AtomicType::float32, AtomicType::float64};

bool exists(AtomicOperation operation, AtomicType type) {
    const bool of_bits = operation == AtomicOperation::bit_and || operation == AtomicOperation::bit_or ||
                         operation == AtomicOperation::bit_xor;
    return !of_bits || (type != AtomicType::float32 && type != AtomicType::float64);
}

Fault of_fetch(How how, AtomicOperation operation, AtomicType type) {
    return {Call::fetch, how, lapwing::detail::mpi::mpi_operation(operation), lapwing::detail::mpi::mpi_type(type)};
}

} // namespace

TEST_CASE("without a fault the path rma works, and its atomics are found right") {
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK(runtime.network_path() == Path::rma);
    use(runtime);
}

TEST_CASE("windows whose data is wrong, or whose calls fail, are refused where the program asks for them, by name") {
    const std::vector<std::pair<Fault, std::string>> faults{
        {{Call::get, How::wrong}, "MPI_Get"},
        {{Call::put, How::wrong}, "MPI_Put"},
        {{Call::rget, How::wrong}, "MPI_Rget"},
        {{Call::rput, How::wrong}, "MPI_Rput"},
        {{Call::get, How::fails}, "MPI_Get"},
        {{Call::put, How::fails}, "MPI_Put"},
        {{Call::rget, How::fails}, "MPI_Rget"},
        {{Call::rput, How::fails}, "MPI_Rput"},
        {{Call::flush, How::fails}, "MPI_Win_flush"},
#ifdef OPEN_MPI // others' are not used
        {{Call::flush_all, How::fails}, "MPI_Win_flush_all"},
#endif
        {{Call::lock_all, How::fails}, "MPI_Win_lock_all"},
        {{Call::allocate, How::fails}, "MPI_Win_allocate"},
    };
    for (const auto& [what, name] : faults) {
        INFO(name << ", " << static_cast<int>(what.how));
        const FaultInPlace faulty{what};
        CHECK_THAT(test::message_of<lapwing::SettingError>([&] { const Runtime runtime{MPI_COMM_WORLD, windows()}; }),
                   test::says({"LAPWING_PATH=rma, but MPI windows do not work here", name}));
    }
}

TEST_CASE("where the program leaves it open, messages take the place of windows that are wrong, slow or fail") {
    for (const Call what : {Call::get, Call::put, Call::rget, Call::rput, Call::flush, Call::flush_local,
                            Call::flush_all, Call::lock_all, Call::allocate})
        for (const How how : {How::wrong, How::slow, How::fails}) {
            const bool moves = what == Call::get || what == Call::put || what == Call::rget || what == Call::rput;
#ifndef OPEN_MPI
            if (what == Call::flush_local || what == Call::flush_all) continue; // which are not used
#endif
            if ((how == How::wrong && !moves) ||
                (how == How::slow && (what == Call::lock_all || what == Call::allocate)))
                continue;
            INFO("call " << static_cast<int>(what) << ", " << static_cast<int>(how));
            const FaultInPlace faulty{{what, how}};
            Runtime runtime{MPI_COMM_WORLD, any_path()};
            CHECK(runtime.network_path() == Path::service);
            use(runtime);
        }
}

TEST_CASE("an atomic that is wrong is not used, whichever it is") {
    for (const AtomicType type : types)
        for (const AtomicOperation operation : operations) {
            if (!exists(operation, type)) continue;
            for (const How how : {How::wrong, How::wrong_result}) {
                // Both values of a pair may be the result of the other operation: one of the two ways is enough to see.
                if (how == How::wrong_result && type != AtomicType::uint64) continue;
                INFO("operation " << static_cast<int>(operation) << " of type " << static_cast<int>(type) << ", "
                                  << static_cast<int>(how));
                const FaultInPlace faulty{of_fetch(how, operation, type)};
                Runtime runtime{MPI_COMM_WORLD, windows()};
                CHECK(runtime.network_path() == Path::rma);
                CHECK_FALSE(runtime.state().paths().atomics.fetches(operation, type));
                use(runtime);
            }
        }
}

TEST_CASE("an atomic that fails or is slow is not used; nor one that does not add at its owner") {
    for (const How how : {How::fails, How::slow}) {
        const FaultInPlace faulty{of_fetch(how, AtomicOperation::bit_or, AtomicType::int64)};
        Runtime runtime{MPI_COMM_WORLD, windows()};
        CHECK(runtime.network_path() == Path::rma);
        CHECK_FALSE(runtime.state().paths().atomics.fetches(AtomicOperation::bit_or, AtomicType::int64));
        use(runtime);
    }
    const FaultInPlace faulty{{Call::accumulate, How::wrong, MPI_BXOR, MPI_UINT32_T}};
    Runtime runtime{MPI_COMM_WORLD, windows()};
    CHECK_FALSE(runtime.state().paths().atomics.fetches(AtomicOperation::bit_xor, AtomicType::uint32));
    use(runtime);
}

TEST_CASE("without compare-and-swap all atomics are messages") {
    for (const MPI_Datatype type : {MPI_INT32_T, MPI_UINT32_T, MPI_INT64_T, MPI_UINT64_T})
        for (const How how : {How::wrong, How::wrong_result, How::slow, How::fails}) {
            INFO("how " << static_cast<int>(how));
            const FaultInPlace faulty{{Call::swap, how, MPI_OP_NULL, type}};
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
        in_place.store(false);
        CHECK(runtime.network_path() == Path::service);
        CHECK_THAT(runtime.report(),
                   test::says({what == Call::get ? "MPI_Get" : "MPI_Win_flush", "had not returned after"}));
        use(runtime);
    }
}
