// The engine's end at the owner: carries requests out, and answers them.
#include "src/messages/engine.hpp"

#include "datatype/run_table.hpp"
#include "src/messages/owner_atomics.hpp"
#include "src/messages/tags.hpp"
#include "src/mpi/atomics.hpp"
#include "src/mpi/pieces.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

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

void Engine::read_requests() {
    if (!reading_.active) return;
    const std::byte* const packet = packet_in(request_ring_, request_ring_.head);
    Peer& origin = peer(reading_.origin);
    while (reading_.position < reading_.end) {
        Request request;
        std::memcpy(&request, packet + reading_.position, sizeof request);
        const std::byte* const payload = packet + reading_.position + sizeof request;
        if (!handle(origin, request, payload)) return; // no buffer for the answer now: on with it in a later round
        reading_.position += sizeof request;
        switch (request.kind) {
        case RequestKind::put:
        case RequestKind::adds:
        case RequestKind::atomics:
        case RequestKind::scatter: reading_.position += padded(request.size); break;
        case RequestKind::gather:
        case RequestKind::bulk_gather: reading_.position += padded(request.offset); break;
        case RequestKind::atomic: reading_.position += sizeof(AtomicPayload); break;
        case RequestKind::waiting: reading_.position += sizeof(WaitingNote); break;
        default: break;
        }
        statistics_.add(Counter::commands_served);
    }
    reading_.active = false;
    ++origin.packets_handled;
    list_reply(origin);
    post(request_ring_, request_ring_.head);
    request_ring_.head = (request_ring_.head + 1) % request_ring_.requests.size();
    watch_head(request_ring_);
}

std::byte* Engine::address_of(const Peer& origin, const Request& request, std::uint64_t bytes) {
    const auto found = exposed_.find(request.window);
    if (found != exposed_.end() && bytes <= found->second.bytes && request.offset <= found->second.bytes - bytes)
        return found->second.base + request.offset;
    if (is_abandoned(request.window)) return nullptr;
    // The origin has checked against the same sizes: this keeps a mistake of Lapwing's from becoming a stray write.
    if (problem_.empty())
        problem_ = fmt::format("{}: rank {} asked for {} bytes at offset {} of window {}, of which {} are exposed here: the request "
                               "(kind {}) was dropped; ranks that run different builds of Lapwing do that, otherwise it is a "
                               "fault of Lapwing's",
                               who_, origin.rank, bytes, request.offset, request.window,
                               found == exposed_.end() ? 0 : found->second.bytes, static_cast<int>(request.kind));
    return nullptr;
}

bool Engine::handle(Peer& origin, const Request& request, const std::byte* payload) {
    switch (request.kind) {
    case RequestKind::get: {
        const std::byte* const address = address_of(origin, request, request.size);
        if (address == nullptr) return true;
        std::byte* const answer = append_reply(origin, {.kind = ReplyKind::data, .token = request.token, .size = request.size},
                                               request.size);
        if (answer == nullptr) return false;
        copy_for_reader(answer, address, request.size);
        return true;
    }
    case RequestKind::put:
        if (request.size != 0) {
            std::byte* const address = address_of(origin, request, request.size);
            if (address == nullptr) return true;
            std::memcpy(address, payload, request.size);
        }
        raise_counter(request.window, request.counter_plus_one);
        return true;
    case RequestKind::bulk_get:
    case RequestKind::bulk_put: {
        std::byte* const address = address_of(origin, request, request.size);
        // A put that is dropped is received all the same: its origin could not send it else, nor close the team.
        const bool nowhere = address == nullptr && (request.kind == RequestKind::bulk_get || !drops_late_requests(request.window));
        return nowhere || serve_bulk(origin, request, address);
    }
    case RequestKind::scatter:
        unpack(origin.rank, request.window, {payload, request.size}, request.offset);
        return true;
    case RequestKind::bulk_scatter: return serve_bulk_scatter(origin, request);
    case RequestKind::gather:
    case RequestKind::bulk_gather: return serve_gather(origin, request, payload);
    case RequestKind::atomic: {
        std::byte* const address = address_of(origin, request, mpi::size_of(request.type));
        if (address == nullptr) return true;
        std::byte* const answer =
            append_reply(origin, {.kind = ReplyKind::data, .token = request.token, .size = 8}, 8);
        if (answer == nullptr) return false;
        AtomicPayload values;
        std::memcpy(&values, payload, sizeof values);
        if (request.is_compare_swap != 0)
            mpi::processor_compare_swap(request.type, address, &values.expected, &values.operand, answer);
        else
            mpi::processor_fetch(request.operation, request.type, address, &values.operand, answer);
        return true;
    }
    case RequestKind::atomics: return handle_atomics(origin, request, payload);
    case RequestKind::adds: handle_adds(origin, request, payload); return true;
    case RequestKind::departed:
        listener_.on_departed(static_cast<int>(request.offset), request.size, request.tag);
        return true;
    case RequestKind::waiting: {
        WaitingNote note;
        std::memcpy(&note, payload, sizeof note);
        listener_.on_waiting(note);
        return true;
    }
    case RequestKind::wake: wakes_.fetch_add(1, std::memory_order_relaxed); return true;
    }
    return true;
}

