/* The unsigned types of <stdint.h> for programs of other compilers, whose upc.h declares them. */
#ifndef LAPWING_UPCC_INTEGERS_H
#define LAPWING_UPCC_INTEGERS_H

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#endif
