#pragma once

#include "src/messages/request.hpp"
#include "src/support/biased_mutex.hpp"
#include "src/transport/add_kind.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lapwing::detail::window {

/// What GatheredAdds needs of its window.
class AddSender {
public:
    struct Limits {
        std::size_t message = 0; ///< most adds in one message
        std::uint64_t bytes = 0; ///< memory for those that wait
        std::size_t ranks = 0;   ///< that there are
    };
    [[nodiscard]] virtual Limits add_limits() const = 0;
    /// Sends adds to one rank, which lie in [begin, end): all, or throws.
    virtual void send_adds(Rank target, transport::AddKind kind, std::uint64_t begin, std::uint64_t end,
                           std::span<const messages::AddPayload> adds) = 0;
    /// Nothing can be sent to that rank any more.
    [[nodiscard]] virtual bool has_left(Rank target) = 0;

protected:
    ~AddSender() = default;
};

/// Memory for the gathered adds of a window.
[[nodiscard]] std::uint64_t add_memory(const Settings& settings);

/// The atomic adds without a result of one window that have not been sent yet; "adds" means all operations without a
/// result (xor, minimum, …). Those to one rank travel together to its progress thread, which carries them out one by
/// one: a message holds hundreds, of one kind.
///
/// Memory is bounded, whatever the number of ranks: all adds come from one pool. When that is used up, the rank whose
/// adds have waited longest has them sent. So messages become shorter in proportion as there are more ranks: of adds to
/// random ones of R ranks, with room for M, about 2 M / R are sent at a time.
///
/// Adds of one kind to the same bytes commute; those of another kind stay after those that wait, and other accesses of
/// this rank to these bytes keep their program order by before().
class GatheredAdds {
public:
    explicit GatheredAdds(AddSender& sender) noexcept;
    ~GatheredAdds();
    GatheredAdds(const GatheredAdds&) = delete;
    GatheredAdds& operator=(const GatheredAdds&) = delete;

    /// May be called without a lock. Acquire: who sees that the flusher has sent this thread's adds sees them in the
    /// ledger.
    [[nodiscard]] bool empty() const noexcept { return waiting_.load(std::memory_order_acquire) == 0; }

    /// How many there were, ever. For any thread.
    [[nodiscard]] std::uint64_t added() const noexcept { return added_.load(std::memory_order_relaxed); }

    void add(Rank target, Offset offset, transport::AddKind kind, const void* operand);
    /// Before another access to [offset, offset + bytes): adds to these bytes come first.
    void before(Rank target, Offset offset, std::uint64_t bytes);
    /// Sends what has been aggregated (for one rank); the caller then completes it. When that throws for one rank, the
    /// others' adds have been sent, and its own still wait.
    void send();
    void send(Rank target);

    /// Adds are lost when their rank has left before they were sent. The sender goes on; the next release reports it.
    [[nodiscard]] bool any_lost() const noexcept { return any_lost_.load(std::memory_order_relaxed); }
    /// What has been lost since the last call, in words: "3 adds to rank 0".
    [[nodiscard]] std::string take_lost();

private:
    struct Batch;
    class Pool;

    void send(Batch& batch);

    AddSender& sender_;
    support::BiasedMutex mutex_{
        support::LockRank::gathered_adds}; ///< guards the fields below; held before those of the window and the engine
    std::unique_ptr<Pool> pool_;           ///< null before the first add
    struct Lost {
        Rank target = 0;
        std::uint64_t adds = 0;
    };
    std::vector<Lost> lost_;
    std::atomic<std::size_t> waiting_{0}; ///< ranks with adds; written under the mutex
    std::atomic<std::uint64_t> added_{0}; ///< and this
    std::atomic<bool> any_lost_{false};   ///< so is this
};

} // namespace lapwing::detail::window
