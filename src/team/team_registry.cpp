#include "src/team/team_registry.hpp"

#include "src/messages/progress_thread.hpp"
#include "src/mpi/watched_call.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_kind.hpp"
#include "src/support/mpi_state.hpp"
#include "src/team/epoch_member.hpp"
#include "src/team/team_state.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <string_view>
#include <thread>

namespace lapwing::detail::team {
namespace {

std::atomic<bool> finalize_begun{false};

constexpr std::string_view without_trial = "LAPWING_PATH=service starts without it";

int comm_self_hook(MPI_Comm, int, void*, void*) { return TeamRegistry::on_finalize(); }

} // namespace

TeamRegistry& TeamRegistry::instance() {
    // Never destroyed: teams may be static objects of the program, and MPI may be finalized by an atexit handler.
    static TeamRegistry* const registry = new TeamRegistry;
    return *registry;
}

bool TeamRegistry::mpi_ended() noexcept {
    if (finalize_begun.load(std::memory_order_acquire)) return true;
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
}

void TeamRegistry::add(TeamState& team) {
    const std::lock_guard guard{mutex_};
    // MPI_Session_finalize notifies nobody: it comes after the close of the teams of its communicators.
    if (!watching_ && support::mpi_world_open()) {
        // MPI_Finalize first deletes the attributes of MPI_COMM_SELF (MPI 3.1, section 8.7.1), when MPI still works:
        // the last moment to stop the progress thread.
        int key = MPI_KEYVAL_INVALID;
        support::check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_self_hook, &key, nullptr),
                           "MPI_Comm_create_keyval");
        support::check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
        MPI_Comm_free_keyval(&key);
        watching_ = true;
    }
    teams_.push_back(&team);
    if (team.progress_driver().needs_callers()) without_thread_.fetch_add(1, std::memory_order_relaxed);
}

void TeamRegistry::remove(TeamState& team) noexcept {
    const std::lock_guard guard{mutex_};
    if (std::erase(teams_, &team) != 0 && team.progress_driver().needs_callers())
        without_thread_.fetch_sub(1, std::memory_order_relaxed);
}

void TeamRegistry::keep(std::unique_ptr<TeamState> team) noexcept {
    const std::lock_guard guard{mutex_};
    kept_.push_back(std::move(team));
}

void TeamRegistry::retain(std::unique_ptr<TeamState> team) noexcept {
    const std::lock_guard guard{mutex_};
    retained_teams_.push_back(std::move(team));
}

void TeamRegistry::retain(std::unique_ptr<EpochMember> window) noexcept {
    const std::lock_guard guard{mutex_};
    retained_windows_.push_back(std::move(window));
}

bool TeamRegistry::serve_others(const ProgressDriver* served) noexcept {
    const int own = served != nullptr && served->needs_callers() ? 1 : 0;
    if (without_thread_.load(std::memory_order_relaxed) <= own) return false;
    // If another thread is making progress, that is enough.
    const std::unique_lock guard{mutex_, std::try_to_lock};
    if (!guard.owns_lock()) return false;
    bool moved = false;
    for (TeamState* const team : teams_)
        if (ProgressDriver& driver = team->progress_driver(); &driver != served && driver.needs_callers())
            moved |= driver.serve();
    return moved;
}

void TeamRegistry::close_kept() noexcept {
    while (!mpi_ended()) {
        std::unique_ptr<TeamState> team;
        {
            const std::lock_guard guard{mutex_};
            if (kept_.empty()) return;
            team = std::move(kept_.back());
            kept_.pop_back();
        }
        try {
            team->lifecycle().close();
        } catch (const std::exception&) { // reported when it was taken over
            return keep(std::move(team));
        }
    }
}

std::optional<TeamRegistry::Obstacle> TeamRegistry::blocked_by(const TeamState& closing) {
    const std::lock_guard guard{mutex_};
    for (auto at = std::ranges::find(teams_, &closing); at != teams_.end(); ++at) {
        TeamState* const other = *at;
        // A thread may be about to close its own team.
        if (other == &closing || other->lifecycle().maker() != std::this_thread::get_id()) continue;
        const int rank = other->synchronisation().closing_rank();
        if (rank < 0) continue;
        MPI_Group others = MPI_GROUP_NULL;
        MPI_Group own = MPI_GROUP_NULL;
        int translated = MPI_UNDEFINED;
        MPI_Comm_group(other->communicator(), &others);
        MPI_Comm_group(closing.communicator(), &own);
        MPI_Group_translate_ranks(others, 1, &rank, own, &translated);
        MPI_Group_free(&others);
        MPI_Group_free(&own);
        if (translated != MPI_UNDEFINED) return Obstacle{translated, other->size()};
    }
    return std::nullopt;
}

