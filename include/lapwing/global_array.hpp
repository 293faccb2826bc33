// Room: arrays
#pragma once

#include <lapwing/array_slice.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/array_core.hpp>
#include <lapwing/detail/array_functions.hpp>
#include <lapwing/detail/array_maps.hpp>
#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/detail/mixed_reads.hpp>
#include <lapwing/detail/near_binding.hpp>
#include <lapwing/detail/page_table.hpp>
#include <lapwing/detail/prefetched_elements.hpp>
#include <lapwing/detail/seldom.hpp>
#include <lapwing/detail/user_map.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/element_reference.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/halo_view.hpp>
#include <lapwing/local_view.hpp>
#include <lapwing/located_value.hpp>
#include <lapwing/mapped_array.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/reduction.hpp>
#include <lapwing/relabelling.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N, detail::arrays::Reducible R, class Combine>
class DimensionReduction;

namespace detail::arrays {
struct OwnPart;
} // namespace detail::arrays

/// An N-dimensional array of T, spread over the ranks of a team by a distribution. Every rank can read and write every
/// element. All bytes are zero at the start. What is complete when, and what other ranks see, is defined by the
/// consistency table in docs/consistency.md; element writes and puts are complete locally on return.
///
/// ```cpp
/// lapwing::GlobalArray<double, 2> a{runtime, {n, m}, lapwing::Block{}, {.name = "a"}};
/// for (auto [i, j] : a.local_domain()) a.local(i, j) = f(i, j);
/// a.barrier();
/// double x = a(i, j);                    // whoever owns it
/// a({{0, 1}, {0, m}}).get(row);          // row 0
/// ```
///
/// The distribution is chosen when the array is made and is not part of its type. So programs and their functions stay
/// short, and arrays can be assigned to each other whatever their distributions. Element access first compares the
/// index with the local block (one unsigned comparison a dimension, no division). Block, Cyclic, BlockCyclic and
/// Replicated then compute the owner inline with precomputed reciprocals; only a user-defined distribution is called
/// through a pointer. Elements on the same node are plain loads and stores.
///
/// Calls marked collective must be made by every rank of the team, in the same order. The others may come from several
/// threads if MPI provides MPI_THREAD_MULTIPLE.
template <TriviallyCopyable T, std::size_t N>
class GlobalArray : public detail::arrays::ArrayCore<N>,
                    private detail::window::NearBinding,
                    public detail::arrays::ArrayFunctions<GlobalArray<T, N>, T, N> {
    using Base = detail::arrays::ArrayCore<N>;

    static_assert(N >= 1 && N <= max_dimensions);
    static_assert(!std::is_const_v<T>);
    static_assert(std::default_initializable<T>,
                  "elements of a GlobalArray are made from bytes: T needs a default constructor");
    static_assert(!detail::values::leads_elsewhere<T>(),
                  "lapwing: pointers, spans and views cannot be elements, since they "
                  "are meaningless on another rank; use indices");
    static_assert(alignof(T) <= detail::arrays::max_alignment,
                  "parts of a GlobalArray are aligned to 64 bytes: alignof(T) is larger");

public:
    using value_type = T;
    using reference = ElementReference<T, N>;

    /// A closed array.
    GlobalArray() noexcept = default;

    /// Collective. All ranks must pass the same extents and the same distribution. They are compared; only samples
    /// of a user-defined one.
    /// Memory: every rank allocates the size of the largest part, with the halo of the options, and a few hundred
    /// bytes. Throws RangeError if a size overflows 64 bits or cannot be allocated, or a process grid does not fit the
    /// team; UsageError for a halo around more than one block, or if only another rank had an error, such as one in its
    /// distribution; MismatchError; MpiError.
    template <Distribution<N> D = Block>
    GlobalArray(Team& team, const Extents<N>& extents, const D& distribution = {}, GlobalArrayOptions options = {})
        : GlobalArray{team, extents,
                      detail::arrays::before_collective(
                          team,
                          [&] {
                              return detail::arrays::with_halo(
                                  std::make_shared<const detail::arrays::KeptDistributionOf<N, D>>(distribution)
                                      ->maps(team, extents, options.name),
                                  team, options);
                          }),
                      std::move(options)} {}

    /// Leaves the other one closed.
    GlobalArray(GlobalArray&& other) noexcept
        : Base{std::move(other)}, NearBinding{std::move(other)}, state_{std::exchange(other.state_, State{})} {}
    GlobalArray& operator=(GlobalArray&& other) noexcept {
        if (this == &other) return *this;
        NearBinding::operator=(std::move(other)); // first: the window that closes here must not bind it again
        Base::operator=(std::move(other));
        state_ = std::exchange(other.state_, State{});
        return *this;
    }
    /// As close(), but reports no errors, and does not wait for other ranks when the stack unwinds from an exception.
    ~GlobalArray() = default;

    /// Collective. Completes all operations of all ranks on the array and frees its memory.
    void close();

    /// Collective, with a barrier at the start and one at the end. Changes the extents, to the same on all ranks, under
    /// the distribution that the array was made with (a process grid that the distribution chooses may change).
    /// Elements within both the old and the new extents keep their values, including all writes before the call,
    /// whoever owns them now; all others are zero bytes. The patterns of prefetch() are evaluated again: manual copies
    /// are filled, automatic ones by the next read.
    ///
    /// Afterwards window() is a new window. Whatever was made from the array before must no longer be used: references
    /// to elements, spans, views, halos, plans, completions. statistics() restart at zero; the old counts are added to
    /// the team's, as after close().
    ///
    /// Errors leave the array unchanged on all ranks: RangeError and MismatchError as the constructor's; UsageError if
    /// a rank has prefetched with `static_domain`, or if only another rank had an error, such as one in its pattern;
    /// MpiError. Memory: for both extents until it returns. Cost: a window is made and another closed; two reductions
    /// and two more barriers; memory copies for what stays on the node, and one transfer for each pair of ranks for the
    /// rest, as copy_from(); what the patterns cost.
    void resize(const Extents<N>& extents);

    /// Collective. Moves the elements to the ranks that another distribution assigns them to; values and extents stay.
    /// Otherwise as resize(), except that patterns with `static_domain` are allowed and kept. Cost: as resize(), with
    /// one transfer for each pair of ranks.
    template <Distribution<N> D>
    void redistribute(const D& distribution);
    /// The same, and reorders the ranks as found by relabelling() of this array or of another one. From then on they
    /// are numbered as in order.team(), which is the array's team from now on, and which the array keeps open. Throws
    /// UsageError if the order is of different ranks.
    template <Distribution<N> D>
    void redistribute(const D& distribution, Relabelling& order);
    /// Collective. Finds the order of the ranks in which redistribute() would move the fewest bytes, and their number:
    /// see Relabelling. Nothing is moved. Throws RangeError if the distribution does not fit. Cost: that of planning an
    /// assignment, a gather to rank 0 of at most 1 MiB or 256 bytes a rank, whichever is more, and the time of the
    /// search there.
    template <Distribution<N> D>
    [[nodiscard]] Relabelling relabelling(const D& distribution) const;

    // Shape and ownership. Local calls.

    /// Number of dimensions.
    [[nodiscard]] static constexpr std::size_t dimensions() noexcept { return N; }
    /// The same, as in std::mdspan; not a rank of a team.
    [[nodiscard]] static constexpr std::size_t rank() noexcept { return dimensions(); }
    /// Number of elements in all dimensions, and in one of them, which must be less than dimensions().
    [[nodiscard]] const Extents<N>& extents() const noexcept { return core_.extents; }
    [[nodiscard]] std::int64_t extent(std::size_t dimension) const { return core_.extents[dimension]; }
    /// All indices.
    [[nodiscard]] Domain<N> domain() const { return Domain<N>{core_.extents}; }
    /// Number of elements.
    [[nodiscard]] std::uint64_t size() const { return domain().size(); }

    /// The rank that owns an element (of a replicated array: the calling rank). Throws RangeError.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] Rank owner(I... index) const {
        return checked_location(".owner", detail::datatype::index_of<N>(index...)).owner;
    }

    /// Whether the calling rank owns an element. Throws RangeError.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] bool is_local(I... index) const {
        const Index<N> at = detail::datatype::index_of<N>(index...);
        return state_.box.holds(at) || checked_location(".is_local", at).owner.value == core_.own_rank;
    }

    /// The indices that the calling rank owns, if they are one rectangular domain: always with Block, Cyclic (with a
    /// stride) and Replicated; empty if it owns nothing. Throws UsageError if there are several domains.
    [[nodiscard]] Domain<N> local_domain() const { return local_domain(Rank{core_.own_rank}); }
    /// The same for another rank.
    [[nodiscard]] Domain<N> local_domain(Rank rank) const {
        const std::uint64_t count = this->domain_count(rank);
        if (count > 1) detail::arrays::throw_not_one_domain(title_, count);
        return count == 0 ? Domain<N>{} : this->domain_of(rank, 0);
    }
    /// The indices that a rank owns under any distribution, as disjoint rectangular domains: `for (auto domain :
    /// a.local_domains()) for (auto [i, j] : domain) …`.
    class LocalDomains;
    [[nodiscard]] LocalDomains local_domains() const;
    [[nodiscard]] LocalDomains local_domains(Rank rank) const;

    // Elements.

    /// The element at an index, `a(i, j)` or `a(index)`, whoever owns it. Bounds are checked at assertion level 1
    /// (RangeError).
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard, gnu::always_inline]] reference operator()(I... index) {
        return reference_to<assertion_level >= 1>("", detail::datatype::index_of<N>(index...));
    }
    /// The value, from a const array.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard, gnu::always_inline]] T operator()(I... index) const {
        return reference_to<assertion_level >= 1>("", detail::datatype::index_of<N>(index...)).get();
    }

    /// Part of the array, for assignments and bulk reads: for each dimension a Range, a Triplet, `all`, or one index,
    /// which removes the dimension. Throws RangeError for indices outside of the extents, UsageError after close().
    template <SliceArgument... S>
        requires(sizeof...(S) == N && !(IndexValue<S> && ...))
    [[nodiscard]] auto operator()(const S&... parts) {
        return slice()(parts...);
    }
    template <SliceArgument... S>
        requires(sizeof...(S) == N && !(IndexValue<S> && ...))
    [[nodiscard]] auto operator()(const S&... parts) const {
        return slice()(parts...);
    }
    /// The same for the indices of a domain, which may be written in braces, `a({{0, 8}, {2, 4}}).get(buffer)`, and for
    /// all indices.
    [[nodiscard]] ArraySlice<T, N> operator()(const Domain<N>& domain) { return {this->geometry("(…)"), domain}; }
    [[nodiscard]] ArraySlice<const T, N> operator()(const Domain<N>& domain) const {
        return {this->geometry("(…)"), domain};
    }
    [[nodiscard]] ArraySlice<T, N> slice() { return ArraySlice<T, N>{this->geometry(".slice")}; }
    [[nodiscard]] ArraySlice<const T, N> slice() const { return ArraySlice<const T, N>{this->geometry(".slice")}; }

    /// As operator(), with the bounds checked at every assertion level.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] reference at(I... index) {
        return reference_to<true>(".at", detail::datatype::index_of<N>(index...));
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] T at(I... index) const {
        return reference_to<true>(".at", detail::datatype::index_of<N>(index...)).get();
    }

    /// A hint that the calling thread will soon read the element; const arrays have it, too. An element on another node
    /// is requested now, if the array is cached; one that is reached by load is brought into the processor's cache.
    template <class... I>
        requires IndexArguments<N, I...>
    void prefetch(I... index) const {
        reference_to<assertion_level >= 1>("", detail::datatype::index_of<N>(index...)).prefetch();
    }

    // Prefetch of what a rank will read, stated once before a loop that stays as it is: docs/prefetch.md.

    /// Collective. Each rank keeps copies of the elements of other ranks that `pattern` says it reads (see
    /// patterns.hpp), and element reads are served from them. The patterns of an array add up; each element is copied
    /// once. This rank's writes to these elements go to the owner and to the copy.
    /// Automatic copies (`consistent`) see what a barrier, or another acquire, orders before a read, and are filled by
    /// the first read after it. Node-shared elements are not copied, except into a halo. Manual copies are a snapshot
    /// of the owners' values: first by this call, between its two barriers, and then by each update(). Node-shared
    /// elements are copied, too, so that results do not depend on where the ranks run. Replicated arrays have all
    /// elements already.
    /// Throws UsageError if the options differ from those of the array's other patterns, RangeError for patterns that
    /// do not fit. Cost: memory for the copies, planning, a barrier; for manual copies an update() and another barrier.
    template <Pattern<N> P>
    void prefetch(const P& pattern, const PrefetchOptions& options = {});
    /// Local call. Removes all patterns, so that resize() no longer evaluates them, and frees the copies. References to
    /// elements that were prefetched must no longer be used.
    void evict() {
        this->drop_copies();
        choose_ways();
    }
    /// Whether the calling rank has a copy of an element. Throws RangeError.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] bool is_prefetched(I... index) const {
        const Index<N> at = detail::datatype::index_of<N>(index...);
        check_bounds(".is_prefetched", at);
        return this->copy_of(at) != nullptr;
    }
    /// Local call. The whole array as memory, for reading: see MappedArray. What the pattern names is filled, as by
    /// MappedArray::refresh(), and so are this rank's own elements; with a domain in place of a pattern its elements,
    /// and no others; with OnDemand nothing, since what a program reads is fetched then. Errors: those of the pattern
    /// and of refresh(); RangeError for a domain that leaves the array, and if the system gives no memory. Cost:
    /// addresses for the whole array; memory for the pages of what is named and not here; planning a transfer for each
    /// owner, and the transfers. Of the same elements as the one that was given up last: only the transfers, since the
    /// array keeps that one's memory.
    template <class P = AllToAll>
        requires(Pattern<P, N> || std::same_as<P, Domain<N>> || std::same_as<P, OnDemand>)
    [[nodiscard]] MappedArray<T, N> mapped(const P& pattern = {}) const;
    /// The local block and the copies around it as plain memory, for arrays that prefetch with PrefetchStorage::halo:
    /// see HaloView. Fills automatic copies if they are stale. Valid until the next acquire (automatic) or update(), as
    /// long as the array has its patterns. Throws UsageError if there are no such copies.
    [[nodiscard]] HaloView<T, N> halo_view() const;

    /// A local element by its global index, as plain memory (of a replicated array: the local copy, and only that).
    /// Assertion level 1 checks that the calling rank owns it (RangeError). Each access compares its index, so that a
    /// loop over all local elements is not vectorised; local_span() and local_view() do not compare.
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] T& local(I... index) {
        return own_element(detail::datatype::index_of<N>(index...));
    }
    template <class... I>
        requires IndexArguments<N, I...>
    [[nodiscard]] const T& local(I... index) const {
        return own_element(detail::datatype::index_of<N>(index...));
    }

    /// The local part as memory: with Block and Replicated, element (0, …, 0) of the view is the first of
    /// local_domain(); with Cyclic and BlockCyclic the local elements are packed in ascending order of their indices.
    /// Rows may have unused elements between them, which the view's strides show, and is_exhaustive() on this rank: in
    /// two or more dimensions with a halo, and with BlockCyclic if the blocks of any dimension but the first are not
    /// distributed evenly. Throws UsageError for a user-defined distribution, whose parts need not be rectangular.
    [[nodiscard]] LocalView<T, N> local_view();
    [[nodiscard]] LocalView<const T, N> local_view() const;
    /// The local elements, contiguous in memory, in the order of local_view(): for loops over all of them at the speed
    /// of a pointer, and for algorithms and other libraries. Throws UsageError as local_view(); and, on every rank, if
    /// the rows of some rank's part have gaps between them.
    [[nodiscard]] std::span<T> local_span();
    [[nodiscard]] std::span<const T> local_span() const;

    /// Calls `function(index, element)` with Index<N> and T& for each local element.
    template <class Function>
    void for_each_local(Function function);

    // Lists of elements, whoever owns them: any range of Index<N>, or of integers in one dimension. The bounds of all
    // are checked before anything moves: RangeError. If the lists differ in length: RangeError.
    //
    // Cost: elements on this node are loaded and stored. For the others, with a progress thread or on the path service,
    // a message an owner for thousands of elements, and its answer; otherwise what the cost model chooses. Lists that
    // are not gathered in a blocking call are sorted, with about 100 bytes of memory an element.

    /// On return values[k] is the element at indices[k].
    template <detail::arrays::IndexList<N> Indices>
    void gather(const Indices& indices, std::span<T> values) const {
        const detail::trace::CallScope call{detail::trace::Way::list};
        const std::vector<detail::arrays::ListedPlace> places = places_of(".gather", indices, {values.size()});
        detail::arrays::gather_list(window_, places, sizeof(T), reinterpret_cast<std::byte*>(values.data()));
    }
    /// The element at indices[k] becomes values[k]; if an index occurs twice, the last value stays. Complete locally on
    /// return, as a put. Replicated arrays: every copy.
    template <detail::arrays::IndexList<N> Indices>
    void scatter(const Indices& indices, std::span<const T> values) {
        const detail::trace::CallScope call{detail::trace::Way::list};
        start_scatter(indices, values).wait();
    }
    /// Non-blocking forms. The values must remain valid until the completion is done; the list of indices need not.
    template <detail::arrays::IndexList<N> Indices>
    Completion start_gather(const Indices& indices, std::span<T> values) const;
    template <detail::arrays::IndexList<N> Indices>
    Completion start_scatter(const Indices& indices, std::span<const T> values);

    /// Atomics on a list of elements, each atomic by itself; those on the same element are applied in the order of the
    /// list. before[k] becomes the previous value of the element at indices[k]. Operands are one for all, or a range.
    /// Complete when the results have arrived. Example: `a.fetch(Atomic::min, vertices, level, before)`. The operands
    /// are copied; otherwise see Window::fetch. Throws UsageError for replicated arrays. Cost: a message and its answer
    /// for each owner and 500 elements.
    template <detail::arrays::IndexList<N> Indices, class Operands>
    void fetch(Atomic operation, const Indices& indices, const Operands& operands, std::span<T> before) {
        const detail::trace::CallScope call{detail::trace::Way::list};
        start_fetch(operation, indices, operands, before).wait();
    }
    template <detail::arrays::IndexList<N> Indices, class Operands>
    [[nodiscard]] Completion start_fetch(Atomic operation, const Indices& indices, const Operands& operands,
                                         std::span<T> before);
    /// The same for compare_swap: when claiming elements, `before[k] == expected` tells whether the claim succeeded.
    template <detail::arrays::IndexList<N> Indices, class Expected, class Desired>
    void compare_swap(const Indices& indices, const Expected& expected, const Desired& desired, std::span<T> before) {
        start_compare_swap(indices, expected, desired, before).wait();
    }
    template <detail::arrays::IndexList<N> Indices, class Expected, class Desired>
    [[nodiscard]] Completion start_compare_swap(const Indices& indices, const Expected& expected,
                                                const Desired& desired, std::span<T> before);

    // Collective calls. They start and end with a barrier: they include or overwrite what any rank wrote to the array
    // before, and on return every rank sees the result.

    /// Sets every element to `value`. Cost: two barriers and local writes.
    void fill(T value);
    /// Copies the elements of an array of the same extents under any distribution, also of another team, which must
    /// have the same ranks in any order (the call is collective over both). Throws RangeError if the extents differ, or
    /// if `other` does not store all elements that this array does; UsageError for teams of different sizes and, at
    /// assertion level 2, of different ranks. Cost: two barriers (four for two teams); memory copies if the
    /// distributions are the same, otherwise the gets of an Assignment.
    void copy_from(const GlobalArray& other);

    /// Writes a checkpoint: all elements, in row-major order whatever the distribution, to a file that every rank can
    /// reach, by MPI's parallel files (MPI-IO). Another number of ranks can load it under another distribution. It
    /// includes what any rank wrote before. The file is written as `path` + ".partial", with a header, and a checksum
    /// for each MiB, and replaces `path` once it is complete and on disk: a save that fails or is killed leaves the old
    /// file. Elements that the distribution does not store are zero bytes in the file. Throws FileError on all ranks.
    /// Cost: each rank gets and writes an equal share of the elements, 8 MiB at a time.
    void save(const std::string& path, const CheckpointOptions& options = {}) const { slice().save(path, options); }
    /// Reads all elements from a file that save() wrote, of an array of the same extents and element type; on return
    /// every rank sees them. Throws FileError on all ranks for a file that is not a checkpoint, is truncated, has other
    /// extents or another element type, or is damaged. The elements are then unchanged, except after damage, when they
    /// are undefined.
    void load(const std::string& path, const CheckpointOptions& options = {}) { slice().load(path, options); }
    /// Makes a new array with the extents of the file.
    template <Distribution<N> D = Block>
    [[nodiscard]] static GlobalArray load(Team& team, const std::string& path, const D& distribution = {},
                                          GlobalArrayOptions options = {});

    /// For replicated arrays: every copy becomes that of `root`. Throws UsageError for other arrays, RangeError.
    void broadcast(Rank root);

    /// Sum of all elements as double, std::int64_t or std::uint64_t (modulo 2^64); for bool the number of true
    /// elements. The order of additions is unspecified. Elements of any other type with +, such as std::complex, are
    /// added as by reduce(), and the sum has their type.
    [[nodiscard]] auto sum() const;
    /// Smallest and largest element. NaNs are ignored. If all elements are NaN (or the distribution stores none), the
    /// result is infinity for min() and -infinity for max(). Throw UsageError for arrays without elements. Elements of
    /// any other type with < are compared as by reduce().
    [[nodiscard]] T min() const;
    [[nodiscard]] T max() const;
    /// The same with the index; among equal values the lowest index, dimension 0 first. NaNs are ignored. Throw
    /// UsageError for arrays without elements, and if all elements are NaN. Cost: as reduce().
    [[nodiscard]] LocatedValue<T, N> min_location() const;
    [[nodiscard]] LocatedValue<T, N> max_location() const;
    /// General reduction: `combine(x, y)` must be associative, and `identity` neutral to it. A rank combines the
    /// elements of its local_domains(), one domain after another, each with the last index fastest; then the ranks'
    /// results are combined in the order of the ranks. So the result is reproducible, and the same on every rank, even
    /// if `combine` does not commute or rounds; but the order is row-major over the whole array only if consecutive
    /// ranks own whole rows. An exception of a function is thrown on its rank, and all others throw UsageError with its
    /// text.
    /// Cost: ceil(log2(ranks)) barriers and gets, and a broadcast; for a replicated array two barriers.
    template <class Combine>
    [[nodiscard]] T reduce(T identity, Combine combine) const {
        return transform_reduce(identity, combine, [](const T& element) -> const T& { return element; });
    }
    /// The reduction of `transform(element)` or of `transform(index, element)`, a value of type R:
    /// `a.transform_reduce(0.0, std::plus<>{}, square)`. R must be trivially copyable, have a default constructor and
    /// be smaller than 4 MiB. If the transform can be called with the element alone, it is.
    template <detail::arrays::Reducible R, class Combine, detail::arrays::TransformOf<T, N> Transform>
    [[nodiscard]] R transform_reduce(R identity, Combine combine, Transform transform) const;

