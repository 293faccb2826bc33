// Implements bupc_memory.h and bupc_atomics.h: Berkeley UPC's copies between memory in pieces, and its atomics.
#include "memory_pieces.hpp"

#include <lapwing/upc/array.hpp>
#include <lapwing/upc/atomic.h>
#include <lapwing/upc/inline.h>
#include <lapwing/upc/program.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

using upcc::LocalPiece;
using upcc::Memory;
using upcc::SharedPiece;

namespace {

[[nodiscard]] void* behind(const void* address, std::size_t bytes) {
    return const_cast<char*>(static_cast<const char*>(address)) + bytes;
}
[[nodiscard]] lapwing_upc_pointer behind(lapwing_upc_pointer address, std::size_t bytes) {
    address.address += bytes;
    address.phase = 0;
    return address;
}

template <class Address>
using PieceAt = std::conditional_t<std::is_pointer_v<Address>, LocalPiece, SharedPiece>;

[[nodiscard]] LocalPiece piece(const void* address, std::size_t bytes) { return {behind(address, 0), bytes}; }
[[nodiscard]] SharedPiece piece(const lapwing_upc_pointer& address, std::size_t bytes) {
    return {behind(address, 0), 0, bytes};
}

template <class Piece>
[[nodiscard]] Memory memory(const char* call, const std::vector<Piece>& pieces) {
    if constexpr (std::is_same_v<Piece, LocalPiece>)
        for (const LocalPiece& piece : pieces) lapwing_upc_require_private(call, piece.address, piece.bytes);
    return Memory{pieces.data(), pieces.size()};
}

/// Addresses of equally long pieces.
template <class Address>
[[nodiscard]] Memory indexed(const char* call, std::size_t count, const Address* addresses, std::size_t bytes) {
    lapwing_upc_require_private(call, addresses, count * sizeof *addresses);
    std::vector<PieceAt<Address>> pieces;
    for (std::size_t k = 0; k < count; ++k) pieces.push_back(piece(addresses[k], bytes));
    return memory(call, pieces);
}

template <class Address>
[[nodiscard]] Memory regular(const char* call, const Address& first, std::size_t bytes, std::size_t stride,
                             std::size_t count) {
    std::vector<PieceAt<Address>> pieces;
    if constexpr (std::is_pointer_v<Address>) lapwing_upc_require_private(call, first, bytes * count);
    for (std::size_t k = 0; k < count; ++k) pieces.push_back(piece(behind(first, k * stride), bytes));
    return memory(call, pieces);
}

/// counts[0] bytes, counts[1] times with a stride of strides[0] bytes, and so on.
template <class Address>
void add_strided(const Address& first, const std::size_t* strides, const std::size_t* counts, std::size_t levels,
                 std::vector<PieceAt<Address>>& pieces) {
    if (levels == 0) return pieces.push_back(piece(first, counts[0]));
    for (std::size_t k = 0; k < counts[levels]; ++k)
        add_strided(behind(first, k * strides[levels - 1]), strides, counts, levels - 1, pieces);
}
template <class Address>
[[nodiscard]] Memory strided(const char* call, const Address& first, const std::size_t* strides,
                             const std::size_t* counts, std::size_t levels) {
    std::vector<PieceAt<Address>> pieces;
    lapwing_upc_require_private(call, counts, (levels + 1) * sizeof *counts);
    lapwing_upc_require_private(call, strides, levels * sizeof *strides);
    if constexpr (std::is_pointer_v<Address>)
        if (std::find(counts, counts + levels + 1, std::size_t{0}) == counts + levels + 1)
            lapwing_upc_require_private(call, first, counts[0]);
    add_strided(first, strides, counts, levels, pieces);
    return memory(call, pieces);
}

struct SharedRange { // bupc_smemvec_t
    lapwing_upc_pointer address;
    std::size_t bytes;
};
struct LocalRange { // bupc_pmemvec_t
    void* address;
    std::size_t bytes;
};
template <class Range>
[[nodiscard]] Memory listed(const char* call, std::size_t count, const Range* ranges) {
    lapwing_upc_require_private(call, ranges, count * sizeof *ranges);
    std::vector<PieceAt<decltype(Range::address)>> pieces;
    for (std::size_t k = 0; k < count; ++k) pieces.push_back(piece(ranges[k].address, ranges[k].bytes));
    return memory(call, pieces);
}

/// A domain for each numeric type with atomics, made at the start, in which all threads take part.
std::array<lapwing_upc_atomicdomain*, LAPWING_UPC_PTS> domains{};

} // namespace

