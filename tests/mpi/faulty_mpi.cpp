#include "mpi/faulty_mpi.hpp"
#include "src/mpi/atomics.hpp"
#include "src/support/mpi_kind.hpp"
#include "support/mpi_test.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

using lapwing::detail::mpi::AtomicOperation;
using lapwing::detail::mpi::AtomicType;
using test::Call;
using test::Fault;
using test::How;

namespace {

Fault fault;
std::atomic<bool> in_place{false};
std::atomic<int> windows{0};
std::atomic<long> shared_memory_left{-1}; ///< bytes; negative: what there is

bool is_faulty(Call call, MPI_Op operation = MPI_OP_NULL, MPI_Datatype type = MPI_DATATYPE_NULL) {
    return in_place.load() && fault.call == call && (fault.rank < 0 || fault.rank == test::world_rank()) &&
           (!fault.operation || lapwing::detail::mpi::mpi_operation(*fault.operation) == operation) &&
           (!fault.type || lapwing::detail::mpi::mpi_type(*fault.type) == type);
}

bool is_atomic(Call call) { return call == Call::fetch || call == Call::swap || call == Call::accumulate; }

std::atomic<bool> next_flush_is_slow{false};
std::atomic<int> calls{0}; ///< of the faulty one

/// What a faulty call does before MPI's: it takes its time, or does not come to it.
int before_call() {
    // Of atomics more: where the program asks for windows, they may take a millisecond.
    if (fault.how == How::slow) usleep(is_atomic(fault.call) ? 1500 : 500);
    if (fault.how == How::waits) usleep(3000);
    if (fault.how == How::ends_slowly) next_flush_is_slow.store(true);
    if (fault.how == How::spins) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds{1};
        while (std::chrono::steady_clock::now() < end) {
        }
    }
    if (fault.how == How::pauses_once && calls.fetch_add(1) == fault.calls_before) usleep(12'000);
    while (fault.how == How::hangs && in_place.load()) usleep(1000);
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

/// A collective call: where it fails on one rank alone, the others' must end.
template <class Mpi>
int collective_call(Call which, Mpi&& mpi) {
    if (!is_faulty(which) || fault.rank < 0) return call(which, [&](MPI_Aint) { return mpi(); });
    const int code = mpi();
    return fault.how == How::fails ? MPI_ERR_OTHER : code;
}

/// The same, of a call that makes a window.
template <class Mpi>
int creating_call(Call which, Mpi&& mpi) {
    return collective_call(which, [&] {
        const int code = mpi();
        if (code == MPI_SUCCESS) windows.fetch_add(1);
        return code;
    });
}

// ---- what is completed too early ------------------------------------------------------------------------------------

/// A put or get that MPI is given later.
struct Postponed {
    bool gets = false;
    void* memory = nullptr;      ///< of the origin
    std::vector<char> copy = {}; ///< of it, if it may be written again
    int bytes = 0;
    int target = 0;
    MPI_Aint at = 0;
    MPI_Win window = MPI_WIN_NULL;
    bool flushed = false; ///< once, without effect
};

std::mutex postponed_mutex;
std::vector<Postponed>& postponed() {
    static auto& all = *new std::vector<Postponed>;
    return all;
}

bool is_flush(Call call) { return call == Call::flush || call == Call::flush_local || call == Call::flush_all; }

/// Whether a put or get is postponed that a faulty flush does not complete.
bool postpones_puts(int bytes) {
    return is_flush(fault.call) && is_faulty(fault.call) && bytes >= fault.least_bytes &&
           (fault.how == How::early || fault.how == How::undelivered);
}
bool postpones_gets(int bytes) {
    return is_flush(fault.call) && is_faulty(fault.call) && bytes >= fault.least_bytes && fault.how == How::early_gets;
}
bool postpones(Call call) { return fault.how == How::early && is_faulty(call); }

int postpone(Postponed one) {
    if (fault.how == How::undelivered) {
        const char* const memory = static_cast<const char*>(one.memory);
        one.copy.assign(memory, memory + one.bytes);
    }
    const std::lock_guard guard{postponed_mutex};
    postponed().push_back(std::move(one));
    return MPI_SUCCESS;
}

/// Gives MPI what was postponed to the target (-1: all), in so far as `call` does.
void give_to_mpi(Call call, int target, MPI_Win window) {
    const std::lock_guard guard{postponed_mutex};
    std::vector<Postponed> kept;
    for (Postponed& one : postponed()) {
        const bool concerned = one.window == window && (target < 0 || target == one.target);
        const bool faulty = is_flush(fault.call) && fault.call == call;
        if (!concerned || (faulty && !one.flushed)) {
            one.flushed = one.flushed || concerned;
            kept.push_back(std::move(one));
            continue;
        }
        const void* const from = one.copy.empty() ? one.memory : one.copy.data();
        if (one.gets) PMPI_Get(one.memory, one.bytes, MPI_BYTE, one.target, one.at, one.bytes, MPI_BYTE, window);
        else PMPI_Put(from, one.bytes, MPI_BYTE, one.target, one.at, one.bytes, MPI_BYTE, window);
        PMPI_Win_flush(one.target, window); // the copy goes
    }
    postponed() = std::move(kept);
}

/// Accumulates that others pass.
std::vector<std::function<void()>>& passed() {
    static auto& all = *new std::vector<std::function<void()>>;
    return all;
}

void accumulate_what_was_passed() {
    const std::lock_guard guard{postponed_mutex};
    for (const auto& accumulate : std::exchange(passed(), {})) accumulate();
}

template <class Mpi>
int flush_call(Call which, int target, MPI_Win window, Mpi&& mpi) {
    accumulate_what_was_passed();
    if (next_flush_is_slow.exchange(false)) usleep(1500);
    give_to_mpi(which, target, window);
    return call(which, [&](MPI_Aint) { return mpi(); });
}

std::array<std::int64_t, 2> nobody_looks_here{};

/// Of the MPI library. Owners of lists of atomics call MPI by its profiling interface, so that those have faults, too.
template <class Function>
Function* of_mpi(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int torn_addition(const void* operand, void* before, int target, MPI_Aint at, MPI_Win window) {
    PMPI_Get(before, 8, MPI_BYTE, target, at, 8, MPI_BYTE, window);
    PMPI_Win_flush(target, window);
    const std::int64_t after = *static_cast<std::int64_t*>(before) + *static_cast<const std::int64_t*>(operand);
    usleep(20);
    PMPI_Put(&after, 8, MPI_BYTE, target, at, 8, MPI_BYTE, window);
    return PMPI_Win_flush(target, window);
}

} // namespace

extern "C" {
int MPI_Get(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
            MPI_Win window) {
    if (postpones_gets(count))
        return postpone({.gets = true, .memory = to, .bytes = count, .target = target, .at = at, .window = window});
    return call(Call::get,
                [&](MPI_Aint by) { return PMPI_Get(to, count, type, target, at + by, there, type_there, window); });
}
int MPI_Put(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
            MPI_Win window) {
    if (postpones_puts(count))
        return postpone(
            {.memory = const_cast<void*>(from), .bytes = count, .target = target, .at = at, .window = window});
    return call(Call::put,
                [&](MPI_Aint by) { return PMPI_Put(from, count, type, target, at + by, there, type_there, window); });
}
int MPI_Rget(void* to, int count, MPI_Datatype type, int target, MPI_Aint at, int there, MPI_Datatype type_there,
             MPI_Win window, MPI_Request* request) {
    if (postpones(Call::rget)) {
        *request = MPI_REQUEST_NULL;
        return postpone({.gets = true, .memory = to, .bytes = count, .target = target, .at = at, .window = window});
    }
    return call(Call::rget, [&](MPI_Aint by) {
        return PMPI_Rget(to, count, type, target, at + by, there, type_there, window, request);
    });
}
int MPI_Rput(const void* from, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
             MPI_Datatype type_there, MPI_Win window, MPI_Request* request) {
    if (postpones(Call::rput)) {
        *request = MPI_REQUEST_NULL;
        return postpone(
            {.memory = const_cast<void*>(from), .bytes = count, .target = target, .at = at, .window = window});
    }
    return call(Call::rput, [&](MPI_Aint by) {
        return PMPI_Rput(from, count, type, target, at + by, there, type_there, window, request);
    });
}
int PMPI_Fetch_and_op(const void* operand, void* before, MPI_Datatype type, int target, MPI_Aint at, MPI_Op operation,
                      MPI_Win window) {
    static auto* const mpi = of_mpi<decltype(PMPI_Fetch_and_op)>("PMPI_Fetch_and_op");
    if (is_faulty(Call::fetch, operation, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) operation = operation == MPI_NO_OP ? MPI_REPLACE : MPI_NO_OP;
        if (fault.how == How::wrong_result) before = nobody_looks_here.data();
        if (fault.how == How::torn) return torn_addition(operand, before, target, at, window);
    }
    return mpi(operand, before, type, target, at, operation, window);
}
int MPI_Fetch_and_op(const void* operand, void* before, MPI_Datatype type, int target, MPI_Aint at, MPI_Op operation,
                     MPI_Win window) {
    return PMPI_Fetch_and_op(operand, before, type, target, at, operation, window);
}
int PMPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type, int target,
                          MPI_Aint at, MPI_Win window) {
    static auto* const mpi = of_mpi<decltype(PMPI_Compare_and_swap)>("PMPI_Compare_and_swap");
    if (is_faulty(Call::swap, MPI_OP_NULL, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) expected = desired;
        if (fault.how == How::wrong_result) before = nobody_looks_here.data();
    }
    return mpi(desired, expected, before, type, target, at, window);
}
int MPI_Compare_and_swap(const void* desired, const void* expected, void* before, MPI_Datatype type, int target,
                         MPI_Aint at, MPI_Win window) {
    return PMPI_Compare_and_swap(desired, expected, before, type, target, at, window);
}
int PMPI_Accumulate(const void* operand, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
                    MPI_Datatype type_there, MPI_Op operation, MPI_Win window) {
    static auto* const mpi = of_mpi<decltype(PMPI_Accumulate)>("PMPI_Accumulate");
    if (is_faulty(Call::accumulate, operation, type)) {
        if (const int code = before_call(); code != MPI_SUCCESS) return code;
        if (fault.how == How::wrong) return MPI_SUCCESS;
        if (fault.how == How::passed) {
            std::array<std::byte, 8> copy{};
            std::memcpy(copy.data(), operand, copy.size());
            const std::lock_guard guard{postponed_mutex};
            passed().emplace_back([=] { mpi(copy.data(), 1, type, target, at, 1, type_there, operation, window); });
            return MPI_SUCCESS;
        }
    }
    return mpi(operand, count, type, target, at, there, type_there, operation, window);
}
int MPI_Accumulate(const void* operand, int count, MPI_Datatype type, int target, MPI_Aint at, int there,
                   MPI_Datatype type_there, MPI_Op operation, MPI_Win window) {
    return PMPI_Accumulate(operand, count, type, target, at, there, type_there, operation, window);
}
int MPI_Win_flush(int target, MPI_Win window) {
    return flush_call(Call::flush, target, window, [&] { return PMPI_Win_flush(target, window); });
}
int MPI_Win_flush_local(int target, MPI_Win window) {
    return flush_call(Call::flush_local, target, window, [&] { return PMPI_Win_flush_local(target, window); });
}
int MPI_Win_flush_all(MPI_Win window) {
    return flush_call(Call::flush_all, -1, window, [&] { return PMPI_Win_flush_all(window); });
}
int MPI_Win_lock_all(int assert, MPI_Win window) {
    return call(Call::lock_all, [&](MPI_Aint) { return PMPI_Win_lock_all(assert, window); });
}
int MPI_Win_unlock_all(MPI_Win window) {
    give_to_mpi(Call::unlock_all, -1, window);
    const int code = PMPI_Win_unlock_all(window); // or the window could not be freed
    return is_faulty(Call::unlock_all) ? before_call() : code;
}
int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm communicator, void* memory, MPI_Win* window) {
    return creating_call(Call::allocate,
                         [&] { return PMPI_Win_allocate(bytes, unit, info, communicator, memory, window); });
}
int MPI_Win_create(void* memory, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm communicator, MPI_Win* window) {
    return creating_call(Call::create,
                         [&] { return PMPI_Win_create(memory, bytes, unit, info, communicator, window); });
}
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm communicator, void* memory,
                            MPI_Win* window) {
    return creating_call(Call::allocate_shared,
                         [&] { return PMPI_Win_allocate_shared(bytes, unit, info, communicator, memory, window); });
}
int MPI_Win_shared_query(MPI_Win window, int rank, MPI_Aint* bytes, int* unit, void* memory) {
    static std::array<std::uint64_t, 8> of_nobody_else{};
    const int code = PMPI_Win_shared_query(window, rank, bytes, unit, memory);
    if (is_faulty(Call::allocate_shared) && fault.how == How::wrong)
        *static_cast<void**>(memory) = of_nobody_else.data();
    return code;
}
int MPI_Win_free(MPI_Win* window) {
    windows.fetch_sub(1);
    return PMPI_Win_free(window);
}
int statvfs(const char* path, struct statvfs* found) noexcept {
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -1;
    const int code = fstatvfs(directory, found);
    close(directory);
    if (const long left = shared_memory_left.load(); code == 0 && left >= 0)
        found->f_bavail = static_cast<fsblkcnt_t>(left) / found->f_frsize;
    return code;
}
}

