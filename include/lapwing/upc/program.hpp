// Room: upc
#pragma once

#include <lapwing/cache_options.hpp>
#include <lapwing/detail/hot_pages.hpp>
#include <lapwing/detail/memory_map.hpp>
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

/// How accesses that say nothing themselves are ordered: UPC's `#include <upc_strict.h>` and its `#pragma upc`.
enum class Consistency : std::uint8_t {
    relaxed, ///< those of one thread to the same bytes keep their order; others see writes behind a fence, an unlock or
             ///< a barrier
    strict,  ///< all threads see all strict accesses in one order: each has a fence on both sides
};

namespace detail {

/// What an access needs to know of the started program: set by the start, empty after the end.
struct HeapAccess {
    /// The threads whose parts this one can load and store, if they follow each other, else this one: near_first + k
    /// has its part at bases[k]. None while every access must go through the runtime (strict ones, recorded ones).
    std::uint32_t near_first = 0;
    std::uint32_t near_count = 0;
    std::byte* const* bases = nullptr;
    /// Of each thread's part: what is allocated lies in [heap_begin, heap_begin + heap_bytes). Before it are the
    /// runtime's books, and what null pointers and their members would be.
    std::uint64_t heap_begin = 0;
    std::uint64_t heap_bytes = 0;
    const lapwing::detail::window::HotPageTables* hot_pages =
        &lapwing::detail::window::no_hot_pages;     ///< what finds other elements, where they are cached
    std::byte* own = nullptr;                       ///< the own part
    ThreadCount threads;                            ///< THREADS
    int own_thread = 0;                             ///< MYTHREAD
    int forall_depth = 0;                           ///< of loops that share their iterations out, inside each other
    Consistency consistency = Consistency::relaxed; ///< of accesses that say nothing themselves
};
extern HeapAccess heap_access;

} // namespace detail

/// THREADS and MYTHREAD.
[[nodiscard]] inline int threads() noexcept { return detail::heap_access.threads.threads(); }
[[nodiscard]] inline int mythread() noexcept { return detail::heap_access.own_thread; }

/// What a program may choose at its start; all threads the same.
struct ProgramOptions {
    CacheOptions cache = {};                      ///< of other nodes' parts of the heap; else LAPWING_CACHE… decide
    std::optional<std::uint64_t> heap_bytes = {}; ///< of each thread, for blocks of all threads; else LAPWING_UPC_HEAP
    std::optional<std::uint64_t> local_heap_bytes =
        {}; ///< of each thread, for what it allocates alone; else LAPWING_UPC_LOCAL_HEAP
    Consistency consistency = Consistency::relaxed; ///< of accesses that say nothing themselves
};

/// MuPC's cache (Zhang, 2007, section 4.4.9): direct-mapped, with `lines` lines of `line_bytes` (a power of two from
/// 64), a small victim cache, no read-ahead and nothing that adapts.
[[nodiscard]] inline CacheOptions mupc_cache(std::uint64_t lines, std::uint64_t line_bytes) {
    return {.mode = CacheMode::epoch,
            .policy = CachePolicy::direct_mapped,
            .bytes = lines * line_bytes,
            .page_bytes = line_bytes,
            .read_ahead_bytes = 0,
            .adapt = false};
}

namespace detail {

/// The start, as lapwing_upc_start(). Over `runtime`, or where it is null over what open_session() finds. Throws
/// nothing: errors end the program, or go to the handler.
void start(const ProgramOptions& options, Team* runtime);
/// The end without waiting for the others, which learn that this thread has left.
void abandon();

/// Of an object whose destructor is collective: an exception that ends its scope may be this thread's alone, and then
/// it must not wait for the others.
class CollectiveLifetime {
public:
    [[nodiscard]] bool unwinds() const noexcept { return std::uncaught_exceptions() > at_start_; }

private:
    int at_start_ = std::uncaught_exceptions();
};

} // namespace detail

/// The program from main's start to its end, with UPC's implied barriers. Collective. Shared objects end before it.
///
/// It stands on a Runtime, whose ranks are its threads. UPC's barriers, fences, locks and strict accesses order the
/// windows and arrays of that runtime, too, and barriers, fences and Locks of the runtime order UPC's objects: there is
/// one memory. Windows that go with UPC's objects are made over upc::runtime().
class Program {
public:
    /// The start, over the Runtime that this thread has made over MPI_COMM_WORLD and not closed; the first, if there
    /// are several. Without one it makes its own, which initialises MPI if nobody has. An error if it was started
    /// before.
    explicit Program(const ProgramOptions& options = {}) { detail::start(options, nullptr); }
    /// The start over a Runtime, or another Team: its ranks are the threads. It is closed after the program.
    explicit Program(Team& runtime, const ProgramOptions& options = {}) { detail::start(options, &runtime); }
    /// The same with main's arguments, which are left as they are.
    Program(int& /*argc*/, char**& /*argv*/, const ProgramOptions& options = {}) : Program{options} {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    /// The end: a barrier, then the heap is gone; `exit` anywhere has the same. MPI is finalized if the start
    /// initialised it. When an exception ends the scope nobody is waited for: the others' next call that needs this
    /// thread says that it has left.
    ~Program() {
        if (collective_.unwinds()) detail::abandon();
        else lapwing_upc_end();
    }

private:
    detail::CollectiveLifetime collective_;
};

/// upc_global_exit: ends all threads, called by one. Does not return.
[[noreturn]] inline void global_exit(int status) {
    lapwing_upc_global_exit(status);
    __builtin_unreachable();
}

/// Makes the accesses that say nothing themselves strict, or relaxed, until the end of its scope: `#pragma upc strict`
/// in a block. It holds for functions that are called there, too.
class [[nodiscard]] ConsistencyScope {
public:
    explicit ConsistencyScope(Consistency consistency);
    ConsistencyScope(const ConsistencyScope&) = delete;
    ConsistencyScope& operator=(const ConsistencyScope&) = delete;
    ~ConsistencyScope();

private:
    Consistency before_;
};

/// What the program stands on: for windows, arrays and Locks whose accesses UPC's synchronisation orders, and the other
/// way round. An error before the start, and after the end.
[[nodiscard]] Team& runtime();

/// What the heap's window has counted for the calling thread: gets, puts, cache hits and misses, …
[[nodiscard]] StatisticsValues statistics();

} // namespace lapwing::upc
