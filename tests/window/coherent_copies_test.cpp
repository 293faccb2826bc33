// What a window notifies copies beside its cache of: this rank's writes by every kind of call, and acquires. A mirror
// that follows the notifications must stay equal to the other ranks' segments, where each byte has one writer.
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/mirror.hpp"
#include "window/oracle.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/recording.hpp>
#include <lapwing/runtime.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace lapwing;
using test::Bytes;
using test::memory_bytes;
using test::Mirror;
using test::next;
using test::number_from_environment;
using test::Sides;
using test::window_bytes;

namespace {

/// Bytes of every rank's segment that one rank writes.
constexpr std::uint64_t share = window_bytes;

/// Writes of this rank to its share of any segment, at random, each followed by a look at the mirror.
class Writer {
public:
    Writer(Runtime& runtime, Window& window, Mirror& mirror, unsigned seed)
        : runtime_{runtime},
          window_{window},
          mirror_{mirror},
          random_{seed},
          base_{static_cast<std::uint64_t>(runtime.rank().value) * share},
          memory_(memory_bytes) {}

    void run(int steps) {
        const std::vector<std::pair<const char*, void (Writer::*)()>> kinds{
            {"put", &Writer::put},
            {"start_put", &Writer::start_put},
            {"put of a value", &Writer::put_value},
            {"put_notify", &Writer::put_notify},
            {"put of a layout", &Writer::put_layout},
            {"put of an MPI datatype", &Writer::put_datatype},
            {"a plan", &Writer::run_plan},
            {"a production", &Writer::produce},
            {"a production that is given up", &Writer::give_up},
            {"execute_filled", &Writer::fill},
            {"a recording", &Writer::record},
            {"an atomic of int32", &Writer::fetch<std::int32_t>},
            {"an atomic of uint32", &Writer::fetch<std::uint32_t>},
            {"an atomic of int64", &Writer::fetch<std::int64_t>},
            {"an atomic of uint64", &Writer::fetch<std::uint64_t>},
            {"an atomic of double", &Writer::fetch<double>},
            {"compare_swap", &Writer::compare_swap},
            {"an atomic of 16 bytes", &Writer::wide_atomic},
            {"an extreme with its location", &Writer::located_atomic},
            {"an atomic without a result", &Writer::update<std::int32_t>},
            {"an atomic without a result of double", &Writer::update<double>},
            {"a list of atomics", &Writer::fetch_list},
            {"a list of compare_swap", &Writer::compare_swap_list},
            {"reading", &Writer::read},
            {"synchronisation", &Writer::synchronise},
        };
        for (int step = 0; step < steps; ++step) {
            target_ = Rank{static_cast<int>(random_.number(0, runtime_.size() - 1))};
            for (std::byte& byte : memory_) byte = static_cast<std::byte>(random_.number(0, 255));
            expected_ = {};
            later_.clear();
            const auto& [name, kind] = kinds[random_.size(0, kinds.size() - 1)];
            INFO("step " << step << ": " << name << " to rank " << target_.value << " ("
                         << lapwing::name(window_.path(target_)) << ")");
            (this->*kind)();
            REQUIRE(mirror_.check(expected_) == "right");
            for (Completion& completion : later_) completion.wait();
        }
    }

private:
    struct Piece {
        std::uint64_t offset = 0;
        std::span<const std::byte> source;
    };
    /// Around the sizes at which what carries a put changes.
    [[nodiscard]] Piece piece() {
        constexpr std::array<std::uint64_t, 5> largest{8, 300, 700, 8200, window_bytes};
        Piece piece;
        const std::uint64_t bytes = random_.size(0, largest[random_.size(0, largest.size() - 1)]);
        piece.offset = base_ + random_.size(0, share - bytes);
        piece.source = std::span{memory_}.first(bytes);
        expected_.add(target_.value, piece.offset, bytes);
        return piece;
    }
    /// Completed before the mirror is compared, or after it.
    void wait_now_or_later(Completion completion) {
        if (random_.number(0, 1) == 0) completion.wait();
        else later_.push_back(std::move(completion));
    }

