// Room: upc
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/detail/mixed_reads.hpp>
#include <lapwing/detail/near_binding.hpp>
#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/detail/seldom.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::upc {

template <Shareable T, std::size_t B, std::size_t N>
class SharedArray;

namespace detail {

/// Tag for the constructor that all others call.
struct Made {};
/// Blocks of an array, and elements of a block, as upc_all_alloc() counts them.
struct BlockCount {
    std::size_t blocks;
    std::size_t block_size; ///< in elements; 0: indefinite
};
/// For `size` elements; block_size is dynamic_block for UPC's `[*]`.
[[nodiscard]] BlockCount blocks_of(std::size_t size, std::size_t block_size);
/// An array's memory, zero. Collective.
[[nodiscard]] lapwing_upc_pointer allocate_array(const BlockCount& blocks, std::size_t size, std::size_t element_bytes);
/// Elements of an array at consecutive threads whose parts are equally far apart, which need no table. Element i, in
/// block q and round r, is at base + i elements + q * block_stride + r * round_stride (modulo 2^64). These are all
/// elements, or a run of them if each thread has one block.
struct LinearElements {
    std::uint64_t base = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0; ///< 0: there are none of that kind
    std::uint64_t block_stride = 0;
    std::uint64_t round_stride = 0; ///< 0 if each thread has at most one block

    /// Where element i of `bytes` bytes is, in blocks of this size, by which `by_block` divides where it is dynamic.
    /// `rounds(block, round_stride)`: how far the block's round is from the first one.
    template <std::size_t B, class Rounds>
    [[nodiscard, gnu::always_inline]] std::uint64_t place(std::uint64_t i, std::size_t bytes, const BlockSize<B>& size,
                                                          const lapwing::detail::distribution::Reciprocal& by_block,
                                                          const Rounds& rounds) const noexcept {
        std::uint64_t block = i;
        if (size.value != 1) {
            if constexpr (B == dynamic_block) block = by_block.quotient(i);
            else if constexpr (B != indefinite) block = i / B;
        }
        return base + i * bytes + block * block_stride + rounds(block, round_stride);
    }
};
/// An array, as its threads have it.
struct DealtArray {
    lapwing_upc_pointer begin;
    std::size_t size;
    std::size_t block_size;
    std::size_t element_bytes;
};
/// Those that the thread can load and store, by their addresses.
[[nodiscard]] LinearElements near_elements(const lapwing::detail::transport::MemoryMap& map,
                                           const DealtArray& array) noexcept;
/// All of them, by their places in the page tables; none if the heap is not cached.
[[nodiscard]] LinearElements all_elements(const DealtArray& array) noexcept;
/// Lets reads find the page of an element of the node in the page table, until the next acquire. False if they cannot.
[[nodiscard]] bool enter_near(const lapwing_upc_pointer& element) noexcept;
/// The heap's window.
[[nodiscard]] Window& heap_window();
/// An error: a view was compiled for another number of threads.
void threads_are_not(int threads);
/// The product of the extents, or an error if it does not fit.
[[nodiscard]] std::size_t product(const std::size_t* extents, std::size_t dimensions);
/// What mapped() needs of an array: see upc/mapped.hpp.
class MappableArray;
/// Made at the first call.
[[nodiscard]] const MappableArray& mappable(std::shared_ptr<const MappableArray>& made, const DealtArray& array,
                                            std::span<const std::size_t> extents);
/// An error for a range of indices that the array does not have; `call` is what needs it.
void require_range(const char* call, std::int64_t begin, std::int64_t end, std::size_t size);

} // namespace detail

/// An index with affinity to the calling thread, and its position among the thread's elements of an array in blocks of
/// B elements: forall() passes it to a loop body that takes `auto`. Elements of arrays with that block size are then
/// plain memory; everywhere else it acts as a number.
template <std::size_t B>
class OwnIndex {
public:
    OwnIndex(std::int64_t index, std::int64_t place) noexcept : index_{index}, place_{place} {}
    [[gnu::always_inline]] operator std::int64_t() const noexcept { return index_; }
    /// The number of the thread's elements before it.
    [[nodiscard, gnu::always_inline]] std::int64_t place() const noexcept { return place_; }

private:
    std::int64_t index_;
    std::int64_t place_;
};

