// The same program on every network. Where MPI's windows do not work between nodes (Open MPI 4.1 over TCP), Lapwing
// carries one-sided operations in messages that the owner's progress thread answers; this prints which path each rank
// takes.
//
//     mpirun -n 4 tcp_without_windows                                              one node: direct
//     mpirun -n 4 --mca pml ob1 --mca btl tcp,self tcp_without_windows             Open MPI over TCP, one node: direct
//     LAPWING_NODE=each mpirun -n 4 --mca pml ob1 --mca btl tcp,self tcp_without_windows       as if on four nodes:
//     service
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

int main() {
    lapwing::Runtime runtime;
    const int own = runtime.rank().value;
    if (own == 0) std::printf("%s\n", runtime.report().c_str());

    // One counter for each rank. Every rank adds to all of them, wherever they are.
    lapwing::GlobalArray<std::int64_t, 1> counters{runtime, {runtime.size()}, lapwing::Cyclic{}};
    for (int round = 0; round < 100; ++round)
        for (int target = 0; target < runtime.size(); ++target) counters(target).atomic().fetch_add(1);
    runtime.barrier();

    std::string paths;
    for (int target = 0; target < runtime.size(); ++target) {
        paths += ' ';
        paths += name(runtime.path(lapwing::Rank{target}));
    }
    std::printf("rank %d, paths to ranks 0, 1, …:%s\n", own, paths.c_str());
    return counters.min() == 100 * runtime.size() && counters.max() == 100 * runtime.size() ? 0 : 1;
}
