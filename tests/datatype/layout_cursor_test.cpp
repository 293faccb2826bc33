#include "datatype/random_layout.hpp"

#include <lapwing/error.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"

#include <atomic>

using lapwing::BlockPair;
using lapwing::BlockRun;
using lapwing::ByteBlock;
using lapwing::Layout;
using lapwing::LayoutCursor;
using lapwing::LayoutZip;
using lapwing::PairRun;
using test::Flat;
using test::RandomLayouts;
using test::Sample;

namespace {
std::atomic<std::uint64_t> allocations{0};
} // namespace

void test::on_allocation(std::size_t) { allocations.fetch_add(1, std::memory_order_relaxed); }

namespace {

void add(Flat& flat, const ByteBlock& block) {
    for (std::uint64_t i = 0; i < block.bytes; ++i) flat.push_back(block.offset + static_cast<std::int64_t>(i));
}

void add(Flat& flat, const BlockRun& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) add(flat, run[i]);
}

Flat part(const Flat& flat, std::uint64_t begin, std::uint64_t bytes) {
    return Flat(flat.begin() + static_cast<std::ptrdiff_t>(begin),
                flat.begin() + static_cast<std::ptrdiff_t>(begin + bytes));
}

Sample any_sample(RandomLayouts& random) {
    Sample sample = random.make(static_cast<int>(random.number(0, 4)));
    return random.number(0, 2) == 0 ? random.slice(sample) : sample;
}

} // namespace

TEST_CASE("a cursor with random limits, skips and seeks sees the bytes in order") {
    RandomLayouts random{11};
    for (int round = 0; round < 3000; ++round) {
        const Sample sample = any_sample(random);
        LayoutCursor cursor{sample.layout};
        std::uint64_t position = 0;
        for (int step = 0; step < 20; ++step) {
            const std::uint64_t limit = random.size(0, 12);
            Flat seen;
            switch (random.number(0, 4)) {
            case 0:
                position = random.size(0, sample.flat.size());
                cursor.seek(position);
                break;
            case 1: {
                const std::uint64_t bytes = random.size(0, sample.flat.size() - position);
                cursor.skip(bytes);
                position += bytes;
                break;
            }
            case 2: add(seen, cursor.next(limit)); break;
            case 3: {
                const std::uint64_t bytes = random.number(0, 1) == 0 ? limit : lapwing::no_limit;
                const BlockRun run = cursor.next_run(bytes);
                REQUIRE(run.bytes() <= bytes);
                REQUIRE((run.count > 0) == (position < sample.flat.size() && bytes > 0));
                add(seen, run);
                REQUIRE(run.bytes() == seen.size());
                break;
            }
            default: add(seen, cursor.next()); break;
            }
            REQUIRE(seen == part(sample.flat, position, seen.size()));
            position += seen.size();
            REQUIRE(cursor.position() == position);
            REQUIRE(cursor.remaining() == sample.flat.size() - position);
            REQUIRE(cursor.done() == (position == sample.flat.size()));
        }
    }
}

TEST_CASE("blocks of a cursor are maximal up to the limit") {
    RandomLayouts random{12};
    for (int round = 0; round < 2000; ++round) {
        const Sample sample = any_sample(random);
        std::uint64_t position = 0;
        for (LayoutCursor cursor{sample.layout}; !cursor.done();) {
            const std::uint64_t limit = random.number(0, 1) == 0 ? random.size(1, 9) : lapwing::no_limit;
            const ByteBlock block = cursor.next(limit);
            position += block.bytes;
            if (block.bytes < limit && position < sample.flat.size())
                REQUIRE(sample.flat[position] != sample.flat[position - 1] + 1);
        }
        REQUIRE(position == sample.flat.size());
    }
}

