#include "src/mpi/creation_lock.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/machine_locks.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_kind.hpp"
#include "src/support/mpi_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace lapwing::detail::mpi {
namespace {

using support::check_mpi;
using Timeout = MachineLocker::Timeout;

/// Even many teams on slow machines need only a small part of it.
constexpr Timeout timeout{30'000'000};
/// For a process that has once waited in vain for a name: its holder will not give it back.
constexpr Timeout timeout_lost{10'000};

std::atomic<bool> lost{false};

bool needs_lock(MPI_Comm communicator) {
    if constexpr (support::mpi_kind != support::MpiKind::open_mpi) return false;
    int size = 0;
    int all = std::numeric_limits<int>::max(); // of sessions: there may always be others
    check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    if (support::mpi_world_open()) check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &all), "MPI_Comm_size");
    return size > 1 && size < all;
}

/// The same for all processes that compete for the same name, and different elsewhere: the machine and its network
/// namespace, since containers have their own, whatever their host names are.
std::uint64_t machine_number() {
    std::string identity;
    std::getline(std::ifstream{"/proc/sys/kernel/random/boot_id"}, identity);
    std::array<char, 256> text{};
    if (identity.empty() && gethostname(text.data(), text.size() - 1) == 0) identity = text.data();
    const ssize_t length = readlink("/proc/self/ns/net", text.data(), text.size());
    if (length > 0) identity.append(text.data(), static_cast<std::size_t>(length));
    return std::hash<std::string>{}(identity);
}

/// A rank of a communicator.
class CommunicatorMember final : public MachineLocker {
public:
    CommunicatorMember(MPI_Comm communicator, bool leads, MachineName& name)
        : communicator_{communicator}, leads_{leads}, name_{name} {}
    ~CommunicatorMember() override {
        if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
    }
    CommunicatorMember(const CommunicatorMember&) = delete;
    CommunicatorMember& operator=(const CommunicatorMember&) = delete;

    [[nodiscard]] bool leads() const override { return leads_; }
    [[nodiscard]] bool take() override { return name_.take(); }
    void give_back() override { name_.give_back(); }
    [[nodiscard]] bool all_agree(bool own) override { return mpi::all_agree(communicator_, own); }

    void order_leaders() override {
        check_mpi(MPI_Comm_split(communicator_, leads_ ? 0 : MPI_UNDEFINED, 0, &leaders_), "MPI_Comm_split");
        if (!leads_) return;
        int rank = 0;
        int size = 0;
        check_mpi(MPI_Comm_rank(leaders_, &rank), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(leaders_, &size), "MPI_Comm_size");
        const std::uint64_t own = machine_number();
        std::vector<std::uint64_t> numbers(static_cast<std::size_t>(size));
        check_mpi(MPI_Allgather(&own, 1, MPI_UINT64_T, numbers.data(), 1, MPI_UINT64_T, leaders_), "MPI_Allgather");
        std::vector<std::pair<std::uint64_t, int>> order;
        order.reserve(numbers.size());
        for (int i = 0; i < size; ++i) order.emplace_back(numbers[static_cast<std::size_t>(i)], i);
        std::ranges::sort(order);
        const auto at = std::ranges::find(order, std::pair{own, rank});
        if (at != order.begin()) {
            before_ = std::prev(at)->second;
            taken_by_team_ = std::prev(at)->first == own;
        }
        if (std::next(at) != order.end()) after_ = std::next(at)->second;
    }
    [[nodiscard]] bool name_is_taken_by_team() const override { return taken_by_team_; }

    [[nodiscard]] Timeout wait_for_leader_before(Timeout all) override {
        std::int64_t left = all.count();
        if (before_ != MPI_PROC_NULL)
            check_mpi(MPI_Recv(&left, 1, MPI_INT64_T, before_, 0, leaders_, MPI_STATUS_IGNORE), "MPI_Recv");
        return lost.load(std::memory_order_relaxed) ? std::min(Timeout{left}, timeout_lost) : Timeout{left};
    }
    void pass_on(Timeout left) override {
        const std::int64_t count = left.count();
        check_mpi(MPI_Send(&count, 1, MPI_INT64_T, after_, 0, leaders_), "MPI_Send");
    }

    [[nodiscard]] Clock::time_point now() const override { return Clock::now(); }
    void sleep(Timeout time) override { std::this_thread::sleep_for(time); }

private:
    MPI_Comm communicator_;
    bool leads_;
    MachineName& name_;
    MPI_Comm leaders_ = MPI_COMM_NULL;
    int before_ = MPI_PROC_NULL;
    int after_ = MPI_PROC_NULL;
    bool taken_by_team_ = false;
};

} // namespace

bool MachineName::take() noexcept {
    // A socket's abstract name belongs to one process at a time, and goes with the process.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t size = std::min(name_.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name_.data(), size);
    if (socket_ < 0) socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return true; // no sockets here: as likely to work as without a lock
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0) return true;
    return errno != EADDRINUSE; // no such names here, and no better later
}

void MachineName::give_back() noexcept {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
}

CreationLock::CreationLock(MPI_Comm communicator, const Topology& topology)
    : name_{fmt::format("lapwing-window-creation-{}", getuid())} {
    if (!needs_lock(communicator)) return;
    // No team takes the lock before all its ranks are here, so that it is held only for the creation.
    check_mpi(MPI_Barrier(communicator), "MPI_Barrier");
    communicator_ = communicator;
    CommunicatorMember member{communicator, topology.first_of_machine(), name_};
    if (lock_machines(member, timeout) || lost.exchange(true, std::memory_order_relaxed)) return;
    int rank = 0;
    MPI_Comm_rank(communicator, &rank);
    support::log_line(fmt::format("rank {} of its team: Window: another process holds the name @{} of this machine, "
                                  "through which teams take turns in creating "
                                  "windows, and did not give it back in {} s; going on without it, so that windows "
                                  "which several teams create at the "
                                  "same time may fail. `ss -xap | grep {}` shows the process; end it",
                                  rank, name_.text(), std::chrono::duration_cast<std::chrono::seconds>(timeout).count(),
                                  name_.text()));
}

std::chrono::milliseconds CreationLock::longest_wait(MPI_Comm communicator) {
    if (!needs_lock(communicator)) return {};
    return std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
}

void CreationLock::end() {
    if (communicator_ == MPI_COMM_NULL) return;
    check_mpi(MPI_Barrier(communicator_),
              "MPI_Barrier"); // the files are found by their names until all ranks have joined
    name_.give_back();
}

} // namespace lapwing::detail::mpi
