// The page table of a cache: what is entered is found at its place, until it leaves or an epoch begins; writes in a
// window with copies go to a page and to its copy, as long as what is known of that holds; memory is bounded.
#include "cache/filled_page_table.hpp"

#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <sys/mman.h>

namespace {

using lapwing::Counter;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::detail::cache::FilledPageTable;
using lapwing::detail::cache::InlineWrites;
using lapwing::detail::cache::PageCacheConfiguration;
using lapwing::detail::cache::PageEntries;

constexpr std::uint64_t page_bytes = 256;
constexpr std::int64_t in_page = page_bytes / 8; ///< elements
constexpr int ranks = 3;

[[nodiscard]] PageCacheConfiguration configuration_of(std::uint64_t largest_part = 16 * page_bytes) {
    return {.bytes = 64 * page_bytes, .page_bytes = page_bytes, .ranks = ranks, .largest_part = largest_part};
}

/// Four pages of each of some ranks, and copies of them.
struct Table {
    explicit Table(InlineWrites allowed = InlineWrites::all) {
        table.lay_out({configuration_of(), page_bytes});
        table.allow_writes(allowed);
    }
    [[nodiscard]] static Offset offset(std::int64_t i) { return Offset{static_cast<std::uint64_t>(8 * i)}; }
    [[nodiscard]] std::uint64_t place(Rank rank, std::int64_t i) const { return table.place_of(rank, offset(i)); }
    [[nodiscard]] std::uint64_t page_of(Rank rank, std::int64_t i) const { return table.page_of(rank, offset(i)); }
    [[nodiscard]] auto& page(Rank rank, std::int64_t i) {
        return pages.at(static_cast<std::size_t>(4 * rank.value + i / in_page));
    }
    /// As the cache when a write comes to it.
    void put(Rank rank, std::int64_t i) {
        const auto number = static_cast<std::size_t>(4 * rank.value + i / in_page);
        table.enter_writes(page_of(rank, i), pages.at(number).data(), std::span{dirty.at(number)});
    }
    /// As the cache when it has fetched these lines, one bit each.
    void fetch(Rank rank, std::int64_t i, std::uint64_t lines, std::uint64_t epoch = 0) {
        table.enter_reads(page_of(rank, i), epoch, page(rank, i).data(), std::span{&lines, 1});
    }
    /// What is known around element i of a page: that elements [first, last) of it have copies, or that they have none.
    void know(Rank rank, std::int64_t i, std::int64_t first, std::int64_t last, bool copied = true) {
        table.enter_copies(place(rank, i), {.before = offset(i - first).bytes,
                                            .after = offset(last - i).bytes,
                                            .copy = copied ? reinterpret_cast<std::byte*>(&copy(rank, i)) : nullptr,
                                            .version = &version,
                                            .known_at = version});
    }
    [[nodiscard]] std::uint64_t& copy(Rank rank, std::int64_t i) {
        return copies.at(static_cast<std::size_t>(4 * rank.value * in_page + i));
    }
    [[nodiscard]] std::uint64_t value(Rank rank, std::int64_t i) {
        std::uint64_t value = 0;
        std::memcpy(&value, page(rank, i).data() + 8 * (i % in_page), 8);
        return value;
    }
    /// The bits of the bytes of an element.
    [[nodiscard]] unsigned dirty_bits(Rank rank, std::int64_t i) const {
        const auto& mask = dirty.at(static_cast<std::size_t>(4 * rank.value + i / in_page));
        const std::uint64_t bit = 8 * static_cast<std::uint64_t>(i % in_page);
        return mask.at(bit / 64) >> bit % 64 & 0xFFU;
    }
    bool write(Rank rank, std::int64_t i, std::uint64_t value) { return table.write(place(rank, i), value); }
    [[nodiscard]] bool reads(Rank rank, std::int64_t i) { return table.find<std::uint64_t>(place(rank, i)) != nullptr; }
    [[nodiscard]] auto counts() {
        lapwing::detail::support::Statistics statistics;
        table.collect_hits(statistics);
        return statistics.read();
    }

