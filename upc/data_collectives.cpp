// UPC's collectives that move blocks of memory.
#include "upc/data_collectives.hpp"

#include "src/team/barrier.hpp"
#include "src/team/block_collectives.hpp"
#include "src/team/team_state.hpp"
#include "upc/guarded.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace lapwing::upc {

namespace {

constexpr int in_flags = LAPWING_UPC_IN_ALLSYNC | LAPWING_UPC_IN_MYSYNC | LAPWING_UPC_IN_NOSYNC;
constexpr int out_flags = LAPWING_UPC_OUT_ALLSYNC | LAPWING_UPC_OUT_MYSYNC | LAPWING_UPC_OUT_NOSYNC;
/// Results of up to this many bytes go through MPI_Allgather, whose number of messages grows with the logarithm of the
/// threads.
constexpr std::size_t largest_gathered = std::size_t{4} << 20;

/// Blocks of up to this many bytes go through MPI's scatter, gather and alltoall between nodes, and larger ones by a
/// transfer each, which needs no copy. Measured as benchmark upc/blocks does, with MPICH and two processes by messages,
/// on a busy machine: a scatter of 8 bytes took 138 us, a get each between barriers 550; of 4096 bytes 239 and 454 us;
/// of 65536 bytes MPI's took 712, and gets 402 us. An exchange: 255 and 443, 347 and 727, 496 and 198 us.
constexpr std::size_t largest_block_of_mpi = 4096;

[[nodiscard]] std::size_t product(ProgramState& program, const char* call, std::size_t a, std::size_t b) {
    std::size_t result = 0;
    if (__builtin_mul_overflow(a, b, &result))
        throw RangeError{fmt::format("{}: blocks of {} bytes of {} threads are more than 2^64 bytes; ask for less",
                                     program.who(call), a, b)};
    return result;
}

/// A thread's part of an object whose blocks begin at the same address everywhere.
[[nodiscard]] lapwing_upc_pointer part_of(const lapwing_upc_pointer& object, int thread) noexcept {
    return {object.address, static_cast<std::uint32_t>(thread), 0};
}

/// Arrays of blocks of all threads begin with thread 0's block.
void require_first_block(ProgramState& program, const char* call, const char* name, const lapwing_upc_pointer& object) {
    if (object.thread != 0)
        throw RangeError{fmt::format("{}: {} points to {}; it must point to the first block, which thread 0 has",
                                     program.who(call), name, text(object))};
}

/// Whether every thread can load from all parts: the same on all threads.
[[nodiscard]] bool on_one_node(ProgramState& program) {
    return program.heap().map().node_count == program.threads().threads();
}

/// Whether blocks of this size move by MPI's collectives: the same on all threads. `all`: bytes of all blocks together.
[[nodiscard]] bool by_collective(ProgramState& program, std::size_t bytes, std::size_t all) {
    return bytes > 0 && bytes <= largest_block_of_mpi && all <= lapwing::detail::team::largest_blocks &&
           !on_one_node(program);
}

} // namespace

void CollectiveCall::meet() {
    if (!program_.uncompared().number()) return program_.team().barrier();
    program_.uncompared().compare(
        program_.team().state().synchronisation(), lapwing::detail::team::CollectiveCall::upc_collective,
        lapwing::detail::team::identity_on_window(call_ + std::string_view{"upc_all_"}.size(), 0),
        [this] { return program_.who(call_); });
}

CollectiveCall::CollectiveCall(ProgramState& program, const char* call, int flags, Touches touches,
                               std::initializer_list<lapwing_upc_pointer> objects,
                               std::initializer_list<std::size_t> sizes)
    : program_{program}, call_{call} {
    const auto waits = [&](int none, int mine) {
        return (flags & none) == 0 && (touches == Touches::others || (flags & mine) == 0);
    };
    waits_at_end_ = waits(LAPWING_UPC_OUT_NOSYNC, LAPWING_UPC_OUT_MYSYNC);
    const bool waits_now = waits(LAPWING_UPC_IN_NOSYNC, LAPWING_UPC_IN_MYSYNC);
    const int checks = program.team().state().synchronisation().checks();
    CollectiveArguments arguments{call, flags, objects, sizes};
    if (!waits_now && checks >= 3)
        program.team().require_same(arguments.numbers(), call, "what the call was given (flags, pointers, sizes)");
    else if (checks >= 1) program.uncompared().add(std::move(arguments));
    if ((flags & ~(in_flags | out_flags)) != 0 || std::popcount(static_cast<unsigned>(flags & in_flags)) > 1 ||
        std::popcount(static_cast<unsigned>(flags & out_flags)) > 1)
        throw UsageError{fmt::format(
            "{}: flags {:#x}; pass one of IN_ALLSYNC, IN_MYSYNC and IN_NOSYNC with one of OUT_ALLSYNC, OUT_MYSYNC and "
            "OUT_NOSYNC",
            program.who(call), flags)};
    if (waits_now) meet();
    // After the barrier, in which all have the same arguments: what is wrong here is wrong on all threads.
    for (const lapwing_upc_pointer& object : objects) program.require_in_part(call, object, 0);
}

