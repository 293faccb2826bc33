#include "src/messages/sleeper.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lapwing::detail::messages {
namespace {

constexpr unsigned sleeps_per_scan = 256;

timespec to_timespec(std::chrono::microseconds time) {
    return {static_cast<time_t>(time.count() / 1'000'000), static_cast<long>(time.count() % 1'000'000 * 1000)};
}

/// Whether `descriptor` is a socket between machines (over TCP), open for data or for connections.
bool is_internet_stream(int descriptor) {
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &value, &size) != 0 || value != SOCK_STREAM) return false;
    size = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &value, &size) != 0) return false;
    return value == AF_INET || value == AF_INET6;
}

} // namespace

Sleeper::Sleeper() : events_{epoll_create1(EPOLL_CLOEXEC)}, nudges_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    epoll_event event{.events = EPOLLIN, .data = {.fd = nudges_}};
    epoll_ctl(events_, EPOLL_CTL_ADD, nudges_, &event);
}

Sleeper::~Sleeper() {
    close(events_);
    close(nudges_);
}

void Sleeper::watch_new_sockets() noexcept {
    DIR* const directory = opendir("/proc/self/fd");
    if (directory == nullptr) return;
    while (const dirent* const entry = readdir(directory)) {
        int descriptor = -1;
        const char* const end = entry->d_name + std::strlen(entry->d_name);
        if (std::from_chars(entry->d_name, end, descriptor).ptr != end || !is_internet_stream(descriptor)) continue;
        epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.fd = descriptor}};
        epoll_ctl(events_, EPOLL_CTL_ADD, descriptor, &event); // fails for those that are watched already
    }
    closedir(directory);
}

int Sleeper::wait_for_events(std::span<epoll_event> found, const timespec& timeout, bool watch_sockets) noexcept {
    // Not epoll_pwait2, which has times as short: glibc before 2.35 and Linux before 5.11 do not have it.
    pollfd waited{
        .fd = watch_sockets ? events_ : nudges_, .events = POLLIN, .revents = 0}; // a negative one is passed over
    const int count = ppoll(&waited, 1, &timeout, nullptr);
    if (count < 0 && errno != EINTR) nanosleep(&timeout, nullptr);
    if (count <= 0) return count;
    if (watch_sockets) return epoll_wait(events_, found.data(), static_cast<int>(found.size()), 0);
    found[0].data.fd = nudges_;
    return count;
}

Sleeper::Woken Sleeper::sleep(std::chrono::microseconds time, bool watch_sockets) noexcept {
    if (watch_sockets && sleeps_until_scan_-- == 0) {
        sleeps_until_scan_ = sleeps_per_scan;
        watch_new_sockets();
    }
    std::array<epoll_event, 8> found{};
    int count = 0;
    asleep_.store(true, std::memory_order_seq_cst); // before the look at nudged_: see nudge()
    if (!nudged_.load(std::memory_order_seq_cst)) count = wait_for_events(found, to_timespec(time), watch_sockets);
    asleep_.store(false, std::memory_order_seq_cst);
    std::uint64_t ignored = 0;
    while (read(nudges_, &ignored, sizeof ignored) > 0) {
    }
    // Acquire: what was queued before the nudge is seen in the next round. A later nudge ends the next sleep.
    if (nudged_.exchange(false, std::memory_order_acq_rel)) return Woken::by_nudge;
    for (int i = 0; i < count; ++i) // the event of a nudge that was answered already
        if (found[static_cast<std::size_t>(i)].data.fd == nudges_) return Woken::by_nudge;
    return count > 0 ? Woken::by_socket : Woken::by_time;
}

void Sleeper::wake() noexcept {
    const std::uint64_t one = 1;
    // Fails only when the counter is full of nudges that the thread has not read yet.
    [[maybe_unused]] const auto written = write(nudges_, &one, sizeof one);
}

} // namespace lapwing::detail::messages
