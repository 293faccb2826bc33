#include "src/mpi/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

namespace lapwing::detail::mpi {
namespace {

/// Calls `f` with a value of the C++ type that `type` names.
template <class F>
void with_type(AtomicType type, F&& f) {
    switch (type) {
    case AtomicType::int32: return f(std::int32_t{});
    case AtomicType::uint32: return f(std::uint32_t{});
    case AtomicType::int64: return f(std::int64_t{});
    case AtomicType::uint64: return f(std::uint64_t{});
    case AtomicType::float32: return f(float{});
    case AtomicType::float64: return f(double{});
    }
}

template <class T>
T read_as(const void* memory) {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

template <class T>
T fetch(AtomicOperation operation, std::atomic_ref<T> cell, T operand) {
    if constexpr (std::is_integral_v<T>) {
        switch (operation) {
        case AtomicOperation::bit_and: return cell.fetch_and(operand);
        case AtomicOperation::bit_or: return cell.fetch_or(operand);
        case AtomicOperation::bit_xor: return cell.fetch_xor(operand);
        default: break;
        }
    }
    switch (operation) {
    case AtomicOperation::add: return cell.fetch_add(operand);
    case AtomicOperation::replace: return cell.exchange(operand);
    case AtomicOperation::min:
    case AtomicOperation::max: {
        T before = cell.load();
        while (!cell.compare_exchange_weak(before, operation == AtomicOperation::min ? std::min(before, operand)
                                                                                     : std::max(before, operand))) {
        }
        return before;
    }
    default: return cell.load(); // read; the bit operations on floating point do not compile in Window
    }
}

} // namespace

void processor_fetch(AtomicOperation operation, AtomicType type, std::byte* address, const void* operand,
                     void* result) {
    with_type(type, [&](auto zero) {
        using T = decltype(zero);
        const T before = fetch(operation, std::atomic_ref<T>{*reinterpret_cast<T*>(address)}, read_as<T>(operand));
        std::memcpy(result, &before, sizeof before);
    });
}

void processor_compare_swap(AtomicType type, std::byte* address, const void* expected, const void* desired,
                            void* result) {
    const auto exchange = [&](auto zero) {
        using T = decltype(zero);
        T before = read_as<T>(expected);
        std::atomic_ref<T>{*reinterpret_cast<T*>(address)}.compare_exchange_strong(before, read_as<T>(desired));
        std::memcpy(result, &before, sizeof before);
    };
    // Bit by bit, so that floating point values with several representations (-0.0, NaN) behave like any other.
    if (size_of(type) == 4) exchange(std::uint32_t{});
    else exchange(std::uint64_t{});
}

AtomicValueBytes value_after(AtomicOperation operation, AtomicType type, const void* before, const void* operand) {
    alignas(8) AtomicValueBytes after{};
    AtomicValueBytes ignored{};
    std::memcpy(after.data(), before, size_of(type));
    processor_fetch(operation, type, after.data(), operand, ignored.data());
    return after;
}

bool replaces_located(AtomicOperation operation, AtomicType type, const void* before, const void* operand) {
    bool replaces = false;
    with_type(type, [&](auto zero) {
        using T = decltype(zero);
        const auto index_of = [](const void* pair) {
            return read_as<std::int64_t>(static_cast<const std::byte*>(pair) + sizeof(std::int64_t));
        };
        const T there = read_as<T>(before);
        const T given = read_as<T>(operand);
        if (there == given) replaces = index_of(operand) < index_of(before);
        else replaces = operation == AtomicOperation::min ? given < there : given > there;
    });
    return replaces;
}

MPI_Op mpi_operation(AtomicOperation operation) {
    switch (operation) {
    case AtomicOperation::add: return MPI_SUM;
    case AtomicOperation::bit_and: return MPI_BAND;
    case AtomicOperation::bit_or: return MPI_BOR;
    case AtomicOperation::bit_xor: return MPI_BXOR;
    case AtomicOperation::min: return MPI_MIN;
    case AtomicOperation::max: return MPI_MAX;
    case AtomicOperation::replace: return MPI_REPLACE;
    case AtomicOperation::read: return MPI_NO_OP;
    }
    return MPI_OP_NULL;
}

const char* fetch_name(AtomicOperation operation) {
    switch (operation) {
    case AtomicOperation::add: return "fetch_add";
    case AtomicOperation::bit_and: return "fetch_and";
    case AtomicOperation::bit_or: return "fetch_or";
    case AtomicOperation::bit_xor: return "fetch_xor";
    case AtomicOperation::min: return "fetch_min";
    case AtomicOperation::max: return "fetch_max";
    case AtomicOperation::replace: return "exchange";
    case AtomicOperation::read: return "load";
    }
    return "?";
}

const char* update_name(AtomicOperation operation) {
    switch (operation) {
    case AtomicOperation::add: return "add";
    case AtomicOperation::bit_and: return "bit_and";
    case AtomicOperation::bit_or: return "bit_or";
    case AtomicOperation::bit_xor: return "bit_xor";
    case AtomicOperation::min: return "min";
    case AtomicOperation::max: return "max";
    default: return fetch_name(operation);
    }
}

MPI_Datatype mpi_type(AtomicType type) {
    switch (type) {
    case AtomicType::int32: return MPI_INT32_T;
    case AtomicType::uint32: return MPI_UINT32_T;
    case AtomicType::int64: return MPI_INT64_T;
    case AtomicType::uint64: return MPI_UINT64_T;
    case AtomicType::float32: return MPI_FLOAT;
    case AtomicType::float64: return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

} // namespace lapwing::detail::mpi
