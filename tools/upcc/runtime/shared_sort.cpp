// Implements upc_all_sort, which the reference implementation of UPC's collectives and other compilers have beside
// those of the specification.
#include <lapwing/upc.h>
#include <lapwing/upc/inline.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

extern "C" {

/// Collective. Thread 0 sorts a copy in its own part of the shared memory, since the comparison takes
/// pointers-to-shared.
void lapwing_upcc_all_sort(lapwing_upc_pointer array, std::size_t element_bytes, std::size_t elements,
                           std::size_t block_size, int (*compare)(lapwing_upc_pointer, lapwing_upc_pointer), int flags);
void lapwing_upcc_all_sort(lapwing_upc_pointer array, std::size_t element_bytes, std::size_t elements,
                           std::size_t block_size, int (*compare)(lapwing_upc_pointer, lapwing_upc_pointer), int) {
    lapwing_upc_require_private("upc_all_sort", reinterpret_cast<const void*>(compare), 1);
    lapwing_upc_barrier(nullptr);
    if (lapwing_upc_mythread() == 0 && elements > 1) {
        std::size_t bytes = 0; // more than 2^64 are refused as the largest number
        if (__builtin_mul_overflow(elements, element_bytes, &bytes)) bytes = SIZE_MAX;
        const lapwing_upc_pointer copies = lapwing_upc_alloc(bytes);
        auto* const memory = static_cast<std::byte*>(lapwing_upc_cast(copies));
        const auto place = [&](std::size_t k) {
            return lapwing_upc_add(array, element_bytes, block_size, static_cast<std::ptrdiff_t>(k));
        };
        const auto copy = [&](std::size_t k) {
            lapwing_upc_pointer at = copies;
            at.address += k * element_bytes;
            return at;
        };
        for (std::size_t k = 0; k < elements; ++k) lapwing_upc_get(memory + k * element_bytes, place(k), element_bytes);
        std::vector<std::size_t> order(elements);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return compare(copy(a), copy(b)) < 0; });
        for (std::size_t k = 0; k < elements; ++k)
            lapwing_upc_put(place(k), memory + order[k] * element_bytes, element_bytes);
        lapwing_upc_free(copies);
    }
    lapwing_upc_barrier(nullptr);
}

} // extern "C"