TEST_CASE("runs take a whole level in one call") {
    const Layout column = Layout::strided(1000, 12, 24, 8);
    LayoutCursor cursor{column};
    const BlockRun all = cursor.next_run();
    CHECK(all.count == 1000);
    CHECK((all.offset == 8 && all.block_bytes == 12 && all.stride == 24 && all.offsets == nullptr));
    CHECK(cursor.done());
    // A chunk of 100 bytes: 8 blocks and a part of the ninth; the next begins with its rest.
    cursor.seek(0);
    CHECK(cursor.next_run(100).count == 8);
    CHECK(cursor.next_run(4).bytes() == 4);
    const BlockRun rest = cursor.next_run();
    CHECK((rest.count == 1 && rest.block_bytes == 8 && rest.offset == 8 + 8 * 24 + 4));
    CHECK(cursor.next_run().count == 991);

    const Layout nodes = Layout::indexed({0, 40, 8, 20}, 4);
    const BlockRun indexed = LayoutCursor{nodes}.peek_run(15);
    CHECK((indexed.count == 3 && indexed.offsets[1] == 40 && indexed.starts == nullptr));
    const std::vector<ByteBlock> blocks{{0, 4}, {10, 2}, {30, 7}};
    const Layout list = Layout::list(blocks);
    const BlockRun listed = LayoutCursor{list}.peek_run(12);
    CHECK((listed.count == 2 && listed.bytes() == 6 && listed[1] == ByteBlock{10, 2}));
    CHECK(LayoutCursor{list}.peek_run().bytes() == 13);
}

TEST_CASE("a list of blocks of which some were adjacent is one run of those blocks") {
    const Layout nodes = Layout::indexed({0, 40, 44, 60, 20, 80, 90, 70}, 4);
    CHECK(nodes.block_count() == 7);
    const BlockRun all = LayoutCursor{nodes}.peek_run();
    CHECK((all.count == 8 && all.block_bytes == 4 && all.starts == nullptr));
    CHECK((all[2] == ByteBlock{44, 4} && all[4] == ByteBlock{20, 4}));
    // From within a block, up to a limit.
    LayoutCursor cursor{nodes};
    cursor.seek(8);
    const BlockRun some = cursor.next_run(11);
    CHECK((some.count == 2 && some[0] == ByteBlock{44, 4} && some[1] == ByteBlock{60, 4}));
    CHECK(cursor.position() == 16);
    cursor.seek(6);
    CHECK(cursor.next() == ByteBlock{42, 6});
    CHECK(nodes.slice(4, 20).block_count() == 3);
    const Layout slice = nodes.slice(6, 18);
    cursor = LayoutCursor{slice};
    CHECK(cursor.next_run()[0] == ByteBlock{42, 6});
    CHECK(cursor.next_run()[0] == ByteBlock{60, 4});
    CHECK(cursor.next_run()[0] == ByteBlock{20, 2});
    CHECK(cursor.done());
    // The units of each repetition are its own.
    const Layout twice = nodes.repeat(2, 100);
    cursor = LayoutCursor{twice};
    CHECK(cursor.next_run().count == 8);
    CHECK(cursor.next_run()[1] == ByteBlock{140, 4});
    // Not of so few blocks, and not where most blocks are longer than what all have in common.
    const Layout few = Layout::indexed({0, 40, 44, 60, 20}, 4);
    CHECK(LayoutCursor{few}.peek_run().starts != nullptr);
    const Layout pairs = Layout::indexed({0, 4, 10, 14, 20, 24, 30, 34, 40, 44, 51}, 4);
    CHECK((pairs.block_count() == 6 && LayoutCursor{pairs}.peek_run().starts != nullptr));
}

