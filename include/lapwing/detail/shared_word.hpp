// Room: support
#pragma once

#include <atomic>
#include <type_traits>

#if defined(__SANITIZE_THREAD__)
#define LAPWING_THREADS_ARE_WATCHED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LAPWING_THREADS_ARE_WATCHED
#endif
#endif

namespace lapwing::detail::support {

/// Loads a word that other threads store to atomically, as a relaxed atomic load does. Compilers take an atomic load
/// for one that may change all memory, and load everything else again that a loop needs; a volatile one is the same
/// instruction without that.
template <class T>
    requires(std::is_scalar_v<T> && sizeof(T) <= sizeof(void*))
[[nodiscard, gnu::always_inline]] inline T load_shared(const T& word) noexcept {
#if defined(LAPWING_THREADS_ARE_WATCHED)
    return std::atomic_ref{const_cast<T&>(word)}.load(std::memory_order_relaxed);
#else
    return static_cast<const volatile T&>(word);
#endif
}

#undef LAPWING_THREADS_ARE_WATCHED

} // namespace lapwing::detail::support
