#include "parallel_files.hpp"

#include <lapwing/upc/types.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace upcc {

namespace {

/// For one call of MPI, and for the copy through which shared memory is transferred.
constexpr std::size_t largest_piece = std::size_t{16} << 20;

[[nodiscard]] int error_number(int code) {
    if (code == MPI_SUCCESS) return 0;
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(code, &error_class);
    switch (error_class) {
    case MPI_ERR_NO_SUCH_FILE: return ENOENT;
    case MPI_ERR_FILE_EXISTS: return EEXIST;
    case MPI_ERR_ACCESS: return EACCES;
    case MPI_ERR_READ_ONLY: return EROFS;
    case MPI_ERR_NO_SPACE: return ENOSPC;
    case MPI_ERR_QUOTA: return EDQUOT;
    case MPI_ERR_FILE_IN_USE: return EBUSY;
    case MPI_ERR_FILE: return EBADF;
    case MPI_ERR_BAD_FILE:
    case MPI_ERR_AMODE:
    case MPI_ERR_ARG:
    case MPI_ERR_COUNT: return EINVAL;
    default: return EIO;
    }
}

[[nodiscard]] bool is_one_of(int flags, std::initializer_list<int> choices) {
    return std::count_if(choices.begin(), choices.end(), [&](int choice) { return (flags & choice) != 0; }) == 1;
}

} // namespace

// --- opening and closing --------------------------------------------------------------------------------------------

ParallelFile::ParallelFile(MPI_Comm threads, std::string name, int flags, const Hint* hints, std::size_t hint_count)
    : threads_{threads}, name_{std::move(name)}, flags_{flags} {
    for (std::size_t k = 0; k < hint_count; ++k)
        if (hints[k].key != nullptr && hints[k].value != nullptr) hints_.emplace_back(hints[k].key, hints[k].value);
}

ParallelFile::~ParallelFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

/// The largest of all threads' error numbers.
int ParallelFile::agreed(int error) const {
    int all = error;
    MPI_Allreduce(&error, &all, 1, MPI_INT, MPI_MAX, threads_);
    return all;
}

/// Whether all threads have the same name and flags, of which the calls that follow depend.
bool ParallelFile::all_open_the_same() const {
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    const auto mix = [&](unsigned value) { hash = (hash ^ value) * 0x100000001b3; };
    for (const char letter : name_) mix(static_cast<unsigned char>(letter));
    mix(static_cast<unsigned>(flags_));
    const std::uint64_t own[2]{hash, ~hash};
    std::uint64_t largest[2]{};
    MPI_Allreduce(own, largest, 2, MPI_UINT64_T, MPI_MAX, threads_);
    return largest[0] == ~largest[1];
}

MPI_Info ParallelFile::info() const {
    if (hints_.empty()) return MPI_INFO_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : hints_)
        if (!key.empty() && !value.empty() && key.size() < MPI_MAX_INFO_KEY && value.size() < MPI_MAX_INFO_VAL)
            MPI_Info_set(info, key.c_str(), value.c_str());
    return info;
}

/// What POSIX says of the name, since MPIs differ in their errors. On thread 0 only.
int ParallelFile::precheck() const {
    struct stat status{};
    if (stat(name_.c_str(), &status) == 0) {
        if ((flags_ & io::exclusive) != 0) return EEXIST;
        if (S_ISDIR(status.st_mode)) return EISDIR;
        const int wanted = (flags_ & io::read_only) != 0 ? R_OK : (flags_ & io::write_only) != 0 ? W_OK : R_OK | W_OK;
        return access(name_.c_str(), wanted) == 0 ? 0 : errno;
    }
    if (errno != ENOENT || (flags_ & io::create) == 0) return errno;
    // Created here: MPI cannot create a file that is read only.
    mode_t permissions = 0666;
    for (const auto& [key, value] : hints_)
        if (key == "file_perm") permissions = static_cast<mode_t>(std::strtoul(value.c_str(), nullptr, 8));
    const int made = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL, permissions);
    if (made < 0) return errno;
    ::close(made);
    return 0;
}

