#pragma once

#include "src/messages/engine.hpp"
#include "src/messages/put_runs.hpp"
#include "src/transport/access_ledger.hpp"
#include "src/transport/add_kind.hpp"
#include "src/transport/transport.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::detail::transport {

/// A window's operations as messages to the owner, whose progress thread carries them out: all of them on the path
/// service, and on the path rma those that are faster as messages, or that MPI's windows cannot do.
class MessageTransport final : public Transport {
public:
    explicit MessageTransport(AccessLedger& ledger) noexcept : ledger_{ledger}, facts_{ledger.facts()} {}

    /// The data of larger ones moves on its own; that of smaller ones is copied.
    [[nodiscard]] std::uint64_t inline_limit() const noexcept { return engine().inline_limit(); }

    void get(const BegunAccess& access, std::span<std::byte> destination) override;
    void put(const BegunAccess& access, std::span<const std::byte> source) override { put_notify(access, source, 0); }
    /// `counter_plus_one`: the notification counter that is raised after it, or 0.
    void put_notify(const BegunAccess& access, std::span<const std::byte> source, std::uint32_t counter_plus_one);
    std::unique_ptr<PendingTransfer> start_get(const BegunAccess& access, std::span<std::byte> destination) override {
        return start_get_part(access, access.offset, destination);
    }
    std::unique_ptr<PendingTransfer> start_put(const BegunAccess& access, std::span<const std::byte> source) override;
    void fetch(const BegunAccess& access, mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand,
               void* result) override;
    void compare_swap(const BegunAccess& access, mpi::AtomicType type, const void* expected, const void* desired,
                      void* result) override;

    /// Writes bytes, which are copied, to many places in one message. All are among those of `places`, whose accesses
    /// have begun; the access is the first of these.
    void put_runs(const BegunAccess& access, std::span<const Place> places, messages::RunsMessage& runs);

    // Non-blocking. The bytes at `offset` are among those of the access, which may be more.
    [[nodiscard]] std::unique_ptr<ServiceTransfer> start_get_part(const BegunAccess& access, Offset offset,
                                                                  std::span<std::byte> destination);
    [[nodiscard]] std::unique_ptr<ServiceTransfer> start_put_part(const BegunAccess& access, Offset offset,
                                                                  std::span<const std::byte> source);
    /// The owner unpacks: `message` is a datatype::RunTable of `table_bytes` and the bytes for its places, at most
    /// Engine::largest_staged() together. It stays until the transfer is complete.
    [[nodiscard]] std::unique_ptr<ServiceTransfer>
    start_scatter(const BegunAccess& access, std::span<const std::byte> message, std::uint64_t table_bytes);
    /// The owner packs what `table` names, of at most Engine::inline_limit() bytes, into at most
    /// Engine::largest_staged(). The table is copied.
    [[nodiscard]] std::unique_ptr<ServiceTransfer>
    start_gather(const BegunAccess& access, std::span<const std::byte> table, std::span<std::byte> destination);

    /// One atomic of any size; `before` gets what was there.
    void atomic(const BegunAccess& access, const messages::Request& request, std::span<const std::byte> payload,
                std::span<std::byte> before);
    /// A list of them in one message. The payload is copied; the answers go to `answers` as 8 bytes each.
    [[nodiscard]] std::unique_ptr<ServiceTransfer> start_atomics(const BegunAccess& access,
                                                                 const messages::Request& request,
                                                                 std::span<const std::byte> payload,
                                                                 std::byte* answers);
    void adds(const BegunAccess& access, AddKind kind, std::span<const messages::AddPayload> adds);

    /// Waits until messages to the targets that were given to the engine before are carried out.
    void flush(std::span<const Rank> targets);
    /// The same for all targets that have some.
    /// Tries all, whatever happens to the first. Returns the ranks that left with messages of this window under way.
    [[nodiscard]] std::vector<Rank> flush();
    /// Two halves of one target's flush.
    [[nodiscard]] messages::Engine::FlushTicket start_flush(Rank target) { return engine().start_flush(target); }
    void finish_flush(Rank target, messages::Engine::FlushTicket ticket);

    /// After a flush: throws UsageError when a target has dropped some of the window's messages that were flushed.
    void check_dropped(const char* call) {
        if (engine().any_dropped()) [[unlikely]]
            throw_dropped(call);
    }

    /// Whether the engine has messages of any window of the team on their way.
    [[nodiscard]] bool busy() const { return engine().busy(); }

private:
    [[nodiscard]] messages::Engine& engine() const noexcept { return facts_.state.engine(); }
    /// Repeats `attempt` until it starts an operation of the engine, making progress meanwhile.
    template <class Try>
    void start(const BegunAccess& access, Try&& attempt) {
        if (!attempt()) facts_.state.wait_until(attempt, access.call, access.target);
    }
    /// Starts the flushes of all targets, before any of them is waited for.
    [[nodiscard]] messages::FlushTickets start_flushes(std::span<const Rank> targets);
    /// Starts a message that needs a flush, and enters it in the ledger in the same step: a flush by another thread
    /// sees both or neither. `transfer`: a non-blocking transfer, else null.
    template <class Try>
    void start_noted(const BegunAccess& access, std::uint64_t message_bytes, ServiceTransfer* transfer, Try&& attempt);
    /// `note()` enters it, with the ledger's mutex held, where `noted`.
    template <class Try, class Note>
    void start_counted(const BegunAccess& access, bool noted, Try&& attempt, Note&& note);
    /// A non-blocking one, whose answer goes to `destination`.
    template <class Try>
    [[nodiscard]] std::unique_ptr<ServiceTransfer>
    start_transfer(const BegunAccess& access, std::uint64_t message_bytes, std::byte* destination, Try&& attempt);
    /// An atomic on one value, of the request's type.
    void atomic(const BegunAccess& access, const messages::Request& request, const messages::AtomicPayload& payload,
                void* before);
    /// Until the operation, which the caller's memory must outlive, is done.
    void wait(messages::Operation& operation, const BegunAccess& access);
    void throw_dropped(const char* call);
    /// Has the progress thread take care of a message of this size.
    void nudge_progress(const BegunAccess& access, std::uint64_t bytes) const noexcept;

    AccessLedger& ledger_;
    WindowFacts& facts_;
};

} // namespace lapwing::detail::transport
