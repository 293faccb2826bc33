// Room: upc
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace lapwing::upc {

/// The block size of `shared []`: all elements have affinity to one thread.
inline constexpr std::size_t indefinite = 0;
/// A block size known only at run time: it is an argument of the array's constructor, or UPC's `[*]`, and is stored in
/// its pointers.
inline constexpr std::size_t dynamic_block = SIZE_MAX;

namespace detail {

/// The block size of a pointer or an array, in elements: part of its type, or a stored number.
template <std::size_t B>
struct BlockSize {
    static constexpr std::size_t value = B;
};
template <>
struct BlockSize<dynamic_block> {
    std::size_t value = 1;
};

/// p + elements; an error unless p and the result are in one object, or at its end.
[[nodiscard]] lapwing_upc_pointer checked_add(const lapwing_upc_pointer& p, std::size_t element_bytes,
                                              std::size_t block_size, std::ptrdiff_t elements);

} // namespace detail

/// `shared void*`: a pointer-to-shared without a type. Every Pointer converts to it, and it converts to one by a cast:
/// `Pointer<T, B>{p}`. It corresponds to C's `lapwing_upc_pointer`. The cast sets the phase to 0 if B is 1 or
/// indefinite, and otherwise keeps it. May be stored in shared memory.
class GenericPointer {
public:
    /// The null pointer.
    GenericPointer() noexcept = default;
    /// As above.
    GenericPointer(std::nullptr_t /*null*/) noexcept {}
    /// From a C pointer, and from any type.
    GenericPointer(const lapwing_upc_pointer& pointer) noexcept : pointer_{pointer} {}
    /// As above.
    template <class T, std::size_t B>
    GenericPointer(const Pointer<T, B>& pointer) noexcept : pointer_{pointer.raw()} {}

    /// As in lapwing/upc.h; and whether it is not null.
    [[nodiscard]] const lapwing_upc_pointer& raw() const noexcept { return pointer_; }
    /// As above.
    [[nodiscard]] explicit operator bool() const noexcept { return pointer_.address != 0; }
    /// Equal if they point to the same byte, whatever the phases; == also compares Pointers of different types and
    /// block sizes.
    [[nodiscard]] friend bool operator==(const GenericPointer& a, const GenericPointer& b) noexcept {
        return a.pointer_.address == b.pointer_.address && a.pointer_.thread == b.pointer_.thread;
    }

    /// upc_threadof, upc_phaseof, upc_addrfield, upc_resetphase, upc_cast.
    [[nodiscard]] int threadof() const noexcept { return static_cast<int>(pointer_.thread); }
    [[nodiscard]] std::size_t phaseof() const noexcept { return pointer_.phase; }
    [[nodiscard]] std::size_t addrfield() const noexcept { return pointer_.address; }
    [[nodiscard]] GenericPointer resetphase() const noexcept {
        return lapwing_upc_pointer{pointer_.address, pointer_.thread, 0};
    }
    [[nodiscard]] void* cast() const { return lapwing_upc_cast(pointer_); }

private:
    lapwing_upc_pointer pointer_{};
};

/// `shared [B] T*`: a pointer-to-shared whose arithmetic follows blocks of B elements. It is trivially copyable and may
/// be stored in shared memory: then it is a shared pointer-to-shared. 16 bytes, or 24 with a dynamic block size.
///
/// T is Shareable, and may be incomplete where the pointer is declared, as in a list: `struct Node { upc::Pointer<Node>
/// next; };`. It may have a qualifier: `Pointer<strict<int>>`. At the program's assertion level 2
/// (LAPWING_ASSERTION_LEVEL) it is an error if arithmetic leaves the object.
template <class T, std::size_t B>
class Pointer {
public:
    using value_type = std::remove_const_t<ValueOf<T>>; ///< of the object
    using difference_type = std::ptrdiff_t;             ///< in elements

    /// The null pointer.
    Pointer() noexcept = default;
    /// As above.
    Pointer(std::nullptr_t /*null*/) noexcept {}
    /// A cast of a pointer without a type. It keeps its phase, unless a block has one element, or the block size is
    /// indefinite (UPC language specification 1.3, section 6.4.3).
    explicit Pointer(const lapwing_upc_pointer& pointer) noexcept
        requires(B != dynamic_block)
        : pointer_{with_phase_of(B, pointer)} {}
    /// As above.
    explicit Pointer(const GenericPointer& pointer) noexcept
        requires(B != dynamic_block)
        : Pointer{pointer.raw()} {}
    /// As above, with the block size, in elements.
    Pointer(const lapwing_upc_pointer& pointer, std::size_t block_size) noexcept
        requires(B == dynamic_block)
        : pointer_{with_phase_of(block_size, pointer)}, block_{block_size} {}
    /// As above.
    Pointer(const GenericPointer& pointer, std::size_t block_size) noexcept
        requires(B == dynamic_block)
        : Pointer{pointer.raw(), block_size} {}
    /// A cast between types or block sizes: if the block size or the element size changes, the phase becomes 0.
    template <class U, std::size_t C>
        requires(!std::is_same_v<Pointer<U, C>, Pointer> && B != dynamic_block)
    explicit Pointer(const Pointer<U, C>& other) noexcept
        : pointer_{keeps_phase<U>(other.block_size(), B) ? other.raw() : other.resetphase().raw()} {}
    /// As above, to a block size in elements.
    template <class U, std::size_t C>
        requires(B == dynamic_block)
    Pointer(const Pointer<U, C>& other, std::size_t block_size) noexcept
        : pointer_{keeps_phase<U>(other.block_size(), block_size) ? other.raw() : other.resetphase().raw()},
          block_{block_size} {}

    /// As in lapwing/upc.h; and whether it is not null.
    [[nodiscard]] const lapwing_upc_pointer& raw() const noexcept { return pointer_; }
    /// As above.
    [[nodiscard]] explicit operator bool() const noexcept { return pointer_.address != 0; }
    /// upc_blocksizeof: in elements; 0: indefinite.
    [[nodiscard]] constexpr std::size_t block_size() const noexcept { return block_.value; }

    /// The object, and the one `i` elements further on.
    [[nodiscard, gnu::always_inline]] auto operator*() const noexcept { return Reference<T>{pointer_}; }
    /// As above.
    [[nodiscard, gnu::always_inline]] auto operator[](std::ptrdiff_t i) const noexcept(assertion_level < 2) {
        return *(*this + i);
    }
    /// A member of the structure: UPC's p->x is `p->*&Point::x`.
    template <class M, std::same_as<value_type> C>
    [[nodiscard, gnu::always_inline]] auto operator->*(M C::* member) const noexcept {
        return **this->*member;
    }

    /// Arithmetic in elements: through a block, then on to the next thread's.
    [[nodiscard, gnu::always_inline]] Pointer operator+(std::ptrdiff_t elements) const noexcept(assertion_level < 2) {
        Pointer result = *this;
        result += elements;
        return result;
    }
    /// As above.
    [[nodiscard, gnu::always_inline]] Pointer operator-(std::ptrdiff_t elements) const noexcept(assertion_level < 2) {
        return *this + -elements;
    }
    /// As above.
    [[gnu::always_inline]] Pointer& operator+=(std::ptrdiff_t elements) noexcept(assertion_level < 2) {
        if constexpr (assertion_level >= 2)
            pointer_ = detail::checked_add(pointer_, sizeof(value_type), block_size(), elements);
        else pointer_ = detail::heap_access.threads.add(pointer_, sizeof(value_type), block_size(), elements);
        return *this;
    }
    /// As above.
    [[gnu::always_inline]] Pointer& operator-=(std::ptrdiff_t elements) noexcept(assertion_level < 2) {
        return *this += -elements;
    }
    /// As above.
    [[gnu::always_inline]] Pointer& operator++() noexcept(assertion_level < 2) { return *this += 1; }
    /// As above.
    [[gnu::always_inline]] Pointer& operator--() noexcept(assertion_level < 2) { return *this -= 1; }
    /// As above.
    [[gnu::always_inline]] Pointer operator++(int) noexcept(assertion_level < 2) {
        const Pointer before = *this;
        ++*this;
        return before;
    }
    /// As above.
    [[gnu::always_inline]] Pointer operator--(int) noexcept(assertion_level < 2) {
        const Pointer before = *this;
        --*this;
        return before;
    }
    /// Elements between two pointers into one object.
    [[nodiscard]] std::ptrdiff_t operator-(const Pointer& other) const noexcept {
        return detail::heap_access.threads.difference(pointer_, other.pointer_, sizeof(value_type), block_size());
    }
    /// Equal if they point to the same object, whatever the phases; ordered only within one object.
    [[nodiscard]] friend bool operator==(const Pointer& a, const Pointer& b) noexcept {
        return a.pointer_.address == b.pointer_.address && a.pointer_.thread == b.pointer_.thread;
    }
    [[nodiscard]] friend std::strong_ordering operator<=>(const Pointer& a, const Pointer& b) noexcept {
        return a - b <=> 0;
    }

    /// upc_threadof, upc_phaseof, upc_addrfield, upc_resetphase.
    [[nodiscard]] int threadof() const noexcept { return static_cast<int>(pointer_.thread); }
    [[nodiscard]] std::size_t phaseof() const noexcept { return pointer_.phase; }
    [[nodiscard]] std::size_t addrfield() const noexcept { return pointer_.address; }
    [[nodiscard]] Pointer resetphase() const noexcept {
        Pointer result = *this;
        result.pointer_.phase = 0;
        return result;
    }
    /// upc_cast: as a pointer-to-private, which exists for all objects of the thread's own; null if the thread cannot
    /// load and store the object.
    [[nodiscard]] ValueOf<T>* cast() const { return reinterpret_cast<ValueOf<T>*>(lapwing_upc_cast(pointer_)); }

private:
    [[nodiscard]] static lapwing_upc_pointer with_phase_of(std::size_t block_size,
                                                           const lapwing_upc_pointer& pointer) noexcept {
        return {pointer.address, pointer.thread, block_size <= 1 ? 0 : pointer.phase};
    }
    /// UPC language specification 1.3, section 6.4.3.
    template <class U>
    [[nodiscard]] static constexpr bool keeps_phase(std::size_t from, std::size_t to) noexcept {
        return from == to && sizeof(ValueOf<U>) == sizeof(value_type);
    }

    lapwing_upc_pointer pointer_{};
    [[no_unique_address]] detail::BlockSize<B> block_;
};

/// Comparisons of pointers of other types and block sizes, and with null: as for GenericPointer.
template <class T, std::size_t B, class U, std::size_t C>
    requires(!std::is_same_v<Pointer<T, B>, Pointer<U, C>>)
[[nodiscard]] bool operator==(const Pointer<T, B>& a, const Pointer<U, C>& b) noexcept {
    return GenericPointer{a} == GenericPointer{b};
}
/// As above.
template <class T, std::size_t B>
[[nodiscard]] bool operator==(const Pointer<T, B>& a, std::nullptr_t /*null*/) noexcept {
    return !a;
}
/// As above.
template <class T, std::size_t B>
[[nodiscard]] bool operator==(const Pointer<T, B>& a, const lapwing_upc_pointer& b) noexcept {
    return GenericPointer{a} == GenericPointer{b};
}

namespace detail {

/// A Pointer, or a shared object whose value is one: `p[i]`.
template <class P>
concept PointerOperand = is_pointer_to_shared<lapwing::detail::support::value_of_t<P>>;
/// The same, or an object whose value is a GenericPointer; to one itself other types convert.
template <class P>
concept AnyPointerOperand =
    PointerOperand<P> ||
    (lapwing::detail::support::is_element<P> && std::same_as<lapwing::detail::support::value_of_t<P>, GenericPointer>);

} // namespace detail

/// UPC's operators as functions: upc_threadof(p), upc_phaseof(p), upc_addrfield(p), upc_resetphase(p), upc_cast(p).
template <detail::AnyPointerOperand P>
[[nodiscard]] int threadof(const P& p) noexcept(detail::is_pointer_to_shared<P>) {
    return lapwing::detail::support::value_of(p).threadof();
}
/// As above.
[[nodiscard]] inline int threadof(const GenericPointer& p) noexcept { return p.threadof(); }
/// As above.
template <detail::AnyPointerOperand P>
[[nodiscard]] std::size_t phaseof(const P& p) noexcept(detail::is_pointer_to_shared<P>) {
    return lapwing::detail::support::value_of(p).phaseof();
}
/// As above.
[[nodiscard]] inline std::size_t phaseof(const GenericPointer& p) noexcept { return p.phaseof(); }
/// As above.
template <detail::AnyPointerOperand P>
[[nodiscard]] std::size_t addrfield(const P& p) noexcept(detail::is_pointer_to_shared<P>) {
    return lapwing::detail::support::value_of(p).addrfield();
}
/// As above.
[[nodiscard]] inline std::size_t addrfield(const GenericPointer& p) noexcept { return p.addrfield(); }
/// As above.
template <detail::AnyPointerOperand P>
[[nodiscard]] auto resetphase(const P& p) noexcept(detail::is_pointer_to_shared<P>) {
    return lapwing::detail::support::value_of(p).resetphase();
}
/// As above.
[[nodiscard]] inline GenericPointer resetphase(const GenericPointer& p) noexcept { return p.resetphase(); }
/// As above.
template <detail::AnyPointerOperand P>
[[nodiscard]] auto cast(const P& p) {
    return lapwing::detail::support::value_of(p).cast();
}
/// As above.
[[nodiscard]] inline void* cast(const GenericPointer& p) { return p.cast(); }
/// upc_blocksizeof: of a pointer's object, in elements; 0: indefinite.
template <detail::PointerOperand P>
[[nodiscard]] std::size_t blocksizeof(const P& p) noexcept(detail::is_pointer_to_shared<P>) {
    return lapwing::detail::support::value_of(p).block_size();
}
/// upc_elemsizeof: in bytes.
template <class T, std::size_t B>
[[nodiscard]] std::size_t elemsizeof(const Pointer<T, B>& /*p*/) noexcept {
    return sizeof(ValueOf<T>);
}
/// upc_affinitysize: bytes with affinity to a thread in an object of total_bytes in blocks of block_bytes (0:
/// indefinite).
[[nodiscard]] inline std::size_t affinitysize(std::size_t total_bytes, std::size_t block_bytes, int thread) {
    return lapwing_upc_affinitysize(total_bytes, block_bytes, static_cast<std::size_t>(thread));
}

} // namespace lapwing::upc
