#include "window/creation_turn.hpp"

#include "src/support/mpi_error.hpp"
#include "window/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace lapwing::window {
namespace {

using support::check_mpi;

bool needs_turns(MPI_Comm communicator) {
#ifdef OPEN_MPI
    int size = 0;
    int all = 0;
    check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &all), "MPI_Comm_size");
    return size > 1 && size < all;
#else
    (void)communicator;
    return false;
#endif
}

} // namespace

CreationTurn::CreationTurn(MPI_Comm communicator, const Topology& topology) {
    if (!needs_turns(communicator)) return;
    // Nobody takes a turn before all are here, so that a turn lasts no longer than the creation.
    check_mpi(MPI_Barrier(communicator), "MPI_Barrier");
    // All machines' names or none: two communicators that each held one would wait for each other.
    std::minstd_rand random{static_cast<unsigned>(getpid())};
    for (int most_us = 100; !all_agree(communicator, !topology.first_of_machine() || take()); most_us = std::min(2 * most_us, 10'000)) {
        give_back();
        std::this_thread::sleep_for(std::chrono::microseconds{std::uniform_int_distribution{50, most_us}(random)});
    }
    communicator_ = communicator;
}

CreationTurn::~CreationTurn() { give_back(); }

void CreationTurn::end() {
    if (communicator_ == MPI_COMM_NULL) return;
    check_mpi(MPI_Barrier(communicator_), "MPI_Barrier"); // the files are found by their names until all ranks have joined
    give_back();
}

bool CreationTurn::take() noexcept {
    // A socket's abstract name belongs to one process of the machine at a time, and goes with the process.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto end = fmt::format_to_n(address.sun_path + 1, sizeof address.sun_path - 1, "lapwing-window-creation-{}", getuid());
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return true; // no sockets here: as likely to work as without a turn
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + end.size);
    return bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

void CreationTurn::give_back() noexcept {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
}

} // namespace lapwing::window
