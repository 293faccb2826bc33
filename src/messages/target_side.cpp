#include "src/messages/target_side.hpp"

#include "src/messages/request_table.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace lapwing::detail::messages {
namespace {

/// Copies bytes of a window for a rank that reads them. A cached reader asks for whole lines of 64 bytes, and these may
/// contain bytes that nobody needs and that this rank's program is writing. The program has no data race, since it
/// never sees those bytes (a dirty mask says which bytes are written, and an acquire discards the others), but this
/// copy has one by C++'s rules. Any value of those bytes will do, and on the processors that Lapwing runs on a load
/// does not disturb neighbouring bytes.
///
/// ThreadSanitizer cannot know which bytes are needed, so in its builds the copy is hidden from it. It then misses a
/// program's own races between a get and a store of the owner, as it always did with MPI's windows.
#ifdef LAPWING_THREAD_SANITIZER
__attribute__((no_sanitize("thread"), noinline)) void copy_for_reader(std::byte* to, const std::byte* from,
                                                                      std::uint64_t bytes) {
    // Volatile, or the compiler makes it a call of memcpy, which is seen.
    auto* const written = reinterpret_cast<volatile unsigned char*>(to);
    const auto* const read = reinterpret_cast<const volatile unsigned char*>(from);
    for (std::uint64_t i = 0; i < bytes; ++i) written[i] = read[i];
}
#else
inline void copy_for_reader(std::byte* to, const std::byte* from, std::uint64_t bytes) { std::memcpy(to, from, bytes); }
#endif

} // namespace

TargetSide::TargetSide(Endpoint& endpoint, PacketStream& request_packets, ReplyQueue& replies,
                       const EngineLimits& limits, support::Statistics& statistics, EngineListener& listener)
    : endpoint_{endpoint},
      request_packets_{request_packets},
      replies_{replies},
      statistics_{statistics},
      listener_{listener},
      largest_answer_{(limits.packet_bytes - sizeof(PacketHeader) - sizeof(Reply)) / 8 * 8},
      windows_{endpoint, listener},
      transfers_{endpoint, windows_, limits},
      atomics_{endpoint, windows_, replies},
      remote_calls_{endpoint} {}

// ---- reading and answering ------------------------------------------------------------------------------------------

void TargetSide::receive(const MPI_Status& status) {
    std::span<const std::byte> packet = request_packets_.incoming(status);
    Peer& origin = endpoint_.peer(status.MPI_SOURCE);
    support::FirstProblem problem;
    bool read_to_its_end = false;
    problem.attempt([&] {
        if (packet.size() < sizeof(PacketHeader)) {
            endpoint_.note_problem(fmt::format("rank {} sent {} bytes instead of requests, which begin with {}; {}",
                                               origin.rank.value, packet.size(), sizeof(PacketHeader),
                                               fault_of_builds));
            packet = {};
        } else {
            packet = packet.subspan(sizeof(PacketHeader));
        }
        read_to_its_end = !origin.parked() && read(origin, packet);
    });
    // After those that wait already, and with what follows a request that failed.
    if (!read_to_its_end) problem.attempt([&] { park(origin, packet); });
    // Whatever happened to the packet: otherwise no more requests would arrive.
    problem.attempt([&] { request_packets_.read(); });
    problem.rethrow();
}

void TargetSide::park(Peer& origin, std::span<const std::byte> packet) {
    const auto drop_packet = [&](const std::string& why) {
        endpoint_.note_problem(
            fmt::format("{} bytes of requests of rank {} were dropped: {}", packet.size(), origin.rank.value, why));
        replies_.acknowledge(origin);
    };
    try {
        std::vector<ParkedPacket>& parked = origin.lend().parked;
        if (parked.size() >= most_packets_in_flight)
            return drop_packet(fmt::format("more than {} packets of them were not acknowledged; {}",
                                           most_packets_in_flight, fault_of_builds));
        if (parked.empty()) parked_.push_back(&origin); // first: one without packets leaves the list by itself
        parked.push_back({.requests = {packet.begin(), packet.end()}});
        if (origin.lend().call == Lent::no_call) statistics_.add(Counter::packets_parked);
    } catch (const std::bad_alloc&) {
        drop_packet("there is no memory to keep them until they can be answered");
    }
}

