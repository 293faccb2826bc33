#include "datatype/mpi_import.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>

#include "datatype/mpi_envelope.hpp"
#include "datatype/mpi_sizes.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"
#include "src/support/mutex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

// MPI datatypes by their constructors (MPI 3.1, section 4.1.13).

namespace lapwing {

namespace {

using detail::datatype::Count;
using detail::datatype::Envelope;
using detail::datatype::mpi_extent;
using detail::support::check_mpi;

__extension__ typedef __int128 int128;

/// "rank 2 of 4 of MPI_COMM_WORLD"; nothing where there is no MPI_COMM_WORLD.
std::string who() {
    if (!detail::support::mpi_world_open()) return {};
    int rank = 0;
    int size = 0;
    if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
        return {};
    return fmt::format("rank {} of {} of MPI_COMM_WORLD", rank, size);
}

/// A communicator whose errors are returned as codes: the error handler of MPI_COMM_SELF, which ends the program unless
/// it was changed, belongs to the program. Made at the first use; freed by MPI_Finalize, which deletes the attributes
/// of MPI_COMM_SELF while MPI still works (MPI 3.1, section 8.7.1).
class QuietSelf {
public:
    [[nodiscard]] static MPI_Comm get() {
        const std::lock_guard lock{mutex()};
        MPI_Comm& comm = self();
        if (comm != MPI_COMM_NULL) return comm;
        int key = MPI_KEYVAL_INVALID;
        check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free, &key, nullptr), "MPI_Comm_create_keyval");
        check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
        MPI_Comm_free_keyval(&key);
        check_mpi(MPI_Comm_dup(MPI_COMM_SELF, &comm), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        return comm;
    }

private:
    static int free(MPI_Comm, int, void*, void*) {
        const std::lock_guard lock{mutex()};
        return self() == MPI_COMM_NULL ? MPI_SUCCESS : MPI_Comm_free(&self());
    }
    static detail::support::Mutex& mutex() {
        static detail::support::Mutex instance{detail::support::LockRank::leaf};
        return instance;
    }
    static MPI_Comm& self() {
        static MPI_Comm comm = MPI_COMM_NULL;
        return comm;
    }
};

/// Throws for what no transfer could use.
void check_usable(MPI_Datatype type) {
    detail::support::require_mpi("Layout::from_mpi");
    if (type == MPI_DATATYPE_NULL)
        throw UsageError{
            fmt::format("{}: Layout::from_mpi: the datatype is MPI_DATATYPE_NULL; pass one that has been made, "
                        "committed and not freed",
                        who())};
    // In a session there is no communicator to pack with, and the session decides who gets an error.
    if (!detail::support::mpi_world_open()) return;
    // MPI has no call that asks whether a type is committed. Packing no elements of it fails if it is not, on Open MPI
    // and on MPICH. (MPI_Pack_size does so on MPICH only; on Open MPI 4.1 it crashes.)
    char nothing = 0;
    int position = 0;
    const int code = MPI_Pack(&nothing, 0, type, &nothing, 0, &position, QuietSelf::get());
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
    throw UsageError{
        fmt::format("{}: Layout::from_mpi: MPI does not take the datatype; call MPI_Type_commit before it is "
                    "used, and MPI_Type_free only after. MPI says: {}",
                    who(), std::string_view{text.data(), static_cast<std::size_t>(length)})};
}

/// a * b as an offset.
std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        throw RangeError{
            fmt::format("Layout::from_mpi: the displacement {} times {} bytes does not fit into 64 bits", a, b)};
    return product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        throw RangeError{
            fmt::format("Layout::from_mpi: the displacement {} plus {} bytes does not fit into 64 bits", a, b)};
    return sum;
}

