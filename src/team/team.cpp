#include <lapwing/team.hpp>

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

namespace lapwing {

using team::CollectiveCall;
using team::TeamState;

Team::Team(MPI_Comm communicator, const Settings& settings)
    : state_{std::make_unique<TeamState>(communicator, settings)}, rank_{state_->rank()}, size_{state_->size()},
      node_size_{state_->topology().node_size()}, nodes_{state_->topology().nodes()}, network_path_{state_->paths().network},
      progress_mode_{state_->paths().progress}, exceptions_at_start_{std::uncaught_exceptions()} {}

Team::~Team() {
    if (state_->lifecycle().closed() || state_->lifecycle().left()) return;
    const bool by_exception = std::uncaught_exceptions() != exceptions_at_start_;
    if (by_exception || state_->membership().broken()) {
        state_->lifecycle().leave(by_exception);
        team::TeamRegistry::instance().retain(std::move(state_)); // windows that others reach may refer to it
        return;
    }
    try {
        close();
    } catch (const std::exception& error) {
        support::log_line(error.what());
        // Whatever the others wait for, it goes on being served; only the end of MPI ends it.
        team::TeamRegistry::instance().keep(std::move(state_));
    }
}

void Team::close() {
    if (state_->lifecycle().closed()) return;
    state_->lifecycle().close();
    team::TeamRegistry::instance().close_kept();
}

bool Team::closed() const noexcept { return state_->lifecycle().closed(); }

Path Team::path(Rank target) const {
    if (target.value < 0 || target.value >= size_)
        throw RangeError{fmt::format("{}: Team::path: rank {} is outside [0, {}); pass a rank of the team", who(), target.value,
                                     size_)};
    return state_->path(target.value);
}

void Team::barrier(std::optional<std::int64_t> identity) { state_->synchronisation().barrier(CollectiveCall::barrier, identity); }
void Team::notify(std::optional<std::int64_t> identity) { state_->synchronisation().notify_split(identity); }
void Team::wait(std::optional<std::int64_t> identity) { state_->synchronisation().wait_split(identity); }

void Team::release() { state_->epoch().release(); }
void Team::acquire() { state_->epoch().acquire(); }

void Team::fence() {
    state_->epoch().release();
    state_->epoch().acquire();
}

bool Team::progress() {
    const bool moved = state_->progress();
    state_->check_usable("Team::progress");
    return moved;
}

void Team::wait_request(MPI_Request& request, MPI_Status* status) {
    state_->wait_until(
        [&] {
            int done = 0;
            support::check_mpi(MPI_Test(&request, &done, status), "MPI_Test", state_->who());
            return done != 0;
        },
        "Team::wait_request");
}

void Team::require_same(std::span<const std::int64_t> value, const char* call, const char* what) {
    // Lengths may differ too: compare them first, or the reduction itself would be mismatched. Minimum and maximum
    // of each value, the maximum as the minimum of its complement (which cannot overflow).
    const auto agree = [&](std::span<const std::int64_t> own) {
        std::vector<std::int64_t> extremes(own.begin(), own.end());
        for (const std::int64_t v : own) extremes.push_back(~v);
        min(std::span<std::int64_t>{extremes});
        for (std::size_t i = 0; i < own.size(); ++i)
            if (extremes[i] != ~extremes[i + own.size()]) return false;
        return true;
    };
    const auto length = static_cast<std::int64_t>(value.size());
    if (!agree({&length, 1}) || !agree(value))
        throw MismatchError{fmt::format("{}: {}: {} is {} here and something else on another rank; pass the same on all ranks",
                                        who(), call, what, fmt::join(value, " x "))};
}

StatisticsValues Team::statistics() const { return state_->statistics().read(); }

StatisticsValues Team::total_statistics() {
    if (const auto& total = state_->lifecycle().total_at_close()) return *total;
    StatisticsValues values = statistics();
    all_reduce(values.values.data(), values.values.size(), MPI_UINT64_T, MPI_SUM);
    return values;
}

std::string Team::who() const { return state_->who(); }
const Settings& Team::settings() const noexcept { return state_->settings(); }
std::string Team::report() const { return state_->report(); }
TeamState& Team::state() const { return *state_; }

} // namespace lapwing
