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
    /// A transfer that is complete.
    Completion() noexcept;
    /// Made by the calls that start transfers.
    explicit Completion(std::unique_ptr<detail::transport::PendingTransfer> pending) noexcept;
    Completion(Completion&&) noexcept;
    /// Waits for the transfer that this object stood for, then takes over the other.
    Completion& operator=(Completion&&);
    /// Waits, since the transfer still uses the caller's memory.
    ~Completion();

    /// Whether there is nothing to wait for, as far as is known without asking.
    [[nodiscard]] bool known_complete() const noexcept { return pending_ == nullptr; }
    /// Whether the transfer is complete; makes progress. Throws what the transfer failed with, PeerLeftError when its
    /// target has left, UsageError when the program freed the window before the transfer was done.
    [[nodiscard]] bool test();
    /// Returns when the transfer is complete. Throws what it failed with, PeerLeftError when its target has left; then,
    /// too, nobody writes to the caller's memory any more.
    void wait();

private:
    std::unique_ptr<detail::transport::PendingTransfer> pending_;
};

} // namespace lapwing