/// The arguments of a constructor. Owns the inner datatypes that MPI_Type_get_contents hands out.
class Contents {
public:
    explicit Contents(MPI_Datatype type) : envelope_{type} {
        if (envelope_.combiner == MPI_COMBINER_NAMED) return;
        const auto size = [](Count count) { return static_cast<std::size_t>(count); };
        // One more of each, so that there is an address to pass.
        std::vector<int> integers(size(envelope_.integers) + 1);
        std::vector<MPI_Aint> addresses(size(envelope_.addresses) + 1);
        types_.assign(size(envelope_.types) + 1, MPI_DATATYPE_NULL);
#if MPI_VERSION >= 4
        std::vector<MPI_Count> large(size(envelope_.large) + 1);
        check_mpi(MPI_Type_get_contents_c(type, envelope_.integers, envelope_.addresses, envelope_.large,
                                          envelope_.types, integers.data(), addresses.data(), large.data(),
                                          types_.data()),
                  "MPI_Type_get_contents_c");
#else
        const std::vector<MPI_Count> large(1);
        check_mpi(MPI_Type_get_contents(type, envelope_.integers, envelope_.addresses, envelope_.types, integers.data(),
                                        addresses.data(), types_.data()),
                  "MPI_Type_get_contents");
#endif
        types_.pop_back();
        // In every constructor but those of arrays, the addresses come after the integers, and large counts in the
        // order of both: so all read the same way.
        numbers_.assign(integers.begin(), integers.end() - 1);
        numbers_.insert(numbers_.end(), addresses.begin(), addresses.end() - 1);
        numbers_.insert(numbers_.end(), large.begin(), large.end() - 1);
    }
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;
    ~Contents() {
        for (MPI_Datatype& type : types_)
            if (!Envelope{type}.is_predefined()) MPI_Type_free(&type);
    }

    [[nodiscard]] bool is_predefined() const noexcept { return envelope_.is_predefined(); }
    [[nodiscard]] int combiner() const noexcept { return envelope_.combiner; }
    /// Whether the type was made by a call with large counts.
    [[nodiscard]] bool large() const noexcept { return envelope_.large > 0; }
    [[nodiscard]] std::int64_t number(std::size_t i) const noexcept { return numbers_[i]; }
    [[nodiscard]] std::uint64_t count(std::size_t i) const noexcept { return static_cast<std::uint64_t>(numbers_[i]); }
    [[nodiscard]] MPI_Datatype type(std::size_t i = 0) const noexcept { return types_[i]; }

private:
    Envelope envelope_;
    std::vector<std::int64_t> numbers_;
    std::vector<MPI_Datatype> types_;
};

/// A predefined type: one block, or a pair with a gap inside or after it.
Layout predefined(MPI_Datatype type) {
    const MPI_Count bytes = detail::datatype::mpi_size(type);
    const auto [lower, extent] = detail::datatype::mpi_true_extent(type);
    if (bytes == 0) return {};
    if (bytes == extent) return Layout::contiguous(static_cast<std::uint64_t>(bytes), lower);

    // The pairs for MPI_MINLOC are laid out as structures of C (MPI 3.1, section 5.9.4).
    const auto pair = [](auto value) {
        struct Pair {
            decltype(value) first;
            int second;
        };
        return Layout::list(
            std::vector<ByteBlock>{{offsetof(Pair, first), sizeof(value)}, {offsetof(Pair, second), sizeof(int)}});
    };
    if (type == MPI_SHORT_INT) return pair(short{});
    if (type == MPI_LONG_INT) return pair(long{});
    if (type == MPI_DOUBLE_INT) return pair(double{});
    if (type == MPI_LONG_DOUBLE_INT) return pair(static_cast<long double>(0));
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    MPI_Type_get_name(type, name.data(), &length);
    throw UsageError{
        fmt::format("{}: Layout::from_mpi: the predefined datatype {} has a gap ({} bytes of {}) that is not "
                    "known; use a structure of its parts",
                    who(), std::string_view{name.data(), static_cast<std::size_t>(length)}, bytes, extent)};
}

Layout convert(MPI_Datatype type);

