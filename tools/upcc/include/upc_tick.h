/* UPC required library specification 1.3, section 7.4: a clock of high resolution. */
#ifndef LAPWING_UPCC_EARLY
#include <inttypes.h>
#endif
#ifndef LAPWING_UPCC_UPC_TICK_H
#define LAPWING_UPCC_UPC_TICK_H

typedef __UINT64_TYPE__ upc_tick_t;
#define UPC_TICK_MAX (~(upc_tick_t)0)
#define UPC_TICK_MIN ((upc_tick_t)0)

extern upc_tick_t upc_ticks_now(void) __asm__("lapwing_upc_ticks_now");
extern __UINT64_TYPE__ upc_ticks_to_ns(upc_tick_t ticks) __asm__("lapwing_upc_ticks_to_ns");

#endif
