// What lapwing/upc.h declares, on top of ProgramState; turns errors into messages.
#include <lapwing/upc.h>

#include "upc/guarded.hpp"
#include "upc/last_words.hpp"
#include "upc/program.hpp"
#include "upc/transfers.hpp"

#include <lapwing/error.hpp>
#include <lapwing/upc/inline.h>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/reference.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

namespace {

using lapwing::upc::call_site;
using lapwing::upc::guarded;
using lapwing::upc::program;
using lapwing::upc::Transfers;

lapwing_upc_error_handler error_handler = nullptr;

/// Calls `access(T{})` with the unsigned type of that size, or returns false.
template <class Access>
[[gnu::always_inline]] inline bool as_word(size_t bytes, Access access) {
    switch (bytes) {
    case 1: return access(std::uint8_t{});
    case 2: return access(std::uint16_t{});
    case 4: return access(std::uint32_t{});
    case 8: return access(std::uint64_t{});
    default: return false;
    }
}
/// Cache hits of relaxed accesses, as Reference has them inline.
[[gnu::always_inline]] inline bool read_cached(void* destination, const lapwing_upc_pointer& source,
                                               size_t bytes) noexcept {
    return destination != nullptr && as_word(bytes, [&]<class T>(T) {
               const T* const value = lapwing::upc::detail::find_cached<T>(source);
               if (value != nullptr) std::memcpy(destination, value, sizeof(T));
               return value != nullptr;
           });
}
[[gnu::always_inline]] inline bool write_cached(const lapwing_upc_pointer& destination, const void* source,
                                                size_t bytes) noexcept {
    return source != nullptr && as_word(bytes, [&]<class T>(T value) {
               std::memcpy(&value, source, sizeof(T));
               return lapwing::upc::detail::write_cached(destination, value);
           });
}

} // namespace

namespace lapwing::upc {

void fail(const char* message) {
    if (error_handler != nullptr) {
        error_handler(message); // may exit by an exception or longjmp
    } else {
        std::fprintf(stderr, "lapwing: UPC: %s\n", message);
    }
    end_all(1);
}

void end_all(int status) {
    end_by_abort(); // MPICH calls exit
    flush_output();
    int initialised = 0;
    int finalized = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalized);
    if (initialised != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, status);
    std::_Exit(status); // nobody is left to notify
}

const char* kept(const char* message) noexcept {
    static std::array<char, 4096> text;
    try {
        std::snprintf(text.data(), text.size(), "%s", in_words_of_upc(message).c_str());
    } catch (const std::exception&) { // no memory
        std::snprintf(text.data(), text.size(), "%s", message);
    }
    return text.data();
}

} // namespace lapwing::upc