    FilledPageTable table{configuration_of()};
    std::array<std::array<std::byte, page_bytes>, std::size_t{4} * ranks> pages{};
    std::array<std::array<std::uint64_t, page_bytes / 64>, std::size_t{4} * ranks> dirty{};
    std::vector<std::uint64_t> copies = std::vector<std::uint64_t>(4 * in_page * ranks);
    std::atomic<std::uint64_t> version{7};
};

} // namespace

TEST_CASE("of a page the valid lines are found, at their places, and nothing of other pages or ranks") {
    Table table;
    for (int r = 0; r < ranks; ++r)
        for (std::int64_t i = 0; i < 4 * in_page; ++i) {
            const auto value = static_cast<std::uint64_t>(1000 * r + i);
            std::memcpy(table.page(r, i).data() + 8 * (i % in_page), &value, 8);
        }
    table.fetch(1, in_page, 0b1010);
    table.fetch(2, 0, 0b0001);
    for (int r = 0; r < ranks; ++r)
        for (std::int64_t i = 0; i < 4 * in_page; ++i) {
            const std::int64_t line = i / 8;
            const bool here = (r == 1 && (line == 5 || line == 7)) || (r == 2 && line == 0);
            const auto* const found = table.table.find<std::uint64_t>(table.place(r, i));
            const auto looked = table.table.look(table.place(r, i));
            INFO("rank " << r << ", element " << i);
            REQUIRE((found != nullptr) == here);
            CHECK(looked.here == here);
            if (here) CHECK(*found == static_cast<std::uint64_t>(1000 * r + i));
            if (here) CHECK(looked.value == reinterpret_cast<const std::byte*>(found));
        }
    CHECK(table.counts()[Counter::cache_hits] == 24);
    table.table.leave_reads(table.page_of(1, in_page));
    CHECK_FALSE(table.reads(1, in_page + 8));
    CHECK(table.reads(2, 0));
}

TEST_CASE("values of all sizes are read and written, with their bytes marked and no others") {
    Table table;
    table.fetch(1, 0, 0b1111);
    table.put(1, 0);
    const auto check = [&]<class T>(T value, std::int64_t i, unsigned first, unsigned second) {
        const std::uint64_t place = table.place(1, i);
        REQUIRE(table.table.write(place, value));
        const T* const found = table.table.find<T>(place);
        REQUIRE(found != nullptr);
        CHECK(*found == value);
        CHECK(table.dirty_bits(1, i) == first);
        CHECK(table.dirty_bits(1, i + 1) == second);
    };
    check(std::uint8_t{7}, 0, 0x01, 0);
    check(std::int16_t{-7}, 2, 0x03, 0);
    check(7.5F, 4, 0x0F, 0);
    check(7.25, 6, 0xFF, 0);
    check(std::complex<double>{1.5, -2.5}, 8, 0xFF, 0xFF);
    // Beside others of the same eight bytes.
    REQUIRE(table.table.write(table.place(1, 0) + 2, std::int16_t{3}));
    CHECK(table.dirty_bits(1, 0) == 0x0D);
    CHECK(table.counts()[Counter::cache_hits] == 11);
}

TEST_CASE("an epoch forgets what was entered in earlier ones, and what comes late for it is not entered") {
    Table table;
    table.put(0, 0);
    table.fetch(0, 0, 0b1111, 3);
    CHECK(table.reads(0, 0));
    table.table.begin(3);
    CHECK(table.reads(0, 0));
    table.table.begin(4);
    CHECK_FALSE(table.reads(0, 0));
    CHECK(table.write(0, 0, 1)); // what is dirty stays so
    table.fetch(0, 0, 0b1111, 3);
    CHECK_FALSE(table.reads(0, 0));
    table.fetch(0, in_page, 0b1111, 5);
    CHECK(table.reads(0, in_page));
    CHECK(table.table.serves_reads(table.page_of(0, in_page), 5));
    CHECK_FALSE(table.table.serves_reads(table.page_of(0, in_page), 6));
    CHECK(table.table.take_reads(table.page_of(0, in_page)));
    CHECK_FALSE(table.reads(0, in_page));
}

