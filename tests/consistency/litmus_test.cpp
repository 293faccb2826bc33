// Litmus tests: for each row of the consistency table (docs/consistency.md) a small program whose forbidden result is
// looked for many times.
//
// With TEST_OMIT=1 the programs leave their synchronisation out. Run so, on the rma path and with the delaying shim,
// they must find the forbidden results: the tests can see what they look for.
//
// With TEST_COPIES=1 what is read comes from automatic copies (class Prefetch), with TEST_COPIES=2 from manual ones,
// which are updated after each acquire, and with TEST_COPIES=3, in the tests that pass messages, from a mapped array,
// which is refreshed then.
#include "consistency/litmus.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/global_array.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/mapped_array.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

using test::copies_read;
using test::CopiesRead;
using test::judge;
using test::omits;
using test::Shown;
using test::synchronise;

constexpr int slots = 24; ///< messages between two barriers; each has its own bytes, so that none is overwritten unread
constexpr int batches = 3;                                ///< of so many messages
constexpr std::array<std::size_t, 3> sizes{8, 700, 6000}; ///< staged, direct and bulk puts of the network paths
constexpr std::size_t largest_size = sizes.back();
constexpr std::int64_t segment = slots * static_cast<std::int64_t>(largest_size) + 64;
constexpr Offset flag{0};
constexpr Offset behind{8}; ///< the flag in a window that has a count before it

using Bytes = lapwing::GlobalArray<std::byte, 1>;

/// Copies of the segment of one other rank, which have the same bytes at the same offsets. There are none of an own
/// segment.
class SegmentCopies {
public:
    SegmentCopies(Window& window, Rank owner) : window_{window}, owner_{owner} {
        if (copies_read() == CopiesRead::none || copies_read() == CopiesRead::mapped || owner == window.team().rank())
            return;
        copies_.emplace(window, lapwing::PrefetchOptions{.consistent = copies_read() == CopiesRead::automatic});
        whole_.emplace(copies_->request(owner));
        copies_->update();
    }
    SegmentCopies(Bytes& array, Rank owner) : SegmentCopies{array.window(), owner} {
        if (copies_read() == CopiesRead::mapped && owner != window_.team().rank())
            mapped_ = array.mapped(array.local_domain(owner));
    }
    /// What a program that has manual copies does after its synchronisation.
    void update() {
        if (mapped_.data() != nullptr) mapped_.refresh();
        if (copies_ && copies_read() == CopiesRead::manual) copies_->update();
    }
    /// Of the copies; without them of the segment.
    [[nodiscard]] std::vector<std::byte> read(Offset offset, std::size_t size) {
        std::vector<std::byte> bytes(size);
        if (mapped_.data() != nullptr)
            std::memcpy(bytes.data(), &mapped_[owner_.value * segment + static_cast<std::int64_t>(offset.bytes)], size);
        else if (copies_) std::ranges::copy(copies_->access(*whole_).subspan(offset.bytes, size), bytes.begin());
        else window_.get(owner_, offset, bytes);
        return bytes;
    }
    [[nodiscard]] std::int64_t read_number(Offset offset) {
        if (mapped_.data() != nullptr) {
            std::int64_t number = 0;
            std::ranges::copy(read(offset, sizeof number), reinterpret_cast<std::byte*>(&number));
            return number;
        }
        if (copies_) return copies_->read<std::int64_t>(*whole_, offset.bytes / sizeof(std::int64_t));
        return window_.get<std::int64_t>(owner_, offset);
    }

private:
    Window& window_;
    Rank owner_;
    std::optional<lapwing::Prefetch> copies_;
    std::optional<lapwing::PrefetchedSlice> whole_;
    lapwing::MappedArray<std::byte, 1> mapped_;
};

/// Messages around the ring of ranks: each rank puts to the next one, tells it, and reads what the one before has put.
/// The flags are in another window, and at the rank that raises them: no operation on a flag completes a put by the
/// way.
///
/// With copies a rank puts to the one before it instead, where it is one of three, and the next one reads it there, by
/// copies.
class Ring {
public:
    static constexpr Offset flag_behind{slots * largest_size};
    Runtime runtime{};
    Bytes array{runtime, {runtime.size() * segment}, lapwing::Block{}, {.name = "data"}};
    Window& data = array.window();
    Window flags{runtime, 64, {.name = "flags"}};
    Rank from = test::previous(runtime);
    Rank to = test::next(runtime);
    Rank home = home_of(runtime.rank()); ///< where this rank's messages lie
    SegmentCopies copies{array, home_of(from)};

