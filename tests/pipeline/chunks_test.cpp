// Sizes of chunks, and the planner's choices among them.
#include "pipeline/chunks.hpp"
#include "pipeline/planner.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
using namespace lapwing::detail::pipeline;

namespace {

std::vector<std::uint64_t> sizes_of(const Chunks& chunks, std::uint64_t total) {
    std::vector<std::uint64_t> sizes;
    std::uint64_t previous = 0;
    for (std::uint64_t left = total; left > 0; left -= previous) {
        previous = chunks.next(left, previous);
        REQUIRE(previous > 0);
        REQUIRE(previous <= left);
        sizes.push_back(previous);
    }
    return sizes;
}

/// A network on which a byte takes `per_byte` and nothing of it needs the processor.
TransferModel network(double per_byte, double overhead, double overlap) {
    TransferModel model{std::vector<TransferLine>{{0, 10e-6, 10e-6, overhead, per_byte, 0, 0}}};
    model.set_overlap(overlap);
    return model;
}

/// Packing takes `per_byte`, whatever the blocks.
CopyModel processor(double per_byte) {
    CopyModel model;
    model.call = 0;
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i)
        model.block[i] = per_byte * static_cast<double>(CopyModel::lengths[i]);
    model.line_near = model.line_far = 0;
    return model;
}

TransferShape column(Direction direction, Path path, std::uint64_t bytes, std::uint64_t block) {
    return {.direction = direction,
            .path = path,
            .bytes = bytes,
            .local = {.blocks = bytes / block, .bytes = bytes, .extent_bytes = 2 * bytes},
            .remote = {.blocks = 1, .bytes = bytes, .extent_bytes = bytes},
            .most_memory = 32 << 20};
}

} // namespace

TEST_CASE("chunks of puts grow up to the largest, and a small rest joins the last") {
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 40}, 110) == std::vector<std::uint64_t>{10, 20, 40, 40});
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 40}, 75) == std::vector<std::uint64_t>{10, 20, 40, 5});
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 100}, 75) == std::vector<std::uint64_t>{10, 20, 45});
    CHECK(sizes_of({.first = 10, .growth = 1, .largest = 10}, 35) == std::vector<std::uint64_t>{10, 10, 10, 5});
    CHECK(sizes_of({.first = 100, .growth = 1, .largest = 100}, 35) == std::vector<std::uint64_t>{35});
}

TEST_CASE("chunks of gets shrink to the first size at the end") {
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 40, .shrinking = true}, 110) ==
          std::vector<std::uint64_t>{40, 40, 20, 10});
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 40, .shrinking = true}, 75) ==
          std::vector<std::uint64_t>{5, 40, 20, 10});
    CHECK(sizes_of({.first = 10, .growth = 2, .largest = 40, .shrinking = true}, 7) == std::vector<std::uint64_t>{7});
}

TEST_CASE("any chunks cover a transfer exactly, none larger than the largest") {
    std::mt19937 random{11};
    const auto number = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>{low, high}(random);
    };
    for (int i = 0; i < 2000; ++i) {
        Chunks chunks{
            .first = number(1, 100), .growth = 1 + static_cast<double>(number(0, 30)) / 10, .shrinking = i % 2 == 0};
        chunks.largest = chunks.growth > 1 ? number(chunks.first, 500) : chunks.first;
        const std::uint64_t total = number(1, 5000);
        const std::vector<std::uint64_t> sizes = sizes_of(chunks, total);
        CHECK(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) == total);
        CHECK(*std::ranges::max_element(sizes) <= chunks.largest);
    }
}

TEST_CASE("where packing and wire take equally long and overlap, a pipeline takes little more than one of them") {
    const TransferModel wire = network(1e-9, 1e-6, 1);
    const CopyModel copies = processor(1e-9);
    constexpr std::uint64_t bytes = 4 << 20;
    for (const Direction direction : {Direction::put, Direction::get}) {
        const Decision decision = decide(column(direction, Path::rma, bytes, 16), wire, wire, copies, {});
        INFO(name(direction) << ": " << name(decision.strategy));
        CHECK((decision.strategy == Strategy::superpipeline || decision.strategy == Strategy::fixed_pipeline));
        CHECK(decision.seconds < 1.15e-9 * bytes);
        CHECK(decision.seconds >= 1e-9 * bytes);
        CHECK(decision.chunks.shrinking == (direction == Direction::get));
        const Decision full =
            decide(column(direction, Path::rma, bytes, 16), wire, wire, copies, {.strategy = Strategy::full_pack});
        CHECK(full.seconds == Approx(2e-9 * bytes).epsilon(0.02));
    }
}

TEST_CASE("without overlap there is nothing to gain from chunks") {
    const Decision decision = decide(column(Direction::put, Path::rma, 4 << 20, 16), network(1e-9, 1e-6, 0),
                                     network(1e-9, 1e-6, 0), processor(1e-9), {});
    CHECK(decision.strategy == Strategy::full_pack);
}

