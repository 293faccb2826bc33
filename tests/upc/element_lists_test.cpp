// Lists of elements of UPC's objects, against single reads: of all block sizes and element sizes, again and again,
// while others write.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/upc/inline.h>
#include <lapwing/upc/program.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

extern "C" {
int lapwing_upc_thread_count = 1; // a compiled program has it from lapwing-upcc
}

namespace {

constexpr std::ptrdiff_t elements_of_thread = 60;

/// An object of blocks, or an indefinite one of the last thread.
struct Object {
    std::size_t element_bytes;
    std::size_t block;
    lapwing_upc_pointer begin;
    std::ptrdiff_t size;

    Object(std::size_t bytes, std::size_t block_size, const test::UpcProgram& program)
        : element_bytes{bytes},
          block{block_size},
          size{block == 0 ? elements_of_thread : elements_of_thread * program.threads} {
        if (block == 0) {
            begin = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), elements_of_thread * bytes);
            begin.thread = static_cast<std::uint32_t>(program.threads - 1);
        } else {
            begin = lapwing_upc_all_alloc(static_cast<std::size_t>(size) / block, block * bytes);
        }
    }
    [[nodiscard]] lapwing_upc_pointer at(std::ptrdiff_t i) const {
        return lapwing_upc_add(begin, element_bytes, block, i);
    }
    /// Every thread its own elements.
    void write(const test::UpcProgram& program, int round) const {
        for (std::ptrdiff_t i = 0; i < size; ++i)
            if (static_cast<int>(at(i).thread) == program.me) put(i, round);
    }
    void put(std::ptrdiff_t i, int round) const {
        const std::vector<std::byte> value = expected(i, round);
        lapwing_upc_put(at(i), value.data(), element_bytes);
    }
    [[nodiscard]] std::vector<std::byte> expected(std::ptrdiff_t i, int round) const {
        std::vector<std::byte> value(element_bytes);
        for (std::size_t k = 0; k < element_bytes; ++k)
            value[k] = static_cast<std::byte>(7 * i + 31 * round + static_cast<std::ptrdiff_t>(k));
        return value;
    }
    void require(const std::vector<std::ptrdiff_t>& indices, std::ptrdiff_t first, int round) const {
        std::vector<std::byte> values(indices.size() * element_bytes + 1, std::byte{0x55});
        lapwing_upc_get_elements(values.data(), at(first), element_bytes, block, indices.data(), indices.size());
        for (std::size_t k = 0; k < indices.size(); ++k)
            REQUIRE(std::ranges::equal(std::span{values}.subspan(k * element_bytes, element_bytes),
                                       expected(first + indices[k], round)));
        REQUIRE(values.back() == std::byte{0x55});
    }
};

[[nodiscard]] std::vector<std::ptrdiff_t> some_indices(test::Random& random, std::ptrdiff_t size, std::ptrdiff_t first,
                                                       std::ptrdiff_t count) {
    std::vector<std::ptrdiff_t> indices(static_cast<std::size_t>(count));
    for (std::ptrdiff_t& i : indices) i = random.number(0, size - 1) - first;
    return indices;
}

} // namespace

TEST_CASE("lists of elements are what single reads would be, also after others have written") {
    const test::UpcProgram program;
    test::Random random{5}; // the same on all threads
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{20}})
        for (const std::size_t bytes :
             {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}, std::size_t{12}}) {
            const Object object{bytes, block, program};
            for (int round = 0; round < 4; ++round) {
                object.write(program, round);
                lapwing_upc_barrier(nullptr);
                for (int again = 0; again < 8; ++again) {
                    const std::ptrdiff_t first = again % 2 == 0 ? 0 : random.number(0, object.size - 1);
                    const std::ptrdiff_t below = round == 0 ? object.size / 2 : object.size;
                    object.require(some_indices(random, below, first, again == 5 ? 0 : random.number(1, 700)), first,
                                   round);
                }
                lapwing_upc_barrier(nullptr);
            }
        }
}

TEST_CASE("what the thread itself writes to elements that are copied is seen at once") {
    const test::UpcProgram program;
    if (program.threads == 1) return;
    const Object object{8, 1, program};
    object.write(program, 0);
    lapwing_upc_barrier(nullptr);
    std::vector<std::ptrdiff_t> indices;
    for (std::ptrdiff_t k = 0; k < 10 * elements_of_thread; ++k) // of the next thread alone, which nobody else accesses
        indices.push_back(k % elements_of_thread * program.threads + (program.me + 1) % program.threads);
    int round = 0;
    for (; round < 3; ++round) {
        object.require(indices, 0, round);
        for (std::ptrdiff_t k = 0; k < elements_of_thread; ++k) {
            const std::ptrdiff_t i = indices[static_cast<std::size_t>(k)];
            const std::vector<std::byte> value = object.expected(i, round + 1);
            if (k % 3 == 0) lapwing_upc_memput(object.at(i), value.data(), 8);
            else if (k % 3 == 1) lapwing_upc_put(object.at(i), value.data(), 8);
            else lapwing_upc_sync(lapwing_upc_memput_nb(object.at(i), value.data(), 8));
        }
    }
    object.require(indices, 0, round);
    lapwing_upc_barrier(nullptr);
}

