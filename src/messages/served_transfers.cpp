#include "src/messages/served_transfers.hpp"

#include "src/messages/fair_share.hpp"
#include "src/messages/request_table.hpp"
#include "src/messages/tags.hpp"
#include "src/mpi/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace lapwing::detail::messages {
namespace {

/// The number of one that is not in use, or of one more.
template <class Transfer>
std::uint32_t free_one(std::deque<Transfer>& transfers) {
    const auto found = std::ranges::find_if(transfers, [](const Transfer& transfer) { return !transfer.in_use; });
    const auto number = static_cast<std::uint32_t>(found - transfers.begin());
    if (number == transfers.size()) transfers.emplace_back();
    return number;
}

} // namespace

ServedTransfers::ServedTransfers(Endpoint& endpoint, ExposedWindows& windows, const EngineLimits& limits)
    : endpoint_{endpoint},
      windows_{windows},
      limits_{limits},
      largest_tag_number_{largest_bulk_number(endpoint.largest_tag())},
      staging_{limits.staging_buffers, limits.staging_bytes, limits.extra_staging_buffers} {}

bool ServedTransfers::makes_sense(const Peer& origin, const Request& request) {
    const bool staged = request.kind != RequestKind::bulk_get && request.kind != RequestKind::bulk_put;
    const bool table_fits = request.kind != RequestKind::bulk_scatter || request.offset <= request.size;
    if (request.tag <= largest_tag_number_ && request.size != 0 && (!staged || request.size <= limits_.staging_bytes) &&
        table_fits)
        return true;
    endpoint_.note_problem(fmt::format(
        "rank {} announced {} bytes in messages of their own ({}, of window {}, tag number {}, {} in the "
        "place of the offset); they may be 1 to {} with tag numbers up to {}: the request was dropped; {}",
        origin.rank.value, request.size, row_of(request.kind)->name, request.window, request.tag, request.offset,
        staged ? limits_.staging_bytes : ~std::uint64_t{0}, largest_tag_number_, fault_of_builds));
    return false;
}

// ---- gets -----------------------------------------------------------------------------------------------------------

ServedTransfers::Get* ServedTransfers::take_get(Peer& origin, const Request& request) {
    const std::uint64_t free = limits_.bulk_transfers - std::min(gets_in_use_, limits_.bulk_transfers);
    Lent& lent = origin.lend();
    if (lent.gets != 0 && !is_fair(lent.gets, free)) return nullptr;
    const std::uint32_t number = free_one(gets_);
    Get& get = gets_[number];
    get = {.number = number, .peer = &origin, .window = request.window, .in_use = true};
    ++lent.gets;
    ++gets_in_use_;
    return &get;
}

void ServedTransfers::release(Get& get) noexcept {
    return_staging(*get.peer, get.staging);
    get.in_use = false;
    --get.peer->lent->gets;
    --gets_in_use_;
}

bool ServedTransfers::serve_get(Peer& origin, const Request& request, const std::byte* address) {
    if (!makes_sense(origin, request)) return true;
    Get* const get = take_get(origin, request);
    if (get == nullptr) return false;
    const Purpose purpose{Purpose::served_get, get->number};
    try {
        mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
            endpoint_.send(address + at, bytes, origin.rank, bulk_get_tag(request.tag), purpose);
            ++get->pieces;
        });
    } catch (...) {
        if (get->pieces == 0) release(*get); // else when the others have left
        throw;
    }
    return true;
}

bool ServedTransfers::serve_packed(Peer& origin, const Request& request,
                                   const std::function<bool(std::span<std::byte>)>& pack) {
    if (!makes_sense(origin, request)) return true;
    std::uint32_t staging = take_staging(origin, request.size);
    if (staging == StagingBuffers::none) return false;
    Get* const get = take_get(origin, request);
    if (get == nullptr) {
        return_staging(origin, staging);
        return false;
    }
    get->staging = staging;
    try {
        std::byte* const memory = staging_.memory(staging);
        if (!pack({memory, request.size})) {
            release(*get);
            return false;
        }
        endpoint_.send(memory, static_cast<int>(request.size), origin.rank, bulk_get_tag(request.tag),
                       {Purpose::served_get, get->number});
        get->pieces = 1;
    } catch (...) {
        release(*get);
        throw;
    }
    return true;
}

