// Two numbers that belong together, on different ranks, are changed by all ranks under a lock: nobody sees one changed
// and the other not.
//
//     mpirun -n 4 locks
#include <lapwing/lapwing.hpp>

#include <cstdint>
#include <cstdio>
#include <mutex>

int main() {
    lapwing::Runtime runtime;
    // Money moves between accounts; what all have together stays the same.
    const std::int64_t accounts = 2 * runtime.size();
    lapwing::GlobalArray<std::int64_t, 1> balance{runtime, {accounts}, lapwing::Cyclic{}, {.name = "balance"}};
    balance.fill(1000);
    lapwing::Lock lock{runtime};

    constexpr int transfers = 50;
    for (int k = 0; k < transfers; ++k) {
        const std::int64_t from = (runtime.rank().value + k) % accounts;
        const std::int64_t to = (from + 1 + k % (accounts - 1)) % accounts;
        // lock acquires, unlock releases: the next holder sees both changes.
        const std::lock_guard guard{lock};
        balance(from) -= 10;
        balance(to) += 10;
    }
    runtime.barrier();

    const std::int64_t sum = balance.sum();
    const int wrong = sum == 1000 * accounts ? 0 : 1;
    if (runtime.rank() == lapwing::Rank{0})
        std::printf("%d transfers by each of %d ranks: the accounts hold %lld together, %s\n", transfers,
                    runtime.size(), static_cast<long long>(sum), wrong == 0 ? "as before" : "WRONG");
    return wrong;
}
