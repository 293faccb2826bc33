// Ranks, offsets, sizes and counters outside their limits.
#include "runtime/bad_input.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::RangeError;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::message_of;
using test::says;

/// A call that takes a rank, an offset and a size.
struct Transfer {
    const char* name;
    std::function<void(Window&, Rank, Offset, std::span<std::byte>)> call;
};

const std::array transfers{
    Transfer{"get", [](Window& w, Rank r, Offset o, std::span<std::byte> b) { w.get(r, o, b); }},
    Transfer{"put", [](Window& w, Rank r, Offset o, std::span<std::byte> b) { w.put(r, o, b); }},
    Transfer{"start_get", [](Window& w, Rank r, Offset o, std::span<std::byte> b) { w.start_get(r, o, b).wait(); }},
    Transfer{"start_put", [](Window& w, Rank r, Offset o, std::span<std::byte> b) { w.start_put(r, o, b).wait(); }},
    Transfer{"put_notify", [](Window& w, Rank r, Offset o, std::span<std::byte> b) { w.put_notify(r, o, b, 0); }},
};

/// An atomic on a value of 4 or 8 bytes.
struct Atomic {
    const char* name;
    std::uint64_t bytes;
    std::function<void(Window&, Rank, Offset)> call;
};

const std::array atomics{
    Atomic{"fetch_add", 8, [](Window& w, Rank r, Offset o) { w.atomic<std::int64_t>(r, o).fetch_add(1); }},
    Atomic{"fetch_add", 4, [](Window& w, Rank r, Offset o) { w.atomic<float>(r, o).fetch_add(1.0F); }},
    Atomic{"fetch_and", 4, [](Window& w, Rank r, Offset o) { w.atomic<unsigned>(r, o).fetch_and(1U); }},
    Atomic{"fetch_or", 8, [](Window& w, Rank r, Offset o) { w.atomic<std::uint64_t>(r, o).fetch_or(1); }},
    Atomic{"fetch_xor", 4, [](Window& w, Rank r, Offset o) { w.atomic<int>(r, o).fetch_xor(1); }},
    Atomic{"fetch_min", 8, [](Window& w, Rank r, Offset o) { w.atomic<std::uint64_t>(r, o).fetch_min(1); }},
    Atomic{"fetch_max", 8, [](Window& w, Rank r, Offset o) { w.atomic<double>(r, o).fetch_max(1.0); }},
    Atomic{"exchange", 4, [](Window& w, Rank r, Offset o) { w.atomic<int>(r, o).exchange(1); }},
    Atomic{"exchange", 8, [](Window& w, Rank r, Offset o) { w.atomic<double>(r, o).store(1.0); }},
    Atomic{"load", 8, [](Window& w, Rank r, Offset o) { (void)w.atomic<double>(r, o).load(); }},
    Atomic{"compare_swap", 4, [](Window& w, Rank r, Offset o) { w.atomic<int>(r, o).compare_swap(1, 2); }},
    Atomic{"compare_swap", 8, [](Window& w, Rank r, Offset o) { w.atomic<double>(r, o).compare_swap(1.0, 2.0); }},
};

std::string within(const Runtime& runtime) { return "[0, " + std::to_string(runtime.size()) + ")"; }
std::string call_on(const char* call) { return std::string{"Window(\"small\")."} + call; }

} // namespace

TEST_CASE("a rank outside the team is refused by every call that takes one") {
    Runtime runtime;
    Window window{runtime, 80, {.name = "small"}};
    std::array<std::byte, 8> bytes{};
    for (const int bad : {-1, runtime.size(), INT_MIN, INT_MAX}) {
        const auto check = [&](const char* call, auto&& attempt) {
            INFO(call << " with rank " << bad);
            CHECK_THAT(message_of<RangeError>(attempt),
                       says({runtime.who(), call_on(call), "rank " + std::to_string(bad), within(runtime),
                             "pass a rank of the team"}));
        };
        for (const Transfer& transfer : transfers)
            check(transfer.name, [&] { transfer.call(window, Rank{bad}, Offset{0}, bytes); });
        for (const Atomic& atomic : atomics) check(atomic.name, [&] { atomic.call(window, Rank{bad}, Offset{0}); });
        check("flush", [&] { window.flush(Rank{bad}); });
        check("size", [&] { (void)window.size(Rank{bad}); });
        check("path", [&] { (void)window.path(Rank{bad}); });
        check("reachable", [&] { (void)window.reachable(Rank{bad}); });

        const std::vector<std::string> team_says{runtime.who(), std::to_string(bad), within(runtime),
                                                 "pass a rank of the team"};
        CHECK_THAT(message_of<RangeError>([&] { (void)runtime.path(Rank{bad}); }), says(team_says));
        CHECK_THAT(message_of<RangeError>([&] { runtime.broadcast(bytes, Rank{bad}); }), says(team_says));
        CHECK_THAT(message_of<RangeError>([&] { lapwing::Lock{runtime, Rank{bad}}; }), says(team_says));
    }
    test::check_goes_on(runtime, window);
}

