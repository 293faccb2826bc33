// Checkpoints: the elements of a slice in a file, in row-major order whatever the distribution, so that another number
// of ranks and another distribution can load them.
//
//   page 0           Header
//   from byte 4096   the elements
//   after them       a checksum (XXH3, 64 bits) for each block of elements
//
// Ranks take the blocks in turns: in a round each rank has some neighbours, which it gets from their owners (or puts to
// them) and writes (or reads) by a call of its own. The header comes last, and the file gets its name when everything
// is on the disk.
#include <lapwing/checkpoint.hpp>

#include "arrays/slices/compared.hpp"
#include "arrays/slices/exchange.hpp"
#include "src/mpi/agreement.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/hash.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_state.hpp"
#include "window/window_state.hpp"

#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <mpi.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <climits>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lapwing::detail::slices {

namespace {

constexpr std::uint64_t header_bytes = 4096;
constexpr std::uint64_t least_block_bytes = std::uint64_t{1} << 20;
/// Bytes of a rank in a round: enough for disks, and the limit of its memory unless an element is larger.
constexpr std::uint64_t most_blocks_at_a_time = 8;
constexpr std::uint64_t bytes_at_a_time = most_blocks_at_a_time * least_block_bytes;
/// Of a call of MPI's, which counts in int.
constexpr std::uint64_t most_bytes_of_call = std::uint64_t{1} << 30;
constexpr std::uint32_t version = 1;
constexpr std::uint32_t byte_order = 0x01020304;

struct Header {
    std::array<char, 8> magic{'L', 'A', 'P', 'W', 'I', 'N', 'G', '\n'};
    std::uint32_t version = slices::version;
    std::uint32_t byte_order = slices::byte_order;
    std::uint32_t kind = 0;
    std::uint32_t dimensions = 0;
    std::uint64_t element_bytes = 0;
    std::array<std::uint64_t, max_dimensions> extents{};
    std::uint64_t block_elements = 0; ///< that a checksum is of
    std::uint64_t checksum = 0;       ///< of all before it
    std::uint64_t save = 0;           ///< differs from that of every other save; 0 in files of older libraries

    [[nodiscard]] std::uint64_t expected_checksum() const noexcept {
        return XXH3_64bits(this, offsetof(Header, checksum));
    }
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) <= header_bytes);

const char* name(ElementKind kind) {
    switch (kind) {
    case ElementKind::floating_point: return "floating-point numbers";
    case ElementKind::signed_integer: return "signed integers";
    case ElementKind::unsigned_integer: return "unsigned integers";
    case ElementKind::other: break;
    }
    return "elements";
}

std::string text_of_elements(ElementKind kind, std::uint64_t bytes) {
    return fmt::format("{} of {} bytes", name(kind), bytes);
}

/// Where everything is in a file.
struct FilePlan {
    std::uint64_t element_bytes = 0;
    std::uint64_t elements = 0;
    std::uint64_t block_elements = 0;

    explicit FilePlan(std::uint64_t element_bytes_, std::uint64_t elements_)
        : element_bytes{element_bytes_},
          elements{elements_},
          block_elements{std::max<std::uint64_t>(1, least_block_bytes / element_bytes_)} {}

