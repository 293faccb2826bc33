#include "upc/allocation.hpp"

#include "upc/program.hpp"
#include "window/memory.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

namespace lapwing::detail::support::settings_in {
void upc_allocation() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::upc {

namespace {

constexpr std::uint64_t smallest_heap = 4096;
constexpr std::uint64_t largest_heap = std::uint64_t{1} << 46;

[[gnu::init_priority(
    lapwing::detail::support::before_programs)]] const lapwing::detail::support::NumberSetting heap_setting{
    {.name = "LAPWING_UPC_HEAP",
     .default_value = "1g",
     .unit = "bytes",
     .help = "UPC: most memory of each thread for blocks of upc_all_alloc and upc_global_alloc; taken as it is used "
             "(the default: less where a node has less, 64m on the path rma, which takes it at the start)",
     .choices = {},
     .collective = true},
    smallest_heap,
    largest_heap};
[[gnu::init_priority(
    lapwing::detail::support::before_programs)]] const lapwing::detail::support::NumberSetting local_heap_setting{
    {.name = "LAPWING_UPC_LOCAL_HEAP",
     .default_value = "256m",
     .unit = "bytes",
     .help = "UPC: the same for its upc_alloc, and for locks (the default on the path rma: 16m)",
     .choices = {},
     .collective = true},
    smallest_heap,
    largest_heap};
/// The least that the defaults become.
constexpr std::uint64_t small_heap = std::uint64_t{64} << 20;
constexpr std::uint64_t small_local_heap = std::uint64_t{16} << 20;

/// `chosen` by the program's start, or the setting; where that has its default, at most `room`, but not less than
/// `least`.
[[nodiscard]] std::uint64_t heap_bytes(const std::optional<std::uint64_t>& chosen,
                                       const lapwing::detail::support::NumberSetting& setting, const Settings& settings,
                                       std::uint64_t room, std::uint64_t least) {
    if (chosen && (*chosen < smallest_heap || *chosen > largest_heap))
        throw RangeError{fmt::format("the start of UPC: a heap of {} bytes for each thread; it must be from {} to {}",
                                     *chosen, smallest_heap, largest_heap)};
    std::uint64_t bytes = chosen.value_or(setting.get(settings));
    if (!chosen && settings.origin(setting.info().name) == "default") bytes = std::max(least, std::min(bytes, room));
    return (bytes + 63) / 64 * 64;
}

} // namespace

HeapRegions heap_regions(const ProgramOptions& options, Team& team) {
    // Half of what a node has, for all its threads; where the network takes the memory of a window as a whole, no more
    // than is surely used.
    const std::uint64_t node = lapwing::detail::window::memory_limit(team.node_size() > 1).bytes /
                               static_cast<std::uint64_t>(2 * team.node_size());
    const std::uint64_t room = team.network_path() == Path::rma && team.nodes() > 1 ? 0 : team.min(node);
    const std::uint64_t begin = sizeof(PartHeader) + granule - block_header_bytes;
    const std::uint64_t middle =
        begin + heap_bytes(options.heap_bytes, heap_setting, team.settings(), room / 5 * 4, small_heap);
    return {.blocks = {begin, middle},
            .local = {middle, middle + heap_bytes(options.local_heap_bytes, local_heap_setting, team.settings(),
                                                  room / 5, small_local_heap)}};
}

bool Allocation::is_first() const { return program_.own_thread() == 0; }

Heap Allocation::heap(const Region& region, int thread) {
    const bool of_blocks = region.begin == program_.regions().blocks.begin;
    return Heap{program_.heap(), program_.locks().queues(), thread,
                of_blocks ? offsetof(PartHeader, blocks_root) : offsetof(PartHeader, own_root), region};
}

void Allocation::make() {
    if (is_first()) heap(program_.regions().blocks, 0).make();
    heap(program_.regions().local, program_.own_thread()).make();
}

void Allocation::throw_exhausted(const char* call, std::uint64_t bytes, const char* each, const Heap::Allocated& found,
                                 const Region& region, const char* setting) const {
    throw RangeError{fmt::format("{}: the shared heap has no {} bytes {}: it has {}, of which {} are free, the most in "
                                 "one piece {}; free what is not needed, or "
                                 "set {} to more, or what the program's start sets in its place",
                                 program_.who(call), bytes, each, region.end - region.begin, found.free,
                                 found.largest_free, setting)};
}

lapwing_upc_pointer Allocation::allocate_blocks(const char* call, std::size_t blocks, std::size_t block_bytes) {
    if (blocks == 0 || block_bytes == 0) return {};
    const auto threads = static_cast<std::uint64_t>(program_.threads().threads());
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow((blocks - 1) / threads + 1, block_bytes, &bytes))
        throw RangeError{
            fmt::format("{}: {} blocks of {} bytes for {} threads are more than 2^64 bytes a thread; ask for less",
                        program_.who(call), blocks, block_bytes, threads)};
    const Region& region = program_.regions().blocks;
    const Heap::Allocated found = heap(region, 0).allocate(bytes);
    if (found.address == 0) throw_exhausted(call, bytes, "for each thread", found, region, "LAPWING_UPC_HEAP");
    return {found.address, 0, 0};
}

lapwing_upc_pointer Allocation::agree(const char* call, const Asked& asked, FromFirst result, std::string problem) {
    result.problem_bytes = problem.size();
    Team& team = program_.team();
    result = team.broadcast(result, Rank{0});
    problem.resize(result.problem_bytes);
    if (result.problem_bytes != 0) team.broadcast(std::as_writable_bytes(std::span{problem}), Rank{0});
    if (result.asked != asked)
        throw MismatchError{
            fmt::format("{}: {} blocks of {} bytes, and thread 0 asks for {} of {}; all threads must ask for the same",
                        program_.who(call), asked.blocks, asked.bytes, result.asked.blocks, result.asked.bytes)};
    if (result.kind == Problem::range) throw RangeError{problem};
    if (result.kind == Problem::usage) throw UsageError{problem};
    return result.pointer;
}

lapwing_upc_pointer Allocation::allocate_blocks_together(const char* call, std::size_t blocks,
                                                         std::size_t block_bytes) {
    if constexpr (assertion_level >= 3) {
        const std::array<std::int64_t, 2> asked{static_cast<std::int64_t>(blocks),
                                                static_cast<std::int64_t>(block_bytes)};
        program_.team().require_same(asked, call, "the number of blocks, and their bytes,");
    }
    return from_first(call, {blocks, block_bytes}, [&] { return allocate_blocks(call, blocks, block_bytes); });
}

lapwing_upc_pointer Allocation::allocate_array(const detail::BlockCount& blocks, std::size_t size,
                                               std::size_t element_bytes) {
    constexpr const char* call = "a shared array";
    const std::size_t block_size = blocks.block_size == indefinite ? size : blocks.block_size;
    std::size_t block_bytes = 0;
    if (__builtin_mul_overflow(block_size, element_bytes, &block_bytes))
        throw RangeError{fmt::format("{}: blocks of {} elements of {} bytes have more than 2^64 bytes; ask for less",
                                     program_.who(call), block_size, element_bytes)};
    const lapwing_upc_pointer array = allocate_blocks_together(call, blocks.blocks, block_bytes);
    if (is_null(array)) return array;
    const auto threads = static_cast<std::size_t>(program_.threads().threads());
    if (blocks.block_size != indefinite || is_first())
        std::memset(program_.heap().local().data() + array.address, 0,
                    ((blocks.blocks - 1) / threads + 1) * block_bytes);
    program_.team().barrier(); // nobody writes to a part before its thread has cleared it
    return array;
}

lapwing_upc_pointer Allocation::allocate(const char* call, std::size_t bytes) {
    if (bytes == 0) return {};
    const Region& region = program_.regions().local;
    const Heap::Allocated found = heap(region, program_.own_thread()).allocate(bytes);
    if (found.address == 0) throw_exhausted(call, bytes, "at this thread", found, region, "LAPWING_UPC_LOCAL_HEAP");
    return {found.address, static_cast<std::uint32_t>(program_.own_thread()), 0};
}

void Allocation::free(const char* call, const lapwing_upc_pointer& pointer) {
    if (is_null(pointer)) return;
    program_.require_in_part(call, pointer, 1);
    const HeapRegions& regions = program_.regions();
    Heap::Freed freed = Heap::Freed::no_block;
    if (regions.blocks.holds(pointer.address) && pointer.thread == 0)
        freed = heap(regions.blocks, 0).free(pointer.address);
    else if (regions.local.holds(pointer.address))
        freed = heap(regions.local, static_cast<int>(pointer.thread)).free(pointer.address);
    if (freed == Heap::Freed::already_free)
        throw UsageError{fmt::format("{}: {}: it was freed before", program_.who(call), text(pointer))};
    if (freed == Heap::Freed::no_block)
        throw UsageError{fmt::format("{}: {}: no allocation begins there, or it was freed before; pass what "
                                     "upc_all_alloc, upc_global_alloc or upc_alloc returned",
                                     program_.who(call), text(pointer))};
}

void Allocation::free_together(const char* call, const lapwing_upc_pointer& pointer) {
    program_.barrier_for(call, pointer);
    if (is_first()) free(call, pointer);
}

Region Allocation::object_at(const lapwing_upc_pointer& pointer) {
    const Region& region =
        program_.regions().blocks.holds(pointer.address) ? program_.regions().blocks : program_.regions().local;
    const int thread = region.begin == program_.regions().blocks.begin ? 0 : static_cast<int>(pointer.thread);
    Heap books = heap(region, thread);
    // What was met before may have been freed since, and others be there now.
    if (auto next = known_.upper_bound({thread, pointer.address}); next != known_.begin()) {
        const auto known = std::prev(next);
        if (known->first.first == thread && pointer.address <= known->second) {
            const Region object = books.object(known->first.second);
            if (object.end == known->second) return object;
            known_.erase(known);
        }
    }
    const Region object = books.find(pointer.address);
    if (object.end != 0) known_[{thread, object.begin}] = object.end;
    return object;
}

Region Allocation::require_object(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) {
    if (pointer.address < program_.regions().blocks.begin)
        throw RangeError{
            fmt::format("{}: {} bytes at {}, which are no memory of the heap; has the pointer been initialised?",
                        program_.who(call), bytes, text(pointer))};
    const Region object = object_at(pointer);
    if (object.end == 0)
        throw RangeError{fmt::format("{}: {} bytes at {}, where nothing is allocated; it was freed, or never was",
                                     program_.who(call), bytes, text(pointer))};
    if (bytes > object.end - pointer.address)
        throw RangeError{
            fmt::format("{}: {} bytes at {} leave the object, whose part at the thread goes from {:#x} to {:#x}",
                        program_.who(call), bytes, text(pointer), object.begin, object.end)};
    return object;
}

void Allocation::require_same_object(const char* call, const lapwing_upc_pointer& from, const lapwing_upc_pointer& to) {
    const Region object = require_object(call, from, 0);
    if (to.address < object.begin || to.address > object.end)
        throw RangeError{
            fmt::format("{}: from {} to {} leads out of the object, whose parts at the threads go from {:#x} to {:#x}",
                        program_.who(call), text(from), text(to), object.begin, object.end)};
}

} // namespace lapwing::upc