void Engine::handle_adds(const Peer& origin, const Request& request, const std::byte* payload) {
    // A request is read once and must not throw, or what has been added would be added again. And the program may have its own
    // in the place of MPI's calls (lapwing::transparent, or a tool), which would enter Lapwing with the engine's mutex held.
    const auto found = exposed_.find(request.window);
    bool by_mpi = false;
    const auto report = [&](int code, const char* call) {
        if (problem_.empty())
            problem_ = fmt::format("{}: {} failed for adds of rank {} to window {}, of which some are lost: {}", who_, call,
                                   origin.rank, request.window, support::mpi_error_text(code));
    };
    for (std::uint64_t at = 0; at + sizeof(AddPayload) <= request.size; at += sizeof(AddPayload)) {
        AddPayload add;
        std::memcpy(&add, payload + at, sizeof add);
        Request one = request;
        one.offset = add.offset;
        std::byte* const address = address_of(origin, one, mpi::size_of(request.type));
        if (address == nullptr) continue; // has been reported
        const ExposedMemory& memory = found->second;
        if (memory.atomics == MPI_WIN_NULL) {
            std::uint64_t before = 0;
            mpi::processor_fetch(request.operation, request.type, address, &add.operand, &before);
            continue;
        }
        // MPI's atomics and the processor's do not exclude each other.
        by_mpi = true;
        if (mpi::is_unsigned_extreme(request.operation, request.type)) {
            std::uint64_t before = 0;
            if (const auto failed = fetch_by_mpi(memory, request.operation, request.type, add.offset, &add.operand, &before))
                report(failed.code, failed.call);
            continue;
        }
        const MPI_Datatype type = mpi::mpi_type(request.type);
        const int code = PMPI_Accumulate(payload + at + offsetof(AddPayload, operand), 1, type, memory.rank,
                                         static_cast<MPI_Aint>(add.offset / static_cast<std::uint64_t>(memory.unit)), 1, type,
                                         mpi::mpi_operation(request.operation), memory.atomics);
        if (code != MPI_SUCCESS) report(code, "MPI_Accumulate");
    }
    if (!by_mpi) return;
    if (const int code = PMPI_Win_flush(found->second.rank, found->second.atomics); code != MPI_SUCCESS) report(code, "MPI_Win_flush");
}

bool Engine::serve_bulk(Peer& origin, const Request& request, std::byte* address) {
    const std::uint64_t pieces = mpi::piece_count(request.size);
    if (served_bulk_ >= limits_.bulk_transfers) return false;
    if (request.kind == RequestKind::bulk_get) {
        mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
            requests_.add(send(address + at, bytes, origin.rank, bulk_get_tag(request.tag)),
                          {What::served_get, static_cast<std::uint32_t>(request.window)});
        });
        served_bulk_ += pieces;
        return true;
    }
    const auto free = std::ranges::find_if(served_puts_, [](const ServedPut& put) { return !put.in_use; });
    if (free == served_puts_.end()) return false;
    *free = {.peer = &origin,
             .token = request.token,
             .window = request.window,
             .pieces = static_cast<std::uint32_t>(pieces),
             .counter_plus_one = request.counter_plus_one,
             .bytes = request.size,
             .tag = request.tag,
             .in_use = true};
    const auto index = static_cast<std::uint32_t>(free - served_puts_.begin());
    if (address == nullptr) {
        receive_into_scrap(index, pieces);
        return true;
    }
    mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
        requests_.add(receive(address + at, bytes, origin.rank, bulk_put_tag(request.tag)), {What::served_put, index});
    });
    return true;
}

// ---- packing and unpacking for others --------------------------------------------------------------------------------

std::byte* Engine::next_staging() {
    if (free_staging_.empty()) {
        if (staging_.size() == limits_.staging_buffers) return nullptr;
        staging_.push_back(support::allocate_aligned(limits_.staging_bytes)); // written before it is read
        free_staging_.reserve(limits_.staging_buffers);
        free_staging_.push_back(static_cast<std::uint32_t>(staging_.size() - 1));
    }
    return staging_[free_staging_.back()].get();
}

void Engine::report_bad_table(int origin, std::uint64_t window) {
    if (is_abandoned(window) || !problem_.empty()) return;
    problem_ = fmt::format("{}: rank {} named places outside of window {} as it is exposed here, in a table of blocks: the request "
                           "was dropped; ranks that run different builds of Lapwing do that, otherwise it is a fault of Lapwing's",
                           who_, origin, window);
}