    /// Puts message `number`.
    void send(int number) {
        source_.assign(size(number), value(number));
        data.put(home, place(number), source_);
        std::ranges::fill(source_, std::byte{0xDB}); // may be reused
    }
    void start_send(int number) {
        source_.assign(size(number), value(number));
        data.start_put(home, place(number), source_).wait();
        std::ranges::fill(source_, std::byte{0xDB});
    }
    /// Whether message `number` is in this rank's memory, or in its copies of where the one before has put it.
    [[nodiscard]] bool arrived(int number) {
        if (copies_read() == CopiesRead::none)
            return is(number, data.local().subspan(place(number).bytes, size(number)));
        return is(number, copies.read(place(number), size(number)));
    }
    /// Notifies the next rank, without any order; waits to be notified by the one before.
    void raise(int number, std::memory_order order = std::memory_order_relaxed) {
        flags.atomic<std::int64_t>(runtime.rank(), flag).store(number, order);
    }
    void await(int number, std::memory_order order = std::memory_order_relaxed) {
        while (flags.atomic<std::int64_t>(from, flag).load(order) < number) std::this_thread::yield();
    }

    [[nodiscard]] static Offset place(int number) {
        return Offset{static_cast<std::uint64_t>(number % slots) * largest_size};
    }
    [[nodiscard]] static std::size_t size(int number) { return sizes[static_cast<std::size_t>(number) % sizes.size()]; }
    [[nodiscard]] static std::byte value(int number) { return static_cast<std::byte>(1 + number % 200); }

private:
    [[nodiscard]] static bool is(int number, std::span<const std::byte> bytes) {
        return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == value(number); });
    }
    [[nodiscard]] Rank home_of(Rank sender) const {
        if (copies_read() == CopiesRead::none) return Rank{(sender.value + 1) % runtime.size()};
        if (runtime.size() < 3) return sender;
        return Rank{(sender.value + runtime.size() - 1) % runtime.size()};
    }

    std::vector<std::byte> source_;
};

/// `publish` makes what was put visible and notifies; `subscribe` waits for the notification.
void message_passing(const std::function<void(Ring&, int)>& send, const std::function<void(Ring&, int)>& publish,
                     const std::function<void(Ring&, int)>& subscribe, Shown shown = Shown::surely) {
    Ring ring;
    std::int64_t missed = 0;
    int number = 0;
    for (int batch = 0; batch < batches; ++batch) {
        for (int slot = 0; slot < slots; ++slot) {
            ++number;
            send(ring, number);
            publish(ring, number);
            subscribe(ring, number);
            synchronise([&] { ring.copies.update(); });
            if (!ring.arrived(number)) ++missed;
        }
        ring.runtime.barrier();
    }
    judge(ring.runtime, missed, shown);
}

void send(Ring& ring, int number) { ring.send(number); }

} // namespace

// ---- message passing: the rows flush, release and acquire, fence, barrier, notify and wait, lock and unlock, atomics
// ----

TEST_CASE("flush of a rank, then a notified put: who sees the notification sees the puts before the flush") {
    message_passing(
        send,
        [](Ring& ring, int) {
            synchronise([&] { ring.data.flush(ring.home); });
            ring.flags.put_notify(ring.to, Offset{0}, {}, 0);
        },
        [](Ring& ring, int) {
            ring.flags.wait_notified(0);
            // Acquires its own window, and copies are of the other.
            if (copies_read() != CopiesRead::none) synchronise([&] { ring.data.acquire(); });
        });
}

TEST_CASE("flush of all ranks after non-blocking puts, then a flag") {
    message_passing([](Ring& ring, int number) { ring.start_send(number); },
                    [](Ring& ring, int number) {
                        synchronise([&] { ring.data.flush(); });
                        ring.raise(number);
                    },
                    [](Ring& ring, int number) {
                        ring.await(number);
                        synchronise([&] { ring.data.flush(); }); // is an acquire too
                    });
}

TEST_CASE("release, then a flag; acquire, then a read") {
    SECTION("of the window") {
        message_passing(
            send,
            [](Ring& ring, int number) {
                synchronise([&] { ring.data.release(); });
                ring.raise(number);
            },
            [](Ring& ring, int number) {
                ring.await(number);
                synchronise([&] { ring.data.acquire(); });
            });
    }
    SECTION("of the team") {
        message_passing(
            send,
            [](Ring& ring, int number) {
                synchronise([&] { ring.runtime.release(); });
                ring.raise(number);
            },
            [](Ring& ring, int number) {
                ring.await(number);
                synchronise([&] { ring.runtime.acquire(); });
            });
    }
}