extern "C" {

void bupc_init(int* argc, char*** argv);
void bupc_init_reentrant(int* argc, char*** argv, int (*program)(int, char**));
void bupc_exit(int status);
int bupc_extern_mythread();
int bupc_extern_threads();
char* bupc_extern_getenv(const char* name);
void bupc_extern_notify(int name);
void bupc_extern_wait(int name);
void bupc_extern_barrier(int name);
void* bupc_extern_alloc(std::size_t bytes);
void* bupc_extern_all_alloc(std::size_t blocks, std::size_t bytes);
void bupc_extern_free(void* address, int thread);
void bupc_extern_all_free(void* address, int thread);
lapwing_upc_pointer lapwing_upcc_local_to_shared(const void* address, int thread, int phase);

} // extern "C"

void bupc_init(int*, char***) {}
void bupc_init_reentrant(int* argc, char*** argv, int (*program)(int, char**)) {
    lapwing_upc_require_private("bupc_init_reentrant", argc, sizeof *argc);
    lapwing_upc_require_private("bupc_init_reentrant", argv, sizeof *argv);
    lapwing_upc_require_private("bupc_init_reentrant", reinterpret_cast<const void*>(program), 1);
    bupc_exit(program(*argc, *argv));
}
void bupc_exit(int status) { std::exit(status); }

namespace {

/// What is not in shared memory is left to the call that frees it, which refuses it.
lapwing_upc_pointer allocated_at(const void* address, int thread) {
    const lapwing_upc_pointer place = lapwing_upcc_local_to_shared(address, thread, 0);
    if (place.address != 0 || address == nullptr) return place;
    return {reinterpret_cast<std::uintptr_t>(address), static_cast<std::uint32_t>(thread), 0};
}

} // namespace

// Of bupc_extern.h, for callers in C and C++.
int bupc_extern_mythread() { return lapwing_upc_mythread(); }
int bupc_extern_threads() { return lapwing_upc_threads(); }
char* bupc_extern_getenv(const char* name) {
    lapwing_upc_require_private("bupc_getenv", name, 1);
    return std::getenv(name);
}
void bupc_extern_notify(int name) { lapwing_upc_notify(&name); }
void bupc_extern_wait(int name) { lapwing_upc_wait(&name); }
void bupc_extern_barrier(int name) { lapwing_upc_barrier(&name); }
void* bupc_extern_alloc(std::size_t bytes) { return lapwing_upc_cast(lapwing_upc_alloc(bytes)); }
void* bupc_extern_all_alloc(std::size_t blocks, std::size_t bytes) {
    lapwing_upc_pointer place = lapwing_upc_all_alloc(blocks, bytes);
    if (place.address == 0) return nullptr;
    place.thread = static_cast<std::uint32_t>(lapwing_upc_mythread());
    return lapwing_upc_cast(place);
}
void bupc_extern_free(void* address, int thread) { lapwing_upc_free(allocated_at(address, thread)); }
void bupc_extern_all_free(void* address, int thread) { lapwing_upc_all_free(allocated_at(address, thread)); }

