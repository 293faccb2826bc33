// More ranks than in the other tests: start, barriers, random transfers, a redistribution, UPC's collectives.
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using lapwing::BlockCyclic;
using lapwing::GlobalArray;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
namespace upc = lapwing::upc;

namespace {

/// What `from` puts into its slot at `to` in a round.
std::int64_t value_of(int round, int from, int to) { return (std::int64_t{round} * 1009 + from) * 1009 + to; }

} // namespace

TEST_CASE("random puts, gets and additions between many ranks") {
    constexpr int rounds = 3;
    constexpr int targets = 5;
    Runtime runtime;
    const int ranks = runtime.size();
    const int own = runtime.rank().value;
    // A slot for each rank, and a counter.
    Window window{runtime, sizeof(std::int64_t) * (static_cast<std::uint64_t>(ranks) + 1)};
    const auto slot = [](int from) { return Offset{sizeof(std::int64_t) * static_cast<std::uint64_t>(from)}; };
    // All ranks know what each does: its targets follow from its number and the round.
    const auto targets_of = [&](int round, int from) {
        std::minstd_rand numbers{static_cast<unsigned>(round * 4001 + from + 1)};
        std::vector<int> chosen;
        chosen.reserve(targets);
        for (int i = 0; i < targets; ++i) chosen.push_back(static_cast<int>(numbers() % static_cast<unsigned>(ranks)));
        return chosen;
    };
    std::int64_t additions = 0;
    for (int round = 0; round < rounds; ++round) {
        for (const int to : targets_of(round, own)) {
            window.put(Rank{to}, slot(own), value_of(round, own, to));
            window.atomic<std::int64_t>(Rank{to}, slot(ranks)).fetch_add(1);
        }
        runtime.barrier();
        for (int from = 0; from < ranks; ++from)
            for (const int to : targets_of(round, from)) {
                if (to == own) {
                    CHECK(window.local_as<std::int64_t>()[static_cast<std::size_t>(from)] ==
                          value_of(round, from, own));
                    ++additions;
                }
                if (from == (own + 1) % ranks)
                    CHECK(window.get<std::int64_t>(Rank{to}, slot(from)) == value_of(round, from, to));
            }
        CHECK(window.get<std::int64_t>(runtime.rank(), slot(ranks)) == additions);
        runtime.barrier();
    }
}

TEST_CASE("an array of many ranks changes its distribution") {
    Runtime runtime;
    const std::uint64_t extent = 37 * static_cast<std::uint64_t>(runtime.size()) + 11;
    const auto value = [](std::uint64_t i) { return static_cast<std::int64_t>(i * i + 7); };
    GlobalArray<std::int64_t, 1> array{runtime, {extent}};
    for (std::uint64_t i = 0; i < extent; ++i)
        if (array.owner(i) == runtime.rank()) array(i) = value(i);
    runtime.barrier();
    array.redistribute(BlockCyclic{{3}});
    std::int64_t wrong = 0;
    for (std::uint64_t i = static_cast<std::uint64_t>(runtime.rank().value); i < extent; i += 17)
        wrong += array(i) == value(i) ? 0 : 1;
    CHECK(wrong == 0);
    runtime.barrier();
}

TEST_CASE("UPC's collectives with many threads") {
    const upc::Program program;
    const auto threads = static_cast<std::size_t>(upc::threads());
    const int own = upc::mythread();
    CHECK(upc::allv_reduce(std::int64_t{own}) == static_cast<std::int64_t>(threads * (threads - 1) / 2));

    // Each thread has a row of as many elements as there are threads.
    constexpr std::size_t bytes = sizeof(std::int64_t);
    const auto rows = [&] { return upc::all_alloc<std::int64_t, 1>(threads, threads); };
    const auto own_row = [&](const upc::Pointer<std::int64_t, 1>& pointer) {
        const lapwing_upc_pointer row{pointer.addrfield(), static_cast<std::uint32_t>(own), 0};
        return static_cast<std::int64_t*>(lapwing_upc_cast(row));
    };
    const auto source = rows();
    const auto target = rows();
    const auto element = [](std::size_t thread, std::size_t k) { return static_cast<std::int64_t>(1000 * thread + k); };
    const auto self = static_cast<std::size_t>(own);
    for (std::size_t k = 0; k < threads; ++k) own_row(source)[k] = element(self, k);

    upc::all_exchange(target, source, bytes);
    for (std::size_t k = 0; k < threads; ++k) CHECK(own_row(target)[k] == element(k, self));
    upc::all_gather_all(target, source, bytes);
    for (std::size_t k = 0; k < threads; ++k) CHECK(own_row(target)[k] == element(k, 0));
    upc::all_broadcast(target, source, bytes * threads);
    for (std::size_t k = 0; k < threads; ++k) CHECK(own_row(target)[k] == element(0, k));
    upc::all_reduce(target, source, upc::Op::add, threads);
    if (own == 0) CHECK(own_row(target)[0] == static_cast<std::int64_t>(1000 * threads * (threads - 1) / 2));
    upc::all_free(target);
    upc::all_free(source);
}