    [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_elements * element_bytes; }
    [[nodiscard]] std::uint64_t blocks() const noexcept {
        return elements == 0 ? 0 : (elements - 1) / block_elements + 1;
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return elements * element_bytes; }
    [[nodiscard]] std::uint64_t offset(std::uint64_t block) const noexcept {
        return header_bytes + block * block_bytes();
    }
    [[nodiscard]] std::uint64_t checksum_offset(std::uint64_t block) const noexcept {
        return header_bytes + bytes() + block * sizeof(std::uint64_t);
    }
    [[nodiscard]] std::uint64_t file_bytes() const noexcept { return checksum_offset(blocks()); }
    /// Of a rank and round.
    [[nodiscard]] std::uint64_t blocks_at_a_time() const noexcept {
        return std::clamp<std::uint64_t>(bytes_at_a_time / block_bytes(), 1, most_blocks_at_a_time);
    }
    [[nodiscard]] std::uint64_t most_share_bytes() const noexcept {
        return std::min(bytes(), blocks_at_a_time() * block_bytes());
    }
    [[nodiscard]] std::uint64_t round_blocks(int ranks) const noexcept {
        return blocks_at_a_time() * static_cast<std::uint64_t>(ranks);
    }
    /// Bytes of elements that are done after a round.
    [[nodiscard]] std::uint64_t done_after(std::uint64_t round, int ranks) const noexcept {
        return std::min(bytes(), (round + 1) * round_blocks(ranks) * block_bytes());
    }
    [[nodiscard]] std::uint64_t rounds(int ranks) const noexcept {
        return blocks() == 0 ? 0 : (blocks() - 1) / round_blocks(ranks) + 1;
    }
};

/// The blocks of a rank in a round.
struct Share {
    std::uint64_t first_block = 0;
    std::uint64_t blocks = 0;
    std::uint64_t first_element = 0;
    std::uint64_t elements = 0;

    Share(const FilePlan& plan, std::uint64_t round, int rank, int ranks) {
        first_block = std::min(plan.blocks(), round * plan.round_blocks(ranks) +
                                                  static_cast<std::uint64_t>(rank) * plan.blocks_at_a_time());
        blocks = std::min(plan.blocks_at_a_time(), plan.blocks() - first_block);
        first_element = std::min(plan.elements, first_block * plan.block_elements);
        elements = std::min(plan.elements, (first_block + blocks) * plan.block_elements) - first_element;
    }
};

/// An open file of all ranks of a team.
class SharedFile {
public:
    /// Collective. Throws FileError on all ranks.
    SharedFile(Team& team, const std::string& path, int mode) : team_{team}, path_{path} {
        const int code = MPI_File_open(team.state().communicator(), path.c_str(), mode, MPI_INFO_NULL, &file_);
        const mpi::Problem problem =
            mpi::first_problem(team.state().communicator(), code == MPI_SUCCESS ? std::string{} : text_of(code));
        if (problem.text.empty()) return;
        if (code == MPI_SUCCESS) MPI_File_close(&file_);
        throw FileError{
            fmt::format("{}: {}: rank {} cannot open it: {}", team.who(), path, problem.rank, problem.text)};
    }
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;
    ~SharedFile() {
        if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
    }

    /// Collective.
    void close() { check(MPI_File_close(&file_), "MPI_File_close"); }
    void sync() { check(MPI_File_sync(file_), "MPI_File_sync"); }
    [[nodiscard]] std::uint64_t size() {
        MPI_Offset size = 0;
        check(MPI_File_get_size(file_, &size), "MPI_File_get_size");
        return static_cast<std::uint64_t>(size);
    }
    // Calls of this rank alone, also where all ranks have a part. Parts are contiguous and large, so that exchanging
    // them before they are written, as collective calls do, gains nothing; and Open MPI's collective writes corrupt
    // memory where another thread is in MPI (docs/architecture.md, known faults).
    void write(std::uint64_t offset, std::span<const std::byte> bytes) {
        for_pieces(offset, bytes, [&](MPI_Offset at, std::span<const std::byte> piece) {
            MPI_Status status;
            check(MPI_File_write_at(file_, at, piece.data(), static_cast<int>(piece.size()), MPI_BYTE, &status),
                  "MPI_File_write_at");
            require_count(status, piece.size(), "written");
        });
    }
    void read(std::uint64_t offset, std::span<std::byte> bytes) {
        for_pieces(offset, bytes, [&](MPI_Offset at, std::span<std::byte> piece) {
            MPI_Status status;
            check(MPI_File_read_at(file_, at, piece.data(), static_cast<int>(piece.size()), MPI_BYTE, &status),
                  "MPI_File_read_at");
            require_count(status, piece.size(), "read");
        });
    }

private:
    template <class Byte, class Visit>
    static void for_pieces(std::uint64_t offset, std::span<Byte> bytes, Visit visit) {
        for (std::uint64_t begin = 0; begin < bytes.size(); begin += most_bytes_of_call)
            visit(static_cast<MPI_Offset>(offset) + static_cast<MPI_Offset>(begin),
                  bytes.subspan(begin, std::min<std::uint64_t>(most_bytes_of_call, bytes.size() - begin)));
    }
    static std::string text_of(int code) {
        std::array<char, MPI_MAX_ERROR_STRING> text{};
        int length = 0;
        MPI_Error_string(code, text.data(), &length);
        return std::string{text.data(), static_cast<std::size_t>(length)};
    }
    void check(int code, const char* call) const {
        if (code != MPI_SUCCESS)
            throw FileError{fmt::format("{}: {}: {}: {}", team_.who(), path_, call, text_of(code))};
    }
    void require_count(MPI_Status& status, std::size_t bytes, const char* word) const {
        int count = 0;
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (std::cmp_not_equal(count, bytes))
            throw FileError{fmt::format("{}: {}: {} of {} bytes were {}; is the disk full, or the file cut off?",
                                        team_.who(), path_, count, bytes, word)};
    }