int ParallelFile::open() {
    int thread = 0;
    MPI_Comm_rank(threads_, &thread);
    int error = 0;
    if (!is_one_of(flags_, {io::read_only, io::write_only, io::read_write}) ||
        !is_one_of(flags_, {io::individual, io::common}) ||
        ((flags_ & io::exclusive) != 0 && (flags_ & io::create) == 0) ||
        ((flags_ & io::truncate) != 0 && (flags_ & io::read_only) != 0))
        error = EINVAL;
    if (!all_open_the_same()) return EINVAL;
    if (error == 0 && thread == 0) error = precheck();
    if (error = agreed(error); error != 0) return error;
    const int mode = (flags_ & io::read_only) != 0    ? MPI_MODE_RDONLY
                     : (flags_ & io::write_only) != 0 ? MPI_MODE_WRONLY
                                                      : MPI_MODE_RDWR;
    MPI_Info hints = info();
    error = error_number(MPI_File_open(threads_, name_.c_str(), mode, hints, &file_));
    if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
    if (error == 0 && thread == 0 && (flags_ & io::read_only) == 0) {
        descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC);
        if (descriptor_ < 0) error = errno;
    }
    if (error = agreed(error); error != 0) return error;
    if ((flags_ & io::truncate) != 0)
        if (error = agreed(error_number(MPI_File_set_size(file_, 0))); error != 0) return error;
    if ((flags_ & io::append) != 0)
        if (error = agreed(size(position_)); error != 0) return error;
    lock_ = lapwing_upc_all_lock_alloc();
    MPI_Barrier(threads_);
    return 0;
}

int ParallelFile::close() {
    if (outstanding_) return EINVAL;
    int error = sync();
    lapwing_upc_all_lock_free(lock_);
    if (const int closing = error_number(MPI_File_close(&file_)); error == 0) error = closing;
    int thread = 0;
    MPI_Comm_rank(threads_, &thread);
    MPI_Barrier(threads_);
    if ((flags_ & io::delete_on_close) != 0 && thread == 0 && unlink(name_.c_str()) != 0 && error == 0) error = errno;
    return agreed(error);
}

int ParallelFile::sync() {
    if (outstanding_) return EINVAL;
    if ((flags_ & io::read_only) != 0) { // nothing to write, which some MPIs treat as an error
        lapwing_upc_barrier(nullptr);
        return 0;
    }
    int error = error_number(MPI_File_sync(file_));
    lapwing_upc_barrier(nullptr);
    if (const int again = error_number(MPI_File_sync(file_)); error == 0) error = again;
    return error;
}

// --- positions and sizes --------------------------------------------------------------------------------------------

int ParallelFile::seek(Offset offset, int origin) {
    if (outstanding_) return EINVAL;
    Offset base = 0;
    if (origin == io::from_here) base = position_;
    else if (origin == io::from_end) {
        if (const int error = size(base); error != 0) return error;
    } else if (origin != io::from_start) return EINVAL;
    if ((offset > 0 && base > LLONG_MAX - offset) || base + offset < 0) return EINVAL;
    position_ = base + offset;
    return 0;
}

int ParallelFile::size(Offset& size) {
    MPI_Offset value = 0;
    if (outstanding_) return EINVAL;
    const int error = error_number(MPI_File_get_size(file_, &value));
    size = value;
    return error;
}

int ParallelFile::set_size(Offset size) {
    if (outstanding_ || size < 0) return EINVAL;
    if ((flags_ & io::read_only) != 0) return EBADF;
    int error = sync();
    if (const int setting = error_number(MPI_File_set_size(file_, size)); error == 0) error = setting;
    lapwing_upc_barrier(nullptr);
    return error;
}

/// Space on the disk for the first bytes of the file. On thread 0 only.
int ParallelFile::allocate(Offset bytes) const {
    if (bytes == 0) return 0;
    int error = 0;
    do error = posix_fallocate(descriptor_, 0, bytes);
    while (error == EINTR);
    return error;
}

int ParallelFile::preallocate(Offset wanted) {
    if (outstanding_ || wanted < 0) return EINVAL;
    if ((flags_ & io::read_only) != 0) return EBADF;
    lapwing_upc_barrier(nullptr);
    // Not by MPI_File_preallocate, in which Open MPI's ranks read the size while rank 0 writes, and part ways.
    int thread = 0;
    MPI_Comm_rank(threads_, &thread);
    const int error = agreed(thread == 0 ? allocate(wanted) : 0);
    lapwing_upc_barrier(nullptr);
    return error;
}

/// How many there are.
int ParallelFile::show_hints(const Hint*& shown) {
    shown_hints_.clear();
    for (const auto& [key, value] : hints_) shown_hints_.push_back({key.c_str(), value.c_str()});
    shown = shown_hints_.data();
    return static_cast<int>(shown_hints_.size());
}

