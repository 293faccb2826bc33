#include <lapwing/team.hpp>

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/progress/pieces.hpp"
#include "window/team_registry.hpp"
#include "window/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <limits>

namespace lapwing {

using window::CollectiveCall;
using window::TeamState;

Team::Team(MPI_Comm communicator, const Settings& settings)
    : state_{std::make_unique<TeamState>(communicator, settings)}, rank_{state_->rank()}, size_{state_->size()},
      node_size_{state_->topology().node_size()}, nodes_{state_->topology().nodes()}, network_path_{state_->network_path()},
      progress_mode_{state_->progress_mode()}, exceptions_at_start_{std::uncaught_exceptions()} {}

Team::~Team() {
    if (state_->closed() || state_->left()) return;
    if (std::uncaught_exceptions() != exceptions_at_start_ || state_->broken()) {
        state_->leave();
        window::TeamRegistry::instance().abandon(std::move(state_)); // windows that others reach may refer to it
        return;
    }
    try {
        close();
    } catch (const std::exception& error) {
        support::log_line(error.what());
        // Whatever the others wait for, it goes on being served; only the end of MPI ends it.
        TeamState::defer(std::move(state_));
    }
}

void Team::close() {
    if (state_->closed()) return;
    state_->close();
    window::TeamRegistry::instance().close_kept();
}

bool Team::closed() const noexcept { return state_->closed(); }

Path Team::path(Rank target) const {
    if (target.value < 0 || target.value >= size_)
        throw RangeError{fmt::format("{}: Team::path: rank {} is outside [0, {}); pass a rank of the team", who(), target.value,
                                     size_)};
    return state_->path(target.value);
}

void Team::barrier(std::optional<std::int64_t> identity) { state_->barrier(CollectiveCall::barrier, identity); }
void Team::notify(std::optional<std::int64_t> identity) { state_->notify_split(identity); }
void Team::wait(std::optional<std::int64_t> identity) { state_->wait_split(identity); }

void Team::release() { state_->release(); }
void Team::acquire() { state_->acquire(); }

void Team::fence() {
    state_->release();
    state_->acquire();
}

bool Team::progress() { return state_->progress(); }

void Team::all_reduce(void* values, std::uint64_t count, MPI_Datatype type, MPI_Op operation) {
    state_->require_open("Team::all_reduce");
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    support::check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent", state_->who());
    constexpr std::uint64_t most = std::uint64_t{1} << 27; // MPI counts are int
    for (std::uint64_t at = 0; at < count; at += most) {
        MPI_Request request = MPI_REQUEST_NULL;
        support::check_mpi(MPI_Iallreduce(MPI_IN_PLACE, static_cast<std::byte*>(values) + at * static_cast<std::uint64_t>(extent),
                                          static_cast<int>(std::min(most, count - at)), type, operation, state_->communicator(),
                                          &request),
                           "MPI_Iallreduce", state_->who());
        state_->wait(request, "Team::all_reduce");
    }
}

void Team::sum(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_SUM); }
void Team::sum(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_SUM); }
void Team::min(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MIN); }
void Team::min(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MIN); }
void Team::max(std::span<double> values) { all_reduce(values.data(), values.size(), MPI_DOUBLE, MPI_MAX); }
void Team::max(std::span<std::int64_t> values) { all_reduce(values.data(), values.size(), MPI_INT64_T, MPI_MAX); }

void Team::broadcast(std::span<std::byte> bytes, Rank root) {
    state_->require_open("Team::broadcast");
    if (root.value < 0 || root.value >= size_)
        throw RangeError{fmt::format("{}: Team::broadcast: root {} is outside [0, {}); pass a rank of the team", who(),
                                     root.value, size_)};
    window::for_each_piece(bytes.size(), [&](std::uint64_t at, int piece_bytes) {
        MPI_Request request = MPI_REQUEST_NULL;
        support::check_mpi(MPI_Ibcast(bytes.data() + at, piece_bytes, MPI_BYTE, root.value, state_->communicator(), &request),
                           "MPI_Ibcast", state_->who());
        state_->wait(request, "Team::broadcast");
    });
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
    StatisticsValues values = statistics();
    all_reduce(values.values.data(), values.values.size(), MPI_UINT64_T, MPI_SUM);
    return values;
}

std::string Team::who() const { return state_->who(); }
const Settings& Team::settings() const noexcept { return state_->settings(); }
std::string Team::report() const { return state_->report(); }
TeamState& Team::state() const { return *state_; }

} // namespace lapwing