TEST_CASE("a transfer that would leave its target's part is refused and moves nothing") {
    Runtime runtime;
    // Every rank's part has another size, and the target's counts.
    const auto size_of = [](Rank rank) { return 80 + 16 * static_cast<std::uint64_t>(rank.value); };
    Window window{runtime, size_of(runtime.rank()), {.name = "small"}};
    std::ranges::fill(window.local(), std::byte{1});
    runtime.barrier();

    constexpr std::uint64_t largest = UINT64_MAX;
    for (int target = 0; target < runtime.size(); ++target) {
        const std::uint64_t part = size_of(Rank{target});
        struct Range {
            std::uint64_t offset;
            std::uint64_t size;
        };
        // The last three wrap around: offset + size is small again.
        for (const Range range :
             {Range{part - 4, 8}, Range{part, 1}, Range{0, part + 1}, Range{part + 1, 0}, Range{largest, 0},
              Range{0, largest}, Range{largest, 8}, Range{largest - 7, 8}, Range{8, largest - 3}}) {
            const std::uint64_t offset = range.offset;
            const std::uint64_t size = range.size;
            for (const Transfer& transfer : transfers) {
                std::vector<std::byte> memory(part + 1, std::byte{2});
                INFO(transfer.name << " of " << size << " bytes at offset " << offset << " of rank " << target);
                CHECK_THAT(message_of<RangeError>([&] {
                               transfer.call(window, Rank{target}, Offset{offset}, std::span{memory.data(), size});
                           }),
                           says({runtime.who(), call_on(transfer.name), std::to_string(size) + " bytes",
                                 "offset " + std::to_string(offset), "rank " + std::to_string(target),
                                 std::to_string(part) + " bytes", "Window::size"}));
                CHECK(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{2}; }));
            }
        }
        for (const Atomic& atomic : atomics)
            for (const std::uint64_t offset : {part, part + 64, largest - atomic.bytes + 1}) {
                INFO(atomic.name << " at offset " << offset << " of rank " << target);
                CHECK_THAT(message_of<RangeError>([&] { atomic.call(window, Rank{target}, Offset{offset}); }),
                           says({runtime.who(), call_on(atomic.name), "offset " + std::to_string(offset),
                                 std::to_string(part) + " bytes"}));
            }
    }
    runtime.barrier();
    CHECK(std::ranges::all_of(window.local(), [](std::byte byte) { return byte == std::byte{1}; }));
    CHECK(window.notified(0) == 0);
    runtime.barrier();
    test::check_goes_on(runtime, window);
}

TEST_CASE("what just fits is not refused") {
    Runtime runtime;
    Window window{runtime, 80};
    std::array<std::byte, 80> all{};
    for (const Transfer& transfer : transfers) {
        transfer.call(window, test::next(runtime), Offset{0}, all);
        transfer.call(window, test::next(runtime), Offset{72}, std::span{all}.first(8));
        transfer.call(window, test::next(runtime), Offset{79}, std::span{all}.first(1));
        transfer.call(window, test::next(runtime), Offset{80}, {});
    }
    window.wait_notified(0, 4);
    for (const Atomic& atomic : atomics) atomic.call(window, test::next(runtime), Offset{80 - atomic.bytes});
    test::check_goes_on(runtime, window);
}