int ParallelFile::control(int command, void* argument, int& result) {
    result = 0;
    if (command == io::is_outstanding) {
        result = outstanding_ ? 1 : 0;
        return 0;
    }
    if (outstanding_) return EINVAL;
    const auto change = [&](int with, int without) {
        const int error = sync();
        flags_ = (flags_ & ~without) | with;
        return error;
    };
    switch (command) {
    case io::get_semantics: result = flags_ & io::strong; return 0;
    case io::set_weak: return change(0, io::strong);
    case io::set_strong: return change(io::strong, 0);
    case io::get_pointer_kind: result = flags_ & (io::common | io::individual); return 0;
    case io::set_common: position_ = 0; return change(io::common, io::individual);
    case io::set_individual: position_ = 0; return change(io::individual, io::common);
    case io::get_flags: result = flags_; return 0;
    case io::get_name:
    case io::get_hints:
        if (argument == nullptr) return EINVAL;
        if (command == io::get_name) *static_cast<const char**>(argument) = name_.c_str();
        else result = show_hints(*static_cast<const Hint**>(argument));
        return 0;
    case io::set_hint: {
        const auto* const hint = static_cast<const Hint*>(argument);
        if (hint == nullptr || hint->key == nullptr || hint->value == nullptr) return EINVAL;
        const auto known =
            std::find_if(hints_.begin(), hints_.end(), [&](const auto& h) { return h.first == hint->key; });
        if (known != hints_.end()) known->second = hint->value;
        else hints_.emplace_back(hint->key, hint->value);
        const int error = sync();
        MPI_Info hints = info();
        MPI_File_set_info(file_, hints); // MPI ignores hints that it does not know
        if (hints != MPI_INFO_NULL) MPI_Info_free(&hints);
        return error;
    }
    default: return EINVAL;
    }
}

// --- transfers ------------------------------------------------------------------------------------------------------

/// UPC_IN_MYSYNC and UPC_OUT_MYSYNC use the barriers of ALLSYNC, which promise more.
void ParallelFile::enter(int flags) const {
    if ((flags & LAPWING_UPC_IN_NOSYNC) == 0 || (flags_ & io::strong) != 0) lapwing_upc_barrier(nullptr);
}
void ParallelFile::leave(int flags) const {
    if ((flags & LAPWING_UPC_OUT_NOSYNC) == 0 || (flags_ & io::strong) != 0) lapwing_upc_barrier(nullptr);
}

int ParallelFile::refused(Direction direction, bool is_local) const {
    if (outstanding_) return EINVAL;
    if (direction == Direction::read ? (flags_ & io::write_only) != 0 : (flags_ & io::read_only) != 0) return EBADF;
    return is_local && (flags_ & io::common) != 0 ? EINVAL : 0;
}

/// By one call of MPI, of at most largest_piece bytes.
ParallelFile::Result ParallelFile::move_piece(MPI_File file, Direction direction, void* memory, std::size_t bytes,
                                              Offset offset) {
    const int wanted = static_cast<int>(bytes);
    MPI_Status status;
    const int code = direction == Direction::read ? MPI_File_read_at(file, offset, memory, wanted, MPI_BYTE, &status)
                                                  : MPI_File_write_at(file, offset, memory, wanted, MPI_BYTE, &status);
    int done = 0;
    if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &done);
    return {error_number(code), done};
}

/// Transfers part of the memory at an offset of the file; `done`: bytes, fewer at the end of the file.
int ParallelFile::at(Direction direction, const Memory& memory, std::size_t begin, std::size_t bytes, Offset offset,
                     Offset& done) {
    done = 0;
    char* const whole = static_cast<char*>(memory.whole());
    std::vector<char> copy(whole == nullptr ? std::min(bytes, largest_piece) : 0);
    for (std::size_t at = 0; at < bytes;) {
        const std::size_t piece = std::min(bytes - at, largest_piece);
        char* const here = whole == nullptr ? copy.data() : whole + begin + at;
        if (direction == Direction::write && whole == nullptr) memory.read(begin + at, here, piece);
        const Result result = move_piece(file_, direction, here, piece, offset + static_cast<Offset>(at));
        if (result.error != 0) return result.error;
        if (direction == Direction::read && whole == nullptr)
            memory.fill(begin + at, here, static_cast<std::size_t>(result.bytes));
        done += result.bytes;
        at += piece;
        if (static_cast<std::size_t>(result.bytes) < piece) break;
    }
    return 0;
}

/// With a common file pointer: each thread transfers its share of the range.
int ParallelFile::in_own_share(Direction direction, const Memory& memory, Offset& done) {
    int thread = 0;
    int threads = 1;
    MPI_Comm_rank(threads_, &thread);
    MPI_Comm_size(threads_, &threads);
    const std::size_t all = memory.bytes();
    const std::size_t share = (all + static_cast<std::size_t>(threads) - 1) / static_cast<std::size_t>(threads);
    const std::size_t begin = std::min(all, share * static_cast<std::size_t>(thread));
    Offset own = 0;
    const int error =
        at(direction, memory, begin, std::min(share, all - begin), position_ + static_cast<Offset>(begin), own);
    MPI_Allreduce(&own, &done, 1, MPI_LONG_LONG, MPI_SUM, threads_);
    return agreed(error);
}

