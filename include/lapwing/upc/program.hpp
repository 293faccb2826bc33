// Room: upc
#pragma once

#include <lapwing/cache_options.hpp>
#include <lapwing/detail/memory_map.hpp>
#include <lapwing/detail/page_table.hpp>
#include <lapwing/detail/upc_arithmetic.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/upc.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

/// The default order of accesses: UPC's `#include <upc_strict.h>` and its `#pragma upc`.
enum class Consistency : std::uint8_t {
    relaxed, ///< accesses of one thread to the same bytes keep their order; others see writes after a fence, an unlock
             ///< or a barrier
    strict,  ///< all threads see all strict accesses in one order: each has a fence on both sides
};

namespace detail {

/// What an access needs to know about the running program: set by the start, empty after the end.
struct HeapAccess {
    /// The threads whose parts this one can load and store, if they are consecutive; otherwise, and while there are
    /// copies of what others of them have, only itself: the part of thread near_first + k is at bases[k]. None while
    /// every access must go through the runtime (strict ones, recorded ones, checked ones).
    std::uint32_t near_first = 0;
    std::uint32_t near_count = 0;
    std::byte* const* bases = nullptr;
    /// In each thread's part, allocations are in [heap_begin, heap_begin + heap_bytes). Before that are the runtime's
    /// metadata, and the addresses of null pointers and their members.
    std::uint64_t heap_begin = 0;
    std::uint64_t heap_bytes = 0;
    const lapwing::detail::window::PageTables* page_tables =
        &lapwing::detail::window::no_page_tables;   ///< find other elements, if they are cached
    std::byte* own = nullptr;                       ///< this thread's part
    ThreadCount threads;                            ///< THREADS
    int own_thread = 0;                             ///< MYTHREAD
    bool checked = false;                           ///< accesses and arithmetic must stay in an allocated object
    int forall_depth = 0;                           ///< nesting depth of loops that divide their iterations
    Consistency consistency = Consistency::relaxed; ///< default for accesses
};
extern HeapAccess heap_access;

} // namespace detail

/// THREADS and MYTHREAD.
[[nodiscard]] inline int threads() noexcept { return detail::heap_access.threads.threads(); }
[[nodiscard]] inline int mythread() noexcept { return detail::heap_access.own_thread; }

/// What a program may choose at its start; the same on all threads.
struct ProgramOptions {
    CacheOptions cache = {};                      ///< for other nodes' parts of the heap; default: LAPWING_CACHE…
    std::optional<std::uint64_t> heap_bytes = {}; ///< at each thread, for blocks of all threads; default:
                                                  ///< LAPWING_UPC_HEAP
    std::optional<std::uint64_t> local_heap_bytes =
        {}; ///< at each thread, for what it allocates alone; default: LAPWING_UPC_LOCAL_HEAP
    Consistency consistency = Consistency::relaxed; ///< default for accesses
};

/// MuPC's cache (Zhang, 2007, section 4.4.9): direct-mapped, with `lines` lines of `line_bytes` (a power of two, at
/// least 64), a small victim cache, no read-ahead, not adaptive.
[[nodiscard]] inline CacheOptions mupc_cache(std::uint64_t lines, std::uint64_t line_bytes) {
    return {.mode = CacheMode::epoch,
            .policy = CachePolicy::direct_mapped,
            .bytes = lines * line_bytes,
            .page_bytes = line_bytes,
            .read_ahead_bytes = 0,
            .adapt = false};
}

namespace detail {

/// The start, as lapwing_upc_start(). Over `runtime`, or if that is null over the one that open_session() finds. Throws
/// nothing: errors end the program, or go to the handler.
void start(const ProgramOptions& options, Team* runtime);
/// The end without waiting for the others, which learn that this thread has left.
void abandon();

/// For an object whose destructor is collective: if an exception ends its scope, this may happen on this thread alone,
/// and it must then not wait for the others.
class CollectiveLifetime {
public:
    [[nodiscard]] bool unwinds() const noexcept { return std::uncaught_exceptions() > at_start_; }

private:
    int at_start_ = std::uncaught_exceptions();
};

} // namespace detail

/// The program from main's start to its end, with UPC's implied barriers. Collective. Shared objects must be destroyed
/// before it.
///
/// It is built on a Runtime, whose ranks are its threads. UPC's barriers, fences, locks and strict accesses also order
/// the windows and arrays of that runtime, and barriers, fences and Locks of the runtime order UPC's objects: it is all
/// one memory. Make windows that are used together with UPC's objects over upc::runtime().
class Program {
public:
    /// The start, over the Runtime that this thread has made over MPI_COMM_WORLD and not closed; the first, if there
    /// are several. If there is none it makes its own, which initialises MPI if nobody has. An error if the program was
    /// started before.
    explicit Program(const ProgramOptions& options = {}) { detail::start(options, nullptr); }
    /// The start over a Runtime, or another Team: its ranks are the threads. It must be closed after the program.
    explicit Program(Team& runtime, const ProgramOptions& options = {}) { detail::start(options, &runtime); }
    /// The same with main's arguments, which are not changed.
    Program(int& /*argc*/, char**& /*argv*/, const ProgramOptions& options = {}) : Program{options} {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    /// The end: a barrier, then the heap is freed; `exit` anywhere does the same. MPI is finalized if the start
    /// initialised it. If an exception ends the scope, nobody is waited for: the others' next call that needs this
    /// thread reports that it has left.
    ~Program() {
        if (collective_.unwinds()) detail::abandon();
        else lapwing_upc_end();
    }

private:
    detail::CollectiveLifetime collective_;
};

/// upc_global_exit: one thread ends all threads. Does not return.
[[noreturn]] inline void global_exit(int status) {
    lapwing_upc_global_exit(status);
    __builtin_unreachable();
}

/// Makes strict, or relaxed, the default for accesses until the end of its scope: `#pragma upc strict` in a block. It
/// also holds in functions that are called there.
class [[nodiscard]] ConsistencyScope {
public:
    explicit ConsistencyScope(Consistency consistency);
    ConsistencyScope(const ConsistencyScope&) = delete;
    ConsistencyScope& operator=(const ConsistencyScope&) = delete;
    ~ConsistencyScope();

private:
    Consistency before_;
};

/// The runtime that the program is built on, for windows, arrays and Locks: UPC's synchronisation orders their
/// accesses, and they order UPC's. An error before the start, and after the end.
[[nodiscard]] Team& runtime();

/// Counters of the heap's window for the calling thread: gets, puts, cache hits and misses, …
[[nodiscard]] StatisticsValues statistics();

} // namespace lapwing::upc
