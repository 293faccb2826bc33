// Room: arrays
#pragma once

#include <lapwing/array_base.hpp>
#include <lapwing/detail/array_maps.hpp>
#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/detail/mapped_elements.hpp>
#include <lapwing/detail/prefetched_elements.hpp>
#include <lapwing/detail/sections.hpp>
#include <lapwing/detail/user_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

/// What a global array is, whatever the type of its elements: where they are, and what is prefetched.
/// Compiled once for each number of dimensions. GlobalArray<T, N> is its edge for programs that know the type, and the
/// arrays of C, Fortran and Python one for those that do not.
template <std::size_t N>
class ArrayCore : public ArrayBase {
public:
    using KeptPattern = prefetching::KeptPattern<N>;

protected:
    /// What the library must know of a type.
    struct ElementType {
        const char* name = "";
        std::uint64_t bytes = 0;
        unsigned alignment = 1;
    };
    /// Calls `run(index, elements, count, index_stride)` for each run of local elements that are contiguous in memory:
    /// the index of the first, and how far apart its neighbours are in the last dimension.
    using Run = std::function<void(const Index<N>&, std::byte*, std::uint64_t, std::int64_t)>;

    ArrayCore() noexcept = default;
    /// Collective. The first `front` dimensions are of extent 1, and no program knows of them.
    ArrayCore(Team& team, const Extents<N>& extents, ArrayMaps<N> maps, const ElementType& type,
              const GlobalArrayOptions& options, std::size_t front = 0);
    ArrayCore(ArrayCore&& other) noexcept : ArrayBase{std::move(other)}, core_{std::exchange(other.core_, Inside{})} {}
    ArrayCore& operator=(ArrayCore&& other) noexcept {
        if (this == &other) return *this;
        ArrayBase::operator=(std::move(other));
        core_ = std::exchange(other.core_, Inside{});
        return *this;
    }
    void close_core() {
        this->close_window();
        core_ = Inside{};
    }

    // Where elements are.

    [[nodiscard]] Domain<N> whole() const { return Domain<N>{core_.extents}; }
    /// The index is within the extents.
    [[nodiscard, gnu::always_inline]] Location locate(const Index<N>& index) const {
        if (core_.user_map != nullptr) [[unlikely]] {
            const Location found = user_location(index);
            return {found.owner, found.offset, found.contiguous}; // so that it is in registers where it is not called
        }
        Location location = core_.map.locate(index);
        // Everybody has what the map of a replicated array places on rank 0.
        if (core_.replicated) location.owner = Rank{core_.own_rank};
        return location;
    }
    /// Throws RangeError for an element that is not stored.
    [[nodiscard, gnu::always_inline]] Location stored_location(const char* call, const Index<N>& index) const {
        const Location location = locate(index);
        if (location.owner.value < 0) [[unlikely]]
            throw_not_stored(this->title_, call, shown(index));
        return location;
    }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const;
    [[nodiscard]] Domain<N> domain_of(Rank rank, std::uint64_t k) const;
    /// The rank under which the map lists what the calling rank has.
    [[nodiscard]] Rank own_place() const noexcept { return Rank{core_.replicated ? 0 : core_.own_rank}; }
    [[nodiscard]] std::byte* own_memory() const noexcept { return this->window_.map().own; }
    [[nodiscard]] std::span<std::byte> own_bytes() const {
        return {own_memory(), static_cast<std::size_t>(this->capacity_ * core_.element_bytes)};
    }
    /// The local elements, if they are one box; else one that holds nothing.
    [[nodiscard]] PlacedBox<N> own_box() const;
    /// The local part: extents, and elements from one to the next, by dimension. Throws UsageError.
    struct LocalPart {
        std::byte* first = nullptr;
        Index<N> extents{};
        std::array<std::int64_t, N> strides{};
    };
    [[nodiscard]] LocalPart local_part(const char* call) const;
    void for_each_run_of_bytes(const Run& run) const;
    /// What a program sees of an index.
    [[nodiscard]] std::span<const std::int64_t> shown(const Index<N>& index) const noexcept {
        return std::span{index}.subspan(core_.front);
    }
    [[nodiscard]] std::span<const distribution::DimensionMap> dimension_maps() const noexcept {
        if (core_.user_map != nullptr) return {};
        return std::span{core_.map.dimensions()}.subspan(core_.front);
    }

