#include "src/transport/message_transport.hpp"

#include "src/mpi/atomics.hpp"
#include "src/support/first_problem.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace lapwing::detail::transport {

void MessageTransport::wait(messages::Operation& operation, const BegunAccess& access) {
    try {
        facts_.state.wait_until([&] { return operation.done(); }, access.call, access.target);
    } catch (...) {
        engine().abandon(operation);
        throw;
    }
    if (operation.dropped) throw_freed_at(facts_, access.call, access.target);
}

void MessageTransport::throw_dropped(const char* call) {
    if (const Rank target = engine().take_dropped(facts_.number); target >= 0) throw_freed_at(facts_, call, target);
}

void MessageTransport::nudge_progress(const BegunAccess& access, std::uint64_t bytes) const noexcept {
    if (bytes > inline_limit() && !access.is_for_cache()) return messages::ProgressThread::instance().nudge();
    facts_.state.progress_driver().streams(bytes);
    messages::ProgressThread::instance().nudge_seldom();
}

template <class Try, class Note>
void MessageTransport::start_counted(const BegunAccess& access, bool noted, Try&& attempt, Note&& note) {
    start(access, [&] {
        support::BiasedMutex::Guard guard{ledger_.mutex(), std::defer_lock};
        if (noted) guard.lock();
        if (!attempt()) return false;
        ledger_.count_message(access.target);
        if (noted) note();
        return true;
    });
}

template <class Try>
void MessageTransport::start_noted(const BegunAccess& access, std::uint64_t message_bytes, ServiceTransfer* transfer,
                                   Try&& attempt) {
    const bool may_be_passed = access.is_tracked() && access.bytes != 0 && ledger_.may_be_overtaken(message_bytes);
    start_counted(access, may_be_passed || transfer != nullptr, attempt, [&] {
        if (transfer != nullptr) ledger_.enter(*transfer);
        if (may_be_passed) ledger_.enter(access, transfer, AccessLedger::Carrier::messages);
    });
}

template <class Try>
std::unique_ptr<ServiceTransfer> MessageTransport::start_transfer(const BegunAccess& access,
                                                                  std::uint64_t message_bytes, std::byte* destination,
                                                                  Try&& attempt) {
    auto transfer = std::make_unique<ServiceTransfer>(ledger_, access.target);
    transfer->operation().destination = destination;
    start_noted(access, message_bytes, transfer.get(), [&] { return attempt(transfer->operation()); });
    nudge_progress(access, message_bytes);
    return transfer;
}

// ---- put and get ----------------------------------------------------------------------------------------------------

void MessageTransport::get(const BegunAccess& access, std::span<std::byte> destination) {
    messages::Operation operation;
    operation.destination = destination.data();
    start(access, [&] {
        return engine().try_get(operation, access.target, facts_.number, access.offset, destination.size(), true);
    });
    wait(operation, access);
    facts_.statistics.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
}

void MessageTransport::put_notify(const BegunAccess& access, std::span<const std::byte> source,
                                  std::uint32_t counter_plus_one) {
    messages::Operation operation;
    start_noted(access, source.size(), nullptr, [&] {
        return engine().try_put(operation, access.target, facts_.number, access.offset, source.data(), source.size(),
                                counter_plus_one);
    });
    wait(operation, access);
    facts_.statistics.add(Counter::service_puts, Counter::service_put_bytes, source.size());
}

void MessageTransport::put_runs(const BegunAccess& access, std::span<const Place> places, messages::RunsMessage& runs) {
    const std::span<const std::byte> payload = runs.payload();
    const messages::Request request = runs.request(facts_.number, payload.size());
    start_counted(
        access, ledger_.may_be_overtaken(runs.data_bytes()),
        [&] { return engine().try_post(access.target, request, payload); },
        [&] {
            Access place = access;
            for (const Place& one : places) {
                place.offset = one.offset;
                place.bytes = one.bytes;
                ledger_.enter(place, nullptr, AccessLedger::Carrier::messages);
            }
        });
    facts_.statistics.add(Counter::service_puts, Counter::service_put_bytes, runs.data_bytes());
}

