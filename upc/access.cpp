// What the accesses of lapwing/upc.hpp leave to the runtime.
#include "upc/guarded.hpp"
#include "upc/program.hpp"

#include <lapwing/error.hpp>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace lapwing::upc {

namespace {

[[nodiscard]] bool is_strict(detail::Order order) noexcept {
    return order == detail::Order::strict || (order == detail::Order::as_the_program && heap_access.consistency == Consistency::strict);
}

} // namespace

ConsistencyScope::ConsistencyScope(Consistency consistency) : before_{heap_access.consistency} {
    guarded([&] { program("a scope of strict or relaxed accesses").set_consistency(consistency); });
}
ConsistencyScope::~ConsistencyScope() {
    guarded([&] { program("a scope of strict or relaxed accesses").set_consistency(before_); });
}

StatisticsValues statistics() {
    return guarded([] { return program("statistics").heap().statistics(); });
}

namespace detail {

void start(const ProgramOptions& options) {
    guarded([&] { start_program(options); });
}

void get(void* destination, const lapwing_upc_pointer& source, std::size_t bytes, Order order) {
    if (is_strict(order)) lapwing_upc_get_strict(destination, source, bytes);
    else lapwing_upc_get(destination, source, bytes);
}

void put(const lapwing_upc_pointer& destination, const void* source, std::size_t bytes, Order order) {
    if (is_strict(order)) lapwing_upc_put_strict(destination, source, bytes);
    else lapwing_upc_put(destination, source, bytes);
}

BlockCount blocks_of(std::size_t size, std::size_t block_size) {
    if (block_size == dynamic_block) {
        const auto threads = static_cast<std::size_t>(upc::threads());
        block_size = size == 0 ? 1 : (size - 1) / threads + 1;
    }
    if (block_size == indefinite) return {size == 0 ? std::size_t{0} : std::size_t{1}, indefinite};
    return {size == 0 ? 0 : (size - 1) / block_size + 1, block_size};
}

std::size_t product(const std::size_t* extents, std::size_t dimensions) {
    std::size_t elements = 1;
    for (std::size_t d = 0; d < dimensions; ++d)
        if (__builtin_mul_overflow(elements, extents[d], &elements))
            guarded([&] { throw RangeError{fmt::format("{}: the extents {} are more than 2^64 elements", program("a shared array").who("a shared array"),
                                                       fmt::join(extents, extents + dimensions, " x "))}; });
    return elements;
}

lapwing_upc_pointer allocate_array(const BlockCount& blocks, std::size_t size, std::size_t element_bytes) {
    return guarded([&] { return program("a shared array").allocate_array(blocks, size, element_bytes); });
}

void index_is_outside(std::int64_t index, std::size_t size) {
    guarded([&] { throw RangeError{fmt::format("{}: element {} of an array of {}; indices go from 0 to {}", program("an access").who("an access"), index, size,
                                               static_cast<std::int64_t>(size) - 1)}; });
}

} // namespace detail
} // namespace lapwing::upc
