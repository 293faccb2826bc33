#include "src/team/host_waits.hpp"

#include "src/support/backoff.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string_view>
#include <vector>

#include <sched.h>

namespace lapwing::detail::team {
namespace {

struct Served {
    const TeamState* team;
    MPI_Group group;
};
support::Mutex served_mutex{support::LockRank::leaf};
/// The teams without a progress thread. Never destroyed: a runtime may be a static object of the program's.
std::vector<Served>& served() noexcept {
    static auto& teams = *new std::vector<Served>;
    return teams;
}
std::atomic<std::size_t> served_count{0};      ///< so that other programs take no lock
std::atomic<std::uintptr_t> served_version{0}; ///< another one after each change

[[nodiscard]] bool without_thread() noexcept {
    static const bool without = [] {
        const char* const progress = std::getenv("LAPWING_PROGRESS");
        return support::mpi_thread_level() < MPI_THREAD_MULTIPLE ||
               (progress != nullptr && std::string_view{progress} == "caller");
    }();
    return without;
}

[[nodiscard]] bool is_within(MPI_Group part, MPI_Group all) noexcept {
    MPI_Group outside = MPI_GROUP_NULL;
    int ranks = 0;
    if (MPI_Group_difference(part, all, &outside) != MPI_SUCCESS || MPI_Group_size(outside, &ranks) != MPI_SUCCESS)
        return false;
    if (outside != MPI_GROUP_EMPTY) MPI_Group_free(&outside);
    return ranks == 0;
}

[[nodiscard]] bool is_within_a_team(MPI_Comm communicator) noexcept {
    int is_inter = 0;
    MPI_Group group = MPI_GROUP_NULL;
    if (MPI_Comm_test_inter(communicator, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
    if (MPI_Comm_group(communicator, &group) != MPI_SUCCESS) return false;
    const std::lock_guard guard{served_mutex};
    const bool within =
        std::ranges::any_of(served(), [group](const Served& entry) { return is_within(group, entry.group); });
    MPI_Group_free(&group);
    return within;
}

/// For the attribute that records what is_within_a_team() has found for a communicator, and for which version.
[[nodiscard]] int answer_key() noexcept {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &made, nullptr);
        return made;
    }();
    return key;
}

} // namespace

bool HostWaits::serve() noexcept { return without_thread() || served_count.load(std::memory_order_relaxed) != 0; }

bool HostWaits::serve(MPI_Comm communicator) noexcept {
    if (without_thread()) return true;
    if (served_count.load(std::memory_order_relaxed) == 0 || communicator == MPI_COMM_NULL) return false;
    if (!support::mpi_world_open()) return is_within_a_team(communicator); // the key would go with the last session
    const std::uintptr_t version = served_version.load(std::memory_order_acquire);
    void* value = nullptr;
    int found = 0;
    if (MPI_Comm_get_attr(communicator, answer_key(), &value, &found) != MPI_SUCCESS) return false;
    if (const auto known = reinterpret_cast<std::uintptr_t>(value); found != 0 && known / 2 == version)
        return known % 2 != 0;
    const bool within = is_within_a_team(communicator);
    MPI_Comm_set_attr(communicator, answer_key(), reinterpret_cast<void*>(2 * version + (within ? 1 : 0)));
    return within;
}

void HostWaits::add(const TeamState& team) {
    MPI_Group group = MPI_GROUP_NULL;
    support::check_mpi(MPI_Comm_group(team.communicator(), &group), "MPI_Comm_group", team.who());
    const std::lock_guard guard{served_mutex};
    served().push_back({&team, group});
    served_count.store(served().size(), std::memory_order_relaxed);
    served_version.fetch_add(1, std::memory_order_release);
}

void HostWaits::remove(const TeamState& team) noexcept {
    const std::lock_guard guard{served_mutex};
    // From the end: a team that was left may have had this one's address.
    const auto found = std::ranges::find(served().rbegin(), served().rend(), &team, &Served::team);
    if (found == served().rend()) return;
    MPI_Group_free(&found->group);
    served().erase(std::next(found).base());
    served_count.store(served().size(), std::memory_order_relaxed);
    served_version.fetch_add(1, std::memory_order_release);
}

void HostWaits::Wait::go_on() noexcept {
    constexpr unsigned hot = 64; // most waits are short
    if (TeamRegistry::instance().serve_others(nullptr)) fruitless_ = 0;
    else if (++fruitless_ < hot) support::relax_processor();
    else sched_yield();
}

} // namespace lapwing::detail::team
