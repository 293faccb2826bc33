#include "bindings/c/window.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/layout.hpp"
#include "window/window_state.hpp"

#include <lapwing/array_base.hpp>
#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace lapwing::detail::bindings {

CacheOptions cache_options_of(const lapwing_cache_options& options) {
    const auto choice = [](int value, int count, const char* name, const char* constants) {
        if (value != -1) require_constant(value, count, name, constants);
        return value != -1;
    };
    const auto number = [](std::int64_t value, const char* name) -> std::optional<std::uint64_t> {
        if (value < -1)
            throw RangeError{fmt::format(
                "the cache option '{}' is {}; pass a number from 0 on, or -1 for the setting's", name, value)};
        if (value == -1) return {};
        return static_cast<std::uint64_t>(value);
    };
    CacheOptions result;
    if (choice(options.mode, 4, "cache.mode", "LAPWING_CACHE_OFF to LAPWING_CACHE_TRANSPARENT, or -1"))
        result.mode = static_cast<CacheMode>(options.mode);
    if (choice(options.policy, 2, "cache.policy", "LAPWING_CACHE_TWO_QUEUES and LAPWING_CACHE_DIRECT_MAPPED, or -1"))
        result.policy = static_cast<CachePolicy>(options.policy);
    if (choice(options.acquire, 2, "cache.acquire",
               "LAPWING_CACHE_ACQUIRE_RANK and LAPWING_CACHE_ACQUIRE_THREAD, or -1"))
        result.acquire = static_cast<CacheAcquire>(options.acquire);
    if (choice(options.adapt, 2, "cache.adapt", "0 and 1, or -1")) result.adapt = options.adapt == 1;
    result.bytes = number(options.bytes, "bytes");
    result.page_bytes = number(options.page_bytes, "page_bytes");
    result.dirty_pages = number(options.dirty_pages, "dirty_pages");
    result.read_ahead_bytes = number(options.read_ahead_bytes, "read_ahead_bytes");
    result.victim_pages = number(options.victim_pages, "victim_pages");
    return result;
}

namespace {

WindowOptions window_options_of(const lapwing_window_options* given) {
    const lapwing_window_options options = given != nullptr ? *given : lapwing_window_options_default();
    WindowOptions result;
    if (options.name != nullptr) result.name = options.name;
    result.notification_counters = options.notification_counters;
    result.alignment = options.alignment;
    result.cache = cache_options_of(options.cache);
    result.zeroed_bytes = options.zeroed_bytes;
    result.identity.value = options.identity;
    result.identity.text = fmt::format(
        "{} {}", options.identity_name != nullptr ? options.identity_name : "the identity", options.identity);
    return result;
}

void make_window(lapwing_runtime* runtime, Window made, bool adopted, lapwing_window** window) {
    auto inside = std::make_unique<WindowInside>(runtime, std::move(made));
    *window = Handles<lapwing_window>::make(std::move(inside), adopted);
}

void require_own(const lapwing_window& window) {
    if (window.inside == nullptr) throw UsageError{"the window belongs to an array, which it ends with; free that"};
}

/// Displacements of MPI count units of the program's window.
Offset offset_of(const Window& window, int rank, MPI_Aint displacement) {
    const std::uint64_t bytes = window.size(Rank{rank}); // says if the window is closed, or the rank none
    const int unit = window.state().transports().rma.unit(Rank{rank});
    std::int64_t offset = 0;
    if (displacement < 0 || __builtin_mul_overflow(std::int64_t{displacement}, std::int64_t{unit}, &offset))
        throw RangeError{fmt::format("{}: the displacement is {}, in units of {} bytes; it must name a byte of the "
                                     "part of rank {}, which has {}",
                                     window.state().who("transfer"), displacement, unit, rank, bytes)};
    return Offset{offset};
}

/// The arguments of MPI_Put and MPI_Get as those of a window's transfers with layouts.
struct MpiTransfer {
    MpiTransfer(const Window& window, std::int64_t count, MPI_Datatype type, int target, MPI_Aint displacement,
                std::int64_t target_count, MPI_Datatype target_type)
        : there{Layout::from_mpi(target_type, target_count)},
          here{Layout::from_mpi(type, count)},
          rank{target},
          is_none{target == MPI_PROC_NULL},
          offset{is_none ? Offset{} : offset_of(window, target, displacement)} {}

