// lapwing::transparent: replaces MPI's calls that synchronise or free a window, by its profiling interface (MPI 3.1,
// chapter 14). Linked before MPI's own library; a program that does not adopt a window with CacheMode::transparent pays
// one comparison a call.
#include "window/host_calls.hpp"

using lapwing::detail::window::HostCall;
using Kind = HostCall::Kind;

namespace {

[[maybe_unused]] const bool seen = [] {
    HostCall::set_seen();
    return true;
}();

} // namespace

extern "C" {

int MPI_Win_fence(int assertion, MPI_Win window) {
    HostCall call{window, Kind::fence};
    return call.finish(PMPI_Win_fence(assertion, window));
}

int MPI_Win_lock(int type, int target, int assertion, MPI_Win window) {
    HostCall call{window, Kind::lock, target};
    return call.finish(PMPI_Win_lock(type, target, assertion, window));
}
int MPI_Win_unlock(int target, MPI_Win window) {
    HostCall call{window, Kind::unlock, target};
    return call.finish(PMPI_Win_unlock(target, window));
}
int MPI_Win_lock_all(int assertion, MPI_Win window) {
    HostCall call{window, Kind::lock};
    return call.finish(PMPI_Win_lock_all(assertion, window));
}
int MPI_Win_unlock_all(MPI_Win window) {
    HostCall call{window, Kind::unlock};
    return call.finish(PMPI_Win_unlock_all(window));
}

int MPI_Win_flush(int target, MPI_Win window) {
    HostCall call{window, Kind::flush, target};
    return call.finish(PMPI_Win_flush(target, window));
}
int MPI_Win_flush_all(MPI_Win window) {
    HostCall call{window, Kind::flush};
    return call.finish(PMPI_Win_flush_all(window));
}
int MPI_Win_flush_local(int target, MPI_Win window) {
    HostCall call{window, Kind::flush_local, target};
    return call.finish(PMPI_Win_flush_local(target, window));
}
int MPI_Win_flush_local_all(MPI_Win window) {
    HostCall call{window, Kind::flush_local};
    return call.finish(PMPI_Win_flush_local_all(window));
}
int MPI_Win_sync(MPI_Win window) {
    HostCall call{window, Kind::flush_local};
    return call.finish(PMPI_Win_sync(window));
}

int MPI_Win_free(MPI_Win* window) {
    HostCall::before_free(*window);
    return PMPI_Win_free(window);
}

int MPI_Win_start(MPI_Group targets, int assertion, MPI_Win window) {
    HostCall call{window, Kind::start};
    return call.finish(PMPI_Win_start(targets, assertion, window));
}
int MPI_Win_complete(MPI_Win window) {
    HostCall call{window, Kind::complete};
    return call.finish(PMPI_Win_complete(window));
}
}