void Engine::unpack(int origin, std::uint64_t window, std::span<const std::byte> message, std::uint64_t table_bytes) {
    const auto found = exposed_.find(window);
    if (found == exposed_.end() || table_bytes > message.size() ||
        !datatype::scatter_runs(message.first(table_bytes), found->second.base, found->second.bytes, message.subspan(table_bytes)))
        report_bad_table(origin, window);
}

bool Engine::serve_bulk_scatter(Peer& origin, const Request& request) {
    const auto free = std::ranges::find_if(served_puts_, [](const ServedPut& put) { return !put.in_use; });
    if (free == served_puts_.end()) return false;
    std::byte* const staging = next_staging();
    if (staging == nullptr) return false;
    if (request.size > limits_.staging_bytes) {
        report_bad_table(origin.rank, request.window);
        return true;
    }
    const auto index = static_cast<std::uint32_t>(free - served_puts_.begin());
    requests_.add(receive(staging, static_cast<int>(request.size), origin.rank, bulk_put_tag(request.tag)), {What::served_put, index});
    *free = {.peer = &origin,
             .token = request.token,
             .window = request.window,
             .pieces = 1,
             .staging = free_staging_.back(),
             .table_bytes = request.offset,
             .bytes = request.size,
             .in_use = true};
    free_staging_.pop_back();
    return true;
}

bool Engine::serve_gather(Peer& origin, const Request& request, const std::byte* table) {
    if (is_abandoned(request.window)) return true; // no answer: the origin hears of the departure
    const auto found = exposed_.find(request.window);
    const auto pack = [&](std::byte* to) {
        if (found != exposed_.end() && datatype::gather_runs({table, request.offset}, found->second.base, found->second.bytes,
                                                             {to, request.size}))
            return;
        report_bad_table(origin.rank, request.window);
    };
    if (request.kind == RequestKind::gather) {
        std::byte* const answer = append_reply(origin, {.kind = ReplyKind::data, .token = request.token, .size = request.size},
                                               request.size);
        if (answer == nullptr) return false;
        pack(answer);
        return true;
    }
    if (served_bulk_ >= limits_.bulk_transfers) return false;
    std::byte* const staging = next_staging();
    if (staging == nullptr) return false;
    if (request.size > limits_.staging_bytes) {
        report_bad_table(origin.rank, request.window);
        return true;
    }
    pack(staging);
    requests_.add(send(staging, static_cast<int>(request.size), origin.rank, bulk_get_tag(request.tag)),
                  {What::served_gather, free_staging_.back()});
    free_staging_.pop_back();
    ++served_bulk_;
    return true;
}

void Engine::raise_counter(std::uint64_t window, std::uint32_t counter_plus_one) {
    if (counter_plus_one == 0) return;
    const auto found = exposed_.find(window);
    if (found == exposed_.end()) return void(is_abandoned(window));
    if (counter_plus_one > found->second.counter_count) return;
    // Release: whoever sees the counter sees the bytes that were written before.
    found->second.counters[counter_plus_one - 1].fetch_add(1, std::memory_order_release);
}

// ---- replies --------------------------------------------------------------------------------------------------------

void Engine::list_reply(Peer& to) {
    if (to.listed_reply) return;
    to.listed_reply = true;
    reply_peers_.push_back(&to);
}

std::byte* Engine::append_reply(Peer& to, const Reply& reply, std::uint64_t payload_bytes) {
    if (to.open_reply != nullptr && !to.open_reply->fits(sizeof reply, payload_bytes)) send_reply_packet(to);
    if (to.open_reply == nullptr) to.open_reply = reply_pool_.take();
    if (to.open_reply == nullptr) return nullptr;
    list_reply(to);
    return to.open_reply->append(reply, payload_bytes);
}

void Engine::send_reply_packet(Peer& to) {
    Packet* const packet = std::exchange(to.open_reply, nullptr);
    packet->set_header({.acknowledged = to.packets_handled});
    to.acknowledgement_sent = to.packets_handled;
    send(packet, to.rank, reply_tag, {What::reply_out, static_cast<std::uint32_t>(packet - reply_pool_.all().data())});
}

void Engine::send_replies() {
    // First the bulk puts that have arrived: their `done` may share the packet.
    std::erase_if(finished_puts_, [&](std::uint32_t index) {
        ServedPut& put = served_puts_[index];
        if (append_reply(*put.peer, {.kind = ReplyKind::done, .token = put.token}, 0) == nullptr) return false;
        put.in_use = false;
        return true;
    });
    std::erase_if(reply_peers_, [&](Peer* to) {
        // Its acknowledgement may have left with a barrier's token.
        if (to->open_reply != nullptr || to->acknowledgement_sent != to->packets_handled) {
            if (to->open_reply == nullptr) to->open_reply = reply_pool_.take();
            if (to->open_reply == nullptr) return false; // a later round, when a buffer has come free
            send_reply_packet(*to);
        }
        to->listed_reply = false;
        return true;
    });
}

} // namespace lapwing::messages
