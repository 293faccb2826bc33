// Engines without a team; each test case drives their progress itself.
#pragma once

#include "src/messages/engine.hpp"
#include "src/messages/tags.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace test {

using namespace lapwing::detail::messages;

class Listener final : public EngineListener {
public:
    bool on_barrier_token(const BarrierToken&) override { return true; }
    void on_failed(const std::string& text, int) noexcept override { failures.push_back(text); }
    bool on_waiting(const WaitingNote&) override { return true; }
    void on_abandoned_access() override {}
    bool on_peer_left(int rank, std::uint64_t, std::uint32_t) override { return rank < test::world_size(); }
    void on_progress() override {
        if (each_round) each_round();
    }

    std::vector<std::string> failures;
    std::function<void()> each_round;
};

/// One engine on each rank of MPI_COMM_WORLD.
class Job {
public:
    explicit Job(const EngineLimits& limits = {})
        : communicator_{duplicate()}, engine{communicator_, limits, statistics_, listener} {}
    ~Job() {
        test::world_barrier();
        engine.stop();
        MPI_Comm_free(&communicator_);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// One round; what it throws has been reported to the listener.
    void progress() {
        try {
            engine.progress();
        } catch (const lapwing::Error&) {
        }
    }
    template <class Condition>
    void until(Condition&& condition) {
        while (!condition()) progress();
    }
    /// All ranks have come, each making progress meanwhile.
    void meet() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        until([&] {
            int here = 0;
            MPI_Test(&request, &here, MPI_STATUS_IGNORE);
            return here != 0;
        });
    }
    void call(int target, HandlerNumber number, std::span<const std::byte> bytes) {
        until([&] { return engine.try_call(target, number, bytes); });
    }
    void flush(int target) {
        const FlushTicket ticket = engine.start_flush(target);
        until([&] { return engine.flushed(target, ticket); });
    }
    /// A packet of requests as another build might send it.
    void send_raw(int target, std::vector<std::byte> requests) const {
        requests.insert(requests.begin(), sizeof(PacketHeader), std::byte{0});
        MPI_Send(requests.data(), static_cast<int>(requests.size()), MPI_BYTE, target, request_tag, communicator_);
    }

    [[nodiscard]] MPI_Comm communicator() const { return communicator_; }

private:
    static MPI_Comm duplicate() {
        MPI_Comm communicator = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
        return communicator;
    }
    lapwing::detail::support::Statistics statistics_;
    MPI_Comm communicator_;

public:
    Listener listener;
    Engine engine;
};

[[nodiscard]] inline bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace test
