// Room: transport
#pragma once

#include <memory>

namespace lapwing {

namespace detail::transport {
class PendingTransfer;
} // namespace detail::transport

/// The completion of a non-blocking transfer. Complete means: for a get, the value is in the destination; for a put,
/// the source may be reused (flush() completes it at the owner). Transfers through memory are complete from the start,
/// and closing the window completes the others, so that a Completion may outlive it.
class [[nodiscard]] Completion {
public:
    /// The completion of a finished transfer.
    Completion() noexcept;
    /// Made by the calls that start transfers.
    explicit Completion(std::unique_ptr<detail::transport::PendingTransfer> pending) noexcept;
    Completion(Completion&&) noexcept;
    /// Waits for its current transfer, then takes over the other.
    Completion& operator=(Completion&&);
    /// Waits, since the transfer may still use the caller's memory.
    ~Completion();

    /// Whether the transfer is already known to be complete. Makes no progress.
    [[nodiscard]] bool known_complete() const noexcept { return pending_ == nullptr; }
    /// Whether the transfer is complete; makes progress. Throws the error that the transfer failed with, PeerLeftError
    /// if its target has left, UsageError if the program freed the window before the transfer was complete.
    [[nodiscard]] bool test();
    /// Returns when the transfer is complete. Throws the error that it failed with, and PeerLeftError if its target has
    /// left; in both cases the caller's memory is no longer written to.
    void wait();

private:
    std::unique_ptr<detail::transport::PendingTransfer> pending_;
};

} // namespace lapwing