/// An element of a shared array. Its address is computed on access, in the cheapest way.
template <Shareable T, std::size_t B, std::size_t N>
class ArrayElement : public SharedObject<ArrayElement<T, B, N>, T> {
    using Base = SharedObject<ArrayElement<T, B, N>, T>;

public:
    using typename Base::value_type;

    ArrayElement(const SharedArray<T, B, N>& array, std::int64_t linear) noexcept : array_{array}, linear_{linear} {}
    /// A copy refers to the same element.
    ArrayElement(const ArrayElement&) = default;
    /// put(): of a value, or of another element's value.
    [[gnu::always_inline]] const ArrayElement& operator=(const value_type& value) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        put(value);
        return *this;
    }
    /// As above.
    [[gnu::always_inline]] const ArrayElement& operator=(const ArrayElement& other) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        put(other.get());
        return *this;
    }

    /// As get() of a Reference.
    [[nodiscard, gnu::always_inline]] value_type get() const {
        if constexpr (Base::order != detail::Order::strict && assertion_level < 2) {
            if (const value_type* const here = array_.near_element(linear_)) [[likely]]
                return *here;
            return array_.get_elsewhere(linear_);
        }
        return static_cast<Reference<T>>(*this).get();
    }
    /// As above.
    [[gnu::always_inline]] void put(const value_type& value) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        if constexpr (Base::order != detail::Order::strict && assertion_level < 2) {
            if (value_type* const here = array_.near_element(linear_)) [[likely]] {
                *here = value;
                return;
            }
            array_.before_put();
        }
        static_cast<Reference<T>>(*this).put(value);
    }
    /// Its place: thread, address and phase.
    [[nodiscard]] lapwing_upc_pointer place() const noexcept(assertion_level < 2) { return array_.place(linear_); }
    /// A reference to the same element by its place, which may outlive the array object.
    [[nodiscard]] operator Reference<T>() const noexcept(assertion_level < 2) { return Reference<T>{place()}; }

private:
    const SharedArray<T, B, N>& array_;
    std::int64_t linear_;
};

/// A row of an array of several dimensions: another index selects in the next dimension, the last one an element.
template <Shareable T, std::size_t B, std::size_t N, std::size_t D>
class SharedRow {
public:
    SharedRow(const SharedArray<T, B, N>& array, std::int64_t linear) noexcept : array_{array}, linear_{linear} {}

    /// The row of the next dimension, or an element in the last one.
    [[nodiscard, gnu::always_inline]] auto operator[](std::int64_t i) const {
        const std::int64_t linear = linear_ * static_cast<std::int64_t>(array_.extent(D)) + i;
        if constexpr (D + 1 == N) return array_.at_linear(linear);
        else return SharedRow<T, B, N, D + 1>{array_, linear};
    }
    /// A pointer to its first element: UPC's `&a[i][0]`, or `a[i]` where a pointer is expected.
    [[nodiscard]] operator Pointer<T, B>() const {
        std::int64_t linear = linear_;
        for (std::size_t d = D; d < N; ++d) linear *= static_cast<std::int64_t>(array_.extent(d));
        return array_.pointer_at(linear);
    }
    /// As above.
    [[nodiscard]] operator GenericPointer() const { return static_cast<Pointer<T, B>>(*this); }
    /// upc_threadof(&a[i][0]).
    [[nodiscard]] int threadof() const { return static_cast<Pointer<T, B>>(*this).threadof(); }

private:
    const SharedArray<T, B, N>& array_;
    std::int64_t linear_;
};

/// `shared [B] T a[n]`: an array whose blocks of B elements are assigned to the threads in turn; `indefinite`: all at
/// thread 0. Its elements are zero at the start, as in UPC. Arrays of several dimensions, `shared [B] T a[n][m]`, are
/// distributed as one array of n * m elements, the last index fastest, as in UPC: `SharedArray<T, B, 2> a{{n, m}}`,
/// `a[i][j]`.
template <Shareable T, std::size_t B = 1, std::size_t N = 1>
class SharedArray : private lapwing::detail::window::NearBinding {
    static_assert(B == dynamic_block || B <= UINT32_MAX, "a block has at most 2^32 - 1 elements (UPC_MAX_BLOCK_SIZE)");

public:
    using value_type = std::remove_const_t<ValueOf<T>>; ///< of an element