TEST_CASE("fence on both sides of a flag") {
    message_passing(
        send,
        [](Ring& ring, int number) {
            synchronise([&] { ring.runtime.fence(); });
            ring.raise(number);
        },
        [](Ring& ring, int number) {
            ring.await(number);
            synchronise([&] { ring.runtime.fence(); });
        });
}

TEST_CASE("barrier: what was put before it is read after it") {
    message_passing(send, [](Ring&, int) {}, [](Ring& ring, int) { synchronise([&] { ring.runtime.barrier(); }); });
}

TEST_CASE("notify and wait: what was put before the notify is read after the wait") {
    message_passing(
        send, [](Ring& ring, int) { synchronise([&] { ring.runtime.notify(); }); },
        [](Ring& ring, int) { synchronise([&] { ring.runtime.wait(); }); });
}

TEST_CASE("what was read before an acquire is read anew after it") {
    // The last rank reads, and may keep what it has read; then rank 0 changes its own memory.
    Ring ring;
    Runtime& runtime = ring.runtime;
    if (runtime.size() < 2) return;
    const Rank owner{0};
    const Rank reader{runtime.size() - 1};
    SegmentCopies copies{ring.array, owner};
    const auto await = [&](Rank rank, int number) {
        while (ring.flags.atomic<std::int64_t>(rank, flag).load() < number) std::this_thread::yield();
    };
    std::int64_t stale = 0;
    for (int number = 1; number <= 60; ++number) {
        const Offset place = Offset::of<std::int64_t>(static_cast<std::uint64_t>(number % 9));
        if (runtime.rank() == reader) {
            (void)copies.read_number(place);
            ring.data.release();
            ring.raise(number);
            await(owner, number);
            synchronise([&] {
                if (number % 3 == 0) ring.data.acquire();
                else if (number % 3 == 1) runtime.acquire();
                else ring.data.flush(owner);
                copies.update();
            });
            if (copies.read_number(place) != number) ++stale;
        } else if (runtime.rank() == owner) {
            await(reader, number);
            ring.data.acquire();
            ring.data.put(owner, place, std::int64_t{number});
            ring.data.release();
            ring.raise(number);
        }
    }
    const bool keeps =
        ring.data.page_tables() != nullptr || copies_read() != CopiesRead::none; // not null: it is cached
    judge(runtime, stale, keeps ? Shown::surely : Shown::by_chance);
    runtime.barrier();
}

TEST_CASE("an atomic with release order, and one with acquire order") {
    // Orders this rank's operations on the window of the atomic: the flag follows the data.
    const std::memory_order release = omits() ? std::memory_order_relaxed : std::memory_order_release;
    const std::memory_order both = omits() ? std::memory_order_relaxed : std::memory_order_acq_rel;
    const std::memory_order acquire = omits() ? std::memory_order_relaxed : std::memory_order_acquire;
    const auto wait_for_word = [acquire](Ring& ring, int number) {
        while (ring.data.atomic<std::int64_t>(ring.from, Ring::flag_behind).load(acquire) < number)
            std::this_thread::yield();
    };
    SECTION("a write") {
        message_passing(
            send,
            [release](Ring& ring, int number) {
                ring.data.atomic<std::int64_t>(ring.runtime.rank(), Ring::flag_behind).store(number, release);
            },
            wait_for_word, Shown::by_chance);
    }
    SECTION("an addition") {
        message_passing(
            send,
            [both](Ring& ring, int) {
                ring.data.atomic<std::int64_t>(ring.runtime.rank(), Ring::flag_behind).fetch_add(1, both);
            },
            wait_for_word, Shown::by_chance);
    }
    SECTION("a compare_swap") {
        message_passing(
            send,
            [both](Ring& ring, int number) {
                ring.data.atomic<std::int64_t>(ring.runtime.rank(), Ring::flag_behind)
                    .compare_swap(number - 1, number, both);
            },
            wait_for_word, Shown::by_chance);
    }
}

TEST_CASE("a notified put: who sees the notification sees its bytes") {
    if (omits()) return; // nothing to leave out
    message_passing(
        [](Ring& ring, int number) {
            std::vector<std::byte> source(Ring::size(number), Ring::value(number));
            if (copies_read() != CopiesRead::none) { // the notification is all that its target gets
                ring.data.put(ring.home, Ring::place(number), source);
                ring.data.release();
                source.clear();
            }
            ring.data.put_notify(ring.to, Ring::place(number), source, 5);
            std::ranges::fill(source, std::byte{0xDB});
        },
        [](Ring&, int) {}, [](Ring& ring, int) { ring.data.wait_notified(5); });
}

// ---- mutual exclusion
// -----------------------------------------------------------------------------------------------------

