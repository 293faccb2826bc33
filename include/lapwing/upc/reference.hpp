// Room: upc
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/detail/element_expressions.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/values.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

namespace lapwing::upc {

/// Qualifiers of an object: `SharedArray<strict<int>> flags{n}` is `strict shared int flags[n]`, whose accesses are
/// always strict; the elements are ints.
template <class T>
struct strict {};
/// The same for objects whose accesses are relaxed even in a strict program.
template <class T>
struct relaxed {};

namespace detail {

/// In each thread's part the runtime's metadata are before the heap; this is the least size of both.
inline constexpr std::uint64_t least_heap_begin = 16384;
inline constexpr std::uint64_t least_heap_bytes = 8192;

enum class Order : std::uint8_t { as_the_program, relaxed, strict };

template <class T>
struct Qualified {
    using type = T;
    static constexpr Order order = Order::as_the_program;
};
template <class T>
struct Qualified<strict<T>> {
    using type = T;
    static constexpr Order order = Order::strict;
};
template <class T>
struct Qualified<relaxed<T>> {
    using type = T;
    static constexpr Order order = Order::relaxed;
};

/// Access through the runtime: for objects that are neither loadable nor in the cache, strict accesses, recorded ones,
/// and erroneous ones. Pointers are passed by value, so that they stay in registers if this is not called.
void get(void* destination, lapwing_upc_pointer source, std::size_t bytes, Order order);
void put(lapwing_upc_pointer destination, const void* source, std::size_t bytes, Order order);
/// An error unless the bytes are in one allocated object: for programs at assertion level 2, in which every access goes
/// through the runtime.
void require_object(lapwing_upc_pointer place, std::size_t bytes);

/// Offset of a member in a T.
template <class T, class M>
[[nodiscard]] std::uint64_t offset_of(M T::* member) noexcept {
    alignas(T) static constexpr std::array<std::byte, sizeof(T)> room{};
    const T* const object = reinterpret_cast<const T*>(room.data());
    return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(std::addressof(object->*member)) -
                                      room.data());
}

/// An error that names the index that does not exist.
void index_is_outside(std::int64_t index, std::size_t size);

} // namespace detail

/// The type of the elements of a shared object, without its qualifier.
template <class T>
using ValueOf = typename detail::Qualified<T>::type;

/// What may be shared: a trivially copyable type, or one with a qualifier.
template <class T>
concept Shareable = TriviallyCopyable<ValueOf<T>>;

namespace detail {

/// Bytes of an element in shared memory. Refuses types that cannot be there.
template <class T>
[[nodiscard]] consteval std::size_t element_bytes() {
    static_assert(alignof(ValueOf<T>) <= 64, "shared memory is aligned to 64 bytes: alignof(T) is larger");
    return sizeof(ValueOf<T>);
}

} // namespace detail

template <Shareable Q>
class Reference;
template <class T, std::size_t B = 1>
class Pointer;
template <class M, class Q>
class MemberArray;

namespace detail {

template <class T>
inline constexpr bool is_pointer_to_shared = false;
template <class T, std::size_t B>
inline constexpr bool is_pointer_to_shared<Pointer<T, B>> = true;

/// T with the qualifier of Q.
template <class T, class Q>
struct QualifiedAs {
    using type = T;
};
template <class T, class Q>
struct QualifiedAs<T, const Q> {
    using type = const T;
};
template <class T, class Q>
struct QualifiedAs<T, strict<Q>> {
    using type = strict<typename QualifiedAs<T, Q>::type>;
};
template <class T, class Q>
struct QualifiedAs<T, relaxed<Q>> {
    using type = relaxed<typename QualifiedAs<T, Q>::type>;
};

/// A member of type M, or an element of such a member, of a structure of type Q.
template <class M, class Q>
[[nodiscard, gnu::always_inline]] inline auto member_at(const lapwing_upc_pointer& place) noexcept {
    if constexpr (std::is_array_v<M>) return MemberArray<M, Q>{place};
    else return Reference<typename QualifiedAs<M, Q>::type>{place};
}

/// What a shared object offers if its value is a pointer to one thread's private memory: `*a[i]` and `a[i][j]`.
template <class Object, class T>
class TargetOfPointer {
public:
    using stands_for = T;

