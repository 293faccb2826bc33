#include "src/messages/served_transfers.hpp"

#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"

#include <algorithm>

namespace lapwing::messages {

bool ServedTransfers::serve_get(const Peer& origin, const Request& request, const std::byte* address) {
    if (sending_ >= limits_.bulk_transfers) return false;
    mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
        endpoint_.send(address + at, bytes, origin.rank, bulk_get_tag(request.tag),
                       {Purpose::served_get, static_cast<std::uint32_t>(request.window)});
    });
    sending_ += mpi::piece_count(request.size);
    return true;
}

bool ServedTransfers::serve_put(Peer& origin, const Request& request, std::byte* address) {
    if (sending_ >= limits_.bulk_transfers) return false;
    Put* const put = free_put();
    if (put == nullptr) return false;
    const std::uint64_t pieces = mpi::piece_count(request.size);
    *put = {.peer = &origin,
            .token = request.token,
            .window = request.window,
            .pieces = static_cast<std::uint32_t>(pieces),
            .counter_plus_one = request.counter_plus_one,
            .bytes = request.size,
            .tag = request.tag,
            .in_use = true};
    if (address == nullptr) {
        receive_into_scrap(*put, pieces);
        return true;
    }
    mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
        endpoint_.receive(address + at, bytes, origin.rank, bulk_put_tag(request.tag), {Purpose::served_put, index_of(*put)});
    });
    return true;
}

bool ServedTransfers::serve_scatter(Peer& origin, const Request& request) {
    Put* const put = free_put();
    if (put == nullptr) return false;
    std::byte* const staging = next_staging();
    if (staging == nullptr) return false;
    if (request.size > limits_.staging_bytes) {
        windows_.note_bad_table(origin.rank, request.window);
        return true;
    }
    endpoint_.receive(staging, static_cast<int>(request.size), origin.rank, bulk_put_tag(request.tag),
                      {Purpose::served_put, index_of(*put)});
    *put = {.peer = &origin,
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

bool ServedTransfers::serve_gather(const Peer& origin, const Request& request, std::span<const std::byte> table) {
    if (sending_ >= limits_.bulk_transfers) return false;
    std::byte* const staging = next_staging();
    if (staging == nullptr) return false;
    if (request.size > limits_.staging_bytes) {
        windows_.note_bad_table(origin.rank, request.window);
        return true;
    }
    windows_.gather(origin.rank, request.window, table, {staging, request.size});
    endpoint_.send(staging, static_cast<int>(request.size), origin.rank, bulk_get_tag(request.tag),
                   {Purpose::served_gather, free_staging_.back()});
    free_staging_.pop_back();
    ++sending_;
    return true;
}

void ServedTransfers::complete(const Purpose& purpose) {
    if (purpose.kind == Purpose::served_put) {
        Put& put = puts_[purpose.index];
        if (--put.pieces == 0) finish(put);
        return;
    }
    if (purpose.kind == Purpose::served_gather) free_staging_.push_back(purpose.index);
    --sending_;
}

void ServedTransfers::finish(Put& put) {
    if (put.staging != no_staging) {
        windows_.scatter(put.peer->rank, put.window, {staging_[put.staging].get(), put.bytes}, put.table_bytes);
        free_staging_.push_back(put.staging);
    }
    put.scrap.reset();
    windows_.raise_counter(put.window, put.counter_plus_one);
    finished_.push_back(index_of(put));
}

void ServedTransfers::abandon(std::uint64_t window, LateRequests late, EngineListener& listener) noexcept {
    for (Put& put : puts_) {
        if (!put.in_use || put.window != window || put.staging != no_staging || put.pieces == 0) continue;
        const std::uint64_t to_come = endpoint_.requests().take_back_receives({Purpose::served_put, index_of(put)});
        if (late == LateRequests::dropped) {
            try {
                receive_into_scrap(put, to_come);
                continue;
            } catch (...) { // no memory, or MPI fails, which has been recorded
            }
        }
        put.in_use = false;
        if (late == LateRequests::told) listener.on_abandoned_access(); // its origin waits for what will not be done
    }
}

void ServedTransfers::receive_into_scrap(Put& put, std::uint64_t pieces) {
    put.pieces = static_cast<std::uint32_t>(pieces);
    if (pieces == 0) return finished_.push_back(index_of(put));
    put.scrap = support::allocate_aligned(put.bytes);
    std::uint64_t left = mpi::piece_count(put.bytes);
    mpi::for_each_piece(put.bytes, [&](std::uint64_t at, int bytes) {
        if (left-- <= pieces)
            endpoint_.receive(put.scrap.get() + at, bytes, put.peer->rank, bulk_put_tag(put.tag), {Purpose::served_put, index_of(put)});
    });
}

void ServedTransfers::answer_finished(ReplyQueue& replies) {
    std::erase_if(finished_, [&](std::uint32_t index) {
        Put& put = puts_[index];
        if (replies.append(*put.peer, {.kind = ReplyKind::done, .token = put.token}) == nullptr) return false;
        put.in_use = false;
        return true;
    });
}

ServedTransfers::Put* ServedTransfers::free_put() {
    const auto found = std::ranges::find_if(puts_, [](const Put& put) { return !put.in_use; });
    return found == puts_.end() ? nullptr : &*found;
}

std::byte* ServedTransfers::next_staging() {
    if (free_staging_.empty()) {
        if (staging_.size() == limits_.staging_buffers) return nullptr;
        staging_.push_back(support::allocate_aligned(limits_.staging_bytes)); // written before it is read
        free_staging_.reserve(limits_.staging_buffers);
        free_staging_.push_back(static_cast<std::uint32_t>(staging_.size() - 1));
    }
    return staging_[free_staging_.back()].get();
}

} // namespace lapwing::messages
