#include "src/team/reduction_kinds.hpp"

#include "src/support/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace lapwing::detail::team {
namespace {

/// Each kind holds those before it.
enum class Numbers : std::uint8_t { naturals, integers, real, complex };

struct KnownType {
    MPI_Datatype type;
    std::string_view name;
    Numbers numbers;
};

template <class T>
constexpr std::string_view signed_name = sizeof(T) == 8 ? "int64" : "int32";
template <class T>
constexpr std::string_view unsigned_name = sizeof(T) == 8 ? "uint64" : "uint32";

/// The most frequent ones first. Handles are no constants with every MPI.
std::span<const KnownType> known_types() {
    using enum Numbers;
    static const std::array types{
        KnownType{MPI_DOUBLE, "double", real},
        KnownType{MPI_INT64_T, "int64", integers},
        KnownType{MPI_UINT64_T, "uint64", naturals},
        KnownType{MPI_INT, "int32", integers},
        KnownType{MPI_FLOAT, "float", real},
        KnownType{MPI_LONG, signed_name<long>, integers},
        KnownType{MPI_LONG_LONG, "int64", integers},
        KnownType{MPI_UNSIGNED, "uint32", naturals},
        KnownType{MPI_UNSIGNED_LONG, unsigned_name<long>, naturals},
        KnownType{MPI_UNSIGNED_LONG_LONG, "uint64", naturals},
        KnownType{MPI_INT32_T, "int32", integers},
        KnownType{MPI_UINT32_T, "uint32", naturals},
        KnownType{MPI_INT16_T, "int16", integers},
        KnownType{MPI_SHORT, "int16", integers},
        KnownType{MPI_UINT16_T, "uint16", naturals},
        KnownType{MPI_UNSIGNED_SHORT, "uint16", naturals},
        KnownType{MPI_INT8_T, "int8", integers},
        KnownType{MPI_SIGNED_CHAR, "int8", integers},
        KnownType{MPI_UINT8_T, "uint8", naturals},
        KnownType{MPI_UNSIGNED_CHAR, "uint8", naturals},
        KnownType{MPI_LONG_DOUBLE, "long double", real},
        KnownType{MPI_C_FLOAT_COMPLEX, "complex of float", complex},
        KnownType{MPI_C_DOUBLE_COMPLEX, "complex of double", complex},
    };
    return types;
}

struct KnownOperation {
    MPI_Op operation;
    std::string_view name;
    Numbers most; ///< the most general numbers that it combines
    bool any_number = true;
};

std::span<const KnownOperation> known_operations() {
    using enum Numbers;
    static const std::array operations{
        KnownOperation{MPI_SUM, "MPI_SUM", complex},
        KnownOperation{MPI_MIN, "MPI_MIN", real},
        KnownOperation{MPI_MAX, "MPI_MAX", real},
        KnownOperation{MPI_PROD, "MPI_PROD", complex},
        KnownOperation{MPI_LAND, "MPI_LAND", integers},
        KnownOperation{MPI_LOR, "MPI_LOR", integers},
        KnownOperation{MPI_LXOR, "MPI_LXOR", integers},
        KnownOperation{MPI_BAND, "MPI_BAND", integers},
        KnownOperation{MPI_BOR, "MPI_BOR", integers},
        KnownOperation{MPI_BXOR, "MPI_BXOR", integers},
        KnownOperation{MPI_MINLOC, "MPI_MINLOC", integers, false},
        KnownOperation{MPI_MAXLOC, "MPI_MAXLOC", integers, false},
        KnownOperation{MPI_REPLACE, "MPI_REPLACE", integers, false},
        KnownOperation{MPI_NO_OP, "MPI_NO_OP", integers, false},
    };
    return operations;
}

const KnownType* find_type(MPI_Datatype type) {
    const auto known = known_types();
    const auto found = std::ranges::find(known, type, &KnownType::type);
    return found == known.end() ? nullptr : &*found;
}
const KnownOperation* find_operation(MPI_Op operation) {
    const auto known = known_operations();
    const auto found = std::ranges::find(known, operation, &KnownOperation::operation);
    return found == known.end() ? nullptr : &*found;
}

std::uint64_t number_of(std::string_view name) { return support::checksum_of(name); }

} // namespace

ReductionKind ReductionKind::of(MPI_Datatype type, MPI_Op operation, MPI_Aint extent) {
    const KnownType* const known_type = find_type(type);
    const KnownOperation* const known_operation = find_operation(operation);
    return {.type = support::hash_of({number_of(known_type != nullptr ? known_type->name : text_of_type(type)),
                                      static_cast<std::uint64_t>(extent)}),
            .operation = number_of(known_operation != nullptr ? known_operation->name : text_of_operation(operation)),
            .combines_locally = known_type != nullptr && known_operation != nullptr && known_operation->any_number &&
                                known_type->numbers <= known_operation->most,
            .orders_naturals = known_type != nullptr && known_type->numbers == Numbers::naturals &&
                               (operation == MPI_MIN || operation == MPI_MAX)};
}

std::string text_of_type(MPI_Datatype type) {
    if (const KnownType* const known = find_type(type)) return std::string{known->name};
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    if (MPI_Type_get_name(type, name.data(), &length) != MPI_SUCCESS || length <= 0) return "a type without a name";
    return {name.data(), static_cast<std::size_t>(length)};
}

std::string text_of_operation(MPI_Op operation) {
    const KnownOperation* const known = find_operation(operation);
    return known != nullptr ? std::string{known->name} : "an operation of the program's";
}

} // namespace lapwing::detail::team
