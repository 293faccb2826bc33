#include "upc/allocation.hpp"

#include "src/team/team_state.hpp"
#include "upc/program.hpp"
#include "window/window_memory.hpp"

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
[[gnu::init_priority(
    lapwing::detail::support::before_programs)]] const lapwing::detail::support::NumberSetting group_setting{
    {.name = "LAPWING_UPC_HEAP_GROUP",
     .default_value = "256",
     .unit = "threads",
     .help = "UPC: with more threads than this, groups of so many have a part of the heap with its own metadata for "
             "small blocks of upc_global_alloc, an eighth of LAPWING_UPC_HEAP in addition; thread 0 keeps the metadata "
             "of all other blocks",
     .choices = {},
     .collective = true},
    1,
    1 << 30};
/// A group's share is useful from this size on; blocks in it are at most a 16th of it.
constexpr std::uint64_t smallest_share = 4096;
constexpr std::uint64_t small_blocks_of_a_share = 16;
/// When the share was full, this many small allocations go to thread 0 before the share is tried again.
constexpr int allocations_before_retry = 31;

/// The defaults are never reduced below this.
constexpr std::uint64_t small_heap = std::uint64_t{64} << 20;
constexpr std::uint64_t small_local_heap = std::uint64_t{16} << 20;

/// `chosen` by the program's start, or the setting; if that has its default, at most `room`, but not less than
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

/// Beside the sizes of the settings.
std::uint64_t added_to_heap = 0;

} // namespace

void add_to_heap(std::uint64_t bytes) noexcept { added_to_heap = (bytes + 63) / 64 * 64; }

HeapRegions heap_regions(const ProgramOptions& options, Team& team) {
    // Half of a node's memory, for all its threads. If the network allocates a window's memory as a whole, no more
    // than is certain to be used.
    const std::uint64_t node = lapwing::detail::window::memory_limit(team.state().topology()).bytes /
                               static_cast<std::uint64_t>(2 * team.node_size());
    const std::uint64_t room =
        team.network_path() == Path::rma && team.nodes() > 1 ? 0 : team.min(node - std::min(node, added_to_heap));
    const std::uint64_t begin = sizeof(PartHeader) + granule - block_header_bytes;
    const std::uint64_t middle =
        begin + heap_bytes(options.heap_bytes, heap_setting, team.settings(), room / 5 * 4, small_heap) + added_to_heap;
    HeapRegions regions;
    regions.blocks = {begin, middle};
    regions.small = {middle, middle};
    const auto group = static_cast<int>(group_setting.get(team.settings()));
    if (team.size() > group) {
        const auto groups = static_cast<std::uint64_t>((team.size() - 1) / group) + 1;
        const std::uint64_t share = (middle - begin) / 8 / groups / granule * granule;
        if (share >= smallest_share) {
            regions.group = group;
            regions.share = share;
            regions.small.end = middle + groups * share;
        }
    }
    regions.local = {regions.small.end, regions.small.end + heap_bytes(options.local_heap_bytes, local_heap_setting,
                                                                       team.settings(), room / 5, small_local_heap)};
    return regions;
}

bool Allocation::is_first() const { return program_.own_thread() == 0; }

void Allocation::open() { heaps_.emplace(program_.heap(), program_.locks().queues(), program_.regions()); }

void Allocation::throw_exhausted(const char* call, std::uint64_t bytes, const char* each, const Allocated& found,
                                 const Region& region, const char* setting) const {
    throw RangeError{fmt::format(
        "{}: the shared heap has no room for {} bytes {}: it has {}, of which {} are free, {} of them contiguous; free "
        "what is not needed, or raise {} (or the option of the program's start that replaces it)",
        program_.who(call), bytes, each, region.end - region.begin, found.free, found.largest_free, setting)};
}

std::uint64_t Allocation::bytes_of_a_thread(const char* call, std::size_t blocks, std::size_t block_bytes) const {
    const auto threads = static_cast<std::uint64_t>(program_.threads().threads());
    std::uint64_t bytes = 0;
    if (blocks != 0 && __builtin_mul_overflow((blocks - 1) / threads + 1, block_bytes, &bytes))
        throw RangeError{
            fmt::format("{}: {} blocks of {} bytes for {} threads are more than 2^64 bytes a thread; ask for less",
                        program_.who(call), blocks, block_bytes, threads)};
    return bytes;
}

Allocated Allocation::allocate_from_all(const char* call, std::uint64_t bytes) {
    const HeapPlace place{HeapPlace::Kind::blocks, 0};
    const Allocated found = heaps_->allocate(call, place, bytes);
    if (found.address == 0)
        throw_exhausted(call, bytes, "for each thread", found, program_.regions().blocks, "LAPWING_UPC_HEAP");
    return found;
}

Allocated Allocation::allocate_small(const char* call, std::uint64_t bytes) {
    const HeapRegions& regions = program_.regions();
    if (bytes > regions.share / small_blocks_of_a_share) return {};
    if (share_is_full_ > 0) {
        --share_is_full_;
        return {};
    }
    const int keeper = program_.own_thread() / regions.group * regions.group;
    const Allocated found = heaps_->allocate(call, {HeapPlace::Kind::small, keeper}, bytes);
    if (found.address == 0) share_is_full_ = allocations_before_retry;
    return found;
}

