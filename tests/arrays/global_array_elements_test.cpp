// Elements of global arrays: read, written, assigned and changed atomically wherever they are.
#include "tests/arrays/array_test.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numeric>

using namespace lapwing;

namespace {

/// The ranks take turns to write the elements, so that every rank writes to every other.
template <class T, std::size_t N>
void write_and_read() {
    Runtime runtime;
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    test::for_every_maker<T, N>(runtime.size(), [&](const test::Maker<T, N>& maker) {
        const Extents<N> extents = test::odd_extents<N>();
        GlobalArray<T, N> array = maker.make(runtime, extents);
        for (const Index<N>& index : array.domain()) {
            const std::uint64_t position = test::position_of(extents, index);
            if (test::stored(maker.lower_triangle, index) && position % ranks == own)
                array(index) = test::value_of<T>(position);
        }
        runtime.barrier();
        CHECK(test::misnumbered(array, maker.lower_triangle) == "none");
        test::Mismatches own_memory;
        array.for_each_local([&](const Index<N>& index, T& element) {
            own_memory.check(element == test::value_of<T>(test::position_of(extents, index)), index);
            own_memory.check(&array.local(index) == &element, index);
            own_memory.check(array.at(index).get() == element, index);
        });
        CHECK(own_memory.text() == "none");
        runtime.barrier();
    });
}

template <class T>
void count_atomically() {
    Runtime runtime;
    test::for_every_maker<T, 2>(runtime.size(), [&](const test::Maker<T, 2>& maker) {
        if (maker.replicated) return;
        GlobalArray<T, 2> array = maker.make(runtime, {5, 5});
        for (auto [i, j] : array.domain())
            if (test::stored(maker.lower_triangle, Index<2>{i, j}))
                array(i, j).atomic().fetch_add(static_cast<T>(i + j + runtime.rank().value));
        runtime.barrier();
        test::Mismatches mismatches;
        const int ranks = runtime.size();
        const int sum_of_ranks = ranks * (ranks - 1) / 2;
        for (auto [i, j] : array.domain())
            if (test::stored(maker.lower_triangle, Index<2>{i, j}))
                mismatches.check(array(i, j) == static_cast<T>((i + j) * ranks + sum_of_ranks), Index<2>{i, j});
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    });
}

} // namespace

TEST_CASE("elements of 1, 2, 3, 8 and 24 bytes in 1 to 4 dimensions are written and read by every rank") {
    write_and_read<std::uint8_t, 1>();
    write_and_read<std::uint16_t, 1>();
    write_and_read<test::Colour, 2>();
    write_and_read<double, 2>();
    write_and_read<std::int64_t, 3>();
    write_and_read<test::Particle, 4>();
}

TEST_CASE("neighbouring bytes that different ranks write do not disturb each other") {
    Runtime runtime;
    // With one byte each, and ranks in turn, every word of memory has as many writers as there are ranks.
    GlobalArray<std::uint8_t, 1> bytes{runtime, {4096}};
    GlobalArray<test::Colour, 1> colours{runtime, {1024}};
    for (int round = 0; round < 3; ++round) {
        for (std::int64_t i = runtime.rank().value; i < bytes.extent(0); i += runtime.size())
            bytes(i) = static_cast<std::uint8_t>(i + round);
        for (std::int64_t i = runtime.rank().value; i < colours.extent(0); i += runtime.size())
            colours(i) = test::value_of<test::Colour>(static_cast<std::uint64_t>(i + round));
    }
    runtime.barrier();
    test::Mismatches mismatches;
    for (auto [i] : bytes.domain()) mismatches.check(bytes(i) == static_cast<std::uint8_t>(i + 2), Index<1>{i});
    for (auto [i] : colours.domain())
        mismatches.check(colours(i).get() == test::value_of<test::Colour>(static_cast<std::uint64_t>(i + 2)),
                         Index<1>{i});
    CHECK(mismatches.text() == "none");
    runtime.barrier();
}

TEST_CASE("a rank sees its own element writes at once, and compound assignments use the value before") {
    Runtime runtime;
    const int own = runtime.rank().value;
    test::for_every_maker<double, 1>(runtime.size(), [&](const test::Maker<double, 1>& maker) {
        GlobalArray<double, 1> array = maker.make(runtime, {40});
        test::Mismatches mismatches;
        for (std::int64_t i = own; i < 40; i += runtime.size()) {
            const auto number = static_cast<double>(i);
            array(i) = number;
            array(i) += 10;
            array(i) *= 3;
            array(i) -= 4.5;
            array(i) /= 2;
            mismatches.check(array(i) == ((number + 10) * 3 - 4.5) / 2, Index<1>{i});
        }
        runtime.barrier();
        for (std::int64_t i = 0; i < 40; ++i)
            mismatches.check(array(i) == ((static_cast<double>(i) + 10) * 3 - 4.5) / 2, Index<1>{i});
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    });
}

