#include "src/messages/engine.hpp"

#include "src/messages/tags.hpp"
#include "src/support/assert.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace lapwing::detail::messages {

Engine::Engine(MPI_Comm communicator, const EngineLimits& limits, support::Statistics& statistics,
               EngineListener& listener)
    : limits_{limits},
      listener_{listener},
      endpoint_{communicator, listener},
      request_packets_{
          endpoint_,
          statistics,
          {request_tag, Purpose::request_in, Purpose::request_out, limits.request_packets, limits.request_receives},
          limits.packet_bytes},
      reply_packets_{endpoint_,
                     statistics,
                     {reply_tag, Purpose::reply_in, Purpose::reply_out, limits.reply_packets, limits.reply_receives},
                     limits.packet_bytes},
      replies_{reply_packets_},
      origin_side_{endpoint_, request_packets_, reply_packets_, limits_, listener},
      target_side_{endpoint_, request_packets_, replies_, limits_, statistics, listener} {
    // Last: nothing that throws comes after it.
    request_packets_.open();
    reply_packets_.open();
}

template <class Pending>
void Engine::outlast(Pending&& pending) noexcept {
    // Not every MPI can cancel a send: Open MPI does not try. A send may also never complete if its target no longer
    // receives; that does no harm, since MPI only reads.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{200};
    for (bool first = true;; first = false) {
        const std::lock_guard guard{mutex_};
        if (stopped_ || !pending()) return;
        if (!first && std::chrono::steady_clock::now() >= end) return;
        try {
            progress_locked();
        } catch (...) { // the wait that was given up has thrown, or the next one will
        }
    }
}

// ---- what others may ask for ----------------------------------------------------------------------------------------

void Engine::expose(std::uint64_t window, const ExposedMemory& memory) {
    const std::lock_guard guard{mutex_};
    target_side_.windows().expose(window, memory);
}

void Engine::withdraw(std::uint64_t window) {
    const std::lock_guard guard{mutex_};
    target_side_.windows().withdraw(window);
    origin_side_.forget_dropped(window);
}

void Engine::abandon(std::uint64_t window, LateRequests late) noexcept {
    {
        const std::lock_guard guard{mutex_};
        target_side_.abandon(window, late);
        origin_side_.forget_dropped(window);
    }
    outlast([&] { return target_side_.sends_from(window); });
}

void Engine::register_handler(HandlerNumber number, AnyHandler handler) {
    const std::lock_guard guard{mutex_};
    std::visit([&](auto& one) { target_side_.remote_calls().add(number, std::move(one)); }, handler);
}

void Engine::withdraw_handler(HandlerNumber number) {
    const std::lock_guard guard{mutex_};
    target_side_.remote_calls().remove(number);
}

// ---- requests -------------------------------------------------------------------------------------------------------

bool Engine::try_scatter(Operation& operation, Rank target, std::uint64_t window, std::span<const std::byte> message,
                         std::uint64_t table_bytes) {
    const std::lock_guard guard{mutex_};
    return origin_side_.try_send_data(
        operation, target,
        {.kind = RequestKind::scatter, .window = window, .offset = table_bytes, .size = message.size()},
        RequestKind::bulk_scatter, message.data());
}

bool Engine::try_gather(Operation& operation, Rank target, std::uint64_t window, std::span<const std::byte> table,
                        std::uint64_t bytes) {
    const RequestKind kind = bytes > inline_limit() ? RequestKind::bulk_gather : RequestKind::gather;
    const std::lock_guard guard{mutex_};
    return origin_side_.try_fetch(
        operation, target, {.kind = kind, .window = window, .offset = table.size(), .size = bytes}, table, false);
}

bool Engine::try_atomics(Operation& operation, Rank target, const Request& request,
                         std::span<const std::byte> payload) {
    const std::lock_guard guard{mutex_};
    return origin_side_.try_fetch(operation, target, request, payload, true);
}

bool Engine::try_post(Rank target, const Request& request, std::span<const std::byte> payload) {
    const std::lock_guard guard{mutex_};
    return origin_side_.try_send(target, request, payload, false);
}

bool Engine::try_wake(Rank target) {
    const std::lock_guard guard{mutex_};
    return try_send_locked(target, Request{.kind = RequestKind::wake});
}

bool Engine::try_call(Rank target, HandlerNumber number, std::span<const std::byte> bytes) {
    const std::lock_guard guard{mutex_};
    return locked().try_call(target, number, bytes);
}

bool Engine::try_ask(Operation& operation, Rank target, HandlerNumber number, std::span<const std::byte> bytes,
                     std::uint64_t answer_bytes) {
    const std::lock_guard guard{mutex_};
    return locked().try_ask(operation, target, number, bytes, answer_bytes);
}

void Engine::abandon(Operation& operation) noexcept {
    std::optional<Purpose> left;
    {
        const std::lock_guard guard{mutex_};
        left = origin_side_.abandon(operation);
    }
    if (left) outlast([&] { return endpoint_.requests().contains(*left); });
}

Rank Engine::take_dropped(std::uint64_t window) {
    const std::lock_guard guard{mutex_};
    return origin_side_.take_dropped(window);
}

Engine::FlushTicket Engine::start_flush(Rank target) {
    const std::lock_guard guard{mutex_};
    return origin_side_.start_flush(target);
}

TargetList Engine::busy_targets() {
    const std::lock_guard guard{mutex_};
    return origin_side_.busy_targets();
}

// ---- progress -------------------------------------------------------------------------------------------------------

void Engine::complete(const Purpose& purpose, const MPI_Status& status) {
    switch (purpose.kind) {
    case Purpose::request_in: return target_side_.receive(status);
    case Purpose::reply_in: return origin_side_.receive(status);
    case Purpose::request_out: return request_packets_.sent(purpose.index);
    case Purpose::reply_out: return replies_.sent(purpose.index);
    case Purpose::own_get:
    case Purpose::own_put:
    case Purpose::discarded:
    case Purpose::scrap: return origin_side_.complete(purpose, status);
    case Purpose::served_get:
    case Purpose::served_put: return target_side_.complete(purpose, status);
    }
}

bool Engine::progress_locked() {
    if (stopped_) return false;
    const bool moved = endpoint_.requests().poll(
        [this](const Purpose& purpose, const MPI_Status& status) { complete(purpose, status); },
        [this](int code) { endpoint_.throw_mpi_error(code, "MPI_Testsome", endpoint_.who()); });
    target_side_.read_on();
    listener_.on_progress();
    target_side_.send_replies();
    origin_side_.send_gathered();
    origin_side_.update_active();
    if constexpr (support::internal_assertions) {
        origin_side_.validate();
        target_side_.validate();
    }
    endpoint_.throw_problem();
    return moved;
}

bool Engine::progress() {
    const std::unique_lock guard{mutex_, std::try_to_lock};
    return guard.owns_lock() && progress_locked();
}

bool Engine::idle() {
    const std::lock_guard guard{mutex_};
    progress_locked();
    return !busy() && target_side_.idle() && endpoint_.requests_under_way() == 0;
}

void Engine::stop() noexcept {
    const std::lock_guard guard{mutex_};
    if (std::exchange(stopped_, true)) return;
    request_packets_.hand_over_receives();
    reply_packets_.hand_over_receives();
    // Into the program's memory, which it may free; the rest goes to the engine's and to windows, which stay.
    origin_side_.take_back_all_receives();
    endpoint_.requests().cancel_all();
}

} // namespace lapwing::detail::messages
