// The property test of windows: random programs (see oracle.hpp) leave the memory, and read the values, that the same
// program leaves and reads in plain arrays.
//
// A failure names the seed and the operation. TEST_SEED=n runs the program of that seed alone; TEST_PROGRAMS=n runs
// that many; TEST_TRACE=1 prints each operation of this rank to standard error before it is made.
//
// With TEST_ADOPTED=1 the windows are the program's, made by MPI_Win_create and adopted. With
// LAPWING_CACHE_ACQUIRE=thread each thread acquires for itself where it begins.
//
// With TEST_COPIES=1 every read of another rank's bytes is made a second time, from automatic copies of all segments
// (class Prefetch), with TEST_COPIES=2 from manual ones, which are updated between the phases.
#include "window/random_program.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/oracle.hpp"

#include <lapwing/located_value.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

namespace {

using lapwing::ByteBlock;
using lapwing::Layout;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Window;
using test::Image;
using test::Plan;
using test::Random;
using test::Segment;
using test::Shape;
using test::Use;

constexpr std::size_t guard_bytes = 16;
constexpr std::byte guard{0xA5};

[[nodiscard]] bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// A destination between guards: a read never writes outside what it was given.
class GuardedBuffer {
public:
    explicit GuardedBuffer(std::uint64_t size) : memory_(size + 2 * guard_bytes, guard) {}
    [[nodiscard]] std::span<std::byte> bytes() {
        return std::span{memory_}.subspan(guard_bytes, memory_.size() - 2 * guard_bytes);
    }
    [[nodiscard]] bool guards_intact() const {
        const auto intact = [](std::span<const std::byte> bytes) {
            return std::ranges::all_of(bytes, [](std::byte byte) { return byte == guard; });
        };
        const std::span<const std::byte> all{memory_};
        return intact(all.first(guard_bytes)) && intact(all.last(guard_bytes));
    }

private:
    std::vector<std::byte> memory_;
};

/// Copies of the segments of all other ranks of a window, if there are to be any.
class Copies {
public:
    explicit Copies(Window& window) : own_{window.team().rank()} {
        const std::uint64_t kind = test::number_from_environment("TEST_COPIES", 0);
        if (kind == 0) return;
        const bool consistent = kind == 1;
        manual_ = !consistent;
        copies_.emplace(window, lapwing::PrefetchOptions{.consistent = consistent});
        // An own segment has no copies: nobody tells of stores to it.
        for (int rank = 0; rank < window.team().size(); ++rank)
            if (Rank{rank} != own_) slices_.emplace(rank, copies_->request(Rank{rank}));
        // As a program that reads a few columns: an own write of these bytes goes to two copies.
        for (int rank = 0; rank < window.team().size(); ++rank)
            if (Rank{rank} != own_ && window.size(Rank{rank}) >= 100)
                (void)copies_->request(Rank{rank}, Offset{3}, lapwing::Layout::strided(5, 7, 19));
    }

    [[nodiscard]] bool of(Rank rank) const { return copies_ && rank != own_; }
    void update() {
        if (manual_) copies_->update();
    }
    /// One by one, since other threads may have the copies filled meanwhile.
    void read(Rank rank, std::uint64_t offset, std::span<std::byte> bytes) {
        const lapwing::PrefetchedSlice& slice = slices_.at(rank.value);
        for (std::byte& byte : bytes) byte = copies_->read<std::byte>(slice, offset++);
    }

private:
    Rank own_;
    bool manual_ = false;
    std::optional<lapwing::Prefetch> copies_;
    std::map<int, lapwing::PrefetchedSlice> slices_; ///< by rank
};

/// A window of the program's, which the test adopts.
class HostWindow {
public:
    /// Collective.
    explicit HostWindow(std::uint64_t bytes) : memory_(bytes / 8 + 1) {
        MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
    }
    /// Collective.
    ~HostWindow() { MPI_Win_free(&window_); }
    HostWindow(const HostWindow&) = delete;
    HostWindow& operator=(const HostWindow&) = delete;
    [[nodiscard]] MPI_Win get() const { return window_; }

private:
    std::vector<std::uint64_t> memory_; ///< aligned for atomics
    MPI_Win window_ = MPI_WIN_NULL;
};

/// An acquire by one thread of a rank is none for the others.
[[nodiscard]] bool threads_acquire_for_themselves() {
    const char* const scope = std::getenv("LAPWING_CACHE_ACQUIRE");
    return scope != nullptr && std::string_view{scope} == "thread";
}

/// The real thing, for the actors of this rank.
struct Real {
    lapwing::Team& team;
    std::vector<Window>& windows;
    std::vector<Copies>& copies; ///< of each window
    lapwing::Lock& lock;
};

/// Bytes of one place.
struct Range {
    int place = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// One actor's part of a phase: on the image, and on the windows too when `real` is given. What is drawn at random must
/// not depend on whether it is.
class ActorRun {
public:
    ActorRun(const Shape& shape, const Plan& plan, Image& image, int actor, Random random, Real* real,
             std::string where)
        : shape_{shape},
          plan_{plan},
          image_{image},
          actor_{actor},
          random_{random},
          real_{real},
          where_{std::move(where)} {}

    void run(int steps) {
        if (real_ != nullptr && threads_acquire_for_themselves()) real_->team.acquire();
        list_notified_puts();
        for (step_ = 0; step_ < steps; ++step_) {
            step();
            if (!notified_puts_.empty() && random_.chance(30)) notified_put();
        }
        while (!notified_puts_.empty()) notified_put();
        const std::uint64_t order = random_.next();
        if (order % 2 == 0) finish_all(); // else after the waits
        wait_for_notified_puts();
        finish_all();
    }

