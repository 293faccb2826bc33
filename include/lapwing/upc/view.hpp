// Room: upc
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/upc/array.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lapwing::upc {

template <Shareable T, std::size_t B, std::size_t N, int Threads>
class ArrayView;

namespace detail {

/// How far a block's round is from the first one, with THREADS as a constant, or as a copy. Without a branch: the
/// stride of one round is 0.
template <int Threads>
struct ViewRounds {
    [[nodiscard, gnu::always_inline]] std::uint64_t operator()(std::uint64_t block,
                                                               std::uint64_t stride) const noexcept {
        return block / static_cast<std::uint64_t>(Threads) * stride;
    }
};
template <>
struct ViewRounds<0> {
    ThreadCount count = heap_access.threads;
    [[nodiscard, gnu::always_inline]] std::uint64_t operator()(std::uint64_t block,
                                                               std::uint64_t stride) const noexcept {
        return count.round_and_thread(block).round * stride;
    }
};

} // namespace detail

/// An element of a view. Holds what the view holds, so that nothing is read again for it.
template <Shareable T, std::size_t B, std::size_t N, int Threads>
class ViewElement : public SharedObject<ViewElement<T, B, N, Threads>, T> {
    using Base = SharedObject<ViewElement<T, B, N, Threads>, T>;

public:
    using typename Base::value_type;

    /// Element `linear` of the view's array.
    [[gnu::always_inline]] ViewElement(const ArrayView<T, B, N, Threads>& view, std::int64_t linear) noexcept
        : view_{view}, linear_{linear} {}
    /// A copy refers to the same element.
    ViewElement(const ViewElement&) = default;
    /// put(): of a value, or of another element's value.
    [[gnu::always_inline]] const ViewElement& operator=(const value_type& value) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        put(value);
        return *this;
    }
    /// As above.
    [[gnu::always_inline]] const ViewElement& operator=(const ViewElement& other) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        put(other.get());
        return *this;
    }

    /// As get() of a Reference.
    [[nodiscard, gnu::always_inline]] value_type get() const {
        if constexpr (Base::order != detail::Order::strict && assertion_level < 2) {
            if (const value_type* const here = view_.near_element(linear_)) [[likely]]
                return *here;
            return view_.array().get_elsewhere(linear_);
        }
        return Reference<T>{place()}.get();
    }
    /// As above.
    [[gnu::always_inline]] void put(const value_type& value) const
        requires(!std::is_const_v<ValueOf<T>>)
    {
        if constexpr (Base::order != detail::Order::strict && assertion_level < 2)
            if (value_type* const here = view_.near_element(linear_)) [[likely]] {
                *here = value;
                return;
            }
        Reference<T>{place()}.put(value);
    }
    /// Its place: thread, address and phase.
    [[nodiscard]] lapwing_upc_pointer place() const noexcept(assertion_level < 2) {
        return view_.array().place(linear_);
    }
    /// A reference to the same element by its place, which may outlive the view.
    [[nodiscard]] operator Reference<T>() const noexcept(assertion_level < 2) { return Reference<T>{place()}; }

private:
    const ArrayView<T, B, N, Threads> view_;
    std::int64_t linear_;
};

/// What an access to an element of an array needs, by value: `const auto v = upc::view(a); … v[i] …`. A loop keeps it
/// in registers, whereas the array object might change in any call and is reloaded. It must not outlive the array.
/// Elements that the thread can load and store when the view is made are loads and stores through it, also in scopes
/// that make accesses strict or record them; all others are accessed as elements of the array.
///
/// With Threads, `upc::view<2>(a)`, THREADS is a constant, as in UPC's static environment.
template <Shareable T, std::size_t B = 1, std::size_t N = 1, int Threads = 0>
class ArrayView {
public:
    using value_type = std::remove_const_t<ValueOf<T>>; ///< of an element

    /// A view of the array as it may be accessed now.
    explicit ArrayView(const SharedArray<T, B, N>& array) noexcept : array_{&array}, near_{array.near_elements()} {
        if (detail::heap_access.near_count == 0) near_.count = 0; // all elements go through the runtime
        if constexpr (B == dynamic_block) {
            block_.value = array.block_size();
            if (block_.value > 1) by_block_ = lapwing::detail::distribution::Reciprocal{block_.value};
        }
    }

    /// Element i.
    [[nodiscard, gnu::always_inline]] ViewElement<T, B, N, Threads> operator[](std::int64_t i) const noexcept
        requires(N == 1)
    {
        return {*this, i};
    }
    /// Element (i, j, …).
    template <std::integral... I>
        requires(sizeof...(I) == N)
    [[nodiscard, gnu::always_inline]] ViewElement<T, B, N, Threads> operator()(I... indices) const noexcept {
        std::int64_t linear = 0;
        std::size_t d = 0;
        ((linear = linear * static_cast<std::int64_t>(array_->extent(d)) + static_cast<std::int64_t>(indices), ++d),
         ...);
        return {*this, linear};
    }
    /// The array.
    [[nodiscard]] const SharedArray<T, B, N>& array() const noexcept { return *array_; }

    /// As that of the array: the address of an element that can be loaded and stored, or null.
    [[nodiscard, gnu::always_inline]] value_type* near_element(std::int64_t linear) const noexcept {
        const auto i = static_cast<std::uint64_t>(linear);
        if (i - near_.first >= near_.count) [[unlikely]]
            return nullptr;
        auto* const address =
            reinterpret_cast<value_type*>(near_.place(i, sizeof(value_type), block_, by_block_, rounds_));
        if (address == nullptr) __builtin_unreachable(); // spares the caller the test for null
        return address;
    }

private:
    const SharedArray<T, B, N>* array_;
    detail::LinearElements near_;
    [[no_unique_address]] detail::BlockSize<B> block_;
    [[no_unique_address]] detail::ViewRounds<Threads> rounds_;
    lapwing::detail::distribution::Reciprocal by_block_; ///< for a dynamic block size
};

/// The view of an array for a loop: see ArrayView. Local call. An error if the number of threads is not the constant.
template <int Threads = 0, Shareable T, std::size_t B, std::size_t N>
[[nodiscard, gnu::always_inline]] inline ArrayView<T, B, N, Threads> view(const SharedArray<T, B, N>& array) {
    if constexpr (Threads != 0)
        if (threads() != Threads) [[unlikely]]
            detail::threads_are_not(Threads);
    return ArrayView<T, B, N, Threads>{array};
}

} // namespace lapwing::upc
