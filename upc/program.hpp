#pragma once

#include "upc/allocation.hpp"
#include "upc/element_lists.hpp"
#include "upc/heap_layout.hpp"
#include "upc/last_words.hpp"
#include "upc/locks.hpp"
#include "upc/reads_and_writes.hpp"
#include "upc/session.hpp"
#include "upc/transfers.hpp"
#include "upc/uncompared_calls.hpp"

#include <lapwing/detail/memory_map.hpp>
#include <lapwing/detail/near_binding.hpp>
#include <lapwing/detail/upc_arithmetic.hpp>
#include <lapwing/upc.h>
#include <lapwing/upc/program.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lapwing::upc {

/// The whole shared memory of a UPC program: one window of equally sized parts that contains both heaps, all locks and
/// all objects, so that a fence is one release and acquire. There is one from lapwing_upc_start() to
/// lapwing_upc_end(). Calls throw lapwing::Error.
class ProgramState : private lapwing::detail::window::NearBinding {
public:
    /// Collective. On `runtime`, see open_session().
    ProgramState(const ProgramOptions& options, Team* runtime);
    ProgramState(const ProgramState&) = delete;
    ProgramState& operator=(const ProgramState&) = delete;
    /// Collective.
    void close();

    [[nodiscard]] const ThreadCount& threads() const noexcept { return threads_; }
    [[nodiscard]] int own_thread() const noexcept { return own_thread_; }
    [[nodiscard]] Team& team() { return session_->team(); }
    [[nodiscard]] Window& heap() noexcept { return window_; }
    [[nodiscard]] const HeapRegions& regions() const noexcept { return regions_; }
    /// The parts that accesses load and store without a call of the window.
    using NearBinding::near_map;

    [[nodiscard]] Memory& memory() noexcept { return memory_; }
    [[nodiscard]] ElementLists& lists() noexcept { return lists_; }
    [[nodiscard]] Transfers& transfers() noexcept { return transfers_; }
    [[nodiscard]] Locks& locks() noexcept { return locks_; }
    [[nodiscard]] LastWords& last_words() noexcept { return last_words_; }
    [[nodiscard]] Allocation& allocation() noexcept { return allocation_; }
    [[nodiscard]] UncomparedCalls& uncompared() noexcept { return uncompared_; }

    /// Expires at the end.
    [[nodiscard]] const std::shared_ptr<const void>& life() const noexcept { return life_; }
    /// "thread 2 of 4: upc_memput".
    [[nodiscard]] std::string who(const char* call) const;
    /// Throws RangeError unless all bytes are in the heap of the pointer's thread; with LAPWING_CHECKS=2, unless they
    /// are in one object of it.
    void require_within(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes);
    /// Only the first of these checks.
    void require_in_part(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) const;
    /// Throws UsageError if the address of the caller's own memory, of so many bytes, is null.
    void require_private(const char* call, const void* address, std::size_t bytes) const;
    /// Null if this process cannot load and store the part.
    [[nodiscard]] std::byte* reachable(const lapwing_upc_pointer& pointer) const;
    [[nodiscard]] lapwing_upc_pointer own_pointer(const void* address) const;
    /// These bytes have been stored at `destination`, which is reachable, without a call of the window: copies of them
    /// are notified.
    void note_store(const lapwing_upc_pointer& destination, std::span<const std::byte> bytes);

    /// Collective, as are notify() and wait(). Throws MismatchError on all threads if their names differ, or what they
    /// passed to collective calls before it which waited for no other thread.
    void barrier(const int* name);
    /// Collective: the barrier of a call to which all threads pass the same pointer. Throws MismatchError on all if
    /// they do not.
    void barrier_for(const char* call, const lapwing_upc_pointer& pointer);
    void notify(const int* name);
    void wait(const int* name);
    /// For all windows of the team, including the heap.
    void fence();
    /// Like a get, and a put, with a fence before and after.
    void get_strict(const char* call, void* destination, const lapwing_upc_pointer& source, std::size_t bytes);
    void put_strict(const char* call, const lapwing_upc_pointer& destination, const void* source, std::size_t bytes);

    /// In a loop that waits for another thread.
    void let_others_run(const char* call);

    /// The consistency of accesses that do not specify one, from now on.
    void set_consistency(Consistency consistency);
    /// Whether accesses are recorded, and for each place in the program.
    void record(bool on, bool by_line);

private:
    /// Lets accesses go inline if nothing else is to be done for them.
    void choose_inline_access();
    std::unique_ptr<Session> session_;
    ThreadCount threads_;
    int own_thread_;
    HeapRegions regions_;
    bool one_node_;
    bool between_phases_ = false;          ///< between upc_notify and upc_wait
    std::optional<std::int64_t> notified_; ///< the name of the last upc_notify
    UncomparedCalls notified_calls_;       ///< those before it
    std::uint32_t repeated_reads_ = 0;     ///< strict ones that found what they had found before
    std::uint32_t fences_ = 0;
    Window window_;
    Memory memory_{*this};
    ElementLists lists_{*this};
    Transfers transfers_{*this};
    Locks locks_{*this};
    Allocation allocation_{*this};
    UncomparedCalls uncompared_;
    LastWords last_words_{team()};
    std::shared_ptr<const void> life_ = std::make_shared<int>(); ///< of the heap
};

[[nodiscard]] inline Offset offset_of(const lapwing_upc_pointer& pointer) noexcept { return Offset{pointer.address}; }
[[nodiscard]] inline Rank rank_of(const lapwing_upc_pointer& pointer) noexcept {
    return Rank{static_cast<int>(pointer.thread)};
}
[[nodiscard]] inline bool is_null(const lapwing_upc_pointer& pointer) noexcept { return pointer.address == 0; }
/// "thread 1, address 0x1040, phase 0".
[[nodiscard]] std::string text(const lapwing_upc_pointer& pointer);

/// The program that was started; throws UsageError if there is none.
[[nodiscard]] ProgramState& program(const char* call);
/// Collective. Throws UsageError when it is started.
void start_program(const ProgramOptions& options, Team* runtime);
/// Collective. Throws UsageError if it was never started; after the end it does nothing, since `exit` ends the
/// program, too.
void end_program();
/// `exit` no longer ends a program: all threads end in another way.
void end_by_abort() noexcept;
/// Flushes what all threads have printed, as far as they make progress.
void write_out_all() noexcept;
/// Exits without waiting for the others.
void abandon_program() noexcept;

} // namespace lapwing::upc