    Team& team_;
    std::string path_;
    MPI_File file_ = MPI_FILE_NULL;
};

/// Collective: throws on all ranks where `problem` is on one.
void agree(Team& team, const std::string& path, const std::exception_ptr& problem, const char* outcome) {
    const mpi::Problem first = mpi::first_problem(team.state().communicator(), mpi::text_of(problem));
    if (problem != nullptr) std::rethrow_exception(problem);
    if (!first.text.empty())
        throw FileError{
            fmt::format("{}: {}: {}, since rank {} could not: {}", team.who(), path, outcome, first.rank, first.text)};
}

/// Calls `visit(block, bytes)` for each block of a share.
template <class Visit>
void for_blocks(const FilePlan& plan, const Share& share, std::span<std::byte> bytes, Visit visit) {
    for (std::uint64_t k = 0; k < share.blocks; ++k) {
        const std::uint64_t begin = k * plan.block_bytes();
        visit(k, bytes.subspan(begin, std::min(plan.block_bytes(), bytes.size() - begin)));
    }
}

Header header_of(const ArrayGeometry& array, const SliceShape& shape, ElementKind kind, const FilePlan& plan) {
    Header header;
    header.kind = static_cast<std::uint32_t>(kind);
    header.dimensions = static_cast<std::uint32_t>(shape.count);
    header.element_bytes = array.element_bytes;
    for (std::size_t d = 0; d < shape.count; ++d) header.extents[d] = shape.dimensions[d].indices.size();
    header.block_elements = plan.block_elements;
    header.checksum = header.expected_checksum();
    std::random_device random;
    header.save = (std::uint64_t{random()} << 32 | random()) | 1;
    return header;
}

std::string extents_text(const Header& header) {
    return fmt::format("({})", fmt::join(std::span{header.extents}.first(header.dimensions), ", "));
}

/// What is wrong with a header; empty if nothing is.
std::string wrong_with(const Header& header, std::uint64_t file_bytes, ElementKind kind, std::uint64_t element_bytes,
                       std::size_t dimensions) {
    if (header.magic != Header{}.magic) return "it is not a checkpoint of Lapwing's";
    if (header.byte_order != byte_order) return "it was written on a machine with another byte order";
    if (header.version != version)
        return fmt::format("it has version {} of the format, and this library reads version {}", header.version,
                           version);
    if (header.checksum != header.expected_checksum()) return "its header is damaged";
    if (header.dimensions != dimensions || header.element_bytes != element_bytes ||
        header.kind != static_cast<std::uint32_t>(kind))
        return fmt::format("it holds extents {} of {}, and the array has {} dimensions of {}", extents_text(header),
                           text_of_elements(static_cast<ElementKind>(header.kind), header.element_bytes), dimensions,
                           text_of_elements(kind, element_bytes));
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < dimensions; ++d) elements *= header.extents[d];
    const FilePlan plan{element_bytes, elements};
    if (file_bytes != plan.file_bytes())
        return fmt::format("it has {} bytes, and its extents {} need {}: it was cut off", file_bytes,
                           extents_text(header), plan.file_bytes());
    return {};
}

