#include "bindings/c/type.hpp"

#include "bindings/c/call.hpp"

#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/values.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lapwing::detail::bindings {
namespace {

constexpr std::uint64_t largest_element = 0x7fffffff;

/// Sizes that the values of a kind have, as bits; LAPWING_KIND_BYTES has all.
constexpr std::array<std::uint64_t, 9> sizes_of_kind{0, 1 | 2 | 4 | 8, 1 | 2 | 4 | 8, 4 | 8, 8 | 16, 0, 16, 16, 16};

bool is_type(lapwing_type type) noexcept {
    const int kind = kind_of(type);
    const std::uint64_t bytes = size_of(type);
    if (kind == LAPWING_KIND_BYTES) return bytes >= 1 && bytes <= largest_element;
    return kind >= LAPWING_KIND_SIGNED && kind <= LAPWING_KIND_LOCATED_FLOAT && (bytes & (bytes - 1)) == 0 &&
           (sizes_of_kind[static_cast<std::size_t>(kind)] & bytes) != 0;
}

struct Known {
    MPI_Datatype datatype;
    int kind;
};

/// A datatype of MPI's own that is a number.
int kind_of_datatype(MPI_Datatype datatype) {
    const std::array known{
        Known{MPI_INT8_T, LAPWING_KIND_SIGNED},
        Known{MPI_INT16_T, LAPWING_KIND_SIGNED},
        Known{MPI_INT32_T, LAPWING_KIND_SIGNED},
        Known{MPI_INT64_T, LAPWING_KIND_SIGNED},
        Known{MPI_UINT8_T, LAPWING_KIND_UNSIGNED},
        Known{MPI_UINT16_T, LAPWING_KIND_UNSIGNED},
        Known{MPI_UINT32_T, LAPWING_KIND_UNSIGNED},
        Known{MPI_UINT64_T, LAPWING_KIND_UNSIGNED},
        Known{MPI_SIGNED_CHAR, LAPWING_KIND_SIGNED},
        Known{MPI_SHORT, LAPWING_KIND_SIGNED},
        Known{MPI_INT, LAPWING_KIND_SIGNED},
        Known{MPI_LONG, LAPWING_KIND_SIGNED},
        Known{MPI_LONG_LONG, LAPWING_KIND_SIGNED},
        Known{MPI_AINT, LAPWING_KIND_SIGNED},
        Known{MPI_COUNT, LAPWING_KIND_SIGNED},
        Known{MPI_OFFSET, LAPWING_KIND_SIGNED},
        Known{MPI_INTEGER, LAPWING_KIND_SIGNED},
        Known{MPI_UNSIGNED_CHAR, LAPWING_KIND_UNSIGNED},
        Known{MPI_UNSIGNED_SHORT, LAPWING_KIND_UNSIGNED},
        Known{MPI_UNSIGNED, LAPWING_KIND_UNSIGNED},
        Known{MPI_UNSIGNED_LONG, LAPWING_KIND_UNSIGNED},
        Known{MPI_UNSIGNED_LONG_LONG, LAPWING_KIND_UNSIGNED},
        Known{MPI_FLOAT, LAPWING_KIND_FLOAT},
        Known{MPI_DOUBLE, LAPWING_KIND_FLOAT},
        Known{MPI_REAL, LAPWING_KIND_FLOAT},
        Known{MPI_DOUBLE_PRECISION, LAPWING_KIND_FLOAT},
        Known{MPI_C_FLOAT_COMPLEX, LAPWING_KIND_COMPLEX},
        Known{MPI_C_DOUBLE_COMPLEX, LAPWING_KIND_COMPLEX},
        Known{MPI_COMPLEX, LAPWING_KIND_COMPLEX},
        Known{MPI_DOUBLE_COMPLEX, LAPWING_KIND_COMPLEX},
    };
    // An MPI without Fortran has null datatypes for its types; the caller's is not null.
    const auto found = std::ranges::find(known, datatype, &Known::datatype);
    return found != known.end() ? found->kind : LAPWING_KIND_BYTES;
}

} // namespace

std::string text_of(lapwing_type type) {
    const std::uint64_t bits = 8 * size_of(type);
    if (!is_type(type)) return fmt::format("not a type ({:#x})", type);
    switch (kind_of(type)) {
    case LAPWING_KIND_SIGNED: return fmt::format("int{}", bits);
    case LAPWING_KIND_UNSIGNED: return fmt::format("uint{}", bits);
    case LAPWING_KIND_FLOAT: return bits == 32 ? "float" : "double";
    case LAPWING_KIND_COMPLEX: return bits == 64 ? "float complex" : "double complex";
    case LAPWING_KIND_LOCATED_SIGNED: return "located int64";
    case LAPWING_KIND_LOCATED_UNSIGNED: return "located uint64";
    case LAPWING_KIND_LOCATED_FLOAT: return "located double";
    default: return fmt::format("{} bytes", size_of(type));
    }
}

