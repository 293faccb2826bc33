// A hash map that is spread over all ranks, in hash_map.hpp: keys are inserted and looked up in lists, where they are.
//
//     mpirun -n 4 hash_map
#include "hash_map.hpp"

#include <lapwing/lapwing.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

using example::HashMap;

int main() {
    constexpr std::uint64_t keys_of_each = 20'000;
    lapwing::Runtime runtime;
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    const auto rank = static_cast<std::uint64_t>(runtime.rank().value);
    HashMap map{runtime, static_cast<std::int64_t>(keys_of_each * ranks)};

    // Each rank inserts its own keys, and all ranks add to one.
    std::vector<HashMap::Pair> pairs;
    for (std::uint64_t k = 0; k < keys_of_each; ++k)
        pairs.push_back({k * ranks + rank, static_cast<HashMap::Value>(k)});
    map.insert(pairs);
    map.add(1'000'000'007, 1);
    runtime.barrier();

    // And looks up those that the next rank has inserted, and as many that nobody has.
    std::vector<HashMap::Key> keys;
    for (std::uint64_t k = 0; k < 2 * keys_of_each; ++k) keys.push_back(k * ranks + (rank + 1) % ranks);
    std::vector<HashMap::Found> found(keys.size());
    map.find(keys, found);
    std::int64_t wrong = 0;
    for (std::uint64_t k = 0; k < keys.size(); ++k) {
        const bool there = k < keys_of_each;
        const HashMap::Found expected{there ? static_cast<HashMap::Value>(k) : 0, there ? 1 : 0};
        if (found[k].there != expected.there || found[k].value != expected.value) ++wrong;
    }
    if (map.find(1'000'000'007).value != runtime.size()) ++wrong;

    wrong = runtime.sum(wrong);
    const auto most = runtime.max(static_cast<std::int64_t>(HashMap::entries()));
    if (rank == 0)
        std::printf("%lld keys on %lld ranks, at most %lld of them on one: %lld wrong\n",
                    static_cast<long long>(keys_of_each * ranks), static_cast<long long>(ranks),
                    static_cast<long long>(most), static_cast<long long>(wrong));
    return wrong == 0 ? 0 : 1;
}
