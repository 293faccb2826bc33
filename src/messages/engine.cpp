#include "src/messages/engine.hpp"

#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/thread_sanitizer.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace lapwing::messages {

Engine::Engine(MPI_Comm communicator, const EngineLimits& limits, support::Statistics& statistics, EngineListener& listener)
    : communicator_{communicator}, limits_{limits}, statistics_{statistics}, listener_{listener},
      inline_limit_{(limits.packet_bytes - sizeof(PacketHeader) - sizeof(Request)) / 8 * 8},
      request_pool_{limits.request_packets, limits.packet_bytes},
      reply_pool_{limits.reply_packets, limits.packet_bytes}, slots_(limits.operations), served_puts_(limits.bulk_transfers) {
    int rank = 0;
    int size = 0;
    support::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank", "service path");
    support::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size", "service path");
    who_ = fmt::format("rank {} of {}: service path", rank, size);
    for (auto i = static_cast<std::uint32_t>(limits.operations); i-- > 0;) {
        slots_[i].tag = i;
        free_slots_.push_back(i);
    }
    int* largest_tag = nullptr;
    int found = 0;
    support::check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&largest_tag), &found), "MPI_Comm_get_attr", who_);
    last_tag_number_ = largest_bulk_number(found != 0 ? *largest_tag : 32767); // MPI 3.1, section 8.1.2: never less
    const auto open = [&](Ring& ring, std::uint64_t count, int tag, What what) {
        ring.memory = support::allocate_zeroed(count * support::rounded_to_alignment(limits_.packet_bytes));
        ring.requests.assign(count, MPI_REQUEST_NULL);
        ring.tag = tag;
        ring.what = what;
        for (std::size_t i = 0; i < count; ++i) post(ring, i);
        watch_head(ring);
    };
    open(request_ring_, limits.request_receives, request_tag, What::request_in);
    open(reply_ring_, limits.reply_receives, reply_tag, What::reply_in);
    memory_bytes_ = (limits.request_packets + limits.reply_packets + limits.request_receives + limits.reply_receives) *
                    support::rounded_to_alignment(limits.packet_bytes);
}

Engine::~Engine() = default;

void Engine::expose(std::uint64_t window, const ExposedMemory& memory) {
    const std::lock_guard guard{mutex_};
    exposed_.emplace(window, memory);
}

void Engine::withdraw(std::uint64_t window) {
    const std::lock_guard guard{mutex_};
    exposed_.erase(window);
}

void Engine::abandon(std::uint64_t window, LateRequests late) noexcept {
    {
        const std::lock_guard guard{mutex_};
        exposed_.erase(window);
        abandoned_.emplace(window, late);
        for (std::size_t i = 0; i < served_puts_.size(); ++i) {
            ServedPut& put = served_puts_[i];
            if (!put.in_use || put.window != window || put.staging != no_staging || put.pieces == 0) continue;
            const auto index = static_cast<std::uint32_t>(i);
            const std::uint64_t to_come = requests_.take_back_receives({What::served_put, index});
            if (late == LateRequests::dropped) {
                try {
                    receive_into_scrap(index, to_come);
                    continue;
                } catch (...) { // no memory, or MPI fails, which has been recorded
                }
            }
            put.in_use = false;
            if (late == LateRequests::told) listener_.on_abandoned_access(); // its origin waits for what will not be done
        }
    }
    outlast({What::served_get, static_cast<std::uint32_t>(window)});
}

void Engine::receive_into_scrap(std::uint32_t index, std::uint64_t pieces) {
    ServedPut& put = served_puts_[index];
    put.pieces = static_cast<std::uint32_t>(pieces);
    if (pieces == 0) return finished_puts_.push_back(index);
    put.scrap = support::allocate_aligned(put.bytes);
    std::uint64_t left = mpi::piece_count(put.bytes);
    mpi::for_each_piece(put.bytes, [&](std::uint64_t at, int bytes) {
        if (left-- <= pieces)
            requests_.add(receive(put.scrap.get() + at, bytes, put.peer->rank, bulk_put_tag(put.tag)), {What::served_put, index});
    });
}

bool Engine::is_abandoned(std::uint64_t window) {
    const auto found = abandoned_.find(window);
    if (found == abandoned_.end()) return false;
    if (found->second == LateRequests::told) listener_.on_abandoned_access();
    return true;
}

