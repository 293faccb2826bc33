// The shared heap: no two allocations overlap, whoever makes them, and freed memory can be allocated again.
#include "support/mpi_test.hpp"
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"
#include "upc/heap_metadata.hpp"
#include "upc/program.hpp"

#include <lapwing/statistics.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc/memory.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

struct Allocation {
    lapwing_upc_pointer pointer;
    std::size_t bytes = 0;
    unsigned char value = 0;
};

/// Fills an allocation of one thread's memory, and looks whether it still has what it was filled with.
void fill(const Allocation& allocation) { lapwing_upc_memset(allocation.pointer, allocation.value, allocation.bytes); }
bool holds(const Allocation& allocation) {
    std::vector<unsigned char> found(allocation.bytes);
    lapwing_upc_memget(found.data(), allocation.pointer, found.size());
    for (const unsigned char byte : found)
        if (byte != allocation.value) return false;
    return true;
}

/// Metadata in memory of this process, separately, with the number of reads of them.
struct CountedMemory {
    explicit CountedMemory(std::size_t bytes) : bytes(bytes) {}
    template <class T>
    T get(std::uint64_t at) {
        ++reads;
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    }
    template <class T>
    void put(std::uint64_t at, const T& value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    std::vector<std::byte> bytes;
    int reads = 0;
};

/// What this thread has asked other nodes' threads since, and the puts, gets and atomics on their memory.
struct Counts {
    std::uint64_t questions = 0;
    std::uint64_t accesses = 0;
};
Counts counts() {
    using lapwing::Counter;
    lapwing::upc::ProgramState& program = lapwing::upc::program("counts");
    const lapwing::StatisticsValues team = program.team().statistics();
    const lapwing::StatisticsValues heap = program.heap().statistics();
    return {team[Counter::answered_calls], heap[Counter::service_gets] + heap[Counter::rma_gets] +
                                               heap[Counter::service_puts] + heap[Counter::rma_puts] +
                                               heap[Counter::service_atomics] + heap[Counter::rma_atomics] +
                                               heap[Counter::service_flushes] + heap[Counter::rma_flushes]};
}

} // namespace

