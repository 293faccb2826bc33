#include <lapwing/layout.hpp>
#include <lapwing/mpi_datatype.hpp>

#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace lapwing {

namespace {

using detail::support::check_mpi;

/// Counts of MPI 3 are ints: longer counts are made of several of this size.
constexpr std::uint64_t largest_count = std::uint64_t{1} << 30;

/// A type under construction, at a byte displacement.
struct Part {
    MPI_Aint displacement = 0;
    MpiDatatype type;
};

MpiDatatype combine(std::span<const Part> parts) {
    std::vector<int> lengths(parts.size(), 1);
    std::vector<MPI_Aint> displacements;
    std::vector<MPI_Datatype> types;
    for (const Part& part : parts) {
        displacements.push_back(part.displacement);
        types.push_back(part.type.get());
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), displacements.data(), types.data(),
                                     &type),
              "MPI_Type_create_struct");
    return MpiDatatype{type};
}

MpiDatatype at_offsets(const MpiDatatype& inner, std::span<const std::int64_t> offsets) {
    std::vector<Part> parts;
    for (std::size_t begin = 0; begin < offsets.size(); begin += largest_count) {
        const std::size_t count = std::min<std::size_t>(largest_count, offsets.size() - begin);
        const std::vector<MPI_Aint> displacements(offsets.begin() + static_cast<std::ptrdiff_t>(begin),
                                                  offsets.begin() + static_cast<std::ptrdiff_t>(begin + count));
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check_mpi(MPI_Type_create_hindexed_block(static_cast<int>(count), 1, displacements.data(), inner.get(), &type),
                  "MPI_Type_create_hindexed_block");
        parts.push_back({0, MpiDatatype{type}});
    }
    return parts.size() == 1 ? std::move(parts[0].type) : combine(parts);
}

/// `count` times, `stride` bytes apart.
MpiDatatype repeated_type(MpiDatatype inner, std::uint64_t count, std::int64_t stride) {
    if (count == 1) return inner;
    if (stride == -1) {
        // Open MPI 4.1 takes a stride of -1 byte for "as far as the extent". Pairs, -2 apart, say the same.
        const std::int64_t pair[2] = {0, -1};
        std::vector<Part> parts(1);
        parts[0].type = repeated_type(at_offsets(inner, pair), count / 2, -2);
        if (count % 2 == 0) return std::move(parts[0].type);
        parts.push_back({-static_cast<MPI_Aint>(count - 1), std::move(inner)});
        return combine(parts);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (count <= largest_count) {
        check_mpi(MPI_Type_create_hvector(static_cast<int>(count), 1, stride, inner.get(), &type),
                  "MPI_Type_create_hvector");
        return MpiDatatype{type};
    }
    const std::uint64_t full = count / largest_count;
    const std::uint64_t rest = count % largest_count;
    std::vector<Part> parts(1);
    check_mpi(MPI_Type_create_hvector(static_cast<int>(largest_count), 1, stride, inner.get(), &type),
              "MPI_Type_create_hvector");
    parts[0].type = repeated_type(MpiDatatype{type}, full, static_cast<std::int64_t>(largest_count) * stride);
    if (rest == 0) return std::move(parts[0].type);
    parts.push_back({static_cast<std::int64_t>(count - rest) * stride, repeated_type(std::move(inner), rest, stride)});
    return combine(parts);
}

MpiDatatype bytes_type(std::uint64_t bytes) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const auto contiguous = [&](std::uint64_t count) {
        check_mpi(MPI_Type_contiguous(static_cast<int>(count), MPI_BYTE, &type), "MPI_Type_contiguous");
        return MpiDatatype{type};
    };
    if (bytes <= largest_count) return contiguous(bytes);
    const std::uint64_t rest = bytes % largest_count;
    std::vector<Part> parts(1);
    parts[0].type =
        repeated_type(contiguous(largest_count), bytes / largest_count, static_cast<std::int64_t>(largest_count));
    if (rest == 0) return std::move(parts[0].type);
    parts.push_back({static_cast<MPI_Aint>(bytes - rest), contiguous(rest)});
    return combine(parts);
}

