#include "src/messages/target_side.hpp"

#include "src/messages/request_table.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lapwing::messages {
namespace {

/// Copies bytes of a window for a rank that reads them. A cached reader asks for whole lines of 64 bytes, so among them may be
/// bytes that nobody reads and that this rank's program writes at this moment: no data race of the program, which never sees
/// what became of them (a dirty mask says which bytes are written, an acquire that the others are read anew), but one of this
/// copy in the sense of C++. Whatever it finds there is as good; processors that Lapwing runs on load bytes one by one or
/// several at a time without disturbing their neighbours.
///
/// ThreadSanitizer cannot know which bytes are wanted: in its builds the copy is one that it does not see. What it misses by
/// that are a program's own races between a get and a store of the owner; it never saw those of MPI's windows either.
#ifdef LAPWING_THREAD_SANITIZER
__attribute__((no_sanitize("thread"), noinline)) void copy_for_reader(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    // Volatile, or the compiler makes it a call of memcpy, which is seen.
    auto* const written = reinterpret_cast<volatile unsigned char*>(to);
    const auto* const read = reinterpret_cast<const volatile unsigned char*>(from);
    for (std::uint64_t i = 0; i < bytes; ++i) written[i] = read[i];
}
#else
inline void copy_for_reader(std::byte* to, const std::byte* from, std::uint64_t bytes) { std::memcpy(to, from, bytes); }
#endif

} // namespace

TargetSide::TargetSide(Endpoint& endpoint, PacketStream& request_packets, ReplyQueue& replies, const EngineLimits& limits,
                       support::Statistics& statistics, EngineListener& listener)
    : endpoint_{endpoint}, request_packets_{request_packets}, replies_{replies}, statistics_{statistics}, listener_{listener},
      largest_answer_{(limits.packet_bytes - sizeof(PacketHeader) - sizeof(Reply)) / 8 * 8}, windows_{endpoint, listener},
      transfers_{endpoint, windows_, limits}, atomics_{endpoint, windows_, replies}, remote_calls_{endpoint} {}

// ---- reading and answering ------------------------------------------------------------------------------------------

void TargetSide::receive(const MPI_Status& status) {
    const std::span<const std::byte> packet = request_packets_.incoming(status);
    packet_ = packet.subspan(std::min(packet.size(), sizeof(PacketHeader)));
    packet_origin_ = status.MPI_SOURCE;
    read();
}

void TargetSide::read_on() {
    if (!packet_.empty()) read();
}

void TargetSide::read() {
    Peer& origin = endpoint_.peer(packet_origin_);
    while (!packet_.empty()) {
        const ReadRequest next = read_request(packet_);
        if (next.row == nullptr) {
            endpoint_.note_problem(fault_of(packet_, origin.rank));
            break;
        }
        if (!next.row->handle(*this, origin, next.head, next.payload)) return; // on with it in a later round
        packet_ = next.rest;
        statistics_.add(Counter::commands_served);
    }
    packet_ = {};
    replies_.acknowledge(origin);
    request_packets_.read();
}

void TargetSide::send_replies() {
    transfers_.answer_finished(replies_); // first: their `done` may share a packet
    replies_.send();
}

void TargetSide::abandon(std::uint64_t window, LateRequests late) {
    windows_.abandon(window, late);
    transfers_.abandon(window, late, listener_);
}

bool TargetSide::answer_fits(const Peer& origin, const Request& request) {
    if (request.size <= largest_answer_) return true;
    endpoint_.note_problem(fmt::format("rank {} asked for {} bytes in one packet ({}), which holds {} of an answer: the request "
                                       "was dropped; {}",
                                       origin.rank, request.size, row_of(request.kind)->name, largest_answer_, fault_of_builds));
    return false;
}

std::byte* TargetSide::append_data(Peer& origin, const Request& request) {
    return replies_.append(origin, {.kind = ReplyKind::data, .token = request.token, .size = request.size});
}

// ---- handlers -------------------------------------------------------------------------------------------------------

bool TargetSide::handle_get(Peer& origin, const Request& request) {
    const std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    if (address == nullptr || !answer_fits(origin, request)) return true;
    std::byte* const answer = append_data(origin, request);
    if (answer == nullptr) return false;
    copy_for_reader(answer, address, request.size);
    return true;
}

void TargetSide::handle_put(Peer& origin, const Request& request, std::span<const std::byte> data) {
    if (!data.empty()) {
        std::byte* const address = windows_.address_of(origin.rank, request, data.size());
        if (address == nullptr) return;
        std::memcpy(address, data.data(), data.size());
    }
    windows_.raise_counter(request.window, request.counter_plus_one);
}

bool TargetSide::handle_bulk_get(Peer& origin, const Request& request) {
    const std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    return address == nullptr || transfers_.serve_get(origin, request, address);
}

bool TargetSide::handle_bulk_put(Peer& origin, const Request& request) {
    std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    // A put that is dropped is received all the same: its origin could not send it else, nor close the team.
    if (address == nullptr && !windows_.drops_late_requests(request.window)) return true;
    return transfers_.serve_put(origin, request, address);
}

void TargetSide::handle_scatter(Peer& origin, const Request& request, std::span<const std::byte> message) {
    windows_.scatter(origin.rank, request.window, message, request.offset);
}

bool TargetSide::handle_bulk_scatter(Peer& origin, const Request& request) { return transfers_.serve_scatter(origin, request); }

bool TargetSide::handle_gather(Peer& origin, const Request& request, std::span<const std::byte> table) {
    // No answer for memory that is gone: the origin hears of the departure.
    if (windows_.is_abandoned(request.window) || !answer_fits(origin, request)) return true;
    std::byte* const answer = append_data(origin, request);
    if (answer == nullptr) return false;
    windows_.gather(origin.rank, request.window, table, {answer, request.size});
    return true;
}

bool TargetSide::handle_bulk_gather(Peer& origin, const Request& request, std::span<const std::byte> table) {
    return windows_.is_abandoned(request.window) || transfers_.serve_gather(origin, request, table);
}

bool TargetSide::handle_atomic(Peer& origin, const Request& request, const AtomicPayload& values) {
    return atomics_.fetch(origin, request, values);
}

bool TargetSide::handle_atomics(Peer& origin, const Request& request, std::span<const std::byte> list) {
    return atomics_.fetch_list(origin, request, list);
}

void TargetSide::handle_adds(Peer& origin, const Request& request, std::span<const std::byte> list) {
    atomics_.add_list(origin, request, list);
}

void TargetSide::handle_departed(Peer&, const Request& request) {
    listener_.on_departed(static_cast<int>(request.offset), request.size, request.tag);
}

void TargetSide::handle_waiting(Peer&, const Request&, const WaitingNote& note) { listener_.on_waiting(note); }

void TargetSide::handle_wake(Peer&, const Request&) { wakes_.fetch_add(1, std::memory_order_relaxed); }

void TargetSide::handle_remote_call(Peer& origin, const Request& request, std::span<const std::byte> bytes) {
    remote_calls_.run(origin.rank, HandlerNumber{request.handler}, bytes);
}

} // namespace lapwing::messages
