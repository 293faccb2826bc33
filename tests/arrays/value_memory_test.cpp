// The memory that pieces of an assignment use one after another: what is given back is used again, within a bound.
#include "arrays/slices/value_memory.hpp"

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using lapwing::detail::pipeline::Serving;
using lapwing::detail::slices::ValueMemory;

namespace {

constexpr std::uint64_t mib = 1 << 20;

} // namespace

TEST_CASE("memory that is given back serves the next piece of about its size") {
    ValueMemory memory;
    ValueMemory::Block first = memory.take(mib);
    const std::byte* const place = first.bytes.get();
    CHECK(first.size == mib);
    memory.give_back(std::move(first));
    // Not a piece that would waste more than half of it, nor a larger one.
    const ValueMemory::Block small = memory.take(mib / 2 - 1);
    const ValueMemory::Block large = memory.take(mib + 1);
    CHECK(small.bytes.get() != place);
    CHECK(large.bytes.get() != place);
    const ValueMemory::Block again = memory.take(mib / 2);
    CHECK(again.bytes.get() == place);
    CHECK(again.size == mib);
}

TEST_CASE("no more memory is kept than pieces need, and the latest of it") {
    ValueMemory memory;
    const std::uint64_t most = ValueMemory::bytes_under_way(mib, Serving::by_thread);
    std::vector<ValueMemory::Block> blocks;
    for (std::uint64_t bytes = 0; bytes < most + 3 * mib; bytes += mib) blocks.push_back(memory.take(mib));
    std::vector<const std::byte*> places;
    for (ValueMemory::Block& block : blocks) {
        places.push_back(block.bytes.get());
        memory.give_back(std::move(block));
    }
    memory.give_back(memory.take(most + 1)); // larger than all that is kept
    memory.give_back({});                    // nothing
    // The first three were freed.
    for (std::size_t k = 3; k < places.size(); ++k) CHECK(memory.take(mib).bytes.get() == places[k]);
}

TEST_CASE("a piece grows with the number of ranks, and few are under way where all ranks wait") {
    CHECK(ValueMemory::piece_bytes(1) == mib);
    CHECK(ValueMemory::piece_bytes(32) == mib);
    CHECK(ValueMemory::piece_bytes(64) == 2 * mib);
    CHECK(ValueMemory::piece_bytes(100'000) == 4 * mib);
    CHECK(ValueMemory::bytes_under_way(mib, Serving::in_call) == 4 * mib);
    CHECK(ValueMemory::bytes_under_way(mib, Serving::by_thread) == 16 * mib);
}