namespace {

/// What a program of mutual exclusion works with.
struct Exclusion {
    Runtime runtime{};
    Window counts{runtime, 64};
    Window flags{runtime, 64};
    lapwing::Lock lock{runtime};
    Rank home{runtime.size() - 1}; ///< of the flag
    SegmentCopies copies{counts, Rank{0}};
};

/// Adds to a count at rank 0 by get and put, `times` times, between `enter` and `leave`. The forbidden result is an
/// addition that is lost.
void exclusive_additions(int times, const std::function<void(Exclusion&)>& enter,
                         const std::function<void(Exclusion&)>& leave, Shown shown = Shown::surely) {
    constexpr Offset count{0};
    Exclusion exclusion;
    Runtime& runtime = exclusion.runtime;
    for (int i = 0; i < times; ++i) {
        enter(exclusion);
        synchronise([&] { exclusion.copies.update(); });
        const std::int64_t before = exclusion.copies.read_number(count);
        if (i % 4 == 0) std::this_thread::yield(); // to the others, which must not get in
        exclusion.counts.put(Rank{0}, count, before + 1);
        leave(exclusion);
    }
    runtime.barrier();
    const std::int64_t lost = std::int64_t{times} * runtime.size() - exclusion.counts.local_as<std::int64_t>()[0];
    judge(runtime, runtime.rank().value == 0 ? lost : 0, shown);
}

} // namespace

TEST_CASE("lock and unlock: what was put under the lock is read under it") {
    exclusive_additions(
        40, [](Exclusion& e) { synchronise([&] { e.lock.lock(); }); },
        [](Exclusion& e) { synchronise([&] { e.lock.unlock(); }); }, Shown::by_chance);
}

TEST_CASE("compare_swap with acquire order and a write with release order make a lock") {
    // The flag says whose turn it is, so that the ranks alternate; 100 while somebody is inside.
    constexpr int inside = 100;
    SECTION("order of all windows") {
        exclusive_additions(
            30,
            [](Exclusion& e) {
                const int me = e.runtime.rank().value;
                while (e.flags.atomic<int>(e.home, flag).compare_swap(me, inside, std::memory_order_acquire) != me)
                    std::this_thread::yield();
                synchronise([&] { e.runtime.acquire(); }); // the count is in another window
            },
            [](Exclusion& e) {
                synchronise([&] { e.runtime.release(); });
                e.flags.atomic<int>(e.home, flag).store(test::next(e.runtime).value, std::memory_order_release);
            });
    }
    SECTION("order of the flag's window") {
        exclusive_additions(
            30,
            [](Exclusion& e) {
                const int me = e.runtime.rank().value;
                while (e.counts.atomic<int>(e.home, behind).compare_swap(me, inside, std::memory_order_acquire) != me)
                    std::this_thread::yield();
            },
            [](Exclusion& e) {
                e.counts.atomic<int>(e.home, behind)
                    .store(test::next(e.runtime).value,
                           omits() ? std::memory_order_relaxed : std::memory_order_release);
            });
    }
}

TEST_CASE("store buffering: of two ranks that raise a flag, flush and look at the other's, one sees it") {
    // The heart of Dekker's algorithm.
    Runtime runtime;
    if (runtime.size() < 2) return;
    Window window{runtime, 4096};
    const bool takes_part = runtime.rank().value < 2;
    const Rank other{1 - runtime.rank().value};
    std::int64_t both_blind = 0;
    for (std::uint64_t round = 0; round < 60; ++round) {
        // A pair of flags for each round: the flag of a rank is at the other rank, who looks in its own memory.
        const Offset place = Offset::of<std::int64_t>(round);
        runtime.barrier();
        std::int64_t blind = 0;
        if (takes_part) {
            if (omits()) {
                window.put(other, place, std::int64_t{1});
            } else {
                window.atomic<std::int64_t>(other, place).store(1);
                window.flush();
            }
            blind = window.atomic<std::int64_t>(runtime.rank(), place).load() == 0 ? 1 : 0;
        }
        runtime.sum(std::span{&blind, 1});
        if (blind == 2) ++both_blind;
    }
    judge(runtime, both_blind);
}

