#include <lapwing/team.hpp>

#include "src/mpi/thread_level.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/rank_check.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace lapwing {

using detail::team::CollectiveCall;
using detail::team::TeamState;

Team::Team(MPI_Comm communicator, const Settings& settings)
    : state_{std::make_unique<TeamState>(communicator, settings)},
      rank_{state_->rank()},
      size_{state_->size()},
      node_size_{state_->topology().node_size()},
      nodes_{state_->topology().nodes()},
      network_path_{state_->paths().network},
      progress_mode_{state_->paths().progress},
      exceptions_at_start_{std::uncaught_exceptions()} {}

Team::~Team() {
    if (state_->lifecycle().closed() || state_->lifecycle().has_left()) return;
    const bool by_exception = std::uncaught_exceptions() != exceptions_at_start_;
    if (by_exception || state_->membership().broken()) {
        state_->lifecycle().leave(by_exception);
        detail::team::TeamRegistry::instance().retain(std::move(state_)); // windows that others reach may refer to it
        return;
    }
    try {
        close();
    } catch (const std::exception& error) {
        detail::support::log_line(error.what());
        // Others that wait for this rank are still served, until MPI is finalized.
        detail::team::TeamRegistry::instance().keep(std::move(state_));
    }
}

void Team::close() {
    if (state_->lifecycle().closed()) return;
    state_->lifecycle().close();
    detail::team::TeamRegistry::instance().close_kept();
}

bool Team::closed() const noexcept { return state_->lifecycle().closed(); }

Path Team::path(Rank target) const {
    detail::support::require_rank(target, size_, [this] { return who() + ": Team::path"; });
    return state_->path(target.value);
}

void Team::barrier(std::optional<std::int64_t> identity) {
    state_->synchronisation().barrier(CollectiveCall::barrier, identity);
}
void Team::notify(std::optional<std::int64_t> identity) { state_->synchronisation().notify_split(identity); }
void Team::wait(std::optional<std::int64_t> identity) { state_->synchronisation().wait_split(identity); }

void Team::release() {
    state_->require_open("Team::release");
    state_->epoch().release();
}

void Team::acquire() {
    state_->require_open("Team::acquire");
    state_->epoch().acquire();
}

void Team::fence() {
    release();
    acquire();
}

bool Team::progress() {
    state_->require_open("Team::progress");
    state_->epoch().functions().send_gathered_if_idle();
    const bool moved = state_->progress();
    state_->epoch().functions().serve_program();
    state_->check_usable("Team::progress");
    return moved;
}

void Team::wait_request(MPI_Request& request, MPI_Status* status) {
    state_->require_open("Team::wait_request");
    state_->epoch().functions().send_gathered();
    state_->wait_until(
        [&] {
            int done = 0;
            state_->epoch().functions().serve_program();
            detail::support::check_mpi(MPI_Test(&request, &done, status), "MPI_Test", state_->who());
            return done != 0;
        },
        "Team::wait_request");
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
TeamState& Team::state() const { return *state_; }

std::string Team::report() const {
    const detail::team::PathChoice& paths = state_->paths();
    const detail::mpi::Topology& topology = state_->topology();
    const Settings& settings = state_->settings();
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    std::string_view library{version.data(), static_cast<std::size_t>(length)};
    library = library.substr(0, library.find_first_of(std::string_view{"\n\r\0", 3})); // Open MPI counts the final zero
    const int level = detail::mpi::thread_level(settings);
    constexpr std::array<const char*, 4> levels{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                                "MPI_THREAD_MULTIPLE"};
    const char* level_name = level == MPI_THREAD_MULTIPLE     ? levels[3]
                             : level == MPI_THREAD_SERIALIZED ? levels[2]
                             : level == MPI_THREAD_FUNNELED   ? levels[1]
                                                              : levels[0];
    std::string text = fmt::format("{} ranks on {} nodes, {} on this one; {} ({})\n", size_, topology.nodes(),
                                   topology.node_size(), library, level_name);
    text += fmt::format("paths from rank {}: self to itself", rank_.value);
    if (topology.node_size() > 1) text += fmt::format(", direct to {} ranks of its node", topology.node_size() - 1);
    if (topology.nodes() > 1)
        text += fmt::format(", {} to {} ranks of other nodes", name(paths.network), size_ - topology.node_size());
    text += fmt::format(" ({})\n", paths.reason);
    text += fmt::format("progress by {}; message buffers {} KiB", name(paths.progress),
                        state_->engine().memory_bytes() / 1024);
    if (paths.progress == ProgressMode::caller)
        text += "; other ranks' requests are served only while this rank is inside Lapwing or, for rma, inside MPI";
    for (const SettingInfo& info : all_settings())
        if (settings.origin(info.name) != "default")
            text +=
                fmt::format("\n{}={} (from the {})", info.name, settings.text(info.name), settings.origin(info.name));
    return text;
}

} // namespace lapwing