extern "C" {

void lapwing_upc_start(int* /*argc*/, char*** /*argv*/) {
    guarded([] { lapwing::upc::start_program({}, nullptr); });
}
void lapwing_upc_end(void) {
    guarded([] { lapwing::upc::end_program(); });
}
int lapwing_upc_threads(void) {
    return guarded([] { return program("THREADS").threads().threads(); });
}
int lapwing_upc_mythread(void) {
    return guarded([] { return program("MYTHREAD").own_thread(); });
}
void lapwing_upc_global_exit(int status) {
    lapwing::upc::write_out_all();
    lapwing::upc::end_all(status);
}

lapwing_upc_error_handler lapwing_upc_set_error_handler(lapwing_upc_error_handler handler) {
    const lapwing_upc_error_handler before = error_handler;
    error_handler = handler;
    return before;
}

lapwing_upc_pointer lapwing_upc_add(lapwing_upc_pointer p, size_t element_bytes, size_t block_size,
                                    ptrdiff_t elements) {
    if (lapwing::upc::detail::heap_access.checked)
        return lapwing::upc::detail::checked_add(p, element_bytes, block_size, elements);
    if (lapwing::upc::detail::heap_access.own == nullptr)
        guarded([] { static_cast<void>(program("upc_add")); }); // an error
    return lapwing::upc::detail::heap_access.threads.add(p, element_bytes, block_size, elements);
}
ptrdiff_t lapwing_upc_difference(lapwing_upc_pointer to, lapwing_upc_pointer from, size_t element_bytes,
                                 size_t block_size) {
    return guarded([&] { return program("upc_difference").threads().difference(to, from, element_bytes, block_size); });
}
int lapwing_upc_equal(lapwing_upc_pointer a, lapwing_upc_pointer b) {
    return a.address == b.address && a.thread == b.thread;
}
int lapwing_upc_is_null(lapwing_upc_pointer p) { return p.address == 0; }
size_t lapwing_upc_threadof(lapwing_upc_pointer p) { return p.thread; }
size_t lapwing_upc_phaseof(lapwing_upc_pointer p) { return p.phase; }
size_t lapwing_upc_addrfield(lapwing_upc_pointer p) { return p.address; }
lapwing_upc_pointer lapwing_upc_resetphase(lapwing_upc_pointer p) {
    p.phase = 0;
    return p;
}
size_t lapwing_upc_affinitysize(size_t total_bytes, size_t block_bytes, size_t thread) {
    return guarded([&]() -> size_t {
        const auto threads = static_cast<size_t>(program("upc_affinitysize").threads().threads());
        if (block_bytes == 0 || total_bytes == 0) return thread == 0 ? total_bytes : 0;
        // All blocks but the last one are full.
        const size_t blocks = (total_bytes - 1) / block_bytes + 1;
        const size_t own = blocks / threads + (thread < blocks % threads ? 1 : 0);
        const bool has_last = own > 0 && (blocks - 1) % threads == thread;
        return own * block_bytes - (has_last ? blocks * block_bytes - total_bytes : 0);
    });
}
void* lapwing_upc_cast(lapwing_upc_pointer p) {
    return guarded([&]() -> void* { return program("upc_cast").reachable(p); });
}
lapwing_upc_thread_info_t lapwing_upc_thread_info(size_t thread) {
    return guarded([&] {
        lapwing::upc::ProgramState& here = program("upc_thread_info");
        if (thread >= static_cast<size_t>(here.threads().threads()))
            throw lapwing::RangeError{fmt::format("{}: thread {}, but threads are numbered from 0 to {}",
                                                  here.who("upc_thread_info"), thread, here.threads().threads() - 1)};
        const bool castable =
            here.reachable({here.regions().blocks.begin, static_cast<uint32_t>(thread), 0}) != nullptr;
        const int objects = castable ? LAPWING_UPC_CASTABLE_ALL : 0;
        return lapwing_upc_thread_info_t{objects, objects};
    });
}
lapwing_upc_pointer lapwing_upc_own_pointer(const void* address) {
    return guarded([&] { return program("own_pointer").own_pointer(address); });
}

void lapwing_upc_get(void* destination, lapwing_upc_pointer source, size_t bytes) {
    if (read_cached(destination, source, bytes)) return;
    call_site = __builtin_return_address(0);
    guarded([&] { program("get").memory().get("get", destination, source, bytes); });
}
void lapwing_upc_put(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    if (write_cached(destination, source, bytes)) return;
    call_site = __builtin_return_address(0);
    guarded([&] { program("put").memory().put("put", destination, source, bytes); });
}
void lapwing_upc_get_elements(void* destination, lapwing_upc_pointer base, size_t element_bytes, size_t block_size,
                              const ptrdiff_t* indices, size_t count) {
    if (count == 0 || element_bytes == 0) return;
    call_site = __builtin_return_address(0);
    guarded([&] {
        lapwing::upc::ProgramState& here = program("get");
        here.require_private("get", destination, count * element_bytes);
        here.require_private("get", indices, count * sizeof *indices);
        here.lists().get(static_cast<std::byte*>(destination), {base, element_bytes, block_size, {indices, count}});
    });
}
int lapwing_upc_find_places(lapwing_upc_places* places, lapwing_upc_pointer base, size_t element_bytes,
                            size_t block_size, size_t reads) {
    if (lapwing::upc::detail::heap_access.near_count == 0) return 0;
    return guarded([&] {
        return program("get").lists().find_places(*places, {base, element_bytes, block_size, {}}, reads) ? 1 : 0;
    });
}
void lapwing_upc_get_strict(void* destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("get_strict").get_strict("get_strict", destination, source, bytes); });
}
void lapwing_upc_put_strict(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("put_strict").put_strict("put_strict", destination, source, bytes); });
}
void lapwing_upc_memget(void* destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("upc_memget").memory().get("upc_memget", destination, source, bytes); });
}
void lapwing_upc_memput(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("upc_memput").memory().put("upc_memput", destination, source, bytes); });
}
void lapwing_upc_memcpy(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("upc_memcpy").memory().copy("upc_memcpy", destination, source, bytes); });
}
void lapwing_upc_memset(lapwing_upc_pointer destination, int value, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("upc_memset").memory().set("upc_memset", destination, value, bytes); });
}

