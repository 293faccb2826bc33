#pragma once

#include "bindings/c/type.hpp"

#include <lapwing/array_base.hpp>
#include <lapwing/blocks.hpp>
#include <lapwing/c/array.h>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/prefetched_elements.hpp>
#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/detail/user_map.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/relabelling.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// Where the elements of an array are.
struct AnyMap {
    BlockCyclicMap<padded> block_cyclic;
    std::shared_ptr<const distribution::UserPlaces>
        user_map; ///< in place of it for a distribution of the program's own
    bool replicated = false;
    std::uint64_t identity = 0; ///< of user_map

    /// Throws RangeError and UsageError; `name` is the array's.
    [[nodiscard]] static AnyMap make(Team& team, std::string_view name, std::span<const std::int64_t> extents,
                                     const KeptDistribution& distribution, std::int64_t halo);
    [[nodiscard]] std::uint64_t capacity() const {
        return user_map != nullptr ? user_map->local_capacity() : block_cyclic.local_capacity();
    }
    /// Of as many dimensions as the array has; empty for a program's own.
    [[nodiscard]] std::span<const distribution::DimensionMap> dimensions(std::size_t count) const noexcept;

private:
    // Their errors do not name the array.
    [[nodiscard]] static AnyMap plain(std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                                      int ranks);
    [[nodiscard]] static AnyMap on_ranks(std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                                         int ranks);
    [[nodiscard]] static AnyMap aligned(std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                                        int ranks);
};

/// All of an array, or part of it, without its type.
class AnySlice : public slices::SliceBase {
public:
    explicit AnySlice(const std::shared_ptr<const slices::ArrayGeometry>& array) : SliceBase{array} {}

    using SliceBase::check_extents;
    using SliceBase::cut;
    using SliceBase::dense_strides;
    using SliceBase::get;
    using SliceBase::permute;
    using SliceBase::put;
    using SliceBase::put_slice;
    using SliceBase::start_get;
    using SliceBase::start_put;
};

/// A global array whose type and dimensions are known at run time. Indices begin at 0 here.
class AnyArray : public arrays::ArrayBase {
public:
    AnyArray() noexcept = default;
    /// Collective.
    AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, const KeptDistribution& distribution,
             const GlobalArrayOptions& options);
    AnyArray(AnyArray&&) = default;
    AnyArray& operator=(AnyArray&&) = default;
    ~AnyArray() = default;

    void close() { close_window(); }
    /// Collective: other extents, or another distribution, over the ranks of `order` if that is not null.
    void rebuild(const char* call, std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                 Relabelling* order = nullptr);
    [[nodiscard]] lapwing_type type() const noexcept { return type_; }
    [[nodiscard]] std::uint64_t element_bytes() const noexcept { return size_of(type_); }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::span<const std::int64_t> extents() const noexcept {
        return {extents_.data() + front(), dimensions_};
    }
    [[nodiscard]] std::uint64_t size() const;
    [[nodiscard]] const KeptDistribution& distribution() const noexcept { return distribution_; }
    [[nodiscard]] bool replicated() const noexcept { return map_.replicated; }
    [[nodiscard]] AnySlice slice() const { return AnySlice{geometry_}; }
    [[nodiscard]] Window& window_of(const char* call) const { return open_window(call); }

    /// With the dimensions in front; the index is within the extents.
    [[nodiscard]] PaddedIndex padded_index(const std::int64_t* index) const noexcept;
    [[nodiscard]] Location locate(const PaddedIndex& index) const;
    /// Throws RangeError for an element that is not stored.
    [[nodiscard]] Location checked_location(const char* call, const PaddedIndex& index) const;
    // What can be loaded without asking the map: elements of the node, and the local ones as a box, which is empty if
    // they are not one.
    [[nodiscard]] const arrays::LinearElements<padded>& node() const noexcept { return node_; }
    [[nodiscard]] arrays::PlacedBox<padded> own_box() const;
    void put_to_copies(Offset offset, const void* value) const { put_to_all(offset, value, element_bytes()); }
    [[noreturn]] void refuse_atomic(const char* call, const PaddedIndex& index) const;

    [[nodiscard]] std::uint64_t domain_count(Rank rank) const;
    [[nodiscard]] PaddedDomain domain(Rank rank, std::uint64_t k) const;
    /// First element of the local part, extents, and elements from one to the next, by dimension of the array. Throws
    /// UsageError.
    struct LocalPart {
        std::byte* first = nullptr;
        std::array<std::int64_t, max_dimensions> extents{};
        std::array<std::int64_t, max_dimensions> strides{};
    };
    [[nodiscard]] LocalPart local_part(const char* call) const;

    /// A patch whose indices are within the extents, to or from a buffer of these strides. Throws RangeError.
    [[nodiscard]] Completion start_patch(const char* call, arrays::Direction direction, const PaddedDomain& domain,
                                         const distribution::BufferShape<padded>& shape, std::byte* buffer) const;
    [[nodiscard]] Completion start_list(arrays::Direction direction, std::vector<arrays::ListedPlace>& places,
                                        std::byte* values) const;

    /// Calls `run(index, elements, count, index_stride)` for each contiguous run of this rank's elements.
    using Run = std::function<void(const PaddedIndex&, std::byte*, std::uint64_t, std::int64_t)>;
    void for_each_run(const Run& run) const;
    using ArrayBase::begin_collective;
    /// The part of a collective call in which each rank calls for_each_run(). What a distribution of the program's
    /// throws on one rank it throws there, and the others UsageError; `outcome`: the state after the call, in words.
    template <std::invocable Step>
    void work_on_own(const char* call, const Step& step, const char* outcome = "there is no result") const {
        if (map_.user_map != nullptr) end_collective(call, step, outcome);
        else step();
    }
    void broadcast_copies(Rank root);
    [[noreturn]] void refuse_broadcast() const { arrays::throw_not_replicated(title_); }
    [[noreturn]] void refuse_empty(const char* call) const { arrays::throw_empty(title_, call); }
    [[noreturn]] void refuse_nothing(const char* call) const { arrays::throw_nothing_compares(title_, call); }

