// Room: bindings
/*
 * Types of elements and values at run time.
 */
#ifndef LAPWING_C_TYPE_H
#define LAPWING_C_TYPE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A type: what its values are, in the upper 16 bits, and how many bytes they have. Two types are the same if their
/// numbers are.
typedef uint64_t lapwing_type;

/// What the values of a type are.
enum {
    LAPWING_KIND_SIGNED = 1,   ///< integers
    LAPWING_KIND_UNSIGNED = 2, ///< integers from 0 on
    LAPWING_KIND_FLOAT = 3,    ///< floating point
    LAPWING_KIND_COMPLEX = 4,  ///< two floating-point numbers, the real part first
    LAPWING_KIND_BYTES = 5     ///< bytes that only the program knows: structures, for example
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
/// A type of `bytes` bytes, from 1 to 2^31 - 1, of which only the program knows what they are:
/// LAPWING_BYTES(sizeof(struct particle)).
#define LAPWING_BYTES(bytes) LAPWING_TYPE_(5, bytes)

/// Bytes of a value: 0 for what is no type. A function without an error code. Local, any thread.
uint64_t lapwing_type_size(lapwing_type type);
/// One of LAPWING_KIND_...; 0 for what is no type. A function without an error code. Local, any thread.
int lapwing_type_kind(lapwing_type type);
/// The type of elements of an MPI datatype: of MPI's own numbers the same numbers, of all else as many bytes as its
/// extent is, gaps included, since elements lie an extent apart. LAPWING_ERR_USAGE for MPI_DATATYPE_NULL,
/// LAPWING_ERR_RANGE for a datatype whose lower bound is not 0 or that has no bytes. Local, any thread.
int lapwing_type_from_mpi(MPI_Datatype datatype, lapwing_type* type);
/// "double", "int32", "24 bytes": `*text` stays until the thread's next call that gives a text. Local, any thread.
int lapwing_type_name(lapwing_type type, const char** text);

#ifdef __cplusplus
}
#endif

#endif