TEST_CASE("a zip of two layouts pairs their bytes") {
    RandomLayouts random{13};
    int long_runs = 0;
    for (int round = 0; round < 3000; ++round) {
        Sample a = any_sample(random);
        Sample b = any_sample(random);
        const std::uint64_t bytes = std::min(a.flat.size(), b.flat.size());
        a = {a.layout.slice(0, bytes), part(a.flat, 0, bytes)};
        b = {b.layout.slice(0, bytes), part(b.flat, 0, bytes)};
        LayoutZip zip{a.layout, b.layout};
        std::uint64_t position = 0;
        const bool runs = random.number(0, 1) == 0;
        while (!zip.done()) {
            const std::uint64_t limit = random.number(0, 1) == 0 ? random.size(1, 9) : lapwing::no_limit;
            Flat source;
            Flat target;
            if (runs) {
                const PairRun run = zip.next_run(limit);
                REQUIRE(run.source.count == run.target.count);
                REQUIRE(run.source.block_bytes == run.target.block_bytes);
                REQUIRE((run.source.starts == nullptr && run.target.starts == nullptr));
                add(source, run.source);
                add(target, run.target);
                long_runs += run.source.count > 1 ? 1 : 0;
            } else {
                const BlockPair pair = zip.next(limit);
                add(source, ByteBlock{pair.source, pair.bytes});
                add(target, ByteBlock{pair.target, pair.bytes});
                const std::uint64_t end = position + pair.bytes;
                if (pair.bytes < limit && end < bytes)
                    REQUIRE((a.flat[end] != a.flat[end - 1] + 1 || b.flat[end] != b.flat[end - 1] + 1));
            }
            REQUIRE(!source.empty());
            REQUIRE(source.size() <= limit);
            REQUIRE(source == part(a.flat, position, source.size()));
            REQUIRE(target == part(b.flat, position, target.size()));
            position += source.size();
            REQUIRE(zip.position() == position);
            if (random.number(0, 15) == 0) {
                position = random.size(position, bytes);
                zip.seek(position);
            }
        }
        REQUIRE(position == bytes);
    }
    REQUIRE(long_runs > 100);
    const Layout eight = Layout::contiguous(8);
    const Layout nine = Layout::contiguous(9);
    CHECK_THROWS_WITH((LayoutZip{eight, nine}), Catch::Contains("8 bytes at the source, 9 at the target"));
}

TEST_CASE("strided bytes to contiguous ones are one run") {
    const Layout source = Layout::strided(1000, 12, 24);
    const Layout target = Layout::contiguous(12000, 5);
    LayoutZip zip{source, target};
    const PairRun run = zip.next_run();
    CHECK((run.source.count == 1000 && run.source.stride == 24));
    CHECK((run.target.count == 1000 && run.target.stride == 12 && run.target.offset == 5));
    CHECK(zip.done());
    const Layout nodes = Layout::indexed({0, 40, 8, 20}, 4);
    const Layout packed = Layout::contiguous(16);
    LayoutZip scatter{packed, nodes};
    const PairRun indexed = scatter.next_run();
    CHECK((indexed.target.count == 4 && indexed.target.offsets != nullptr && indexed.source.stride == 4));
}

TEST_CASE("iterating, slicing and asking allocate nothing") {
    if (!test::sees_allocations) return;
    const Layout matrix = Layout::strided(std::vector<Layout::Dimension>{{50, 10000}, {20, 100}}, 12);
    const Layout nodes = Layout::indexed({0, 40, 8, 20, 90}, 4).repeat(600, 200);
    const Layout structures = Layout::list(std::vector<ByteBlock>{{0, 1}, {4, 7}, {16, 4}}).repeat(1000, 20);
    const std::uint64_t before = allocations.load();
    std::uint64_t sum = 0;
    for (const Layout* layout : {&matrix, &nodes, &structures}) {
        for (LayoutCursor cursor{*layout}; !cursor.done();) sum += cursor.next(7).bytes;
        for (LayoutCursor cursor{*layout}; !cursor.done();) sum += cursor.next_run(1000).bytes();
        LayoutCursor seeking{*layout};
        seeking.seek(layout->bytes() / 2);
        for (LayoutZip zip{matrix, *layout}; !zip.done();) sum += zip.next(100).bytes;
        for (LayoutZip zip{*layout, matrix}; !zip.done();) sum += zip.next_run().source.bytes();
        const Layout copy = *layout;
        const Layout slice = copy.slice(1001, 9003);
        sum += slice.block_count() + slice.span() + slice.repeat(1, 5).bytes();
        sum += layout->density() < 1 && !layout->is_contiguous() && layout->is_ascending() ? 1 : 0;
        sum += layout->slice(0, 12).shift(5).bytes() + (copy == *layout ? 1 : 0);
    }
    const std::uint64_t after = allocations.load();
    CHECK(after == before);
    CHECK(sum > 0);
    const Layout list = Layout::indexed({0, 40, 8}, 4);
    CHECK(allocations.load() > after);
}