    Layout there;
    Layout here;
    Rank rank;
    bool is_none; ///< nothing is transferred
    Offset offset;
};

} // namespace
} // namespace lapwing::detail::bindings

lapwing_window::lapwing_window(lapwing::Window& of_array) : window{&of_array} { bind(); }

lapwing_window::lapwing_window(std::unique_ptr<lapwing::detail::bindings::WindowInside> own, bool adopted)
    : window{&own->window}, inside{own.release()} {
    bind();
    if (adopted) head.ranks = 0;
}

void lapwing_window::bind() {
    head.mark = live_mark();
    const lapwing::detail::transport::MemoryMap& map = window->map();
    // Left to the library: windows that are recorded or have parts of several sizes, and nodes whose ranks are not
    // consecutive.
    if (map.inline_ranks == 0 || map.sizes != nullptr || map.node_index != nullptr) return;
    const bool node = map.node_count > 0;
    static_assert(sizeof(std::byte*) == sizeof(unsigned char*));
    head.bases = reinterpret_cast<unsigned char* const*>(node ? map.bases : &map.own);
    head.bytes = map.uniform_bytes;
    head.first = node ? map.node_first : map.own_rank;
    head.ranks = node ? static_cast<unsigned>(map.node_count) : 1U;
    using LeastNoted = std::atomic<std::uint64_t>;
    static_assert(LeastNoted::is_always_lock_free && sizeof(LeastNoted) == sizeof(std::uint64_t));
    head.least_noted = reinterpret_cast<const volatile std::uint64_t*>(window->state().least_noted());
}

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Completion;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Window;

extern "C" {

lapwing_cache_options lapwing_cache_options_default(void) { return {-1, -1, -1, -1, -1, -1, -1, -1, -1}; }
lapwing_window_options lapwing_window_options_default(void) {
    return {nullptr, 16, 64, lapwing_cache_options_default(), std::numeric_limits<std::uint64_t>::max(), 0, nullptr};
}

int lapwing_window_create(lapwing_runtime* runtime, uint64_t bytes, const lapwing_window_options* options,
                          lapwing_window** window) {
    return guarded("lapwing_window_create", [&] {
        lapwing::Team& team = team_of(runtime);
        // If one rank's arguments are wrong, all get an error.
        auto given = before_collective(team, [&] {
            require_pointer(window, "window");
            return window_options_of(options);
        });
        make_window(runtime, Window{team, bytes, std::move(given)}, false, window);
    });
}

int lapwing_window_adopt(lapwing_runtime* runtime, MPI_Win mpi_window, int locked,
                         const lapwing_window_options* options, lapwing_window** window) {
    return guarded("lapwing_window_adopt", [&] {
        lapwing::Team& team = team_of(runtime);
        auto given = before_collective(team, [&] {
            require_pointer(window, "window");
            return window_options_of(options);
        });
        make_window(runtime, Window::adopt(team, mpi_window, locked != 0, std::move(given)), true, window);
    });
}

int lapwing_window_free(lapwing_window** window) {
    return guarded("lapwing_window_free", [&] {
        require_pointer(window, "window");
        if (*window == nullptr) return;
        lapwing_window& one = use(*window);
        require_own(one);
        one.inside->window.close();
        end_handle(window);
    });
}

int lapwing_window_leave(lapwing_window** window) {
    return guarded("lapwing_window_leave", [&] {
        require_pointer(window, "window");
        if (*window == nullptr) return;
        require_own(use(*window));
        leave([&] { end_handle(window); });
    });
}

int lapwing_window_name(const lapwing_window* window, const char** text) {
    return guarded("lapwing_window_name", [&] {
        require_pointer(text, "text");
        *text = kept_text(std::string{window_of(window).name()});
    });
}

int lapwing_window_size(const lapwing_window* window, int rank, uint64_t* bytes) {
    return guarded("lapwing_window_size", [&] {
        require_pointer(bytes, "bytes");
        *bytes = window_of(window).size(Rank{rank});
    });
}

int lapwing_window_path(const lapwing_window* window, int rank, int* path) {
    return guarded("lapwing_window_path", [&] {
        require_pointer(path, "path");
        *path = static_cast<int>(window_of(window).path(Rank{rank}));
    });
}

int lapwing_window_memory(const lapwing_window* window, int rank, void** memory, uint64_t* bytes) {
    return guarded("lapwing_window_memory", [&] {
        const std::span<std::byte> part = window_of(window).reachable(Rank{rank});
        if (memory != nullptr) *memory = part.data();
        if (bytes != nullptr) *bytes = part.size();
    });
}

int lapwing_window_local(const lapwing_window* window, void** memory, uint64_t* bytes) {
    return guarded("lapwing_window_local", [&] {
        const std::span<std::byte> part = window_of(window).local();
        if (memory != nullptr) *memory = part.data();
        if (bytes != nullptr) *bytes = part.size();
    });
}

int lapwing_window_get(lapwing_window* window, int rank, uint64_t offset, void* destination, uint64_t bytes) {
    return guarded("lapwing_window_get", [&] {
        Window& one = window_of(window);
        require_memory(destination, bytes, "destination");
        one.get(Rank{rank}, Offset{offset}, span_at(destination, bytes));
    });
}

int lapwing_window_put(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes) {
    return guarded("lapwing_window_put", [&] {
        Window& one = window_of(window);
        require_memory(source, bytes, "source");
        one.put(Rank{rank}, Offset{offset}, span_at(source, bytes));
    });
}

int lapwing_window_start_get(lapwing_window* window, int rank, uint64_t offset, void* destination, uint64_t bytes,
                             lapwing_completion** completion) {
    return guarded("lapwing_window_start_get", [&] {
        Window& one = window_of(window);
        require_memory(destination, bytes, "destination");
        require_pointer(completion, "completion");
        give(one.start_get(Rank{rank}, Offset{offset}, span_at(destination, bytes)), completion);
    });
}

int lapwing_window_start_put(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes,
                             lapwing_completion** completion) {
    return guarded("lapwing_window_start_put", [&] {
        Window& one = window_of(window);
        require_memory(source, bytes, "source");
        require_pointer(completion, "completion");
        give(one.start_put(Rank{rank}, Offset{offset}, span_at(source, bytes)), completion);
    });
}

int lapwing_window_get_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                              void* base, const lapwing_layout* here) {
    return guarded("lapwing_window_get_layout", [&] {
        Window& one = window_of(window);
        require_memory(base, layout_of(here).bytes(), "base");
        one.get(Rank{rank}, Offset{offset}, layout_of(there), layout_of(here), base);
    });
}