/// Collective. The header of a file, on all ranks, which throw what is wrong with it.
Header read_header(Team& team, SharedFile& file, const std::string& path, ElementKind kind, std::uint64_t element_bytes,
                   std::size_t dimensions) {
    Header header;
    std::string wrong;
    if (team.rank() == Rank{0}) {
        try {
            const std::uint64_t size = file.size();
            if (size < header_bytes) {
                wrong = fmt::format("it has {} bytes, and is not a checkpoint of Lapwing's", size);
            } else {
                file.read(0, std::as_writable_bytes(std::span{&header, 1}));
                wrong = wrong_with(header, size, kind, element_bytes, dimensions);
            }
        } catch (const std::exception& error) {
            wrong = error.what();
        }
    }
    const mpi::Problem problem = mpi::first_problem(team.state().communicator(), wrong);
    if (!problem.text.empty()) throw FileError{fmt::format("{}: {}: {}", team.who(), path, problem.text)};
    team.broadcast(std::as_writable_bytes(std::span{&header, 1}), Rank{0});
    return header;
}

/// Collective. A file that all ranks load, and its header. A save of another job may give its file the path while the
/// ranks open it one by one; ranks that have different saves then open it again, a few times.
struct LoadedFile {
    std::optional<SharedFile> file;
    Header header;

    LoadedFile(Team& team, const std::string& path, ElementKind kind, std::uint64_t element_bytes,
               std::size_t dimensions) {
        constexpr int most_tries = 8;
        for (int tries = 0; tries < most_tries; ++tries) {
            file.emplace(team, path, MPI_MODE_RDONLY);
            header = read_header(team, *file, path, kind, element_bytes, dimensions);
            std::exception_ptr problem;
            bool same = false;
            try {
                Header own;
                file->read(0, std::as_writable_bytes(std::span{&own, 1}));
                same = std::memcmp(&own, &header, sizeof(header)) == 0;
            } catch (...) {
                problem = std::current_exception();
            }
            agree(team, path, problem, "nothing was loaded");
            if (team.min(same ? 1 : 0) != 0) return;
        }
        throw FileError{
            fmt::format("{}: {}: ranks have opened different saves {} times in a row, since another job goes "
                        "on saving to it; nothing was loaded; load when it has saved, or a copy of the file",
                        team.who(), path, most_tries)};
    }
};

/// The file, and its entry in the directory, are on the disk.
void sync_path(const std::string& path) noexcept {
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (const int handle = open(directory.c_str(), O_RDONLY | O_DIRECTORY); handle >= 0) {
        (void)fsync(handle);
        (void)::close(handle);
    }
}

/// What keeps this rank from going on with a collective call, in which it takes part all the same.
class Attempts {
public:
    /// Unless something has failed before.
    template <class Step>
    void go_on(Step&& step) {
        if (problem_ == nullptr) always(std::forward<Step>(step));
    }
    /// Collective steps, which the other ranks make, too.
    template <class Step>
    void always(Step&& step) {
        try {
            step();
        } catch (...) {
            if (problem_ == nullptr) problem_ = std::current_exception();
        }
    }
    /// Collective. Whether a rank has failed.
    [[nodiscard]] bool failed_somewhere(Team& team) const { return team.max(problem_ == nullptr ? 0 : 1) != 0; }
    [[nodiscard]] const std::exception_ptr& problem() const noexcept { return problem_; }

private:
    std::exception_ptr problem_;
};