TEST_CASE("the metadata of a heap keep blocks of any sizes apart, join what is freed, and read as much with 4000 "
          "blocks before") {
    using namespace lapwing::upc;
    constexpr Region region{sizeof(HeapRoot) + granule - block_header_bytes,
                            sizeof(HeapRoot) + granule - block_header_bytes + (1U << 21) + 5 * granule};
    CountedMemory memory{region.end};
    HeapMetadata metadata{memory, 0, region};
    metadata.make();
    std::map<std::uint64_t, std::uint64_t> blocks; // ends by begins
    test::Random random{17};
    for (int round = 0; round < 20'000; ++round) {
        memory.reads = 0;
        if (random.number(0, 1) == 0) {
            const auto bytes = static_cast<std::uint64_t>(random.number(1, random.number(0, 9) == 0 ? 100'000 : 700));
            const Allocated made = metadata.allocate(bytes);
            if (made.address == 0) {
                REQUIRE(made.largest_free <= made.free);
                continue;
            }
            REQUIRE(memory.reads <= 30);
            REQUIRE(made.address % 64 == 0);
            REQUIRE(made.address >= region.begin);
            REQUIRE(made.address + bytes <= region.end);
            const auto behind = blocks.lower_bound(made.address);
            REQUIRE((behind == blocks.end() || made.address + bytes <= behind->first - block_header_bytes));
            REQUIRE((behind == blocks.begin() || std::prev(behind)->second <= made.address - block_header_bytes));
            blocks[made.address] = made.address + bytes;
            const Region object = metadata.object(made.address);
            REQUIRE((object.begin == made.address && object.end == made.address + bytes));
        } else if (!blocks.empty()) {
            auto block =
                blocks.lower_bound(static_cast<std::uint64_t>(random.number(0, static_cast<std::int64_t>(region.end))));
            if (block == blocks.end()) block = blocks.begin();
            REQUIRE(metadata.find(block->second, region.begin, 1'000'000).object.begin == block->first);
            memory.reads = 0;
            REQUIRE(metadata.free(block->first) == Freed::done);
            REQUIRE(memory.reads <= 30);
            REQUIRE(metadata.free(block->first) == Freed::already_free);
            blocks.erase(block);
        }
        if (round % 100 == 0) REQUIRE_NOTHROW(metadata.validate());
    }
    for (const auto& [begin, end] : blocks) REQUIRE(metadata.free(begin) == Freed::done);
    // All of it is one piece again, though its size is no power of 2; and there is nothing beyond.
    const Allocated all = metadata.allocate(region.end - region.begin - block_header_bytes);
    REQUIRE(all.address != 0);
    CHECK(metadata.allocate(1).address == 0);
    REQUIRE(metadata.free(all.address) == Freed::done);

    std::vector<std::uint64_t> small;
    small.reserve(8000);
    for (int k = 0; k < 8000; ++k) small.push_back(metadata.allocate(40).address);
    for (std::size_t k = 0; k < small.size(); k += 2) REQUIRE(metadata.free(small[k]) == Freed::done);
    memory.reads = 0;
    CHECK(metadata.allocate(4000).address != 0);
    CHECK(memory.reads <= 30);
    CHECK_NOTHROW(metadata.validate());
    // And it sees what does not agree.
    memory.put(small[101] - block_header_bytes + 8, std::uint64_t{7 * granule});
    CHECK_THROWS_AS(metadata.validate(), MetadataOverwritten);
}

TEST_CASE("metadata that a program has overwritten are reported, and followed nowhere") {
    using namespace lapwing::upc;
    constexpr Region region{sizeof(HeapRoot) + granule - block_header_bytes,
                            sizeof(HeapRoot) + granule - block_header_bytes + (1U << 16)};
    test::Random random{19};
    int told = 0;
    for (int round = 0; round < 2000; ++round) {
        CountedMemory memory{region.end};
        HeapMetadata metadata{memory, 0, region};
        metadata.make();
        std::vector<std::uint64_t> blocks;
        blocks.reserve(40);
        for (int k = 0; k < 40; ++k)
            blocks.push_back(metadata.allocate(static_cast<std::uint64_t>(random.number(1, 300))).address);
        for (std::size_t k = 0; k < blocks.size(); k += 3) REQUIRE(metadata.free(blocks[k]) == Freed::done);
        for (int k = 0; k < 4; ++k) {
            const std::uint64_t block = blocks[static_cast<std::size_t>(random.number(0, 39))] - block_header_bytes;
            memory.put(block + static_cast<std::uint64_t>(random.number(0, 3)) * 8,
                       static_cast<std::uint64_t>(random.number(0, 1) == 0 ? -random.number(1, 1 << 30)
                                                                           : random.number(0, 1 << 17)));
        }
        try {
            for (const std::uint64_t block : blocks) static_cast<void>(metadata.free(block));
            for (int k = 0; k < 40; ++k)
                static_cast<void>(metadata.allocate(static_cast<std::uint64_t>(random.number(1, 900))));
        } catch (const MetadataOverwritten& problem) {
            REQUIRE(problem.at < region.end);
            ++told;
        }
    }
    CHECK(told > 500);
}

TEST_CASE("an allocation of another node's thread is one question, and loses nothing that is cached") {
    // Counts, of one thread while the others wait.
    const test::UpcProgram program;
    lapwing::upc::ProgramState& state = lapwing::upc::program("test");
    const lapwing_upc_pointer shared = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 64);
    const bool far = lapwing_upc_cast({shared.address, 0, 0}) == nullptr;
    const bool one_sided = state.team().network_path() == lapwing::Path::rma &&
                           state.team().progress_mode() == lapwing::ProgressMode::caller;
    if (program.me == program.threads - 1) {
        const auto threads = static_cast<std::size_t>(program.threads);
        std::vector<lapwing_upc_pointer> blocks;
        blocks.reserve(400);
        for (int k = 0; k < 400; ++k) blocks.push_back(lapwing_upc_global_alloc(threads, 40));
        for (std::size_t k = 0; k < blocks.size(); k += 2) lapwing_upc_free(blocks[k]);
        double x = 1;
        lapwing_upc_get(&x, {shared.address, 0, 0}, sizeof x); // cached, where there is a cache
        const Counts before = counts();
        const lapwing_upc_pointer made = lapwing_upc_global_alloc(threads, 4000);
        const Counts behind = counts();
        lapwing_upc_get(&x, {shared.address, 0, 0}, sizeof x);
        const Counts again = counts();
        lapwing_upc_free(made);
        const Counts freed = counts();
        CHECK(behind.questions - before.questions == (far && !one_sided ? 1 : 0));
        CHECK(freed.questions - again.questions == (far && !one_sided ? 1 : 0));
        if (!one_sided) {
            CHECK(behind.accesses == before.accesses);
            CHECK(freed.accesses == again.accesses);
            if (far && state.heap().page_tables() != nullptr) CHECK(again.accesses == behind.accesses);
        } else {
            CHECK(behind.accesses - before.accesses <= 25);
        }
        for (std::size_t k = 1; k < blocks.size(); k += 2) lapwing_upc_free(blocks[k]);
        // This thread has the metadata of what it has allocated alone.
        const Counts own = counts();
        lapwing_upc_free(lapwing_upc_alloc(500));
        CHECK(counts().questions == own.questions);
    }
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_free(shared);
}

TEST_CASE("groups of threads have metadata of their own for small blocks") {
    const test::ScopedEnvironment group{"LAPWING_UPC_HEAP_GROUP", "2"};
    const test::UpcProgram program;
    lapwing::upc::ProgramState& state = lapwing::upc::program("test");
    const auto threads = static_cast<std::size_t>(program.threads);
    const lapwing::upc::HeapRegions& regions = state.regions();
    CHECK((regions.share != 0) == (program.threads > 2));
    std::vector<Allocation> mine;
    for (int k = 0; k < 100; ++k) {
        Allocation made{.pointer = {}, .bytes = 100, .value = static_cast<unsigned char>(program.me * 100 + k)};
        made.pointer = lapwing_upc_global_alloc(threads, made.bytes);
        made.pointer.thread = static_cast<std::uint32_t>((program.me + k) % program.threads);
        fill(made);
        if (regions.share != 0) {
            REQUIRE(regions.small.holds(made.pointer.address));
            REQUIRE((made.pointer.address - regions.small.begin) / regions.share ==
                    static_cast<std::uint64_t>(program.me / 2));
        }
        mine.push_back(made);
    }
    lapwing_upc_barrier(nullptr);
    // What the group has no room for goes to the others' heap; what is large, too.
    std::vector<lapwing_upc_pointer> more;
    bool beyond = regions.share == 0;
    while (!beyond) {
        more.push_back(lapwing_upc_global_alloc(threads, regions.share / 16));
        beyond = regions.blocks.holds(more.back().address);
        REQUIRE(more.size() < 40);
    }
    const lapwing_upc_pointer large = lapwing_upc_global_alloc(threads, 1 << 20);
    CHECK((regions.share >= 16 << 20 || regions.blocks.holds(large.address)));
    lapwing_upc_barrier(nullptr);
    for (Allocation& allocation : mine) {
        REQUIRE(holds(allocation));
        allocation.pointer.thread = 0;
        lapwing_upc_free(allocation.pointer);
        REQUIRE_THAT(test::upc_error_of([&] { lapwing_upc_free(allocation.pointer); }), test::says({"upc_free"}));
    }
    for (const lapwing_upc_pointer& pointer : more) lapwing_upc_free(pointer);
    lapwing_upc_free(large);
    lapwing_upc_barrier(nullptr);
}

TEST_CASE("all threads allocate and free at once, and nothing overlaps") {
    const test::UpcProgram program;
    test::Random random{static_cast<unsigned>(80 + program.me)};
    std::vector<Allocation> mine;
    for (int round = 0; round < 250; ++round) {
        if (mine.empty() || random.number(0, 2) > 0) {
            Allocation made;
            made.bytes = static_cast<std::size_t>(random.number(1, random.number(0, 3) == 0 ? 5000 : 60));
            made.value = static_cast<unsigned char>(random.number(1, 255));
            // Of blocks only the first thread's are looked at: the others lie at the same addresses.
            made.pointer =
                random.number(0, 1) == 0
                    ? lapwing_upc_global_alloc(static_cast<std::size_t>(random.number(1, program.threads)), made.bytes)
                    : lapwing_upc_alloc(made.bytes);
            REQUIRE(lapwing_upc_is_null(made.pointer) == 0);
            REQUIRE(made.pointer.address % 64 == 0);
            fill(made);
            mine.push_back(made);
        } else {
            const auto k = static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(mine.size()) - 1));
            REQUIRE(holds(mine[k]));
            lapwing_upc_free(mine[k].pointer);
            mine[k] = mine.back();
            mine.pop_back();
        }
    }
    lapwing_upc_barrier(nullptr);
    for (const Allocation& allocation : mine) REQUIRE(holds(allocation));
    for (const Allocation& allocation : mine) lapwing_upc_free(allocation.pointer);
    lapwing_upc_barrier(nullptr);
    // All of it is one piece again.
    const lapwing_upc_pointer most =
        lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), (std::size_t{64} << 20) - 32);
    CHECK(lapwing_upc_is_null(most) == 0);
    lapwing_upc_all_free(most);
    const lapwing_upc_pointer own = lapwing_upc_alloc((std::size_t{16} << 20) - 32);
    CHECK(own.thread == static_cast<std::uint32_t>(program.me));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_free(own);
}

