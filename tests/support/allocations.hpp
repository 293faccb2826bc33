// Takes the place of new and delete in a program, one source of which includes this and defines test::on_allocation().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace test {

/// Sees each allocation before it is made, and throws std::bad_alloc where it is to fail.
void on_allocation(std::size_t bytes);

// Sanitizers bring their own; the release builds test.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sees_allocations = false;
#else
inline constexpr bool sees_allocations = true;
#endif

} // namespace test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// GCC takes the pair of malloc() and this delete for a mismatch.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
// Not inlined: what the compiler sees of malloc there makes it warn of the code of others.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    test::on_allocation(bytes);
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    test::on_allocation(bytes);
    const auto unit = static_cast<std::size_t>(alignment);
    if (void* memory = std::aligned_alloc(unit, (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit))
        return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
