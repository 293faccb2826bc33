// Room: upc
#pragma once

#include <lapwing/detail/config.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace lapwing::upc {

namespace detail {

/// Elements from a pointer on that follow each other in memory which the thread can load and store.
template <class T>
struct Stretch {
    T* begin = nullptr;
    std::uint64_t count = 0; ///< 0: the first one cannot
};

template <class T, std::size_t B>
[[nodiscard]] Stretch<ValueOf<T>> stretch(const Pointer<T, B>& p, std::uint64_t most) noexcept {
    using Value = ValueOf<T>;
    if constexpr (Qualified<T>::order == Order::strict || assertion_level >= 2) {
        return {};
    } else {
        const lapwing_upc_pointer& place = p.raw();
        const std::uint32_t near = place.thread - heap_access.near_first;
        const std::uint64_t into_heap = place.address - heap_access.heap_begin; // wraps around before it
        if (near >= heap_access.near_count || into_heap >= heap_access.heap_bytes) return {};
        const std::uint64_t block = p.block_size();
        const std::uint64_t in_block = block == indefinite ? most : block - place.phase;
        const std::uint64_t in_heap = (heap_access.heap_bytes - into_heap) / sizeof(Value);
        return {reinterpret_cast<Value*>(heap_access.bases[near] + place.address), std::min({most, in_block, in_heap})};
    }
}

template <class Body, class... T>
[[gnu::always_inline]] inline void walk_stretch(std::uint64_t count, Body& body, T* const... begin) {
    for (std::uint64_t k = 0; k < count; ++k) body(begin[k]...);
}

} // namespace detail

/// `for (i = 0; i < n; i++, p++, q++) body(*p, *q)`: n steps of pointers that walk together. Inside of a block whose
/// elements the thread can load and store, the pointers are plain ones, and the body gets elements (`T&`), in a loop
/// that a compiler can vectorise; elsewhere it gets References. So the body takes `auto&&`:
///
/// ```cpp
/// upc::walk(n, [](auto&& y, auto&& x) { y = y + 3.0 * x; }, y, x);
/// ```
///
/// Pointers of blocks of 1 gain nothing. Where the body opens a scope that makes accesses strict, or records them, that
/// holds from the next block on.
template <class Body, class... T, std::size_t... B>
void walk(std::int64_t n, Body body, Pointer<T, B>... pointers) {
    while (n > 0) {
        const std::tuple stretches{detail::stretch(pointers, static_cast<std::uint64_t>(n))...};
        const std::uint64_t count = std::apply([](const auto&... one) { return std::min({one.count...}); }, stretches);
        if (count == 0) {
            body(*pointers...);
            ((++pointers), ...);
            --n;
            continue;
        }
        std::apply([&](const auto&... one) { detail::walk_stretch(count, body, one.begin...); }, stretches);
        n -= static_cast<std::int64_t>(count);
        ((pointers += static_cast<std::ptrdiff_t>(count)), ...);
    }
}

} // namespace lapwing::upc