TEST_CASE("places of elements are found where all can be loaded, and of copies once a range has been read often") {
    const test::UpcProgram program;
    lapwing_upc_thread_count = program.threads;
    test::Random random{7};
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{20}}) {
        const Object object{4, block, program};
        object.write(program, 1);
        lapwing_upc_barrier(nullptr);
        // From some element of the object, with others before it.
        const std::ptrdiff_t first = random.number(0, object.size - 1);
        std::vector<std::ptrdiff_t> indices;
        for (std::ptrdiff_t i = 0; i < object.size; ++i) indices.push_back(i - first);
        lapwing_upc_pointer other = object.begin;
        bool all_near = true;
        for (int t = 0; t < program.threads; ++t) {
            other.thread = static_cast<std::uint32_t>(block == 0 ? program.threads - 1 : t);
            all_near = all_near && lapwing_upc_cast(other) != nullptr;
        }
        lapwing_upc_places places;
        const auto find = [&] {
            return lapwing_upc_find_places(&places, object.at(first), 4, block, indices.size()) != 0;
        };
        REQUIRE(find() == (all_near && lapwing::assertion_level < 2));
        for (int again = 0; again < 10; ++again) object.require(indices, first, 1);
        bool found = false;
        for (int again = 0; again < 3; ++again) {
            if (!find()) continue;
            found = true;
            for (const std::ptrdiff_t i : indices) {
                std::array<std::byte, 4> value{};
                lapwing_upc_read_place(value.data(), &places, 4, block, i);
                REQUIRE(std::ranges::equal(value, object.expected(first + i, 1)));
            }
        }
        REQUIRE(found == (lapwing::assertion_level < 2));
        // What is outside of the heap is left to the call that finds errors.
        if (!found) continue;
        REQUIRE(static_cast<std::size_t>((std::ptrdiff_t{1} << 40) - places.begin) >= places.size);
        // Those before the base are in the range, too.
        for (const std::ptrdiff_t i : indices) REQUIRE(static_cast<std::size_t>(i - places.begin) < places.size);
        lapwing_upc_barrier(nullptr);
    }
}

TEST_CASE("of an object with large blocks no more is copied than has been read") {
    const test::UpcProgram program;
    lapwing_upc_thread_count = program.threads;
    const Object object{8, elements_of_thread, program}; // [*]
    object.write(program, 1);
    lapwing_upc_barrier(nullptr);
    // The last elements of the thread before this one.
    const std::ptrdiff_t own = elements_of_thread * program.me;
    std::vector<std::ptrdiff_t> indices;
    for (std::ptrdiff_t k = 0; k < 200; ++k) indices.push_back(own - 1 - k % 5);
    lapwing_upc_places places;
    bool found = false;
    for (int again = 0; again < 5 && program.me > 0; ++again) {
        object.require(indices, 0, 1);
        found = lapwing_upc_find_places(&places, object.begin, 8, elements_of_thread, indices.size()) != 0;
    }
    // What can be loaded is not copied.
    if (lapwing_upc_cast(object.at(std::max<std::ptrdiff_t>(own - 1, 0))) == nullptr && lapwing::assertion_level < 2) {
        CHECK(found);
        CHECK(places.size == 5);
    }
    lapwing_upc_barrier(nullptr);
}

TEST_CASE("an element that is outside of the heap, or of no thread, is an error that says so") {
    const test::UpcProgram program;
    const lapwing_upc_pointer all = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 8);
    std::array<double, 3> values{};
    const std::array<std::ptrdiff_t, 3> outside{0, 1, std::ptrdiff_t{1} << 40};
    const auto error_of = [&](const lapwing_upc_pointer& base, const std::ptrdiff_t* indices) {
        return test::upc_error_of([&] { lapwing_upc_get_elements(values.data(), base, 8, 1, indices, 3); });
    };
    REQUIRE(error_of(all, outside.data()).find("leave the thread's part") != std::string::npos);
    const std::array<std::ptrdiff_t, 3> few{0, 0, 0};
    REQUIRE(error_of({0, 0, 0}, few.data()).find("null pointer") != std::string::npos);
    REQUIRE(error_of({all.address, static_cast<std::uint32_t>(program.threads), 0}, few.data())
                .find("a pointer to thread") != std::string::npos);
    lapwing_upc_get_elements(nullptr, all, 8, 1, nullptr, 0); // nothing
    lapwing_upc_barrier(nullptr);
}
