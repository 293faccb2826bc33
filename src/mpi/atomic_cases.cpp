#include "src/mpi/atomic_cases.hpp"

#include "src/mpi/trusted_atomics.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace lapwing::detail::mpi {
namespace {

/// Previous values and operands: both signs, carries from one half of the value to the other, bits that only one of
/// them has.
template <class T>
constexpr std::array<std::pair<T, T>, case_pairs> values_of() {
    if constexpr (std::is_floating_point_v<T>)
        return {{{T(1.5), T(-2.25)}, {T(-7), T(-7.5)}, {T(3e30), T(1e29)}, {T(0), T(0.125)}}};
    else if constexpr (sizeof(T) == 8)
        return {{{T(5), T(9)},
                 {T(0x123456789abcdef0), T(0x0fedcba987654321)},
                 {T(~0ULL), T(3)},
                 {T(0), T(0x8877665544332211)}}};
    else return {{{T(5), T(9)}, {T(0x9abcdef0), T(0x07654321)}, {T(~0U), T(3)}, {T(0), T(0x88776655)}}};
}

} // namespace

std::string AtomicCase::name() const {
    static constexpr std::array operations{"MPI_SUM", "MPI_BAND", "MPI_BOR",     "MPI_BXOR",
                                           "MPI_MIN", "MPI_MAX",  "MPI_REPLACE", "MPI_NO_OP"};
    static constexpr std::array types{"int32", "uint32", "int64", "uint64", "float", "double"};
    const char* const of_type = types[static_cast<std::size_t>(type)];
    if (swaps) return fmt::format("MPI_Compare_and_swap of {}", of_type);
    return fmt::format("{} of {}", operations[static_cast<std::size_t>(operation)], of_type);
}

std::size_t AtomicCase::kind() const noexcept {
    return static_cast<std::size_t>(type) * (TrustedAtomics::operation_count + 1) +
           (swaps ? TrustedAtomics::operation_count : static_cast<std::size_t>(operation));
}

const std::vector<AtomicCase>& atomic_cases() {
    static const auto& all = *new std::vector<AtomicCase>{[] { // never destroyed: teams may be made at exit
        std::vector<AtomicCase> list;
        const auto of_type = [&]<class T>(T /*zero*/) {
            constexpr AtomicType type = atomic_type_of<T>();
            for (const auto& [before, operand] : values_of<T>()) {
                AtomicCase one{.type = type};
                std::memcpy(one.before.data(), &before, sizeof before);
                std::memcpy(one.operand.data(), &operand, sizeof operand);
                for (unsigned k = 0; k < TrustedAtomics::operation_count; ++k) {
                    one.operation = AtomicOperation{static_cast<std::uint8_t>(k)};
                    const bool of_bits = one.operation == AtomicOperation::bit_and ||
                                         one.operation == AtomicOperation::bit_or ||
                                         one.operation == AtomicOperation::bit_xor;
                    if (!of_bits || std::is_integral_v<T>) list.push_back(one);
                }
                if constexpr (std::is_integral_v<T>) {
                    one.swaps = true;
                    list.push_back(one);
                    one.is_expected = false;
                    list.push_back(one);
                }
            }
        };
        of_type(std::int32_t{});
        of_type(std::uint32_t{});
        of_type(std::int64_t{});
        of_type(std::uint64_t{});
        of_type(float{});
        of_type(double{});
        return list;
    }()};
    return all;
}

} // namespace lapwing::detail::mpi
