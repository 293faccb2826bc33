// Room: bindings
/*
 * Callbacks for tracing tools: docs/advice.md#callbacks-and-probes-for-tools.
 */
#ifndef LAPWING_C_TOOLS_H
#define LAPWING_C_TOOLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What an access does.
enum {
    LAPWING_TOOL_READ = 0,
    LAPWING_TOOL_WRITE = 1,
    LAPWING_TOOL_ATOMIC = 2, ///< with a result
    LAPWING_TOOL_UPDATE = 3, ///< an atomic without a result
    LAPWING_TOOL_NOTIFY = 4  ///< a put that notifies the target
};
/// Whose memory it accesses.
enum {
    LAPWING_TOOL_OWN = 0,  ///< the rank's own
    LAPWING_TOOL_NODE = 1, ///< another rank's on its node
    LAPWING_TOOL_FAR = 2   ///< a rank's on another node
};

/// An access of the program, or a call that has begun several.
typedef struct lapwing_tool_access {
    int kind;                ///< LAPWING_TOOL_READ and so on
    int affinity;            ///< LAPWING_TOOL_OWN and so on
    int target;              ///< the rank of the runtime whose memory it is
    int thread;              ///< of this rank: a number from 0 on, in the order of their first accesses
    uint64_t offset;         ///< in the target's part, in bytes
    uint64_t bytes;          ///< that it moves
    uint64_t elements;       ///< that it moves
    uint64_t accesses;       ///< at the end of a call: those that it began; else 1
    uint64_t object;         ///< the number of the window or array, in the order of creation
    const char* name;        ///< its name; empty: none
    const void* const* site; ///< where the program makes the call: return addresses, innermost first; the library's own
                             ///< may be among them
    size_t site_size;        ///< their number
} lapwing_tool_access;

/// Functions of a tool; each may be null. They are called by the thread that makes the access, which waits for them,
/// and by several threads at a time if the program has several. They must not call Lapwing, and what they are given is
/// valid until they return.
typedef struct lapwing_tool_callbacks {
    /// An access begins.
    void (*begin)(void* context, const lapwing_tool_access* access);
    /// The call that began one access, or several to several ranks, returns: `call` is the first of them, with the
    /// bytes, elements and number of all. Transfers of a completion may still be under way.
    void (*end)(void* context, const lapwing_tool_access* call);
    /// The thread has reached a barrier, fence, acquire, lock or collective call; `site` as above.
    void (*sequence_point)(void* context, const void* const* site, size_t site_size);
    void* context; ///< passed to each of them
} lapwing_tool_callbacks;

/// Calls the functions for the accesses of runtimes that are made from now on; `*tool` is its number. What is recorded
/// is what LAPWING_TRACE records, at its cost. LAPWING_ERR_USAGE if three tools are registered already. Local, one
/// thread; no runtime may exist.
int lapwing_tool_register(const lapwing_tool_callbacks* callbacks, int* tool);
/// Unregisters a tool. LAPWING_ERR_USAGE for a number that no tool has. Local, one thread; no runtime may exist.
int lapwing_tool_unregister(int tool);

#ifdef __cplusplus
}
#endif

#endif
