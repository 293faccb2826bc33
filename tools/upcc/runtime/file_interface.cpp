// The functions of upc_io.h, under their names in the library. A file's handle is an address in shared memory, the same
// on all threads; each thread uses it to find its own part of the file.
#include "parallel_files.hpp"

#include <lapwing/upc/inline.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

using upcc::FilePiece;
using upcc::Hint;
using upcc::LocalPiece;
using upcc::Memory;
using upcc::Offset;
using upcc::ParallelFile;
using upcc::SharedPiece;

namespace {

using Direction = ParallelFile::Direction;
using Handle = lapwing_upc_pointer;

[[nodiscard]] std::map<std::uint64_t, std::unique_ptr<ParallelFile>>& files() {
    static std::map<std::uint64_t, std::unique_ptr<ParallelFile>> open;
    return open;
}

/// The threads' communicator for files, which keeps their messages apart from others. Collective, the first time.
[[nodiscard]] MPI_Comm threads() {
    static const MPI_Comm communicator = [] {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        return copy;
    }();
    return communicator;
}

/// -1 after an error, whose number is stored in errno.
template <class Result>
[[nodiscard]] Result told(int error, Result result) {
    if (error == 0) return result;
    errno = error;
    return -1;
}

/// Calls `step` with the file; -1 and EBADF if there is none.
template <class Step>
[[nodiscard]] auto with(const Handle& handle, Step&& step) -> decltype(step(std::declval<ParallelFile&>())) {
    const auto found = files().find(handle.address);
    if (lapwing_upc_is_null(handle) || found == files().end()) {
        errno = EBADF;
        return -1;
    }
    return step(*found->second);
}

[[nodiscard]] Offset transfer(const Handle& handle, Direction direction, const Memory& memory, bool is_local,
                              int flags) {
    return with(handle, [&](ParallelFile& file) {
        Offset bytes = 0;
        const int error = file.transfer(direction, memory, is_local, flags, bytes);
        return told(error, bytes);
    });
}

[[nodiscard]] Offset transfer_list(const Handle& handle, Direction direction, const Memory& memory, std::size_t count,
                                   const FilePiece* pieces, int flags) {
    return with(handle, [&](ParallelFile& file) {
        Offset bytes = 0;
        const int error = file.transfer_list(direction, memory, pieces, count, flags, bytes);
        return told(error, bytes);
    });
}

/// Begins a transfer: `step` gets the file. One at a time on each file.
template <class Step>
void begin(const char* call, const Handle& handle, Step&& step) {
    const auto found = files().find(handle.address);
    const bool none = lapwing_upc_is_null(handle) || found == files().end();
    if (none || found->second->outstanding()) {
        std::fprintf(stderr, "lapwing: UPC: %s at thread %d: %s\n", call, lapwing_upc_mythread(),
                     none ? "this is not an open file; upc_all_fopen returns one"
                          : "another transfer of this file is under way; complete it by upc_all_fwait_async before");
        lapwing_upc_global_exit(1);
    }
    step(*found->second);
}

/// For operations that are complete when they begin.
void begin_whole(const char* call, const Handle& handle, Direction direction, const Memory& memory, int flags) {
    begin(call, handle, [&](ParallelFile& file) {
        Offset bytes = 0;
        const int error = file.transfer(direction, memory, false, flags | LAPWING_UPC_OUT_NOSYNC, bytes);
        file.set_outstanding(error, bytes, flags);
    });
}
void begin_list(const char* call, const Handle& handle, Direction direction, const Memory& memory, std::size_t count,
                const FilePiece* pieces, int flags) {
    begin(call, handle, [&](ParallelFile& file) {
        Offset bytes = 0;
        const int error = file.transfer_list(direction, memory, pieces, count, flags | LAPWING_UPC_OUT_NOSYNC, bytes);
        file.set_outstanding(error, bytes, flags);
    });
}

/// Shared memory of blocks of `block` elements of `size` bytes.
[[nodiscard]] Memory shared_memory(const Handle& address, std::size_t block, std::size_t size, std::size_t count) {
    return size * count == 0 ? Memory{static_cast<void*>(nullptr), 0} : Memory{address, block, size, size * count};
}

} // namespace