    [[nodiscard, gnu::always_inline]] decltype(auto) operator*() const { return *object().get(); }
    [[nodiscard, gnu::always_inline]] decltype(auto) operator[](std::ptrdiff_t i) const { return object().get()[i]; }

private:
    [[nodiscard, gnu::always_inline]] const Object& object() const noexcept {
        return static_cast<const Object&>(*this);
    }
};

/// What lets an object stand for its value, of type T, in expressions.
template <class Object, class T>
using ExpressionsOf =
    std::conditional_t<std::is_pointer_v<T> && !std::is_void_v<std::remove_pointer_t<T>>, TargetOfPointer<Object, T>,
                       lapwing::detail::support::ElementExpressions<Object, T>>;

/// Whether the page table may be asked: it has no places but those of the threads' parts.
template <class T>
[[nodiscard, gnu::always_inline]] inline bool may_be_cached(const lapwing_upc_pointer& place) noexcept {
    return place.address - heap_access.heap_begin < heap_access.heap_bytes && place.address % sizeof(T) == 0 &&
           place.thread < static_cast<std::uint32_t>(threads());
}
/// The value that a cache hit reads; null if it is none.
template <class T>
[[nodiscard, gnu::always_inline]] inline const T* find_cached(const lapwing_upc_pointer& place) noexcept {
    if (!may_be_cached<T>(place)) return nullptr;
    const lapwing::detail::window::PageTables& tables = *heap_access.page_tables;
    return tables.mine().template find<T>(tables.place_of(static_cast<int>(place.thread), place.address));
}
/// Writes to the cache, if that takes no more than a store; else returns false.
template <class T>
[[nodiscard, gnu::always_inline]] inline bool write_cached(const lapwing_upc_pointer& place, const T& value) noexcept {
    const lapwing::detail::window::PageTables& tables = *heap_access.page_tables;
    return may_be_cached<T>(place) &&
           tables.mine().write(tables.place_of(static_cast<int>(place.thread), place.address), value);
}

} // namespace detail

/// The operations of programs on a shared object, in terms of get(), put() and place() of Object, which is a Reference
/// or an element of an array: a value is fetched where one is needed, and stored by an assignment. Compound
/// assignments, ++ and -- are a get and a put: not atomic, as in UPC.
///
/// In expressions the object acts as its value: all operators that take a `const T&` accept it, and so do the
/// mathematical functions that are called without `std::`, also those of complex and user-defined types.
template <class Object, Shareable Q>
class SharedObject : public detail::ExpressionsOf<Object, std::remove_const_t<ValueOf<Q>>>,
                     public lapwing::detail::support::ElementAssignments<Object, std::remove_const_t<ValueOf<Q>>> {
public:
    using value_type = std::remove_const_t<ValueOf<Q>>; ///< type of the value

    /// get(), where a value is needed; +a[i] where its type is deduced.
    [[gnu::always_inline]] operator value_type() const { return object().get(); }
    /// As above.
    [[gnu::always_inline]] value_type operator+() const { return object().get(); }

    /// A member of a structure: `points[i]->*&Point::x` is UPC's `points[i].x`. If it is an array, the result is a
    /// MemberArray. Of an object that is a pointer: UPC's `a[i]->x`, for which the pointer is fetched.
    template <class M, class C>
        requires(std::same_as<C, value_type> || detail::is_pointer_to_shared<value_type>)
    [[nodiscard, gnu::always_inline]] auto operator->*(M C::* member) const
        noexcept(assertion_level < 2 && std::same_as<C, value_type>) {
        if constexpr (detail::is_pointer_to_shared<value_type>) return object().get()->*member;
        else return member_of(member);
    }

    /// The same accesses, explicitly strict (with a fence on both sides) or relaxed, whatever the object and the
    /// program specify.
    [[nodiscard]] value_type get_strict() const {
        value_type value;
        detail::get(&value, object().place(), sizeof(value_type), detail::Order::strict);
        return value;
    }
    /// As above.
    void put_strict(const value_type& value) const
        requires(!std::is_const_v<ValueOf<Q>>)
    {
        detail::put(object().place(), &value, sizeof(value_type), detail::Order::strict);
    }
    /// As above.
    [[nodiscard]] value_type get_relaxed() const { return Reference<relaxed<ValueOf<Q>>>{object().place()}.get(); }
    /// As above.
    void put_relaxed(const value_type& value) const
        requires(!std::is_const_v<ValueOf<Q>>)
    {
        Reference<relaxed<ValueOf<Q>>>{object().place()}.put(value);
    }

protected:
    static constexpr detail::Order order = detail::Qualified<Q>::order;

private:
    [[nodiscard, gnu::always_inline]] const Object& object() const noexcept {
        return static_cast<const Object&>(*this);
    }
    template <class M, class C>
    [[nodiscard, gnu::always_inline]] auto member_of(M C::* member) const noexcept(assertion_level < 2) {
        const lapwing_upc_pointer whole = object().place();
        lapwing_upc_pointer place{whole.address + detail::offset_of(member), whole.thread, 0};
        // Members of a null pointer are before the heap, where accesses detect that; those of so large a structure may
        // not be.
        if constexpr (sizeof(value_type) > detail::least_heap_begin)
            if (whole.address == 0) place.address = 0;
        return detail::member_at<M, Q>(place);
    }
};

/// A shared object: a value is fetched where one is needed, and stored by an assignment. Objects that the thread can
/// load and store directly are accessed in that way.
template <Shareable Q>
class Reference : public SharedObject<Reference<Q>, Q> {
    using Base = SharedObject<Reference<Q>, Q>;
    using Base::order;

public:
    using typename Base::value_type;

    /// The object that a pointer points to. A copy refers to the same object.
    explicit Reference(const lapwing_upc_pointer& place) noexcept : place_{place} {}
    /// As above.
    Reference(const Reference&) = default;