    /// Collective. A dynamic block size means UPC's `[*]`: one block for each thread, of equal size.
    explicit SharedArray(std::size_t size)
        requires(N == 1)
        : SharedArray{std::array<std::size_t, 1>{size}} {}
    /// Collective. With a block size, in elements; 0: indefinite.
    SharedArray(std::size_t size, std::size_t block_size)
        requires(N == 1 && B == dynamic_block)
        : SharedArray{std::array<std::size_t, 1>{size}, block_size} {}
    /// Collective. For several dimensions.
    explicit SharedArray(const std::array<std::size_t, N>& extents) : SharedArray{extents, B, detail::Made{}} {}
    /// The same with a block size, in elements; 0: indefinite.
    SharedArray(const std::array<std::size_t, N>& extents, std::size_t block_size)
        requires(B == dynamic_block)
        : SharedArray{extents, block_size, detail::Made{}} {}
    SharedArray(const SharedArray&) = delete;
    SharedArray& operator=(const SharedArray&) = delete;
    /// Collective. If it may be running because of an exception on this thread alone, nothing is freed.
    ~SharedArray() {
        if (!collective_.unwinds()) lapwing_upc_all_free(begin_);
    }

    /// Elements on all threads, and indices of a dimension.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// As above.
    [[nodiscard]] std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
    /// upc_blocksizeof: in elements; 0: indefinite.
    [[nodiscard]] std::size_t block_size() const noexcept { return block_.value; }

    /// Element i; in several dimensions row i, which takes the other indices: a[i][j].
    [[nodiscard, gnu::always_inline]] auto operator[](std::int64_t i) const noexcept(assertion_level < 2) {
        if constexpr (N == 1) return at_linear(i);
        else return SharedRow<T, B, N, 1>{*this, i};
    }
    /// An element of the thread's own in a loop by forall(), as plain memory, even if a scope inside of the loop makes
    /// accesses strict, or records them. If the objects have a qualifier, that applies.
    [[nodiscard, gnu::always_inline]] decltype(auto) operator[](const OwnIndex<B>& i) const
        noexcept(assertion_level < 2)
        requires(N == 1 && B != dynamic_block)
    {
        if constexpr (assertion_level >= 2)
            if (static_cast<std::uint64_t>(static_cast<std::int64_t>(i)) >= size_) [[unlikely]]
                detail::index_is_outside(i, size_);
        if constexpr (std::same_as<T, ValueOf<T>>) {
            T* const own = own_;
            return own[i.place()];
        } else {
            return at_linear(i);
        }
    }
    /// Element (i, j, …).
    template <std::integral... I>
        requires(sizeof...(I) == N)
    [[nodiscard, gnu::always_inline]] ArrayElement<T, B, N> operator()(I... indices) const
        noexcept(assertion_level < 2) {
        std::int64_t linear = 0;
        std::size_t d = 0;
        ((linear = linear * static_cast<std::int64_t>(extents_[d]) + static_cast<std::int64_t>(indices), ++d), ...);
        return at_linear(linear);
    }
    /// The element with the given number of elements before it.
    [[nodiscard, gnu::always_inline]] ArrayElement<T, B, N> at_linear(std::int64_t linear) const
        noexcept(assertion_level < 2) {
        return {*this, linear};
    }

    /// Pointers to the first element, and to element i: UPC's `&a[i]`.
    [[nodiscard]] Pointer<T, B> begin() const noexcept { return make(begin_); }
    /// As above.
    [[nodiscard]] Pointer<T, B> operator+(std::int64_t i) const noexcept(assertion_level < 2)
        requires(N == 1)
    {
        return begin() + i;
    }
    /// The same by the number of elements before it, in any number of dimensions; at most size().
    [[nodiscard]] Pointer<T, B> pointer_at(std::int64_t linear) const noexcept(assertion_level < 2) {
        return begin() + linear;
    }
    /// upc_threadof(&a[i]): the thread that it has affinity to.
    [[nodiscard, gnu::always_inline]] int threadof(std::int64_t linear) const noexcept(assertion_level < 2) {
        return static_cast<int>(place(linear).thread);
    }

    /// Number of elements with affinity to a thread: upc_affinitysize in elements.
    [[nodiscard]] std::size_t size_at(int thread) const {
        return affinitysize(size_ * sizeof(value_type), block_.value * sizeof(value_type), thread) / sizeof(value_type);
    }
    /// The thread's own elements as plain memory, one block after another; null if the thread cannot have any.
    [[nodiscard]] ValueOf<T>* local() const noexcept { return own_; }