TEST_CASE("large blocks leave one by one, small ones do not") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    CHECK(decide(column(Direction::put, Path::rma, 16 << 20, 1 << 20), wire, wire, processor(1e-9), {}).strategy ==
          Strategy::per_block);
    CHECK(decide(column(Direction::put, Path::rma, 16 << 20, 8), wire, wire, processor(1e-9), {}).strategy !=
          Strategy::per_block);
}

TEST_CASE("targets of many small blocks are unpacked by their owner, if it has a thread for that") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    TransferShape shape = column(Direction::put, Path::service, 1 << 20, 8);
    shape.remote = shape.local;
    CHECK(decide(shape, wire, wire, processor(1e-9), {}).strategy != Strategy::owner_packed);
    shape.may_be_owner_packed = true;
    for (const Path path : {Path::service, Path::rma})
        for (const Direction direction : {Direction::put, Direction::get}) {
            shape.path = path;
            shape.direction = direction;
            shape.table_share = 0;
            const Decision owner_packed = decide(shape, wire, wire, processor(1e-9), {});
            CHECK(owner_packed.strategy == Strategy::owner_packed);
            CHECK(owner_packed.chunks.largest <= largest_owner_packed_chunk);
            // The description of the blocks goes over the wire too.
            shape.table_share = 1;
            CHECK(decide(shape, wire, wire, processor(1e-9), {}).seconds > owner_packed.seconds);
        }
    // Over MPI's windows messages also carry what is contiguous at the target, where they are the faster wire.
    shape = column(Direction::put, Path::rma, 1 << 20, 8);
    shape.may_be_owner_packed = true;
    CHECK(decide(shape, network(1e-9, 1e-6, 0.5), network(4e-9, 1e-6, 0.5), processor(1e-9), {}).strategy !=
          Strategy::owner_packed);
    CHECK(decide(shape, network(4e-9, 1e-6, 0.5), network(1e-9, 1e-6, 0.5), processor(1e-9), {}).strategy ==
          Strategy::owner_packed);
}

TEST_CASE("a get of many small blocks over MPI's windows fetches the gaps, where an operation costs more") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5); // an operation costs as much as 1000 bytes
    TransferShape shape = column(Direction::get, Path::rma, 1 << 20, 8);
    shape.remote = shape.local;
    const auto sieve = [&](std::uint64_t stride) {
        return sieve_for(Layout::strided((1 << 20) / 8, 8, static_cast<std::int64_t>(stride)), wire);
    };
    const Sieve dense = sieve(16);
    CHECK(dense.gap > 475); // half of that
    CHECK(dense.gap < 525);
    CHECK(dense.operations == 1);
    CHECK(dense.bytes == Approx(2 << 20).epsilon(0.01));
    CHECK(dense.exact);
    const Sieve sparse = sieve(2048);
    CHECK(sparse.operations == Approx((1 << 20) / 8));
    CHECK(sparse.bytes == Approx(1 << 20));
    CHECK(sieve_for(Layout{}, wire).operations == 0);
    // Of what is irregular the beginning tells.
    Layout::Offsets offsets;
    for (std::int64_t i = 0; i < 4000; ++i) offsets.push_back(i * 16 + i % 2 * 4 + i / 8 * 4096);
    const Sieve clusters = sieve_for(Layout::indexed(offsets, 4), wire);
    CHECK_FALSE(clusters.exact);
    CHECK(clusters.operations == Approx(500));
    CHECK(clusters.bytes == Approx(500 * (7 * 16 + 4 + 4)));

    CHECK(decide(shape, wire, wire, processor(1e-9), {}).strategy != Strategy::sieved); // nobody has looked
    shape.sieve = dense;
    const Decision decision = decide(shape, wire, wire, processor(1e-9), {});
    CHECK(decision.strategy == Strategy::sieved);
    CHECK(decision.room > 2 * decision.chunks.largest); // with the gaps
    CHECK(decision.room * decision.slots <= shape.most_memory);
    CHECK(decision.seconds < 10e-3); // where single operations take 130 ms
    shape.sieve = sparse;
    CHECK(decide(shape, wire, wire, processor(1e-9), {}).strategy != Strategy::sieved);
    shape.sieve = dense;
    for (const std::uint64_t memory : {4096U, 100'000U}) {
        shape.most_memory = memory;
        const Decision small = decide(shape, wire, wire, processor(1e-9), {.strategy = Strategy::sieved});
        CHECK(small.strategy == Strategy::sieved);
        CHECK(small.room * small.slots <= memory);
    }
}

TEST_CASE("the ranges of a sieve take in what lies in them or shortly after") {
    SievedRange range{ByteBlock{100, 8}};
    CHECK(range.extend({108, 8}, 0));
    CHECK_FALSE(range.extend({126, 8}, 9));
    CHECK(range.extend({126, 8}, 10));
    CHECK(range.extend({100, 4}, 10)); // once more
    CHECK_FALSE(range.extend({96, 8}, 10));
    CHECK(range.begin == 100);
    CHECK(range.bytes() == 34);
}

