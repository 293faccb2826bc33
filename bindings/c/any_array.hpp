#pragma once

#include "bindings/c/type.hpp"

#include <lapwing/blocks.hpp>
#include <lapwing/c/array.h>
#include <lapwing/detail/array_core.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/array_maps.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/relabelling.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace lapwing::detail::bindings {

/// The interface works with arrays of one number of dimensions: others get dimensions of extent 1 in front.
inline constexpr std::size_t padded = max_dimensions;
using PaddedIndex = Index<padded>;
using PaddedDomain = Domain<padded>;

/// A distribution with what it points to.
struct KeptDistribution {
    int kind = LAPWING_BLOCK;
    std::vector<int> grid;
    std::vector<std::int64_t> block;
    lapwing_distribution_functions functions{};
    void* context = nullptr;
    std::shared_ptr<const distribution::BlockTable> blocks = {}; ///< of LAPWING_BLOCKS
    /// Of LAPWING_ON_RANKS: the ranks that have elements, and how these share them.
    std::vector<Rank> ranks = {};
    /// Of LAPWING_ALIGNED: the distribution of the space, its extents, and the positions in it that the array has.
    std::shared_ptr<const KeptDistribution> whole = {};
    std::vector<std::int64_t> space = {};
    std::vector<Range> positions = {};

    /// For an array with these indices, a range for each dimension. Throws RangeError and UsageError if it is not
    /// valid.
    [[nodiscard]] static KeptDistribution of(const lapwing_distribution* distribution, std::span<const Range> indices);

private:
    void keep_space(const lapwing_distribution& distribution, std::span<const Range> indices);
    void keep_blocks(const lapwing_distribution& distribution);
    void keep_ranks(const lapwing_distribution& distribution, std::span<const Range> indices);
};

/// Where the elements of an array are. Throws RangeError and UsageError; `name` is the array's.
[[nodiscard]] arrays::ArrayMaps<padded> maps_of(Team& team, std::string_view name,
                                                std::span<const std::int64_t> extents,
                                                const KeptDistribution& distribution, std::int64_t halo);

/// All of an array, or part of it, without its type.
class AnySlice : public slices::SliceBase {
public:
    explicit AnySlice(const std::shared_ptr<const slices::ArrayGeometry>& array) : SliceBase{array} {}
    AnySlice(const std::shared_ptr<const slices::ArrayGeometry>& array, std::span<const Range> domain)
        : SliceBase{array, domain} {}

    using SliceBase::cut;
    using SliceBase::dense_strides;
    using SliceBase::get;
    using SliceBase::permute;
    using SliceBase::put;
    using SliceBase::put_slice;
    using SliceBase::start;
    using SliceBase::start_get;
    using SliceBase::start_put;
};

/// A global array whose type and dimensions are known at run time. Indices begin at 0 here.
class AnyArray : public arrays::ArrayCore<padded> {
public:
    AnyArray() noexcept = default;
    /// Collective.
    AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, const KeptDistribution& distribution,
             const GlobalArrayOptions& options);
    AnyArray(AnyArray&&) = default;
    AnyArray& operator=(AnyArray&&) = default;
    ~AnyArray() = default;

    using ArrayCore::box_with_halo;
    using ArrayCore::domain_count;
    using ArrayCore::domain_of;
    using ArrayCore::drop_copies;
    using ArrayCore::local_part;
    using ArrayCore::LocalPart;
    using ArrayCore::locate;
    using ArrayCore::map_elements;
    using ArrayCore::own_box;
    using ArrayCore::prefetch_by;
    using ArrayCore::shown;
    using ArrayCore::stored_location;
    using ArrayCore::whole;

    void close() { close_core(); }
    /// Collective: other extents, or another distribution, over the ranks of `order` if that is not null.
    void rebuild(const char* call, std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                 Relabelling* order = nullptr);
    /// Collective.
    [[nodiscard]] Relabelling relabelling(const KeptDistribution& distribution) const;
    [[nodiscard]] lapwing_type type() const noexcept { return type_; }
    [[nodiscard]] std::uint64_t element_bytes() const noexcept { return core_.element_bytes; }
    [[nodiscard]] std::size_t dimensions() const noexcept { return padded - core_.front; }
    [[nodiscard]] std::span<const std::int64_t> extents() const noexcept { return shown(core_.extents.values()); }
    [[nodiscard]] std::uint64_t size() const { return whole().size(); }
    [[nodiscard]] const KeptDistribution& distribution() const noexcept { return distribution_; }
    [[nodiscard]] bool replicated() const noexcept { return core_.replicated; }
    [[nodiscard]] AnySlice slice() const { return AnySlice{geometry_}; }
    [[nodiscard]] Window& window_of(const char* call) const { return open_window(call); }

    /// With the dimensions in front; the index is within the extents.
    [[nodiscard]] PaddedIndex padded_index(const std::int64_t* index) const noexcept;
    /// What can be loaded without asking the map: elements of the node.
    [[nodiscard]] const arrays::LinearElements<padded>& node() const noexcept { return node_; }
    void put_to_copies(Offset offset, const void* value) const { put_to_all(offset, value, element_bytes()); }
    [[noreturn]] void refuse_atomic(const char* call, const PaddedIndex& index) const {
        arrays::throw_no_home(title_, call, shown(index));
    }
    /// Copies the element from its prefetched copy, if it has one.
    [[nodiscard]] bool read_copy(const PaddedIndex& index, std::span<std::byte> value) const;
    [[nodiscard]] bool is_prefetched(const PaddedIndex& index) const noexcept { return copy_of(index) != nullptr; }

    /// The block around an element that is here, in which it can be read. Throws RangeError.
    [[nodiscard]] arrays::PlacedBox<padded> block_at(const PaddedIndex& index) const {
        require_open(".block_at");
        refresh_copies();
        return box_around(index);
    }

    /// A patch whose indices are within the extents, to or from a buffer of these strides. Throws RangeError.
    [[nodiscard]] Completion start_patch(const char* call, arrays::Direction direction, const PaddedDomain& domain,
                                         const distribution::BufferShape<padded>& shape, std::byte* buffer) const;
    [[nodiscard]] Completion start_list(arrays::Direction direction, std::vector<arrays::ListedPlace>& places,
                                        std::byte* values) const;

    /// Calls `run(index, elements, count, index_stride)` for each contiguous run of this rank's elements.
    using ArrayCore::Run;
    void for_each_run(const Run& run) const { for_each_run_of_bytes(run); }
    using ArrayCore::begin_collective;
    /// The part of a collective call in which each rank calls for_each_run(). What a distribution of the program's
    /// throws on one rank it throws there, and the others UsageError; `outcome`: the state after the call, in words.
    template <std::invocable Step>
    void work_on_own(const char* call, const Step& step, const char* outcome = "there is no result") const {
        if (core_.user_map != nullptr) end_collective(call, step, outcome);
        else step();
    }
    void broadcast_copies(Rank root);
    [[noreturn]] void refuse_broadcast() const { arrays::throw_not_replicated(title_); }
    [[noreturn]] void refuse_empty(const char* call) const { arrays::throw_empty(title_, call); }
    [[noreturn]] void refuse_nothing(const char* call) const { arrays::throw_nothing_compares(title_, call); }

private:
    AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, arrays::ArrayMaps<padded> maps,
             const KeptDistribution& distribution, const GlobalArrayOptions& options);
    void take_elements(const AnyArray& other);

    lapwing_type type_ = 0;
    arrays::LinearElements<padded> node_;
    KeptDistribution distribution_;
};

} // namespace lapwing::detail::bindings
