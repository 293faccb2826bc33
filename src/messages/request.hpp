#pragma once

#include <lapwing/detail/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::messages {

/// What travels between the progress threads. A packet is a PacketHeader and requests (or replies), each followed by
/// its payload and padded to 8 bytes. All ranks of a job run the same build on processors of the same kind, so fields
/// travel as they are in memory.
struct PacketHeader {
    /// Request packets of the receiver that the sender has handled, since the start: one number acknowledges all
    /// packets up to it, because packets of a pair of ranks stay in order.
    std::uint64_t acknowledged = 0;
};

/// What is asked for. How long the payload of each kind is, whether it is answered and what handles it: RequestTable.
enum class RequestKind : std::uint8_t {
    get,          ///< answer with `size` bytes
    put,          ///< payload to memory
    bulk_get,     ///< send `size` bytes straight from memory with tag `tag`
    bulk_put,     ///< receive `size` bytes straight into memory with tag `tag`
    scatter,      ///< payload: a RunTable of `offset` bytes and data, `size` in all; unpack the data
    gather,       ///< payload: a RunTable of `offset` bytes; answer with the `size` bytes that it names
    bulk_scatter, ///< receive what `scatter` has as payload with tag `tag`, and unpack it
    bulk_gather,  ///< payload as of `gather`; send the packed bytes with tag `tag`
    put_runs,     ///< payload: bytes for many places from `offset` on, and `tag` of RunEntry, `size` bytes in all
    atomic,       ///< payload: operand, expected; answer with the value from before
    wide_atomic,  ///< payload: WidePayload; answer with the 16 bytes from before. For compare_swap the first `size`
                  ///< bytes are compared; min and max are of a number of type `type` with its location
    atomics,      ///< payload: `size` bytes of AddPayload, of ListedSwap for compare_swap; answer with 8 bytes for each
    adds,         ///< atomics of one kind without an answer; payload: `size` bytes of AddPayload
    peer_left,    ///< rank `offset` left after `size` collective calls; `tag` says why
    waiting,      ///< the sender has waited for a while in a collective call; payload: WaitingNote
    wake,         ///< keep polling for a while: one-sided operations are on their way, which the target cannot see
    remote_call,  ///< payload: `size` bytes for the handler `handler` that a room above has registered; see
                  ///< RemoteCallHandler
    answered_call, ///< the same, for AnsweringHandler; answer with the `offset` bytes that it leaves
    bulk_call, ///< receive what a remote_call has as payload with tag `tag`, and run it before the requests after it
    bulk_answered_call, ///< payload: `offset` bytes; answered with `size` bytes with tag `tag`
    end                 ///< of the kinds
};

/// The head of a request, with its payload after it.
struct Request {
    RequestKind kind{};
    mpi::AtomicOperation operation{};
    mpi::AtomicType type{};
    std::uint8_t is_compare_swap = 0;
    /// Notification counter to raise once the data is in place, plus one; 0 for none.
    std::uint32_t counter_plus_one = 0;
    std::uint32_t tag = 0;
    std::uint32_t handler = 0; ///< of a remote_call or an answered_call
    std::uint64_t window = 0;
    std::uint64_t offset = 0; ///< in the window, or as the kind says
    std::uint64_t size = 0;   ///< bytes of data
    std::uint64_t token = 0;  ///< names the operation in the reply
};

enum class ReplyKind : std::uint8_t {
    acknowledgement, ///< nothing beyond the packet header
    data,            ///< payload: `size` bytes for operation `token`
    done,            ///< operation `token` is complete
    barrier, ///< a token of the dissemination barrier; payload: BarrierToken. It answers nothing, but travels as
             ///< answers do: at once, whatever is under way, and without an acknowledgement of its own, which is the
             ///< next token
    dropped ///< operation `token` was not done, nor will be: its window's memory is gone; payload: DroppedNote. `token`
            ///< is no_operation where the request has no answer otherwise
};

/// No operation has this name.
inline constexpr std::uint64_t no_operation = ~std::uint64_t{0};

struct Reply {
    ReplyKind kind{};
    std::uint8_t reserved[7] = {};
    std::uint64_t token = 0;
    std::uint64_t size = 0;
};

struct DroppedNote {
    std::uint64_t window = 0;
};

struct AtomicPayload {
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
};

/// Of an atomic on 16 bytes.
struct WidePayload {
    static constexpr std::uint64_t value_bytes = 16;
    std::array<std::byte, value_bytes> operand{};
    std::array<std::byte, value_bytes> expected{};
};
/// Whether such an atomic, which finds the bytes `before`, replaces them by its operand.
[[nodiscard]] bool changes_wide(const Request& request, const WidePayload& values, std::span<const std::byte> before);

/// One add of many, or one atomic of a list.
struct AddPayload {
    std::uint64_t offset = 0;
    std::uint64_t operand = 0; ///< a value of the request's type, in the first bytes
};

/// One compare_swap of a list.
struct ListedSwap {
    std::uint64_t offset = 0;
    AtomicPayload values;
};

struct BarrierToken {
    std::uint64_t sequence = 0;
    std::uint64_t round = 0;
    std::int64_t lowest_identity = 0; ///< of those seen so far
    std::int64_t highest_identity = 0;
    std::int64_t lowest_arguments = 0; ///< of the calls, as a number
    std::int64_t highest_arguments = 0;
    std::int32_t lowest_call = 0; ///< which collective calls the ranks are in
    std::int32_t highest_call = 0;
    std::int32_t origin = 0;
    std::int32_t reserved = 0;
};

/// Which collective call a rank waits in.
struct WaitingNote {
    std::uint64_t collectives = 0; ///< that it has completed
    std::uint64_t subject = 0;     ///< window that the call is about, or 0
    std::int32_t rank = 0;
    std::int32_t run = 0;         ///< so many ranks before it, one after the other, wait in the same call
    std::uint32_t at_barrier = 0; ///< the call begins with the team's barrier, which compares by itself
    char call[52] = {};           ///< its name, cut if it is long
};

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

} // namespace lapwing::detail::messages