    /// The place of the element with the given number of elements before it: its thread, address and phase.
    [[nodiscard, gnu::always_inline]] lapwing_upc_pointer place(std::int64_t linear) const
        noexcept(assertion_level < 2) {
        const auto i = static_cast<std::uint64_t>(linear);
        if constexpr (assertion_level >= 2)
            if (i >= size_) [[unlikely]]
                detail::index_is_outside(linear, size_);
        const std::uint64_t block_size = block_.value;
        if (block_size == indefinite) return {begin_.address + i * sizeof(value_type), begin_.thread, 0};
        std::uint64_t block = i;
        std::uint64_t phase = 0;
        if (block_size != 1) {
            if constexpr (B == dynamic_block) block = by_block_.quotient(i);
            else block = i / block_size;
            phase = i - block * block_size;
        }
        const auto [round, thread] = detail::heap_access.threads.round_and_thread(block);
        return {begin_.address + (round * block_size + phase) * sizeof(value_type), static_cast<std::uint32_t>(thread),
                static_cast<std::uint32_t>(phase)};
    }
    /// Its address if it is on the node, computed without looking up its thread's part; null if it is not, while
    /// accesses must go through the runtime, and while reads are mixed: see get_elsewhere().
    [[nodiscard, gnu::always_inline]] value_type* near_element(std::int64_t linear) const
        noexcept(assertion_level < 2) {
        const auto i = static_cast<std::uint64_t>(linear);
        if (i - near_.first >= mixed_.quick() || detail::heap_access.near_count == 0) [[unlikely]]
            return nullptr;
        auto* const address = reinterpret_cast<value_type*>(place_in(near_, i));
        if (address == nullptr) __builtin_unreachable(); // spares the caller the test for null
        return address;
    }
    /// The value of an element that near_element() has not found, because it is of another node, or reads are mixed
    /// (see MixedReads).
    [[nodiscard, gnu::always_inline]] value_type get_elsewhere(std::int64_t linear) const {
        if constexpr (lapwing::detail::window::PageTable::serves<value_type>) {
            if (near_.count == 0)
                if (const value_type* const here = Reference<T>{place(linear)}.address()) return *here;
            if (const auto i = static_cast<std::uint64_t>(linear); i < all_.count) [[likely]]
                if (const value_type* const value =
                        detail::heap_access.page_tables->mine().template find<value_type>(place_in(all_, i))) [[likely]]
                    return *value;
            return lapwing::detail::support::seldom<&SharedArray::get_unlisted>(*this, linear);
        }
        return Reference<T>{place(linear)}.get();
    }
    /// Before a write to an element that near_element() has not found.
    [[gnu::always_inline]] void before_put() const noexcept {
        if (mixed_.on()) [[unlikely]]
            mixed_.set(false);
    }

    /// What near_element() computes with, for a view.
    [[nodiscard]] const detail::LinearElements& near_elements() const noexcept { return near_; }
    /// For upc::mapped().
    [[nodiscard]] const detail::MappableArray& mappable() const {
        return detail::mappable(mappable_, {begin_, size_, block_.value, sizeof(value_type)}, extents_);
    }

private:
    SharedArray(const std::array<std::size_t, N>& extents, std::size_t block_size, detail::Made /*what*/)
        : extents_{extents}, size_{detail::product(extents.data(), N)} {
        const detail::BlockCount blocks = detail::blocks_of(size_, block_size);
        begin_ = detail::allocate_array(blocks, size_, detail::element_bytes<T>());
        if constexpr (B == dynamic_block) {
            block_.value = blocks.block_size;
            if (blocks.block_size > 1) by_block_ = lapwing::detail::distribution::Reciprocal{blocks.block_size};
        }
        this->attach(detail::heap_window(),
                     [](NearBinding& array) noexcept { static_cast<SharedArray&>(array).bind_near(); });
        bind_near();
        if (begin_.address != 0 && (blocks.block_size != indefinite || mythread() == 0))
            own_ = reinterpret_cast<value_type*>(detail::heap_access.own + begin_.address);
    }
    void bind_near() noexcept {
        const detail::DealtArray dealt{begin_, size_, block_.value, sizeof(value_type)};
        near_ = detail::near_elements(this->near_map(), dealt);
        all_ = detail::all_elements(dealt);
        mixed_ = lapwing::detail::window::MixedReads{near_.count};
    }
    /// Where element i is, in terms of these.
    [[nodiscard, gnu::always_inline]] std::uint64_t place_in(const detail::LinearElements& elements,
                                                             std::uint64_t i) const noexcept {
        const auto rounds = [](std::uint64_t block, std::uint64_t stride) noexcept {
            return stride == 0 ? 0 : detail::heap_access.threads.round_and_thread(block).round * stride;
        };
        return elements.place(i, sizeof(value_type), block_, by_block_, rounds);
    }
    [[nodiscard, gnu::always_inline]] Pointer<T, B> make(const lapwing_upc_pointer& pointer) const noexcept {
        if constexpr (B == dynamic_block) return Pointer<T, B>{pointer, block_.value};
        else return Pointer<T, B>{pointer};
    }
    /// As get_elsewhere(), for an element that is not in the page table.
    [[nodiscard, gnu::noinline]] value_type get_unlisted(std::int64_t linear) const {
        const lapwing_upc_pointer where = place(linear);
        const Reference<T> element{where};
        const auto i = static_cast<std::uint64_t>(linear);
        if (i >= all_.count || detail::heap_access.near_count == 0) return element.get();
        const bool far_apart = detail::heap_access.page_tables->note_miss(place_in(all_, i));
        if (const value_type* const here = element.address()) {
            if (mixed_.on() && (!far_apart || !detail::enter_near(where))) mixed_.set(false);
            return *here;
        }
        const value_type value = element.get();
        if (far_apart) mixed_.set(true);
        return value;
    }

