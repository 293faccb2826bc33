// The out-of-line part of the accesses of lapwing/upc.hpp.
#include "upc/guarded.hpp"
#include "upc/program.hpp"

#include <lapwing/error.hpp>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/prefetched.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace lapwing::upc {

namespace {

[[nodiscard]] bool is_strict(detail::Order order) noexcept {
    return order == detail::Order::strict ||
           (order == detail::Order::as_the_program && detail::heap_access.consistency == Consistency::strict);
}

} // namespace

ConsistencyScope::ConsistencyScope(Consistency consistency) : before_{detail::heap_access.consistency} {
    guarded([&] { program("a scope of strict or relaxed accesses").set_consistency(consistency); });
}
ConsistencyScope::~ConsistencyScope() {
    guarded([&] { program("a scope of strict or relaxed accesses").set_consistency(before_); });
}

Team& runtime() {
    return guarded([]() -> Team& { return program("runtime").team(); });
}

StatisticsValues statistics() {
    return guarded([] { return program("statistics").heap().statistics(); });
}

namespace detail {

void start(const ProgramOptions& options, Team* runtime) {
    guarded([&] { start_program(options, runtime); });
}
void abandon() { abandon_program(); }

void get(void* destination, lapwing_upc_pointer source, std::size_t bytes, Order order) {
    call_site = __builtin_return_address(0);
    guarded([&] {
        ProgramState& here = program("get");
        if (is_strict(order)) here.get_strict("get", destination, source, bytes);
        else here.memory().get("get", destination, source, bytes);
    });
}

void put(lapwing_upc_pointer destination, const void* source, std::size_t bytes, Order order) {
    call_site = __builtin_return_address(0);
    guarded([&] {
        ProgramState& here = program("put");
        if (is_strict(order)) here.put_strict("put", destination, source, bytes);
        else here.memory().put("put", destination, source, bytes);
    });
}

void require_object(lapwing_upc_pointer place, std::size_t bytes) {
    call_site = __builtin_return_address(0);
    if (heap_access.checked) return; // the access itself checks
    guarded([&] {
        ProgramState& here = program("an access");
        here.require_in_part("an access", place, bytes);
        static_cast<void>(here.allocation().require_object("an access", place, bytes));
    });
}

lapwing_upc_pointer checked_add(const lapwing_upc_pointer& p, std::size_t element_bytes, std::size_t block_size,
                                std::ptrdiff_t elements) {
    if (elements == 0) return p; // also of the null pointer
    return guarded([&] {
        ProgramState& here = program("pointer arithmetic");
        if (block_size > 1 && p.phase >= block_size)
            throw RangeError{fmt::format("{}: a pointer to {} in blocks of {} elements, whose phases are below that; "
                                         "cast it to its own block size",
                                         here.who("pointer arithmetic"), text(p), block_size)};
        const lapwing_upc_pointer result = here.threads().add(p, element_bytes, block_size, elements);
        here.allocation().require_same_object("pointer arithmetic", p, result);
        return result;
    });
}

BlockCount blocks_of(std::size_t size, std::size_t block_size) {
    if (block_size == dynamic_block) {
        const auto threads = static_cast<std::size_t>(upc::threads());
        block_size = size == 0 ? 1 : (size - 1) / threads + 1;
    }
    if (block_size > UINT32_MAX)
        guarded([&] {
            throw RangeError{fmt::format("{}: blocks of {} elements; they have at most 2^32 - 1 (UPC_MAX_BLOCK_SIZE): "
                                         "use more threads, or larger "
                                         "elements",
                                         program("a shared array").who("a shared array"), block_size)};
        });
    if (block_size == indefinite) return {size == 0 ? std::size_t{0} : std::size_t{1}, indefinite};
    return {size == 0 ? 0 : (size - 1) / block_size + 1, block_size};
}

std::size_t product(const std::size_t* extents, std::size_t dimensions) {
    std::size_t elements = 1;
    for (std::size_t d = 0; d < dimensions; ++d)
        if (__builtin_mul_overflow(elements, extents[d], &elements))
            guarded([&] {
                throw RangeError{fmt::format("{}: the extents {} are more than 2^64 elements",
                                             program("a shared array").who("a shared array"),
                                             fmt::join(extents, extents + dimensions, " x "))};
            });
    return elements;
}

lapwing_upc_pointer allocate_array(const BlockCount& blocks, std::size_t size, std::size_t element_bytes) {
    return guarded([&] { return program("a shared array").allocation().allocate_array(blocks, size, element_bytes); });
}

namespace {

/// Those of `count` threads from `first` on, whose parts begin at `begin` and then at equal distances.
[[nodiscard]] LinearElements elements_of(const DealtArray& array, std::uint64_t first, std::uint64_t count,
                                         std::uint64_t begin, std::uint64_t distance) noexcept {
    const auto threads = static_cast<std::uint64_t>(upc::threads());
    LinearElements elements;
    if (array.block_size == indefinite) {
        if (array.begin.thread - first >= count) return {};
        elements.base = begin + (array.begin.thread - first) * distance + array.begin.address;
        elements.count = array.size;
        return elements;
    }
    // As if thread 0 of all threads were one of them, at the same distance.
    elements.base = begin - first * distance + array.begin.address;
    elements.block_stride = distance - array.block_size * array.element_bytes;
    if (array.size <= array.block_size * threads) { // one round
        elements.first = std::min<std::uint64_t>(array.size, first * array.block_size);
        elements.count = std::min<std::uint64_t>(array.size, (first + count) * array.block_size) - elements.first;
    } else if (count == threads) {
        elements.count = array.size;
        elements.round_stride = array.block_size * array.element_bytes - threads * distance;
    }
    return elements;
}

} // namespace

LinearElements near_elements(const lapwing::detail::transport::MemoryMap& map, const DealtArray& array) noexcept {
    if (array.begin.address == 0 || map.node_index != nullptr || map.node_count == 0) return {};
    const auto distance = static_cast<std::uint64_t>(map.node_count > 1 ? map.bases[1] - map.bases[0] : 0);
    for (int k = 1; k < map.node_count; ++k)
        if (static_cast<std::uint64_t>(map.bases[k] - map.bases[k - 1]) != distance) return {};
    return elements_of(array, static_cast<std::uint64_t>(map.node_first), static_cast<std::uint64_t>(map.node_count),
                       reinterpret_cast<std::uint64_t>(map.bases[0]), distance);
}

LinearElements all_elements(const DealtArray& array) noexcept {
    const lapwing::detail::window::PageTables* const tables = heap_window().page_tables();
    if (array.begin.address == 0 || tables == nullptr) return {};
    return elements_of(array, 0, static_cast<std::uint64_t>(upc::threads()), 0, tables->part_stride());
}

bool enter_near(const lapwing_upc_pointer& element) noexcept {
    return lapwing::detail::window::enter_memory(heap_window(), Rank{static_cast<int>(element.thread)},
                                                 Offset{element.address});
}

void index_is_outside(std::int64_t index, std::size_t size) {
    guarded([&] {
        throw RangeError{fmt::format("{}: element {} of an array of {}; indices go from 0 to {}",
                                     program("an access").who("an access"), index, size,
                                     static_cast<std::int64_t>(size) - 1)};
    });
}

void threads_are_not(int threads) {
    guarded([&] {
        throw UsageError{
            fmt::format("{}: a view for {} threads (upc::view<{}>) in a program of {}; start it with {}, or "
                        "use upc::view without a number",
                        program("upc::view").who("upc::view"), threads, threads, upc::threads(), threads)};
    });
}

Window& heap_window() {
    return guarded([]() -> Window& { return program("a prefetch").heap(); });
}

void require_range(const char* call, std::int64_t begin, std::int64_t end, std::size_t size) {
    if (begin <= end && begin >= 0 && static_cast<std::uint64_t>(end) <= size) return;
    guarded([&] {
        throw RangeError{fmt::format("{}: elements from {} to {} of an array of {}; name a range that it has",
                                     program(call).who(call), begin, end, size)};
    });
}

} // namespace detail
} // namespace lapwing::upc
