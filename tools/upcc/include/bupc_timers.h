/* Of Berkeley UPC's test programs: a clock, in microseconds. */
#ifndef LAPWING_UPCC_BUPC_TIMERS_H
#define LAPWING_UPCC_BUPC_TIMERS_H

#include <upc.h>
#include <upc_tick.h>

#define TIME() (upc_ticks_to_ns(upc_ticks_now()) / 1000)

#endif