lapwing_upc_pointer Allocation::allocate_blocks(const char* call, std::size_t blocks, std::size_t block_bytes) {
    const std::uint64_t bytes = bytes_of_a_thread(call, blocks, block_bytes);
    if (bytes == 0) return {};
    Allocated found = allocate_small(call, bytes);
    if (found.address == 0) found = allocate_from_all(call, bytes);
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
    if (program_.team().state().synchronisation().checks() >= 3) {
        const std::array<std::int64_t, 2> asked{static_cast<std::int64_t>(blocks),
                                                static_cast<std::int64_t>(block_bytes)};
        program_.team().require_same(asked, call, "the number of blocks, and their bytes,");
    }
    // Thread 0 holds the metadata of the heap of all threads' blocks: the only messages are those that tell the others.
    const lapwing_upc_pointer block = from_first(call, {blocks, block_bytes}, [&]() -> lapwing_upc_pointer {
        const std::uint64_t bytes = bytes_of_a_thread(call, blocks, block_bytes);
        if (bytes == 0) return {};
        return {allocate_from_all(call, bytes).address, 0, 0};
    });
    if (lapwing::detail::trace::on()) record_block(program_, block, bytes_of_a_thread(call, blocks, block_bytes));
    return block;
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
    const Allocated found = heaps_->allocate(call, {HeapPlace::Kind::local, program_.own_thread()}, bytes);
    if (found.address == 0) throw_exhausted(call, bytes, "at this thread", found, region, "LAPWING_UPC_LOCAL_HEAP");
    return {found.address, static_cast<std::uint32_t>(program_.own_thread()), 0};
}

void Allocation::free(const char* call, const lapwing_upc_pointer& pointer) {
    if (is_null(pointer)) return;
    program_.require_in_part(call, pointer, 1);
    const std::optional<HeapPlace> place = place_of(pointer);
    const bool may_begin = place && (place->kind == HeapPlace::Kind::local || pointer.thread == 0);
    const Freed freed = may_begin ? heaps_->free(call, *place, pointer.address) : Freed::no_block;
    if (freed == Freed::already_free)
        throw UsageError{fmt::format("{}: {}: it was freed before", program_.who(call), text(pointer))};
    if (freed == Freed::no_block)
        throw UsageError{fmt::format("{}: {}: no allocation begins there, or it was freed before; pass what "
                                     "upc_all_alloc, upc_global_alloc or upc_alloc returned",
                                     program_.who(call), text(pointer))};
}

void Allocation::free_together(const char* call, const lapwing_upc_pointer& pointer) {
    program_.barrier_for(call, pointer);
    if (is_first()) free(call, pointer);
}

std::optional<HeapPlace> Allocation::place_of(const lapwing_upc_pointer& pointer) const noexcept {
    const HeapRegions& regions = program_.regions();
    if (regions.blocks.holds(pointer.address)) return HeapPlace{HeapPlace::Kind::blocks, 0};
    if (regions.local.holds(pointer.address))
        return HeapPlace{HeapPlace::Kind::local, static_cast<int>(pointer.thread)};
    if (!regions.small.holds(pointer.address)) return std::nullopt;
    const std::uint64_t share = (pointer.address - regions.small.begin) / regions.share;
    return HeapPlace{HeapPlace::Kind::small, static_cast<int>(share) * regions.group};
}

Region Allocation::part_of(const Region& object, std::uint32_t thread) const {
    const auto noted = noted_.find(object.begin);
    if (noted == noted_.end()) return object;
    return {object.begin,
            object.begin + lapwing_upc_affinitysize(noted->second.bytes, noted->second.block_bytes, thread)};
}

std::string Allocation::name_of(const Region& object) const {
    const auto noted = noted_.find(object.begin);
    return noted == noted_.end() ? "the object" : fmt::format("'{}'", noted->second.name);
}

Region Allocation::object_at(const char* call, const lapwing_upc_pointer& pointer) {
    const std::optional<HeapPlace> place = place_of(pointer);
    if (!place) return {};
    if (const auto next = noted_.upper_bound(pointer.address);
        place->kind == HeapPlace::Kind::blocks && next != noted_.begin()) {
        const NotedObject& last = std::prev(next)->second;
        if (pointer.address < std::prev(next)->first + last.room)
            return part_of({std::prev(next)->first, 0}, pointer.thread);
    }
    // Blocks seen before may have been freed since, and others allocated there.
    if (auto next = known_.upper_bound({*place, pointer.address}); next != known_.begin()) {
        const auto known = std::prev(next);
        if (known->first.first == *place && pointer.address <= known->second) {
            const Region object = heaps_->object(call, *place, known->first.second);
            if (object.end == known->second) return object;
            known_.erase(known);
        }
    }
    const Region object = heaps_->find(call, *place, pointer.address);
    if (object.end != 0) known_[{*place, object.begin}] = object.end;
    return object;
}

Region Allocation::require_object(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) {
    if (pointer.address < program_.regions().blocks.begin)
        throw RangeError{fmt::format("{}: {} bytes at {}, which are not in the heap; has the pointer been initialised?",
                                     program_.who(call), bytes, text(pointer))};
    const Region object = object_at(call, pointer);
    if (object.end == 0)
        throw RangeError{fmt::format("{}: {} bytes at {}, where nothing is allocated; it was freed, or never was",
                                     program_.who(call), bytes, text(pointer))};
    if (pointer.address > object.end || bytes > object.end - pointer.address)
        throw RangeError{fmt::format("{}: {} bytes at {} leave {}, whose part at the thread goes from {:#x} to {:#x}",
                                     program_.who(call), bytes, text(pointer), name_of(object), object.begin,
                                     object.end)};
    return object;
}

void Allocation::require_same_object(const char* call, const lapwing_upc_pointer& from, const lapwing_upc_pointer& to) {
    const Region object = part_of(require_object(call, from, 0), to.thread);
    if (to.address < object.begin || to.address > object.end)
        throw RangeError{fmt::format("{}: from {} to {} leaves {}, whose part at thread {} goes from {:#x} to {:#x}",
                                     program_.who(call), text(from), text(to), name_of(object), to.thread, object.begin,
                                     object.end)};
}

} // namespace lapwing::upc
