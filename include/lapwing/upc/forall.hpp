// Room: upc
#pragma once

#include <lapwing/range.hpp>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// upc_forall: loops whose iterations are divided among the threads. Loops nested in such a loop are not divided: each
/// thread executes all their iterations (UPC language specification 1.3, section 6.6.2).
namespace lapwing::upc {

namespace detail {

/// Marks, while it exists, that a loop divides its iterations among the threads.
class Sharing {
public:
    Sharing() noexcept { ++detail::heap_access.forall_depth; }
    Sharing(const Sharing&) = delete;
    Sharing& operator=(const Sharing&) = delete;
    ~Sharing() { --detail::heap_access.forall_depth; }
};

template <class Body>
void each(const Range& range, Body& body) {
    for (const std::int64_t i : range) body(i);
}

/// Calls `body` for the indices of [begin, end) whose elements have affinity to the thread, in an array in blocks of
/// `block` elements. `index(i, place)` converts an index and its position among the thread's elements to the body's
/// argument.
template <class Body, class MakeIndex>
[[gnu::always_inline]] inline void each_own(std::int64_t begin, std::int64_t end, std::int64_t block, Body& body,
                                            MakeIndex index) {
    const std::int64_t round = block * threads();
    if (block == 1) { // without a nested loop
        std::int64_t place = begin / round;
        std::int64_t i = place * round + mythread();
        if (i < begin) {
            i += round;
            ++place;
        }
        for (; i < end; i += round, ++place) body(index(i, place));
        return;
    }
    std::int64_t start = begin / round * round + block * mythread(); // the thread's block in the round of `begin`
    std::int64_t place = begin / round * block;
    for (; start < end; start += round, place += block) {
        const std::int64_t from = std::max(start, begin);
        const std::int64_t to = std::min(start + block, end);
        for (std::int64_t i = from; i < to; ++i) body(index(i, place + (i - start)));
    }
}

} // namespace detail

/// Affinity of a loop in which every thread executes every iteration: UPC's `continue`, and no affinity.
struct EveryThread {};
inline constexpr EveryThread every_thread{};

/// upc_forall (i = begin; i < end; i++; i): each thread executes the i that equal MYTHREAD modulo THREADS, among the
/// indices of a range, which may have a stride: `Range{0, n}.by(2)` is `i += 2`.
template <class Body>
    requires std::invocable<Body&, std::int64_t>
void forall(const Range& range, Body body) {
    if (detail::heap_access.forall_depth > 0) return detail::each(range, body);
    const detail::Sharing sharing;
    const std::int64_t all = threads();
    if (range.stride() == 1) {
        const std::int64_t end = range.first() + static_cast<std::int64_t>(range.size());
        std::int64_t offset = (mythread() - range.first() % all) % all;
        if (offset < 0) offset += all;
        for (std::int64_t i = range.first() + offset; i < end; i += all) body(i);
    } else {
        for (const std::int64_t i : range)
            if (((i % all) + all) % all == mythread()) body(i);
    }
}
/// As above.
template <class Body>
    requires std::invocable<Body&, std::int64_t>
void forall(std::int64_t begin, std::int64_t end, Body body) {
    forall(Range{begin, end}, body);
}
/// upc_forall (i = begin; i < end; i++; &a[i]): each thread executes the i whose elements have affinity to it, without
/// visiting the others. In a body that takes `auto i` the elements a[i], and b[i] of other arrays in blocks of B, are
/// plain memory (see OwnIndex).
template <class T, std::size_t B, class Body>
void forall(std::int64_t begin, std::int64_t end, const SharedArray<T, B, 1>& a, Body body) {
    if (detail::heap_access.forall_depth > 0) return detail::each(Range{begin, end}, body);
    const detail::Sharing sharing;
    const auto number = [](std::int64_t i, std::int64_t) { return i; };
    if (a.block_size() == indefinite) {
        if (mythread() == 0) detail::each(Range{begin, end}, body);
    } else if constexpr (B == dynamic_block || !std::is_invocable_v<Body&, OwnIndex<B>>) {
        detail::each_own(begin, end, static_cast<std::int64_t>(a.block_size()), body, number);
    } else {
        // Here, once, it is decided whether accesses must go through the runtime.
        if (detail::heap_access.near_count == 0)
            detail::each_own(begin, end, static_cast<std::int64_t>(B), body, number);
        else
            detail::each_own(begin, end, static_cast<std::int64_t>(B), body,
                             [](std::int64_t i, std::int64_t place) { return OwnIndex<B>{i, place}; });
    }
}
/// upc_forall (i = begin; i < end; i++; affinity(i)): each thread executes the i for which affinity(i) is a pointer to
/// an element of its own, or a number that equals MYTHREAD modulo THREADS: `forall(0, n, [&](std::int64_t i) { return
/// a[i]…; }, body)`. Every thread evaluates it for every i.
template <class Affinity, class Body>
    requires std::invocable<Affinity&, std::int64_t>
void forall(const Range& range, Affinity affinity, Body body) {
    if (detail::heap_access.forall_depth > 0) return detail::each(range, body);
    const detail::Sharing sharing;
    for (const std::int64_t i : range) {
        const auto where = affinity(i);
        if constexpr (std::integral<decltype(where)>) {
            const std::int64_t all = threads();
            if (((static_cast<std::int64_t>(where) % all) + all) % all == mythread()) body(i);
        } else {
            if (where.threadof() == mythread()) body(i);
        }
    }
}
/// As above.
template <class Affinity, class Body>
    requires std::invocable<Affinity&, std::int64_t>
void forall(std::int64_t begin, std::int64_t end, Affinity affinity, Body body) {
    forall(Range{begin, end}, affinity, body);
}
/// upc_forall (i = begin; i < end; i++; continue): every thread executes all of them; nested loops may be divided.
template <class Body>
void forall(std::int64_t begin, std::int64_t end, EveryThread /*affinity*/, Body body) {
    detail::each(Range{begin, end}, body);
}

} // namespace lapwing::upc
