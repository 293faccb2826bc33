#pragma once

#include "bindings/c/call.hpp"

#include "src/support/mutex.hpp"

#include <lapwing/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

/// Objects of the C interface. Each begins with a mark that says which kind it is and that it exists. Memory of freed
/// objects is reused only after some hundred others, so that the use of a freed handle is nearly always recognised.
namespace lapwing::detail::bindings {

inline constexpr std::uint64_t freed_mark = 0x6c70775f66726565; // "lpw_free"

/// Base of all objects: `T` has a static name.
template <class T>
struct Object {
    std::uint64_t mark = live_mark();

    /// FNV-1a, by Fowler, Noll and Vo, of the kind's name.
    [[nodiscard]] static constexpr std::uint64_t live_mark() noexcept {
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const char* letter = T::object_name; *letter != '\0'; ++letter)
            hash = (hash ^ static_cast<unsigned char>(*letter)) * 0x100000001b3;
        return hash;
    }
};

[[noreturn]] void throw_bad_handle(const void* handle, std::uint64_t mark, const char* name);

/// The mark at a handle; 0 for a null pointer.
[[nodiscard]] inline std::uint64_t mark_of(const void* handle) noexcept {
    std::uint64_t mark = 0;
    if (handle != nullptr) std::memcpy(&mark, handle, sizeof mark);
    return mark;
}
/// Whether a handle is one of an object of its kind.
template <class T>
[[nodiscard]] bool is_live(const T* handle) noexcept {
    return mark_of(handle) == T::live_mark();
}

/// The object of a handle. Throws UsageError for a null pointer and for one that was freed.
template <class T>
[[nodiscard]] T& use(T* handle) {
    if (!is_live(handle)) [[unlikely]]
        throw_bad_handle(handle, mark_of(handle), T::object_name);
    return *handle;
}

template <class T>
class Handles {
public:
    template <class... Arguments>
    [[nodiscard]] static T* make(Arguments&&... arguments) {
        void* const memory = ::operator new(sizeof(T), std::align_val_t{alignof(T)});
        try {
            return ::new (memory) T{std::forward<Arguments>(arguments)...};
        } catch (...) {
            release(memory);
            throw;
        }
    }
    /// Ends an object. Not for null.
    static void end(T* object) noexcept {
        object->~T();
        void* const memory = object;
        std::memcpy(memory, &freed_mark, sizeof freed_mark);
        instance().keep(memory);
    }

private:
    static constexpr std::size_t kept_after_end = 256;

    [[nodiscard]] static Handles& instance() {
        static auto& handles = *new Handles; // never destroyed: programs may free handles at exit
        return handles;
    }
    static void release(void* memory) noexcept { ::operator delete(memory, std::align_val_t{alignof(T)}); }

    Handles() = default;
    void keep(void* memory) noexcept {
        try {
            const std::lock_guard lock{mutex_};
            freed_.push_back(memory);
            if (freed_.size() <= kept_after_end) return;
            memory = freed_.front();
            freed_.pop_front();
        } catch (...) { // no memory for the list
        }
        release(memory);
    }

    support::Mutex mutex_{support::LockRank::leaf};
    std::deque<void*> freed_;
};

/// The end of a function that frees an object: the program's pointer becomes null.
template <class T>
void end_handle(T** handle) noexcept {
    T* const object = std::exchange(*handle, nullptr);
    if (object != nullptr) Handles<T>::end(object);
}

} // namespace lapwing::detail::bindings
