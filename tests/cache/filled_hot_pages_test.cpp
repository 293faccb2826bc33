// Element writes in a window with copies beside the cache: to a page and to the copies, as long as what is known of
// them holds.
#include "cache/filled_hot_pages.hpp"

#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using lapwing::Counter;
using lapwing::Index;
using lapwing::detail::cache::FilledHotPages;
using lapwing::detail::cache::InlineWrites;
using lapwing::detail::window::HotPageCopies;
using lapwing::detail::window::HotPageElement;

constexpr std::uint64_t page_bytes = 256;
constexpr std::int64_t in_page = page_bytes / 8; ///< elements

/// A table with room for pages of one rank, whose elements are those of a row; and copies of the row.
struct Table {
    explicit Table(InlineWrites allowed = InlineWrites::with_copies) {
        hot.lay_out({{.bytes = 64 * page_bytes, .page_bytes = page_bytes}, page_bytes}, 16 * page_bytes);
        hot.allow_writes(allowed);
    }
    /// As the cache when a write comes to it.
    void put(std::int64_t i) {
        const auto page = static_cast<std::size_t>(i / in_page);
        hot.enter_writes(hot.page_of(0, offset(i)), pages.at(page).data(), std::span{dirty.at(page)});
    }
    [[nodiscard]] static std::uint64_t offset(std::int64_t i) { return static_cast<std::uint64_t>(8 * i); }
    [[nodiscard]] HotPageElement<1> element(std::int64_t i) const {
        return {.index = {i},
                .rank = 0,
                .offset = offset(i),
                .before = static_cast<std::uint64_t>(i),
                .after = static_cast<std::uint64_t>(4 * in_page - i)};
    }
    /// What is known if [first, last) has copies, or has none, and i is one of these.
    [[nodiscard]] HotPageCopies known(std::int64_t first, std::int64_t i, std::int64_t last, bool copied = true) {
        return {.before = offset(i - first),
                .after = offset(last - i),
                .copy = copied ? reinterpret_cast<std::byte*>(&copies.at(static_cast<std::size_t>(i))) : nullptr,
                .version = &version,
                .known_at = version};
    }
    [[nodiscard]] std::uint64_t in_page_of(std::int64_t i) const {
        std::uint64_t value = 0;
        std::memcpy(&value, pages.at(static_cast<std::size_t>(i / in_page)).data() + 8 * (i % in_page), 8);
        return value;
    }
    [[nodiscard]] bool is_dirty(std::int64_t i) const {
        const std::uint64_t bit = 8 * static_cast<std::uint64_t>(i % in_page);
        return (dirty.at(static_cast<std::size_t>(i / in_page)).at(bit / 64) >> bit % 64 & 0xFFU) == 0xFFU;
    }
    bool write(std::int64_t i, std::uint64_t value) { return hot.write_near(Index<1>{i}, value); }

    std::atomic<std::uint64_t> epoch{0};
    FilledHotPages hot{epoch, true};
    std::array<std::array<std::byte, page_bytes>, 4> pages{};
    std::array<std::array<std::uint64_t, page_bytes / 64>, 4> dirty{};
    std::vector<std::uint64_t> copies = std::vector<std::uint64_t>(4 * in_page);
    std::atomic<std::uint64_t> version{7};
};

} // namespace

TEST_CASE("a write beside copies goes to the page and to the copy, as far as the row's copies are known") {
    Table table;
    table.put(40);
    CHECK_FALSE(table.hot.write(0, Table::offset(40), std::uint64_t{1})); // which would not go to the copy
    table.hot.enter_stretch<std::uint64_t>(table.element(40), table.known(35, 40, 60));
    for (std::int64_t i = 0; i < 4 * in_page; ++i) {
        const bool served = i >= 35 && i < 60;
        const auto value = static_cast<std::uint64_t>(100 + i);
        INFO("element " << i);
        REQUIRE(table.write(i, value) == served);
        CHECK(table.in_page_of(i) == (served ? value : 0));
        CHECK(table.is_dirty(i) == served);
        CHECK(table.copies[static_cast<std::size_t>(i)] == (served ? value : 0));
    }
    lapwing::detail::support::Statistics statistics;
    table.hot.collect_hits(statistics);
    CHECK(statistics.read()[Counter::prefetch_writes] == 25);
    CHECK(statistics.read()[Counter::cache_hits] == 25);
    // No further than the page.
    table.hot.enter_stretch<std::uint64_t>(table.element(40), table.known(0, 40, 4 * in_page));
    CHECK(table.write(in_page, 1));
    CHECK_FALSE(table.write(in_page - 1, 1));
    CHECK(table.write(2 * in_page - 1, 1));
    CHECK_FALSE(table.write(2 * in_page, 1));
}