TEST_CASE("memory that can be loaded is found like a page, to the end of its part") {
    Table table;
    std::vector<std::uint64_t> part(static_cast<std::size_t>(in_page) + 5, 9);
    const std::uint64_t bytes = part.size() * 8;
    const auto* const memory = reinterpret_cast<const std::byte*>(part.data());
    CHECK(table.table.enter_memory(2, Table::offset(3), memory, bytes));
    CHECK(table.reads(2, 0));
    CHECK_FALSE(table.reads(2, in_page));
    CHECK(table.table.enter_memory(2, Table::offset(in_page + 4), memory, bytes));
    for (std::int64_t i = 0; i < in_page + 5; ++i)
        CHECK(table.table.find<std::uint64_t>(table.place(2, i)) == &part.at(static_cast<std::size_t>(i)));
    CHECK_FALSE(table.reads(2, in_page + 8)); // of the next line
    table.table.begin(1);
    CHECK_FALSE(table.reads(2, 0));
}

TEST_CASE("a write beside copies goes to the page and to its copy, as far as it is known where the copies are") {
    Table table{InlineWrites::with_copies};
    const std::uint64_t page = table.page_of(1, in_page);
    CHECK_FALSE(table.table.wants_copies(page));
    table.put(1, in_page);
    CHECK(table.table.wants_copies(page));
    CHECK_FALSE(table.write(1, in_page, 1)); // which would not go to the copy
    table.know(1, in_page, in_page, 2 * in_page);
    CHECK_FALSE(table.table.wants_copies(page));
    for (std::int64_t i = 0; i < 4 * in_page; ++i) {
        const bool served = i / in_page == 1;
        INFO("element " << i);
        REQUIRE(table.write(1, i, static_cast<std::uint64_t>(100 + i)) == served);
        CHECK(table.value(1, i) == (served ? static_cast<std::uint64_t>(100 + i) : 0));
        CHECK(table.dirty_bits(1, i) == (served ? 0xFFU : 0));
        CHECK(table.copy(1, i) == (served ? static_cast<std::uint64_t>(100 + i) : 0));
    }
    CHECK(table.counts()[Counter::prefetch_writes] == in_page);
    // Of a page some elements have copies; others none, which is found out when they are written.
    table.put(1, 7);
    table.know(1, 7, 5, 23);
    for (std::int64_t i = 0; i < in_page; ++i) {
        INFO("element " << i);
        CHECK(table.write(1, i, 5) == (i >= 6 && i < 22)); // whole sixteen bytes
        CHECK(table.copy(1, i) == (i >= 6 && i < 22 ? 5 : 0));
    }
    table.put(1, 23);
    CHECK(table.table.wants_copies(table.page_of(1, 0)));
    table.know(1, 24, 23, in_page, false);
    for (std::int64_t i = 0; i < in_page; ++i) CHECK_FALSE(table.write(1, i, 6)); // too few to be worth it
    // Nor is it asked for again.
    table.put(1, 0);
    CHECK_FALSE(table.table.wants_copies(table.page_of(1, 0)));
    // A page without any.
    table.put(2, 0);
    table.know(2, 0, 0, in_page, false);
    CHECK(table.write(2, in_page - 1, 5));
    CHECK(table.copy(2, in_page - 1) == 0);
}