    [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

private:
    struct PendingGet {
        Range range;
        GuardedBuffer buffer;
        std::vector<std::byte> expected;
        lapwing::Completion completion;
    };
    struct PendingPut {
        Range range;
        std::vector<std::byte> source;
        lapwing::Completion completion;
    };
    /// A list of atomics, and the values that it must find.
    struct PendingList {
        virtual ~PendingList() = default;
        Range range; ///< of its first value
        lapwing::Completion completion;
        [[nodiscard]] virtual std::span<const std::byte> seen() const = 0;
        [[nodiscard]] virtual std::span<const std::byte> wanted() const = 0;
    };
    template <class T>
    struct PendingListOf final : PendingList {
        std::vector<T> before;
        std::vector<T> expected;
        [[nodiscard]] std::span<const std::byte> seen() const override { return std::as_bytes(std::span{before}); }
        [[nodiscard]] std::span<const std::byte> wanted() const override { return std::as_bytes(std::span{expected}); }
    };
    /// Blocks of a range, and where they are in the memory of this rank.
    struct Blocks {
        Range range;
        std::uint64_t count = 0;
        std::uint64_t bytes = 0; ///< of a block
        std::uint64_t stride = 0;
        std::uint64_t local_stride = 0;

        [[nodiscard]] std::uint64_t local_size() const { return (count - 1) * local_stride + bytes; }
        [[nodiscard]] Layout there() const { return Layout::strided(count, bytes, static_cast<std::int64_t>(stride)); }
        [[nodiscard]] Layout here() const {
            return Layout::strided(count, bytes, static_cast<std::int64_t>(local_stride));
        }
        [[nodiscard]] Range block(std::uint64_t k) const { return {range.place, range.offset + k * stride, bytes}; }
    };

    // ---- names and failures

    [[nodiscard]] Window& window(int place) const {
        return real_->windows[static_cast<std::size_t>(place / shape_.ranks)];
    }
    [[nodiscard]] Rank rank(int place) const { return Rank{place % shape_.ranks}; }
    /// What is seen of a range is in its copy as well.
    void compare_copy(const char* what, const Range& range) {
        Copies& copies = real_->copies[static_cast<std::size_t>(range.place / shape_.ranks)];
        if (!copies.of(rank(range.place))) return;
        std::vector<std::byte> bytes(range.size);
        copies.read(rank(range.place), range.offset, bytes);
        compare(what, range, bytes, load(range));
    }

    void trace(const char* what, const Range& range) const {
        static const bool on = test::number_from_environment("TEST_TRACE", 0) != 0;
        if (on && real_ != nullptr) std::fprintf(stderr, "%s\n", describe(what, range).c_str());
    }
    [[nodiscard]] std::string describe(const char* what, const Range& range) const {
        std::ostringstream text;
        text << where_ << ", step " << step_ << ": " << what << " of " << range.size << " bytes at offset "
             << range.offset << " of rank " << rank(range.place).value << " in window " << range.place / shape_.ranks
             << " (" << name(window(range.place).path(rank(range.place))) << ")";
        return text.str();
    }
    void fail(const std::string& text) {
        if (failures_.size() < 5) failures_.push_back(text);
    }
    void compare(const char* what, const Range& range, std::span<const std::byte> seen,
                 std::span<const std::byte> expected) {
        if (same(seen, expected)) return;
        const auto [at, wanted] = std::ranges::mismatch(seen, expected);
        const auto wrong = std::transform_reduce(seen.begin(), seen.end(), expected.begin(), 0, std::plus<>{},
                                                 [](std::byte a, std::byte b) { return a == b ? 0 : 1; });
        std::ostringstream text;
        text << describe(what, range) << ": byte " << at - seen.begin() << " is " << std::to_integer<int>(*at)
             << ", not " << std::to_integer<int>(*wanted) << "; " << wrong << " bytes differ";
        fail(text.str());
    }

    // ---- choosing

    /// A range that this actor may write, or read. Half of them touch the range before, since order matters there.
    [[nodiscard]] std::optional<Range> choose(bool write) {
        const auto& own = plan_.own(actor_);
        const auto& fixed = plan_.read_only();
        const std::uint64_t count = own.size() + (write ? 0 : fixed.size());
        const bool near = random_.chance(60);
        const std::uint64_t pick = random_.next();
        const std::uint64_t size = test::random_size(random_);
        const std::uint64_t place_in_segment = random_.next();
        if (count == 0) return {};
        std::size_t index = 0;
        if (near && last_segment_ && (!write || plan_[*last_segment_].use == Use::owned)) {
            index = *last_segment_;
        } else {
            const std::uint64_t at = pick % count;
            index = at < own.size() ? own[at] : fixed[at - own.size()];
            last_offset_.reset();
        }
        const Segment& segment = plan_[index];
        Range range{.place = segment.place, .size = std::min(size, segment.size())};
        std::uint64_t first = segment.begin;
        std::uint64_t last = segment.end - range.size; // largest offset
        if (near && last_segment_ == index && last_offset_) {
            first =
                std::max(first, *last_offset_ - std::min(*last_offset_, std::max<std::uint64_t>(range.size / 2, 4)));
            last = std::max(first, std::min(last, *last_offset_ + std::max<std::uint64_t>(last_size_ / 2, 4)));
        }
        range.offset = std::min(first + place_in_segment % (last - first + 1), segment.end - range.size);
        last_segment_ = index;
        last_offset_ = range.offset;
        last_size_ = range.size;
        return range;
    }

    /// An aligned value of `size` bytes among those that this actor may write.
    [[nodiscard]] std::optional<Range> choose_value(std::uint64_t size) {
        const std::optional<Range> range = choose(true);
        if (!range) return {};
        const Segment& segment = plan_[*last_segment_];
        std::uint64_t offset = (range->offset + size - 1) / size * size;
        if (offset + size > segment.end) offset = (segment.begin + size - 1) / size * size;
        if (offset + size > segment.end) return {};
        last_offset_ = offset;
        last_size_ = size;
        return Range{range->place, offset, size};
    }

    [[nodiscard]] std::memory_order random_order() {
        constexpr std::array orders{std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
                                    std::memory_order_acq_rel, std::memory_order_seq_cst};
        return random_.chance(70) ? std::memory_order_relaxed : orders[random_.below(orders.size())];
    }

    // ---- operations

    void step() {
        const std::uint64_t kind = random_.below(122);
        if (kind >= 119) prefetch();
        else if (kind >= 113) own_list();
        else if (kind >= 106) get_blocks();
        else if (kind >= 100) put_blocks();
        else if (kind < 20) put();
        else if (kind < 30) start_put();
        else if (kind < 46) get();
        else if (kind < 57) start_get();
        else if (kind < 62) put_value();
        else if (kind < 67) get_value();
        else if (kind < 77) own_atomic();
        else if (kind < 81) own_compare_swap();
        else if (kind < 85) add_to_counter();
        else if (kind < 86) add_under_lock();
        else if (kind < 92) finish_one();
        else synchronise();
    }

    void put() {
        const auto range = choose(true);
        if (!range) return;
        std::vector<std::byte> source(range->size);
        random_.fill(source);
        store(*range, source);
        if (real_ == nullptr) return;
        trace("put", *range);
        window(range->place).put(rank(range->place), Offset{range->offset}, source);
        std::ranges::fill(source, std::byte{0xDB}); // may be reused at once
    }

    void start_put() {
        const auto range = choose(true);
        if (!range) return;
        auto pending = std::make_unique<PendingPut>(PendingPut{*range, std::vector<std::byte>(range->size), {}});
        random_.fill(pending->source);
        store(*range, pending->source);
        if (real_ != nullptr) {
            trace("start_put", *range);
            pending->completion =
                window(range->place).start_put(rank(range->place), Offset{range->offset}, pending->source);
            puts_.push_back(std::move(pending));
        }
    }

    void get() {
        const auto range = choose(false);
        if (!range || real_ == nullptr) return;
        trace("get", *range);
        GuardedBuffer buffer{range->size};
        window(range->place).get(rank(range->place), Offset{range->offset}, buffer.bytes());
        compare("get", *range, buffer.bytes(), load(*range));
        if (!buffer.guards_intact()) fail(describe("get", *range) + ": wrote outside its destination");
        compare_copy("read of a copy", *range);
    }

    void start_get() {
        const auto range = choose(false);
        if (!range || real_ == nullptr) return;
        trace("start_get", *range);
        const auto now = load(*range);
        auto pending = std::make_unique<PendingGet>(
            PendingGet{*range, GuardedBuffer{range->size}, std::vector<std::byte>(now.begin(), now.end()), {}});
        pending->completion =
            window(range->place).start_get(rank(range->place), Offset{range->offset}, pending->buffer.bytes());
        gets_.push_back(std::move(pending));
    }

    /// Blocks of a range that this actor may write, or read.
    [[nodiscard]] std::optional<Blocks> choose_blocks(bool write) {
        const auto range = choose(write);
        const std::uint64_t block = random_.next();
        const std::uint64_t gap = random_.below(24);
        const std::uint64_t local_gap = random_.below(3);
        if (!range) return {};
        Blocks blocks{.range = *range};
        blocks.bytes = 1 + block % std::min<std::uint64_t>(range->size, block / 1000 % 4 == 0 ? 2000 : 40);
        blocks.stride = blocks.bytes + gap;
        blocks.count = (range->size - blocks.bytes) / blocks.stride + 1;
        blocks.local_stride = blocks.bytes + 5 * local_gap;
        blocks.range.size = (blocks.count - 1) * blocks.stride + blocks.bytes;
        return blocks;
    }

    void put_blocks() {
        const auto blocks = choose_blocks(true);
        const bool waits = random_.chance(50);
        if (!blocks) return;
        std::vector<std::byte> source(blocks->local_size());
        random_.fill(source);
        for (std::uint64_t k = 0; k < blocks->count; ++k)
            store(blocks->block(k), std::span{source}.subspan(k * blocks->local_stride, blocks->bytes));
        if (real_ == nullptr) return;
        trace(waits ? "put of blocks" : "start_put of blocks", blocks->range);
        Window& there = window(blocks->range.place);
        const Rank target = rank(blocks->range.place);
        const Offset offset{blocks->range.offset};
        if (waits) {
            there.put(blocks->here(), source.data(), target, offset, blocks->there());
            std::ranges::fill(source, std::byte{0xDB});
            return;
        }
        auto pending = std::make_unique<PendingPut>(PendingPut{blocks->range, std::move(source), {}});
        pending->completion = there.start_put(blocks->here(), pending->source.data(), target, offset, blocks->there());
        puts_.push_back(std::move(pending));
    }

    void get_blocks() {
        const auto blocks = choose_blocks(false);
        const bool waits = random_.chance(50);
        if (!blocks || real_ == nullptr) return;
        trace(waits ? "get of blocks" : "start_get of blocks", blocks->range);
        // What lies between the blocks stays.
        std::vector<std::byte> expected(blocks->local_size(), guard);
        for (std::uint64_t k = 0; k < blocks->count; ++k)
            std::ranges::copy(load(blocks->block(k)),
                              expected.begin() + static_cast<std::ptrdiff_t>(k * blocks->local_stride));
        auto pending = std::make_unique<PendingGet>(
            PendingGet{blocks->range, GuardedBuffer{blocks->local_size()}, std::move(expected), {}});
        Window& there = window(blocks->range.place);
        const Rank target = rank(blocks->range.place);
        const Offset offset{blocks->range.offset};
        std::byte* const base = pending->buffer.bytes().data();
        if (!waits) {
            pending->completion = there.start_get(target, offset, blocks->there(), blocks->here(), base);
            return gets_.push_back(std::move(pending));
        }
        there.get(target, offset, blocks->there(), blocks->here(), base);
        compare("get of blocks", blocks->range, pending->buffer.bytes(), pending->expected);
        if (!pending->buffer.guards_intact())
            fail(describe("get of blocks", blocks->range) + ": wrote outside its destination");
    }

    /// A hint, which changes nothing.
    void prefetch() {
        const auto range = choose(false);
        if (!range || real_ == nullptr) return;
        trace("prefetch", *range);
        window(range->place).prefetch(rank(range->place), Offset{range->offset}, range->size);
    }

    struct Value {
        std::uint32_t a;
        std::uint16_t b;
        std::uint8_t c[3];
    };

    void put_value() {
        const auto range = choose(true);
        Value value;
        random_.fill(std::as_writable_bytes(std::span{&value, 1}));
        if (!range || range->size < sizeof value) return;
        const Range exact{range->place, range->offset, sizeof value};
        store(exact, std::as_bytes(std::span{&value, 1}));
        if (real_ == nullptr) return;
        trace("put of a value", exact);
        window(exact.place).put(rank(exact.place), Offset{exact.offset}, value);
    }

    void get_value() {
        const auto range = choose(false);
        if (!range || range->size < sizeof(Value) || real_ == nullptr) return;
        const Range exact{range->place, range->offset, sizeof(Value)};
        trace("get of a value", exact);
        const auto value = window(exact.place).get<Value>(rank(exact.place), Offset{exact.offset});
        compare("get of a value", exact, std::as_bytes(std::span{&value, 1}), load(exact));
        compare_copy("read of a copied value", exact);
    }

    template <class T>
    void own_atomic_of() {
        using Operation = lapwing::detail::mpi::AtomicOperation;
        const auto range = choose_value(sizeof(T));
        constexpr std::array operations{Operation::add,  Operation::min,     Operation::max,    Operation::replace,
                                        Operation::read, Operation::bit_and, Operation::bit_or, Operation::bit_xor};
        const Operation operation = operations[random_.below(std::is_integral_v<T> ? operations.size() : 5)];
        const std::uint64_t bits = random_.next();
        const std::memory_order order = random_order();
        if (!range) return;
        T operand{};
        T before = load_as<T>(*range);
        if constexpr (std::is_integral_v<T>) {
            operand = static_cast<T>(bits);
        } else {
            // Small whole numbers, so that sums are exact; what was there may be no number at all.
            operand = static_cast<T>(static_cast<std::int64_t>(bits % 2000) - 1000);
            const auto start = static_cast<T>(static_cast<std::int64_t>(bits / 2000 % 2000) - 1000);
            store_as(*range, start);
            if (real_ != nullptr) {
                trace("exchange", *range);
                const T seen =
                    window(range->place).atomic<T>(rank(range->place), Offset{range->offset}).exchange(start, order);
                compare("exchange", *range, std::as_bytes(std::span{&seen, 1}), std::as_bytes(std::span{&before, 1}));
            }
            before = start;
        }
        store_as(*range, test::after_atomic(operation, before, operand));
        if (real_ == nullptr) return;
        trace("atomic", *range);
        const T seen = test::call_atomic(operation, window(range->place), rank(range->place), Offset{range->offset},
                                         operand, order);
        compare("atomic", *range, std::as_bytes(std::span{&seen, 1}), std::as_bytes(std::span{&before, 1}));
    }

    /// Without a result: its later operations see it.
    template <class T>
    void own_add_of() {
        const auto range = choose_value(sizeof(T));
        const auto operand = static_cast<T>(random_.next());
        if (!range) return;
        store_as(*range, static_cast<T>(load_as<T>(*range) + operand));
        if (real_ == nullptr) return;
        trace("add", *range);
        window(range->place).atomic<T>(rank(range->place), Offset{range->offset}).add(operand);
    }

    struct Wide {
        std::uint64_t low;
        std::uint64_t high;
        friend bool operator==(const Wide&, const Wide&) = default;
    };

    /// Of 16 bytes, anywhere.
    void own_wide_atomic() {
        const auto range = choose(true);
        const std::uint64_t kind = random_.below(4);
        const Wide operand{random_.next(), random_.next()};
        const std::memory_order order = random_order();
        if (!range || range->size < sizeof(Wide)) return;
        const Range exact{range->place, range->offset, sizeof(Wide)};
        const Wide before = load_as<Wide>(exact);
        const Wide expected = kind == 0 ? operand : before; // what differs is left alone
        if (kind != 3 && (kind != 0 || before == expected)) store_as(exact, operand);
        if (real_ == nullptr) return;
        trace("atomic of 16 bytes", exact);
        const lapwing::AtomicReference<Wide> value =
            window(exact.place).atomic<Wide>(rank(exact.place), Offset{exact.offset});
        Wide seen{};
        if (kind < 2) seen = value.compare_swap(expected, operand, order);
        else if (kind == 2) seen = value.exchange(operand, order);
        else seen = value.load(order);
        compare("atomic of 16 bytes", exact, std::as_bytes(std::span{&seen, 1}), std::as_bytes(std::span{&before, 1}));
    }

    /// The better of two pairs, anywhere. Of few values, so that many are equal.
    template <class T>
    void own_located_of() {
        using Pair = lapwing::LocatedValue<T, 1>;
        const auto range = choose(true);
        const std::uint64_t bits = random_.next();
        const Pair start{static_cast<T>(bits % 4), {static_cast<std::int64_t>(bits / 4 % 8) - 4}};
        const Pair operand{static_cast<T>(bits / 32 % 4), {static_cast<std::int64_t>(bits / 128 % 8) - 4}};
        const bool smallest = random_.chance(50);
        const bool fetches = random_.chance(50); // else only later operations see it
        const std::memory_order order = random_order();
        if (!range || range->size < sizeof(Pair)) return;
        const Range exact{range->place, range->offset, sizeof(Pair)};
        const Pair before = load_as<Pair>(exact); // may be no number at all
        const bool better = smallest ? operand.value < start.value : start.value < operand.value;
        store_as(exact, better || (operand.value == start.value && operand.index < start.index) ? operand : start);
        if (real_ == nullptr) return;
        const lapwing::AtomicReference<Pair> value =
            window(exact.place).atomic<Pair>(rank(exact.place), Offset{exact.offset});
        const auto found = [&](const char* what, const Pair& seen, const Pair& wanted) {
            compare(what, exact, std::as_bytes(std::span{&seen, 1}), std::as_bytes(std::span{&wanted, 1}));
        };
        trace("exchange of a pair", exact);
        found("exchange of a pair", value.exchange(start, order), before);
        trace("best of two pairs", exact);
        if (fetches)
            found("best of two pairs", smallest ? value.fetch_min(operand, order) : value.fetch_max(operand, order),
                  start);
        else if (smallest) value.min(operand);
        else value.max(operand);
    }

    void own_atomic() {
        switch (random_.below(11)) {
        case 0: return own_atomic_of<std::int32_t>();
        case 1: return own_atomic_of<std::uint32_t>();
        case 2: return own_atomic_of<std::int64_t>();
        case 3: return own_atomic_of<std::uint64_t>();
        case 4: return own_atomic_of<float>();
        case 5: return own_add_of<std::uint32_t>();
        case 6: return own_add_of<std::uint64_t>();
        case 7: return own_wide_atomic();
        case 8: return own_located_of<std::int64_t>();
        case 9: return own_located_of<double>();
        default: return own_atomic_of<double>();
        }
    }

    template <class T>
    void own_compare_swap_of() {
        const auto range = choose_value(sizeof(T));
        const bool equal = random_.chance(60);
        const auto desired = static_cast<T>(random_.next());
        const auto other = static_cast<T>(random_.next());
        const std::memory_order order = random_order();
        if (!range) return;
        const T before = load_as<T>(*range);
        const T expected = equal ? before : other;
        if (before == expected) store_as(*range, desired);
        if (real_ == nullptr) return;
        trace("compare_swap", *range);
        const T seen = window(range->place)
                           .atomic<T>(rank(range->place), Offset{range->offset})
                           .compare_swap(expected, desired, order);
        compare("compare_swap", *range, std::as_bytes(std::span{&seen, 1}), std::as_bytes(std::span{&before, 1}));
    }

    void own_compare_swap() {
        if (random_.chance(50)) own_compare_swap_of<std::uint32_t>();
        else own_compare_swap_of<std::int64_t>();
    }

    /// Many atomics at values of one segment, some of them at the same.
    template <class T>
    void own_list_of() {
        using Operation = lapwing::detail::mpi::AtomicOperation;
        constexpr std::array operations{Operation::add,     Operation::min,    Operation::max,    Operation::replace,
                                        Operation::bit_and, Operation::bit_or, Operation::bit_xor};
        const auto first = choose_value(sizeof(T));
        const Operation operation = operations[random_.below(operations.size())];
        const std::uint64_t count = 1 + random_.below(random_.chance(10) ? 700 : 20);
        const bool swaps = random_.chance(30); // where they find what they expect
        const bool waits = random_.chance(50);
        Random values{random_.next()};
        if (!first) return;
        const Segment& segment = plan_[*last_segment_];
        const std::uint64_t begin = (segment.begin + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const std::uint64_t cells = (segment.end - begin) / sizeof(T);
        auto pending = std::make_unique<PendingListOf<T>>();
        pending->range = *first;
        std::vector<Offset> offsets;
        std::vector<T> operands;
        std::vector<T> expectations;
        for (std::uint64_t k = 0; k < count; ++k) {
            const Range cell{segment.place, k == 0 ? first->offset : begin + values.below(cells) * sizeof(T),
                             sizeof(T)};
            const T before = load_as<T>(cell);
            const auto operand = static_cast<T>(values.next());
            const T expectation = values.chance(60) ? before : static_cast<T>(values.next());
            offsets.push_back(Offset{cell.offset});
            operands.push_back(operand);
            expectations.push_back(expectation);
            pending->expected.push_back(before);
            if (!swaps) store_as(cell, test::after_atomic(operation, before, operand));
            else if (before == expectation) store_as(cell, operand);
        }
        if (real_ == nullptr) return;
        trace(swaps ? "list of compare_swap" : "list of atomics", *first);
        pending->before.resize(count);
        Window& there = window(first->place);
        pending->completion =
            swaps ? there.start_compare_swap(rank(first->place), offsets, expectations, operands,
                                             std::span{pending->before})
                  : there.start_fetch(operation, rank(first->place), offsets, operands, std::span{pending->before});
        lists_.push_back(std::move(pending));
        if (waits) finish_list(lists_.size() - 1, 4);
    }

    void own_list() {
        switch (random_.below(3)) {
        case 0: return own_list_of<std::uint32_t>();
        case 1: return own_list_of<std::int64_t>();
        default: return own_list_of<std::uint64_t>();
        }
    }

    void finish_list(std::size_t index, std::uint64_t how) {
        const auto at = lists_.begin() + static_cast<std::ptrdiff_t>(index);
        const std::unique_ptr<PendingList> list = std::move(*at);
        lists_.erase(at);
        trace("completion of a list", list->range);
        complete(list->completion, how);
        compare("list of atomics", list->range, list->seen(), list->wanted());
    }

    void add_to_counter() {
        const std::uint64_t pick = random_.next();
        const std::uint64_t cell = random_.next();
        const std::uint64_t operand = random_.next();
        if (plan_.counters().empty()) return;
        const Segment& segment = plan_[plan_.counters()[pick % plan_.counters().size()]];
        const std::uint64_t first = (segment.begin + 7) / 8;
        const Range range{segment.place, 8 * (first + cell % (segment.end / 8 - first)), 8};
        {
            const std::lock_guard guard{image_.mutex()};
            store_as(range, load_as<std::uint64_t>(range) + operand);
        }
        if (real_ == nullptr) return;
        trace("add to a counter", range);
        if (operand % 2 == 0)
            (void)window(range.place).atomic<std::uint64_t>(rank(range.place), Offset{range.offset}).fetch_add(operand);
        else window(range.place).atomic<std::uint64_t>(rank(range.place), Offset{range.offset}).add(operand);
    }

    void add_under_lock() {
        const std::uint64_t pick = random_.next();
        const auto operand = static_cast<std::uint8_t>(random_.next());
        if (plan_.locked().empty()) return;
        const Segment& segment = plan_[plan_.locked()[pick % plan_.locked().size()]];
        const Range range{segment.place, segment.begin, segment.size()};
        const auto add = [&](std::span<std::byte> bytes) {
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(std::to_integer<unsigned>(byte) + operand);
        };
        {
            const std::lock_guard guard{image_.mutex()};
            add(image_.bytes(range.place, range.offset, range.size));
        }
        if (real_ == nullptr) return;
        trace("add under the lock", range);
        std::vector<std::byte> bytes(range.size);
        const std::lock_guard guard{real_->lock};
        window(range.place).get(rank(range.place), Offset{range.offset}, bytes);
        add(bytes);
        window(range.place).put(rank(range.place), Offset{range.offset}, bytes);
    }

    void synchronise() {
        const std::uint64_t kind = random_.below(8);
        const auto place = static_cast<int>(random_.below(static_cast<std::uint64_t>(shape_.places())));
        if (real_ == nullptr) return;
        trace("synchronisation", {place, kind, 0});
        switch (kind) {
        case 0:
        case 1:
            window(place).flush(rank(place));
            check_completed([&](const Range& range) { return range.place == place; });
            break;
        case 2:
        case 3:
            window(place).flush();
            check_completed([&](const Range& range) { return range.place / shape_.ranks == place / shape_.ranks; });
            break;
        case 4: window(place).release(); break;
        case 5: window(place).acquire(); break;
        case 6: real_->team.fence(); break;
        default: (void)real_->team.progress(); break;
        }
    }

    /// A flush completes own operations at both ends: the values of gets are here without a wait.
    template <class Covers>
    void check_completed(Covers&& covers) {
        for (const auto& pending : gets_)
            if (covers(pending->range))
                compare("start_get, completed by a flush,", pending->range, pending->buffer.bytes(), pending->expected);
    }

    // ---- completions

    void finish_one() {
        const std::uint64_t pick = random_.next();
        const std::uint64_t how = random_.below(5);
        const bool a_put = random_.chance(50);
        if (real_ == nullptr) return;
        if (pick % 3 == 0 && !lists_.empty()) return finish_list(pick / 3 % lists_.size(), how);
        if (a_put && !puts_.empty()) finish(puts_, pick % puts_.size(), how);
        else if (!gets_.empty()) finish(gets_, pick % gets_.size(), how);
    }
    void finish_all() {
        while (!gets_.empty()) finish(gets_, gets_.size() - 1, gets_.size() % 5);
        while (!puts_.empty()) finish(puts_, 0, puts_.size() % 5);
        while (!lists_.empty()) finish_list(lists_.size() - 1, lists_.size() % 5);
    }

    template <class Pending>
    void finish(std::vector<std::unique_ptr<Pending>>& list, std::uint64_t index, std::uint64_t how) {
        const auto at = list.begin() + static_cast<std::ptrdiff_t>(index);
        const std::unique_ptr<Pending> pending = std::move(*at);
        list.erase(at);
        trace("completion", pending->range);
        complete(pending->completion, how);
        if constexpr (std::is_same_v<Pending, PendingGet>) {
            compare("start_get", pending->range, pending->buffer.bytes(), pending->expected);
            if (!pending->buffer.guards_intact())
                fail(describe("start_get", pending->range) + ": wrote outside its destination");
        } else {
            std::ranges::fill(pending->source, std::byte{0xDB});
        }
    }

    static void complete(lapwing::Completion& completion, std::uint64_t how) {
        switch (how) {
        case 0:
            while (!completion.test()) std::this_thread::yield();
            break;
        case 1: {
            const lapwing::Completion ends_here{std::move(completion)};
        } break;
        case 2: completion = lapwing::Completion{}; break; // waits for what it stood for
        case 3: {
            lapwing::Completion other;
            other = std::move(completion);
            other.wait();
            break;
        }
        default: completion.wait(); break;
        }
    }

    // ---- notified puts

    struct NotifiedPut {
        std::size_t segment;
        std::size_t piece;
    };

    void list_notified_puts() {
        for (const std::size_t index : plan_.notified())
            if (plan_[index].actor == actor_)
                for (std::size_t piece = 0; piece + 1 < plan_[index].cuts.size(); ++piece)
                    notified_puts_.push_back({index, piece});
    }

    void notified_put() {
        const NotifiedPut next = notified_puts_.back();
        notified_puts_.pop_back();
        const Segment& segment = plan_[next.segment];
        const Range range{segment.place, segment.cuts[next.piece],
                          segment.cuts[next.piece + 1] - segment.cuts[next.piece]};
        const bool after_put = random_.chance(40);
        const bool before_get = random_.chance(40);
        std::vector<std::byte> source(range.size);
        if (real_ != nullptr) trace("notified put", range);
        if (after_put) {
            // The notified data replaces what was put before, or program order is lost.
            random_.fill(source);
            if (real_ != nullptr) window(range.place).put(rank(range.place), Offset{range.offset}, source);
        }
        random_.fill(source);
        const bool from_blocks = random_.chance(30);
        const std::uint64_t cut = random_.below(range.size + 1);
        store(range, source);
        if (real_ == nullptr) return;
        if (from_blocks) { // the two halves, the other way round in memory
            std::vector<std::byte> memory(range.size + 8);
            std::ranges::copy(std::span{source}.subspan(cut), memory.begin());
            std::ranges::copy(std::span{source}.first(cut),
                              memory.begin() + static_cast<std::ptrdiff_t>(range.size - cut + 8));
            const std::array blocks{ByteBlock{static_cast<std::int64_t>(range.size - cut + 8), cut},
                                    ByteBlock{0, range.size - cut}};
            window(range.place)
                .put_notify(Layout::list(blocks), memory.data(), rank(range.place), Offset{range.offset},
                            Layout::contiguous(range.size), counter_of(actor_));
            std::ranges::fill(memory, std::byte{0xDB});
        } else {
            window(range.place).put_notify(rank(range.place), Offset{range.offset}, source, counter_of(actor_));
        }
        std::ranges::fill(source, std::byte{0xDB});
        if (before_get) {
            GuardedBuffer buffer{range.size};
            window(range.place).get(rank(range.place), Offset{range.offset}, buffer.bytes());
            compare("get after a notified put", range, buffer.bytes(), load(range));
            compare_copy("read of a copy after a notified put", range);
        }
    }

    void wait_for_notified_puts() {
        for (const std::size_t index : plan_.notified()) {
            const Segment& segment = plan_[index];
            const std::uint64_t how = random_.below(3);
            if (segment.place % shape_.ranks != shape_.rank_of(actor_) ||
                shape_.thread_of(segment.actor) != shape_.thread_of(actor_) || real_ == nullptr)
                continue;
            Window& notified = window(segment.place);
            const unsigned counter = counter_of(segment.actor);
            const std::uint64_t count = segment.cuts.size() - 1;
            const Range range{segment.place, segment.begin, segment.size()};
            trace("wait for notified puts", range);
            if (how == 0) {
                for (std::uint64_t i = 0; i < count; ++i) notified.wait_notified(counter);
            } else {
                if (how == 1)
                    while (notified.notified(counter) < count) std::this_thread::yield();
                notified.wait_notified(counter, count);
            }
            const auto expected = load(range);
            compare("notified put, in memory,", range, notified.local().subspan(range.offset, range.size), expected);
            std::vector<std::byte> bytes(range.size);
            notified.get(rank(segment.place), Offset{range.offset}, bytes);
            compare("notified put", range, bytes, expected);
            if (notified.notified(counter) != 0) fail(describe("notified put", range) + ": too many notifications");
        }
    }

    [[nodiscard]] static unsigned counter_of(int actor) { return static_cast<unsigned>(actor); }

    // ---- the image

    [[nodiscard]] std::span<const std::byte> load(const Range& range) {
        return image_.bytes(range.place, range.offset, range.size);
    }
    void store(const Range& range, std::span<const std::byte> bytes) {
        std::ranges::copy(bytes, image_.bytes(range.place, range.offset, range.size).begin());
    }
    template <class T>
    [[nodiscard]] T load_as(const Range& range) {
        T value;
        std::memcpy(&value, image_.bytes(range.place, range.offset, sizeof value).data(), sizeof value);
        return value;
    }
    template <class T>
    void store_as(const Range& range, T value) {
        store(range, std::as_bytes(std::span{&value, 1}));
    }

    const Shape& shape_;
    const Plan& plan_;
    Image& image_;
    int actor_;
    Random random_;
    Real* real_;
    std::string where_;
    int step_ = 0;
    std::vector<std::string> failures_;

    std::optional<std::size_t> last_segment_;
    std::optional<std::uint64_t> last_offset_;
    std::uint64_t last_size_ = 0;

    std::vector<std::unique_ptr<PendingGet>> gets_;
    std::vector<std::unique_ptr<PendingPut>> puts_;
    std::vector<std::unique_ptr<PendingList>> lists_;
    std::vector<NotifiedPut> notified_puts_;
};

/// A random program from its seed to its end. Collective.
class Program {
public:
    /// `windows`: 0: one or two.
    Program(std::uint64_t seed, int threads, int windows) : random_{seed}, seed_{seed} {
        shape_.ranks = test::world_size();
        shape_.threads = threads;
        shape_.windows = windows != 0 ? windows : random_.chance(30) ? 2 : 1;
        const std::uint64_t largest = windows > 2 ? 5'000 : 50'000;
        for (int place = 0; place < shape_.places(); ++place)
            shape_.sizes.push_back(random_.chance(15)   ? 0
                                   : random_.chance(20) ? 1 + random_.below(100)
                                                        : 1 + random_.below(largest));
        // Small packets and short queues bring out waits for room.
        constexpr std::array packets{"512", "1k", "1003", "8k", "8000"};
        constexpr std::array in_flight{"1", "2", "4", "4"};
        settings_.set("LAPWING_SERVICE_PACKET", packets[random_.below(packets.size())]);
        settings_.set("LAPWING_SERVICE_IN_FLIGHT", in_flight[random_.below(in_flight.size())]);
    }

    /// Empty when all went as it should on this rank.
    [[nodiscard]] std::vector<std::string> run() {
        lapwing::Runtime runtime{MPI_COMM_WORLD, settings_};
        const bool adopted = test::number_from_environment("TEST_ADOPTED", 0) != 0;
        const lapwing::WindowOptions options{
            .name = "random", .notification_counters = std::max(16U, static_cast<unsigned>(shape_.actors()))};
        std::vector<std::unique_ptr<HostWindow>> hosts;
        std::vector<Window> windows;
        for (int i = 0; i < shape_.windows; ++i) {
            const std::uint64_t bytes = shape_.sizes[place(i, runtime.rank().value)];
            if (adopted)
                windows.push_back(Window::adopt(runtime, hosts.emplace_back(std::make_unique<HostWindow>(bytes))->get(),
                                                false, options));
            else windows.emplace_back(runtime, bytes, options);
        }
        std::vector<Copies> copies;
        copies.reserve(windows.size());
        for (Window& window : windows) copies.emplace_back(window);
        lapwing::Lock lock{runtime};
        Image image{shape_};
        Real real{runtime, windows, copies, lock};

        constexpr int phases = 5;
        constexpr int steps = 40;
        const auto lock_home = static_cast<int>(random_.below(static_cast<std::uint64_t>(shape_.ranks)));
        lapwing::Lock second_lock{runtime, Rank{lock_home}};
        Real second_real{runtime, windows, copies, second_lock};
        for (Copies& one : copies) one.update();
        for (int phase = 0; phase < phases; ++phase) {
            run_phase(phase, steps, image, phase % 2 == 0 ? real : second_real);
            const auto kind = random_.below(6);
            const bool checks = random_.chance(60) || phase + 1 == phases;
            synchronise(kind, runtime, windows);
            for (Copies& one : copies) one.update();
            if (!checks) continue;
            check_memory(phase, image, windows, copies);
            // Nobody may go on to change what another still compares; and all stop together.
            if (!test::agree(runtime, failures_.empty())) break;
        }
        second_lock.close();
        lock.close();
        copies.clear();
        windows.clear();
        hosts.clear();
        runtime.close();
        return std::move(failures_);
    }

private:
    [[nodiscard]] std::size_t place(int window, int rank) const {
        const int index = window * shape_.ranks + rank;
        return static_cast<std::size_t>(index);
    }

    void run_phase(int phase, int steps, Image& image, Real& real) {
        const auto phase_number = static_cast<std::uint64_t>(phase);
        const Plan plan{shape_, Random{seed_, phase_number, 1, 0}};
        const int own_rank = real.team.rank().value;
        const auto make = [&](int actor, Real* there) {
            std::ostringstream where;
            where << "TEST_SEED=" << seed_ << ", phase " << phase << ", rank " << shape_.rank_of(actor) << " thread "
                  << shape_.thread_of(actor);
            return ActorRun{
                shape_, plan,       image, actor, Random{seed_, phase_number, 2, static_cast<std::uint64_t>(actor)},
                there,  where.str()};
        };
        // What the others leave behind is known before this rank's part starts: nothing of it depends on the order.
        for (int actor = 0; actor < shape_.actors(); ++actor)
            if (shape_.rank_of(actor) != own_rank) make(actor, nullptr).run(steps);

        std::vector<std::vector<std::string>> failures(static_cast<std::size_t>(shape_.threads));
        const auto run_actor = [&](int thread) {
            ActorRun actor = make(own_rank * shape_.threads + thread, &real);
            std::vector<std::string>& own = failures[static_cast<std::size_t>(thread)];
            try {
                actor.run(steps);
            } catch (const std::exception& error) {
                own.push_back("TEST_SEED=" + std::to_string(seed_) + ", phase " + std::to_string(phase) + ": " +
                              error.what());
            }
            own.insert(own.end(), actor.failures().begin(), actor.failures().end());
        };
        std::vector<std::thread> threads;
        for (int thread = 1; thread < shape_.threads; ++thread) threads.emplace_back(run_actor, thread);
        run_actor(0);
        for (std::thread& thread : threads) thread.join();
        for (const auto& own : failures) failures_.insert(failures_.end(), own.begin(), own.end());
    }

    /// The ways in which the consistency table lets one phase come before the next.
    void synchronise(std::uint64_t kind, lapwing::Team& team, std::vector<Window>& windows) {
        switch (kind) {
        case 0:
        case 1: team.barrier(); break;
        case 2: team.barrier(static_cast<std::int64_t>(seed_)); break;
        case 3:
            team.notify();
            team.progress();
            team.wait();
            break;
        case 4:
            team.release();
            (void)test::agree(team, true);
            team.acquire();
            break;
        default:
            for (Window& window : windows) window.flush();
            (void)test::agree(team, true);
            for (Window& window : windows) window.fence();
            break;
        }
    }

    void check_memory(int phase, Image& image, std::vector<Window>& windows, std::vector<Copies>& copies) {
        for (int i = 0; i < shape_.windows; ++i) {
            Window& window = windows[static_cast<std::size_t>(i)];
            const int own = window.team().rank().value;
            compare(phase, "local()", i, own, window.local(), image);
            for (int rank = 0; rank < shape_.ranks; ++rank)
                if (const auto reachable = window.reachable(Rank{rank}); !reachable.empty())
                    compare(phase, "reachable()", i, rank, reachable, image);
            const int next = (own + 1) % shape_.ranks;
            std::vector<std::byte> remote(window.size(Rank{next}));
            window.get(Rank{next}, Offset{0}, remote);
            compare(phase, "get", i, next, remote, image);
            if (!copies[static_cast<std::size_t>(i)].of(Rank{next})) continue;
            copies[static_cast<std::size_t>(i)].read(Rank{next}, 0, remote);
            compare(phase, "copy", i, next, remote, image);
        }
    }

    void compare(int phase, const char* how, int window, int rank, std::span<const std::byte> seen, Image& image) {
        const std::span<const std::byte> expected = image.part(static_cast<int>(place(window, rank)));
        std::ostringstream text;
        text << "TEST_SEED=" << seed_ << ", after phase " << phase << ": the part of rank " << rank << " in window "
             << window << ", by " << how << ", ";
        if (seen.size() != expected.size()) {
            text << "has " << seen.size() << " bytes, not " << expected.size();
            failures_.push_back(text.str());
            return;
        }
        if (same(seen, expected)) return;
        const auto [at, wanted] = std::ranges::mismatch(seen, expected);
        const auto offset = static_cast<std::uint64_t>(at - seen.begin());
        text << "is wrong: byte " << offset << " is " << std::to_integer<int>(*at) << ", not "
             << std::to_integer<int>(*wanted);
        const Plan plan{shape_, Random{seed_, static_cast<std::uint64_t>(phase), 1, 0}};
        for (std::size_t i = 0;; ++i) {
            const Segment& segment = plan[i];
            if (segment.place != static_cast<int>(place(window, rank)) || segment.end <= offset) continue;
            text << "; it lies in [" << segment.begin << ", " << segment.end << "), use "
                 << static_cast<int>(segment.use) << ", actor " << segment.actor;
            break;
        }
        failures_.push_back(text.str());
    }

    Shape shape_;
    lapwing::Settings settings_;
    Random random_;
    std::uint64_t seed_;
    std::vector<std::string> failures_;
};

} // namespace

void test::run_random_programs(int threads, std::uint64_t programs, int windows) {
    const std::uint64_t only = test::number_from_environment("TEST_SEED", 0);
    programs = test::number_from_environment("TEST_PROGRAMS", programs);
    for (std::uint64_t seed = only != 0 ? only : 1; seed <= (only != 0 ? only : programs); ++seed) {
        const std::vector<std::string> failures = Program{seed, threads, windows}.run();
        for (const std::string& failure : failures) FAIL_CHECK(failure);
        CHECK(failures.empty());
        if (!test::on_all_ranks(failures.empty())) return;
    }
}