TEST_CASE("where nothing has copies only the page is written") {
    Table table;
    table.put(3);
    table.hot.enter_stretch<std::uint64_t>(table.element(3), table.known(0, 3, 10, false));
    CHECK(table.write(9, 5));
    CHECK_FALSE(table.write(10, 5));
    CHECK(table.in_page_of(9) == 5);
    CHECK(table.copies == std::vector<std::uint64_t>(4 * in_page));
    lapwing::detail::support::Statistics statistics;
    table.hot.collect_hits(statistics);
    CHECK(statistics.read()[Counter::prefetch_writes] == 0);
}

TEST_CASE("elements of which only a part is known are not written there") {
    Table table;
    table.put(8);
    HotPageCopies copies = table.known(2, 8, 12);
    copies.before -= 4;
    copies.after -= 4;
    table.hot.enter_stretch<std::uint64_t>(table.element(8), copies);
    CHECK_FALSE(table.write(2, 1));
    CHECK(table.write(3, 1));
    CHECK(table.write(10, 1));
    CHECK_FALSE(table.write(11, 1));
    copies.after = 7; // the element itself
    Table other;
    other.put(8);
    other.hot.enter_stretch<std::uint64_t>(other.element(8), copies);
    CHECK_FALSE(other.write(8, 1));
    CHECK_FALSE(other.write(3, 1));
}

TEST_CASE("no copy is written when what was known of it holds no longer, or the page is left") {
    for (const int end : {0, 1, 2, 3, 4}) {
        INFO("end " << end);
        Table table;
        table.put(8);
        table.hot.enter_stretch<std::uint64_t>(table.element(8), table.known(0, 8, in_page));
        REQUIRE(table.write(8, 1));
        switch (end) {
        case 0: table.version.fetch_add(1); break;
        case 1: table.hot.leave_writes(table.hot.page_of(0, Table::offset(8))); break;
        case 2: table.hot.allow_writes(InlineWrites::all); break; // the copies are gone
        case 3: table.hot.allow_writes(InlineWrites::none); break;
        default: table.hot.lay_out({{.bytes = 64 * page_bytes, .page_bytes = page_bytes}, page_bytes}, 16 * page_bytes);
        }
        CHECK_FALSE(table.write(9, 2));
        CHECK_FALSE(table.write(8, 2));
        CHECK(table.copies[8] == 1);
        CHECK(table.copies[9] == 0);
    }
}

TEST_CASE("copies are asked for by loops along rows, near the last row, and seldom where they are ragged") {
    const auto asks = [](Table& table, std::int64_t i) {
        table.put(i);
        REQUIRE(table.hot.has_copies());
        return table.hot.wants_copies(0, Table::offset(i), i);
    };
    Table table;
    CHECK_FALSE(table.hot.has_copies());
    int first = 0;
    while (!asks(table, first)) ++first; // one after the other
    CHECK(first == 8);
    table.hot.enter_stretch<std::uint64_t>(table.element(first), table.known(0, first, 4 * in_page));
    CHECK(asks(table, in_page));           // after its end
    CHECK_FALSE(asks(table, 3 * in_page)); // further away
    // One element in two: nothing is gained.
    table.put(2 * in_page - 1);
    table.hot.enter_stretch<std::uint64_t>(table.element(2 * in_page - 1),
                                           table.known(2 * in_page - 1, 2 * in_page - 1, 2 * in_page));
    int asked = 0;
    for (std::int64_t i = in_page; i < 2 * in_page; ++i) asked += asks(table, i) ? 1 : 0;
    CHECK(asked == 0);
    CHECK(asks(table, in_page));
}
