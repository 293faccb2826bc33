// UPC's parallel files (UPC optional library specification 1.3, section 7.4), on MPI's.
#pragma once

#include "memory_pieces.hpp"

#include <lapwing/upc.h>

#include <mpi.h>

#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace upcc {

using Offset = long long;

/// The values of upc_io.h.
namespace io {
enum Flag {
    read_only = 1 << 0,
    write_only = 1 << 1,
    read_write = 1 << 2,
    individual = 1 << 3,
    common = 1 << 4,
    append = 1 << 5,
    create = 1 << 6,
    exclusive = 1 << 7,
    strong = 1 << 8,
    truncate = 1 << 9,
    delete_on_close = 1 << 10
};
enum Origin { from_start, from_here, from_end };
enum Command {
    get_semantics = 1,
    set_weak,
    set_strong,
    get_pointer_kind,
    set_common,
    set_individual,
    get_flags,
    get_name,
    get_hints,
    set_hint,
    is_outstanding
};
} // namespace io

struct Hint { // struct upc_hint
    const char* key;
    const char* value;
};
struct FilePiece { // struct upc_filevec
    Offset offset;
    std::size_t bytes;
};

/// An open file, on each thread. Functions return 0 or an error number of <errno.h>.
class ParallelFile {
public:
    ParallelFile(MPI_Comm threads, std::string name, int flags, const Hint* hints, std::size_t hint_count);
    ~ParallelFile();
    ParallelFile(const ParallelFile&) = delete;
    ParallelFile& operator=(const ParallelFile&) = delete;

    /// Collective; the same result on all threads.
    [[nodiscard]] int open();
    [[nodiscard]] int close();
    /// Collective, with a barrier.
    [[nodiscard]] int sync();
    [[nodiscard]] int seek(Offset offset, int origin);
    [[nodiscard]] int set_size(Offset size);
    [[nodiscard]] int size(Offset& size);
    [[nodiscard]] int preallocate(Offset size);
    [[nodiscard]] int control(int command, void* argument, int& result);
    [[nodiscard]] Offset position() const { return position_; }

    enum class Direction { read, write };
    /// Reads or writes at the file pointer; with a common pointer all threads one range. `flags`: UPC_IN_…, UPC_OUT_….
    [[nodiscard]] int transfer(Direction direction, const Memory& memory, bool is_local, int flags, Offset& bytes);
    [[nodiscard]] int transfer_list(Direction direction, const Memory& memory, const FilePiece* pieces,
                                    std::size_t count, int flags, Offset& bytes);
    /// Begins an asynchronous read or write of private memory in one piece. Errors are reported by
    /// wait().
    void begin(Direction direction, void* memory, std::size_t bytes, int flags);

    /// The result of an operation that was complete when it began; one of begin() is still in progress.
    void set_outstanding(int error, Offset bytes, int flags);
    [[nodiscard]] bool outstanding() const { return outstanding_; }
    /// Waits for it, or sets `done`, the same on all threads; if done, `bytes` is its result.
    [[nodiscard]] int wait(Offset& bytes);
    [[nodiscard]] int test(bool& done, Offset& bytes);

private:
    [[nodiscard]] int show_hints(const Hint*& shown);
    [[nodiscard]] int refused(Direction direction, bool is_local) const;
    [[nodiscard]] int precheck() const;
    [[nodiscard]] int allocate(Offset bytes) const;
    [[nodiscard]] bool all_open_the_same() const;
    [[nodiscard]] int at(Direction direction, const Memory& memory, std::size_t begin, std::size_t bytes, Offset offset,
                         Offset& done);
    struct Result {
        int error = 0;
        Offset bytes = 0;
    };
    [[nodiscard]] static Result move_piece(MPI_File file, Direction direction, void* memory, std::size_t bytes,
                                           Offset offset);
    [[nodiscard]] int in_own_share(Direction direction, const Memory& memory, Offset& done);
    [[nodiscard]] int finish(Offset& bytes);
    void take_result();
    [[nodiscard]] int agreed(int error) const;
    [[nodiscard]] MPI_Info info() const;
    void enter(int flags) const;
    void leave(int flags) const;

    MPI_Comm threads_;
    std::string name_;
    int flags_;
    std::vector<std::pair<std::string, std::string>> hints_;
    std::vector<Hint> shown_hints_;
    MPI_File file_ = MPI_FILE_NULL;
    int descriptor_ = -1; ///< of the same file, on thread 0 where it may be written: for what MPI has no safe call
    Offset position_ = 0;
    lapwing_upc_pointer lock_{}; ///< one transfer at a time, with strong semantics

    bool outstanding_ = false;
    std::future<Result> result_; ///< of what begin() has begun
    int outstanding_flags_ = 0;
    int outstanding_error_ = 0;
    Offset outstanding_bytes_ = 0;
};

} // namespace upcc
