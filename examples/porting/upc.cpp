// From UPC to Lapwing: the right-hand sides of docs/porting.md, which shows the parts between the marks. Each part
// checks itself.
//
//     mpirun -n 4 porting_upc
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

namespace {

constexpr std::int64_t n = 1000;

double start(std::int64_t i) { return static_cast<double>(i * i % 97); }

bool smooth(lapwing::Runtime& runtime) {
    // [loop]
    // shared [*] double a[N], b[N];
    lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::Block{}};
    lapwing::GlobalArray<double, 1> b{runtime, {n}, lapwing::Block{}};

    // upc_forall (i = 0; i < N; i++; &a[i]) a[i] = start(i);
    for (auto [i] : a.local_domain()) a.local(i) = start(i);
    runtime.barrier(); // upc_barrier;

    // upc_forall (i = 1; i < N - 1; i++; &b[i]) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
    for (auto [i] : b.local_domain().intersect({{1, n - 1}})) b.local(i) = (a(i - 1) + a(i) + a(i + 1)) / 3;
    runtime.barrier();
    // [end]
    bool right = true;
    for (auto [i] : b.local_domain().intersect({{1, n - 1}}))
        right = right && b.local(i) == (start(i - 1) + start(i) + start(i + 1)) / 3;
    return right;
}

bool dealt_blocks(lapwing::Runtime& runtime) {
    // [bulk]
    // shared [10] double a[N];   blocks of 10, distributed over the threads cyclically
    lapwing::GlobalArray<double, 1> a{runtime, {n}, lapwing::BlockCyclic{{10}}};
    for (const auto domain : a.local_domains())
        for (auto [i] : domain) a.local(i) = start(i);
    runtime.barrier();

    // upc_memget(buffer, &a[k], 10 * sizeof(double)) for each of ten blocks: here one call, whoever owns them
    std::vector<double> buffer(100);
    a({{200, 300}}).get(buffer);
    // [end]
    bool right = true;
    for (std::int64_t i = 0; i < 100; ++i) right = right && buffer[static_cast<std::size_t>(i)] == start(200 + i);
    runtime.barrier();
    return right;
}

bool shared_sum(lapwing::Runtime& runtime) {
    // [lock]
    // shared double total;   upc_lock_t* lock = upc_all_lock_alloc();
    lapwing::GlobalArray<double, 1> total{runtime, {1}};
    lapwing::Lock lock{runtime};

    lock.lock();                            // upc_lock(lock);
    total(0) += runtime.rank().value + 1.0; // total += MYTHREAD + 1;
    lock.unlock();                          // upc_unlock(lock);

    runtime.notify(); // upc_notify;   work that needs no other rank may come here
    runtime.wait();   // upc_wait;
    // [end]
    const bool right = total(0) == 0.5 * runtime.size() * (runtime.size() + 1);
    runtime.barrier();
    return right;
}

bool table_updates(lapwing::Runtime& runtime) {
    // [table]
    // shared uint64_t table[N];   table[hash(k)] ^= k for many k, with a lock or an atomic for each
    lapwing::GlobalArray<std::uint64_t, 1> table{runtime, {n}, lapwing::Cyclic{}};
    for (std::int64_t k = 0; k < 3000; ++k)
        table(k * 7919 % n).atomic().bit_xor(static_cast<std::uint64_t>(k)); // hundreds travel in a message
    runtime.barrier();                                                       // they are there
    // [end]
    std::vector<std::uint64_t> expected(n);
    for (int rank = 0; rank < runtime.size(); ++rank)
        for (std::int64_t k = 0; k < 3000; ++k)
            expected[static_cast<std::size_t>(k * 7919 % n)] ^= static_cast<std::uint64_t>(k);
    bool right = true;
    for (auto [i] : table.local_domain()) right = right && table.local(i) == expected[static_cast<std::size_t>(i)];
    return right;
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    int wrong = 0;
    const auto check = [&](const char* what, bool right) {
        if (right) return;
        std::printf("rank %d: %s: WRONG\n", runtime.rank().value, what);
        wrong = 1;
    };
    check("loop", smooth(runtime));
    check("bulk", dealt_blocks(runtime));
    check("lock", shared_sum(runtime));
    check("table", table_updates(runtime));
    if (runtime.rank() == 0 && wrong == 0) std::printf("four kernels of UPC programs: correct\n");
    return wrong;
}