private:
    AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, AnyMap map,
             const KeptDistribution& distribution, const GlobalArrayOptions& options);
    [[nodiscard]] std::size_t front() const noexcept { return padded - dimensions_; }
    [[nodiscard]] Rank own_place() const noexcept { return Rank{map_.replicated ? 0 : own_rank_}; }
    [[nodiscard]] std::byte* segment() const noexcept { return window_.map().own; }
    void take_elements(const AnyArray& other);
    void require_stored(const char* call, const PaddedDomain& domain) const;

    lapwing_type type_ = 0;
    std::size_t dimensions_ = 1;
    PaddedIndex extents_{};
    int own_rank_ = -1;
    AnyMap map_;
    arrays::LinearElements<padded> node_;
    KeptDistribution distribution_;

    friend class AnyPrefetch;
    std::unique_ptr<arrays::PrefetchedElements<padded>> prefetched_; ///< null if nothing is
    std::vector<prefetching::KeptPattern<padded>> patterns_;         ///< of what is
};

/// What an array does besides reading and writing: copies of other ranks' elements, by patterns, and the order of ranks
/// for another distribution.
class AnyPrefetch {
public:
    using KeptPattern = prefetching::KeptPattern<padded>;

    explicit AnyPrefetch(AnyArray& array) noexcept : array_{array} {}
    /// Cuts a patch, all of whose indices have been checked, into sections of owners.
    static void cut(const AnyArray& array, const PaddedDomain& domain, const distribution::BufferShape<padded>& shape,
                    distribution::SectionVisitor& visitor);

    /// Collective. The pattern is asked with indices from 0.
    void prefetch(const KeptPattern& pattern, const PrefetchOptions& options);
    void evict();
    /// What `other` has patterns of, evaluated anew.
    void take_patterns(const AnyArray& other);
    [[nodiscard]] bool is_prefetched(const PaddedIndex& index) const noexcept {
        return array_.prefetched_ != nullptr && array_.prefetched_->indices.find<std::byte>(index) != nullptr;
    }
    /// Copies the element from its copy, if it has one.
    [[nodiscard]] bool read_copy(const PaddedIndex& index, std::span<std::byte> value) const {
        return array_.prefetched_ != nullptr && read_prefetched(index, value);
    }
    /// The local block and the copies around it. Throws UsageError if there are none in the halo.
    [[nodiscard]] arrays::PlacedBox<padded> halo_view() const;
    /// The block around an element that is here, in which it can be read. Throws RangeError.
    [[nodiscard]] arrays::PlacedBox<padded> box_around(const PaddedIndex& index) const;
    /// Collective.
    [[nodiscard]] Relabelling relabelling(const KeptDistribution& distribution) const;

private:
    [[nodiscard]] PaddedDomain whole() const;
    [[nodiscard]] std::vector<PaddedDomain> needed_by(const KeptPattern& pattern) const;
    void prefetch_domains(const std::vector<PaddedDomain>& needed, const PrefetchOptions& options,
                          prefetching::CopyState& state);
    /// Copies the part of these domains that fits into the halo; returns the rest.
    [[nodiscard]] std::vector<PaddedDomain> copy_into_halo(const std::vector<PaddedDomain>& needed);
    /// The indices that have memory in the segment: local ones, and around them.
    [[nodiscard]] PaddedDomain domain_with_halo() const;
    [[nodiscard]] distribution::BufferShape<padded> shape_in_segment(const PaddedDomain& block) const;
    /// The part of `needed` that is to be copied, as few domains; nothing if these are too many, or the map is a
    /// program's.
    [[nodiscard]] std::optional<std::vector<PaddedDomain>> domains_to_copy(const std::vector<PaddedDomain>& needed,
                                                                           bool node) const;
    /// The same as runs of rows, however ragged.
    [[nodiscard]] std::vector<arrays::IndexRun<padded>> rows_to_copy(const std::vector<PaddedDomain>& needed,
                                                                     bool node) const;
    [[nodiscard]] std::vector<PaddedDomain> by_owner(const std::vector<PaddedDomain>& domains) const;
    /// Memory for the copies of these domains, one after another; null if they are empty. In the halo where `memory` is
    /// the segment.
    [[nodiscard]] std::byte* add_copies_of(std::span<const PaddedDomain> domains, std::uint64_t index_bytes,
                                           std::byte* memory = nullptr);
    [[nodiscard]] bool read_prefetched(const PaddedIndex& index, std::span<std::byte> value) const;
    [[nodiscard]] const std::byte* copy_of(const PaddedIndex& index) const noexcept;
    [[nodiscard]] bool is_of_node(int owner) const noexcept { return array_.window_.map().base(owner) != nullptr; }

    AnyArray& array_;
};

} // namespace lapwing::detail::bindings