int ParallelFile::transfer(Direction direction, const Memory& memory, bool is_local, int flags, Offset& bytes) {
    bytes = 0;
    enter(flags);
    int error = memory.has_null() ? EINVAL : refused(direction, is_local);
    if (error == 0) {
        const bool strong = (flags_ & io::strong) != 0;
        if ((flags_ & io::common) != 0) {
            error = in_own_share(direction, memory, bytes);
        } else {
            if (strong) lapwing_upc_lock(lock_);
            error = at(direction, memory, 0, memory.bytes(), position_, bytes);
            if (strong) lapwing_upc_unlock(lock_);
        }
        if (error == 0) position_ += bytes;
    }
    leave(flags);
    return error;
}

int ParallelFile::transfer_list(Direction direction, const Memory& memory, const FilePiece* pieces, std::size_t count,
                                int flags, Offset& bytes) {
    bytes = 0;
    std::size_t in_file = 0;
    int error = memory.has_null() || (pieces == nullptr && count > 0) ? EINVAL : refused(direction, false);
    for (std::size_t k = 0; pieces != nullptr && k < count; ++k) {
        in_file += pieces[k].bytes;
        if (pieces[k].offset < 0) error = EINVAL;
    }
    if (in_file != memory.bytes()) error = EINVAL;
    enter(flags);
    if (error == 0) {
        const bool strong = (flags_ & io::strong) != 0;
        if (strong) lapwing_upc_lock(lock_);
        std::size_t begin = 0;
        for (std::size_t k = 0; k < count && error == 0; ++k) {
            Offset done = 0;
            error = at(direction, memory, begin, pieces[k].bytes, pieces[k].offset, done);
            bytes += done;
            begin += pieces[k].bytes;
        }
        if (strong) lapwing_upc_unlock(lock_);
    }
    leave(flags);
    return error;
}

// --- asynchronous transfers ------------------------------------------------------------------------------------------

void ParallelFile::begin(Direction direction, void* memory, std::size_t bytes, int flags) {
    Offset done = 0;
    // Needs one call of MPI without the lock of strong semantics: other transfers are complete when they begin.
    if (bytes > largest_piece || (flags_ & io::strong) != 0) {
        const int error = transfer(direction, Memory{memory, bytes}, true, flags | LAPWING_UPC_OUT_NOSYNC, done);
        return set_outstanding(error, done, flags);
    }
    enter(flags);
    const int error = memory == nullptr && bytes > 0 ? EINVAL : refused(direction, true);
    set_outstanding(error, 0, flags);
    if (error != 0 || bytes == 0) return;
    // A blocking call of MPI in another thread, or by wait(): requests of Open MPI's files are not safe where two
    // threads are in MPI, and one of them is Lapwing's (docs/architecture.md, known faults).
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    const std::launch policy =
        level == MPI_THREAD_MULTIPLE ? std::launch::async | std::launch::deferred : std::launch::deferred;
    result_ = std::async(policy, move_piece, file_, direction, memory, bytes, position_);
}

void ParallelFile::set_outstanding(int error, Offset bytes, int flags) {
    outstanding_ = true;
    outstanding_error_ = error;
    outstanding_bytes_ = bytes;
    outstanding_flags_ = flags;
}

int ParallelFile::finish(Offset& bytes) {
    bytes = outstanding_bytes_;
    outstanding_ = false;
    leave(outstanding_flags_);
    return outstanding_error_;
}

/// Waits for what begin() has begun.
void ParallelFile::take_result() {
    const Result result = result_.get();
    outstanding_error_ = result.error;
    outstanding_bytes_ = result.bytes;
    position_ += result.bytes;
}

int ParallelFile::wait(Offset& bytes) {
    if (!outstanding_) return EINVAL;
    if (result_.valid()) take_result();
    return finish(bytes);
}

int ParallelFile::test(bool& done, Offset& bytes) {
    done = true;
    if (!outstanding_) return EINVAL;
    if (result_.valid() && result_.wait_for(std::chrono::seconds{0}) != std::future_status::timeout) take_result();
    const int own = result_.valid() ? 0 : 1;
    int all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, threads_);
    done = all != 0;
    bytes = 0;
    return done ? finish(bytes) : 0;
}

} // namespace upcc