    detail::CollectiveLifetime collective_;
    std::array<std::size_t, N> extents_;
    std::size_t size_;
    lapwing_upc_pointer begin_{};
    mutable std::shared_ptr<const detail::MappableArray> mappable_;
    value_type* own_ = nullptr;
    detail::LinearElements near_;
    detail::LinearElements all_;
    mutable lapwing::detail::window::MixedReads mixed_;
    [[no_unique_address]] detail::BlockSize<B> block_;
    lapwing::detail::distribution::Reciprocal by_block_; ///< for a dynamic block size
};

/// `shared T s`: one object, at thread 0.
template <Shareable T>
class Shared : public detail::ExpressionsOf<Shared<T>, std::remove_const_t<ValueOf<T>>>,
               public lapwing::detail::support::ElementAssignments<Shared<T>, std::remove_const_t<ValueOf<T>>> {
public:
    using value_type = std::remove_const_t<ValueOf<T>>; ///< type of the value

    /// Collective. Zero at the start.
    Shared() : array_{1} {}

    /// The value, which is fetched if thread 0 is on another node.
    [[nodiscard]] value_type get() const { return array_[0].get(); }
    /// As above.
    [[nodiscard]] operator value_type() const { return get(); }
    /// As above, where the type of a value is deduced.
    [[nodiscard]] value_type operator+() const { return get(); }
    /// A write by one thread.
    const Shared& operator=(const value_type& value) const {
        array_[0].put(value);
        return *this;
    }
    /// As above, of another object's value.
    const Shared& operator=(const Shared& other) const {
        array_[0].put(+other);
        return *this;
    }
    /// The object, for all other accesses: `*s->*&S::member`.
    [[nodiscard]] Reference<T> operator*() const noexcept(assertion_level < 2) {
        return Reference<T>{array_[0].place()};
    }
    /// UPC's `&s`, of block size 1.
    [[nodiscard]] Pointer<T> pointer() const noexcept { return Pointer<T>{array_.begin()}; }

private:
    SharedArray<T, indefinite> array_;
};

/// upc_localsizeof: bytes of the array's largest part; the same on all threads.
template <class T, std::size_t B, std::size_t N>
[[nodiscard]] std::size_t localsizeof(const SharedArray<T, B, N>& a) {
    return affinitysize(a.size() * sizeof(ValueOf<T>), a.block_size() * sizeof(ValueOf<T>), 0);
}
/// upc_blocksizeof: in elements; 0: indefinite.
template <class T, std::size_t B, std::size_t N>
[[nodiscard]] std::size_t blocksizeof(const SharedArray<T, B, N>& a) noexcept {
    return a.block_size();
}
/// upc_elemsizeof: in bytes.
template <class T, std::size_t B, std::size_t N>
[[nodiscard]] std::size_t elemsizeof(const SharedArray<T, B, N>& /*a*/) noexcept {
    return sizeof(ValueOf<T>);
}

} // namespace lapwing::upc