    void put() {
        const Piece what = piece();
        window_.put(target_, Offset{what.offset}, what.source);
    }
    void start_put() {
        const Piece what = piece();
        wait_now_or_later(window_.start_put(target_, Offset{what.offset}, what.source));
    }
    void put_value() {
        const std::uint64_t offset = place(8);
        expected_.add(target_.value, offset, 8);
        window_.put(target_, Offset{offset}, random_.number(-1000, 1000));
    }
    void put_notify() {
        const Piece what = piece();
        window_.put_notify(target_, Offset{what.offset}, what.source, 0);
    }

    [[nodiscard]] Sides sides() {
        Sides sides = test::random_sides(random_);
        for (const std::int64_t offset : sides.target.flat)
            expected_.add(target_.value, base_ + static_cast<std::uint64_t>(offset), 1);
        return sides;
    }
    void put_layout() {
        const Sides what = sides();
        const Offset offset{base_};
        switch (random_.number(0, 2)) {
        case 0: return window_.put(what.source.layout, memory_.data(), target_, offset, what.target.layout);
        case 1: return window_.put_notify(what.source.layout, memory_.data(), target_, offset, what.target.layout, 0);
        default:
            wait_now_or_later(
                window_.start_put(what.source.layout, memory_.data(), target_, offset, what.target.layout));
        }
    }
    void put_datatype() {
        const Sides what = sides();
        const Layout here = Layout::from_mpi(what.source.layout.to_mpi().get());
        const Layout there = Layout::from_mpi(what.target.layout.to_mpi().get());
        if (random_.number(0, 1) == 0) window_.put(here, memory_.data(), target_, Offset{base_}, there);
        else wait_now_or_later(window_.start_put(here, memory_.data(), target_, Offset{base_}, there));
    }
    [[nodiscard]] Plan plan(const Sides& what) {
        return Plan::put(window_, what.source.layout, target_, Offset{base_}, what.target.layout, options());
    }
    [[nodiscard]] PlanOptions options() { return test::random_options(random_, window_.path(target_)); }
    void run_plan() {
        Plan plan = this->plan(sides());
        const void* const memory = memory_.data();
        switch (random_.number(0, 2)) {
        case 0: return plan.execute(memory);
        case 1: return plan.execute_notify(memory, 0);
        default: wait_now_or_later(plan.start(memory));
        }
    }
    void produce() {
        Plan plan = this->plan(sides());
        Production production = plan.produce(memory_.data());
        for (std::uint64_t ready = 0; ready < plan.bytes(); ready += random_.size(1, 700)) production.ready(ready);
        production.finish();
    }
    void give_up() {
        expected_.may_be_lost = true;
        Plan plan = this->plan(sides());
        if (random_.number(0, 1) == 0) {
            Production production = plan.produce(memory_.data());
            production.ready(plan.bytes());
        } else {
            std::uint64_t calls = random_.size(0, 2);
            const auto fill = [&](std::uint64_t, std::span<std::byte> bytes) {
                if (calls-- == 0) throw std::runtime_error{"no more"};
                std::ranges::fill(bytes, std::byte{7});
            };
            try {
                plan.execute_filled(1, fill);
            } catch (const std::runtime_error&) { // an unknown part has been put
            }
        }
    }
    void fill() {
        expected_.may_be_lost = true;
        Plan plan = this->plan(sides());
        plan.execute_filled(1, [&](std::uint64_t first, std::span<std::byte> bytes) {
            for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<std::byte>(first + k + 3);
        });
    }
    void record() {
        Recording recording{window_};
        for (std::int64_t count = random_.number(0, 20); count > 0; --count) {
            const std::uint64_t bytes = random_.size(1, 100);
            const std::uint64_t offset = base_ + random_.size(0, share - bytes);
            recording.put_bytes(target_, Offset{offset},
                                std::span<const std::byte>{memory_}.subspan(random_.size(0, 1000), bytes));
            expected_.add(target_.value, offset, bytes);
        }
        recording.run();
    }