bool TargetSide::read_parked(Peer& origin) {
    while (origin.parked()) {
        ParkedPacket& parked = origin.lent->parked.front();
        std::span<const std::byte> packet = std::span{std::as_const(parked).requests}.subspan(parked.read);
        support::FirstProblem problem;
        bool done = false;
        problem.attempt([&] { done = read(origin, packet); });
        parked.read = parked.requests.size() - packet.size();
        problem.rethrow();
        if (!done) return false;
        origin.lent->parked.erase(origin.lent->parked.begin());
    }
    return true;
}

void TargetSide::read_on() {
    if (parked_.empty()) return;
    support::FirstProblem problem;
    std::erase_if(parked_, [&](Peer* origin) {
        bool done = false;
        problem.attempt([&] { done = read_parked(*origin); });
        return done;
    });
    // Each rank gets its turn to be the first to find free room.
    if (parked_.size() > 1) std::rotate(parked_.begin(), parked_.begin() + 1, parked_.end());
    problem.rethrow();
}

bool TargetSide::read(Peer& origin, std::span<const std::byte>& packet) {
    while (!packet.empty()) {
        const ReadRequest next = read_request(packet);
        if (next.row == nullptr) {
            endpoint_.note_problem(fault_of(packet, origin.rank));
            break;
        }
        bool done = true;
        support::FirstProblem problem;
        problem.attempt([&] {
            done =
                is_late(next.head) ? drop(origin, next.head) : next.row->handle(*this, origin, next.head, next.payload);
        });
        if (!done) return false; // on with it in a later round
        packet = next.rest;      // what threw has been reported, and is not done again
        problem.rethrow();
        statistics_.add(Counter::commands_served);
    }
    packet = {};
    replies_.acknowledge(origin);
    return true;
}

bool TargetSide::is_late(const Request& request) const {
    return concerns_window(request.kind) && windows_.drops_late_requests(request.window);
}

bool TargetSide::drop(Peer& origin, const Request& request) {
    if (request.kind == RequestKind::bulk_put || request.kind == RequestKind::bulk_scatter)
        return transfers_.discard_put(origin, request); // answered when the data is here
    const bool answered = row_of(request.kind)->answered != Answered::no;
    const DroppedNote note{request.window};
    std::byte* const place = replies_.append(
        origin, {.kind = ReplyKind::dropped, .token = answered ? request.token : no_operation, .size = sizeof note});
    if (place == nullptr) return false;
    std::memcpy(place, &note, sizeof note);
    return true;
}

void TargetSide::send_replies() {
    transfers_.answer_finished(replies_); // first: their `done` may share a packet
    replies_.send();
}

void TargetSide::abandon(std::uint64_t window, LateRequests late) {
    windows_.abandon(window, late);
    transfers_.abandon(window, late, listener_);
}

bool TargetSide::answer_fits(const Peer& origin, const Request& request, std::uint64_t bytes) {
    if (bytes <= largest_answer_) return true;
    endpoint_.note_problem(
        fmt::format("rank {} asked for {} bytes in one packet ({}), which holds {} of an answer: the request "
                    "was dropped; {}",
                    origin.rank.value, bytes, row_of(request.kind)->name, largest_answer_, fault_of_builds));
    return false;
}

std::byte* TargetSide::append_data(Peer& origin, const Request& request) {
    return replies_.append(origin, {.kind = ReplyKind::data, .token = request.token, .size = request.size});
}

// ---- handlers -------------------------------------------------------------------------------------------------------

bool TargetSide::handle_get(Peer& origin, const Request& request) {
    const std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    if (address == nullptr || !answer_fits(origin, request, request.size)) return true;
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
    windows_.raise_counter(origin.rank, request.window, request.counter_plus_one);
}

bool TargetSide::handle_bulk_get(Peer& origin, const Request& request) {
    const std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    return address == nullptr || transfers_.serve_get(origin, request, address);
}

bool TargetSide::handle_bulk_put(Peer& origin, const Request& request) {
    std::byte* const address = windows_.address_of(origin.rank, request, request.size);
    return address == nullptr || transfers_.serve_put(origin, request, address);
}

