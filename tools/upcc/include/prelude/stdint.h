/* For the prelude alone: what it uses, by names of its own, so that the program's <stdint.h>, or its own types of these
 * names, come as if nothing had been before them. */
#define uint8_t lapwing_uint8
#define uint16_t lapwing_uint16
#define uint32_t lapwing_uint32
#define uint64_t lapwing_uint64
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