lapwing_upc_handle lapwing_upc_memget_nb(void* destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    return guarded([&] {
        return Transfers::handle_of(
            program("upc_memget_nb").transfers().start_get("upc_memget_nb", destination, source, bytes));
    });
}
lapwing_upc_handle lapwing_upc_memput_nb(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    call_site = __builtin_return_address(0);
    return guarded([&] {
        return Transfers::handle_of(
            program("upc_memput_nb").transfers().start_put("upc_memput_nb", destination, source, bytes));
    });
}
lapwing_upc_handle lapwing_upc_memcpy_nb(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    return guarded([&] {
        return Transfers::handle_of(
            program("upc_memcpy_nb").transfers().start_copy("upc_memcpy_nb", destination, source, bytes));
    });
}
lapwing_upc_handle lapwing_upc_memset_nb(lapwing_upc_pointer destination, int value, size_t bytes) {
    call_site = __builtin_return_address(0);
    // Its source is gone before it could be complete: it is put synchronously, as memset is.
    guarded([&] { program("upc_memset_nb").memory().set("upc_memset_nb", destination, value, bytes); });
    return LAPWING_UPC_COMPLETE_HANDLE;
}
void lapwing_upc_sync(lapwing_upc_handle handle) {
    guarded([&] { Transfers::sync(handle); });
}
int lapwing_upc_sync_attempt(lapwing_upc_handle handle) {
    return guarded([&] { return Transfers::sync_attempt(handle) ? 1 : 0; });
}
void lapwing_upc_memget_nbi(void* destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] {
        Transfers& transfers = program("upc_memget_nbi").transfers();
        transfers.add_implicit(transfers.start_get("upc_memget_nbi", destination, source, bytes));
    });
}
void lapwing_upc_memput_nbi(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] {
        Transfers& transfers = program("upc_memput_nbi").transfers();
        transfers.add_implicit(transfers.start_put("upc_memput_nbi", destination, source, bytes));
    });
}
void lapwing_upc_memcpy_nbi(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] {
        Transfers& transfers = program("upc_memcpy_nbi").transfers();
        transfers.add_implicit(transfers.start_copy("upc_memcpy_nbi", destination, source, bytes));
    });
}
void lapwing_upc_memset_nbi(lapwing_upc_pointer destination, int value, size_t bytes) {
    call_site = __builtin_return_address(0);
    guarded([&] { program("upc_memset_nbi").memory().set("upc_memset_nbi", destination, value, bytes); });
}
void lapwing_upc_synci(void) {
    guarded([] { program("upc_synci").transfers().synci(); });
}
int lapwing_upc_synci_attempt(void) {
    return guarded([] { return program("upc_synci_attempt").transfers().synci_attempt() ? 1 : 0; });
}
void lapwing_upc_prefetch(lapwing_upc_pointer source, size_t bytes) {
    guarded([&] {
        lapwing::upc::ProgramState& here = program("prefetch");
        here.require_within("prefetch", source, bytes);
        here.heap().prefetch(lapwing::upc::rank_of(source), lapwing::upc::offset_of(source), bytes);
    });
}