TEST_CASE("no copy is written when what was known of it holds no longer, or the page is left") {
    for (const int end : {0, 1, 2, 3, 4}) {
        INFO("end " << end);
        Table table{InlineWrites::with_copies};
        table.put(0, 8);
        table.know(0, 8, 0, in_page);
        REQUIRE(table.write(0, 8, 1));
        switch (end) {
        case 0: table.version.fetch_add(1); break;
        case 1: table.table.leave_writes(table.page_of(0, 8)); break;
        case 2: table.table.allow_writes(InlineWrites::all); break; // the copies are gone
        case 3: table.table.allow_writes(InlineWrites::none); break;
        default: table.table.lay_out({configuration_of(), page_bytes});
        }
        CHECK_FALSE(table.write(0, 9, 2));
        CHECK_FALSE(table.write(0, 8, 2));
        CHECK(table.copy(0, 8) == 1);
        CHECK(table.copy(0, 9) == 0);
        // It is found out again.
        table.put(0, 8);
        CHECK(table.table.wants_copies(table.page_of(0, 8)) == (end == 0 || end == 1 || end == 4));
    }
}

TEST_CASE("without the address space for all parts nothing is found, and nothing fails") {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t part : {std::uint64_t{1} << 55, std::uint64_t{1} << 62, most / 2}) {
        FilledPageTable table{configuration_of(part)};
        table.lay_out({configuration_of(part), page_bytes});
        std::array<std::byte, page_bytes> page{};
        std::array<std::uint64_t, page_bytes / 64> dirty{};
        const std::uint64_t lines = 0b1111;
        const Offset last{part / page_bytes * page_bytes};
        // Each page has a number of its own all the same.
        std::set<std::uint64_t> numbers;
        for (int rank = 0; rank < ranks; ++rank)
            for (const Offset offset : {Offset{0}, Offset{page_bytes}, last})
                numbers.insert(table.page_of(rank, offset));
        CHECK(numbers.size() == 3 * ranks);
        CHECK_FALSE(table.has_room());
        for (const Offset offset : {Offset{0}, last}) {
            table.enter_reads(table.page_of(ranks - 1, offset), 0, page.data(), std::span{&lines, 1});
            table.enter_writes(table.page_of(ranks - 1, offset), page.data(), dirty);
            CHECK(table.find<std::uint64_t>(table.place_of(ranks - 1, offset)) == nullptr);
            CHECK_FALSE(table.write(table.place_of(ranks - 1, offset), std::uint64_t{1}));
        }
        CHECK_FALSE(table.enter_memory(0, Offset{0}, page.data(), page_bytes));
        CHECK(table.memory_bytes() == 0);
    }
}

TEST_CASE("reads of memory are no hits of the cache's pages") {
    Table table;
    const auto read = [&](Rank rank, std::int64_t i, int times) {
        for (int k = 0; k < times; ++k) REQUIRE(table.table.find<std::uint64_t>(table.place(rank, i)) != nullptr);
    };
    const std::uint64_t before = table.table.read_hits();
    table.fetch(1, 0, 0b1111);
    table.fetch(1, 0, 0b1111); // more of the same page
    read(1, 0, 100);
    CHECK(table.table.read_hits() == before + 100);
    for (const std::int64_t i : {std::int64_t{0}, in_page, 2 * in_page})
        REQUIRE(table.table.enter_memory(0, Table::offset(i), table.page(0, 0).data(), 4 * page_bytes));
    read(0, 0, 300);
    read(1, 0, 100);
    CHECK(table.table.read_hits() == before + 200); // a quarter of the pages, a quarter of the reads
    table.table.begin(1);
    table.fetch(1, 0, 0b1111, 1);
    read(1, 0, 10);
    CHECK(table.table.read_hits() == before + 210);
}