/// Element i is `blocks[i]` inner elements, `displacements[i]` bytes from the start.
template <class Length, class Displacement>
Layout indexed(const Layout& inner, std::int64_t extent, std::size_t count, Length length, Displacement displacement) {
    if (inner.empty()) return {};
    const bool dense = inner.is_contiguous() && static_cast<int128>(inner.bytes()) == extent;
    bool uniform = true;
    for (std::size_t i = 1; i < count; ++i) uniform = uniform && length(i) == length(0);
    if (dense && !uniform) {
        std::vector<ByteBlock> blocks;
        blocks.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (length(i) == 0) continue;
            blocks.push_back({plus(inner.lower(), displacement(i)),
                              static_cast<std::uint64_t>(times(static_cast<std::int64_t>(length(i)), extent))});
        }
        return Layout::list(blocks);
    }
    Layout::Offsets offsets;
    if (uniform) {
        offsets.reserve(count);
        for (std::size_t i = 0; i < count; ++i) offsets.push_back(displacement(i));
        return count == 0 ? Layout{} : inner.repeat(length(0), extent).repeat_at(std::move(offsets));
    }
    // Of the same inner pattern, so that it stays compact.
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) total = std::min(total + length(i), Layout::max_listed_blocks + 1);
    if (total > Layout::max_listed_blocks)
        throw RangeError{
            fmt::format("Layout::from_mpi: an indexed datatype has more than {} elements in blocks of different "
                        "lengths; transfer its parts one by one",
                        Layout::max_listed_blocks)};
    offsets.reserve(total);
    for (std::size_t i = 0; i < count; ++i)
        for (std::uint64_t j = 0; j < length(i); ++j)
            offsets.push_back(plus(displacement(i), times(static_cast<std::int64_t>(j), extent)));
    return inner.repeat_at(std::move(offsets));
}

Layout structure(const Contents& contents) {
    const std::uint64_t count = contents.count(0);
    std::vector<Layout> parts;
    parts.reserve(std::min<std::uint64_t>(count, 64));
    for (std::size_t i = 0; i < count; ++i) {
        const MPI_Datatype inner = contents.type(i);
        const Layout part = convert(inner).repeat(contents.count(1 + i), mpi_extent(inner).extent);
        if (!part.empty()) parts.push_back(part.shift(contents.number(1 + count + i)));
        // A layout is a kilobyte: of many parts only the sequence so far is kept.
        if (parts.size() == 64) parts = {Layout::concatenate(parts)};
    }
    return Layout::concatenate(parts);
}

bool is_row_major(std::int64_t order) { return order == MPI_ORDER_C; }

Layout subarray(const Contents& contents) {
    // Integers: dimensions, sizes, subsizes, starts, order. With large counts the order is the second integer.
    const auto dimensions = static_cast<std::size_t>(contents.number(0));
    const std::size_t values = contents.large() ? 2 : 1;
    const bool row_major = is_row_major(contents.number(contents.large() ? 1 : 1 + 3 * dimensions));
    Layout layout = convert(contents.type());
    std::int64_t row = mpi_extent(contents.type()).extent;
    for (std::size_t k = 0; k < dimensions; ++k) {
        const std::size_t d = row_major ? dimensions - 1 - k : k;
        const std::int64_t start = contents.number(values + 2 * dimensions + d);
        layout = layout.repeat(contents.count(values + dimensions + d), row).shift(times(start, row));
        row = times(row, contents.number(values + d));
    }
    return layout;
}

/// The part of one dimension that process `place` of `places` owns (MPI 3.1, section 4.1.4).
Layout distributed(const Layout& inner, std::int64_t row, std::int64_t size, std::int64_t distribution,
                   std::int64_t argument, std::int64_t places, std::int64_t place) {
    if (distribution == MPI_DISTRIBUTE_NONE) return inner.repeat(static_cast<std::uint64_t>(size), row);
    std::int64_t block = argument;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        block = distribution == MPI_DISTRIBUTE_BLOCK ? size / places + (size % places != 0 ? 1 : 0) : 1;
    // A block distribution is a cyclic one that has all in its first round.
    const std::int64_t first = times(place, block);
    if (first >= size || inner.empty()) return {};
    const std::int64_t round = times(places, block);
    const std::int64_t full = (size - first) / round;
    const std::int64_t rest = std::min(block, (size - first) % round);
    const auto elements = static_cast<std::uint64_t>(full * block + rest);
    const auto rounds = static_cast<std::uint64_t>(full + (rest > 0 ? 1 : 0));
    const Layout one =
        inner.repeat(static_cast<std::uint64_t>(rounds == 1 ? static_cast<std::int64_t>(elements) : block), row);
    // The last block may be shorter.
    return one.repeat(rounds, times(round, row)).slice(0, elements * inner.bytes()).shift(times(first, row));
}