std::unique_ptr<PendingTransfer> MessageTransport::start_put(const BegunAccess& access,
                                                             std::span<const std::byte> source) {
    if (source.size() > inline_limit()) return start_put_part(access, access.offset, source);
    put(access, source);
    return {};
}

std::unique_ptr<ServiceTransfer> MessageTransport::start_get_part(const BegunAccess& access, Offset offset,
                                                                  std::span<std::byte> destination) {
    auto transfer = start_transfer(access, destination.size(), destination.data(), [&](messages::Operation& operation) {
        return engine().try_get(operation, access.target, facts_.number, offset, destination.size(), false);
    });
    facts_.statistics.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return transfer;
}

std::unique_ptr<ServiceTransfer> MessageTransport::start_put_part(const BegunAccess& access, Offset offset,
                                                                  std::span<const std::byte> source) {
    auto transfer = start_transfer(access, source.size(), nullptr, [&](messages::Operation& operation) {
        return engine().try_put(operation, access.target, facts_.number, offset, source.data(), source.size());
    });
    facts_.statistics.add(Counter::service_puts, Counter::service_put_bytes, source.size());
    return transfer;
}

std::unique_ptr<ServiceTransfer> MessageTransport::start_scatter(const BegunAccess& access,
                                                                 std::span<const std::byte> message,
                                                                 std::uint64_t table_bytes) {
    auto transfer = start_transfer(access, message.size(), nullptr, [&](messages::Operation& operation) {
        return engine().try_scatter(operation, access.target, facts_.number, message, table_bytes);
    });
    facts_.statistics.add(Counter::service_puts, Counter::service_put_bytes, message.size() - table_bytes);
    return transfer;
}

std::unique_ptr<ServiceTransfer> MessageTransport::start_gather(const BegunAccess& access,
                                                                std::span<const std::byte> table,
                                                                std::span<std::byte> destination) {
    auto transfer = start_transfer(access, destination.size(), destination.data(), [&](messages::Operation& operation) {
        return engine().try_gather(operation, access.target, facts_.number, table, destination.size());
    });
    facts_.statistics.add(Counter::service_gets, Counter::service_get_bytes, destination.size());
    return transfer;
}

// ---- atomics --------------------------------------------------------------------------------------------------------

void MessageTransport::atomic(const BegunAccess& access, const messages::Request& request,
                              std::span<const std::byte> payload, std::span<std::byte> before) {
    messages::Operation waiting;
    waiting.destination = before.data();
    start(access, [&] { return engine().try_atomics(waiting, access.target, request, payload); });
    wait(waiting, access);
    facts_.statistics.add(Counter::service_atomics);
}

void MessageTransport::atomic(const BegunAccess& access, const messages::Request& request,
                              const messages::AtomicPayload& payload, void* before) {
    std::array<std::byte, 8> bytes{};
    atomic(access, request, std::as_bytes(std::span{&payload, 1}), bytes);
    std::memcpy(before, bytes.data(), mpi::size_of(request.type));
}

void MessageTransport::fetch(const BegunAccess& access, mpi::AtomicOperation operation, mpi::AtomicType type,
                             const void* operand, void* result) {
    messages::AtomicPayload payload;
    std::memcpy(&payload.operand, operand, mpi::size_of(type));
    const messages::Request request{.kind = messages::RequestKind::atomic,
                                    .operation = operation,
                                    .type = type,
                                    .window = facts_.number,
                                    .offset = access.offset.bytes};
    atomic(access, request, payload, result);
}