/// Collective: the barrier that a call with a file begins with. All ranks have the same path, type of elements and
/// indices, or throw MismatchError. Of a file whose extents nobody knows yet there is no array.
void begin_collective(Team& team, const char* call, const ArrayGeometry* array, const SliceShape* shape,
                      const std::string& path, ElementKind kind, std::uint64_t element_bytes, std::size_t dimensions) {
    std::vector<std::int64_t> numbers{static_cast<std::int64_t>(support::hash_of(std::as_bytes(std::span{path}))),
                                      static_cast<std::int64_t>(kind), static_cast<std::int64_t>(element_bytes),
                                      static_cast<std::int64_t>(dimensions)};
    if (array != nullptr) add_to_compared(numbers, *shape, array->dimensions);
    const team::CallArguments arguments{
        .number = static_cast<std::int64_t>(support::hash_of(std::as_bytes(std::span{numbers}))),
        .text =
            [&] {
                return fmt::format("\"{}\" for {} of {}", path,
                                   array == nullptr ? fmt::format("an array of {} dimensions", dimensions)
                                                    : slices::text_of(*array, *shape),
                                   text_of_elements(kind, element_bytes));
            },
        .start =
            [&] { return fmt::format("{}: {}.{}", team.who(), array == nullptr ? "GlobalArray" : array->name, call); }};
    team::Synchronisation& synchronisation = team.state().synchronisation();
    if (array == nullptr) synchronisation.barrier(team::CollectiveCall::file_load, {}, arguments);
    else
        synchronisation.barrier(team::CollectiveCall::on_window,
                                team::identity_on_window(call, array->window->number()), arguments);
}

