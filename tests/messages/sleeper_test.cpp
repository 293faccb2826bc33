// How the progress thread sleeps: no nudge is lost, and no sleep ends at once.
#include "src/messages/progress_thread.hpp"
#include "src/messages/sleeper.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using lapwing::detail::messages::Progressing;
using lapwing::detail::messages::ProgressThread;
using lapwing::detail::messages::Sleeper;
using namespace std::chrono_literals;

namespace {

/// Two ends of a TCP connection over the loopback device.
class Connection {
public:
    Connection() {
        const int listener = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
        socklen_t size = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(bind(listener, generic, size) == 0);
        REQUIRE(listen(listener, 1) == 0);
        REQUIRE(getsockname(listener, generic, &size) == 0);
        one_ = socket(AF_INET, SOCK_STREAM, 0);
        REQUIRE(connect(one_, generic, size) == 0);
        other_ = accept(listener, nullptr, nullptr);
        REQUIRE(other_ >= 0);
        close(listener);
    }
    ~Connection() {
        close(one_);
        close(other_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Checked by the caller: another thread may be the one that sends, and checks are for one thread.
    [[nodiscard]] bool send_byte() const { return send(one_, "x", 1, 0) == 1; }
    void receive_byte() const {
        char byte = 0;
        CHECK(recv(other_, &byte, 1, 0) == 1);
    }

private:
    int one_ = -1;
    int other_ = -1;
};

std::chrono::steady_clock::duration time_of_sleep(Sleeper& sleeper, bool watch_sockets) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(sleeper.sleep(20ms, watch_sockets) == Sleeper::Woken::by_time);
    return std::chrono::steady_clock::now() - begin;
}

/// A team in which something has moved lately.
class BusyTeam : public Progressing {
public:
    explicit BusyTeam(bool driving) : driving_{driving} {}
    Round progress_round(Clock::time_point /*now*/) noexcept override {
        ++rounds;
        return {};
    }
    bool serve() noexcept override {
        ++served;
        return false;
    }
    [[nodiscard]] Waits waits() const noexcept override { return {.driving = driving_}; }

    std::atomic<int> rounds{0};
    std::atomic<int> served{0};

private:
    bool driving_; ///< by a computation thread that waits
};

} // namespace

TEST_CASE("a nudge that comes just before the sleep ends it") {
    for (const bool watch_sockets : {false, true}) {
        Sleeper sleeper;
        sleeper.nudge();
        CHECK(sleeper.sleep(2s, watch_sockets) == Sleeper::Woken::by_nudge);
        // Once.
        CHECK(time_of_sleep(sleeper, watch_sockets) >= 20ms);
    }
}

TEST_CASE("nudges at any moment end sleeps") {
    for (const bool watch_sockets : {false, true}) {
        Sleeper sleeper;
        std::atomic<int> answered{0};
        constexpr int nudges = 200;
        std::thread other{[&] {
            for (int i = 0; i < nudges; ++i) {
                sleeper.nudge();
                while (answered.load() == i) std::this_thread::yield();
            }
        }};
        int by_nudge = 0;
        for (int i = 0; i < nudges; ++i) {
            by_nudge += sleeper.sleep(10s, watch_sockets) == Sleeper::Woken::by_nudge ? 1 : 0;
            answered.store(i + 1);
        }
        other.join();
        CHECK(by_nudge == nudges);
    }
}

TEST_CASE("what arrives over TCP ends a sleep that watches sockets, each time, and no other") {
    const Connection connection;
    Sleeper sleeper;
    for (int i = 0; i < 3; ++i) {
        bool sent = false;
        std::thread sender{[&] {
            std::this_thread::sleep_for(5ms);
            sent = connection.send_byte();
        }};
        CHECK(sleeper.sleep(10s, true) == Sleeper::Woken::by_socket);
        sender.join();
        CHECK(sent);
        connection.receive_byte();
        CHECK(time_of_sleep(sleeper, true) >= 20ms);
        CHECK(connection.send_byte());
        CHECK(time_of_sleep(sleeper, false) >= 20ms);
        CHECK(sleeper.sleep(10s, true) == Sleeper::Woken::by_socket);
        connection.receive_byte();
    }
}

TEST_CASE("beside a computation thread that waits, the progress thread looks at other teams seldom") {
    const Connection connection;
    BusyTeam waiting{true};
    BusyTeam other{false};
    ProgressThread& thread = ProgressThread::instance();
    thread.add(waiting, {});
    thread.add(other, {});
    const auto begin = std::chrono::steady_clock::now();
    constexpr int messages = 100; // of the team that waits
    for (int i = 0; i < messages; ++i) {
        CHECK(connection.send_byte());
        std::this_thread::sleep_for(1ms);
        connection.receive_byte();
        thread.serve_in_turn(waiting);
    }
    const auto passed = std::chrono::steady_clock::now() - begin;
    thread.remove(waiting);
    thread.remove(other);
    CHECK(waiting.rounds == 0);
    CHECK(waiting.served == 0);
    CHECK(other.served > 0);
    CHECK(other.rounds > 0);
    CHECK(other.rounds <= 20 + passed / 1ms); // once a millisecond, and what comes before the first sleep
}

TEST_CASE("teams begin and end while a computation thread serves them") {
    BusyTeam waiting{true};
    ProgressThread& thread = ProgressThread::instance();
    thread.add(waiting, {});
    std::atomic<bool> stop{false};
    std::thread serving{[&] {
        while (!stop.load()) thread.serve_in_turn(waiting);
    }};
    bool all_served = true;
    for (int i = 0; i < 50; ++i) {
        BusyTeam brief{false};
        thread.add(brief, {});
        const auto begin = std::chrono::steady_clock::now();
        while (brief.served == 0 && std::chrono::steady_clock::now() - begin < 10s) std::this_thread::yield();
        all_served = all_served && brief.served > 0;
        thread.remove(brief);
    }
    stop.store(true);
    serving.join();
    thread.remove(waiting);
    CHECK(all_served);
    CHECK(waiting.served == 0);
}