extern "C" {

/// Called at the start of a program that uses anything of this file.
void lapwing_upcc_start_berkeley();
void lapwing_upcc_start_berkeley() {
    constexpr int exchanges = LAPWING_UPC_GET | LAPWING_UPC_SET | LAPWING_UPC_CSWAP | LAPWING_UPC_ADD;
    constexpr int bits = LAPWING_UPC_AND | LAPWING_UPC_OR | LAPWING_UPC_XOR;
    for (const lapwing_upc_type type : {LAPWING_UPC_INT, LAPWING_UPC_UINT, LAPWING_UPC_LONG, LAPWING_UPC_ULONG,
                                        LAPWING_UPC_INT32, LAPWING_UPC_UINT32, LAPWING_UPC_INT64, LAPWING_UPC_UINT64})
        domains[type] = lapwing_upc_all_atomicdomain_alloc(type, exchanges | bits, 0);
    for (const lapwing_upc_type type : {LAPWING_UPC_FLOAT, LAPWING_UPC_DOUBLE})
        domains[type] = lapwing_upc_all_atomicdomain_alloc(type, exchanges, 0);
}

void lapwing_upcc_atomic(int type, int operation, int strict, void* before, lapwing_upc_pointer target,
                         const void* first, const void* second);
void lapwing_upcc_atomic(int type, int operation, int strict, void* before, lapwing_upc_pointer target,
                         const void* first, const void* second) {
    const auto perform = strict != 0 ? lapwing_upc_atomic_strict : lapwing_upc_atomic_relaxed;
    perform(domains.at(static_cast<std::size_t>(type)), before, static_cast<lapwing_upc_op>(operation), target, first,
            second);
}

/// The pointer-to-shared to memory that the calling thread can load and store; null for anything else.
lapwing_upc_pointer lapwing_upcc_inverse_cast(const void* address);
lapwing_upc_pointer lapwing_upcc_inverse_cast(const void* address) {
    const auto& heap = lapwing::upc::detail::heap_access;
    const auto& map = lapwing::upc::detail::heap_window().map();
    // If the threads of the node are not consecutive, only the local part.
    const bool in_a_row = map.node_index == nullptr;
    std::byte* const* const bases = in_a_row ? map.bases : &map.own;
    const int first = in_a_row ? map.node_first : map.own_rank;
    for (int k = 0; k < (in_a_row ? map.node_count : 1); ++k) {
        const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - bases[k]);
        if (offset - heap.heap_begin < heap.heap_bytes) return {offset, static_cast<std::uint32_t>(first + k), 0};
    }
    return {0, 0, 0};
}

/// Memory of the calling thread's part, as a pointer-to-shared with that thread and phase.
lapwing_upc_pointer lapwing_upcc_local_to_shared(const void* address, int thread, int phase) {
    lapwing_upc_pointer place = lapwing_upcc_inverse_cast(address);
    if (place.address == 0) return place;
    place.thread = static_cast<std::uint32_t>(thread);
    place.phase = static_cast<std::uint32_t>(phase);
    return place;
}

#define LAPWING_UPCC_COPIES(kind, Destination, Source, DestinationRange, SourceRange)                               \
    void lapwing_upcc_##kind##_vlist(std::size_t to_count, const DestinationRange* to, std::size_t from_count,      \
                                     const SourceRange* from) {                                                     \
        upcc::copy(listed("bupc_" #kind "_vlist", to_count, to), listed("bupc_" #kind "_vlist", from_count, from)); \
    }                                                                                                               \
    void lapwing_upcc_##kind##_ilist(std::size_t to_count, const Destination* to, std::size_t to_bytes,             \
                                     std::size_t from_count, const Source* from, std::size_t from_bytes) {          \
        upcc::copy(indexed("bupc_" #kind "_ilist", to_count, to, to_bytes),                                         \
                   indexed("bupc_" #kind "_ilist", from_count, from, from_bytes));                                  \
    }                                                                                                               \
    void lapwing_upcc_##kind##_fstrided(Destination to, std::size_t to_bytes, std::size_t to_stride,                \
                                        std::size_t to_count, Source from, std::size_t from_bytes,                  \
                                        std::size_t from_stride, std::size_t from_count) {                          \
        upcc::copy(regular("bupc_" #kind "_fstrided", to, to_bytes, to_stride, to_count),                           \
                   regular("bupc_" #kind "_fstrided", from, from_bytes, from_stride, from_count));                  \
    }                                                                                                               \
    void lapwing_upcc_##kind##_strided(Destination to, const std::size_t* to_strides, Source from,                  \
                                       const std::size_t* from_strides, const std::size_t* counts,                  \
                                       std::size_t levels) {                                                        \
        upcc::copy(strided("bupc_" #kind "_strided", to, to_strides, counts, levels),                               \
                   strided("bupc_" #kind "_strided", from, from_strides, counts, levels));                          \
    }
LAPWING_UPCC_COPIES(memcpy, lapwing_upc_pointer, lapwing_upc_pointer, SharedRange, SharedRange)
LAPWING_UPCC_COPIES(memput, lapwing_upc_pointer, void*, SharedRange, LocalRange)
LAPWING_UPCC_COPIES(memget, void*, lapwing_upc_pointer, LocalRange, SharedRange)
#undef LAPWING_UPCC_COPIES

} // extern "C"
