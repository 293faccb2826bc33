// UPC's atomics, implemented by those of the heap's window.
#include "upc/atomic_domains.hpp"

#include "src/team/team_state.hpp"
#include "upc/guarded.hpp"
#include "upc/program.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc/atomic.hpp>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

namespace lapwing::upc {

namespace {

constexpr int access_operations = LAPWING_UPC_GET | LAPWING_UPC_SET | LAPWING_UPC_CSWAP;
constexpr int bit_operations = LAPWING_UPC_AND | LAPWING_UPC_OR | LAPWING_UPC_XOR;
constexpr int number_operations = LAPWING_UPC_ADD | LAPWING_UPC_SUB | LAPWING_UPC_MULT | LAPWING_UPC_INC |
                                  LAPWING_UPC_DEC | LAPWING_UPC_MIN | LAPWING_UPC_MAX;

/// Calls `step` with a value of the type; false for a type without atomics on numbers.
template <class Step>
bool with_number(lapwing_upc_type type, Step&& step) {
    switch (type) {
    case LAPWING_UPC_INT:
    case LAPWING_UPC_INT32: step(std::int32_t{}); return true;
    case LAPWING_UPC_UINT:
    case LAPWING_UPC_UINT32: step(std::uint32_t{}); return true;
    case LAPWING_UPC_LONG:
    case LAPWING_UPC_INT64: step(std::int64_t{}); return true;
    case LAPWING_UPC_ULONG:
    case LAPWING_UPC_UINT64: step(std::uint64_t{}); return true;
    case LAPWING_UPC_FLOAT: step(float{}); return true;
    case LAPWING_UPC_DOUBLE: step(double{}); return true;
    default: return false;
    }
}

[[nodiscard]] bool is_floating(lapwing_upc_type type) noexcept {
    return type == LAPWING_UPC_FLOAT || type == LAPWING_UPC_DOUBLE;
}

/// The operations of a type; 0 for one without atomics.
[[nodiscard]] int operations_of(lapwing_upc_type type) {
    if (type == LAPWING_UPC_PTS) return access_operations;
    if (!with_number(type, [](auto) {})) return 0;
    return access_operations | number_operations | (is_floating(type) ? 0 : bit_operations);
}

[[nodiscard]] int operands_of(lapwing_upc_op operation) noexcept {
    switch (operation) {
    case LAPWING_UPC_GET:
    case LAPWING_UPC_INC:
    case LAPWING_UPC_DEC: return 0;
    case LAPWING_UPC_CSWAP: return 2;
    default: return 1;
    }
}

template <class T>
[[nodiscard]] T negated(T value) noexcept {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value)); // modulo 2^n, as the sum is
    else return -value;
}
template <class T>
[[nodiscard]] T multiplied(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else return a * b;
}
template <class T>
[[nodiscard]] T loaded(const void* operand) noexcept {
    T value;
    std::memcpy(&value, operand, sizeof(T));
    return value;
}

/// Without a result the sum travels with others, and is complete at the next release.
template <class T>
void add(AtomicReference<T> object, T operand, void* before) {
    if (before == nullptr) return object.add(operand);
    const T found = object.fetch_add(operand);
    std::memcpy(before, &found, sizeof(T));
}

template <class T>
[[nodiscard]] T multiply(AtomicReference<T> object, T operand) {
    for (T found = object.load();;) {
        const T seen = object.compare_swap(found, multiplied(found, operand));
        if (std::memcmp(&seen, &found, sizeof(T)) == 0) return found; // bitwise: a NaN equals itself, too
        found = seen;
    }
}

