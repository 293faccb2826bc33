#include "upc/program.hpp"

#include "src/team/team_state.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace lapwing::support::settings_in {
void upc_program() {} // see cmake/LapwingSettings.cmake
}

namespace lapwing::upc {

HeapAccess heap_access;

namespace {

constexpr std::uint64_t smallest_heap = 4096;
constexpr std::uint64_t largest_heap = std::uint64_t{1} << 46;

const support::NumberSetting heap_setting{{.name = "LAPWING_UPC_HEAP",
                                           .default_value = "64m",
                                           .unit = "bytes",
                                           .help = "UPC: memory of each thread for blocks of upc_all_alloc and upc_global_alloc",
                                           .choices = {},
                                           .collective = true},
                                          smallest_heap, largest_heap};
const support::NumberSetting local_heap_setting{{.name = "LAPWING_UPC_LOCAL_HEAP",
                                                 .default_value = "16m",
                                                 .unit = "bytes",
                                                 .help = "UPC: memory of each thread for its upc_alloc, and for locks",
                                                 .choices = {},
                                                 .collective = true},
                                                smallest_heap, largest_heap};

[[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }

/// What the program's start says, or the setting. Throws RangeError where it is not allowed.
[[nodiscard]] std::uint64_t heap_bytes(const std::optional<std::uint64_t>& chosen, const support::NumberSetting& setting, const Settings& settings) {
    if (chosen && (*chosen < smallest_heap || *chosen > largest_heap))
        throw RangeError{fmt::format("the start of UPC: a heap of {} bytes for each thread; it must be from {} to {}", *chosen, smallest_heap, largest_heap)};
    return rounded(chosen.value_or(setting.get(settings)));
}

[[nodiscard]] std::optional<std::int64_t> identity_of(const int* name) {
    if (name == nullptr) return std::nullopt;
    return std::int64_t{*name};
}

} // namespace

std::string text(const lapwing_upc_pointer& pointer) {
    return is_null(pointer) ? std::string{"the null pointer"} : fmt::format("thread {}, address {:#x}, phase {}", pointer.thread, pointer.address, pointer.phase);
}

ProgramState::ProgramState(const ProgramOptions& options)
    : session_{open_session()}, threads_{session_->team().size()}, own_thread_{session_->team().rank().value},
      blocks_region_{sizeof(PartHeader), sizeof(PartHeader) + heap_bytes(options.heap_bytes, heap_setting, session_->team().settings())},
      own_region_{blocks_region_.end, blocks_region_.end + heap_bytes(options.local_heap_bytes, local_heap_setting, session_->team().settings())},
      window_{session_->team(), own_region_.end, {.name = "UPC's shared heap", .cache = options.cache}} {
    locks_.emplace(window_, offsetof(PartHeader, places), sizeof(PartHeader::places));
    blocks_heap_.emplace(window_, *locks_, 0, offsetof(PartHeader, blocks_root), blocks_region_);
    if (own_thread_ == 0) blocks_heap_->make();
    own_heap(own_thread_).make();
    heap_access = {.part_bytes = own_region_.end, .own = window_.map().own, .threads = threads_, .own_thread = own_thread_};
    set_consistency(options.consistency);
    session_->team().barrier();
}

void ProgramState::close() {
    transfers_.synci();
    session_->team().barrier();
    heap_access = {};
    window_.close();
    session_->close();
}

void ProgramState::set_consistency(Consistency consistency) {
    heap_access.consistency = consistency;
    open_inline_access(consistency == Consistency::relaxed);
}

void ProgramState::open_inline_access(bool open) {
    const transport::MemoryMap& map = window_.map();
    const bool near = open && map.node_index == nullptr;
    heap_access.near_first = static_cast<std::uint32_t>(map.node_first);
    heap_access.near_count = near ? static_cast<std::uint32_t>(map.node_count) : 0;
    heap_access.bases = map.bases;
    const window::HotPageTables* const cached = window_.hot_pages();
    heap_access.hot_pages = open && cached != nullptr ? cached : &window::no_hot_pages;
}

std::string ProgramState::who(const char* call) const { return fmt::format("thread {} of {}: {}", own_thread_, threads_.threads(), call); }

void ProgramState::require_within(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes) const {
    if (is_null(pointer)) throw RangeError{fmt::format("{}: {} bytes at the null pointer; allocate them first", who(call), bytes)};
    if (pointer.thread >= static_cast<std::uint32_t>(threads_.threads()))
        throw RangeError{fmt::format("{}: a pointer to thread {}, and there are threads 0 to {}; has it been initialised?", who(call), pointer.thread,
                                     threads_.threads() - 1)};
    if (pointer.address >= own_region_.end || bytes > own_region_.end - pointer.address)
        throw RangeError{fmt::format("{}: {} bytes at {} leave the thread's part, which ends at {:#x}; what crosses from one thread to the next takes a call "
                                     "for each",
                                     who(call), bytes, text(pointer), own_region_.end)};
}

void ProgramState::get(const char* call, void* destination, const lapwing_upc_pointer& source, std::size_t bytes) {
    require_within(call, source, bytes);
    window_.get_bytes(rank_of(source), offset_of(source), {static_cast<std::byte*>(destination), bytes});
}

void ProgramState::put(const char* call, const lapwing_upc_pointer& destination, const void* source, std::size_t bytes) {
    require_within(call, destination, bytes);
    window_.put_bytes(rank_of(destination), offset_of(destination), {static_cast<const std::byte*>(source), bytes});
}

void ProgramState::copy(const char* call, const lapwing_upc_pointer& destination, const lapwing_upc_pointer& source, std::size_t bytes) {
    require_within(call, destination, bytes);
    require_within(call, source, bytes);
    if (const std::byte* const from = reachable(source)) return put(call, destination, from, bytes);
    if (std::byte* const to = reachable(destination)) return get(call, to, source, bytes);
    // Between two threads elsewhere: piece by piece, so that memory is bounded.
    std::vector<std::byte> buffer(std::min<std::size_t>(bytes, std::size_t{4} << 20));
    for (std::size_t done = 0; done < bytes; done += buffer.size()) {
        const std::span<std::byte> piece = std::span{buffer}.first(std::min(buffer.size(), bytes - done));
        window_.get_bytes(rank_of(source), Offset{source.address + done}, piece);
        window_.put_bytes(rank_of(destination), Offset{destination.address + done}, piece);
    }
}

void ProgramState::set(const char* call, const lapwing_upc_pointer& destination, int value, std::size_t bytes) {
    require_within(call, destination, bytes);
    std::array<std::byte, 16384> piece; // not initialised: as much as is used is set
    std::memset(piece.data(), value, std::min(bytes, piece.size()));
    for (std::size_t done = 0; done < bytes; done += piece.size())
        window_.put_bytes(rank_of(destination), Offset{destination.address + done}, std::span{piece}.first(std::min(piece.size(), bytes - done)));
}

std::byte* ProgramState::reachable(const lapwing_upc_pointer& pointer) const {
    if (is_null(pointer) || pointer.thread >= static_cast<std::uint32_t>(threads_.threads()) || pointer.address >= own_region_.end) return nullptr;
    const std::span<std::byte> part = window_.reachable(rank_of(pointer));
    return part.empty() ? nullptr : part.data() + pointer.address;
}

lapwing_upc_pointer ProgramState::own_pointer(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    const std::span<std::byte> own = window_.local();
    if (byte < own.data() + blocks_region_.begin || byte >= own.data() + own.size())
        throw RangeError{fmt::format("{}: address {} is not in the calling thread's part of the shared heap; only shared memory has pointers-to-shared",
                                     who("own_pointer"), address)};
    return {static_cast<std::uint64_t>(byte - own.data()), static_cast<std::uint32_t>(own_thread_), 0};
}

// The heap.

Heap ProgramState::own_heap(int thread) { return Heap{window_, *locks_, thread, offsetof(PartHeader, own_root), own_region_}; }

void ProgramState::throw_exhausted(const char* call, std::uint64_t bytes, const char* each, const Heap::Allocated& found, const Region& region,
                              const char* setting) const {
    throw RangeError{fmt::format("{}: the shared heap has no {} bytes {}: it has {}, of which {} are free, the most in one piece {}; free what is not needed, or "
                                 "set {} to more",
                                 who(call), bytes, each, region.end - region.begin, found.free, found.largest_free, setting)};
}

lapwing_upc_pointer ProgramState::allocate_blocks(const char* call, std::size_t blocks, std::size_t block_bytes) {
    if (blocks == 0 || block_bytes == 0) return {};
    const auto threads = static_cast<std::uint64_t>(threads_.threads());
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow((blocks - 1) / threads + 1, block_bytes, &bytes))
        throw RangeError{fmt::format("{}: {} blocks of {} bytes for {} threads are more than 2^64 bytes a thread; ask for less", who(call), blocks, block_bytes, threads)};
    const Heap::Allocated found = blocks_heap_->allocate(bytes);
    if (found.address == 0) throw_exhausted(call, bytes, "for each thread", found, blocks_region_, "LAPWING_UPC_HEAP");
    return {found.address, 0, 0};
}

template <class Step>
lapwing_upc_pointer ProgramState::from_first(Step&& step) {
    // What fails at thread 0 fails everywhere, so that nobody waits for it.
    struct {
        lapwing_upc_pointer pointer{};
        std::uint64_t problem_bytes = 0;
    } result;
    std::string problem;
    if (own_thread_ == 0) {
        try {
            result.pointer = step();
        } catch (const RangeError& error) {
            problem = error.what();
            result.problem_bytes = problem.size();
        }
    }
    Team& team = session_->team();
    result = team.broadcast(result, Rank{0});
    if (result.problem_bytes > 0) {
        problem.resize(result.problem_bytes);
        team.broadcast(std::as_writable_bytes(std::span{problem}), Rank{0});
        throw RangeError{problem};
    }
    return result.pointer;
}

lapwing_upc_pointer ProgramState::allocate_blocks_together(const char* call, std::size_t blocks, std::size_t block_bytes) {
    if constexpr (assertion_level >= 3) {
        const std::array<std::int64_t, 2> asked{static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(block_bytes)};
        session_->team().require_same(asked, call, "the number of blocks, and their bytes,");
    }
    return from_first([&] { return allocate_blocks(call, blocks, block_bytes); });
}

lapwing_upc_pointer ProgramState::allocate_array(const detail::BlockCount& blocks, std::size_t size, std::size_t element_bytes) {
    std::size_t block_bytes = 0;
    if (__builtin_mul_overflow(blocks.block_size == indefinite ? size : blocks.block_size, element_bytes, &block_bytes))
        throw RangeError{fmt::format("{}: blocks of {} elements of {} bytes have more than 2^64 bytes; ask for less", who("a shared array"),
                                     blocks.block_size == indefinite ? size : blocks.block_size, element_bytes)};
    const lapwing_upc_pointer array = allocate_blocks_together("a shared array", blocks.blocks, block_bytes);
    if (is_null(array)) return array;
    const auto threads = static_cast<std::size_t>(threads_.threads());
    if (blocks.block_size != indefinite) std::memset(window_.local().data() + array.address, 0, ((blocks.blocks - 1) / threads + 1) * block_bytes);
    else if (own_thread_ == 0) std::memset(window_.local().data() + array.address, 0, block_bytes);
    session_->team().barrier(); // nobody writes to a part before its thread has cleared it
    return array;
}

lapwing_upc_pointer ProgramState::allocate(const char* call, std::size_t bytes) {
    if (bytes == 0) return {};
    const Heap::Allocated found = own_heap(own_thread_).allocate(bytes);
    if (found.address == 0) throw_exhausted(call, bytes, "at this thread", found, own_region_, "LAPWING_UPC_LOCAL_HEAP");
    return {found.address, static_cast<std::uint32_t>(own_thread_), 0};
}

void ProgramState::free(const char* call, const lapwing_upc_pointer& pointer) {
    if (is_null(pointer)) return;
    require_within(call, pointer, 1);
    const bool of_blocks = blocks_region_.holds(pointer.address);
    const bool of_own = own_region_.holds(pointer.address);
    Heap::Freed freed = Heap::Freed::no_block;
    if (of_blocks && pointer.thread == 0) freed = blocks_heap_->free(pointer.address);
    else if (of_own) freed = own_heap(static_cast<int>(pointer.thread)).free(pointer.address);
    if (freed == Heap::Freed::already_free) throw UsageError{fmt::format("{}: {}: it was freed before", who(call), text(pointer))};
    if (freed == Heap::Freed::no_block)
        throw UsageError{fmt::format("{}: {}: no allocation begins there, or it was freed before; pass what upc_all_alloc, upc_global_alloc or upc_alloc returned",
                                     who(call), text(pointer))};
}

void ProgramState::free_together(const char* call, const lapwing_upc_pointer& pointer) {
    session_->team().barrier();
    if (own_thread_ == 0) free(call, pointer);
}

// Synchronisation.

void ProgramState::barrier(const int* name) { session_->team().barrier(identity_of(name)); }
void ProgramState::notify(const int* name) { session_->team().notify(identity_of(name)); }
void ProgramState::wait(const int* name) { session_->team().wait(identity_of(name)); }
void ProgramState::fence() { window_.fence(); }

// Locks.

lapwing_upc_pointer ProgramState::allocate_lock() {
    const lapwing_upc_pointer lock = allocate("upc_global_lock_alloc", sizeof(LockWords));
    const LockWords words{.tail = 0, .mark = lock_mark};
    window_.put(rank_of(lock), offset_of(lock), words);
    window_.release();
    return lock;
}

lapwing_upc_pointer ProgramState::allocate_lock_together() {
    return from_first([&] { return allocate_lock(); });
}

LockPlace ProgramState::checked_lock(const char* call, const lapwing_upc_pointer& lock) {
    require_within(call, lock, sizeof(LockWords));
    return {static_cast<int>(lock.thread), lock.address};
}

void ProgramState::free_lock(const char* call, const lapwing_upc_pointer& lock) {
    if (is_null(lock)) return;
    const LockPlace place = checked_lock(call, lock);
    if (!locks_->is_free(place))
        throw UsageError{fmt::format("{}: {}: a thread holds the lock{}; unlock it first", who(call), text(lock), locks_->holds(place) ? ", this one" : "")};
    const LockWords none{};
    window_.put(rank_of(lock), offset_of(lock), none);
    free(call, lock);
}

void ProgramState::free_lock_together(const lapwing_upc_pointer& lock) {
    session_->team().barrier();
    if (own_thread_ == 0) free_lock("upc_all_lock_free", lock);
}

void ProgramState::lock(const lapwing_upc_pointer& lock) {
    const LockPlace place = checked_lock("upc_lock", lock);
    if (locks_->holds(place)) throw UsageError{fmt::format("{}: {}: the calling thread holds the lock already, and would wait for itself", who("upc_lock"), text(lock))};
    locks_->lock(place);
}

bool ProgramState::attempt(const lapwing_upc_pointer& lock) {
    const LockPlace place = checked_lock("upc_lock_attempt", lock);
    if (locks_->holds(place))
        throw UsageError{fmt::format("{}: {}: the calling thread holds the lock already", who("upc_lock_attempt"), text(lock))};
    return locks_->attempt(place);
}

void ProgramState::unlock(const lapwing_upc_pointer& lock) {
    const LockPlace place = checked_lock("upc_unlock", lock);
    if (!locks_->holds(place))
        throw UsageError{fmt::format("{}: {}: the calling thread does not hold the lock; only the thread that locked it unlocks it", who("upc_unlock"), text(lock))};
    locks_->unlock(place);
}

// The one program.

namespace {

/// A program that exits without an end leaves it as it is: at that time no collective call could complete.
std::unique_ptr<ProgramState>& current() {
    static auto* const program = new std::unique_ptr<ProgramState>;
    return *program;
}

} // namespace

ProgramState& program(const char* call) {
    if (current() == nullptr) throw UsageError{fmt::format("{}: UPC has not been started, or has ended; call lapwing_upc_start() first", call)};
    return *current();
}

void start_program(const ProgramOptions& options) {
    if (current() != nullptr) throw UsageError{"lapwing_upc_start: UPC has been started already; start it once"};
    current() = std::make_unique<ProgramState>(options);
}

void end_program() {
    program("lapwing_upc_end").close();
    current().reset();
}

} // namespace lapwing::upc