/// Blocks of different lengths at these offsets; `starts` are their positions.
MpiDatatype listed_type(const std::int64_t* offsets, const std::uint64_t* starts, std::uint64_t count) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    std::vector<Part> parts;
    const auto close = [&] {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check_mpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                                           MPI_BYTE, &type),
                  "MPI_Type_create_hindexed");
        parts.push_back({0, MpiDatatype{type}});
        lengths.clear();
        displacements.clear();
    };
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t length = starts[i + 1] - starts[i];
        if (length > largest_count) {
            if (!lengths.empty()) close(); // the blocks before it
            parts.push_back({offsets[i], bytes_type(length)});
            continue;
        }
        if (length == 0) continue;
        lengths.push_back(static_cast<int>(length));
        displacements.push_back(offsets[i]);
        if (lengths.size() == largest_count) close();
    }
    if (!lengths.empty()) close();
    return parts.size() == 1 && parts[0].displacement == 0 ? std::move(parts[0].type) : combine(parts);
}

} // namespace

void MpiDatatype::free() noexcept {
    if (type_ == MPI_DATATYPE_NULL) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Type_free(&type_);
}

/// Builds a part of the pattern of a layout from its levels.
struct Layout::Export {
    const Layout& layout;

    /// Iterations [first, last) of level k, as whole ones.
    [[nodiscard]] MpiDatatype iterations(std::size_t k, std::uint64_t first, std::uint64_t last) const {
        const Level& level = layout.pattern_.levels[k];
        if (layout.pattern_.is_list(k))
            return listed_type(level.offsets + first, layout.pattern_.starts + first, last - first);
        MpiDatatype inner = all(k + 1);
        if (level.offsets != nullptr) return at_offsets(inner, std::span{level.offsets + first, last - first});
        return repeated_type(std::move(inner), last - first, level.stride);
    }

    /// All that is inside of the levels before k.
    [[nodiscard]] MpiDatatype all(std::size_t k) const {
        return k == layout.level_count() ? bytes_type(layout.pattern_.block)
                                         : iterations(k, 0, layout.pattern_.levels[k].count);
    }

    /// Bytes [begin, end) of it: the parts of the first and the last iteration, and the whole ones between.
    void add(std::vector<Part>& parts, std::int64_t offset, std::size_t k, std::uint64_t begin,
             std::uint64_t end) const {
        if (k == layout.level_count()) {
            parts.push_back({Layout::add(offset, static_cast<std::int64_t>(begin)), bytes_type(end - begin)});
            return;
        }
        const Level& level = layout.pattern_.levels[k];
        std::uint64_t first = layout.pattern_.iteration_of(k, begin);
        std::uint64_t last = layout.pattern_.iteration_of(k, end - 1);
        const auto part = [&](std::uint64_t i) {
            const std::uint64_t start = layout.pattern_.position_of(k, i);
            const std::uint64_t from = std::max(begin, start) - start;
            const std::uint64_t to = std::min(end, layout.pattern_.position_of(k, i + 1)) - start;
            const std::int64_t base = Layout::add(offset, level.at(i));
            if (layout.pattern_.is_list(k))
                parts.push_back({Layout::add(base, static_cast<std::int64_t>(from)), bytes_type(to - from)});
            else add(parts, base, k + 1, from, to);
        };
        if (first == last) return part(first);
        const bool cut_first = begin != layout.pattern_.position_of(k, first);
        const bool cut_last = end != layout.pattern_.position_of(k, last + 1);
        if (cut_first) part(first++);
        const std::uint64_t whole_end = cut_last ? last : last + 1;
        if (first < whole_end) {
            // A strided level counts from the first of these; offsets are from the base of the level.
            const bool strided = level.offsets == nullptr;
            parts.push_back({strided ? Layout::add(offset, level.at(first)) : offset, iterations(k, first, whole_end)});
        }
        if (cut_last) part(last);
    }
};

MpiDatatype Layout::to_mpi() const {
    detail::support::require_mpi("Layout::to_mpi");
    MpiDatatype result;
    if (empty()) {
        result = bytes_type(0);
    } else {
        std::vector<Part> parts;
        Export{*this}.add(parts, pattern_.origin, 0, begin_, end_);
        result = parts.size() == 1 && parts[0].displacement == 0 ? std::move(parts[0].type) : combine(parts);
    }
    MPI_Datatype type = result.release();
    const int code = MPI_Type_commit(&type);
    result = MpiDatatype{type};
    check_mpi(code, "MPI_Type_commit");
    return result;
}

} // namespace lapwing
