#include <lapwing/lapwing.hpp>

#include <cstdio>

int main() {
    lapwing::Runtime runtime; // starts MPI if the program has not

    // A thousand numbers, a block for each rank; a rank's own elements are plain memory.
    lapwing::GlobalArray<double, 1> a{runtime, {1000}, lapwing::Block{}};
    for (auto [i] : a.local_domain()) a.local(i) = 0.5 * static_cast<double>(i);
    runtime.barrier(); // from here on all ranks see what was written before

    // Any element, whoever owns it, and a patch of them in one transfer.
    double row[10];
    a({{990, 1000}}).get(row);
    a(0).atomic().fetch_add(1.0);
    runtime.barrier();

    const double total = a.sum();
    if (runtime.rank() == 0) std::printf("%d ranks: a(999) is %g, the sum %g\n", runtime.size(), row[9], total);
}
