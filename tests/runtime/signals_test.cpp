// The program's signal handlers do not run on Lapwing's thread.
#include <lapwing/runtime.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

std::atomic<int> alarms{0};
std::atomic<int> users{0};
std::atomic<long> alarm_thread{0};
std::atomic<long> user_thread{0};

void on_signal(int signal) {
    const long thread = syscall(SYS_gettid);
    (signal == SIGALRM ? alarm_thread : user_thread).store(thread);
    (signal == SIGALRM ? alarms : users).fetch_add(1);
}

/// A handler for a scope.
class Handler {
public:
    explicit Handler(int signal) : signal_{signal} {
        struct sigaction action{};
        action.sa_handler = on_signal;
        sigaction(signal, &action, &before_);
    }
    ~Handler() { sigaction(signal_, &before_, nullptr); }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

private:
    int signal_;
    struct sigaction before_{};
};

std::string first_line(const std::filesystem::path& file) {
    std::string line;
    std::getline(std::ifstream{file}, line);
    return line;
}

/// The number of the progress thread, 0 if there is none.
long progress_thread() {
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"})
        if (first_line(task.path() / "comm") == "lapwing") return std::atol(task.path().filename().c_str());
    return 0;
}

bool blocks(long thread, int signal) {
    std::ifstream status{"/proc/self/task/" + std::to_string(thread) + "/status"};
    const std::string key = "SigBlk:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key))
            return (std::strtoull(line.c_str() + key.size(), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

} // namespace

TEST_CASE("signals for the process are not handled by the progress thread") {
    lapwing::Runtime runtime;
    if (runtime.progress_mode() != lapwing::ProgressMode::thread || runtime.size() == 1) return;
    long thread = 0; // it names itself when it runs
    while ((thread = progress_thread()) == 0) std::this_thread::yield();

    for (const int signal : {SIGALRM, SIGUSR1, SIGUSR2, SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGVTALRM}) {
        INFO("signal " << signal);
        CHECK(blocks(thread, signal));
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
        INFO("signal " << signal);
        CHECK_FALSE(blocks(thread, signal)); // what a fault on that thread raises
    }
    sigset_t before;
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGALRM);
    sigaddset(&both, SIGUSR1);
    const Handler alarm_handler{SIGALRM};
    const Handler user_handler{SIGUSR1};
    alarms.store(0);
    users.store(0);
    // This thread not being willing, the system looks for another.
    REQUIRE(pthread_sigmask(SIG_BLOCK, &both, &before) == 0);
    const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
    REQUIRE(setitimer(ITIMER_REAL, &soon, nullptr) == 0);
    REQUIRE(kill(getpid(), SIGUSR1) == 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{20};
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    REQUIRE(pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
    while (alarms.load() == 0 || users.load() == 0) std::this_thread::yield();
    CHECK(alarm_thread.load() != thread);
    CHECK(user_thread.load() != thread);
    sigset_t after;
    REQUIRE(pthread_sigmask(SIG_SETMASK, nullptr, &after) == 0);
    CHECK(sigismember(&after, SIGUSR1) == sigismember(&before, SIGUSR1)); // the program's own mask is its own
    runtime.barrier();
}