private:
    using Base::capacity_, Base::copies_, Base::core_, Base::halo_, Base::team_, Base::title_, Base::window_;

    [[nodiscard]] T* near_address(std::uint64_t offset) const noexcept {
        // Spares the caller the test for null.
        if (state_.near == nullptr) __builtin_unreachable();
        return state_.near + offset;
    }
    /// Null if it is of another node, or is not to be accessed directly.
    [[nodiscard]] T* address_of(const Location& location) const noexcept;
    // The index is passed by value: a reference would keep it in memory in the loops that call this.
    template <bool Checked>
    [[gnu::noinline]] T* other_address(const char* call, Index<N> index) const;
    template <bool Checked>
    [[gnu::noinline]] T& other_own_element(Index<N> index) const;

    /// The address of the element if it can be loaded and stored, otherwise null.
    template <bool Checked>
    [[nodiscard, gnu::always_inline]] T* address(const char* call, const Index<N>& index) const {
        if (state_.near_box.holds(index, state_.mixed.quick())) [[likely]]
            return near_address(state_.near_box.offset(index));
        // An element of another node, if there are no copies, and the elements of this one are in the box.
        if (!state_.has_other_ways && state_.all.holds(index)) [[likely]]
            return nullptr;
        // Reached if the node's elements are not one box; none of the elements found here has a copy.
        if ((core_.prefetched == nullptr || state_.near_box.empty()) && !state_.mixed.on())
            if (T* const address = state_.node.template find<T>(index)) [[likely]]
                return address;
        if (core_.prefetched != nullptr) {
            // The index of a copy needs no check; others are checked when their owner is computed.
            if constexpr (Checked)
                if (assertion_level < 1 || *call != '\0') check_bounds(call, index);
            return nullptr;
        }
        if (state_.all.holds(index)) return nullptr;
        return detail::support::seldom<&GlobalArray::template other_address<Checked>>(*this, call, index);
    }

    template <bool Checked>
    [[nodiscard, gnu::always_inline]] reference reference_to(const char* call, const Index<N>& index) const {
        return {*this, address<Checked>(call, index), index};
    }

    friend detail::arrays::ArrayFunctions<GlobalArray, T, N>;
    // For ElementReference: elements that are not plain memory here.
    friend reference;
    [[nodiscard]] bool writes_here() const noexcept { return !core_.replicated; }
    /// An element on another node. Copies in the first rectangle, and elements in pages that the cache has, are read
    /// here; the rest out of line, so that loops keep what they compute in registers.
    [[nodiscard, gnu::always_inline]] T get_remote(const Index<N>& index) const {
        if (state_.has_other_ways && core_.prefetched != nullptr) {
            if (const T* const copy = core_.prefetched->first.template find<T>(index)) {
                T value;
                if (core_.prefetched->state.read(copy, value)) [[likely]] {
                    core_.prefetched->state.count_hit();
                    return value;
                }
            }
            // In a page there may be elements with copies.
            if (core_.prefetched->indices.may_have(index))
                return detail::support::seldom<&GlobalArray::get_prefetched>(*this, index);
        }
        if constexpr (detail::window::PageTable::serves<T>)
            if (std::uint64_t place = 0; state_.all.find(index, place)) [[likely]]
                if (const T* const value = state_.page_tables->mine().template find<T>(place)) [[likely]]
                    return *value;
        return detail::support::seldom<&GlobalArray::get_cached>(*this, index);
    }
    [[gnu::always_inline]] void put_remote(const Index<N>& index, const T& value) const {
        if constexpr (detail::window::PageTable::serves<T>)
            if (std::uint64_t place = 0; state_.all.find(index, place)) [[likely]]
                if (state_.page_tables->mine().write(place, value)) [[likely]]
                    return;
        detail::support::seldom<&GlobalArray::put_cached>(*this, index, value);
    }
    /// For an array that has prefetched something: any element that get_remote() has not read.
    [[nodiscard, gnu::noinline]] T get_prefetched(Index<N> index) const;
    [[nodiscard, gnu::noinline]] T get_cached(Index<N> index) const;
    [[gnu::noinline]] void put_cached(Index<N> index, T value) const;
    /// Of any element within the extents: its owner, and where its part has it.
    [[nodiscard, gnu::always_inline]] Location home_of(const Index<N>& index) const;
    [[gnu::noinline]] void prefetch_far(Index<N> index) const;
    [[nodiscard, gnu::always_inline]] detail::arrays::Home home(const char* call, Index<N> index) const;

    [[nodiscard]] T& own_element(const Index<N>& index) const {
        if (state_.box.holds(index)) [[likely]]
            return state_.own[state_.box.offset(index)];
        return other_own_element<assertion_level >= 1>(index);
    }

    [[gnu::always_inline]] void check_bounds(const char* call, const Index<N>& index) const {
        for (std::size_t d = 0; d < N; ++d)
            if (static_cast<std::uint64_t>(index[d]) >= static_cast<std::uint64_t>(core_.extents[d])) [[unlikely]]
                throw_out_of_bounds(call, index);
    }
    [[noreturn, gnu::noinline]] void throw_out_of_bounds(const char* call, Index<N> index) const;
    [[nodiscard]] Location checked_location(const char* call, const Index<N>& index) const;

    /// Binds what element accesses look at first: local elements, and the node's unless there are copies of those,
    /// which this rank's writes must go to, and which reads of this array may have to be served from.
    void bind_near() noexcept;
    /// After what is prefetched has changed.
    void choose_ways() noexcept { state_.has_other_ways = core_.prefetched != nullptr || state_.node.serves(); }
    template <TriviallyCopyable U, std::size_t M, detail::arrays::Reducible R, class Combine>
    friend class DimensionReduction;
    friend struct detail::arrays::OwnPart;
    GlobalArray(Team& team, const Extents<N>& extents, detail::arrays::ArrayMaps<N> maps, GlobalArrayOptions options);
    /// Copies those local elements that `other` has, too, from there.
    void take_elements(const GlobalArray& other);
    /// The common part of resize() and redistribute().
    void rebuild(const char* call, const std::shared_ptr<Team>& own_team, const Extents<N>& extents,
                 const std::shared_ptr<const detail::arrays::KeptDistribution<N>>& distribution);
    /// Calls `run(index, data, count)` for each run of local elements that is contiguous in memory: `index` is that of
    /// the first, its neighbours are `index_stride` apart in the last dimension.
    template <class Run>
    void for_each_run(Run run) const {
        this->for_each_run_of_bytes(
            [&run](const Index<N>& index, std::byte* data, std::uint64_t count, std::int64_t index_stride) {
                run(index, reinterpret_cast<T*>(data), count, index_stride);
            });
    }
    [[nodiscard]] LocalView<T, N> view(const char* call) const;
    [[nodiscard]] std::span<T> dense_elements(const char* call) const;
    [[nodiscard]] T* segment() const noexcept { return reinterpret_cast<T*>(this->own_memory()); }
    /// Where the elements of a list are. Throws RangeError, also unless there are `others` of them (SIZE_MAX: any
    /// number).
    template <class Indices>
    [[nodiscard]] std::vector<detail::arrays::ListedPlace> places_of(const char* call, const Indices& indices,
                                                                     std::initializer_list<std::size_t> others) const;
    /// Whether this rank's segments of both hold the same elements at the same places. The answer may differ between
    /// ranks: two teams may number their ranks in different orders.
    [[nodiscard]] bool same_segment(const GlobalArray& other) const;
    /// Collective. Throws RangeError on every rank if this array, with a user-defined distribution, does not store all
    /// elements that `wanted` does.
    void require_all_stored(const GlobalArray& wanted) const;
    template <class Better>
    [[nodiscard]] LocatedValue<T, N> first_best(const char* call, T worst, Better better) const;
    /// The same for types that have no worst value, without the index.
    template <class Better>
    [[nodiscard]] T best(const char* call, Better better) const;
    /// A reduction: `over_ranks(own)`, where `own` are this rank's elements in chains, or `own` if every rank has
    /// reduced its own copy of everything.
    template <class Value, class Chains, class OverRanks>
    [[nodiscard]] Value reduced(const char* call, Chains chains, OverRanks over_ranks) const;

    // In the order of use by element accesses, from a cache line's start.
    struct alignas(64) State {
        T* near = nullptr;                        ///< first element of near_box
        detail::arrays::DenseBox<N> near_box;     ///< the node's elements if they are dense; otherwise this rank's
        mutable detail::window::MixedReads mixed; ///< compares with the first extent of near_box
        bool has_other_ways = true;               ///< there are copies, or elements of the node outside of near_box
        detail::arrays::LinearElements<N> node;   ///< addresses, unless near_box has all of them
        T* own = nullptr;                         ///< first element of the local segment
        detail::arrays::DenseBox<N> box;
        detail::arrays::LinearElements<N> all; ///< places in the page tables; empty unless the array is cached
        const detail::window::PageTables* page_tables = &detail::window::no_page_tables;
        std::shared_ptr<const detail::arrays::KeptDistribution<N>> distribution;
    };
    State state_; ///< of a closed array: the default
};

} // namespace lapwing

#include <lapwing/detail/global_array_collectives.hpp>
#include <lapwing/detail/global_array_members.hpp>
#include <lapwing/detail/global_array_prefetch.hpp>
#include <lapwing/detail/global_array_resize.hpp>
