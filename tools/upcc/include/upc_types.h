/* Types, operations and flags of UPC's libraries: UPC required library specification 1.3, section 7.2. The values are
 * those of lapwing/upc/types.h. */
#ifndef LAPWING_UPCC_UPC_TYPES_H
#define LAPWING_UPCC_UPC_TYPES_H

typedef int upc_type_t;
#define UPC_CHAR 1
#define UPC_UCHAR 2
#define UPC_SHORT 3
#define UPC_USHORT 4
#define UPC_INT 5
#define UPC_UINT 6
#define UPC_LONG 7
#define UPC_ULONG 8
#define UPC_LLONG 9
#define UPC_ULLONG 10
#define UPC_INT8 11
#define UPC_UINT8 12
#define UPC_INT16 13
#define UPC_UINT16 14
#define UPC_INT32 15
#define UPC_UINT32 16
#define UPC_INT64 17
#define UPC_UINT64 18
#define UPC_FLOAT 19
#define UPC_DOUBLE 20
#define UPC_LDOUBLE 21
#define UPC_PTS 22

typedef unsigned long upc_op_t;
#define UPC_ADD (1ul << 0)
#define UPC_MULT (1ul << 1)
#define UPC_AND (1ul << 2)
#define UPC_OR (1ul << 3)
#define UPC_XOR (1ul << 4)
#define UPC_LOGAND (1ul << 5)
#define UPC_LOGOR (1ul << 6)
#define UPC_MIN (1ul << 9)
#define UPC_MAX (1ul << 10)

typedef int upc_flag_t;
#define UPC_IN_ALLSYNC (1 << 0)
#define UPC_IN_MYSYNC (1 << 1)
#define UPC_IN_NOSYNC (1 << 2)
#define UPC_OUT_ALLSYNC (1 << 3)
#define UPC_OUT_MYSYNC (1 << 4)
#define UPC_OUT_NOSYNC (1 << 5)

#endif