bool is_link(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

/// Where links lead: the file that a save replaces, which need not exist. Throws FileError.
std::string resolved(const Team& team, const std::string& path) {
    constexpr int most_links = 40; // as Linux
    std::string at = path;
    for (int k = 0; is_link(at); ++k) {
        std::array<char, PATH_MAX> target{};
        const ssize_t length = readlink(at.c_str(), target.data(), target.size());
        if (length < 0 || k == most_links)
            throw FileError{fmt::format("{}: {}: the symbolic link leads nowhere: {}", team.who(), path,
                                        std::strerror(length < 0 ? errno : ELOOP))};
        const std::string next{target.data(), static_cast<std::size_t>(length)};
        const std::size_t slash = at.rfind('/');
        if (next.starts_with('/') || slash == std::string::npos) at = next;
        else at.replace(slash + 1, std::string::npos, next);
    }
    return at;
}

/// Throws FileError where there is something else than a file.
void require_file_name(const Team& team, const std::string& path) {
    struct stat status{};
    const bool exists = stat(path.c_str(), &status) == 0;
    if (path.empty() || path.ends_with('/') || (exists && S_ISDIR(status.st_mode)))
        throw FileError{fmt::format("{}: \"{}\" is a directory, or names no file; pass the name of a file in it",
                                    team.who(), path)};
    if (exists && !S_ISREG(status.st_mode))
        throw FileError{fmt::format("{}: {} is not a regular file; pass the name of one", team.who(), path)};
}

/// Collective. The text of rank 0.
std::string broadcast_text(Team& team, std::string text) {
    std::uint64_t length = team.broadcast(static_cast<std::uint64_t>(text.size()), Rank{0});
    text.resize(length);
    team.broadcast(std::as_writable_bytes(std::span{text}), Rank{0});
    return text;
}

/// Keeps saves of other jobs, and of other teams, from a path.
class PathLock {
public:
    /// Throws FileError while another one holds it. Goes without where there are no locks.
    PathLock(const Team& team, const std::string& path) : name_{path + ".partial.lock"} {
        for (;;) {
            file_ = ::open(name_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
            if (file_ < 0)
                throw FileError{fmt::format("{}: {}: rank {} cannot open its lock {}: {}", team.who(), path,
                                            team.rank().value, name_, std::strerror(errno))};
            if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
                if (errno != EWOULDBLOCK) return;
                (void)::close(file_);
                throw FileError{fmt::format("{}: {}: another job, or another team of this one, is saving to it (it "
                                            "holds {}); wait for it, or save "
                                            "to another path",
                                            team.who(), path, name_)};
            }
            // Who held it before may have removed the name meanwhile.
            struct stat own{};
            struct stat named{};
            if (fstat(file_, &own) == 0 && stat(name_.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
                own.st_dev == named.st_dev)
                return;
            (void)::close(file_);
        }
    }
    PathLock(const PathLock&) = delete;
    PathLock& operator=(const PathLock&) = delete;
    ~PathLock() {
        (void)unlink(name_.c_str());
        (void)::close(file_);
    }

private:
    std::string name_;
    int file_ = -1;
};

/// Collective. All elements, and their checksums, as far as nothing fails.
void write_elements(SharedFile& file, const ArrayGeometry& array, const SliceShape& shape, const FilePlan& plan,
                    const CheckpointOptions& options, Attempts& attempts) {
    Team& team = *array.team;
    const int ranks = team.size();
    const int rank = team.rank().value;
    std::vector<std::byte> buffer(plan.most_share_bytes());
    for (std::uint64_t round = 0; round < plan.rounds(ranks); ++round) {
        const Share share{plan, round, rank, ranks};
        const std::span<std::byte> bytes = std::span{buffer}.first(share.elements * plan.element_bytes);
        attempts.go_on([&] {
            if (array.user_map != nullptr) std::ranges::fill(bytes, std::byte{0}); // it may not store all
            move_elements(transport::Direction::get, array, shape, share.first_element,
                          share.first_element + share.elements, bytes.data());
        });
        attempts.go_on([&] {
            file.write(plan.offset(share.first_block), bytes);
            std::array<std::uint64_t, most_blocks_at_a_time> checksums{};
            for_blocks(plan, share, bytes, [&](std::uint64_t k, std::span<std::byte> block) {
                checksums[k] = XXH3_64bits(block.data(), block.size());
            });
            if (share.blocks > 0)
                file.write(plan.checksum_offset(share.first_block),
                           std::as_bytes(std::span{checksums}.first(share.blocks)));
            if (rank == 0 && options.progress) options.progress(plan.done_after(round, ranks), plan.bytes());
        });
        if (attempts.failed_somewhere(team)) return; // a long save ends soon after an error
    }
}

/// The complete file gets its name.
void give_name(const std::string& partial, const std::string& path, std::uint64_t bytes, const Team& team) {
    // An earlier save that was killed may have left a longer file.
    if (truncate(partial.c_str(), static_cast<off_t>(bytes)) != 0 || std::rename(partial.c_str(), path.c_str()) != 0)
        throw FileError{
            fmt::format("{}: {}: {}; the complete file is {}", team.who(), path, std::strerror(errno), partial)};
    sync_path(path);
}

/// Collective: throws on all ranks where a load's path is a directory, or the like.
void require_file(Team& team, const std::string& path) {
    Attempts attempts;
    if (team.rank() == Rank{0}) attempts.always([&] { require_file_name(team, path); });
    agree(team, path, attempts.problem(), "nothing was loaded");
}

} // namespace

void save(const SliceBase& slice, ElementKind kind, const std::string& given, const CheckpointOptions& options) {
    const std::shared_ptr<const ArrayGeometry> array = open_array(slice, ".save");
    Team& team = *array->team;
    const FilePlan plan{array->element_bytes, slice.size()};
    const bool first = team.rank() == Rank{0};
    begin_collective(team, "save", array.get(), &slice.shape(), given, kind, array->element_bytes,
                     slice.shape().count); // what was written before is saved
    Attempts attempts;
    std::string path = given;
    std::optional<PathLock> lock;
    if (first)
        attempts.always([&] {
            path = resolved(team, given);
            require_file_name(team, path);
            lock.emplace(team, path);
        });
    agree(team, given, attempts.problem(), "nothing was saved, and a file of that name is what it was");
    path = broadcast_text(team, path);
    const std::string partial = path + ".partial";
    {
        SharedFile file{team, partial, MPI_MODE_CREATE | MPI_MODE_WRONLY};
        write_elements(file, *array, slice.shape(), plan, options, attempts);
        attempts.go_on([&] {
            if (!first) return;
            std::vector<std::byte> page(header_bytes);
            const Header header = header_of(*array, slice.shape(), kind, plan);
            std::memcpy(page.data(), &header, sizeof(header));
            file.write(0, page);
        });
        attempts.always([&] { file.sync(); });
        attempts.always([&] { file.close(); });
    }
    const bool failed = attempts.failed_somewhere(team);
    if (first && failed) (void)std::remove(partial.c_str());
    if (first && !failed) attempts.go_on([&] { give_name(partial, path, plan.file_bytes(), team); });
    agree(team, path, attempts.problem(), "nothing was saved, and a file of that name is what it was");
}

void load(const SliceBase& slice, ElementKind kind, const std::string& path, const CheckpointOptions& options) {
    const std::shared_ptr<const ArrayGeometry> array = open_array(slice, ".load");
    Team& team = *array->team;
    const SliceShape& shape = slice.shape();
    const FilePlan plan{array->element_bytes, slice.size()};
    const int ranks = team.size();
    const int rank = team.rank().value;
    begin_collective(team, "load", array.get(), &shape, path, kind, array->element_bytes, shape.count);
    require_file(team, path);
    LoadedFile loaded{team, path, kind, array->element_bytes, shape.count};
    SharedFile& file = *loaded.file;
    const Header& header = loaded.header;
    for (std::size_t d = 0; d < shape.count; ++d)
        if (header.extents[d] != shape.dimensions[d].indices.size()) {
            std::vector<std::uint64_t> extents;
            for (const SliceShape::Dimension& dimension : shape.used()) extents.push_back(dimension.indices.size());
            throw FileError{fmt::format(
                "{}: {}: it holds extents {}, and {} has ({}); load it into an array, or a slice, of its extents",
                team.who(), path, extents_text(header), text_of(*array, shape), fmt::join(extents, ", "))};
        }
    Attempts attempts;
    std::vector<std::byte> buffer(plan.most_share_bytes());
    for (std::uint64_t round = 0; round < plan.rounds(ranks); ++round) {
        const Share share{plan, round, rank, ranks};
        const std::span<std::byte> bytes = std::span{buffer}.first(share.elements * plan.element_bytes);
        attempts.always([&] {
            file.read(plan.offset(share.first_block), bytes);
            std::array<std::uint64_t, most_blocks_at_a_time> checksums{};
            if (share.blocks > 0)
                file.read(plan.checksum_offset(share.first_block),
                          std::as_writable_bytes(std::span{checksums}.first(share.blocks)));
            for_blocks(plan, share, bytes, [&](std::uint64_t k, std::span<std::byte> block) {
                if (checksums[k] != XXH3_64bits(block.data(), block.size()))
                    throw FileError{
                        fmt::format("{}: {}: the elements from number {} on are damaged: their checksum differs",
                                    team.who(), path, share.first_element + k * plan.block_elements)};
            });
            move_elements(transport::Direction::put, *array, shape, share.first_element,
                          share.first_element + share.elements, bytes.data(), true);
            if (rank == 0 && options.progress) options.progress(plan.done_after(round, ranks), plan.bytes());
        });
        if (attempts.failed_somewhere(team)) break;
    }
    team.barrier();
    agree(team, path, attempts.problem(), "some of the elements were not loaded");
}

void read_extents(Team& team, const std::string& path, ElementKind kind, std::uint64_t element_bytes,
                  std::size_t dimensions, std::int64_t* extents) {
    begin_collective(team, "load", nullptr, nullptr, path, kind, element_bytes, dimensions);
    require_file(team, path);
    SharedFile file{team, path, MPI_MODE_RDONLY};
    const Header header = read_header(team, file, path, kind, element_bytes, dimensions);
    for (std::size_t d = 0; d < dimensions; ++d) extents[d] = static_cast<std::int64_t>(header.extents[d]);
}

} // namespace lapwing::detail::slices