    /// Of an aligned value.
    [[nodiscard]] std::uint64_t place(std::uint64_t bytes) {
        return base_ + bytes * random_.size(0, share / bytes - 1);
    }
    template <class T>
    void fetch() {
        using Operation = detail::mpi::AtomicOperation;
        constexpr std::array operations{Operation::add,  Operation::min,     Operation::max,    Operation::replace,
                                        Operation::read, Operation::bit_and, Operation::bit_or, Operation::bit_xor};
        const Operation operation = operations[random_.size(0, std::is_integral_v<T> ? 7 : 4)];
        const std::uint64_t offset = place(sizeof(T));
        // MPI may see the extremes of what is no number in its own way.
        expected_.may_be_lost =
            std::is_floating_point_v<T> && (operation == Operation::min || operation == Operation::max);
        if (operation != Operation::read) expected_.add(target_.value, offset, sizeof(T));
        (void)test::call_atomic(operation, window_, target_, Offset{offset}, static_cast<T>(random_.number(-100, 100)),
                                order());
    }
    [[nodiscard]] std::memory_order order() {
        return std::array{std::memory_order_relaxed, std::memory_order_acquire,
                          std::memory_order_acq_rel}[random_.size(0, 2)];
    }
    void compare_swap() {
        const std::uint64_t offset = place(8);
        const auto before = window_.get<std::uint64_t>(target_, Offset{offset});
        expected_.add(target_.value, offset, 8);
        (void)window_.atomic<std::uint64_t>(target_, Offset{offset})
            .compare_swap(before + random_.size(0, 1), random_.size(0, 1000), order());
    }
    void wide_atomic() {
        using Wide = std::array<std::uint64_t, 2>;
        const std::uint64_t offset = place(sizeof(Wide));
        const Wide operand{random_.size(0, 1000), random_.size(0, 1000)};
        Wide before = window_.atomic<Wide>(target_, Offset{offset}).load(order());
        before[1] += random_.size(0, 1); // some find another value
        expected_.add(target_.value, offset, sizeof(Wide));
        if (random_.number(0, 1) == 0) (void)window_.atomic<Wide>(target_, Offset{offset}).exchange(operand, order());
        else (void)window_.atomic<Wide>(target_, Offset{offset}).compare_swap(before, operand, order());
    }
    void located_atomic() {
        using Pair = lapwing::LocatedValue<std::int64_t, 1>;
        const std::uint64_t offset = place(sizeof(Pair));
        Pair operand = window_.atomic<Pair>(target_, Offset{offset}).load(order());
        operand.value += random_.number(-1, 1); // some change it, others do not
        operand.index[0] += random_.number(-1, 1);
        expected_.add(target_.value, offset, sizeof(Pair));
        if (random_.number(0, 1) == 0) (void)window_.atomic<Pair>(target_, Offset{offset}).fetch_min(operand, order());
        else window_.atomic<Pair>(target_, Offset{offset}).max(operand);
    }
    template <class T>
    void update() {
        const std::uint64_t offset = place(sizeof(T));
        const auto operand = static_cast<T>(random_.number(-100, 100));
        expected_.may_be_lost = std::is_floating_point_v<T>;
        expected_.add(target_.value, offset, sizeof(T));
        const lapwing::AtomicReference<T> value = window_.atomic<T>(target_, Offset{offset});
        for (std::int64_t count = random_.number(1, 4); count > 0; --count) {
            if constexpr (std::is_integral_v<T>) {
                if (random_.number(0, 1) == 0) value.bit_xor(operand);
                else value.bit_and(operand);
            }
            if (random_.number(0, 1) == 0) value.max(operand);
            else value.add(operand);
        }
    }
    [[nodiscard]] std::vector<Offset> places(std::uint64_t bytes) {
        expected_.may_be_lost = true;
        std::vector<Offset> offsets(random_.size(0, 40));
        for (Offset& offset : offsets) {
            offset = Offset{place(bytes)};
            expected_.add(target_.value, offset.bytes, bytes);
        }
        return offsets;
    }
    void fetch_list() {
        const std::vector<Offset> offsets = places(4);
        std::vector<std::int32_t> before(offsets.size());
        if (random_.number(0, 1) == 0) window_.fetch(Atomic::add, target_, offsets, 5, before);
        else window_.start_fetch(Atomic::replace, target_, offsets, 6, before).wait();
        if (random_.number(0, 2) == 0) window_.fetch(Atomic::read, target_, offsets, 0, before);
    }
    void compare_swap_list() {
        const std::vector<Offset> offsets = places(8);
        std::vector<std::uint64_t> before(offsets.size());
        window_.compare_swap(target_, offsets, std::uint64_t{0}, std::uint64_t{9}, before);
    }

