// A rank that requests much and then receives nothing delays no other rank's requests to the same owner.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::Completion;
using lapwing::Layout;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

constexpr std::size_t part = 4U << 20;
constexpr std::size_t large = 70'000; ///< more than a packet holds, and than MPI sends at once
constexpr std::size_t block_count = 8'000;
constexpr std::size_t blocks_bytes = block_count * 32;

std::byte pattern(std::size_t i) { return static_cast<std::byte>(i * 7 + (i >> 8) * 13); }

/// One sort of gets from rank 0.
struct Sort {
    const char* name;
    std::size_t bytes;
    int count; ///< that the flooding rank starts
    std::function<Completion(Window&, std::span<std::byte>)> start;
    std::function<std::size_t(std::size_t)> place; ///< of each byte
};

std::vector<Sort> sorts() {
    const auto same = [](std::size_t i) { return i; };
    const auto whole = [](Window& window, std::span<std::byte> to) { return window.start_get(Rank{0}, Offset{0}, to); };
    const auto blocks = [](Window& window, std::span<std::byte> to) {
        return window.start_get(Rank{0}, Offset{0}, Layout::strided(block_count, 32, 64),
                                Layout::contiguous(blocks_bytes), to.data());
    };
    return {
        {"answers that fill a packet", 7000, 200, whole, same},
        {"bulk gets", large, 64, whole, same},
        {"blocks that the owner packs", blocks_bytes, 32, blocks, [](std::size_t i) { return i / 32 * 64 + i % 32; }},
        {"words", 8, 0, whole, same}};
}

bool is_right(const Sort& sort, std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != pattern(sort.place(i))) return false;
    return true;
}

bool is_stopped(int process) {
    std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')'); // of its name; the state follows
    return end != std::string::npos && text.compare(end, 3, ") T") == 0;
}

/// Whether it is complete within a time that only a rank which is not served needs.
bool completes(Completion& get) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    while (!get.test())
        if (std::chrono::steady_clock::now() > end) return false;
    return true;
}

/// Starts gets and stops. With four ranks the rank before the last starts as many, and looks after them when rank 1 is
/// through, or its thread does.
void flood_and_stop(Runtime& runtime, Window& window, const Sort& flood) {
    std::vector<std::vector<std::byte>> memory(static_cast<std::size_t>(flood.count),
                                               std::vector<std::byte>(flood.bytes));
    const int process = getpid();
    MPI_Send(&process, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    std::vector<Completion> gets;
    gets.reserve(memory.size());
    for (auto& one : memory) gets.push_back(flood.start(window, one));
    (void)runtime.progress();
    if (runtime.rank() == Rank{runtime.size() - 1}) raise(SIGSTOP);
    MPI_Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::size_t right = 0;
    for (std::size_t i = 0; i < memory.size(); ++i) {
        gets[i].wait();
        right += is_right(flood, memory[i]) ? 1 : 0;
    }
    CHECK(right == memory.size());
}

/// Gets of all sorts are served while the last rank is stopped.
void get_meanwhile(Runtime& runtime, Window& window, const std::vector<Sort>& all) {
    const int last = runtime.size() - 1;
    int stopped = 0;
    for (int other = 2; other <= last; ++other)
        MPI_Recv(&stopped, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!is_stopped(stopped)) (void)runtime.progress();
    bool served = true;
    std::size_t right = 0;
    // One that is not served needs its memory for longer.
    std::vector<std::pair<std::vector<std::byte>, Completion>> gets;
    for (int round = 0; round < 20 && served; ++round)
        for (const Sort& sort : all) {
            if (!served) break;
            gets.emplace_back(std::vector<std::byte>(sort.bytes), Completion{});
            gets.back().second = sort.start(window, gets.back().first);
            served = completes(gets.back().second);
            right += served && is_right(sort, gets.back().first) ? 1 : 0;
        }
    kill(stopped, SIGCONT);
    CHECK(served);
    for (int other = 2; other <= last; ++other) MPI_Send(nullptr, 0, MPI_INT, other, 0, MPI_COMM_WORLD);
    for (auto& get : gets) get.second.wait();
    CHECK(right == 20 * all.size());
}

} // namespace

TEST_CASE("one rank that floods an owner with requests and another that is stopped let a third one be served") {
    if (test::world_size() < 3) return;
    const char* const progress = GENERATE("auto", "caller");
    const std::vector<Sort> all = sorts();
    for (const Sort& flood : all) {
        if (flood.count == 0) continue;
        INFO(flood.name << ", progress by " << progress);
        Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PATH", "service"},
                                                          {"LAPWING_NODE", "each"},
                                                          {"LAPWING_PROGRESS", progress},
                                                          {"LAPWING_STRATEGY", "served"}}};
        Window window{runtime, part};
        if (runtime.rank() == Rank{0})
            for (std::size_t i = 0; i < part; ++i) window.local()[i] = pattern(i);
        runtime.barrier();
        if (runtime.rank() == Rank{1}) get_meanwhile(runtime, window, all);
        else if (runtime.rank() != Rank{0}) flood_and_stop(runtime, window, flood);
        runtime.barrier();
        window.close();
        runtime.close();
    }
}
