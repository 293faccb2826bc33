// The out-of-line part of the accesses of lapwing/upc.hpp.
#include "upc/guarded.hpp"
#include "upc/program.hpp"

#include <lapwing/error.hpp>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/prefetched.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>

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

NearElements near_elements(const lapwing::detail::transport::MemoryMap& map, const lapwing_upc_pointer& begin,
                           std::size_t size, std::size_t block_size, std::size_t element_bytes) noexcept {
    if (begin.address == 0 || map.node_index != nullptr || map.node_count == 0) return {};
    const auto distance = static_cast<std::uint64_t>(map.node_count > 1 ? map.bases[1] - map.bases[0] : 0);
    for (int k = 1; k < map.node_count; ++k)
        if (static_cast<std::uint64_t>(map.bases[k] - map.bases[k - 1]) != distance) return {};
    const auto first = static_cast<std::uint64_t>(map.node_first);
    const auto count = static_cast<std::uint64_t>(map.node_count);
    const auto threads = static_cast<std::uint64_t>(map.ranks);
    NearElements near;
    if (block_size == indefinite) {
        if (first > begin.thread || begin.thread - first >= count) return {};
        near.base = map.bases[begin.thread - first] + begin.address;
        near.count = size;
        return near;
    }
    // As if thread 0 of all threads were on this node, at the same distance.
    near.base = map.bases[0] - first * distance + begin.address;
    near.block_stride = distance - block_size * element_bytes;
    const bool one_round = size <= block_size * threads;
    if (one_round) {
        near.first = std::min<std::uint64_t>(size, first * block_size);
        near.count = std::min<std::uint64_t>(size, (first + count) * block_size) - near.first;
    } else if (count == threads) {
        near.count = size;
        near.round_stride = block_size * element_bytes - threads * distance;
    }
    return near;
}

void index_is_outside(std::int64_t index, std::size_t size) {
    guarded([&] {
        throw RangeError{fmt::format("{}: element {} of an array of {}; indices go from 0 to {}",
                                     program("an access").who("an access"), index, size,
                                     static_cast<std::int64_t>(size) - 1)};
    });
}

std::int64_t next_array_number() noexcept {
    // Arrays begin at places of the table that are far apart, which the low bits are taken for.
    static std::atomic<std::uint64_t> last{0};
    const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return static_cast<std::int64_t>(std::rotl(number * 0x9E3779B97F4A7C15U, 32));
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

void require_range(std::int64_t begin, std::int64_t end, std::size_t size) {
    if (begin <= end && begin >= 0 && static_cast<std::uint64_t>(end) <= size) return;
    guarded([&] {
        throw RangeError{fmt::format("{}: elements from {} to {} of an array of {}; name a range that it has",
                                     program("a prefetch").who("a prefetch"), begin, end, size)};
    });
}

} // namespace detail
} // namespace lapwing::upc