TEST_CASE("compound assignments of bits and counts, for elements of every rank") {
    Runtime runtime;
    const std::int64_t n = 4 * runtime.size();
    GlobalArray<std::uint32_t, 1> array{runtime, {n}, Cyclic{}};
    const int own = runtime.rank().value;
    for (std::int64_t k = 4 * own; k < 4 * own + 4; ++k) {
        std::uint32_t expected = 0xF0F0;
        array(k) = expected;
        CHECK((array(k) ^= 0xFF).get() == (expected ^= 0xFF));
        CHECK((array(k) |= 0x30000).get() == (expected |= 0x30000));
        CHECK((array(k) &= 0xFFF0F).get() == (expected &= 0xFFF0F));
        CHECK((array(k) <<= 3).get() == (expected <<= 3));
        CHECK((array(k) >>= 1).get() == (expected >>= 1));
        CHECK((array(k) %= 1000).get() == (expected %= 1000));
        CHECK(++array(k) == ++expected);
        CHECK(--array(k) == --expected);
        CHECK(array(k)++ == expected++);
        CHECK(array(k)-- == expected--);
        CHECK(array(k) == expected);
        // What a function with dots takes: not the reference.
        char text[20];
        std::snprintf(text, sizeof text, "%u", +array(k));
        CHECK(text == std::to_string(expected));
    }
    runtime.barrier();
}

TEST_CASE("atomics without a result on elements") {
    Runtime runtime;
    const int ranks = runtime.size();
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    GlobalArray<std::uint64_t, 1> array{runtime, {5 * ranks}, Cyclic{}};
    for (const auto [i] : array.local_domain()) array.local(i) = i % 5 == 2 ? ~std::uint64_t{0} : 50;
    runtime.barrier();
    for (std::int64_t i = 0; i < 5 * ranks; ++i) {
        switch (i % 5) {
        case 0: array(i).atomic().bit_xor(own + 1); break;
        case 1: array(i).atomic().bit_or(std::uint64_t{1} << (10 + own)); break;
        case 2: array(i).atomic().bit_and(~(std::uint64_t{1} << own)); break;
        case 3: array(i).atomic().min(40 + own); break;
        default: array(i).atomic().max(60 + own); break;
        }
    }
    runtime.barrier();
    std::uint64_t exclusive = 50;
    std::uint64_t bits = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        exclusive ^= static_cast<std::uint64_t>(rank) + 1;
        bits |= std::uint64_t{1} << rank;
    }
    for (std::int64_t i = 0; i < 5 * ranks; ++i) {
        const std::uint64_t last = static_cast<std::uint64_t>(ranks) - 1;
        const std::array<std::uint64_t, 5> expected{exclusive, 50 | bits << 10, ~bits, 40, 60 + last};
        CHECK(array(i) == expected[static_cast<std::size_t>(i % 5)]);
    }
    runtime.barrier();
}

TEST_CASE("an element is assigned the value of another, also of another type and array") {
    Runtime runtime;
    GlobalArray<std::int64_t, 1> from{runtime, {30}, Cyclic{}};
    GlobalArray<double, 2> to{runtime, {5, 6}};
    from.for_each_local([](const Index<1>& index, std::int64_t& element) { element = 7 * index[0]; });
    runtime.barrier();
    for (std::int64_t i = runtime.rank().value; i < 30; i += runtime.size()) to(i / 6, i % 6) = from(29 - i);
    runtime.barrier();
    for (std::int64_t i = 0; i < 30; ++i) REQUIRE(to(i / 6, i % 6) == static_cast<double>(7 * (29 - i)));
    runtime.barrier();
    // The same type: the reference is not rebound, its element is written.
    if (runtime.rank().value == 0) {
        const auto last = from(29);
        from(0) = last;
        last = 5;
    }
    runtime.barrier();
    REQUIRE(from(0) == 7 * 29);
    REQUIRE(from(29) == 5);
    runtime.barrier();
}