Layout distributed_array(const Contents& contents) {
    // Integers: size, rank, dimensions, global sizes, distributions, arguments, process sizes, order. With large counts
    // the global sizes are those, at the end.
    std::int64_t rank = contents.number(1);
    const auto dimensions = static_cast<std::size_t>(contents.number(2));
    const std::size_t integers = contents.large() ? 3 : 3 + dimensions;
    const std::size_t sizes = contents.large() ? 3 + 3 * dimensions + 1 : 3;
    const bool row_major = is_row_major(contents.number(integers + 3 * dimensions));
    // Process coordinates are row-major whatever the order of the array.
    std::vector<std::int64_t> place(dimensions);
    for (std::size_t d = dimensions; d-- > 0;) {
        const std::int64_t places = contents.number(integers + 2 * dimensions + d);
        place[d] = rank % places;
        rank /= places;
    }
    Layout layout = convert(contents.type());
    std::int64_t row = mpi_extent(contents.type()).extent;
    for (std::size_t k = 0; k < dimensions; ++k) {
        const std::size_t d = row_major ? dimensions - 1 - k : k;
        const std::int64_t size = contents.number(sizes + d);
        layout =
            distributed(layout, row, size, contents.number(integers + d), contents.number(integers + dimensions + d),
                        contents.number(integers + 2 * dimensions + d), place[d]);
        row = times(row, size);
    }
    return layout;
}

Layout convert(MPI_Datatype type) {
    const Contents contents{type};
    if (contents.is_predefined()) return predefined(type);
    switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return convert(contents.type());
    case MPI_COMBINER_STRUCT: return structure(contents);
    case MPI_COMBINER_SUBARRAY: return subarray(contents);
    case MPI_COMBINER_DARRAY: return distributed_array(contents);
    default: break;
    }
    const auto count = contents.count(0);
    const auto number = [&](std::size_t i) { return contents.number(i); };
    const auto convert_inner = [&] { return convert(contents.type()); };
    switch (contents.combiner()) {
    case MPI_COMBINER_CONTIGUOUS: return convert_inner().repeat(count, mpi_extent(contents.type()).extent);
    case MPI_COMBINER_VECTOR: {
        const std::int64_t extent = mpi_extent(contents.type()).extent;
        const Layout block = convert_inner().repeat(contents.count(1), extent);
        // The stride of a single block may be anything.
        return count == 1 ? block : block.repeat(count, times(number(2), extent));
    }
    case MPI_COMBINER_HVECTOR:
        return convert_inner().repeat(contents.count(1), mpi_extent(contents.type()).extent).repeat(count, number(2));
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED: {
        const std::int64_t extent = mpi_extent(contents.type()).extent;
        const std::int64_t unit = contents.combiner() == MPI_COMBINER_INDEXED ? extent : 1;
        return indexed(
            convert_inner(), extent, count, [&](std::size_t i) { return contents.count(1 + i); },
            [&](std::size_t i) { return times(number(1 + count + i), unit); });
    }
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK: {
        const std::int64_t extent = mpi_extent(contents.type()).extent;
        const std::int64_t unit = contents.combiner() == MPI_COMBINER_INDEXED_BLOCK ? extent : 1;
        return indexed(
            convert_inner(), extent, count, [&](std::size_t) { return contents.count(1); },
            [&](std::size_t i) { return times(number(2 + i), unit); });
    }
    default:
        throw UsageError{
            fmt::format("{}: Layout::from_mpi: the datatype was made by a constructor that this version does not "
                        "know (combiner {}); describe the bytes with Layout::list()",
                        who(), contents.combiner())};
    }
}

} // namespace

Layout detail::datatype::look_inside(MPI_Datatype type) {
    check_usable(type);
    return convert(type);
}

} // namespace lapwing