    void read() {
        std::vector<std::byte> buffer(share);
        window_.get(target_, Offset{base_}, buffer);
        window_.start_get(target_, Offset{base_}, buffer).wait();
        window_.get(target_, Offset{base_}, Layout::strided(10, 3, 7), Layout::contiguous(30), buffer.data());
        (void)window_.atomic<std::int64_t>(target_, Offset{base_}).load();
        const std::array<Offset, 1> offsets{Offset{base_}};
        std::array<std::int64_t, 1> before{};
        window_.fetch(Atomic::read, target_, offsets, std::int64_t{0}, before);
    }
    void synchronise() {
        switch (random_.number(0, 5)) {
        case 0: return window_.release();
        case 1: return window_.acquire();
        case 2: return window_.flush(target_);
        case 3: return window_.flush();
        case 4: return runtime_.release();
        default: return window_.fence();
        }
    }

    Runtime& runtime_;
    Window& window_;
    Mirror& mirror_;
    test::RandomLayouts random_;
    std::uint64_t base_;
    Rank target_;
    Bytes memory_;
    Mirror::Expected expected_;
    std::vector<Completion> later_;
};

[[nodiscard]] unsigned seed_of(const Runtime& runtime) {
    return static_cast<unsigned>(number_from_environment("TEST_SEED", 11)) +
           static_cast<unsigned>(runtime.rank().value);
}

} // namespace

TEST_CASE("copies are notified of every own write to another rank, of its bytes and of no others") {
    Runtime runtime;
    Window window{runtime, share * static_cast<std::uint64_t>(runtime.size()), {.name = "mirrored"}};
    {
        Mirror mirror{window};
        Writer{runtime, window, mirror, seed_of(runtime)}.run(
            static_cast<int>(number_from_environment("TEST_STEPS", 250)));
        runtime.barrier();
    }
    window.close();
}

TEST_CASE(
    "a window that is moved goes on notifying all its copies; those that were removed are not notified any more") {
    Runtime runtime;
    Window last; // outlives the mirror
    Window first{runtime, share * static_cast<std::uint64_t>(runtime.size())};
    Mirror mirror{first};
    Window window{std::move(first)};
    mirror.follow(window);
    Writer{runtime, window, mirror, seed_of(runtime)}.run(30);
    {
        Mirror other{window};
        Writer{runtime, window, other, seed_of(runtime) + 100}.run(30);
        mirror.forget();
    }
    last = std::move(window);
    mirror.follow(last);
    Writer{runtime, last, mirror, seed_of(runtime) + 200}.run(30);

    const Rank target = next(runtime);
    const auto offset = share * static_cast<std::uint64_t>(runtime.rank().value);
    last.state().order().copies().remove(mirror);
    CHECK(last.state().order().copies().empty());
    const std::uint64_t acquires = mirror.acquires();
    last.put(target, Offset{offset}, std::int64_t{12345});
    (void)last.atomic<int>(target, Offset{offset + 8}).fetch_add(1);
    last.fence();
    runtime.barrier();
    CHECK(mirror.acquires() == acquires);
    CHECK(mirror.check({}) == "right");
    runtime.barrier();
}

