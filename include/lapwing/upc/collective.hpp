// Room: upc
#pragma once

#include <lapwing/upc/array.hpp>
#include <lapwing/upc/collective.h>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/types.h>
#include <lapwing/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>

/// UPC's collectives for C++, with types; and collectives on private values. See lapwing/upc/collective.h for what each
/// does, its flags and its cost.
namespace lapwing::upc {

/// upc_op_t, for reductions.
enum class Op : int {
    add = LAPWING_UPC_ADD,
    multiply = LAPWING_UPC_MULT,
    bit_and = LAPWING_UPC_AND,
    bit_or = LAPWING_UPC_OR,
    bit_xor = LAPWING_UPC_XOR,
    logical_and = LAPWING_UPC_LOGAND,
    logical_or = LAPWING_UPC_LOGOR,
    min = LAPWING_UPC_MIN,
    max = LAPWING_UPC_MAX,
};

/// A function of two values for reductions that is associative but not commutative: UPC_NONCOMM_FUNC. Other functions
/// are assumed to be commutative.
template <class Combine>
struct NonCommutative {
    Combine combine;
};
template <class Combine>
NonCommutative(Combine) -> NonCommutative<Combine>;

namespace detail {

/// How values of a type are combined, for code that knows only their bytes. All functions get the context first. They
/// are null for an operation that the type does not have, and for FUNC without a function: the collective then reports
/// an error on all threads.
struct Reduction {
    std::size_t element_bytes;
    int operation;
    bool floating_point;
    void* context;
    void (*combine)(void* context, void* left, const void* right); ///< left becomes left op right
    void (*fold)(void* context, void* accumulated, const void* elements,
                 std::size_t count); ///< combines each element in turn into `accumulated`
    void (*scan)(void* context, void* accumulated, const void* elements, void* results,
                 std::size_t count); ///< the same; also stores `accumulated` after each

    [[nodiscard]] bool commutative() const noexcept { return operation != LAPWING_UPC_NONCOMM_FUNC; }
};

template <class T>
[[nodiscard]] Reduction no_reduction(int operation) {
    return {.element_bytes = sizeof(T),
            .operation = operation,
            .floating_point = std::is_floating_point_v<T>,
            .context = nullptr,
            .combine = nullptr,
            .fold = nullptr,
            .scan = nullptr};
}

template <class T, class Combine>
[[nodiscard]] Reduction reduction_by(Combine& combine, int operation) {
    static_assert(alignof(T) <= 16, "values travel in memory that is aligned to 16 bytes");
    return {.element_bytes = sizeof(T),
            .operation = operation,
            .floating_point = std::is_floating_point_v<T>,
            .context = &combine,
            .combine =
                [](void* context, void* left, const void* right) {
                    T* const to = static_cast<T*>(left);
                    *to = static_cast<T>((*static_cast<Combine*>(context))(*to, *static_cast<const T*>(right)));
                },
            .fold =
                [](void* context, void* accumulated, const void* elements, std::size_t count) {
                    Combine& combine = *static_cast<Combine*>(context);
                    T sum = *static_cast<T*>(accumulated);
                    const T* const from = static_cast<const T*>(elements);
                    for (std::size_t k = 0; k < count; ++k) sum = static_cast<T>(combine(sum, from[k]));
                    *static_cast<T*>(accumulated) = sum;
                },
            .scan =
                [](void* context, void* accumulated, const void* elements, void* results, std::size_t count) {
                    Combine& combine = *static_cast<Combine*>(context);
                    T sum = *static_cast<T*>(accumulated);
                    const T* const from = static_cast<const T*>(elements);
                    T* const to = static_cast<T*>(results);
                    for (std::size_t k = 0; k < count; ++k) to[k] = sum = static_cast<T>(combine(sum, from[k]));
                    *static_cast<T*>(accumulated) = sum;
                }};
}

/// Calls step(reduction) for an operation.
template <class T, class Step>
void with_operation(int op, Step&& step) {
    const auto with = [&](auto combine) { step(reduction_by<T>(combine, op)); };
    // Sums and products of integers are modulo 2^n, also for signed ones, and for short ones, which C would multiply as
    // int.
    const auto wrapped = [](auto combine) {
        return [combine](T a, T b) {
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
                using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
                return static_cast<T>(combine(static_cast<U>(a), static_cast<U>(b)));
            } else {
                return static_cast<T>(combine(a, b));
            }
        };
    };
    switch (op) {
    case LAPWING_UPC_ADD: return with(wrapped(std::plus<>{}));
    case LAPWING_UPC_MULT: return with(wrapped(std::multiplies<>{}));
    case LAPWING_UPC_LOGAND: return with([](T a, T b) { return static_cast<T>(a != T{0} && b != T{0}); });
    case LAPWING_UPC_LOGOR: return with([](T a, T b) { return static_cast<T>(a != T{0} || b != T{0}); });
    case LAPWING_UPC_MIN: return with([](T a, T b) { return b < a ? b : a; });
    case LAPWING_UPC_MAX: return with([](T a, T b) { return a < b ? b : a; });
    default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        switch (op) {
        case LAPWING_UPC_AND: return with([](T a, T b) { return static_cast<T>(a & b); });
        case LAPWING_UPC_OR: return with([](T a, T b) { return static_cast<T>(a | b); });
        case LAPWING_UPC_XOR: return with([](T a, T b) { return static_cast<T>(a ^ b); });
        default: break;
        }
    }
    step(no_reduction<T>(op));
}

/// Calls step(reduction) for an operation, or a function.
template <class T, class Step>
void with_reduction(Op op, Step&& step) {
    with_operation<T>(static_cast<int>(op), step);
}
template <class T, class Combine, class Step>
    requires std::invocable<Combine&, const T&, const T&>
void with_reduction(Combine combine, Step&& step) {
    step(reduction_by<T>(combine, LAPWING_UPC_FUNC));
}
template <class T, class Combine, class Step>
void with_reduction(NonCommutative<Combine> combine, Step&& step) {
    step(reduction_by<T>(combine.combine, LAPWING_UPC_NONCOMM_FUNC));
}

void all_reduce(const char* call, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t nelems,
                std::size_t blk_size, const Reduction& reduction, int flags);
void all_prefix_reduce(const char* call, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src,
                       std::size_t nelems, std::size_t blk_size, const Reduction& reduction, int flags);
void allv_reduce(void* value, const Reduction& reduction);
void allv_broadcast(void* value, std::size_t bytes, int thread);

} // namespace detail

