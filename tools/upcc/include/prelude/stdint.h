/* For the prelude alone: what it uses, so that the program's <stdint.h> comes as if nothing had been before it. */
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