bool Engine::drops_late_requests(std::uint64_t window) const {
    const auto found = abandoned_.find(window);
    return found != abandoned_.end() && found->second == LateRequests::dropped;
}

void Engine::throw_mpi_error(int code, const char* call, const std::string& what) {
    try {
        support::throw_mpi_error(code, call, what);
    } catch (const Error& error) {
        listener_.on_failed(error.what(), code);
        throw;
    }
}

Engine::Peer& Engine::peer(int rank) {
    if (last_peer_ != nullptr && last_peer_->rank == rank) return *last_peer_;
    auto& entry = peers_[rank];
    if (entry == nullptr) {
        entry = std::make_unique<Peer>();
        entry->rank = rank;
    }
    last_peer_ = entry.get();
    return *entry;
}

// ---- receiving ------------------------------------------------------------------------------------------------------

MPI_Request Engine::send(const std::byte* memory, int bytes, int target, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const support::UnseenAccesses unseen;
    if (const int code = MPI_Isend(memory, bytes, MPI_BYTE, target, tag, communicator_, &request); code != MPI_SUCCESS)
        throw_mpi_error(code, "MPI_Isend", fmt::format("{}: {} bytes to rank {}", who_, bytes, target));
    return request;
}

MPI_Request Engine::receive(std::byte* memory, int bytes, int source, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const support::UnseenAccesses unseen;
    if (const int code = MPI_Irecv(memory, bytes, MPI_BYTE, source, tag, communicator_, &request); code != MPI_SUCCESS)
        throw_mpi_error(code, "MPI_Irecv", fmt::format("{}: {} bytes from rank {}", who_, bytes, source));
    return request;
}

void Engine::post(Ring& ring, std::size_t index) {
    ring.requests[index] = receive(packet_in(ring, index), static_cast<int>(limits_.packet_bytes), MPI_ANY_SOURCE, ring.tag);
}

void Engine::watch_head(Ring& ring) {
    requests_.add(std::exchange(ring.requests[ring.head], MPI_REQUEST_NULL),
                  {ring.what, static_cast<std::uint32_t>(ring.head)});
}

void Engine::complete(const Purpose& purpose, const MPI_Status& status) {
    switch (purpose.what) {
    case What::request_in: {
        int bytes = 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        reading_ = {true, status.MPI_SOURCE, sizeof(PacketHeader), static_cast<std::uint64_t>(bytes)};
        statistics_.add(Counter::messages_received);
        read_requests();
        return;
    }
    case What::reply_in:
        statistics_.add(Counter::messages_received);
        read_replies(status);
        return;
    case What::request_out: request_pool_.give_back(&request_pool_.all()[purpose.index]); return;
    case What::reply_out: reply_pool_.give_back(&reply_pool_.all()[purpose.index]); return;
    case What::own_get:
    case What::own_put: {
        Slot& slot = slots_[purpose.index];
        --slot.pieces;
        finish_part(slot);
        release_if_complete(purpose.index);
        return;
    }
    case What::served_gather:
        free_staging_.push_back(purpose.index);
        [[fallthrough]];
    case What::served_get: --served_bulk_; return;
    case What::discarded: --lingering_; return;
    case What::scrap:
        --lingering_;
        scraps_.erase(purpose.index);
        return;
    case What::served_put: {
        ServedPut& put = served_puts_[purpose.index];
        if (--put.pieces == 0) {
            if (put.staging != no_staging) {
                unpack(put.peer->rank, put.window, {staging_[put.staging].get(), put.bytes}, put.table_bytes);
                free_staging_.push_back(put.staging);
            }
            put.scrap.reset();
            raise_counter(put.window, put.counter_plus_one);
            finished_puts_.push_back(purpose.index);
        }
        return;
    }
    }
}

