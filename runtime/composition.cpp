// Which rooms implement what rooms below declare: the only place that knows them all.
#include "cache/cache_factory.hpp"
#include "functions/functions.hpp"
#include "pipeline/layout_transfers.hpp"
#include "runtime/open_runtimes.hpp"
#include "upc/session.hpp"
#include "window/upper_rooms.hpp"

#include <lapwing/runtime.hpp>

namespace lapwing::detail::window {

const UpperRooms& upper_rooms() noexcept {
    static const UpperRooms rooms{.caches = cache::cache_factory(), .layouts = pipeline::layout_transfers()};
    return rooms;
}

} // namespace lapwing::detail::window

namespace lapwing::detail::team {

std::unique_ptr<RemoteFunctions> make_remote_functions(TeamState& team) {
    return std::make_unique<functions::Functions>(team);
}

} // namespace lapwing::detail::team

namespace lapwing::upc {

namespace {

class RuntimeSession final : public Session {
public:
    Team& team() override { return runtime_; }
    void close() override { runtime_.close(); }

private:
    Runtime runtime_;
};

/// Over a runtime of the program's.
class BorrowedSession final : public Session {
public:
    explicit BorrowedSession(Team& team) : team_{team} {}
    Team& team() override { return team_; }
    void close() override {}

private:
    Team& team_;
};

} // namespace

std::unique_ptr<Session> open_session(Team* runtime) {
    // An existing one orders what UPC's synchronisation orders only if it is the same.
    if (runtime == nullptr) runtime = lapwing::detail::runtime::open_over_world();
    if (runtime != nullptr) return std::make_unique<BorrowedSession>(*runtime);
    return std::make_unique<RuntimeSession>();
}

} // namespace lapwing::upc