TEST_CASE("a count or index of which 64 bits cannot hold the bytes is refused") {
    Runtime runtime;
    Window window{runtime, 80, {.name = "small"}};
    double value = 0;
    volatile std::size_t wraps_to_8_bytes = (std::size_t{1} << 61) + 1; // volatile: compilers warn of what they see
    const std::span<double> values{&value, wraps_to_8_bytes};
    const auto refused = says({runtime.who(), call_on(""), "80 bytes", "Window::size"});
    CHECK_THAT(message_of<RangeError>([&] { window.get(Rank{0}, Offset{0}, values); }), refused);
    CHECK_THAT(message_of<RangeError>([&] { window.put(Rank{0}, Offset{0}, values); }), refused);
    CHECK_THAT(message_of<RangeError>([&] { window.put(Rank{0}, Offset{0}, std::span<const double>{values}); }),
               refused);
    CHECK_THAT(message_of<RangeError>([&] { window.start_get(Rank{0}, Offset{0}, values).wait(); }), refused);
    CHECK_THAT(
        message_of<RangeError>([&] { window.start_put(Rank{0}, Offset{0}, std::span<const double>{values}).wait(); }),
        refused);
    CHECK_THAT(
        message_of<RangeError>([&] { window.put_notify(Rank{0}, Offset{0}, std::span<const double>{values}, 0); }),
        refused);
    const Offset far = Offset::of<double>(wraps_to_8_bytes);
    CHECK_THAT(message_of<RangeError>([&] { (void)window.get<double>(Rank{0}, far); }), refused);
    CHECK(Offset::of<double>(9).bytes == 72);
    CHECK(Offset::of<double>((std::uint64_t{1} << 61) - 1).bytes == UINT64_MAX - 7);
    test::check_goes_on(runtime, window);
}

TEST_CASE("an atomic on a value that is not aligned is refused and changes nothing") {
    Runtime runtime;
    Window window{runtime, 80, {.name = "small"}};
    for (int target = 0; target < runtime.size(); ++target)
        for (const Atomic& atomic : atomics)
            for (std::uint64_t offset = 1; offset < 9; ++offset) {
                if (offset % atomic.bytes == 0) continue;
                INFO(atomic.name << " on " << atomic.bytes << " bytes at offset " << offset << " of rank " << target);
                CHECK_THAT(message_of<RangeError>([&] { atomic.call(window, Rank{target}, Offset{offset}); }),
                           says({runtime.who(), call_on(atomic.name), "offset " + std::to_string(offset),
                                 "multiple of the " + std::to_string(atomic.bytes) + " bytes", "aligned"}));
            }
    runtime.barrier();
    CHECK(std::ranges::all_of(window.local(), [](std::byte byte) { return byte == std::byte{0}; }));
    runtime.barrier();
    test::check_goes_on(runtime, window);
}

TEST_CASE("a notification counter that does not exist is refused") {
    Runtime runtime;
    Window window{runtime, 80, {.name = "small", .notification_counters = 3}};
    const double value = 1;
    const std::span<const double> source{&value, 1};
    const auto refused = [&](const char* call, const char* counter) {
        return says(
            {runtime.who(), call_on(call), std::string{"counter "} + counter, "[0, 3)", "notification_counters"});
    };
    for (int target = 0; target < runtime.size(); ++target)
        CHECK_THAT(message_of<RangeError>([&] { window.put_notify(Rank{target}, Offset{0}, source, 3); }),
                   refused("put_notify", "3"));
    CHECK_THAT(message_of<RangeError>([&] { window.wait_notified(3); }), refused("wait_notified", "3"));
    CHECK_THAT(message_of<RangeError>([&] { (void)window.notified(UINT_MAX); }), refused("notified", "4294967295"));
    runtime.barrier();
    CHECK(window.local_as<double>()[0] == 0);
    CHECK_THAT(message_of<RangeError>([&] { Window{runtime, 80, {.notification_counters = 4097}}; }),
               says({runtime.who(), "4097", "limit of 4096"}));
    test::check_goes_on(runtime, window);
}

TEST_CASE("more memory than the machine has is refused on all ranks, whichever asks for it") {
    Runtime runtime;
    Window window{runtime, 80};
    const int last = runtime.size() - 1;
    for (const std::uint64_t wanted : {std::uint64_t{1} << 50, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 63}) {
        const std::uint64_t bytes = runtime.rank().value == last ? wanted : 1000;
        CHECK_THAT(message_of<RangeError>([&] { Window{runtime, bytes, {.name = "huge"}}; }),
                   says({runtime.who(), "Window(\"huge\")", std::to_string(bytes) + " bytes",
                         "rank " + std::to_string(last), "memory", "ask for less"}));
        test::check_goes_on(runtime, window);
    }
}

TEST_CASE("parts that fit alone but not together on one node are refused") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.node_size() == 1) return;
    const auto machine =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    CHECK_THAT(message_of<RangeError>([&] { Window{runtime, machine / 10 * 9, {.name = "huge"}}; }),
               says({runtime.who(), "Window(\"huge\")", std::to_string(machine / 10 * 9) + " bytes", "memory",
                     "ask for less"}));
    test::check_goes_on(runtime, window);
}