void Engine::read_replies(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const std::byte* const packet = packet_in(reply_ring_, reply_ring_.head);
    Peer& from = peer(status.MPI_SOURCE);
    for (std::uint64_t position = sizeof(PacketHeader); position < static_cast<std::uint64_t>(bytes);) {
        Reply reply;
        std::memcpy(&reply, packet + position, sizeof reply);
        position += sizeof reply;
        if (reply.kind == ReplyKind::barrier) {
            BarrierToken token;
            std::memcpy(&token, packet + position, sizeof token);
            listener_.on_barrier_token(token);
        } else if (Slot* const slot = slot_of(reply.token); slot != nullptr) {
            if (reply.kind == ReplyKind::data && slot->operation != nullptr)
                std::memcpy(slot->operation->destination, packet + position, reply.size);
            slot->awaits_reply = false;
            if (!slot->bulk()) finish_part(*slot);
            release_if_complete(static_cast<std::size_t>(slot - slots_.data()));
        }
        position += padded(reply.size);
    }
    // Only now: whoever sees the acknowledgement may rely on the replies that came before it.
    PacketHeader header;
    std::memcpy(&header, packet, sizeof header);
    packets_unacknowledged_ -= header.acknowledged - from.packets_acknowledged;
    from.packets_acknowledged = header.acknowledged;
    post(reply_ring_, reply_ring_.head);
    reply_ring_.head = (reply_ring_.head + 1) % reply_ring_.requests.size();
    watch_head(reply_ring_);
}

void Engine::send(Packet* packet, int target, int tag, Purpose purpose) {
    requests_.add(send(packet->memory(), static_cast<int>(packet->used()), target, tag), purpose);
    statistics_.add(Counter::messages_sent);
}

// ---- flushing and progress ------------------------------------------------------------------------------------------

Engine::FlushTicket Engine::start_flush(int target) {
    const std::lock_guard guard{mutex_};
    const auto found = peers_.find(target);
    if (found == peers_.end()) return {};
    Peer& to = *found->second;
    FlushTicket ticket{.packets = to.packets_sent, .bulk = to.bulk_started, .any = true};
    if (to.open_request != nullptr) {
        ++ticket.packets;
        send_or_list(to, true);
    }
    return ticket;
}

bool Engine::flushed(int target, const FlushTicket& ticket) {
    if (!ticket.any) return true;
    const std::lock_guard guard{mutex_};
    const Peer& to = *peers_.at(target);
    return to.packets_acknowledged >= ticket.packets && (to.bulk_under_way.empty() || to.bulk_under_way.front() > ticket.bulk);
}

std::vector<int> Engine::busy_targets() {
    const std::lock_guard guard{mutex_};
    std::vector<int> targets;
    if (active_.load(std::memory_order_relaxed) == 0) return targets;
    std::erase_if(busy_peers_, [&](Peer* to) {
        if (to->busy()) targets.push_back(to->rank);
        else to->listed_busy = false;
        return !to->listed_busy;
    });
    return targets;
}

void Engine::update_active() noexcept {
    active_.store(packets_unacknowledged_ + open_peers_.size() + own_bulk_, std::memory_order_release); // busy()
    pushing_.store(active_.load(std::memory_order_relaxed) != 0 && (!open_peers_.empty() || requests_.size() > watched_receives + lingering_),
                   std::memory_order_relaxed);
}

bool Engine::progress_locked() {
    if (stopped_) return false;
    const bool moved =
        requests_.poll([this](const Purpose& purpose, const MPI_Status& status) { complete(purpose, status); },
                       [this](int code) { throw_mpi_error(code, "MPI_Testsome", who_); });
    if (reading_.active) read_requests();
    listener_.on_progress();
    if (!finished_puts_.empty() || !reply_peers_.empty()) send_replies();
    if (!open_peers_.empty()) pump();
    update_active();
    if (!problem_.empty()) [[unlikely]] {
        listener_.on_failed(problem_, 0);
        throw Error{std::exchange(problem_, {})};
    }
    return moved;
}

bool Engine::progress() {
    const std::unique_lock guard{mutex_, std::try_to_lock};
    return guard.owns_lock() && progress_locked();
}

bool Engine::idle() {
    const std::lock_guard guard{mutex_};
    progress_locked();
    return active_.load(std::memory_order_relaxed) == 0 && reply_peers_.empty() && finished_puts_.empty() &&
           !reading_.active && requests_.size() <= watched_receives;
}

void Engine::stop() noexcept {
    const std::lock_guard guard{mutex_};
    if (std::exchange(stopped_, true)) return;
    for (Ring* ring : {&request_ring_, &reply_ring_})
        for (MPI_Request& request : ring->requests)
            if (request != MPI_REQUEST_NULL) requests_.add(std::exchange(request, MPI_REQUEST_NULL), {What::discarded});
    // Into the program's memory, which it may free; the rest goes to the engine's and to windows, which stay.
    for (std::size_t i = 0; i < slots_.size(); ++i) requests_.take_back_receives({What::own_get, static_cast<std::uint32_t>(i)});
    requests_.cancel_all();
}

} // namespace lapwing::messages