void CollectiveCall::finish() {
    if (waits_at_end_) meet();
}

namespace {

void broadcast(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t bytes,
               int flags) {
    constexpr const char* call = "upc_all_broadcast";
    // A copy from the block that has the data is cheaper than any message.
    const bool by_copy = on_one_node(program);
    CollectiveCall entered{program, call, flags, by_copy ? Touches::others : Touches::own, {dst, src}, {bytes}};
    require_first_block(program, call, "dst", dst);
    program.require_within(call, part_of(dst, program.own_thread()), bytes);
    program.require_within(call, src, bytes);
    std::byte* const own = program.heap().local().data() + dst.address;
    const int root = static_cast<int>(src.thread);
    if (by_copy) {
        if (program.own_thread() != root || dst.address != src.address) program.memory().get(call, own, src, bytes);
        return entered.finish();
    }
    // The root sends from its own block.
    if (program.own_thread() == root) std::memmove(own, program.heap().local().data() + src.address, bytes);
    program.team().broadcast(std::span{own, bytes}, Rank{root});
    entered.finish();
}

void scatter(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t bytes,
             int flags) {
    constexpr const char* call = "upc_all_scatter";
    const auto threads = static_cast<std::size_t>(program.threads().threads());
    const auto own = static_cast<std::size_t>(program.own_thread());
    const std::size_t all = product(program, call, bytes, threads);
    const bool small = by_collective(program, bytes, all);
    CollectiveCall entered{program, call, flags, small ? Touches::own : Touches::others, {dst, src}, {bytes}};
    require_first_block(program, call, "dst", dst);
    program.require_within(call, src, all);
    program.require_within(call, part_of(dst, program.own_thread()), bytes);
    std::byte* const local = program.heap().local().data();
    if (small)
        lapwing::detail::team::scatter(program.team().state(), call, static_cast<int>(src.thread),
                                       {local + src.address, all}, {local + dst.address, bytes});
    else program.memory().get(call, local + dst.address, {src.address + own * bytes, src.thread, 0}, bytes);
    entered.finish();
}

void gather(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t bytes,
            int flags) {
    constexpr const char* call = "upc_all_gather";
    const auto threads = static_cast<std::size_t>(program.threads().threads());
    const auto own = static_cast<std::size_t>(program.own_thread());
    const std::size_t all = product(program, call, bytes, threads);
    const bool small = by_collective(program, bytes, all);
    CollectiveCall entered{program, call, flags, small ? Touches::own : Touches::others, {dst, src}, {bytes}};
    require_first_block(program, call, "src", src);
    program.require_within(call, dst, all);
    program.require_within(call, part_of(src, program.own_thread()), bytes);
    std::byte* const local = program.heap().local().data();
    if (small)
        lapwing::detail::team::gather(program.team().state(), call, static_cast<int>(dst.thread),
                                      {local + src.address, bytes}, {local + dst.address, all});
    else program.memory().put(call, {dst.address + own * bytes, dst.thread, 0}, local + src.address, bytes);
    entered.finish();
}

void gather_all(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src,
                std::size_t bytes, int flags) {
    constexpr const char* call = "upc_all_gather_all";
    const auto threads = static_cast<std::size_t>(program.threads().threads());
    const std::size_t all = product(program, call, bytes, threads);
    const bool small = all <= largest_gathered && !on_one_node(program);
    CollectiveCall entered{program, call, flags, small ? Touches::own : Touches::others, {dst, src}, {bytes}};
    require_first_block(program, call, "dst", dst);
    require_first_block(program, call, "src", src);
    program.require_within(call, part_of(dst, program.own_thread()), all);
    program.require_within(call, part_of(src, program.own_thread()), bytes);
    std::byte* const local = program.heap().local().data();
    if (small) program.team().all_gather(std::span{local + src.address, bytes}, std::span{local + dst.address, all});
    else
        transfer_with_all(program, [&](int t) {
            return program.transfers().start_get(call, local + dst.address + static_cast<std::size_t>(t) * bytes,
                                                 part_of(src, t), bytes);
        });
    entered.finish();
}

void exchange(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src, std::size_t bytes,
              int flags) {
    constexpr const char* call = "upc_all_exchange";
    const auto threads = static_cast<std::size_t>(program.threads().threads());
    const auto own = static_cast<std::size_t>(program.own_thread());
    const std::size_t all = product(program, call, bytes, threads);
    const bool small = by_collective(program, bytes, all);
    CollectiveCall entered{program, call, flags, small ? Touches::own : Touches::others, {dst, src}, {bytes}};
    require_first_block(program, call, "dst", dst);
    require_first_block(program, call, "src", src);
    program.require_within(call, part_of(dst, program.own_thread()), all);
    program.require_within(call, part_of(src, program.own_thread()), all);
    std::byte* const local = program.heap().local().data();
    if (small)
        lapwing::detail::team::exchange(program.team().state(), call, {local + src.address, all},
                                        {local + dst.address, all});
    else
        transfer_with_all(program, [&](int t) {
            return program.transfers().start_get(call, local + dst.address + static_cast<std::size_t>(t) * bytes,
                                                 {src.address + own * bytes, static_cast<std::uint32_t>(t), 0}, bytes);
        });
    entered.finish();
}

void permute(ProgramState& program, const lapwing_upc_pointer& dst, const lapwing_upc_pointer& src,
             const lapwing_upc_pointer& perm, std::size_t bytes, int flags) {
    constexpr const char* call = "upc_all_permute";
    CollectiveCall entered{program, call, flags, Touches::others, {dst, src, perm}, {bytes}};
    require_first_block(program, call, "dst", dst);
    require_first_block(program, call, "src", src);
    require_first_block(program, call, "perm", perm);
    program.require_within(call, part_of(dst, program.own_thread()), bytes);
    program.require_within(call, part_of(perm, program.own_thread()), sizeof(int));
    program.require_within(call, part_of(src, program.own_thread()), bytes);
    const std::byte* const local = program.heap().local().data();
    int to = 0;
    std::memcpy(&to, local + perm.address, sizeof(to));
    // The others are already communicating: this thread throws when all have finished.
    const bool exists = to >= 0 && to < program.threads().threads();
    if (exists) program.memory().put(call, part_of(dst, to), local + src.address, bytes);
    entered.finish();
    if (!exists)
        throw RangeError{fmt::format("{}: perm[{}] is {}, but threads are numbered from 0 to {}", program.who(call),
                                     program.own_thread(), to, program.threads().threads() - 1)};
}

} // namespace
} // namespace lapwing::upc

extern "C" {

void lapwing_upc_all_broadcast(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::broadcast(lapwing::upc::program("upc_all_broadcast"), dst, src, nbytes, flags); });
}
void lapwing_upc_all_scatter(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::scatter(lapwing::upc::program("upc_all_scatter"), dst, src, nbytes, flags); });
}
void lapwing_upc_all_gather(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::gather(lapwing::upc::program("upc_all_gather"), dst, src, nbytes, flags); });
}
void lapwing_upc_all_gather_all(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::gather_all(lapwing::upc::program("upc_all_gather_all"), dst, src, nbytes, flags); });
}
void lapwing_upc_all_exchange(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::exchange(lapwing::upc::program("upc_all_exchange"), dst, src, nbytes, flags); });
}
void lapwing_upc_all_permute(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_pointer perm, size_t nbytes,
                             int flags) {
    lapwing::upc::call_site = __builtin_return_address(0);
    lapwing::upc::guarded(
        [&] { lapwing::upc::permute(lapwing::upc::program("upc_all_permute"), dst, src, perm, nbytes, flags); });
}

} // extern "C"