int lapwing_window_put_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                              const void* base, const lapwing_layout* here) {
    return guarded("lapwing_window_put_layout", [&] {
        Window& one = window_of(window);
        require_memory(base, layout_of(here).bytes(), "base");
        one.put(layout_of(here), base, Rank{rank}, Offset{offset}, layout_of(there));
    });
}

int lapwing_window_start_get_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                    void* base, const lapwing_layout* here, lapwing_completion** completion) {
    return guarded("lapwing_window_start_get_layout", [&] {
        Window& one = window_of(window);
        require_memory(base, layout_of(here).bytes(), "base");
        require_pointer(completion, "completion");
        give(one.start_get(Rank{rank}, Offset{offset}, layout_of(there), layout_of(here), base), completion);
    });
}

int lapwing_window_start_put_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                    const void* base, const lapwing_layout* here, lapwing_completion** completion) {
    return guarded("lapwing_window_start_put_layout", [&] {
        Window& one = window_of(window);
        require_memory(base, layout_of(here).bytes(), "base");
        require_pointer(completion, "completion");
        give(one.start_put(layout_of(here), base, Rank{rank}, Offset{offset}, layout_of(there)), completion);
    });
}

int lapwing_window_get_mpi(lapwing_window* window, void* buffer, int64_t count, MPI_Datatype type, int rank,
                           MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type) {
    return guarded("lapwing_window_get_mpi", [&] {
        Window& one = window_of(window);
        const MpiTransfer mpi{one, count, type, rank, displacement, target_count, target_type};
        if (!mpi.is_none) one.get(mpi.rank, mpi.offset, mpi.there, mpi.here, buffer);
    });
}

int lapwing_window_put_mpi(lapwing_window* window, const void* buffer, int64_t count, MPI_Datatype type, int rank,
                           MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type) {
    return guarded("lapwing_window_put_mpi", [&] {
        Window& one = window_of(window);
        const MpiTransfer mpi{one, count, type, rank, displacement, target_count, target_type};
        if (!mpi.is_none) one.put(mpi.here, buffer, mpi.rank, mpi.offset, mpi.there);
    });
}

