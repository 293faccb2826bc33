#pragma once

#include "src/messages/engine.hpp"
#include "src/support/recycled.hpp"
#include "src/transport/pending_transfer.hpp"

#include <lapwing/rank.hpp>

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>

#include <mpi.h>

#include <atomic>

namespace lapwing::detail::transport {

class AccessLedger;
struct WindowFacts;

/// A non-blocking transfer of a window. The window knows its transfers and detaches them when it is closed, which has
/// completed them: a Completion may outlive the window, its team and MPI.
class WindowTransfer : public PendingTransfer, public boost::intrusive::list_base_hook<> {
public:
    /// The caller enters it in the ledger, which it leaves when it is complete.
    WindowTransfer(AccessLedger& ledger, Rank target) noexcept : ledger_{&ledger}, target_{target} {}
    WindowTransfer(const WindowTransfer&) = delete;
    WindowTransfer& operator=(const WindowTransfer&) = delete;

    bool test() override;
    void wait() override;
    /// By the window, which is about to go. All its operations are complete.
    void detach();
    /// By the window, whose memory is gone: if it is not complete, a wait for it reports that it never will be.
    void lose() noexcept;

protected:
    /// Whether the caller may use its memory again.
    [[nodiscard]] virtual bool arrived() = 0;
    /// Of one that has arrived: whether its target has not carried it out, since the window's memory was gone there.
    [[nodiscard]] virtual bool dropped() const noexcept { return false; }
    /// After a wait that threw: returns when nothing writes to the caller's memory any more, or, on the path rma, when
    /// the program has ended a wait.
    virtual void give_up() noexcept = 0;
    /// For the destructors: of a transfer that could not be started, or that nothing could complete.
    void leave_window() noexcept;
    [[nodiscard]] bool attached() const noexcept { return ledger_.load(std::memory_order_acquire) != nullptr; }
    [[nodiscard]] const WindowFacts& window() const noexcept;

private:
    /// Throws when nothing can complete it any more: its target or this rank has left the team, or progress has failed.
    /// It has been given up then.
    void check_hope(const WindowFacts& window, const char* call);

    /// Throws UsageError when it was lost.
    void check_lost() const;

    /// It has arrived. Throws UsageError when it was dropped.
    void finish(const WindowFacts& window, const char* call);

    std::atomic<AccessLedger*> ledger_; ///< null: complete, or lost
    std::atomic<bool> lost_{false};     ///< also seen by a thread that waits for it
    Rank target_;
};

/// Through MPI's one-sided operations.
class RmaTransfer final : public WindowTransfer, public support::Recycled<RmaTransfer> {
public:
    using WindowTransfer::WindowTransfer;
    ~RmaTransfer() override;
    void add(MPI_Request request) { requests_.push_back(request); }

private:
    bool arrived() override;
    void give_up() noexcept override;
    boost::container::small_vector<MPI_Request, 2> requests_;
};

/// Through the owner's progress thread.
class ServiceTransfer final : public WindowTransfer, public support::Recycled<ServiceTransfer> {
public:
    using WindowTransfer::WindowTransfer;
    ~ServiceTransfer() override;
    [[nodiscard]] messages::Operation& operation() noexcept { return operation_; }

private:
    bool arrived() override { return operation_.done(); }
    bool dropped() const noexcept override { return operation_.dropped; }
    void give_up() noexcept override;
    messages::Operation operation_;
};

} // namespace lapwing::detail::transport