TEST_CASE("many operations must be worth it") {
    // An operation a block costs a little less here than packing, by the model, and then clearly less.
    const TransferShape shape = column(Direction::put, Path::rma, 4096, 512);
    const TransferModel wire = network(1e-9, 1e-7, 0.5);
    const double per_block = predict_per_block(shape, wire);
    const auto packed = [&](double copy) {
        return predict_packed(shape, {.first = 4096, .growth = 1, .largest = 4096}, 1, wire, processor(copy));
    };
    const auto chosen = [&](double copy) { return decide(shape, wire, wire, processor(copy), {}).strategy; };
    double copy = 1e-12;
    while (packed(copy) < 1.07 * per_block) copy *= 1.05;
    REQUIRE(packed(copy) < 1.14 * per_block);
    CHECK(chosen(copy) != Strategy::per_block);
    while (packed(copy) < 2 * per_block) copy *= 1.05;
    CHECK(chosen(copy) == Strategy::per_block);
}

TEST_CASE("memory that is mapped here is copied at once, and one block needs no buffer") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    CHECK(decide(column(Direction::put, Path::direct, 1 << 20, 8), wire, wire, processor(1e-9), {}).strategy ==
          Strategy::direct_copy);
    CHECK(decide(column(Direction::put, Path::self, 1 << 20, 8), wire, wire, processor(1e-9), {}).strategy ==
          Strategy::direct_copy);
    CHECK(decide(column(Direction::put, Path::rma, 1 << 20, 1 << 20), wire, wire, processor(1e-9), {}).strategy ==
          Strategy::per_block);
}

TEST_CASE("what is forced is taken, with the given chunks, within the memory") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    TransferShape shape = column(Direction::put, Path::rma, 1 << 20, 8);
    for (const Strategy strategy :
         {Strategy::per_block, Strategy::full_pack, Strategy::fixed_pipeline, Strategy::superpipeline}) {
        const Decision decision = decide(shape, wire, wire, processor(1e-9), {.strategy = strategy});
        CHECK(decision.strategy == strategy);
        CHECK(decision.chunks.first > 0);
        CHECK(decision.seconds > 0);
    }
    const Decision given =
        decide(shape, wire, wire, processor(1e-9),
               {.strategy = Strategy::superpipeline, .first_chunk = 1000, .growth = 1.5, .largest_chunk = 9000});
    CHECK(given.chunks.first == 1000);
    CHECK(given.chunks.growth == 1.5);
    CHECK(given.chunks.largest == 9000);
    shape.most_memory = 4096;
    for (const Strategy strategy : {Strategy::full_pack, Strategy::fixed_pipeline, Strategy::superpipeline}) {
        const Decision small = decide(shape, wire, wire, processor(1e-9), {.strategy = strategy});
        CHECK(small.chunks.largest * small.slots <= 4096);
    }
}

TEST_CASE("a largest chunk that is asked for is kept to, whatever the memory and however many chunks that are") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    TransferShape shape = column(Direction::put, Path::rma, 40 << 20, 8);
    for (const std::uint64_t memory : {100'000U, 50'000U, 1U << 20, 32U << 20})
        for (const std::uint64_t largest : {1000U, 5000U, 16384U})
            for (const Strategy strategy :
                 {Strategy::fixed_pipeline, Strategy::superpipeline, Strategy::owner_packed}) {
                shape.most_memory = memory;
                const Decision decision =
                    decide(shape, wire, wire, processor(1e-9), {.strategy = strategy, .largest_chunk = largest});
                CHECK(decision.strategy == strategy);
                CHECK(decision.chunks.first > 0);
                CHECK(decision.chunks.largest > 0);
                CHECK(decision.chunks.largest <= largest);
                CHECK(decision.chunks.first <= decision.chunks.largest);
            }
    // And where nothing is asked for.
    for (const std::uint64_t memory : {4096U, 5000U, 100'000U}) {
        shape.most_memory = memory;
        for (const Strategy strategy : {Strategy::fixed_pipeline, Strategy::superpipeline}) {
            const Decision decision = decide(shape, wire, wire, processor(1e-9), {.strategy = strategy});
            CHECK(decision.chunks.largest > 0);
            CHECK(decision.chunks.largest * decision.slots <= memory);
        }
    }
}

TEST_CASE("an owner-packed get asks for no more than a description of it can name") {
    const TransferModel wire = network(1e-9, 1e-6, 0.5);
    TransferShape shape = column(Direction::get, Path::rma, 1 << 20, 4);
    shape.remote = shape.local;
    shape.may_be_owner_packed = true;
    shape.table_share = 1;
    shape.table_limit = 4096;
    const Decision decision = decide(shape, wire, wire, processor(1e-9), {.strategy = Strategy::owner_packed});
    CHECK(decision.chunks.largest <= 4096);
    shape.direction = Direction::put; // whose table travels with the data
    CHECK(decide(shape, wire, wire, processor(1e-9), {.strategy = Strategy::owner_packed}).chunks.largest > 4096);
}