    /// The value; a load, or a cache hit, if possible, otherwise it is requested from the other node and waited for.
    [[nodiscard, gnu::always_inline]] value_type get() const {
        if constexpr (assertion_level >= 2) detail::require_object(place_, sizeof(value_type));
        if constexpr (order != detail::Order::strict && assertion_level < 2) {
            if (const value_type* const here = address()) [[likely]]
                return *here;
            if constexpr (lapwing::detail::window::PageTable::serves<value_type>)
                if (const value_type* const cached = detail::find_cached<value_type>(place_)) [[likely]]
                    return *cached;
        }
        value_type value;
        detail::get(&value, place_, sizeof(value_type), order);
        return value;
    }
    /// A write; others see a relaxed one after a fence, an unlock or a barrier.
    [[gnu::always_inline]] void put(const value_type& value) const
        requires(!std::is_const_v<ValueOf<Q>>)
    {
        if constexpr (assertion_level >= 2) detail::require_object(place_, sizeof(value_type));
        if constexpr (order != detail::Order::strict && assertion_level < 2) {
            if (value_type* const here = address()) [[likely]] {
                *here = value;
                return;
            }
            if constexpr (lapwing::detail::window::PageTable::serves<value_type>)
                if (detail::write_cached(place_, value)) [[likely]]
                    return;
        }
        if constexpr (sizeof(value_type) <= 64) {
            // The address of the caller's variable would keep that in memory, in the loop that computes it, too.
            const value_type copy = value;
            detail::put(place_, &copy, sizeof(value_type), order);
        } else {
            detail::put(place_, &value, sizeof(value_type), order);
        }
    }
    /// put(): of a value, or of another object's value.
    [[gnu::always_inline]] const Reference& operator=(const value_type& value) const
        requires(!std::is_const_v<ValueOf<Q>>)
    {
        put(value);
        return *this;
    }
    /// As above.
    [[gnu::always_inline]] const Reference& operator=(const Reference& other) const
        requires(!std::is_const_v<ValueOf<Q>>)
    {
        put(other.get());
        return *this;
    }
    /// As above: elements of arrays are both references and values, of which neither is to be preferred.
    template <class E>
        requires(lapwing::detail::support::is_element<E> && !std::is_same_v<E, Reference> &&
                 !std::is_const_v<ValueOf<Q>>)
    [[gnu::always_inline]] const Reference& operator=(const E& other) const {
        put(static_cast<value_type>(other.get()));
        return *this;
    }

    /// Its place: UPC's &a[i] with the phase of the access.
    [[nodiscard]] const lapwing_upc_pointer& place() const noexcept { return place_; }
    /// Its address if it can be loaded and stored here, and need not go through the runtime; otherwise null.
    [[nodiscard, gnu::always_inline]] value_type* address() const noexcept {
        const std::uint32_t near = place_.thread - detail::heap_access.near_first;
        // Addresses before the heap, such as those of null pointers and their members, wrap around.
        if (near >= detail::heap_access.near_count ||
            place_.address - detail::heap_access.heap_begin > detail::heap_access.heap_bytes - sizeof(value_type))
            [[unlikely]]
            return nullptr;
        if constexpr (sizeof(value_type) > detail::least_heap_bytes)
            if (sizeof(value_type) > detail::heap_access.heap_bytes) return nullptr;
        return reinterpret_cast<value_type*>(detail::heap_access.bases[near] + place_.address);
    }

private:
    lapwing_upc_pointer place_;
};

/// An array of type M that is a member of a shared structure of type Q, or a row of one: UPC's `s[i].v[k]` is
/// `(s[i]->*&S::v)[k]`. All its elements have affinity to one thread, so that pointers to them have an indefinite block
/// size.
template <class M, class Q>
class MemberArray {
    using Element = std::remove_extent_t<M>;

public:
    explicit MemberArray(const lapwing_upc_pointer& place) noexcept : place_{place} {}

    /// Element k, or row k if M has several dimensions.
    [[nodiscard, gnu::always_inline]] auto operator[](std::ptrdiff_t k) const noexcept(assertion_level < 2) {
        if constexpr (assertion_level >= 2)
            if (static_cast<std::size_t>(k) >= size()) [[unlikely]]
                detail::index_is_outside(k, size());
        return detail::member_at<Element, Q>(
            {place_.address + static_cast<std::uint64_t>(k) * sizeof(Element), place_.thread, 0});
    }
    /// A pointer to the first element.
    [[nodiscard]] auto begin() const noexcept
        requires(!std::is_array_v<Element>)
    {
        return Pointer<typename detail::QualifiedAs<Element, Q>::type, 0>{place_};
    }
    /// UPC's `&s[i].v[k]`.
    [[nodiscard]] auto operator+(std::ptrdiff_t k) const noexcept(assertion_level < 2)
        requires(!std::is_array_v<Element>)
    {
        return begin() + k;
    }
    /// Elements, or rows.
    [[nodiscard]] static constexpr std::size_t size() noexcept { return std::extent_v<M>; }
    /// Its place.
    [[nodiscard]] const lapwing_upc_pointer& place() const noexcept { return place_; }

private:
    lapwing_upc_pointer place_;
};

} // namespace lapwing::upc
