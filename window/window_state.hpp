#pragma once

#include "src/team/epoch_member.hpp"
#include "src/transport/access_ledger.hpp"
#include "src/transport/transports.hpp"
#include "src/transport/window_facts.hpp"
#include "window/access_order.hpp"
#include "window/notifications.hpp"
#include "window/puts_and_gets.hpp"
#include "window/remote_cache.hpp"
#include "window/window_atomics.hpp"
#include "window/window_memory.hpp"

#include <lapwing/window.hpp>

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace lapwing::detail::window {

/// The inside of a Window: its parts, and its creation and end.
class WindowState final : public team::EpochMember, private CopiesObserver {
public:
    /// Whether the team's releases and acquires include it, and the team's close asks for it. A window that is not
    /// listed has no operations under way when its calls return, and is closed by its maker.
    enum class Listed : std::uint8_t { no, yes };
    /// Collective: allocates memory.
    WindowState(Team& team, std::uint64_t bytes, WindowOptions options, Listed listed = Listed::yes);
    /// Collective: uses the memory of the program's window.
    WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options);
    ~WindowState() override;
    WindowState(const WindowState&) = delete;
    WindowState& operator=(const WindowState&) = delete;

    [[nodiscard]] const transport::WindowFacts& facts() const noexcept { return facts_; }
    [[nodiscard]] const transport::MemoryMap& map() const noexcept { return facts_.map; }
    [[nodiscard]] support::Statistics& statistics() noexcept { return facts_.statistics; }
    /// "rank 2 of 4: Window("a").get", the start of a message.
    [[nodiscard]] std::string who(const char* call) const { return facts_.who(call); }

    [[nodiscard]] AccessOrder& order() noexcept { return order_; }
    [[nodiscard]] transport::Transports& transports() noexcept { return transports_; }
    [[nodiscard]] PutsAndGets& puts_and_gets() noexcept { return puts_and_gets_; }
    [[nodiscard]] WindowAtomics& atomics() noexcept { return atomics_; }
    [[nodiscard]] Notifications& notifications() noexcept { return notifications_; }
    /// Null if the window is not cached.
    [[nodiscard]] RemoteCache* cache() const noexcept { return cache_.get(); }

    // EpochMember
    [[nodiscard]] team::TeamState& team_state() const noexcept override { return facts_.state; }
    [[nodiscard]] std::uint64_t number() const noexcept override { return facts_.number; }
    [[nodiscard]] std::string label() const override { return facts_.label(); }
    [[nodiscard]] bool holds_back() const noexcept override { return order_.holds_back(); }
    void start_release() override { order_.start_release(); }
    [[nodiscard]] bool under_way() const noexcept override { return order_.under_way(); }
    void finish_release() override { order_.finish_release(); }
    [[nodiscard]] bool has_copies() const noexcept override { return order_.has_copies(); }
    void drop_copies() override { order_.drop_copies(); }
    void order_memory() override { facts_.order_memory(); }
    void on_finalize() noexcept override;
    void free_left() override {
        if (memory_ != nullptr) memory_->close();
    }

    /// Throws UsageError when the program has freed its window, and when MPI is finalized.
    void require_memory(const char* call) const;
    /// The program frees its window, on all ranks: called in its MPI_Win_free. `gone`: MPI has freed it already.
    void on_host_free(bool gone) noexcept;
    /// Of an adopted window: the epoch on it is Lapwing's, not the program's.
    [[nodiscard]] bool has_own_epoch() const noexcept { return own_epoch_; }
    /// A Window's inline accesses use a copy of map() that is kept up to date, and of the size from which on a copy to
    /// memory that is mapped here is noted (Window::note_put).
    void keep_up_to_date(transport::MemoryMap& copy, std::atomic<std::uint64_t>& least_noted) noexcept;
    /// That size, a member of the window: for inline puts in other languages.
    [[nodiscard]] const std::atomic<std::uint64_t>* least_noted() const noexcept { return least_noted_of_window_; }

    /// Collective.
    void close();
    /// The rest of a close, once no rank uses the window any more.
    void close_behind_barrier();
    /// What a window's destructor does: closes it, unless the scope ends by an exception. Then the other ranks need not
    /// be closing theirs: the memory stays, and is served, until the process ends.
    static void end_with_scope(std::unique_ptr<WindowState> window) noexcept;

private:
    /// Collective. The end of a creation: makes the cache, and lets others ask for the memory. If that throws, nothing
    /// is left of it. `host`: the program's window, or MPI_WIN_NULL.
    void open(const CacheOptions& cache, Listed listed, MPI_Win host);
    /// From now on there are neither a cache nor prefetched copies.
    void end_copies() noexcept;
    /// For a window whose memory is about to go, while others may still ask for it.
    void abandon_memory() noexcept;
    /// For an adopted window that the program frees: nobody asks for it any more.
    void lose_memory() noexcept;
    // CopiesObserver
    void copies_changed() override;

    transport::WindowFacts facts_;
    transport::AccessLedger ledger_{facts_};
    transport::Transports transports_{ledger_};
    AccessOrder order_{ledger_, transports_, *this};
    PutsAndGets puts_and_gets_{order_, transports_};
    WindowAtomics atomics_{facts_, order_, transports_};
    Notifications notifications_;

    std::unique_ptr<WindowMemory> memory_; ///< null: adopted
    bool own_epoch_ = false;
    transport::MemoryMap* map_of_window_ = nullptr; ///< see keep_up_to_date()
    std::atomic<std::uint64_t>* least_noted_of_window_ = nullptr;
    int exceptions_at_start_ = std::uncaught_exceptions();
    /// Made last and freed first: its transfers are in the ledger.
    std::unique_ptr<RemoteCache> cache_;
};

} // namespace lapwing::detail::window
