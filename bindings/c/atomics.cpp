// Atomics on windows, and locks.
#include "bindings/c/atomics.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/type.hpp"
#include "bindings/c/window.hpp"

#include <lapwing/error.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <atomic>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace lapwing::detail::bindings {

using window::AtomicPlace;

mpi::AtomicOperation atomic_operation_of(int operation, int count, lapwing_type type) {
    require_constant(operation, count, "operation",
                     count == 8 ? "LAPWING_ADD to LAPWING_READ" : "LAPWING_ADD to LAPWING_MAX");
    const int kind = kind_of(type);
    const bool of_bits = operation >= LAPWING_AND && operation <= LAPWING_XOR;
    const bool compares = operation == LAPWING_MIN || operation == LAPWING_MAX;
    if (of_bits && kind != LAPWING_KIND_SIGNED && kind != LAPWING_KIND_UNSIGNED) throw_no_number(type, "integers");
    if (compares && kind > LAPWING_KIND_FLOAT && !is_located(type))
        throw_no_number(type, "integers and floating point, also with their location (LAPWING_LOCATED_DOUBLE)");
    if (operation == LAPWING_ADD && !is_number(type)) throw_no_number(type, "numbers");
    return static_cast<mpi::AtomicOperation>(operation);
}

AtomicList::AtomicList(lapwing_type type, std::size_t count, const void* operands, bool one_operand, void* before,
                       const char* name) {
    const std::uint64_t bytes = size_of(type);
    require_memory(operands, count, name, bytes);
    list.resize(count);
    if (before == nullptr) {
        unwanted = std::make_unique<std::byte[]>(count * bytes);
        before = unwanted.get();
    }
    for (std::size_t k = 0; k < count; ++k) {
        list[k].operand = static_cast<const std::byte*>(operands) + (one_operand ? 0 : k * bytes);
        list[k].before = static_cast<std::byte*>(before) + k * bytes;
    }
}

void AtomicList::expect(lapwing_type type, const void* expected, bool one_expected) {
    require_memory(expected, list.size(), "expected", size_of(type));
    for (std::size_t k = 0; k < list.size(); ++k)
        list[k].expected = static_cast<const std::byte*>(expected) + (one_expected ? 0 : k * size_of(type));
}

