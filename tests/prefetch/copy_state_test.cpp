// Reads of copies that another thread fills: they see all or nothing of a fill.
#include <lapwing/detail/copy_state.hpp>

#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

using lapwing::detail::prefetching::CopyState;

// The copy races with the fill on purpose, which ThreadSanitizer does not see in CopyState, and would see here.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a read beside fills returns the bytes of one fill") {
    constexpr std::uint64_t fills = 20'000;
    constexpr std::size_t words = 16;
    CopyState state;
    alignas(64) std::array<std::uint64_t, words> copy{};
    std::atomic<bool> over{false};
    std::thread filler{[&] {
        for (std::uint64_t fill = 1; fill <= fills; ++fill) {
            state.expire();
            const std::uint64_t number = state.wanted();
            state.begin_fill();
            for (std::uint64_t& word : copy) std::atomic_ref{word}.store(fill, std::memory_order_relaxed);
            state.end_fill(number);
        }
        over.store(true, std::memory_order_relaxed);
    }};
    std::uint64_t torn = 0;
    std::uint64_t before = 0;
    while (!over.load(std::memory_order_relaxed)) {
        std::array<std::uint64_t, words> seen{};
        if (!state.read_bytes(reinterpret_cast<const std::byte*>(copy.data()), std::as_writable_bytes(std::span{seen})))
            continue;
        for (const std::uint64_t word : seen) torn += word != seen.front();
        torn += seen.front() < before; // fills are seen in their order
        before = seen.front();
    }
    filler.join();
    CHECK(torn == 0);
    std::uint64_t last = 0;
    REQUIRE(state.read(copy.data(), last));
    CHECK(last == fills);
}
#endif