template <class T>
void perform(Window& heap, lapwing_upc_op operation, const lapwing_upc_pointer& target, const void* first,
             const void* second, void* before) {
    const AtomicReference<T> object = heap.atomic<T>(rank_of(target), offset_of(target));
    const T operand = first == nullptr ? T{1} : loaded<T>(first);
    T found{};
    switch (operation) {
    case LAPWING_UPC_ADD:
    case LAPWING_UPC_INC: return add(object, operand, before);
    case LAPWING_UPC_SUB:
    case LAPWING_UPC_DEC: return add(object, negated(operand), before);
    case LAPWING_UPC_GET: found = object.load(); break;
    case LAPWING_UPC_SET: found = object.exchange(operand); break;
    case LAPWING_UPC_CSWAP: found = object.compare_swap(operand, loaded<T>(second)); break;
    case LAPWING_UPC_MULT: found = multiply(object, operand); break;
    case LAPWING_UPC_MIN:
        if (before == nullptr) return object.min(operand);
        found = object.fetch_min(operand);
        break;
    case LAPWING_UPC_MAX:
        if (before == nullptr) return object.max(operand);
        found = object.fetch_max(operand);
        break;
    default:
        if constexpr (std::is_integral_v<T>) {
            if (before == nullptr) {
                if (operation == LAPWING_UPC_AND) return object.bit_and(operand);
                if (operation == LAPWING_UPC_OR) return object.bit_or(operand);
                return object.bit_xor(operand);
            }
            if (operation == LAPWING_UPC_AND) found = object.fetch_and(operand);
            else if (operation == LAPWING_UPC_OR) found = object.fetch_or(operand);
            else found = object.fetch_xor(operand);
        }
    }
    if (before != nullptr) std::memcpy(before, &found, sizeof(T));
}

/// Pointers have 16 bytes, for which no network has atomics: those of a thread are serialised by one lock.
void perform_on_pointer(ProgramState& program, lapwing_upc_op operation, const lapwing_upc_pointer& target,
                        const void* first, const void* second, void* before) {
    Window& heap = program.heap();
    const LockPlace lock{static_cast<int>(target.thread), offsetof(PartHeader, pointers_lock)};
    const lapwing_upc_pointer found = under_lock(program.locks().queues(), lock, [&] {
        const auto seen = heap.get<lapwing_upc_pointer>(rank_of(target), offset_of(target));
        if (operation == LAPWING_UPC_SET) {
            heap.put(rank_of(target), offset_of(target), loaded<lapwing_upc_pointer>(first));
        } else if (operation == LAPWING_UPC_CSWAP && lapwing_upc_equal(seen, loaded<lapwing_upc_pointer>(first)) != 0) {
            heap.put(rank_of(target), offset_of(target), loaded<lapwing_upc_pointer>(second));
        }
        return seen;
    });
    if (before != nullptr) std::memcpy(before, &found, sizeof(found));
}

} // namespace

void detail::forget(lapwing_upc_atomicdomain* domain) noexcept { delete domain; }

lapwing_upc_atomicdomain* make_atomic_domain(ProgramState& program, lapwing_upc_type type, int operations) {
    constexpr const char* call = "upc_all_atomicdomain_alloc";
    if (program.team().state().synchronisation().checks() >= 3) {
        const std::array<std::int64_t, 2> asked{static_cast<std::int64_t>(type), operations};
        program.team().require_same(asked, call, "the type, and the operations,");
    }
    const int possible = operations_of(type);
    if (possible == 0)
        throw UsageError{fmt::format("{}: there are no atomics of type {}; there are of INT, UINT, LONG, ULONG, INT32, "
                                     "UINT32, INT64, UINT64, FLOAT, DOUBLE "
                                     "and PTS",
                                     program.who(call), static_cast<int>(type))};
    if (operations == 0 || (operations & ~possible) != 0)
        throw UsageError{fmt::format("{}: operations {:#x} of type {}, which has {:#x}; name one or more of those",
                                     program.who(call), operations, static_cast<int>(type), possible)};
    return std::make_unique<lapwing_upc_atomicdomain>(lapwing_upc_atomicdomain{type, operations}).release();
}

