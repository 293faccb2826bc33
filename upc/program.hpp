#pragma once

#include "upc/heap.hpp"
#include "upc/layout.hpp"
#include "upc/queue_lock.hpp"
#include "upc/session.hpp"
#include "upc/transfers.hpp"

#include <lapwing/detail/upc_arithmetic.hpp>
#include <lapwing/upc.h>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lapwing::upc {

/// Everything of a UPC program's shared memory: one window of parts of equal size, of which both heaps, all locks and all objects are part, so that
/// a fence is one release and acquire. There is one from lapwing_upc_start() to lapwing_upc_end(). Calls throw lapwing::Error.
class ProgramState {
public:
    /// Collective.
    explicit ProgramState(const ProgramOptions& options);
    ProgramState(const ProgramState&) = delete;
    ProgramState& operator=(const ProgramState&) = delete;
    /// Collective.
    void close();

    [[nodiscard]] const ThreadCount& threads() const noexcept { return threads_; }
    [[nodiscard]] int own_thread() const noexcept { return own_thread_; }
    [[nodiscard]] Team& team() { return session_->team(); }
    [[nodiscard]] Window& heap() noexcept { return window_; }
    [[nodiscard]] Transfers& transfers() noexcept { return transfers_; }
    /// "thread 2 of 4: upc_memput".
    [[nodiscard]] std::string who(const char* call) const;
    /// Throws RangeError unless all bytes are in the part of the pointer's thread.
    void require_within(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) const;

    /// What accesses that say nothing themselves are from now on.
    void set_consistency(Consistency consistency);

    // Memory. `call` is the name in messages.
    void get(const char* call, void* destination, const lapwing_upc_pointer& source, std::size_t bytes);
    void put(const char* call, const lapwing_upc_pointer& destination, const void* source, std::size_t bytes);
    void copy(const char* call, const lapwing_upc_pointer& destination, const lapwing_upc_pointer& source, std::size_t bytes);
    void set(const char* call, const lapwing_upc_pointer& destination, int value, std::size_t bytes);
    /// Null where the part cannot be loaded and stored here.
    [[nodiscard]] std::byte* reachable(const lapwing_upc_pointer& pointer) const;
    [[nodiscard]] lapwing_upc_pointer own_pointer(const void* address) const;

    // The heap.
    [[nodiscard]] lapwing_upc_pointer allocate_blocks(const char* call, std::size_t blocks, std::size_t block_bytes);
    [[nodiscard]] lapwing_upc_pointer allocate_blocks_together(const char* call, std::size_t blocks, std::size_t block_bytes);
    /// The same of zeros.
    [[nodiscard]] lapwing_upc_pointer allocate_array(const detail::BlockCount& blocks, std::size_t size, std::size_t element_bytes);
    [[nodiscard]] lapwing_upc_pointer allocate(const char* call, std::size_t bytes);
    void free(const char* call, const lapwing_upc_pointer& pointer);
    void free_together(const char* call, const lapwing_upc_pointer& pointer);

    // Synchronisation.
    void barrier(const int* name);
    void notify(const int* name);
    void wait(const int* name);
    void fence();

    // Locks.
    [[nodiscard]] lapwing_upc_pointer allocate_lock();
    [[nodiscard]] lapwing_upc_pointer allocate_lock_together();
    void free_lock(const char* call, const lapwing_upc_pointer& lock);
    void free_lock_together(const lapwing_upc_pointer& lock);
    void lock(const lapwing_upc_pointer& lock);
    [[nodiscard]] bool attempt(const lapwing_upc_pointer& lock);
    void unlock(const lapwing_upc_pointer& lock);

private:
    /// Lets accesses go inline, or through the runtime.
    void open_inline_access(bool open);
    /// Collective. What thread 0's step gives, or throws, on all.
    template <class Step>
    [[nodiscard]] lapwing_upc_pointer from_first(Step&& step);
    /// The heap that thread `thread` has for upc_alloc().
    [[nodiscard]] Heap own_heap(int thread);
    [[noreturn]] void throw_exhausted(const char* call, std::uint64_t bytes, const char* each, const Heap::Allocated& found, const Region& region,
                                      const char* setting) const;
    /// Throws UsageError for what is no lock.
    [[nodiscard]] LockPlace checked_lock(const char* call, const lapwing_upc_pointer& lock);

    std::unique_ptr<Session> session_;
    ThreadCount threads_;
    int own_thread_;
    Region blocks_region_;
    Region own_region_;
    Window window_;
    std::optional<QueueLocks> locks_;
    std::optional<Heap> blocks_heap_;
    Transfers transfers_{*this};
};

[[nodiscard]] inline Offset offset_of(const lapwing_upc_pointer& pointer) noexcept { return Offset{pointer.address}; }
[[nodiscard]] inline Rank rank_of(const lapwing_upc_pointer& pointer) noexcept { return Rank{static_cast<int>(pointer.thread)}; }
[[nodiscard]] inline bool is_null(const lapwing_upc_pointer& pointer) noexcept { return pointer.address == 0; }
/// "thread 1, address 0x1040, phase 0".
[[nodiscard]] std::string text(const lapwing_upc_pointer& pointer);

/// The one that was started; throws UsageError where none is.
[[nodiscard]] ProgramState& program(const char* call);
/// Collective. Throw UsageError when it is started, and when it is not.
void start_program(const ProgramOptions& options);
void end_program();

} // namespace lapwing::upc