bool ServedTransfers::sends_from(std::uint64_t window) const noexcept {
    return std::ranges::any_of(gets_, [window](const Get& get) {
        return get.in_use && get.window == window && get.staging == StagingBuffers::none;
    });
}

// ---- puts -----------------------------------------------------------------------------------------------------------

ServedTransfers::Put* ServedTransfers::take_put(Peer& origin, const Request& request) {
    const std::uint64_t free = limits_.bulk_transfers - std::min(puts_in_use_, limits_.bulk_transfers);
    Lent& lent = origin.lend();
    if (lent.puts != 0 && !is_fair(lent.puts, free)) return nullptr;
    const std::uint32_t number = free_one(puts_);
    Put& put = puts_[number];
    put = {.number = number,
           .peer = &origin,
           .token = request.token,
           .window = request.window,
           .counter_plus_one = request.counter_plus_one,
           .tag = request.tag,
           .bytes = request.size,
           .in_use = true};
    ++lent.puts;
    ++puts_in_use_;
    return &put;
}

void ServedTransfers::release(Put& put) noexcept {
    return_staging(*put.peer, put.staging);
    put.scrap.reset();
    put.in_use = false;
    --put.peer->lent->puts;
    --puts_in_use_;
}

template <class Step>
void ServedTransfers::start_or_release(Put& put, Step&& step) {
    try {
        step();
    } catch (...) {
        (void)endpoint_.requests().take_back_receives({Purpose::served_put, put.number});
        release(put);
        throw;
    }
}

bool ServedTransfers::serve_put(Peer& origin, const Request& request, std::byte* address) {
    if (!makes_sense(origin, request)) return true;
    Put* const put = take_put(origin, request);
    if (put == nullptr) return false;
    put->pieces = static_cast<std::uint32_t>(mpi::piece_count(request.size));
    const Purpose purpose{Purpose::served_put, put->number};
    start_or_release(*put, [&] {
        mpi::for_each_piece(request.size, [&](std::uint64_t at, int bytes) {
            endpoint_.receive(address + at, bytes, origin.rank, bulk_put_tag(request.tag), purpose);
        });
    });
    return true;
}

ServedTransfers::Put* ServedTransfers::take_staged_put(Peer& origin, const Request& request) {
    std::uint32_t staging = take_staging(origin, request.size);
    if (staging == StagingBuffers::none) return nullptr;
    Put* const put = take_put(origin, request);
    if (put == nullptr) {
        return_staging(origin, staging);
        return nullptr;
    }
    put->pieces = 1;
    put->staging = staging;
    start_or_release(*put, [&] {
        endpoint_.receive(staging_.memory(staging), static_cast<int>(request.size), origin.rank,
                          bulk_put_tag(request.tag), {Purpose::served_put, put->number});
    });
    return put;
}

bool ServedTransfers::serve_scatter(Peer& origin, const Request& request) {
    if (!makes_sense(origin, request)) return true;
    Put* const put = take_staged_put(origin, request);
    if (put == nullptr) return false;
    put->table_bytes = request.offset;
    return true;
}

bool ServedTransfers::serve_call(Peer& origin, const Request& request, RemoteCalls& calls) {
    Lent& lent = origin.lend();
    if (lent.call == Lent::no_call) {
        if (!makes_sense(origin, request)) return true;
        Put* const put = take_staged_put(origin, request);
        if (put == nullptr) return false;
        put->is_call = true;
        lent.call = put->number;
    }
    Put& put = puts_[lent.call];
    if (put.pieces != 0) return false;
    lent.call = Lent::no_call;
    if (!put.dropped) calls.run(origin.rank, HandlerNumber{request.handler}, {staging_.memory(put.staging), put.bytes});
    return_staging(origin, put.staging);
    finished_.push_back(put.number);
    return true;
}

bool ServedTransfers::discard_put(Peer& origin, const Request& request) {
    if (!makes_sense(origin, request)) return true;
    Put* const put = take_put(origin, request);
    if (put == nullptr) return false;
    (void)receive_into_scrap(*put, mpi::piece_count(request.size));
    return true;
}