void lapwing_upc_let_others_run(void) {
    guarded([] { program("a loop that waits").let_others_run("a loop that waits"); });
}
void lapwing_upc_require_private(const char* call, const void* address, size_t bytes) {
    if (address != nullptr || bytes == 0) return;
    guarded([&] { program(call).require_private(call, address, bytes); });
}
void lapwing_upc_add_to_heap(size_t bytes) { lapwing::upc::add_to_heap(bytes); }
void lapwing_upc_note_object(lapwing_upc_pointer begin, size_t bytes, size_t block_bytes, size_t room,
                             const char* name) {
    guarded([&] { program("the start of UPC").allocation().note_object(begin, {bytes, block_bytes, room, name}); });
}
lapwing_upc_pointer lapwing_upc_all_alloc(size_t blocks, size_t block_bytes) {
    return guarded([&] {
        return program("upc_all_alloc").allocation().allocate_blocks_together("upc_all_alloc", blocks, block_bytes);
    });
}
lapwing_upc_pointer lapwing_upc_global_alloc(size_t blocks, size_t block_bytes) {
    return guarded([&] {
        return program("upc_global_alloc").allocation().allocate_blocks("upc_global_alloc", blocks, block_bytes);
    });
}
lapwing_upc_pointer lapwing_upc_alloc(size_t bytes) {
    return guarded([&] { return program("upc_alloc").allocation().allocate("upc_alloc", bytes); });
}
void lapwing_upc_free(lapwing_upc_pointer p) {
    guarded([&] { program("upc_free").allocation().free("upc_free", p); });
}
void lapwing_upc_all_free(lapwing_upc_pointer p) {
    guarded([&] { program("upc_all_free").allocation().free_together("upc_all_free", p); });
}

void lapwing_upc_barrier(const int* name) {
    guarded([&] { program("upc_barrier").barrier(name); });
}
void lapwing_upc_notify(const int* name) {
    guarded([&] { program("upc_notify").notify(name); });
}
void lapwing_upc_wait(const int* name) {
    guarded([&] { program("upc_wait").wait(name); });
}
void lapwing_upc_fence(void) {
    guarded([] { program("upc_fence").fence(); });
}

lapwing_upc_pointer lapwing_upc_all_lock_alloc(void) {
    return guarded([] { return program("upc_all_lock_alloc").locks().allocate_together(); });
}
lapwing_upc_pointer lapwing_upc_global_lock_alloc(void) {
    return guarded([] { return program("upc_global_lock_alloc").locks().allocate(); });
}
void lapwing_upc_lock_free(lapwing_upc_pointer lock) {
    guarded([&] { program("upc_lock_free").locks().free("upc_lock_free", lock); });
}
void lapwing_upc_all_lock_free(lapwing_upc_pointer lock) {
    guarded([&] { program("upc_all_lock_free").locks().free_together(lock); });
}
void lapwing_upc_lock(lapwing_upc_pointer lock) {
    guarded([&] { program("upc_lock").locks().lock(lock); });
}
int lapwing_upc_lock_attempt(lapwing_upc_pointer lock) {
    return guarded([&] { return program("upc_lock_attempt").locks().attempt(lock) ? 1 : 0; });
}
void lapwing_upc_unlock(lapwing_upc_pointer lock) {
    guarded([&] { program("upc_unlock").locks().unlock(lock); });
}

uint64_t lapwing_upc_ticks_now(void) {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}
uint64_t lapwing_upc_ticks_to_ns(uint64_t ticks) { return ticks; }

void lapwing_upc_record_start(int by_line) {
    guarded([&] { program("record_start").record(true, by_line != 0); });
}
void lapwing_upc_record_stop(void) {
    guarded([] { program("record_stop").record(false, false); });
}
int lapwing_upc_recording(void) {
    return guarded([] {
        lapwing::upc::Memory& memory = program("recording").memory();
        return !memory.recording() ? 0 : memory.recorder().by_line() ? 2 : 1;
    });
}
lapwing_upc_access_counts lapwing_upc_recorded(void) {
    return guarded([] { return program("recorded").memory().recorder().counts(); });
}
void lapwing_upc_record_report(void) {
    guarded([] {
        lapwing::upc::ProgramState& here = program("record_report");
        const std::string report = here.memory().recorder().report(here.team());
        std::fputs(report.c_str(), stderr);
    });
}

} // extern "C"