void perform_atomic(ProgramState& program, const char* call, const lapwing_upc_atomicdomain* domain, void* before,
                    lapwing_upc_op operation, const lapwing_upc_pointer& target, const void* first,
                    const void* second) {
    if (domain == nullptr)
        throw UsageError{
            fmt::format("{}: the domain is null; make it by upc_all_atomicdomain_alloc", program.who(call))};
    const auto bits = static_cast<unsigned>(operation);
    if ((bits & (bits - 1)) != 0 || (static_cast<int>(operation) & domain->operations) == 0)
        throw UsageError{fmt::format(
            "{}: operation {:#x} in a domain that was made for {:#x}; name it in upc_all_atomicdomain_alloc",
            program.who(call), bits, domain->operations)};
    const int operands = operands_of(operation);
    if ((first != nullptr) != (operands > 0) || (second != nullptr) != (operands > 1))
        throw UsageError{fmt::format("{}: operation {:#x} takes {} operands, the others are null", program.who(call),
                                     bits, operands)};
    if (operation == LAPWING_UPC_GET && before == nullptr)
        throw UsageError{fmt::format("{}: a GET without a place for the value; pass a fetch_ptr", program.who(call))};
    if (domain->type == LAPWING_UPC_PTS) {
        program.require_within(call, target, sizeof(lapwing_upc_pointer));
        return perform_on_pointer(program, operation, target, first, second, before);
    }
    with_number(domain->type, [&]<class T>(T) {
        program.require_within(call, target, sizeof(T));
        if (target.address % sizeof(T) != 0)
            throw UsageError{fmt::format("{}: {}: the address is not a multiple of {}, the size of the object",
                                         program.who(call), text(target), sizeof(T))};
        perform<T>(program.heap(), operation, target, first, second, before);
    });
}

} // namespace lapwing::upc

extern "C" {

lapwing_upc_atomicdomain* lapwing_upc_all_atomicdomain_alloc(lapwing_upc_type type, int ops, int /*hints*/) {
    return lapwing::upc::guarded([&] {
        return lapwing::upc::make_atomic_domain(lapwing::upc::program("upc_all_atomicdomain_alloc"), type, ops);
    });
}

void lapwing_upc_all_atomicdomain_free(lapwing_upc_atomicdomain* domain) {
    // Nothing of it is shared, but a program may rely on the synchronisation.
    lapwing::upc::guarded([&] { lapwing::upc::program("upc_all_atomicdomain_free").team().barrier(); });
    delete domain;
}

void lapwing_upc_atomic_relaxed(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                                lapwing_upc_pointer target, const void* operand1, const void* operand2) {
    lapwing::upc::guarded([&] {
        lapwing::upc::perform_atomic(lapwing::upc::program("upc_atomic_relaxed"), "upc_atomic_relaxed", domain,
                                     fetch_ptr, op, target, operand1, operand2);
    });
}

void lapwing_upc_atomic_strict(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                               lapwing_upc_pointer target, const void* operand1, const void* operand2) {
    lapwing::upc::guarded([&] {
        lapwing::upc::ProgramState& here = lapwing::upc::program("upc_atomic_strict");
        here.fence();
        lapwing::upc::perform_atomic(here, "upc_atomic_strict", domain, fetch_ptr, op, target, operand1, operand2);
        here.fence();
    });
}

int lapwing_upc_atomic_isfast(lapwing_upc_type type, int ops, lapwing_upc_pointer /*target*/) {
    return lapwing::upc::guarded([&] {
        // MPI's minimum and maximum are for signed integers; for other types they use compare-and-swap.
        const bool by_mpi = lapwing::upc::program("upc_atomic_isfast").team().network_path() == lapwing::Path::rma;
        const bool is_unsigned = type == LAPWING_UPC_UINT || type == LAPWING_UPC_UINT32 || type == LAPWING_UPC_ULONG ||
                                 type == LAPWING_UPC_UINT64;
        const int slow = LAPWING_UPC_MULT | (by_mpi && is_unsigned ? LAPWING_UPC_MIN | LAPWING_UPC_MAX : 0);
        return type != LAPWING_UPC_PTS && (ops & slow) == 0 ? 1 : 0;
    });
}

} // extern "C"
