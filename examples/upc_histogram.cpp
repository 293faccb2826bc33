// A UPC kernel in C++: a histogram whose buckets are dealt to the threads, with a lock for each thread's buckets. The
// text of each line in UPC is beside it.
#include <lapwing/upc.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace upc = lapwing::upc;

int main(int argc, char** argv) {
    upc::Program program{argc, argv};
    constexpr std::int64_t buckets = 1000;
    constexpr std::int64_t numbers = 2000;             // of each thread
    upc::SharedArray<std::int64_t> histogram{buckets}; // shared int64_t histogram[buckets];
    // upc_lock_t* locks[THREADS];
    std::vector<std::unique_ptr<upc::Lock>> locks(static_cast<std::size_t>(upc::threads()));
    for (auto& lock : locks) lock = std::make_unique<upc::Lock>(); // locks[t] = upc_all_lock_alloc();

    upc::forall(0, buckets, histogram,
                [&](std::int64_t i) { histogram[i] = 0; }); // upc_forall (i = 0; i < buckets; i++; &histogram[i]) …
    upc::barrier();                                         // upc_barrier;
    std::mt19937_64 random{static_cast<std::uint64_t>(upc::mythread())};
    for (std::int64_t k = 0; k < numbers; ++k) {
        const auto bucket = static_cast<std::int64_t>(random() % buckets);
        const std::lock_guard guard{
            *locks[static_cast<std::size_t>((histogram + bucket).threadof())]}; // upc_lock(locks[upc_threadof(…)]);
        histogram[bucket] += 1;                                                 // histogram[bucket]++;
    } // upc_unlock(…);
    upc::barrier();
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < buckets; ++i) sum += histogram[i]; // sum += histogram[i];
    if (upc::mythread() == 0) std::printf("%lld numbers of %d threads\n", static_cast<long long>(sum), upc::threads());
    upc::barrier();
    return sum == numbers * upc::threads() ? 0 : 1;
}
