#include "mpi/faulty_mpi.hpp"
#include "src/mpi/atomics.hpp"
#include "src/support/mpi_kind.hpp"
#include "support/mpi_test.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;
using test::Call;
using test::Fault;
using test::How;

namespace {

Fault fault;
std::atomic<bool> in_place{false};

bool is_faulty(Call call, MPI_Op operation = MPI_OP_NULL, MPI_Datatype type = MPI_DATATYPE_NULL) {
    return in_place.load() && fault.call == call &&
           (!fault.operation || lapwing::detail::mpi::mpi_operation(*fault.operation) == operation) &&
           (!fault.type || lapwing::detail::mpi::mpi_type(*fault.type) == type);
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

test::FaultInPlace::FaultInPlace(const Fault& what) {
    world_barrier();
    fault = what;
    in_place.store(true);
}

test::FaultInPlace::~FaultInPlace() {
    in_place.store(false);
    world_barrier();
}

std::string test::name_of(Call call) {
    switch (call) {
    case Call::none: break;
    case Call::get: return "MPI_Get";
    case Call::put: return "MPI_Put";
    case Call::rget: return "MPI_Rget";
    case Call::rput: return "MPI_Rput";
    case Call::fetch: return "MPI_Fetch_and_op";
    case Call::swap: return "MPI_Compare_and_swap";
    case Call::accumulate: return "MPI_Accumulate";
    case Call::flush: return "MPI_Win_flush";
    case Call::flush_local: return "MPI_Win_flush_local";
    case Call::flush_all: return "MPI_Win_flush_all";
    case Call::lock_all: return "MPI_Win_lock_all";
    case Call::allocate: return "MPI_Win_allocate";
    }
    return "none";
}

std::string test::name_of(const Fault& what) {
    constexpr std::array ways{"wrong", "wrong result", "slow", "fails", "hangs"};
    std::string name = name_of(what.call) + ", " + ways[static_cast<std::size_t>(what.how)];
    if (what.operation) name += ", operation " + std::to_string(static_cast<int>(*what.operation));
    if (what.type) name += ", type " + std::to_string(static_cast<int>(*what.type));
    return name;
}

void test::repair_mpi() { in_place.store(false); }

std::vector<Fault> test::faults_of_windows() {
    std::vector<Fault> faults;
    for (const Call call : {Call::get, Call::put, Call::rget, Call::rput})
        for (const How how : {How::wrong, How::slow, How::fails}) faults.push_back({call, how});
    std::vector<Call> flushes{Call::flush};
    if constexpr (lapwing::detail::support::mpi_kind ==
                  lapwing::detail::support::MpiKind::open_mpi) // others' are not used
        flushes.insert(flushes.end(), {Call::flush_local, Call::flush_all});
    for (const Call call : flushes)
        for (const How how : {How::slow, How::fails}) faults.push_back({call, how});
    for (const Call call : {Call::lock_all, Call::allocate}) faults.push_back({call, How::fails});
    return faults;
}

std::vector<Fault> test::faults_of_fetches() {
    constexpr std::array operations{AtomicOperation::add,     AtomicOperation::bit_and, AtomicOperation::bit_or,
                                    AtomicOperation::bit_xor, AtomicOperation::min,     AtomicOperation::max,
                                    AtomicOperation::replace, AtomicOperation::read};
    constexpr std::array types{AtomicType::int32,  AtomicType::uint32,  AtomicType::int64,
                               AtomicType::uint64, AtomicType::float32, AtomicType::float64};
    std::vector<Fault> faults;
    const auto add = [&](How how, AtomicOperation operation, AtomicType type) {
        faults.push_back({Call::fetch, how, operation, type});
    };
    for (const AtomicType type : types)
        for (const AtomicOperation operation : operations) {
            const bool of_bits = operation == AtomicOperation::bit_and || operation == AtomicOperation::bit_or ||
                                 operation == AtomicOperation::bit_xor;
            if (of_bits && (type == AtomicType::float32 || type == AtomicType::float64)) continue;
            add(How::wrong, operation, type);
            // Both values of a pair may be the result of the other operation: one of the two ways is enough to see.
            if (type == AtomicType::uint64) add(How::wrong_result, operation, type);
        }
    for (const How how : {How::fails, How::slow}) add(how, AtomicOperation::bit_or, AtomicType::int64);
    return faults;
}

std::vector<Fault> test::faults_of_swaps() {
    std::vector<Fault> faults;
    for (const AtomicType type : {AtomicType::int32, AtomicType::uint32, AtomicType::int64, AtomicType::uint64})
        for (const How how : {How::wrong, How::wrong_result, How::slow, How::fails})
            faults.push_back({Call::swap, how, std::nullopt, type});
    return faults;
}