TEST_CASE("a thread frees what another one has allocated") {
    const test::UpcProgram program;
    const lapwing_upc_pointer exchange =
        lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), sizeof(lapwing_upc_pointer));
    const lapwing_upc_pointer made = lapwing_upc_alloc(100);
    // Pointers lie in shared memory themselves.
    lapwing_upc_put({exchange.address, static_cast<std::uint32_t>((program.me + 1) % program.threads), 0}, &made,
                    sizeof(made));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_pointer given{};
    lapwing_upc_get(&given, {exchange.address, static_cast<std::uint32_t>(program.me), 0}, sizeof(given));
    CHECK(given.thread == static_cast<std::uint32_t>((program.me + program.threads - 1) % program.threads));
    lapwing_upc_free(given);
    lapwing_upc_barrier(nullptr);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free(made); }), test::says({"upc_free", "freed before"}));
    lapwing_upc_all_free(exchange);
}

TEST_CASE("an exhausted heap, and what cannot be freed, give a reason, and the program goes on") {
    const test::UpcProgram program;
    CHECK_THAT(test::upc_error_of([&] {
                   (void)lapwing_upc_global_alloc(static_cast<std::size_t>(program.threads), std::size_t{2} << 30);
               }),
               test::says({"upc_global_alloc", "2147483648 bytes for each thread", "LAPWING_UPC_HEAP"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_all_alloc(SIZE_MAX, SIZE_MAX); }),
               test::says({"upc_all_alloc", "2^64"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_alloc(std::size_t{1} << 60); }),
               test::says({"upc_alloc", "LAPWING_UPC_LOCAL_HEAP"}));
    // Sizes that wrap when they are rounded up, or multiplied with the bytes of an element.
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 63, SIZE_MAX / 2 + 1}) {
        CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_alloc(bytes); }),
                   test::says({"upc_alloc", std::to_string(bytes), "LAPWING_UPC_LOCAL_HEAP"}));
        CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_global_alloc(1, bytes); }),
                   test::says({"upc_global_alloc", std::to_string(bytes), "LAPWING_UPC_HEAP"}));
    }
    constexpr std::size_t wraps = SIZE_MAX / sizeof(std::int64_t) + 2; // to 8 bytes
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing::upc::alloc<std::int64_t>(wraps); }),
               test::says({"upc_alloc", std::to_string(SIZE_MAX), "LAPWING_UPC_LOCAL_HEAP"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing::upc::global_alloc<std::int64_t>(1, wraps); }),
               test::says({"upc_global_alloc", std::to_string(SIZE_MAX), "LAPWING_UPC_HEAP"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing::upc::all_alloc<std::int64_t>(1, wraps); }),
               test::says({"upc_all_alloc", std::to_string(SIZE_MAX), "LAPWING_UPC_HEAP"}));
    const lapwing_upc_pointer p = lapwing_upc_alloc(1000);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free({p.address + 16, p.thread, 0}); }),
               test::says({"upc_free", "no allocation begins there"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free({p.address + 3, p.thread, 0}); }),
               test::says({"no allocation begins there"}));
    lapwing_upc_free(p);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free(p); }), test::says({"freed before"}));
    lapwing_upc_free({});
    CHECK(lapwing_upc_is_null(lapwing_upc_alloc(0)) != 0);
    CHECK(lapwing_upc_is_null(lapwing_upc_global_alloc(0, 8)) != 0);
    lapwing_upc_barrier(nullptr);
}
