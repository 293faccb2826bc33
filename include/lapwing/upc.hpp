// Room: upc
#pragma once

#include <lapwing/detail/memory_map.hpp>
#include <lapwing/detail/upc_arithmetic.hpp>
#include <lapwing/upc.h>
#include <lapwing/values.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// UPC's shared memory for C++, to port kernels by hand: types for what UPC writes as `shared [B] T`, on top of lapwing/upc.h, whose functions may
/// be called beside them.
///
/// ```cpp
/// upc::Program program;                               // main's first line: THREADS and MYTHREAD from here on
/// upc::SharedArray<double, 4> a{n};                   // shared [4] double a[n];
/// upc::forall(0, n, a, [&](std::int64_t i) { a[i] = f(i); }); // upc_forall (i = 0; i < n; i++; &a[i]) a[i] = f(i);
/// upc::barrier();
/// double x = a[n - 1];                                // whoever has it
/// ```
namespace lapwing::upc {

/// The block size of `shared []`: all elements with one thread.
inline constexpr std::size_t indefinite = 0;

/// What an access needs to know of the started program: set by the start, empty after the end.
struct HeapAccess {
    transport::MemoryMap map; ///< the parts that this thread can load and store
    ThreadCount threads;      ///< THREADS
    int own_thread = 0;       ///< MYTHREAD
};
extern HeapAccess heap_access;

/// THREADS and MYTHREAD.
[[nodiscard]] inline int threads() noexcept { return heap_access.threads.threads(); }
[[nodiscard]] inline int mythread() noexcept { return heap_access.own_thread; }

/// The program from main's start to its end, with UPC's implied barriers. Collective.
class Program {
public:
    /// The start. Ends the program, with a text, when it was started before.
    Program() { lapwing_upc_start(nullptr, nullptr); }
    /// The same with main's arguments.
    Program(int& argc, char**& argv) { lapwing_upc_start(&argc, &argv); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { lapwing_upc_end(); }
};

/// A shared object, relaxed: a value is got where one is needed, and put by an assignment. Objects that the thread can load and store are.
template <TriviallyCopyable T>
class Reference {
public:
    /// Of the object that a pointer points to. A copy is of the same object.
    explicit Reference(const lapwing_upc_pointer& place) noexcept : place_{place} {}
    /// As above.
    Reference(const Reference&) = default;

    /// The value, which is asked for and waited for where another node has it.
    [[nodiscard, gnu::always_inline]] T get() const {
        std::remove_const_t<T> value;
        if (const std::byte* const here = address()) [[likely]]
            std::memcpy(&value, here, sizeof(T));
        else
            lapwing_upc_get(&value, place_, sizeof(T));
        return value;
    }
    /// A relaxed write: others see it behind a fence, an unlock or a barrier.
    [[gnu::always_inline]] void put(const T& value) const
        requires(!std::is_const_v<T>)
    {
        if (std::byte* const here = address()) [[likely]]
            std::memcpy(here, &value, sizeof(T));
        else
            lapwing_upc_put(place_, &value, sizeof(T));
    }
    /// get(), where a value is needed; +a[i] where the type of one is deduced.
    [[gnu::always_inline]] operator T() const { return get(); }
    /// As above.
    [[gnu::always_inline]] T operator+() const { return get(); }
    /// put(): of a value, or of another object's.
    const Reference& operator=(const T& value) const {
        put(value);
        return *this;
    }
    /// As above.
    const Reference& operator=(const Reference& other) const {
        put(other.get());
        return *this;
    }
    /// A get and a put: not atomic, as in UPC.
    const Reference& operator+=(const T& value) const {
        put(static_cast<T>(get() + value));
        return *this;
    }
    const Reference& operator-=(const T& value) const {
        put(static_cast<T>(get() - value));
        return *this;
    }
    const Reference& operator*=(const T& value) const {
        put(static_cast<T>(get() * value));
        return *this;
    }
    /// The same with a fence on both sides.
    [[nodiscard]] T get_strict() const {
        std::remove_const_t<T> value;
        lapwing_upc_get_strict(&value, place_, sizeof(T));
        return value;
    }
    void put_strict(const T& value) const
        requires(!std::is_const_v<T>)
    {
        lapwing_upc_put_strict(place_, &value, sizeof(T));
    }

private:
    /// Of objects within the part; the others' accesses say what is wrong.
    [[nodiscard, gnu::always_inline]] std::byte* address() const noexcept {
        if (static_cast<int>(place_.thread) >= threads() || place_.address - 1 >= heap_access.map.uniform_bytes - sizeof(T)) [[unlikely]]
            return nullptr;
        std::byte* const base = heap_access.map.base(static_cast<int>(place_.thread));
        return base == nullptr ? nullptr : base + place_.address;
    }