int test::living_windows() { return windows.load(); }

test::SharedMemoryLeft::SharedMemoryLeft(unsigned long bytes) { shared_memory_left.store(static_cast<long>(bytes)); }
test::SharedMemoryLeft::~SharedMemoryLeft() { shared_memory_left.store(-1); }

void test::break_mpi(const Fault& what) {
    fault = what;
    calls.store(0);
    in_place.store(true);
}

test::FaultInPlace::FaultInPlace(const Fault& what) {
    world_barrier();
    break_mpi(what);
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
    case Call::unlock_all: return "MPI_Win_unlock_all";
    case Call::allocate: return "MPI_Win_allocate";
    case Call::create: return "MPI_Win_create";
    case Call::allocate_shared: return "MPI_Win_allocate_shared";
    }
    return "none";
}

std::string test::name_of(const Fault& what) {
    constexpr std::array ways{"wrong", "wrong result", "slow",  "waits",      "ends slowly", "spins", "pauses once",
                              "fails", "hangs",        "early", "early gets", "undelivered", "torn",  "passed"};
    std::string name = name_of(what.call) + ", " + ways[static_cast<std::size_t>(what.how)];
    if (what.operation) name += ", operation " + std::to_string(static_cast<int>(*what.operation));
    if (what.type) name += ", type " + std::to_string(static_cast<int>(*what.type));
    if (what.least_bytes > 0) name += ", of " + std::to_string(what.least_bytes) + " bytes or more";
    if (what.rank >= 0) name += ", on rank " + std::to_string(what.rank);
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
    for (const Call call : flushes) {
        for (const How how : {How::slow, How::fails, How::early}) faults.push_back({call, how});
        // What MPI sends in one go with its description, and what it does not.
        faults.push_back({.call = call, .how = How::early, .least_bytes = 9});
        if (call != Call::flush_local) faults.push_back({call, How::undelivered});
        if (call == Call::flush_all) continue; // Lapwing gets nothing before it
        faults.push_back({call, How::early_gets});
        faults.push_back({.call = call, .how = How::early_gets, .least_bytes = 9});
    }
    for (const Call call : {Call::rget, Call::rput}) faults.push_back({call, How::early});
    for (const Call call : {Call::lock_all, Call::unlock_all, Call::allocate}) faults.push_back({call, How::fails});
    return faults;
}

