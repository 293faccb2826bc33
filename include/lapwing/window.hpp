// Room: window
#pragma once

#include <lapwing/atomic_reference.hpp>
#include <lapwing/cache_options.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/atomic.hpp>
#include <lapwing/detail/atomic_values.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/device_memory.hpp>
#include <lapwing/detail/memory_map.hpp>
#include <lapwing/detail/trace.hpp>
#include <lapwing/team.hpp>
#include <lapwing/values.hpp>

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing {

class Layout;

namespace detail::window {
class PageTables;
class WindowState;

inline constexpr std::uint64_t counted_bytes = 256; ///< copies below are as cheap as counting them

} // namespace detail::window

/// The operations that lists of atomics can do: see Window::fetch.
using Atomic = detail::mpi::AtomicOperation;

namespace detail::window {

/// The operands of a list of atomics: one for all of them, or a range.
template <AtomicValue T>
class Operands {
public:
    template <class V>
    explicit Operands(const V& operands) {
        if constexpr (std::is_convertible_v<const V&, T>) {
            one_ = static_cast<T>(operands);
        } else {
            const std::span<const T> list{operands};
            data_ = list.data();
            size_ = list.size();
        }
    }
    Operands(const Operands&) = delete; // at() may point inside
    Operands& operator=(const Operands&) = delete;

    /// SIZE_MAX: one operand for all.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const T* at(std::size_t k) const noexcept { return size_ == SIZE_MAX ? &one_ : data_ + k; }

private:
    T one_{};
    const T* data_ = nullptr;
    std::size_t size_ = SIZE_MAX;
};

/// True, or a compiler message and false.
template <class Results>
consteval bool check_results() {
    static_assert(std::ranges::range<Results>,
                  "lapwing: the results of a list of atomics need a range; for one result pass std::span{&before, 1}");
    if constexpr (!std::ranges::range<Results>) {
        return false;
    } else if constexpr (!detail::values::check_destination<Results>()) {
        return false;
    } else {
        constexpr bool atomic = AtomicValue<std::ranges::range_value_t<Results>>;
        static_assert(atomic,
                      "lapwing: lists of atomics work on integers and floating-point numbers of 4 and 8 bytes; smaller "
                      "ones, bool, enumerations and structures of 4, 8 or 16 bytes have atomics on single values; for "
                      "any other type hold a lapwing::Lock "
                      "around the get and the put");
        return atomic;
    }
}

} // namespace detail::window

/// Options of a Window besides its size.
struct WindowOptions {
    std::string name = {};               ///< for messages and statistics
    unsigned notification_counters = 16; ///< counters for notified puts at each rank, at most 4096
    /// Alignment of every rank's part in bytes: 8, 16, 32 or 64, the same on all ranks. The parts on a node follow one
    /// another, without gaps if their sizes are multiples of the alignment (on the path rma: of 16).
    unsigned alignment = 64;
    CacheOptions cache = {}; ///< for other nodes' parts; the same on all ranks
    /// How many bytes of each part are set to zero at the start. The rest is not touched, so that the system can
    /// provide memory for it on first use.
    std::uint64_t zeroed_bytes = std::numeric_limits<std::uint64_t>::max();
    /// A number that must be the same on all ranks, for objects built on a window: every rank throws MismatchError if
    /// the numbers differ.
    struct Identity {
        std::uint64_t value = 0;            ///< compared over all ranks
        std::string text = "other options"; ///< what it stands for on this rank, for the message
    };
    /// See Identity.
    Identity identity = {};
};

/// Memory on every rank of a team that all of them can read and write: `size(rank)` bytes each, zero at the start.
///
/// Offsets and counts are 64-bit. Ranges are always checked: a transfer that would leave a rank's part throws
/// RangeError and moves nothing. A put writes exactly the bytes it is given. Operations of one rank on the same bytes
/// take effect in program order. What is complete when, and what a program may rely on, is defined by the consistency
/// table in docs/consistency.md.
class Window {
public:
    /// A closed window.
    Window() noexcept;

    /// Collective. Allocates `bytes` bytes on this rank, in memory that the ranks of a node share. Sizes may differ
    /// between ranks, and may be 0; if they differ, each rank keeps a table of 8 bytes for each rank of the team.
    /// Throws on all ranks: RangeError if one of them cannot allocate its part, saying which and why; RangeError on
    /// ranks whose options are not allowed, and UsageError on the others; MismatchError if options differ that must be
    /// the same; MpiError.
    Window(Team& team, std::uint64_t bytes, WindowOptions options = {});
    /// The same with a signed size. Negative sizes throw RangeError.
    template <Integer I>
    Window(Team& team, I bytes, WindowOptions options = {})
        : Window{team, static_cast<std::uint64_t>(bytes), std::move(options)} {}

    /// Collective over the team, whose ranks must be those of `window`'s group, in the same order. Lapwing uses the
    /// memory of a window that the host program has made (allocated, created or shared) and still owns. The program
    /// must not free it before close(); otherwise later calls throw UsageError. Inside a node, parts that MPI allocated
    /// are reached by load and store. Offsets are in bytes, whatever the window's displacement unit.
    /// Pass `locked` if the program has locked the window for all ranks (MPI_Win_lock_all); otherwise Lapwing locks it
    /// until close(). With CacheMode::transparent Lapwing never locks it: the program uses epochs of any kind, and its
    /// own calls (fences, locks, flushes) complete what it has written through Lapwing. That mode needs the library
    /// lapwing::transparent and a progress thread.
    /// Throws UsageError for dynamic windows, if the group does not match, if the window is already adopted and either
    /// of the two is cached, and if CacheMode::transparent is not available. Throws UsageError on all ranks for a
    /// window with the info key no_locks; if some rank has an epoch of the program's open on it or, with `locked`, has
    /// not locked it (as far as MPI reveals that); if parts of a node's ranks overlap; and if the address that MPI
    /// reports for a part is impossible (MPICH 4.0.2: MPI_Win_allocate with sizes that are not multiples of 16). Throws
    /// MismatchError on all ranks if their cache options differ; MpiError.
    [[nodiscard]] static Window adopt(Team& team, MPI_Win window, bool locked = false, WindowOptions options = {});

    Window(Window&&) noexcept;
    Window& operator=(Window&&) noexcept;
    /// As close(), but reports no errors, and does not wait for other ranks when the stack unwinds from an exception.
    ~Window();

    /// Collective. Completes all operations of all ranks on the window, and frees the memory.
    void close();
    /// Whether close() was called or the window was moved from. Other calls then throw UsageError.
    [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

    /// The team it was made with, and the name from its options. Throw UsageError after close().
    [[nodiscard]] Team& team() const;
    [[nodiscard]] std::string_view name() const;
    /// Bytes in the part of `target`. Throws RangeError.
    [[nodiscard]] std::uint64_t size(Rank target) const;
    /// Path to the part of `target`. Throws RangeError.
    [[nodiscard]] Path path(Rank target) const;

    /// This rank's part.
    [[nodiscard]] std::span<std::byte> local() const noexcept {
        return {map_.own, static_cast<std::size_t>(map_.own_bytes)};
    }
    /// This rank's part as values of T (a tail shorter than a T is left out).
    template <TriviallyCopyable T>
    [[nodiscard]] std::span<T> local_as() const noexcept {
        return {reinterpret_cast<T*>(map_.own), static_cast<std::size_t>(map_.own_bytes / sizeof(T))};
    }
    /// The part of `target` if this rank can load and store it, otherwise an empty span. The caller orders the
    /// accesses: by acquire() and release(), or barriers.
    [[nodiscard]] std::span<std::byte> reachable(Rank target) const;

    /// Blocking get: on return `destination` has the values from `offset` of `target` on. Transfers take one value, or
    /// any range of values that are contiguous in memory (a vector, array, span, C array), all elements of which are
    /// moved. `offset` counts bytes. Pointers, spans and views are not accepted as values: they do not compile. In
    /// braces bytes are meant: `{memory, count}`, or none by `{}`.
    /// Cost: a copy (self, direct) or one round trip.
    template <class V = std::span<std::byte>>
    void get(Rank target, Offset offset, V&& destination) {
        if constexpr (detail::values::check_destination<V>()) {
            const std::span<std::byte> bytes = detail::values::bytes_of(destination);
            if (detail::support::devices_known.load(std::memory_order_relaxed)) [[unlikely]]
                require_host_memory(bytes.data(), "get");
            get_to_host(target, offset, bytes);
        }
    }
    template <class T>
        requires(!std::is_reference_v<T>)
    [[nodiscard]] T get(Rank target, Offset offset) {
        T value;
        if constexpr (detail::values::check_value<T>()) get_to_host(target, offset, detail::values::bytes_of(value));
        return value;
    }
    /// Put, complete locally on return: `source` may be reused. flush() or release() completes it at the owner.
    /// Cost: a copy (self, direct); otherwise small puts are staged, large ones are sent from `source`.
    template <class V = std::span<const std::byte>>
    void put(Rank target, Offset offset, const V& source) {
        if constexpr (detail::values::check_argument<const V&>()) {
            const std::span<const std::byte> bytes = detail::values::bytes_of(source);
            if constexpr (detail::values::Range<const V&>) // one value is a variable, in the host's memory
                if (detail::support::devices_known.load(std::memory_order_relaxed)) [[unlikely]]
                    require_host_memory(bytes.data(), "put");
            put_from_host(target, offset, bytes);
        }
    }
    /// Non-blocking forms. The memory passed must remain valid until the completion is done.
    template <class V = std::span<std::byte>>
    Completion start_get(Rank target, Offset offset, V&& destination) {
        if constexpr (detail::values::check_destination<V>())
            return start_get_bytes(target, offset, detail::values::bytes_of(destination));
        else return {};
    }
    template <class V = std::span<const std::byte>>
    Completion start_put(Rank target, Offset offset, V&& source) {
        if constexpr (detail::values::check_argument<V>() && detail::values::check_lasting<V>())
            return start_put_bytes(target, offset, detail::values::bytes_of(source));
        else return {};
    }

    /// Non-contiguous put: byte k of `source`, a layout of memory at `base`, goes to byte k of `destination`, a layout
    /// of the part of `target` starting at `offset`. Complete as other puts. How the bytes travel is decided from
    /// measured costs (for transfers that are repeated, a Plan keeps the decision). Throws RangeError if the layouts
    /// have different numbers of bytes or leave the part; at assertion level 2 UsageError if blocks of `destination`
    /// overlap. MPI never sees the datatypes of layouts made by
    /// Layout::from_mpi(). Cost: microseconds for the decision; then one message for each chunk, or for each block of
    /// `destination`.
    void put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination);
    /// Non-contiguous get, in the opposite direction; complete on return.
    void get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base);
    /// Non-blocking forms. The memory must remain valid until the completion is done. The transfer proceeds in the
    /// completion's test() and wait().
    Completion start_put(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination);
    Completion start_get(Rank target, Offset offset, const Layout& source, const Layout& destination, void* base);

    /// A hint that the calling thread will soon read [offset, offset + bytes) of `target`. If the window is cached, the
    /// bytes are requested now and waited for when they are read. Of memory that is reached by load, the first 1024
    /// bytes are brought into the processor's cache. Throws RangeError.
    void prefetch(Rank target, Offset offset, std::uint64_t bytes) {
        if (const std::byte* const memory = checked_address(target, offset, bytes, "prefetch")) {
            for (std::uint64_t line = 0; line < bytes && line < 1024; line += 64) __builtin_prefetch(memory + line);
        } else {
            remote_prefetch(target, offset, bytes);
        }
    }
    /// Local call. Drops everything cached, in any mode, except this rank's own writes. For CacheMode::read_only, after
    /// the data has changed.
    void invalidate_cache();

    /// On return this rank's operations to `target` are complete at both ends; release and acquire, for that rank.
    /// Throws RangeError.
    void flush(Rank target);
    /// On return this rank's operations to every rank are complete at both ends; release and acquire.
    void flush();
    /// As those of Team, for this window only.
    void release();
    void acquire();
    void fence();

    /// The value at `offset` of `target` for atomics: `w.atomic<std::int64_t>(target, offset).fetch_add(1)`. Its
    /// functions check the place, and report errors.
    template <class T>
    [[nodiscard]] AtomicReference<T> atomic(Rank target, Offset offset) noexcept {
        return {*this, target, offset};
    }

    /// Many atomics at one rank: applies `operation` to the value at each of the offsets, in their order, with one
    /// operand for all or a range of as many; `before` receives the previous values. Each is atomic by itself, relaxed,
    /// and otherwise as those of AtomicReference. Complete when the values have arrived. The operands are copied;
    /// `before` must remain valid until the completion of start_fetch() is done. Example: `w.fetch(Atomic::add, target,
    /// offsets, 1, before)`. Throws RangeError, also if the ranges differ in length, and UsageError for bit operations
    /// on floating-point numbers. Cost: one message and its answer for `LAPWING_SERVICE_PACKET` / 16 of them (500 by
    /// default), on any path; processor atomics on the same node. Where MPI's atomics are in use, those on the same
    /// node are carried out one by one.
    template <class Operands, class Results>
    void fetch(Atomic operation, Rank target, std::span<const Offset> offsets, const Operands& operands,
               Results&& before) {
        start_fetch(operation, target, offsets, operands, std::forward<Results>(before)).wait();
    }
    template <class Operands, class Results>
    [[nodiscard]] Completion start_fetch(Atomic operation, Rank target, std::span<const Offset> offsets,
                                         const Operands& operands, Results&& before) {
        if constexpr (detail::window::check_results<Results>()) {
            using T = std::ranges::range_value_t<Results>;
            const detail::window::Operands<T> values{operands};
            std::vector<detail::mpi::ListedAtomic> list =
                make_list(offsets, std::ranges::size(before), values.size(), "fetch");
            for (std::size_t k = 0; k < list.size(); ++k) {
                list[k].operand = values.at(k);
                list[k].before = std::ranges::data(before) + k;
            }
            return start_atomics(operation, detail::mpi::atomic_type_of<T>(), target, list, "fetch");
        } else {
            return {};
        }
    }
    /// The same for compare_swap: writes the desired value where the expected one is found. Each of the two is one
    /// value for all, or a range.
    template <class Expected, class Desired, class Results>
    void compare_swap(Rank target, std::span<const Offset> offsets, const Expected& expected, const Desired& desired,
                      Results&& before)
        requires std::ranges::range<Results>
    {
        start_compare_swap(target, offsets, expected, desired, std::forward<Results>(before)).wait();
    }
    template <class Expected, class Desired, class Results>
    [[nodiscard]] Completion start_compare_swap(Rank target, std::span<const Offset> offsets, const Expected& expected,
                                                const Desired& desired, Results&& before) {
        if constexpr (detail::window::check_results<Results>()) {
            using T = std::ranges::range_value_t<Results>;
            const detail::window::Operands<T> old{expected};
            const detail::window::Operands<T> fresh{desired};
            std::vector<detail::mpi::ListedAtomic> list =
                make_list(offsets, std::ranges::size(before), std::min(old.size(), fresh.size()), "compare_swap");
            for (std::size_t k = 0; k < list.size(); ++k) {
                list[k].operand = fresh.at(k);
                list[k].expected = old.at(k);
                list[k].before = std::ranges::data(before) + k;
            }
            return start_atomics(Atomic::replace, detail::mpi::atomic_type_of<T>(), target, list, "compare_swap");
        } else {
            return {};
        }
    }

    /// Notified put: writes what put() would, then adds one to notification counter `counter` at `target`. Whoever sees
    /// the counter there (wait_notified) sees the bytes. Complete locally on return. `source` may be empty, `{}`.
    /// Throws RangeError. Cost: one message, without an answer.
    template <class V = std::span<const std::byte>>
    void put_notify(Rank target, Offset offset, const V& source, unsigned counter) {
        if constexpr (detail::values::check_argument<const V&>())
            put_notify_bytes(target, offset, detail::values::bytes_of(source), counter);
    }
    /// Notified put with a layout on either side, as put() with layouts; Plan::execute_notify() does the same for a
    /// plan. Cost: that of the put, and to another node a flush of `target` before the notification.
    void put_notify(const Layout& source, const void* base, Rank target, Offset offset, const Layout& destination,
                    unsigned counter);
    /// Waits until this rank's counter `counter` has reached `count`, and subtracts `count` from it. Acquires. Threads
    /// of a rank may wait for the same counter: each notification is consumed once. Throws RangeError, PeerLeftError.
    void wait_notified(unsigned counter, std::uint64_t count = 1);
    /// Notifications of this rank's counter `counter` that no wait has consumed yet. Makes progress. Throws RangeError,
    /// and PeerLeftError if a rank has left and nothing has arrived since the previous call.
    [[nodiscard]] std::uint64_t notified(unsigned counter);

    /// This rank's counters of the window.
    [[nodiscard]] StatisticsValues statistics() const;
    /// Collective: the sum over all ranks.
    [[nodiscard]] StatisticsValues total_statistics();

    /// Internal: for the rooms above.
    [[nodiscard]] const detail::transport::MemoryMap& map() const noexcept { return map_; }
    [[nodiscard]] detail::window::WindowState& state() const;
    /// Null if the window is not cached. Valid until close().
    [[nodiscard]] const detail::window::PageTables* page_tables() const noexcept;
    /// Starts a list of atomics. Before it returns, it has read `list` and what that points to, except for the results.
    [[nodiscard]] Completion start_atomics(detail::mpi::AtomicOperation operation, detail::mpi::AtomicType type,
                                           Rank target, std::span<const detail::mpi::ListedAtomic> list,
                                           const char* call);

private:
    explicit Window(std::unique_ptr<detail::window::WindowState> state);

    /// Address of [offset, offset + bytes) of `target` if reachable by load and store, else null. Throws RangeError.
    [[nodiscard]] std::byte* checked_address(Rank target, Offset offset, std::uint64_t bytes, const char* call) const {
        const bool rank_ok = static_cast<unsigned>(target.value) < static_cast<unsigned>(map_.inline_ranks);
        if (!rank_ok || bytes > map_.bytes(target) || offset.bytes > map_.bytes(target) - bytes) [[unlikely]]
            return other_address(target, offset, bytes, call);
        std::byte* const base = target.value == map_.own_rank ? map_.own : map_.base(target);
        return base == nullptr ? nullptr : base + offset.bytes;
    }
    /// Throws UsageError on a closed window.
    [[nodiscard]] detail::window::WindowState& open_state(const char* call) const;
    void get_to_host(Rank target, Offset offset, std::span<std::byte> destination) {
        if (const std::byte* source = checked_address(target, offset, destination.size(), "get"))
            copy_in(destination.data(), source, destination.size());
        else remote_get(target, offset, destination);
    }
    void put_from_host(Rank target, Offset offset, std::span<const std::byte> source) {
        if (std::byte* destination = checked_address(target, offset, source.size(), "put"))
            copy_out(destination, target, offset, source);
        else remote_put(target, offset, source);
    }
    /// Throws UsageError for memory of a GPU.
    void require_host_memory(const void* memory, const char* call) const;
    /// The same where accesses are recorded, which it does.
    [[nodiscard]] std::byte* other_address(Rank target, Offset offset, std::uint64_t bytes, const char* call) const;

    void copy_in(std::byte* destination, const std::byte* source, std::uint64_t bytes) {
        if (bytes != 0) std::memcpy(destination, source, bytes);
        if (bytes >= detail::window::counted_bytes) count(Counter::direct_get_bytes, bytes);
    }
    void copy_out(std::byte* destination, Rank target, Offset offset, std::span<const std::byte> source) {
        if (!source.empty()) std::memcpy(destination, source.data(), source.size());
        if (source.size() >= least_noted_.load(std::memory_order_relaxed)) [[unlikely]]
            note_put(target, offset, source);
    }
    /// Counts the put, and notifies the copies that others keep of the target's part (window/coherent_copies.hpp).
    void note_put(Rank target, Offset offset, std::span<const std::byte> source);
    void count(Counter counter, std::uint64_t amount);
    Completion start_get_bytes(Rank target, Offset offset, std::span<std::byte> destination);
    Completion start_put_bytes(Rank target, Offset offset, std::span<const std::byte> source);
    void put_notify_bytes(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter);
    void remote_get(Rank target, Offset offset, std::span<std::byte> destination);
    void remote_put(Rank target, Offset offset, std::span<const std::byte> source);
    void remote_prefetch(Rank target, Offset offset, std::uint64_t bytes);

    friend class detail::window::AtomicPlace;
    /// Fills in the offsets. Throws RangeError unless there are as many results, and as many operands (SIZE_MAX: one
    /// for all).
    [[nodiscard]] std::vector<detail::mpi::ListedAtomic> make_list(std::span<const Offset> offsets, std::size_t results,
                                                                   std::size_t operands, const char* call) const;

    std::unique_ptr<detail::window::WindowState> state_;
    detail::transport::MemoryMap map_;
    std::atomic<std::uint64_t> least_noted_{
        detail::window::counted_bytes}; ///< 0 while copies must be notified; kept up to date by the state
};

} // namespace lapwing