    /// Cuts a patch, all of whose indices have been checked, into sections.
    void cut(const Domain<N>& domain, const distribution::BufferShape<N>& buffer,
             distribution::SectionVisitor& visitor) const;

    // Copies of what a pattern says that this rank reads.

    /// Collective.
    void prefetch_by(KeptPattern pattern, const PrefetchOptions& options);
    void drop_copies();
    /// For an array that replaces `old`, which has other extents.
    void take_patterns(const ArrayCore& old);
    /// The copy of an element; null if there is none.
    [[nodiscard]] std::byte* copy_of(const Index<N>& index) const noexcept {
        return core_.prefetched == nullptr ? nullptr : core_.prefetched->indices.find(index, core_.element_bytes);
    }
    void refresh_copies() const {
        while (core_.prefetched != nullptr && !core_.prefetched->state.is_fresh()) this->copies_.refresh();
    }
    /// The whole array as memory: the elements of these domains, or those that the rank owns and what a pattern names.
    /// `on_demand`: others are fetched when they are read.
    [[nodiscard]] MappedElements map_elements(std::vector<Domain<N>> named, bool on_demand = false) const;
    [[nodiscard]] MappedElements map_elements(const KeptPattern& pattern) const;
    /// The local block and the copies around it. Throws UsageError if there are none in the halo.
    [[nodiscard]] PlacedBox<N> box_with_halo() const;
    /// The box around an element: copies, or elements of a rank of this node. Throws RangeError.
    [[nodiscard]] PlacedBox<N> box_around(const Index<N>& index) const;

    /// That of a closed array by default.
    struct Inside {
        std::unique_ptr<PrefetchedElements<N>> prefetched; ///< null if nothing is prefetched
        std::uint64_t element_bytes = 0;
        int own_rank = -1;
        bool replicated = false;
        std::size_t front = 0;
        BlockCyclicMap<N> map;
        std::shared_ptr<const distribution::UserMap<N>> user_map; ///< instead of map for a user-defined distribution
        Extents<N> extents;
        std::vector<KeptPattern> patterns; ///< of what is prefetched
        std::shared_ptr<SpareMapping> spare_mapping;
    };
    Inside core_;

private:
    [[nodiscard]] Location user_location(const Index<N>& index) const;
    /// The domains that this rank reads according to a pattern.
    [[nodiscard]] std::vector<Domain<N>> needed_by(const KeptPattern& pattern) const;
    /// Prefetches the part of these domains that has no copy yet.
    void prefetch_domains(const std::vector<Domain<N>>& needed, const PrefetchOptions& options,
                          prefetching::CopyState& state);
    /// The indices of `needed` that must be copied, as domains; nullopt if there would be too many.
    [[nodiscard]] std::optional<std::vector<Domain<N>>> domains_to_copy(const std::vector<Domain<N>>& needed,
                                                                        bool node) const;
    void copy_domains(std::vector<Domain<N>> domains, PrefetchStorage storage);
    /// The same as runs of rows, however ragged.
    [[nodiscard]] std::vector<IndexRun<N>> rows_to_copy(const std::vector<Domain<N>>& needed, bool node) const;
    void copy_rows(const std::vector<IndexRun<N>>& runs);
    /// Memory for copies of these blocks, or the given memory, in which each has the shape `shape_of(block)`; null if
    /// there are no blocks. `room`: the elements of that memory, if it has gaps.
    template <class Blocks, class ShapeOf>
    [[nodiscard]] std::byte* add_copies_of(const Blocks& blocks, std::uint64_t index_bytes, ShapeOf shape_of,
                                           std::byte* memory = nullptr, std::uint64_t room = 0);
    /// The indices that have memory in the segment: local ones, and around them.
    [[nodiscard]] Domain<N> domain_with_halo() const;
    [[nodiscard]] PlacedBox<N> placed_in_segment(const Domain<N>& block) const;
    /// Copies the part of these domains that fits into the halo; returns the rest.
    [[nodiscard]] std::vector<Domain<N>> copy_into_halo(const std::vector<Domain<N>>& needed);
    /// Finds out how much of the local block and its halo can be read as one box.
    void note_reach(const PrefetchOptions& options);
};

} // namespace lapwing::detail::arrays
