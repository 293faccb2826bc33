// Room: upc
#pragma once

#include <lapwing/upc/pointer.hpp>

#include <cstddef>
#include <limits>
#include <utility>

namespace lapwing::upc {

namespace detail {

/// Bytes of so many elements; of more than 2^64, the largest number, which every call refuses.
template <class T>
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return count <= most / element_bytes<T>() ? count * element_bytes<T>() : most;
}

} // namespace detail

/// upc_all_alloc, collective, and upc_global_alloc: `blocks` blocks of `block_size` elements, assigned to the threads
/// in turn; the pointer has the block size B, which equals `block_size` in most programs. Not cleared.
template <class T, std::size_t B = 1>
[[nodiscard]] Pointer<T, B> all_alloc(std::size_t blocks, std::size_t block_size = B) {
    return Pointer<T, B>{lapwing_upc_all_alloc(blocks, detail::bytes_of<T>(block_size))};
}
/// As above.
template <class T, std::size_t B = 1>
[[nodiscard]] Pointer<T, B> global_alloc(std::size_t blocks, std::size_t block_size = B) {
    return Pointer<T, B>{lapwing_upc_global_alloc(blocks, detail::bytes_of<T>(block_size))};
}
/// upc_alloc: `count` elements with affinity to the calling thread; the pointer has an indefinite block size.
template <class T>
[[nodiscard]] Pointer<T, indefinite> alloc(std::size_t count) {
    return Pointer<T, indefinite>{lapwing_upc_alloc(detail::bytes_of<T>(count))};
}
/// upc_free, by any thread, and upc_all_free, collective: of a pointer that one of these returned, or null.
inline void free(const GenericPointer& p) { lapwing_upc_free(p.raw()); }
/// As above.
inline void all_free(const GenericPointer& p) { lapwing_upc_all_free(p.raw()); }

/// upc_memget, upc_memput, upc_memcpy and upc_memset: for bytes with affinity to one thread. Relaxed; completion as
/// described in lapwing/upc.h.
inline void memget(void* destination, const GenericPointer& source, std::size_t bytes) {
    lapwing_upc_memget(destination, source.raw(), bytes);
}
/// As above.
inline void memput(const GenericPointer& destination, const void* source, std::size_t bytes) {
    lapwing_upc_memput(destination.raw(), source, bytes);
}
/// As above.
inline void memcpy(const GenericPointer& destination, const GenericPointer& source, std::size_t bytes) {
    lapwing_upc_memcpy(destination.raw(), source.raw(), bytes);
}
/// As above.
inline void memset(const GenericPointer& destination, int value, std::size_t bytes) {
    lapwing_upc_memset(destination.raw(), value, bytes);
}

/// upc_handle_t: a transfer that was started. Once it is known to be complete, memget's bytes have arrived, and
/// memput's source may be changed. The memory must remain valid until then. The destructor waits.
class [[nodiscard]] Handle {
public:
    /// A complete transfer.
    Handle() noexcept = default;
    explicit Handle(lapwing_upc_handle handle) noexcept : handle_{handle} {}
    Handle(Handle&& other) noexcept : handle_{std::exchange(other.handle_, LAPWING_UPC_COMPLETE_HANDLE)} {}
    Handle& operator=(Handle&& other) {
        wait();
        handle_ = std::exchange(other.handle_, LAPWING_UPC_COMPLETE_HANDLE);
        return *this;
    }
    ~Handle() { wait(); }

    /// upc_sync: returns when it is complete.
    void wait() { lapwing_upc_sync(std::exchange(handle_, LAPWING_UPC_COMPLETE_HANDLE)); }
    /// upc_sync_attempt: whether it is; makes progress.
    [[nodiscard]] bool test() {
        if (lapwing_upc_sync_attempt(handle_) == 0) return false;
        handle_ = LAPWING_UPC_COMPLETE_HANDLE;
        return true;
    }

private:
    lapwing_upc_handle handle_ = LAPWING_UPC_COMPLETE_HANDLE;
};

/// upc_memget_nb, upc_memput_nb, upc_memcpy_nb, upc_memset_nb.
inline Handle memget_nb(void* destination, const GenericPointer& source, std::size_t bytes) {
    return Handle{lapwing_upc_memget_nb(destination, source.raw(), bytes)};
}
/// As above.
inline Handle memput_nb(const GenericPointer& destination, const void* source, std::size_t bytes) {
    return Handle{lapwing_upc_memput_nb(destination.raw(), source, bytes)};
}
/// As above.
inline Handle memcpy_nb(const GenericPointer& destination, const GenericPointer& source, std::size_t bytes) {
    return Handle{lapwing_upc_memcpy_nb(destination.raw(), source.raw(), bytes)};
}
/// As above.
inline Handle memset_nb(const GenericPointer& destination, int value, std::size_t bytes) {
    return Handle{lapwing_upc_memset_nb(destination.raw(), value, bytes)};
}
/// The implicit forms, upc_memget_nbi and the like. synci() completes all of them; a barrier or a fence does not.
inline void memget_nbi(void* destination, const GenericPointer& source, std::size_t bytes) {
    lapwing_upc_memget_nbi(destination, source.raw(), bytes);
}
/// As above.
inline void memput_nbi(const GenericPointer& destination, const void* source, std::size_t bytes) {
    lapwing_upc_memput_nbi(destination.raw(), source, bytes);
}
/// As above.
inline void memcpy_nbi(const GenericPointer& destination, const GenericPointer& source, std::size_t bytes) {
    lapwing_upc_memcpy_nbi(destination.raw(), source.raw(), bytes);
}
/// As above.
inline void memset_nbi(const GenericPointer& destination, int value, std::size_t bytes) {
    lapwing_upc_memset_nbi(destination.raw(), value, bytes);
}
/// upc_synci, and upc_synci_attempt: whether all are complete.
inline void synci() { lapwing_upc_synci(); }
/// As above.
[[nodiscard]] inline bool synci_attempt() { return lapwing_upc_synci_attempt() != 0; }

/// A hint that `count` elements starting at p, of one thread, will soon be read: with a cache they are requested now.
template <class T, std::size_t B>
void prefetch(const Pointer<T, B>& p, std::size_t count = 1) {
    lapwing_upc_prefetch(p.raw(), detail::bytes_of<T>(count));
}

} // namespace lapwing::upc