    lapwing_upc_pointer place_;
};

/// `shared [B] T*`: a pointer-to-shared whose arithmetic follows blocks of B elements. It is trivially copyable and may lie in shared memory.
template <TriviallyCopyable T, std::size_t B = 1>
class Pointer {
public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    static constexpr std::size_t block_size = B; ///< in elements

    /// The null pointer.
    Pointer() noexcept = default;
    explicit Pointer(const lapwing_upc_pointer& pointer) noexcept : pointer_{pointer} {}
    /// A cast between types or block sizes: with another block size the phase becomes 0.
    template <class U, std::size_t C>
        requires(!std::is_same_v<Pointer<U, C>, Pointer>)
    explicit Pointer(const Pointer<U, C>& other) noexcept : pointer_{C == B ? other.raw() : lapwing_upc_pointer{other.raw().address, other.raw().thread, 0}} {}

    /// As lapwing/upc.h has it; and whether it is not null.
    [[nodiscard]] const lapwing_upc_pointer& raw() const noexcept { return pointer_; }
    /// As above.
    [[nodiscard]] explicit operator bool() const noexcept { return pointer_.address != 0; }

    /// The object, and that of so many elements further on.
    [[nodiscard, gnu::always_inline]] Reference<T> operator*() const noexcept { return Reference<T>{pointer_}; }
    /// As above.
    [[nodiscard, gnu::always_inline]] Reference<T> operator[](std::ptrdiff_t i) const noexcept { return *(*this + i); }

    /// Pointers by elements: through a block, then to the next thread's.
    [[nodiscard, gnu::always_inline]] Pointer operator+(std::ptrdiff_t elements) const noexcept {
        return Pointer{heap_access.threads.add(pointer_, sizeof(T), B, elements)};
    }
    /// As above.
    [[nodiscard]] Pointer operator-(std::ptrdiff_t elements) const noexcept { return *this + -elements; }
    /// As above.
    Pointer& operator+=(std::ptrdiff_t elements) noexcept { return *this = *this + elements; }
    /// As above.
    Pointer& operator-=(std::ptrdiff_t elements) noexcept { return *this = *this - elements; }
    /// As above.
    Pointer& operator++() noexcept { return *this += 1; }
    /// As above.
    Pointer& operator--() noexcept { return *this -= 1; }
    /// As above.
    Pointer operator++(int) noexcept {
        const Pointer before = *this;
        ++*this;
        return before;
    }
    /// As above.
    Pointer operator--(int) noexcept {
        const Pointer before = *this;
        --*this;
        return before;
    }
    /// Elements between two pointers into one object.
    [[nodiscard]] std::ptrdiff_t operator-(const Pointer& other) const noexcept {
        return heap_access.threads.difference(pointer_, other.pointer_, sizeof(T), B);
    }
    /// Equal when they point to the same object, whatever the phases; ordered only within one object.
    [[nodiscard]] friend bool operator==(const Pointer& a, const Pointer& b) noexcept {
        return a.pointer_.address == b.pointer_.address && a.pointer_.thread == b.pointer_.thread;
    }
    [[nodiscard]] friend std::strong_ordering operator<=>(const Pointer& a, const Pointer& b) noexcept { return a - b <=> 0; }

    /// upc_threadof, upc_phaseof, upc_addrfield, upc_resetphase.
    [[nodiscard]] int threadof() const noexcept { return static_cast<int>(pointer_.thread); }
    [[nodiscard]] std::size_t phaseof() const noexcept { return pointer_.phase; }
    [[nodiscard]] std::size_t addrfield() const noexcept { return pointer_.address; }
    [[nodiscard]] Pointer resetphase() const noexcept { return Pointer{{pointer_.address, pointer_.thread, 0}}; }
    /// upc_cast: as a pointer-to-private, which own objects always have; null where the thread cannot load and store the object.
    [[nodiscard]] T* cast() const { return reinterpret_cast<T*>(lapwing_upc_cast(pointer_)); }

private:
    lapwing_upc_pointer pointer_{};
};

/// `shared [B] T a[n]`: an array whose blocks of B elements are dealt to the threads in turn; `indefinite`: all with thread 0. Not cleared.
template <TriviallyCopyable T, std::size_t B = 1>
class SharedArray {
public:
    /// Collective.
    explicit SharedArray(std::size_t size)
        : begin_{B == indefinite ? lapwing_upc_all_alloc(1, size * sizeof(T)) : lapwing_upc_all_alloc(size == 0 ? 0 : (size - 1) / block + 1, block * sizeof(T))},
          size_{size} {}
    SharedArray(const SharedArray&) = delete;
    SharedArray& operator=(const SharedArray&) = delete;
    /// Collective.
    ~SharedArray() { lapwing_upc_all_free(begin_.raw()); }