/// upc_all_broadcast, scatter, gather, gather_all, exchange and permute; nbytes is the size of one block.
inline void all_broadcast(const GenericPointer& dst, const GenericPointer& src, std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_broadcast(dst.raw(), src.raw(), nbytes, flags);
}
/// As above.
inline void all_scatter(const GenericPointer& dst, const GenericPointer& src, std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_scatter(dst.raw(), src.raw(), nbytes, flags);
}
/// As above.
inline void all_gather(const GenericPointer& dst, const GenericPointer& src, std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_gather(dst.raw(), src.raw(), nbytes, flags);
}
/// As above.
inline void all_gather_all(const GenericPointer& dst, const GenericPointer& src, std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_gather_all(dst.raw(), src.raw(), nbytes, flags);
}
/// As above.
inline void all_exchange(const GenericPointer& dst, const GenericPointer& src, std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_exchange(dst.raw(), src.raw(), nbytes, flags);
}
/// As above.
inline void all_permute(const GenericPointer& dst, const GenericPointer& src, const Pointer<int>& perm,
                        std::size_t nbytes, int flags = 0) {
    lapwing_upc_all_permute(dst.raw(), src.raw(), perm.raw(), nbytes, flags);
}

/// upc_all_reduceT for any trivially copyable type: *dst becomes the combination of nelems elements starting at src, by
/// an Op, a function of two values, or a NonCommutative one. The elements are in blocks of src's block size.
template <class T, std::size_t B, std::size_t C, class Operation>
void all_reduce(const Pointer<T, B>& dst, const Pointer<T, C>& src, const Operation& operation, std::size_t nelems,
                int flags = 0) {
    detail::with_reduction<ValueOf<T>>(operation, [&](const detail::Reduction& reduction) {
        detail::all_reduce("upc_all_reduce", dst.raw(), src.raw(), nelems, src.block_size(), reduction, flags);
    });
}
/// upc_all_prefix_reduceT: dst[i] becomes the combination of src[0] to src[i]; both have the same block size.
template <class T, std::size_t B, class Operation>
void all_prefix_reduce(const Pointer<T, B>& dst, const Pointer<T, B>& src, const Operation& operation,
                       std::size_t nelems, int flags = 0) {
    detail::with_reduction<ValueOf<T>>(operation, [&](const detail::Reduction& reduction) {
        detail::all_prefix_reduce("upc_all_prefix_reduce", dst.raw(), src.raw(), nelems, src.block_size(), reduction,
                                  flags);
    });
}

/// Collective, on private values, as Berkeley UPC's bupc_allv_reduce_all: combines the values of all threads, in their
/// order, on all threads. It is not a barrier and does not order accesses to shared memory. Cost: a tree of messages,
/// and a broadcast.
template <TriviallyCopyable T, class Operation = Op>
[[nodiscard]] T allv_reduce(T value, const Operation& operation = Op::add) {
    detail::with_reduction<T>(operation,
                              [&](const detail::Reduction& reduction) { detail::allv_reduce(&value, reduction); });
    return value;
}
/// Collective: returns, on all threads, the value that `thread` passes.
template <TriviallyCopyable T>
[[nodiscard]] T allv_broadcast(T value, int thread) {
    detail::allv_broadcast(&value, sizeof(T), thread);
    return value;
}

} // namespace lapwing::upc
