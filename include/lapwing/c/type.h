// Room: bindings
/*
 * Types of elements and values, known at run time.
 */
#ifndef LAPWING_C_TYPE_H
#define LAPWING_C_TYPE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A type: the kind of its values, in the upper 16 bits, and their size in bytes. Two types are the same if their
/// numbers are equal.
typedef uint64_t lapwing_type;

/// The kind of a type's values.
enum {
    LAPWING_KIND_SIGNED = 1,           ///< signed integers
    LAPWING_KIND_UNSIGNED = 2,         ///< unsigned integers
    LAPWING_KIND_FLOAT = 3,            ///< floating point
    LAPWING_KIND_COMPLEX = 4,          ///< two floating-point numbers, the real part first
    LAPWING_KIND_BYTES = 5,            ///< bytes whose meaning only the program knows: structures, for example
    LAPWING_KIND_LOCATED_SIGNED = 6,   ///< a signed integer, and the index of where it was found
    LAPWING_KIND_LOCATED_UNSIGNED = 7, ///< the same of an unsigned integer
    LAPWING_KIND_LOCATED_FLOAT = 8     ///< the same of a floating-point number
};

#define LAPWING_TYPE_(kind, bytes) (((lapwing_type)(kind) << 48) | (lapwing_type)(bytes))
#define LAPWING_INT8 LAPWING_TYPE_(1, 1)
#define LAPWING_INT16 LAPWING_TYPE_(1, 2)
#define LAPWING_INT32 LAPWING_TYPE_(1, 4)
#define LAPWING_INT64 LAPWING_TYPE_(1, 8)
#define LAPWING_UINT8 LAPWING_TYPE_(2, 1)
#define LAPWING_UINT16 LAPWING_TYPE_(2, 2)
#define LAPWING_UINT32 LAPWING_TYPE_(2, 4)
#define LAPWING_UINT64 LAPWING_TYPE_(2, 8)
#define LAPWING_FLOAT LAPWING_TYPE_(3, 4)
#define LAPWING_DOUBLE LAPWING_TYPE_(3, 8)
#define LAPWING_FLOAT_COMPLEX LAPWING_TYPE_(4, 8)
#define LAPWING_DOUBLE_COMPLEX LAPWING_TYPE_(4, 16)
/// A type of `bytes` bytes, from 1 to 2^31 - 1, whose meaning only the program knows: LAPWING_BYTES(sizeof(struct
/// particle)).
#define LAPWING_BYTES(bytes) LAPWING_TYPE_(5, bytes)

/// A number, and the index of where it was found: for the atomics LAPWING_MIN and LAPWING_MAX, which keep the pair with
/// the smaller (larger) value, and of equal values that with the lower index, as MPI_MINLOC and MPI_MAXLOC do. Narrower
/// numbers fit into these without rounding.
typedef struct lapwing_located_int64 {
    int64_t value;
    int64_t index;
} lapwing_located_int64;
typedef struct lapwing_located_uint64 {
    uint64_t value;
    int64_t index;
} lapwing_located_uint64;
typedef struct lapwing_located_double {
    double value;
    int64_t index;
} lapwing_located_double;
/// Their types, of elements or of values in windows.
#define LAPWING_LOCATED_INT64 LAPWING_TYPE_(6, 16)
#define LAPWING_LOCATED_UINT64 LAPWING_TYPE_(7, 16)
#define LAPWING_LOCATED_DOUBLE LAPWING_TYPE_(8, 16)

/// Size of a value in bytes; 0 if it is not a type. Returns no error code. Local, any thread.
uint64_t lapwing_type_size(lapwing_type type);
/// One of LAPWING_KIND_...; 0 if it is not a type. Returns no error code. Local, any thread.
int lapwing_type_kind(lapwing_type type);
/// The type of elements of an MPI datatype: MPI's predefined numbers become the same numbers; all others become bytes
/// of the size of the extent, gaps included, since elements are an extent apart. LAPWING_ERR_USAGE for
/// MPI_DATATYPE_NULL, LAPWING_ERR_RANGE for a datatype whose lower bound is not 0 or that has no bytes. Local, any
/// thread.
int lapwing_type_from_mpi(MPI_Datatype datatype, lapwing_type* type);
/// "double", "int32", "24 bytes": `*text` is valid until the thread's next call that returns a text. Local, any thread.
int lapwing_type_name(lapwing_type type, const char** text);

#ifdef __cplusplus
}
#endif

#endif