namespace {

constexpr std::array types_of_atomics{AtomicType::int32,  AtomicType::uint32,  AtomicType::int64,
                                      AtomicType::uint64, AtomicType::float32, AtomicType::float64};

/// Whether MPI has the operation on the type.
bool exists(AtomicOperation operation, AtomicType type) {
    const bool of_bits = operation == AtomicOperation::bit_and || operation == AtomicOperation::bit_or ||
                         operation == AtomicOperation::bit_xor;
    return !of_bits || (type != AtomicType::float32 && type != AtomicType::float64);
}

} // namespace

std::vector<Fault> test::faults_of_fetches() {
    constexpr std::array operations{AtomicOperation::add,     AtomicOperation::bit_and, AtomicOperation::bit_or,
                                    AtomicOperation::bit_xor, AtomicOperation::min,     AtomicOperation::max,
                                    AtomicOperation::replace, AtomicOperation::read};
    std::vector<Fault> faults;
    const auto add = [&](How how, AtomicOperation operation, AtomicType type) {
        faults.push_back({Call::fetch, how, operation, type});
    };
    for (const AtomicType type : types_of_atomics)
        for (const AtomicOperation operation : operations) {
            if (!exists(operation, type)) continue;
            add(How::wrong, operation, type);
            // Both values of a pair may be the result of the other operation: one of the two ways is enough to see.
            if (type == AtomicType::uint64) add(How::wrong_result, operation, type);
        }
    for (const How how : {How::fails, How::slow, How::ends_slowly})
        add(how, AtomicOperation::bit_or, AtomicType::int64);
    return faults;
}

std::vector<Fault> test::faults_of_accumulates() {
    std::vector<Fault> faults;
    for (const AtomicType type : types_of_atomics)
        for (const AtomicOperation operation : {AtomicOperation::add, AtomicOperation::bit_and, AtomicOperation::bit_or,
                                                AtomicOperation::bit_xor, AtomicOperation::min, AtomicOperation::max})
            if (exists(operation, type)) faults.push_back({Call::accumulate, How::wrong, operation, type});
    faults.push_back({Call::accumulate, How::fails, AtomicOperation::add, AtomicType::int64});
    return faults;
}

std::vector<Fault> test::faults_of_swaps() {
    std::vector<Fault> faults;
    for (const AtomicType type : {AtomicType::int32, AtomicType::uint32, AtomicType::int64, AtomicType::uint64})
        for (const How how : {How::wrong, How::wrong_result, How::slow, How::fails})
            faults.push_back({Call::swap, how, std::nullopt, type});
    return faults;
}
