// Room: upc
/* The types, operations and flags of UPC's collectives and atomics: UPC's header upc_types.h. */
#ifndef LAPWING_UPC_TYPES_H
#define LAPWING_UPC_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* upc_type_t: UPC_CHAR, ... */
typedef enum lapwing_upc_type {
    LAPWING_UPC_CHAR = 1, /* signed char */
    LAPWING_UPC_UCHAR,
    LAPWING_UPC_SHORT,
    LAPWING_UPC_USHORT,
    LAPWING_UPC_INT,
    LAPWING_UPC_UINT,
    LAPWING_UPC_LONG,
    LAPWING_UPC_ULONG,
    LAPWING_UPC_LLONG,
    LAPWING_UPC_ULLONG,
    LAPWING_UPC_INT8,
    LAPWING_UPC_UINT8,
    LAPWING_UPC_INT16,
    LAPWING_UPC_UINT16,
    LAPWING_UPC_INT32,
    LAPWING_UPC_UINT32,
    LAPWING_UPC_INT64,
    LAPWING_UPC_UINT64,
    LAPWING_UPC_FLOAT,
    LAPWING_UPC_DOUBLE,
    LAPWING_UPC_LDOUBLE,
    LAPWING_UPC_PTS /* a pointer-to-shared */
} lapwing_upc_type;

/* upc_op_t: UPC_ADD, ...; one bit each, since domains of atomics name several. */
typedef enum lapwing_upc_op {
    LAPWING_UPC_ADD = 1 << 0,
    LAPWING_UPC_MULT = 1 << 1,
    LAPWING_UPC_AND = 1 << 2,
    LAPWING_UPC_OR = 1 << 3,
    LAPWING_UPC_XOR = 1 << 4,
    LAPWING_UPC_LOGAND = 1 << 5, /* collectives only, like the next four */
    LAPWING_UPC_LOGOR = 1 << 6,
    LAPWING_UPC_FUNC = 1 << 7,
    LAPWING_UPC_NONCOMM_FUNC = 1 << 8,
    LAPWING_UPC_MIN = 1 << 9,
    LAPWING_UPC_MAX = 1 << 10,
    LAPWING_UPC_GET = 1 << 11, /* atomics only, like the following */
    LAPWING_UPC_SET = 1 << 12,
    LAPWING_UPC_CSWAP = 1 << 13,
    LAPWING_UPC_SUB = 1 << 14,
    LAPWING_UPC_INC = 1 << 15,
    LAPWING_UPC_DEC = 1 << 16
} lapwing_upc_op;

/* upc_flag_t: one of each group of three; the default is ALLSYNC. */
typedef enum lapwing_upc_flag {
    LAPWING_UPC_IN_ALLSYNC = 1 << 0,  /* data is read and written when all threads have entered */
    LAPWING_UPC_IN_MYSYNC = 1 << 1,   /* a thread's data is, when that thread has entered */
    LAPWING_UPC_IN_NOSYNC = 1 << 2,   /* data is, when the first thread has entered */
    LAPWING_UPC_OUT_ALLSYNC = 1 << 3, /* no thread returns before all data has been read and written */
    LAPWING_UPC_OUT_MYSYNC = 1 << 4,  /* no thread returns before its own data has */
    LAPWING_UPC_OUT_NOSYNC = 1 << 5
} lapwing_upc_flag;

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_TYPES_H */