TEST_CASE("a copy is notified of every acquire, and of nothing else as one") {
    Runtime runtime;
    Window window{runtime, 4096, {.name = "acquired"}};
    Lock lock{runtime, Rank{0}};
    std::optional<Mirror> mirror{std::in_place, window};
    const Rank target = next(runtime);
    std::int64_t value = 1;
    const auto acquires = [&](const char* call, auto&& step) {
        INFO(call);
        const std::uint64_t before = mirror->acquires();
        step();
        CHECK(mirror->acquires() > before);
    };
    const auto leaves = [&](const char* call, auto&& step) {
        INFO(call);
        const std::uint64_t before = mirror->acquires();
        step();
        CHECK(mirror->acquires() == before);
    };
    const auto fetch = [&](std::memory_order order) {
        (void)window.atomic<std::int64_t>(target, Offset{8}).fetch_add(value, order);
    };
    const auto swap = [&](std::memory_order order) {
        (void)window.atomic<std::int64_t>(target, Offset{8}).compare_swap(value, value, order);
    };

    acquires("Window::acquire", [&] { window.acquire(); });
    acquires("Window::flush", [&] { window.flush(); });
    acquires("Window::flush of a rank", [&] { window.flush(target); });
    acquires("Window::fence", [&] { window.fence(); });
    acquires("Team::acquire", [&] { runtime.acquire(); });
    acquires("Team::fence", [&] { runtime.fence(); });
    acquires("Team::barrier", [&] { runtime.barrier(); });
    leaves("Team::notify", [&] { runtime.notify(); });
    acquires("Team::wait", [&] { runtime.wait(); });
    acquires("Lock::lock", [&] { lock.lock(); });
    leaves("Lock::unlock", [&] { lock.unlock(); });
    runtime.barrier();
    if (runtime.rank() == 0) {
        acquires("Lock::try_lock", [&] { CHECK(lock.try_lock()); });
        lock.unlock();
    }
    runtime.barrier();
    leaves("Window::put_notify", [&] { window.put_notify(target, Offset{0}, value, 0); });
    acquires("Window::wait_notified", [&] { window.wait_notified(0); });
    leaves("Window::notified", [&] { (void)window.notified(0); });
    for (const std::memory_order order :
         {std::memory_order_acquire, std::memory_order_acq_rel, std::memory_order_seq_cst}) {
        acquires("an atomic that acquires", [&] { fetch(order); });
        acquires("a compare_swap that acquires", [&] { swap(order); });
        acquires("a read that acquires", [&] { (void)window.atomic<std::int64_t>(target, Offset{8}).load(order); });
        acquires("a read of 16 bytes that acquires",
                 [&] { (void)window.atomic<std::array<std::uint64_t, 2>>(target, Offset{16}).load(order); });
    }
    for (const std::memory_order order : {std::memory_order_relaxed, std::memory_order_release}) {
        leaves("an atomic that does not", [&] { fetch(order); });
        leaves("a compare_swap that does not", [&] { swap(order); });
    }
    leaves("Window::get", [&] { (void)window.get<std::int64_t>(target, Offset{0}); });
    leaves("Window::start_get", [&] { window.start_get(target, Offset{0}, value).wait(); });
    leaves("Window::put", [&] { window.put(target, Offset{16}, value); });
    leaves("Window::start_put", [&] { window.start_put(target, Offset{24}, value).wait(); });
    leaves("Window::add", [&] { window.atomic<std::int64_t>(target, Offset{8}).add(value); });
    leaves("Window::prefetch", [&] { window.prefetch(target, Offset{0}, 64); });
    leaves("Window::release", [&] { window.release(); });
    leaves("Team::release", [&] { runtime.release(); });

    mirror.reset(); // and from here on nobody is notified
    runtime.barrier();
    window.fence();
}