void TargetSide::handle_scatter(Peer& origin, const Request& request, std::span<const std::byte> message) {
    (void)windows_.scatter(origin.rank, request.window, message, request.offset);
}

bool TargetSide::handle_bulk_scatter(Peer& origin, const Request& request) {
    return transfers_.serve_scatter(origin, request);
}

bool TargetSide::handle_gather(Peer& origin, const Request& request, std::span<const std::byte> table) {
    // No answer for memory that is gone: the origin is notified that this rank left.
    if (windows_.is_abandoned(request.window) || !answer_fits(origin, request, request.size)) return true;
    std::byte* const answer = append_data(origin, request);
    if (answer == nullptr) return false;
    windows_.gather(origin.rank, request.window, table, {answer, request.size});
    return true;
}

bool TargetSide::handle_bulk_gather(Peer& origin, const Request& request, std::span<const std::byte> table) {
    const auto gather = [&](std::span<std::byte> packed) {
        windows_.gather(origin.rank, request.window, table, packed);
        return true;
    };
    return windows_.is_abandoned(request.window) || transfers_.serve_packed(origin, request, std::cref(gather));
}

void TargetSide::handle_put_runs(Peer& origin, const Request& request, std::span<const std::byte> payload) {
    windows_.put_runs(origin.rank, request, payload);
}

bool TargetSide::handle_atomic(Peer& origin, const Request& request, const AtomicPayload& values) {
    return atomics_.fetch(origin, request, values);
}

bool TargetSide::handle_wide_atomic(Peer& origin, const Request& request, const WidePayload& values) {
    return atomics_.fetch_wide(origin, request, values);
}

bool TargetSide::handle_atomics(Peer& origin, const Request& request, std::span<const std::byte> list) {
    return atomics_.fetch_list(origin, request, list);
}

void TargetSide::handle_adds(Peer& origin, const Request& request, std::span<const std::byte> list) {
    atomics_.add_list(origin, request, list);
}

void TargetSide::note_senseless(const Peer& origin, const Request& request) {
    endpoint_.note_problem(fmt::format(
        "rank {} sent a {} that makes no sense here (rank {}, {} collective calls, reason {}): it was "
        "ignored; {}",
        origin.rank.value, row_of(request.kind)->name, request.offset, request.size, request.tag, fault_of_builds));
}

void TargetSide::handle_peer_left(Peer& origin, const Request& request) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    if (request.offset > most || !listener_.on_peer_left(static_cast<int>(request.offset), request.size, request.tag))
        note_senseless(origin, request);
}

void TargetSide::handle_waiting(Peer& origin, const Request& request, const WaitingNote& note) {
    if (note.rank != origin.rank || !listener_.on_waiting(note)) note_senseless(origin, request);
}

void TargetSide::handle_wake(Peer&, const Request&) { wakes_.fetch_add(1, std::memory_order_relaxed); }

void TargetSide::handle_remote_call(Peer& origin, const Request& request, std::span<const std::byte> bytes) {
    remote_calls_.run(origin.rank, HandlerNumber{request.handler}, bytes);
}

bool TargetSide::handle_answered_call(Peer& origin, const Request& request, std::span<const std::byte> bytes) {
    if (!answer_fits(origin, request, request.offset)) return true;
    const Reply reply{.kind = ReplyKind::data, .token = request.token, .size = request.offset};
    std::byte* const answer = replies_.append(origin, reply);
    if (answer == nullptr) return false;
    if (remote_calls_.answer(origin.rank, HandlerNumber{request.handler}, bytes, {answer, reply.size})) return true;
    replies_.take_back(origin, reply);
    return false;
}

bool TargetSide::handle_bulk_call(Peer& origin, const Request& request) {
    return transfers_.serve_call(origin, request, remote_calls_);
}

bool TargetSide::handle_bulk_answered_call(Peer& origin, const Request& request, std::span<const std::byte> bytes) {
    const auto run = [&](std::span<std::byte> answer) {
        return remote_calls_.answer(origin.rank, HandlerNumber{request.handler}, bytes, answer);
    };
    return transfers_.serve_packed(origin, request, std::cref(run));
}

} // namespace lapwing::detail::messages