TEST_CASE("each thread's misses are told apart") {
    Table one;
    Table other;
    bool far = false;
    for (std::uint64_t k = 0; k < 1000; ++k) {
        far = far || one.table.note_miss(64 * k);
        far = far || other.table.note_miss(1'000'000 + 64 * k);
    }
    CHECK_FALSE(far);
    for (std::uint64_t k = 0; k < 100; ++k) far = one.table.note_miss(k * k * 100'000);
    CHECK(far);
    CHECK_FALSE(other.table.note_miss(2'000'000));
    CHECK_FALSE(lapwing::detail::window::no_page_tables.note_miss(0));
}

TEST_CASE("a table takes no more memory than it says") {
    PageCacheConfiguration configuration = configuration_of(std::uint64_t{1} << 30); // of an array of 1 TiB
    configuration.ranks = 1000;
    FilledPageTable table{configuration};
    const lapwing::detail::cache::PageCacheLayout layout{configuration, page_bytes};
    table.lay_out(layout);
    REQUIRE(table.has_room());
    std::array<std::byte, page_bytes> page{};
    std::array<std::uint64_t, page_bytes / 64> dirty{};
    const std::uint64_t lines = 0b1111;
    for (std::uint64_t k = 0; k < 10'000; ++k) {
        const std::uint64_t number =
            table.page_of(static_cast<int>(k % 1000), Offset{k * 7'777'777 % configuration.largest_part});
        table.enter_reads(number, 0, page.data(), std::span{&lines, 1});
        table.enter_writes(number, page.data(), dirty);
        CHECK(table.memory_bytes() <= FilledPageTable::memory_for(layout));
    }
    CHECK(table.memory_bytes() > FilledPageTable::memory_for(layout) / 2);
}

TEST_CASE("entries take memory where they are written, up to a limit, after which others get their turn") {
    struct Entry {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
    };
    constexpr std::uint64_t in_block = PageEntries<Entry>::block_bytes / sizeof(Entry);
    constexpr std::size_t most_blocks = 8;
    PageEntries<Entry> entries{std::uint64_t{1} << 32, most_blocks}; // 64 GiB
    CHECK(entries.memory_bytes() <= 16 * 8);
    const auto enter = [&](std::uint64_t block) {
        Entry* const entry = entries.enter(block * 1000 * in_block);
        if (entry != nullptr) entry->a = block + 1;
        return entry != nullptr;
    };
    for (std::uint64_t block = 0; block < most_blocks; ++block) REQUIRE(enter(block));
    CHECK_FALSE(enter(most_blocks));
    CHECK(entries.memory_bytes() <= entries.memory_for(most_blocks));
    CHECK(entries[1000 * in_block].a == 2);
    entries.leave(1000 * in_block);
    CHECK(entries[1000 * in_block].a == 0);
    entries.leave(77'000 * in_block); // never entered
    CHECK(entries[77'000 * in_block].a == 0);
    // Many that find no room: they get it.
    int refused = 0;
    while (!enter(most_blocks + 1)) ++refused;
    CHECK(refused > 100);
    CHECK(entries[0].a == 0);
    entries.clear();
    CHECK(entries[(most_blocks + 1) * 1000 * in_block].a == 0);
    // The same page again and again takes no more memory.
    for (int k = 0; k < 100'000; ++k) {
        REQUIRE(entries.enter(5) != nullptr);
        entries.leave(5);
    }
    CHECK(entries.memory_bytes() <= entries.memory_for(most_blocks));
    // More pages than are listed.
    for (std::uint64_t page = 0; page < 2 * in_block; ++page) {
        Entry* const entry = entries.enter(page);
        REQUIRE(entry != nullptr);
        entry->b = page + 1;
    }
    entries.clear();
    for (std::uint64_t page = 0; page < 2 * in_block; ++page) CHECK(entries[page].b == 0);
}

TEST_CASE("memory that cannot be given back is zeroed all the same") {
    struct Entry {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
    };
    constexpr std::uint64_t in_block = PageEntries<Entry>::block_bytes / sizeof(Entry);
    PageEntries<Entry> entries{std::uint64_t{1} << 20, 2};
    if (mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) {
        WARN("this process may not lock memory: " << std::strerror(errno));
        return;
    }
    for (const std::uint64_t page : {std::uint64_t{0}, in_block}) {
        Entry* const entry = entries.enter(page);
        REQUIRE(entry != nullptr);
        entry->a = 1;
    }
    CHECK(entries.enter(2 * in_block) == nullptr);
    entries.clear();
    munlockall();
    CHECK(entries[0].a == 0);
    CHECK(entries[in_block].a == 0);
}