void require_type(lapwing_type type) {
    if (is_type(type)) return;
    throw RangeError{fmt::format(
        "{:#x} is not a type; pass LAPWING_INT8 to LAPWING_DOUBLE_COMPLEX, LAPWING_BYTES(n) with n from 1 to {}, "
        "LAPWING_LOCATED_INT64, _UINT64 or _DOUBLE, or what lapwing_type_from_mpi() gives",
        type, largest_element)};
}

unsigned alignment_of(lapwing_type type) noexcept {
    const std::uint64_t bytes = size_of(type);
    return static_cast<unsigned>(std::min<std::uint64_t>(bytes & (~bytes + 1), 16));
}

ElementKind element_kind_of(lapwing_type type) noexcept {
    switch (kind_of(type)) {
    case LAPWING_KIND_SIGNED: return ElementKind::signed_integer;
    case LAPWING_KIND_UNSIGNED: return ElementKind::unsigned_integer;
    case LAPWING_KIND_FLOAT: return ElementKind::floating_point;
    default: return ElementKind::other;
    }
}

MPI_Datatype mpi_type_of(lapwing_type type) noexcept {
    switch (type) {
    case LAPWING_INT8: return MPI_INT8_T;
    case LAPWING_INT16: return MPI_INT16_T;
    case LAPWING_INT32: return MPI_INT32_T;
    case LAPWING_INT64: return MPI_INT64_T;
    case LAPWING_UINT8: return MPI_UINT8_T;
    case LAPWING_UINT16: return MPI_UINT16_T;
    case LAPWING_UINT32: return MPI_UINT32_T;
    case LAPWING_UINT64: return MPI_UINT64_T;
    case LAPWING_FLOAT: return MPI_FLOAT;
    case LAPWING_DOUBLE: return MPI_DOUBLE;
    case LAPWING_FLOAT_COMPLEX: return MPI_C_FLOAT_COMPLEX;
    case LAPWING_DOUBLE_COMPLEX: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_DATATYPE_NULL;
    }
}

const char* name_of(lapwing_type type) noexcept {
    if (!is_number(type)) return "";
    return with_any_number(type, []<class T>(T) { return values::type_name<T>(); });
}

void throw_no_number(lapwing_type type, const char* needed) {
    require_type(type);
    throw UsageError{fmt::format("values of type {} have no such operation; it is for {}", text_of(type), needed)};
}

std::optional<mpi::AtomicType> find_atomic_type(lapwing_type type) noexcept {
    switch (type) {
    case LAPWING_INT32: return mpi::AtomicType::int32;
    case LAPWING_UINT32: return mpi::AtomicType::uint32;
    case LAPWING_INT64: return mpi::AtomicType::int64;
    case LAPWING_UINT64: return mpi::AtomicType::uint64;
    case LAPWING_FLOAT: return mpi::AtomicType::float32;
    case LAPWING_DOUBLE: return mpi::AtomicType::float64;
    default: return {};
    }
}

mpi::AtomicType atomic_type_of(lapwing_type type) {
    if (const auto found = find_atomic_type(type)) return *found;
    throw_no_number(type, "integers and floating point of 4 and 8 bytes; others have atomics on single values");
}

} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

uint64_t lapwing_type_size(lapwing_type type) { return is_type(type) ? size_of(type) : 0; }
int lapwing_type_kind(lapwing_type type) { return is_type(type) ? kind_of(type) : 0; }

int lapwing_type_from_mpi(MPI_Datatype datatype, lapwing_type* type) {
    return guarded("lapwing_type_from_mpi", [&] {
        require_pointer(type, "type");
        if (datatype == MPI_DATATYPE_NULL)
            throw lapwing::UsageError{"the datatype is MPI_DATATYPE_NULL; pass the type of an element"};
        lapwing::detail::support::require_mpi("the datatype cannot be asked about");
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        lapwing::detail::support::check_mpi(MPI_Type_get_extent(datatype, &lower, &extent), "MPI_Type_get_extent", "");
        if (lower != 0 || extent < 1 || static_cast<std::uint64_t>(extent) > largest_element)
            throw lapwing::RangeError{fmt::format(
                "the datatype begins at byte {} and has an extent of {} bytes; the type of an element begins at 0, "
                "with an extent from 1 to {}",
                lower, extent, largest_element)};
        const lapwing_type found = LAPWING_TYPE_(kind_of_datatype(datatype), extent);
        *type = is_type(found) ? found : LAPWING_BYTES(extent);
    });
}

int lapwing_type_name(lapwing_type type, const char** text) {
    return guarded("lapwing_type_name", [&] {
        require_pointer(text, "text");
        require_type(type);
        *text = kept_text(text_of(type));
    });
}

} // extern "C"