TEST_CASE("independent reads of independent writes: with fences, two readers see two writes in one order") {
    if (omits()) return; // the atomics of every path are strong enough without
    Runtime runtime;
    Window window{runtime, 64 + 8 * 256};
    const int me = runtime.rank().value;
    const int ranks = runtime.size();
    if (ranks < 2) return;
    // Ranks 0 and 1 write, the last two read (with less than four ranks somebody does both).
    constexpr std::uint64_t rounds = 60;
    const Rank home_x{ranks - 1};
    const Rank home_y{0};
    std::int64_t contradictions = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Offset x = Offset::of<std::int64_t>(2 * round);
        const Offset y = Offset::of<std::int64_t>(2 * round + 1);
        runtime.barrier();
        if (me == 0) window.atomic<std::int64_t>(home_x, x).store(1);
        if (me == 1) window.atomic<std::int64_t>(home_y, y).store(1);
        const auto read = [&](Rank home, Offset place) { return window.atomic<std::int64_t>(home, place).load(); };
        // Saw the one write, and then not the other.
        std::array<std::int64_t, 2> saw{0, 0};
        if (me == ranks - 1) {
            const bool first = read(home_x, x) == 1;
            runtime.fence();
            saw[0] = first && read(home_y, y) == 0 ? 1 : 0;
        }
        if (me == std::max(ranks - 2, 0)) {
            const bool first = read(home_y, y) == 1;
            runtime.fence();
            saw[1] = first && read(home_x, x) == 0 ? 1 : 0;
        }
        runtime.sum(saw);
        if (saw[0] == 1 && saw[1] == 1) ++contradictions;
    }
    judge(runtime, contradictions);
}

TEST_CASE("one place is read in the order in which it is written") {
    if (omits()) return;
    Runtime runtime;
    Window window{runtime, 64};
    constexpr std::int64_t last = 300;
    std::int64_t backwards = 0;
    if (runtime.rank().value == 0)
        for (std::int64_t i = 1; i <= last; ++i)
            window.atomic<std::int64_t>(Rank{runtime.size() - 1}, Offset{0}).store(i);
    std::int64_t before = 0;
    while (before < last) {
        const auto now = window.atomic<std::int64_t>(Rank{runtime.size() - 1}, Offset{0}).load();
        if (now < before) ++backwards;
        before = now;
        std::this_thread::yield();
    }
    judge(runtime, backwards);
}

// ---- the rows get and put: one rank alone
// ----------------------------------------------------------------------------------

TEST_CASE("the value of a blocking get is there when it returns") {
    if (omits()) return;
    Ring ring;
    std::int64_t wrong = 0;
    std::ranges::fill(ring.data.local(), static_cast<std::byte>(ring.runtime.rank().value + 1));
    ring.runtime.barrier();
    SegmentCopies copies{ring.array, ring.to};
    for (int number = 1; number <= slots * batches; ++number) {
        std::vector<std::byte> here(Ring::size(number));
        ring.data.get(ring.to, Ring::place(number), here);
        if (copies_read() != CopiesRead::none) here = copies.read(Ring::place(number), Ring::size(number));
        if (std::ranges::any_of(here,
                                [&](std::byte byte) { return byte != static_cast<std::byte>(ring.to.value + 1); }))
            ++wrong;
    }
    judge(ring.runtime, wrong);
}

TEST_CASE("a get sees earlier puts of its own rank, also where they overlap in part") {
    if (omits()) return;
    Ring ring;
    SegmentCopies copies{ring.array, ring.to};
    std::int64_t wrong = 0;
    for (int number = 1; number <= slots * batches; ++number) {
        const std::size_t size = Ring::size(number);
        const auto at = static_cast<std::uint64_t>(number % 7);
        const std::vector<std::byte> first(size, Ring::value(number));
        const std::vector<std::byte> second(4, std::byte{0xEE});
        ring.data.put(ring.to, Offset{at}, first);
        ring.data.put(ring.to, Offset{at + 2}, second);
        std::vector<std::byte> here(size);
        ring.data.get(ring.to, Offset{at}, here);
        std::vector<std::byte> expected = first;
        std::ranges::copy(second, expected.begin() + 2);
        if (here != expected) ++wrong;
        // A mapped array is what its owner had at the last refresh.
        if (copies_read() == CopiesRead::automatic || copies_read() == CopiesRead::manual)
            wrong += copies.read(Offset{at}, size) != expected ? 1 : 0;
    }
    judge(ring.runtime, wrong);
}

TEST_CASE("the source of a put may be reused when the put returns") {
    if (omits()) return;
    Ring ring;
    std::int64_t wrong = 0;
    int number = 0;
    for (int batch = 0; batch < batches; ++batch) {
        for (int slot = 0; slot < slots; ++slot) ring.send(++number); // overwrites each source at once
        ring.runtime.barrier();
        ring.copies.update();
        for (int slot = 0; slot < slots; ++slot)
            if (!ring.arrived(number - slot)) ++wrong;
        ring.runtime.barrier();
    }
    judge(ring.runtime, wrong);
}
