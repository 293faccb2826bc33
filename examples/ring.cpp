// A message goes round the ranks by notified puts: data and the news that it is there in one message, with nobody
// asking.
//
//     mpirun -n 4 ring
#include <lapwing/lapwing.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

int main() {
    lapwing::Runtime runtime;
    const int own = runtime.rank().value;
    const int ranks = runtime.size();
    const lapwing::Rank next{(own + 1) % ranks};
    constexpr unsigned arrived = 0; // which of the window's counters

    // Every rank has a place for one message: the sum so far, and how often each rank was visited.
    lapwing::Window window{runtime, sizeof(std::int64_t) * static_cast<std::uint64_t>(1 + ranks), {.name = "ring"}};
    const std::span<std::int64_t> place = window.local_as<std::int64_t>();

    constexpr int rounds = 10;
    std::vector<std::int64_t> message(static_cast<std::size_t>(ranks) + 1);
    for (int round = 0; round < rounds; ++round) {
        if (own != 0 || round > 0) {
            window.wait_notified(arrived); // what came with the notification can be read
            std::ranges::copy(place, message.begin());
        }
        message[0] += own;
        ++message[static_cast<std::size_t>(own) + 1];
        window.put_notify(next, lapwing::Offset{0}, std::span<const std::int64_t>{message}, arrived);
    }

    int wrong = 0;
    if (own == 0) {
        window.wait_notified(arrived);
        if (place[0] != std::int64_t{rounds} * ranks * (ranks - 1) / 2) wrong = 1;
        for (const std::int64_t visits : place.subspan(1))
            if (visits != rounds) wrong = 1;
        std::printf("after %d rounds the sum of the ranks visited is %lld: %s\n", rounds,
                    static_cast<long long>(place[0]), wrong == 0 ? "correct" : "WRONG");
    }
    runtime.barrier();
    return wrong;
}