TEST_CASE("indices of any integer type name the same element") {
    Runtime runtime;
    GlobalArray<int, 2> array{runtime, {300, 3}};
    if (runtime.rank().value == 0) array(299, 2) = 8;
    runtime.barrier();
    REQUIRE(array(299U, std::uint8_t{2}) == 8);
    REQUIRE(array(std::int16_t{299}, std::size_t{2}) == 8);
    REQUIRE(array.at(299ULL, 2L) == 8);
    REQUIRE(array.owner(299U, 2U) == array.owner(Index<2>{299, 2}));
    runtime.barrier();
}

TEST_CASE("no atomic addition is lost, whatever the distribution and type") {
    count_atomically<std::int32_t>();
    count_atomically<std::uint32_t>();
    count_atomically<std::int64_t>();
    count_atomically<std::uint64_t>();
    count_atomically<float>();
    count_atomically<double>();
}

TEST_CASE("every atomic returns the value from before and leaves the result") {
    Runtime runtime;
    const int own = runtime.rank().value;
    const int ranks = runtime.size();
    GlobalArray<std::uint64_t, 1> array{runtime, {ranks}, Cyclic{}};
    const int next = (own + 1) % ranks;
    const auto element = array(next);
    // Each rank alone with the element of its neighbour.
    element.atomic().store(0b1100);
    CHECK(element.atomic().fetch_and(0b0110) == 0b1100);
    CHECK(element.atomic().fetch_or(0b0011) == 0b0100);
    CHECK(element.atomic().fetch_xor(0b1111) == 0b0111);
    CHECK(element.atomic().fetch_max(9) == 0b1000);
    CHECK(element.atomic().fetch_min(5) == 9);
    CHECK(element.atomic().fetch_min(std::uint64_t{1} << 63) == 5); // as unsigned
    CHECK(element.atomic().exchange(77) == 5);
    CHECK(element.atomic().compare_swap(76, 1) == 77);
    CHECK(element.atomic().load() == 77);
    CHECK(element.atomic().compare_swap(77, 78, std::memory_order_acq_rel) == 77);
    CHECK(element.atomic().load(std::memory_order_acquire) == 78);
    CHECK(element.atomic().fetch_add(2, std::memory_order_release) == 78);
    runtime.barrier();
    CHECK(array.local(own) == 80);
    runtime.barrier();
    // All ranks on one element: one swap wins, and every value is handed out once.
    const std::int64_t last = ranks - 1;
    if (own == 0) array(last).atomic().store(0);
    runtime.barrier();
    const bool won = array(last).atomic().compare_swap(0, static_cast<std::uint64_t>(own) + 1) == 0;
    std::int64_t winners = won ? 1 : 0;
    runtime.sum(std::span{&winners, 1});
    CHECK(winners == 1);
    if (own == 0) array(last).atomic().store(0);
    runtime.barrier();
    std::vector<std::int64_t> tickets(static_cast<std::size_t>(20 * ranks));
    for (int k = 0; k < 20; ++k) tickets[array(last).atomic().fetch_add(1)] = 1;
    runtime.sum(tickets);
    CHECK(std::count(tickets.begin(), tickets.end(), 1) == 20 * ranks);
    runtime.barrier();
}

TEST_CASE("an element of a replicated array has no place for an atomic") {
    Runtime runtime;
    GlobalArray<int, 1> array{runtime, {4}, Replicated{}, {.name = "copies"}};
    CHECK_THAT(test::message_of<UsageError>([&] { array(2).atomic().fetch_add(1); }),
               test::says({"rank ", "copies", "(2)", "atomic", "replicated", "Block"}));
    runtime.barrier();
}

TEST_CASE("arrays of five dimensions") {
    Runtime runtime;
    const Extents<5> extents{2, 3, 2, 3, 4};
    test::for_every_maker<std::int16_t, 5>(runtime.size(), [&](const test::Maker<std::int16_t, 5>& maker) {
        GlobalArray<std::int16_t, 5> array = maker.make(runtime, extents);
        test::number_elements(array);
        CHECK(test::misnumbered(array, false) == "none");
        std::vector<std::int16_t> buffer(2 * 2 * 1 * 2 * 4);
        const Domain<5> domain{{0, 2}, {1, 3}, {1, 2}, Range{0, 3}.by(2), {0, 4}};
        array(domain).get(buffer);
        test::Mismatches mismatches;
        std::size_t k = 0;
        for (const Index<5>& index : domain)
            mismatches.check(buffer[k++] == test::value_of<std::int16_t>(test::position_of(extents, index)), index);
        CHECK(mismatches.text() == "none");
        runtime.barrier();
    });
}