    /// Elements of all threads.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// A pointer to the first element, to element i, and the element itself.
    [[nodiscard]] Pointer<T, B> begin() const noexcept { return begin_; }
    /// As above.
    [[nodiscard]] Pointer<T, B> operator+(std::ptrdiff_t i) const noexcept { return begin_ + i; }
    /// As above.
    [[nodiscard, gnu::always_inline]] Reference<T> operator[](std::ptrdiff_t i) const noexcept { return begin_[i]; }
    /// Elements, and bytes, that a thread has: upc_affinitysize.
    [[nodiscard]] std::size_t size_at(int thread) const {
        return lapwing_upc_affinitysize(size_ * sizeof(T), B * sizeof(T), static_cast<std::size_t>(thread)) / sizeof(T);
    }
    /// The own elements as plain memory, one block behind the other.
    [[nodiscard]] T* local() const {
        return reinterpret_cast<T*>(lapwing_upc_cast({begin_.addrfield(), static_cast<std::uint32_t>(B == indefinite ? 0 : mythread()), 0}));
    }

private:
    static constexpr std::size_t block = B == indefinite ? 1 : B;

    Pointer<T, B> begin_;
    std::size_t size_;
};

/// upc_forall (i = begin; i < end; i++; i): each thread the i that are MYTHREAD modulo THREADS.
template <class Body>
void forall(std::int64_t begin, std::int64_t end, Body body) {
    const std::int64_t all = threads();
    std::int64_t first = (mythread() - begin % all) % all;
    if (first < 0) first += all;
    for (std::int64_t i = begin + first; i < end; i += all) body(i);
}
/// upc_forall (i = begin; i < end; i++; &a[i]): each thread the i whose elements it has. No thread looks at the others'.
template <class T, std::size_t B, class Body>
void forall(std::int64_t begin, std::int64_t end, const SharedArray<T, B>& a, Body body) {
    static_cast<void>(a);
    if constexpr (B == indefinite) {
        if (mythread() == 0)
            for (std::int64_t i = begin; i < end; ++i) body(i);
    } else {
        constexpr auto block = static_cast<std::int64_t>(B);
        const std::int64_t round = block * threads();
        for (std::int64_t start = begin / round * round + block * mythread(); start < end; start += round)
            for (std::int64_t i = start < begin ? begin : start; i < (start + block < end ? start + block : end); ++i) body(i);
    }
}

/// upc_barrier, anonymous and named, upc_notify, upc_wait, upc_fence.
inline void barrier() { lapwing_upc_barrier(nullptr); }
inline void barrier(int name) { lapwing_upc_barrier(&name); }
inline void notify() { lapwing_upc_notify(nullptr); }
inline void notify(int name) { lapwing_upc_notify(&name); }
inline void wait() { lapwing_upc_wait(nullptr); }
inline void wait(int name) { lapwing_upc_wait(&name); }
inline void fence() { lapwing_upc_fence(); }

/// `upc_lock_t* lock = upc_all_lock_alloc()`, freed at the end of its scope: both collective. Satisfies the standard's Lockable.
class Lock {
public:
    Lock() : lock_{lapwing_upc_all_lock_alloc()} {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { lapwing_upc_all_lock_free(lock_); }

    /// upc_lock, upc_lock_attempt, upc_unlock.
    void lock() { lapwing_upc_lock(lock_); }
    /// As above.
    [[nodiscard]] bool try_lock() { return lapwing_upc_lock_attempt(lock_) != 0; }
    /// As above.
    void unlock() { lapwing_upc_unlock(lock_); }

private:
    lapwing_upc_pointer lock_;
};

} // namespace lapwing::upc
