#include "window/team_registry.hpp"

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/team_state.hpp"
#include "window/window_state.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <exception>

namespace lapwing::window {
namespace {

std::atomic<bool> finalize_begun{false};

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
    if (!watching_) {
        // MPI_Finalize first deletes the attributes of MPI_COMM_SELF (MPI 3.1, section 8.7.1), when MPI still works: the
        // last moment to stop the progress thread.
        int key = MPI_KEYVAL_INVALID;
        support::check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_self_hook, &key, nullptr),
                           "MPI_Comm_create_keyval");
        support::check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
        MPI_Comm_free_keyval(&key);
        watching_ = true;
    }
    teams_.push_back(&team);
}

void TeamRegistry::remove(TeamState& team) noexcept {
    const std::lock_guard guard{mutex_};
    std::erase(teams_, &team);
}

void TeamRegistry::keep(std::unique_ptr<TeamState> team) noexcept {
    const std::lock_guard guard{mutex_};
    kept_.push_back(std::move(team));
}

void TeamRegistry::abandon(std::unique_ptr<TeamState> team) noexcept {
    const std::lock_guard guard{mutex_};
    abandoned_teams_.push_back(std::move(team));
}

void TeamRegistry::abandon(std::unique_ptr<WindowState> window) noexcept {
    const std::lock_guard guard{mutex_};
    abandoned_windows_.push_back(std::move(window));
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
            team->close();
        } catch (const std::exception&) { // reported when it was taken over
            return keep(std::move(team));
        }
    }
}

std::pair<TeamState*, int> TeamRegistry::blocked_by(TeamState& closing) {
    const std::lock_guard guard{mutex_};
    for (auto at = std::ranges::find(teams_, &closing); at != teams_.end(); ++at) {
        TeamState* const other = *at;
        if (other == &closing || other->closed()) continue;
        const int rank = other->closing_rank();
        if (rank < 0) continue;
        MPI_Group others = MPI_GROUP_NULL;
        MPI_Group own = MPI_GROUP_NULL;
        int translated = MPI_UNDEFINED;
        MPI_Comm_group(other->communicator(), &others);
        MPI_Comm_group(closing.communicator(), &own);
        MPI_Group_translate_ranks(others, 1, &rank, own, &translated);
        MPI_Group_free(&others);
        MPI_Group_free(&own);
        if (translated != MPI_UNDEFINED) return {other, translated};
    }
    return {nullptr, -1};
}

int TeamRegistry::on_finalize() {
    finalize_begun.store(true, std::memory_order_release);
    TeamRegistry& registry = instance();
    const std::lock_guard guard{registry.mutex_};
    for (TeamState* team : registry.teams_) team->on_finalize();
    return MPI_SUCCESS;
}

} // namespace lapwing::window