int lapwing_window_start_get_mpi(lapwing_window* window, void* buffer, int64_t count, MPI_Datatype type, int rank,
                                 MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type,
                                 lapwing_completion** completion) {
    return guarded("lapwing_window_start_get_mpi", [&] {
        Window& one = window_of(window);
        require_pointer(completion, "completion");
        const MpiTransfer mpi{one, count, type, rank, displacement, target_count, target_type};
        give(mpi.is_none ? Completion{} : one.start_get(mpi.rank, mpi.offset, mpi.there, mpi.here, buffer), completion);
    });
}

int lapwing_window_start_put_mpi(lapwing_window* window, const void* buffer, int64_t count, MPI_Datatype type, int rank,
                                 MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type,
                                 lapwing_completion** completion) {
    return guarded("lapwing_window_start_put_mpi", [&] {
        Window& one = window_of(window);
        require_pointer(completion, "completion");
        const MpiTransfer mpi{one, count, type, rank, displacement, target_count, target_type};
        give(mpi.is_none ? Completion{} : one.start_put(mpi.here, buffer, mpi.rank, mpi.offset, mpi.there), completion);
    });
}

int lapwing_window_prefetch(lapwing_window* window, int rank, uint64_t offset, uint64_t bytes) {
    return guarded("lapwing_window_prefetch", [&] { window_of(window).prefetch(Rank{rank}, Offset{offset}, bytes); });
}
int lapwing_window_invalidate_cache(lapwing_window* window) {
    return guarded("lapwing_window_invalidate_cache", [&] { window_of(window).invalidate_cache(); });
}
int lapwing_window_flush(lapwing_window* window, int rank) {
    return guarded("lapwing_window_flush", [&] { window_of(window).flush(Rank{rank}); });
}
int lapwing_window_flush_all(lapwing_window* window) {
    return guarded("lapwing_window_flush_all", [&] { window_of(window).flush(); });
}
int lapwing_window_release(lapwing_window* window) {
    return guarded("lapwing_window_release", [&] { window_of(window).release(); });
}
int lapwing_window_acquire(lapwing_window* window) {
    return guarded("lapwing_window_acquire", [&] { window_of(window).acquire(); });
}
int lapwing_window_fence(lapwing_window* window) {
    return guarded("lapwing_window_fence", [&] { window_of(window).fence(); });
}

int lapwing_window_put_notify(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes,
                              unsigned int counter) {
    return guarded("lapwing_window_put_notify", [&] {
        Window& one = window_of(window);
        require_memory(source, bytes, "source");
        one.put_notify(Rank{rank}, Offset{offset}, span_at(source, bytes), counter);
    });
}

int lapwing_window_put_notify_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                     const void* base, const lapwing_layout* here, unsigned int counter) {
    return guarded("lapwing_window_put_notify_layout", [&] {
        Window& one = window_of(window);
        require_memory(base, layout_of(here).bytes(), "base");
        one.put_notify(layout_of(here), base, Rank{rank}, Offset{offset}, layout_of(there), counter);
    });
}

int lapwing_window_wait_notified(lapwing_window* window, unsigned int counter, uint64_t count) {
    return guarded("lapwing_window_wait_notified", [&] { window_of(window).wait_notified(counter, count); });
}

int lapwing_window_notified(lapwing_window* window, unsigned int counter, uint64_t* count) {
    return guarded("lapwing_window_notified", [&] {
        require_pointer(count, "count");
        *count = window_of(window).notified(counter);
    });
}

int lapwing_window_statistics(const lapwing_window* window, lapwing_statistics* statistics) {
    return guarded("lapwing_window_statistics", [&] {
        require_pointer(statistics, "statistics");
        copy_statistics(window_of(window).statistics(), statistics);
    });
}

int lapwing_window_total_statistics(lapwing_window* window, lapwing_statistics* statistics) {
    return guarded("lapwing_window_total_statistics", [&] {
        Window& one = window_of(window);
        check_for_all(one.team(), "lapwing_window_total_statistics",
                      [&] { require_pointer(statistics, "statistics"); });
        copy_statistics(one.total_statistics(), statistics);
    });
}

} // extern "C"
