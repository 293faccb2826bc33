/* Berkeley UPC's teams: threads that make collective operations of their own. An operation is collective for its team,
 * and complete when it returns: its handle is null. A team is never freed. */
#include <upc.h> /* which may include this */
#ifndef LAPWING_UPCC_BUPC_TEAMS_H
#define LAPWING_UPCC_BUPC_TEAMS_H

#include <upc_types.h>

typedef void* bupc_team_t;
typedef void* bupc_coll_handle_t;

/* All threads. */
extern bupc_team_t bupc_team_all __asm__("lapwing_upcc_team_all");
#define BUPC_TEAM_ALL (bupc_team_all)

/* Collective for the parent: the threads of each colour are a team, in the order of their keys. */
extern bupc_team_t bupc_team_split(bupc_team_t parent, int colour, int key) __asm__("lapwing_upcc_team_split");
/* `nbytes` bytes at src, which is with a thread of the team, to each thread's part at the address of dst. */
extern bupc_coll_handle_t bupc_team_broadcast(bupc_team_t team, shared void* dst, shared const void* src, size_t nbytes,
                                              upc_flag_t flags) __asm__("lapwing_upcc_team_broadcast");
/* The addresses of dst and src are in each thread's part, which has a block of `nbytes` bytes there for each thread of
 * the team: block j of thread i becomes block i of thread j. */
extern bupc_coll_handle_t bupc_team_exchange(bupc_team_t team, shared void* dst, shared const void* src, size_t nbytes,
                                             upc_flag_t flags) __asm__("lapwing_upcc_team_exchange");
static inline void bupc_coll_wait(bupc_coll_handle_t handle) { (void)handle; }

#define bupc_load_coll_tuning_file(team, file) ((void)(team), (void)(file))
#define bupc_store_coll_tuning_file(team, file) ((void)(team), (void)(file))

#endif