bool ServedTransfers::receive_into_scrap(Put& put, std::uint64_t pieces) {
    put.dropped = true;
    put.pieces = static_cast<std::uint32_t>(pieces);
    if (pieces == 0) {
        finished_.push_back(put.number);
        return true;
    }
    try {
        put.scrap = support::allocate_aligned(put.bytes);
    } catch (const std::bad_alloc&) {
        endpoint_.note_problem(
            fmt::format("no memory for {} bytes that rank {} puts to window {}, whose memory is gone: they cannot be "
                        "received, so that rank {} cannot send them; flush, or close the window, before it is freed",
                        put.bytes, put.peer->rank.value, put.window, put.peer->rank.value));
        release(put);
        return false;
    }
    const Purpose purpose{Purpose::served_put, put.number};
    start_or_release(put, [&] {
        std::uint64_t left = mpi::piece_count(put.bytes);
        mpi::for_each_piece(put.bytes, [&](std::uint64_t at, int bytes) {
            if (left-- <= pieces)
                endpoint_.receive(put.scrap.get() + at, bytes, put.peer->rank, bulk_put_tag(put.tag), purpose);
        });
    });
    return true;
}

void ServedTransfers::complete(const Purpose& purpose, const MPI_Status& status) {
    if (purpose.kind == Purpose::served_get) {
        Get& get = gets_[purpose.index];
        if (--get.pieces == 0) release(get);
        return;
    }
    Put& put = puts_[purpose.index];
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    put.arrived += static_cast<std::uint64_t>(bytes);
    if (--put.pieces == 0) finish(put);
}

void ServedTransfers::finish(Put& put) {
    if (!put.dropped && put.arrived != put.bytes) {
        endpoint_.note_problem(fmt::format("rank {} sent {} bytes of a put of {} to window {}; {}",
                                           put.peer->rank.value, put.arrived, put.bytes, put.window, fault_of_builds));
        put.dropped = true;
    }
    if (put.is_call) return; // it goes on when it is its turn
    if (!put.dropped && put.staging != StagingBuffers::none)
        put.dropped =
            !windows_.scatter(put.peer->rank, put.window, {staging_.memory(put.staging), put.bytes}, put.table_bytes);
    return_staging(*put.peer, put.staging);
    put.scrap.reset();
    if (!put.dropped) windows_.raise_counter(put.peer->rank, put.window, put.counter_plus_one);
    finished_.push_back(put.number);
}

void ServedTransfers::abandon(std::uint64_t window, LateRequests late, EngineListener& listener) noexcept {
    for (Put& put : puts_) {
        if (!put.in_use || put.window != window || put.staging != StagingBuffers::none || put.pieces == 0 ||
            put.dropped)
            continue;
        const std::uint64_t to_come = endpoint_.requests().take_back_receives({Purpose::served_put, put.number});
        if (late == LateRequests::dropped) {
            try {
                (void)receive_into_scrap(put, to_come);
            } catch (...) { // MPI fails, which has been recorded
            }
            continue;
        }
        release(put);
        listener.on_abandoned_access(); // its origin waits for what will not be done
    }
}

void ServedTransfers::answer_finished(ReplyQueue& replies) {
    std::erase_if(finished_, [&](std::uint32_t index) {
        Put& put = puts_[index];
        const DroppedNote note{put.window};
        std::byte* const place = replies.append(*put.peer, {.kind = put.dropped ? ReplyKind::dropped : ReplyKind::done,
                                                            .token = put.token,
                                                            .size = put.dropped ? sizeof note : 0});
        if (place == nullptr) return false;
        if (put.dropped) std::memcpy(place, &note, sizeof note);
        release(put);
        return true;
    });
}

std::uint32_t ServedTransfers::take_staging(Peer& origin, std::uint64_t bytes) {
    Lent& lent = origin.lend();
    std::uint32_t number = StagingBuffers::none;
    if (is_fair(lent.staging_buffers, staging_.free())) number = staging_.take();
    if (number == StagingBuffers::none && lent.staging_buffers == 0) number = staging_.take_extra(bytes);
    if (number != StagingBuffers::none) ++lent.staging_buffers;
    return number;
}

void ServedTransfers::return_staging(Peer& origin, std::uint32_t& number) noexcept {
    if (number == StagingBuffers::none) return;
    staging_.give_back(number);
    --origin.lent->staging_buffers;
    number = StagingBuffers::none;
}

} // namespace lapwing::detail::messages