namespace {

std::memory_order order_of(int order) {
    require_constant(order, 5, "order", "LAPWING_ORDER_RELAXED to LAPWING_ORDER_SEQ_CST");
    static constexpr std::memory_order orders[] = {std::memory_order_relaxed, std::memory_order_acquire,
                                                   std::memory_order_release, std::memory_order_acq_rel,
                                                   std::memory_order_seq_cst};
    return orders[order];
}

template <class T>
T value_at(const void* memory) {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

/// A number of 4 or 8 bytes: a copy, since the caller's memory need not be aligned, and results may overwrite it.
struct Word {
    Word() noexcept = default;
    Word(lapwing_type type, const void* memory) noexcept { copy(&bytes, memory, type); }
    void copy_to(void* memory, lapwing_type type) const noexcept {
        if (memory != nullptr) copy(memory, &bytes, type);
    }

    std::uint64_t bytes = 0;

private:
    static void copy(void* to, const void* from, lapwing_type type) noexcept {
        if (size_of(type) == 8) std::memcpy(to, from, 8); // of a known size: no call
        else std::memcpy(to, from, 4);
    }
};

/// Calls `function(T{})` with the type of a value that is not a number of 4 or 8 bytes, which find_atomic_type() has;
/// bytes as unsigned numbers, if there are such. Throws UsageError for types without atomics.
template <class Function>
decltype(auto) with_other_atomic(lapwing_type type, Function&& function) {
    switch (type) {
    case LAPWING_INT8: return function(std::int8_t{});
    case LAPWING_INT16: return function(std::int16_t{});
    case LAPWING_UINT8:
    case LAPWING_BYTES(1): return function(std::uint8_t{});
    case LAPWING_UINT16:
    case LAPWING_BYTES(2): return function(std::uint16_t{});
    case LAPWING_BYTES(4): return function(std::uint32_t{});
    case LAPWING_BYTES(8): return function(std::uint64_t{});
    case LAPWING_BYTES(16): return function(SixteenBytes{});
    case LAPWING_FLOAT_COMPLEX: return function(std::complex<float>{});
    case LAPWING_DOUBLE_COMPLEX: return function(std::complex<double>{});
    case LAPWING_LOCATED_INT64: return function(LocatedValue<std::int64_t, 1>{});
    case LAPWING_LOCATED_UINT64: return function(LocatedValue<std::uint64_t, 1>{});
    case LAPWING_LOCATED_DOUBLE: return function(LocatedValue<double, 1>{});
    default:
        throw_no_number(type,
                        is_number(type) ? "integers or floating point" : "numbers, and bytes of 1, 2, 4, 8 and 16");
    }
}

template <class T>
constexpr bool has_extremes = std::is_arithmetic_v<T> || window::LocatedNumber<T>::value;

// The operations that a type does not have have been refused.
template <class T>
T fetch(AtomicReference<T> value, mpi::AtomicOperation operation, T operand, std::memory_order order) {
    using enum mpi::AtomicOperation;
    if constexpr (std::is_integral_v<T>) {
        if (operation == bit_and) return value.fetch_and(operand, order);
        if (operation == bit_or) return value.fetch_or(operand, order);
        if (operation == bit_xor) return value.fetch_xor(operand, order);
    }
    if constexpr (has_extremes<T>) {
        if (operation == min) return value.fetch_min(operand, order);
        if (operation == max) return value.fetch_max(operand, order);
    }
    if constexpr (std::is_arithmetic_v<T> || is_complex<T>)
        if (operation == add) return value.fetch_add(operand, order);
    if (operation == replace) return value.exchange(operand, order);
    return value.load(order);
}

template <class T>
void update(AtomicReference<T> value, mpi::AtomicOperation operation, T operand) {
    using enum mpi::AtomicOperation;
    if constexpr (std::is_integral_v<T>) {
        if (operation == bit_and) return value.bit_and(operand);
        if (operation == bit_or) return value.bit_or(operand);
        if (operation == bit_xor) return value.bit_xor(operand);
    }
    if constexpr (has_extremes<T>) {
        if (operation == min) return value.min(operand);
        if (operation == max) return value.max(operand);
    }
    if constexpr (std::is_arithmetic_v<T> || is_complex<T>) value.add(operand);
}

} // namespace

void fetch_value(Window& window, int operation, lapwing_type type, Rank rank, Offset offset, const void* operand,
                 void* before, int order) {
    const mpi::AtomicOperation what = atomic_operation_of(operation, 8, type);
    const std::memory_order how = order_of(order);
    const bool reads = what == mpi::AtomicOperation::read;
    if (!reads) require_pointer(operand, "operand");
    if (const auto number = find_atomic_type(type)) {
        const Word value = reads ? Word{} : Word{type, operand};
        Word result;
        AtomicPlace{window, rank, offset}.fetch(what, *number, &value.bytes, &result.bytes, how);
        return result.copy_to(before, type);
    }
    with_other_atomic(type, [&]<class T>(T) {
        const T result = fetch(window.atomic<T>(rank, offset), what, reads ? T{} : value_at<T>(operand), how);
        if (before != nullptr) std::memcpy(before, &result, sizeof result);
    });
}

void compare_swap_value(Window& window, lapwing_type type, Rank rank, Offset offset, const void* expected,
                        const void* desired, void* before, int order) {
    const std::memory_order how = order_of(order);
    require_pointer(expected, "expected");
    require_pointer(desired, "desired");
    if (const auto number = find_atomic_type(type)) {
        const Word old{type, expected};
        const Word fresh{type, desired};
        Word result;
        AtomicPlace{window, rank, offset}.compare_swap(*number, &old.bytes, &fresh.bytes, &result.bytes, how);
        return result.copy_to(before, type);
    }
    with_other_atomic(type, [&]<class T>(T) {
        const T result = window.atomic<T>(rank, offset).compare_swap(value_at<T>(expected), value_at<T>(desired), how);
        if (before != nullptr) std::memcpy(before, &result, sizeof result);
    });
}

void update_value(Window& window, int operation, lapwing_type type, Rank rank, Offset offset, const void* operand) {
    const mpi::AtomicOperation what = atomic_operation_of(operation, 6, type);
    require_pointer(operand, "operand");
    if (const auto number = find_atomic_type(type)) {
        const Word value{type, operand};
        return AtomicPlace{window, rank, offset}.update(what, *number, &value.bytes);
    }
    with_other_atomic(type, [&]<class T>(T) { update(window.atomic<T>(rank, offset), what, value_at<T>(operand)); });
}

void end_list(Completion transfer, const AtomicList& atomics, lapwing_completion** completion) {
    if (completion == nullptr || atomics.unwanted != nullptr) {
        transfer.wait();
        if (completion != nullptr) *completion = nullptr;
    } else {
        give(std::move(transfer), completion);
    }
}

namespace {

void set_offsets(AtomicList& atomics, const uint64_t* offsets) {
    require_memory(offsets, atomics.list.size(), "offsets", sizeof *offsets);
    for (std::size_t k = 0; k < atomics.list.size(); ++k) atomics.list[k].offset = offsets[k];
}

void fetch_list(lapwing_window* window, int operation, lapwing_type type, int rank, size_t count,
                const uint64_t* offsets, const void* operands, bool one_operand, void* before,
                lapwing_completion** completion) {
    Window& one = window_of(window);
    const mpi::AtomicOperation what = atomic_operation_of(operation, 8, type);
    const mpi::AtomicType how = atomic_type_of(type);
    static constexpr std::uint64_t nothing = 0;
    if (what == mpi::AtomicOperation::read) {
        operands = &nothing;
        one_operand = true;
    }
    AtomicList atomics{type, count, operands, one_operand, before};
    set_offsets(atomics, offsets);
    end_list(one.start_atomics(what, how, Rank{rank}, atomics.list, "fetch"), atomics, completion);
}

void compare_swap_list(lapwing_window* window, lapwing_type type, int rank, size_t count, const uint64_t* offsets,
                       const void* expected, bool one_expected, const void* desired, bool one_desired, void* before,
                       lapwing_completion** completion) {
    Window& one = window_of(window);
    const mpi::AtomicType how = atomic_type_of(type);
    AtomicList atomics{type, count, desired, one_desired, before, "desired"};
    atomics.expect(type, expected, one_expected);
    set_offsets(atomics, offsets);
    end_list(one.start_atomics(Atomic::replace, how, Rank{rank}, atomics.list, "compare_swap"), atomics, completion);
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Window;

extern "C" {

int lapwing_window_fetch(lapwing_window* window, int operation, lapwing_type type, int rank, uint64_t offset,
                         const void* operand, void* before, int order) {
    return guarded("lapwing_window_fetch", [&] {
        Window& one = window_of(window);
        fetch_value(one, operation, type, Rank{rank}, Offset{offset}, operand, before, order);
    });
}

int lapwing_window_compare_swap(lapwing_window* window, lapwing_type type, int rank, uint64_t offset,
                                const void* expected, const void* desired, void* before, int order) {
    return guarded("lapwing_window_compare_swap", [&] {
        Window& one = window_of(window);
        compare_swap_value(one, type, Rank{rank}, Offset{offset}, expected, desired, before, order);
    });
}

int lapwing_window_update(lapwing_window* window, int operation, lapwing_type type, int rank, uint64_t offset,
                          const void* operand) {
    return guarded("lapwing_window_update", [&] {
        Window& one = window_of(window);
        update_value(one, operation, type, Rank{rank}, Offset{offset}, operand);
    });
}

int lapwing_window_fetch_list(lapwing_window* window, int operation, lapwing_type type, int rank, size_t count,
                              const uint64_t* offsets, const void* operands, int one_operand, void* before) {
    return guarded("lapwing_window_fetch_list", [&] {
        fetch_list(window, operation, type, rank, count, offsets, operands, one_operand != 0, before, nullptr);
    });
}

int lapwing_window_start_fetch_list(lapwing_window* window, int operation, lapwing_type type, int rank, size_t count,
                                    const uint64_t* offsets, const void* operands, int one_operand, void* before,
                                    lapwing_completion** completion) {
    return guarded("lapwing_window_start_fetch_list", [&] {
        require_pointer(completion, "completion");
        fetch_list(window, operation, type, rank, count, offsets, operands, one_operand != 0, before, completion);
    });
}

int lapwing_window_compare_swap_list(lapwing_window* window, lapwing_type type, int rank, size_t count,
                                     const uint64_t* offsets, const void* expected, int one_expected,
                                     const void* desired, int one_desired, void* before) {
    return guarded("lapwing_window_compare_swap_list", [&] {
        compare_swap_list(window, type, rank, count, offsets, expected, one_expected != 0, desired, one_desired != 0,
                          before, nullptr);
    });
}

int lapwing_window_start_compare_swap_list(lapwing_window* window, lapwing_type type, int rank, size_t count,
                                           const uint64_t* offsets, const void* expected, int one_expected,
                                           const void* desired, int one_desired, void* before,
                                           lapwing_completion** completion) {
    return guarded("lapwing_window_start_compare_swap_list", [&] {
        require_pointer(completion, "completion");
        compare_swap_list(window, type, rank, count, offsets, expected, one_expected != 0, desired, one_desired != 0,
                          before, completion);
    });
}

int lapwing_lock_create(lapwing_runtime* runtime, int home, lapwing_lock** lock) {
    return guarded("lapwing_lock_create", [&] {
        before_collective(team_of(runtime), [&] { require_pointer(lock, "lock"); });
        *lock = Handles<lapwing_lock>::make(runtime, Rank{home});
    });
}

int lapwing_lock_free(lapwing_lock** lock) {
    return guarded("lapwing_lock_free", [&] {
        require_pointer(lock, "lock");
        if (*lock == nullptr) return;
        use(*lock).lock.close();
        end_handle(lock);
    });
}

int lapwing_lock_leave(lapwing_lock** lock) {
    return guarded("lapwing_lock_leave", [&] {
        require_pointer(lock, "lock");
        if (*lock == nullptr) return;
        (void)use(*lock);
        leave([&] { end_handle(lock); });
    });
}

int lapwing_lock_lock(lapwing_lock* lock) {
    return guarded("lapwing_lock_lock", [&] { use(lock).lock.lock(); });
}

int lapwing_lock_try(lapwing_lock* lock, int* locked) {
    return guarded("lapwing_lock_try", [&] {
        require_pointer(locked, "locked");
        *locked = use(lock).lock.try_lock() ? 1 : 0;
    });
}

int lapwing_lock_unlock(lapwing_lock* lock) {
    return guarded("lapwing_lock_unlock", [&] { use(lock).lock.unlock(); });
}

int lapwing_lock_held(const lapwing_lock* lock, int* held) {
    return guarded("lapwing_lock_held", [&] {
        require_pointer(held, "held");
        *held = use(lock).lock.held() ? 1 : 0;
    });
}

} // extern "C"
