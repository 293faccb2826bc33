// Room: arrays
#pragma once

#include <lapwing/atomic_reference.hpp>
#include <lapwing/detail/element_expressions.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lapwing {

namespace detail::arrays {

/// The single place of an element, for atomics.
struct Home {
    Window& window;
    Rank owner;
    Offset offset;
};

} // namespace detail::arrays

template <TriviallyCopyable T, std::size_t N>
class GlobalArray;

/// A proxy for an element of a GlobalArray, wherever it is: it converts to the value, takes assignments, and does
/// atomics.
///
/// It identifies the element and does not hold its value, so `auto x = a(i, j)` is a reference and `double x = a(i, j)`
/// a value. It is invalid once the array is gone or moved. A read is a load, or a blocking get; a write is a store,
/// or a put that is complete locally (see the consistency table). Compound assignments, ++ and -- are a read and a
/// write, between which another rank may write: for atomics there is atomic(). ++ and -- return values.
///
/// In expressions it acts as its value: all operators that take a `const T&` accept it, and so do the mathematical
/// functions that are called without `std::` (`abs(a(0))`, `conj(a(0))`, `pow(a(0), 2)`), also those of complex and
/// user-defined types. An unconstrained operator template of the program is an equally good match: pass it the
/// value, `v * +d(0)`. Functions that deduce their argument's type, and are called with their namespace, do not: pass
/// the value, `std::abs(+a(0))` or `a(0).get()`, and likewise `std::printf("%g", +a(0))` and `std::max(a(0).get(),
/// 1.0)`.
template <class T, std::size_t N>
class ElementReference : public detail::support::ElementExpressions<ElementReference<T, N>, T>,
                         public detail::support::ElementAssignments<ElementReference<T, N>, T> {
public:
    using value_type = T;

    /// Made by GlobalArray. `address` is null if the element cannot be loaded and stored here; the index then
    /// identifies it. (The owner is computed on access, so that a loop over elements that are here carries only an
    /// address.)
    ElementReference(const GlobalArray<T, N>& array, T* address, const Index<N>& index) noexcept
        : array_{&array}, address_{address}, index_{index} {}
    /// Another reference to the same element.
    ElementReference(const ElementReference&) noexcept = default;

    /// The value. In short `+a(i)`, if T has this operator.
    [[nodiscard, gnu::always_inline]] T get() const {
        if (address_ != nullptr) [[likely]]
            return *address_;
        return array_->get_remote(index_);
    }
    [[gnu::always_inline]] operator T() const { return get(); }

    /// Internal, for aggregators.
    [[nodiscard]] detail::arrays::Home home(const char* call) const { return array_->home(call, index_); }

    /// Assigns the value: a store, or a put that is complete locally.
    void set(const T& value) const {
        if (address_ != nullptr && array_->writes_here()) [[likely]]
            *address_ = value;
        else array_->put_remote(index_, value);
    }
    const ElementReference& operator=(const T& value) const {
        set(value);
        return *this;
    }
    /// Assigns the value, as `a(i) = b(j)` reads.
    ElementReference& operator=(const ElementReference& other) {
        set(other.get());
        return *this;
    }
    template <class U, std::size_t M>
        requires(!(std::is_same_v<U, T> && M == N))
    const ElementReference& operator=(const ElementReference<U, M>& other) const {
        set(static_cast<T>(other.get()));
        return *this;
    }

    /// A hint that the calling thread will soon read the element: see Window::prefetch. An element that is reached by
    /// load is brought into the processor's cache.
    void prefetch() const {
        if (address_ != nullptr) __builtin_prefetch(address_);
        else array_->prefetch_far(index_);
    }

    /// The element for atomics: `a(i).atomic().fetch_add(1)`. T is a number, bool, an enumeration or a structure of 4,
    /// 8 or 16 bytes. Throws UsageError for replicated arrays.
    [[nodiscard]] AtomicReference<T> atomic() const {
        const detail::arrays::Home home = array_->home("atomic", index_);
        return {home.window, home.owner, home.offset};
    }

private:
    const GlobalArray<T, N>* array_;
    T* address_;
    Index<N> index_;
};

/// A hint that an element will soon be read: `prefetch(a(f(i + k)))`. For const arrays there is GlobalArray::prefetch.
template <class T, std::size_t N>
void prefetch(const ElementReference<T, N>& element) {
    element.prefetch();
}

} // namespace lapwing