void MessageTransport::compare_swap(const BegunAccess& access, mpi::AtomicType type, const void* expected,
                                    const void* desired, void* result) {
    messages::AtomicPayload payload;
    std::memcpy(&payload.operand, desired, mpi::size_of(type));
    std::memcpy(&payload.expected, expected, mpi::size_of(type));
    const messages::Request request{.kind = messages::RequestKind::atomic,
                                    .type = type,
                                    .is_compare_swap = 1,
                                    .window = facts_.number,
                                    .offset = access.offset.bytes};
    atomic(access, request, payload, result);
}

std::unique_ptr<ServiceTransfer> MessageTransport::start_atomics(const BegunAccess& access,
                                                                 const messages::Request& request,
                                                                 std::span<const std::byte> payload,
                                                                 std::byte* answers) {
    return start_transfer(access, payload.size(), answers, [&](messages::Operation& operation) {
        return engine().try_atomics(operation, access.target, request, payload);
    });
}

void MessageTransport::adds(const BegunAccess& access, AddKind kind, std::span<const messages::AddPayload> adds) {
    const messages::Request request{.kind = messages::RequestKind::adds,
                                    .operation = kind.operation,
                                    .type = kind.type,
                                    .window = facts_.number,
                                    .size = adds.size_bytes()};
    start_counted(
        access, true, [&] { return engine().try_post(access.target, request, std::as_bytes(adds)); },
        [&] { ledger_.enter_adds(access); });
    facts_.statistics.add(Counter::atomic_adds, adds.size());
    facts_.statistics.add(Counter::atomic_add_messages);
}

// ---- flushes --------------------------------------------------------------------------------------------------------

void MessageTransport::finish_flush(Rank target, messages::Engine::FlushTicket ticket) {
    if (engine().flushed(target, ticket)) return;
    facts_.statistics.add(Counter::service_flushes);
    facts_.state.wait_until([&] { return engine().flushed(target, ticket); }, "Window::flush", target);
}

messages::FlushTickets MessageTransport::start_flushes(std::span<const Rank> targets) {
    messages::FlushTickets tickets;
    tickets.reserve(targets.size());
    for (const Rank target : targets) tickets.push_back(start_flush(target));
    return tickets;
}

void MessageTransport::flush(std::span<const Rank> targets) {
    const messages::FlushTickets tickets = start_flushes(targets);
    for (std::size_t i = 0; i < targets.size(); ++i)
        facts_.state.wait_until([&] { return engine().flushed(targets[i], tickets[i]); }, "Window::flush", targets[i]);
    facts_.statistics.add(Counter::service_flushes);
}

std::vector<Rank> MessageTransport::flush() {
    messages::TargetList targets = engine().busy_targets();
    team::Membership& membership = facts_.state.membership();
    const auto has_messages_of_this_window = [this](Rank target) {
        const support::BiasedMutex::Guard guard{ledger_.mutex()};
        return ledger_.touches(target) || ledger_.may_have_message(target);
    };
    // A rank that left may not have acknowledged a leave notice, rather than an access of this window.
    if (membership.broken())
        targets.erase(std::remove_if(targets.begin(), targets.end(),
                                     [&](Rank target) {
                                         return membership.has_left(target) && !has_messages_of_this_window(target);
                                     }),
                      targets.end());
    const messages::FlushTickets tickets = start_flushes({targets.data(), targets.size()});
    std::vector<Rank> lost;
    support::FirstProblem problem;
    for (std::size_t i = 0; i < targets.size(); ++i)
        problem.attempt([&] {
            try {
                facts_.state.wait_until([&] { return engine().flushed(targets[i], tickets[i]); }, "Window::flush",
                                        targets[i]);
            } catch (const PeerLeftError&) {
                if (!membership.has_left(targets[i])) throw;
                if (has_messages_of_this_window(targets[i])) lost.push_back(targets[i]);
            }
        });
    problem.rethrow();
    facts_.statistics.add(Counter::service_flushes);
    return lost;
}

} // namespace lapwing::detail::transport