extern "C" {

Handle lapwing_upcc_fopen(const char* name, int flags, std::size_t hint_count, const Hint* hints) {
    lapwing_upc_require_private("upc_all_fopen", hints, hint_count * sizeof *hints);
    auto file = std::make_unique<ParallelFile>(threads(), name == nullptr ? "" : name, flags, hints, hint_count);
    if (const int error = file->open(); error != 0) {
        errno = error;
        return Handle{};
    }
    const Handle handle = lapwing_upc_all_alloc(static_cast<std::size_t>(lapwing_upc_threads()), 8);
    files()[handle.address] = std::move(file);
    return handle;
}

int lapwing_upcc_fclose(Handle handle) {
    return with(handle, [&](ParallelFile& file) {
        if (file.outstanding()) return told(EINVAL, 0);
        const int error = file.close();
        files().erase(handle.address);
        lapwing_upc_all_free(handle);
        return told(error, 0);
    });
}

int lapwing_upcc_fsync(Handle handle) {
    return with(handle, [](ParallelFile& file) { return told(file.sync(), 0); });
}
Offset lapwing_upcc_fseek(Handle handle, Offset offset, int origin) {
    return with(handle, [&](ParallelFile& file) {
        const int error = file.seek(offset, origin);
        return told(error, file.position());
    });
}
int lapwing_upcc_fset_size(Handle handle, Offset size) {
    return with(handle, [&](ParallelFile& file) { return told(file.set_size(size), 0); });
}
Offset lapwing_upcc_fget_size(Handle handle) {
    return with(handle, [](ParallelFile& file) {
        Offset size = 0;
        const int error = file.size(size);
        return told(error, size);
    });
}
int lapwing_upcc_fpreallocate(Handle handle, Offset size) {
    return with(handle, [&](ParallelFile& file) { return told(file.preallocate(size), 0); });
}
int lapwing_upcc_fcntl(Handle handle, int command, void* argument) {
    return with(handle, [&](ParallelFile& file) {
        int result = 0;
        const int error = file.control(command, argument, result);
        return told(error, result);
    });
}

Offset lapwing_upcc_fread_local(Handle handle, void* buffer, std::size_t size, std::size_t count, int flags) {
    return transfer(handle, Direction::read, Memory{buffer, size * count}, true, flags);
}
Offset lapwing_upcc_fwrite_local(Handle handle, const void* buffer, std::size_t size, std::size_t count, int flags) {
    return transfer(handle, Direction::write, Memory{const_cast<void*>(buffer), size * count}, true, flags);
}
Offset lapwing_upcc_fread_shared(Handle handle, Handle buffer, std::size_t block, std::size_t size, std::size_t count,
                                 int flags) {
    return transfer(handle, Direction::read, shared_memory(buffer, block, size, count), false, flags);
}
Offset lapwing_upcc_fwrite_shared(Handle handle, Handle buffer, std::size_t block, std::size_t size, std::size_t count,
                                  int flags) {
    return transfer(handle, Direction::write, shared_memory(buffer, block, size, count), false, flags);
}
void lapwing_upcc_fread_local_async(Handle handle, void* buffer, std::size_t size, std::size_t count, int flags) {
    begin("upc_all_fread_local_async", handle,
          [&](ParallelFile& file) { file.begin(Direction::read, buffer, size * count, flags); });
}
void lapwing_upcc_fwrite_local_async(Handle handle, const void* buffer, std::size_t size, std::size_t count,
                                     int flags) {
    begin("upc_all_fwrite_local_async", handle,
          [&](ParallelFile& file) { file.begin(Direction::write, const_cast<void*>(buffer), size * count, flags); });
}
void lapwing_upcc_fread_shared_async(Handle handle, Handle buffer, std::size_t block, std::size_t size,
                                     std::size_t count, int flags) {
    begin_whole("upc_all_fread_shared_async", handle, Direction::read, shared_memory(buffer, block, size, count),
                flags);
}
void lapwing_upcc_fwrite_shared_async(Handle handle, Handle buffer, std::size_t block, std::size_t size,
                                      std::size_t count, int flags) {
    begin_whole("upc_all_fwrite_shared_async", handle, Direction::write, shared_memory(buffer, block, size, count),
                flags);
}

#define LAPWING_UPCC_LIST_IO(direction, memory, Piece)                                                                \
    Offset lapwing_upcc_f##direction##_list_##memory(Handle handle, std::size_t count, const Piece* pieces,           \
                                                     std::size_t in_file, const FilePiece* places, int flags) {       \
        return transfer_list(handle, Direction::direction, Memory{pieces, pieces == nullptr ? 0 : count}, in_file,    \
                             places, flags);                                                                          \
    }                                                                                                                 \
    void lapwing_upcc_f##direction##_list_##memory##_async(Handle handle, std::size_t count, const Piece* pieces,     \
                                                           std::size_t in_file, const FilePiece* places, int flags) { \
        begin_list("upc_all_f" #direction "_list_" #memory "_async", handle, Direction::direction,                    \
                   Memory{pieces, pieces == nullptr ? 0 : count}, in_file, places, flags);                            \
    }
LAPWING_UPCC_LIST_IO(read, local, LocalPiece)
LAPWING_UPCC_LIST_IO(write, local, LocalPiece)
LAPWING_UPCC_LIST_IO(read, shared, SharedPiece)
LAPWING_UPCC_LIST_IO(write, shared, SharedPiece)
#undef LAPWING_UPCC_LIST_IO

Offset lapwing_upcc_fwait_async(Handle handle) {
    return with(handle, [](ParallelFile& file) {
        Offset bytes = 0;
        const int error = file.wait(bytes);
        return told(error, bytes);
    });
}
Offset lapwing_upcc_ftest_async(Handle handle, int* flag) {
    lapwing_upc_require_private("upc_all_ftest_async", flag, sizeof *flag);
    *flag = 1;
    return with(handle, [&](ParallelFile& file) {
        Offset bytes = 0;
        bool done = true;
        const int error = file.test(done, bytes);
        *flag = done ? 1 : 0;
        return told(error, bytes);
    });
}

} // extern "C"
