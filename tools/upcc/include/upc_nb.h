/* UPC optional library specification 1.3: transfers that go on beside the program. */
#include <upc.h> /* which may include this */
#ifndef LAPWING_UPCC_UPC_NB_H
#define LAPWING_UPCC_UPC_NB_H

typedef struct lapwing_upc_transfer* upc_handle_t;
#define UPC_COMPLETE_HANDLE ((upc_handle_t)0)

extern upc_handle_t upc_memcpy_nb(shared void* restrict dst, shared const void* restrict src,
                                  size_t n) __asm__("lapwing_upc_memcpy_nb");
extern upc_handle_t upc_memget_nb(void* restrict dst, shared const void* restrict src,
                                  size_t n) __asm__("lapwing_upc_memget_nb");
extern upc_handle_t upc_memput_nb(shared void* restrict dst, const void* restrict src,
                                  size_t n) __asm__("lapwing_upc_memput_nb");
extern upc_handle_t upc_memset_nb(shared void* dst, int c, size_t n) __asm__("lapwing_upc_memset_nb");
extern void upc_memcpy_nbi(shared void* restrict dst, shared const void* restrict src,
                           size_t n) __asm__("lapwing_upc_memcpy_nbi");
extern void upc_memget_nbi(void* restrict dst, shared const void* restrict src,
                           size_t n) __asm__("lapwing_upc_memget_nbi");
extern void upc_memput_nbi(shared void* restrict dst, const void* restrict src,
                           size_t n) __asm__("lapwing_upc_memput_nbi");
extern void upc_memset_nbi(shared void* dst, int c, size_t n) __asm__("lapwing_upc_memset_nbi");
extern int upc_sync_attempt(upc_handle_t handle) __asm__("lapwing_upc_sync_attempt");
extern void upc_sync(upc_handle_t handle) __asm__("lapwing_upc_sync");
extern int upc_synci_attempt(void) __asm__("lapwing_upc_synci_attempt");
extern void upc_synci(void) __asm__("lapwing_upc_synci");

#endif