std::atomic<int>& TeamRegistry::unfreed_windows() noexcept {
    static std::atomic<int> count{0};
    return count;
}

bool TeamRegistry::left_windows() noexcept { return unfreed_windows().load(std::memory_order_relaxed) > 0; }

bool TeamRegistry::can_finalize() noexcept {
    const bool ends_with_windows = support::mpi_kind != support::MpiKind::mpich;
    if (!left_windows() || (ends_with_windows && mpi::abandoned_calls() == 0)) return true;
    std::vector<MPI_Request> requests;
    const std::lock_guard guard{mutex_};
    for (const auto& team : retained_teams_) {
        // No collective call was ever made on this communicator, so none can be missing on a rank.
        MPI_Request& request = requests.emplace_back(MPI_REQUEST_NULL);
        if (MPI_Ibarrier(team->communicators().engine(), &request) != MPI_SUCCESS) requests.pop_back();
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    support::Backoff backoff{support::ProcessorShare::crowded};
    for (int all_here = 0; all_here == 0 && std::chrono::steady_clock::now() < end; backoff.pause())
        if (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all_here, MPI_STATUSES_IGNORE) !=
            MPI_SUCCESS)
            break;
    if (mpi::abandoned_calls() == 0) return ends_with_windows;
    support::log_line(
        fmt::format("a trial of MPI's windows is still in MPI, so that MPI_Finalize is not called; {}", without_trial));
    return false;
}

TeamRegistry::LeftWindows TeamRegistry::left_windows_of(const TeamState& team) {
    const std::lock_guard guard{mutex_};
    LeftWindows sums{};
    for (const auto& window : retained_windows_) {
        if (&window->team_state() != &team) continue;
        // Two numbers, and the square of each: the ranks have the same if the mean of the squares is the square of the
        // mean.
        sums[0] += 1;
        std::uint64_t mixed =
            (window->number() + 1) * 0x9e3779b97f4a7c15; // mixed, since sums of numbers may be equal by accident
        mixed ^= mixed >> 32;
        sums[2] += mixed & 0xFFFFFFFF;
    }
    sums[1] = sums[0] * sums[0];
    sums[3] = sums[2] * sums[2];
    return sums;
}

void TeamRegistry::free_left_windows(const TeamState& team, const LeftWindows& sums) {
    if (sums[0] == 0) return;
    const auto ranks = static_cast<std::uint64_t>(team.size());
    const bool same = ranks * sums[1] == sums[0] * sums[0] && ranks * sums[3] == sums[2] * sums[2];
    std::vector<EpochMember*> windows;
    {
        const std::lock_guard guard{mutex_};
        // A later team may have this one's address.
        for (auto& window : retained_windows_) {
            if (&window->team_state() != &team) continue;
            windows.push_back(window.get());
            ended_windows_.push_back(std::move(window));
        }
        std::erase(retained_windows_, nullptr);
    }
    if (!same) return;
    std::ranges::sort(windows, {}, &EpochMember::number);
    for (EpochMember* const window : windows) window->free_left();
}

int TeamRegistry::on_finalize() {
    finalize_begun.store(true, std::memory_order_release);
    // Before the first team frees its resources: MPICH 4.0.2 takes no lock any more.
    Flusher::stop_all();
    messages::ProgressThread::instance().stop();
    if (mpi::abandoned_calls() > 0)
        support::log_line(
            fmt::format("a trial of MPI's windows is still in MPI: MPI_Finalize may hang or crash; {}", without_trial));
    TeamRegistry& registry = instance();
    const std::lock_guard guard{registry.mutex_};
    for (TeamState* team : registry.teams_) team->lifecycle().on_finalize();
    return MPI_SUCCESS;
}

} // namespace lapwing::detail::team
