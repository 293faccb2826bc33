/* The interface of performance tools (GASP): programs may name phases of theirs. No tool is attached here, so that
 * nothing is recorded. */
#ifndef LAPWING_UPCC_PUPC_H
#define LAPWING_UPCC_PUPC_H

#define pupc_control(on) ((void)(on), 0)
#define pupc_create_event(name, description) ((void)(name), (void)(description), 0u)
#define pupc_event_start(...) ((void)0)
#define pupc_event_end(...) ((void)0)
#define pupc_event_atomic(...) ((void)0)

#endif
