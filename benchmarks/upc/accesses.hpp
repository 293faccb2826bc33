#pragma once

#include "harness.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

/// What the benchmarks of UPC's accesses share: the orders of the accesses, what makes them, and on which threads. The
/// benchmarks are those of Zhang, "A Performance Model for Unified Parallel C" (2007), sections 4.6.1 and 6.4.
namespace lapwing::bench {

/// Doubles of each thread: 16 MiB, 8 times the cache of one window.
inline constexpr int part_bits = 21;
inline constexpr std::int64_t part_elements = std::int64_t{1} << part_bits;
inline constexpr std::uint64_t part_bytes = part_elements * sizeof(double);

/// A program whose heap has room for one part, with and without the cache of other nodes' memory.
[[nodiscard]] inline upc::ProgramOptions with_cache(bool cached) {
    return {.cache = {.mode = cached ? CacheMode::epoch : CacheMode::off},
            .heap_bytes = part_bytes + (std::uint64_t{1} << 20)};
}
[[nodiscard]] inline std::string cache_name(bool cached) { return cached ? "cache" : "no cache"; }

/// Random numbers at the cost of a multiplication (the generator of Knuth's MMIX, whose upper bits are the good ones).
class Draw {
public:
    explicit Draw(std::uint64_t seed) noexcept : state_{seed * 0x9E3779B97F4A7C15U + 1} {}
    /// In [0, 2^bits).
    [[nodiscard, gnu::always_inline]] std::int64_t bits(int bits) noexcept {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::int64_t>(state_ >> (64 - bits));
    }

private:
    std::uint64_t state_;
};

// Orders: each(count, use) calls use(i) for the next `count` elements of a part; the next call continues there.

/// Uniformly random.
class RandomOrder {
public:
    static constexpr const char* name = "random";
    explicit RandomOrder(int thread) noexcept : draw_{static_cast<std::uint64_t>(thread)} {}
    template <class Use>
    [[gnu::always_inline]] void each(std::uint64_t count, Use use) {
        Draw draw = draw_; // where the compiler may keep it in a register
        for (std::uint64_t k = 0; k < count; ++k) use(draw.bits(part_bits));
        draw_ = draw;
    }

private:
    Draw draw_;
};

/// One after the other, through the whole part.
class Stride1Order {
public:
    static constexpr const char* name = "stride 1";
    explicit Stride1Order(int /*thread*/) noexcept {}
    template <class Use>
    [[gnu::always_inline]] void each(std::uint64_t count, Use use) {
        while (count > 0) {
            const std::int64_t end = std::min(part_elements, next_ + static_cast<std::int64_t>(count));
            for (std::int64_t i = next_; i < end; ++i) use(i);
            count -= static_cast<std::uint64_t>(end - next_);
            next_ = end == part_elements ? 0 : end;
        }
    }

private:
    std::int64_t next_ = 0;
};

/// Sequences of accesses that begin at random places, and go on in strides from 1 to 2^stride_bits, each of them
/// random.
template <int stride_bits>
class SequenceOrder {
public:
    explicit SequenceOrder(int thread) noexcept : draw_{static_cast<std::uint64_t>(thread)} {}
    template <class Use>
    [[gnu::always_inline]] void each(std::uint64_t count, Use use) {
        Draw draw = draw_;
        std::int64_t i = next_;
        while (count > 0) {
            if (left_ == 0) {
                left_ = length;
                i = draw.bits(part_bits) % (part_elements - length * longest_stride);
            }
            const std::int64_t now = std::min(left_, static_cast<std::int64_t>(count));
            for (std::int64_t k = 0; k < now; ++k) {
                use(i);
                if constexpr (stride_bits == 0) ++i;
                else i += 1 + draw.bits(stride_bits);
            }
            left_ -= now;
            count -= static_cast<std::uint64_t>(now);
        }
        next_ = i;
        draw_ = draw;
    }

private:
    static constexpr std::int64_t length = std::int64_t{1} << 16;
    static constexpr std::int64_t longest_stride = std::int64_t{1} << stride_bits;
    static_assert(length * longest_stride < part_elements);
    Draw draw_;
    std::int64_t next_ = 0;
    std::int64_t left_ = 0;
};
using VectorOrder = SequenceOrder<0>;
/// Strides of 8.5 on average. The thesis does not give its own. MuPC, with lines of 128 doubles, takes 12 times as long
/// as for vectors (tables 6.2 and 6.3), which means about 11 accesses a line: its strides were no shorter.
using ClusteredOrder = SequenceOrder<4>;

/// Accesses of one iteration: enough for a loop. Of writes the last ones are completed at the end of all iterations.
inline constexpr std::uint64_t iteration_accesses = 64;

/// Time of one access.
[[nodiscard]] inline Quantity time_of_access() {
    return {.metric = "time", .unit = "us", .scale = 1e6 / static_cast<double>(iteration_accesses)};
}
/// Bandwidth of one thread.
[[nodiscard]] inline Quantity bandwidth_of_thread() {
    return {.metric = "bandwidth",
            .unit = "MB/s",
            .scale = 1e-6 * 8.0 * static_cast<double>(iteration_accesses),
            .rate = true};
}

/// UPC's threads as alone() and together() want them: those that have nothing to do wait in UPC's barrier, where they
/// serve others' accesses. In the barrier of another Runtime a sleeping thread would have to be woken for each. What is
/// cached is lost there, once for a measured stretch.
struct UpcThreads {};
inline void wait_for_all(UpcThreads& /*threads*/) { upc::barrier(); }
[[nodiscard]] inline bool measures(const UpcThreads& /*threads*/) { return upc::mythread() == 0; }

enum class Who { one, all };

/// A subject of which thread 0, or all threads, run `body(accesses)` and then `complete()`. `threads` is what waits
/// meanwhile: UPC's threads, the Runtime of a window, or a communicator.
template <class Threads, class Body, class Complete>
[[nodiscard]] Subject accesses(Threads& threads, Who who, std::string name, Body body, Complete complete) {
    return {.name = std::move(name), .run = [&threads, who, body, complete](std::uint64_t iterations) mutable {
                const auto all = [&] {
                    body(iterations * iteration_accesses);
                    complete();
                };
                return who == Who::one ? alone(threads, all) : together(threads, all);
            }};
}
inline UpcThreads upc_threads;

/// Time of one of so many operations.
[[nodiscard]] inline Quantity per(double operations, double scale = 1e9, const char* unit = "ns") {
    return {.metric = "time", .unit = unit, .scale = scale / operations};
}

/// A subject of which thread 0 alone runs `once` an iteration; `threads` as for accesses().
template <class Threads, class Once>
[[nodiscard]] Subject passes(Threads& threads, std::string name, Once once) {
    return {.name = std::move(name), .run = [&threads, once](std::uint64_t iterations) {
                return alone(threads, [&] {
                    for (std::uint64_t k = 0; k < iterations; ++k) once();
                });
            }};
}

// Loops in functions of their own, as those of a program are.

template <class Order, class Part>
[[gnu::noinline]] double read_each(Order& order, std::uint64_t count, const Part part) {
    double sum = 0;
    order.each(count, [&](std::int64_t i) { sum += static_cast<double>(part[i]); });
    return sum;
}
template <class Order, class Part>
[[gnu::noinline]] void write_each(Order& order, std::uint64_t count, const Part part) {
    order.each(count, [&](std::int64_t i) { part[i] = 1.0; });
}

/// Reads of elements part[i] in an order; of UPC's threads.
template <class Order, class Part>
[[nodiscard]] Subject reads(Who who, std::string name, Part part) {
    return accesses(
        upc_threads, who, std::move(name),
        [order = Order{upc::mythread()}, part](std::uint64_t count) mutable {
            double sum = read_each(order, count, part);
            keep(sum);
        },
        [] {});
}
/// Writes, with a fence after the last one.
template <class Order, class Part>
[[nodiscard]] Subject writes(Who who, std::string name, Part part) {
    return accesses(
        upc_threads, who, std::move(name),
        [order = Order{upc::mythread()}, part](std::uint64_t count) mutable { write_each(order, count, part); },
        [] { upc::fence(); });
}

/// The same by calls of a window that has no cache.
class WindowPart {
public:
    WindowPart(Window& window, int thread) noexcept : window_{window}, thread_{thread} {}

    class Element {
    public:
        Element(Window& window, Rank thread, Offset offset) noexcept
            : window_{window}, thread_{thread}, offset_{offset} {}
        explicit operator double() const { return window_.get<double>(thread_, offset_); }
        void operator=(double value) const { window_.put(thread_, offset_, value); }

    private:
        Window& window_;
        Rank thread_;
        Offset offset_;
    };
    [[nodiscard]] Element operator[](std::int64_t i) const {
        return {window_, Rank{thread_}, Offset{static_cast<std::uint64_t>(i) * sizeof(double)}};
    }

private:
    Window& window_;
    int thread_;
};
/// Reads and writes of elements part[i] of a window, whose Runtime the others wait in.
template <class Order, class Part>
[[nodiscard]] Subject window_reads(Runtime& runtime, Who who, Part part) {
    return accesses(
        runtime, who, "Window::get",
        [order = Order{upc::mythread()}, part](std::uint64_t count) mutable {
            double sum = read_each(order, count, part);
            keep(sum);
        },
        [] {});
}
/// As above.
template <class Order, class Part>
[[nodiscard]] Subject window_writes(Runtime& runtime, Who who, Window& window, Part part) {
    return accesses(
        runtime, who, "Window::put",
        [order = Order{upc::mythread()}, part](std::uint64_t count) mutable { write_each(order, count, part); },
        [&window] { window.fence(); });
}

/// The parts that the threads access: an array with one block for each, which an access sees as `shared [] double*`.
class Parts {
public:
    /// Collective.
    Parts() : array_{static_cast<std::size_t>(part_elements * upc::threads())} {}
    [[nodiscard]] upc::Pointer<double, upc::indefinite> of(int thread) const {
        return upc::Pointer<double, upc::indefinite>{array_ + thread * part_elements};
    }
    [[nodiscard]] upc::Pointer<double, upc::indefinite> own() const { return of(upc::mythread()); }
    /// Of the thread that follows in the ring.
    [[nodiscard]] upc::Pointer<double, upc::indefinite> next() const { return of(next_thread()); }
    [[nodiscard]] static int next_thread() { return (upc::mythread() + 1) % upc::threads(); }

private:
    upc::SharedArray<double, upc::dynamic_block> array_;
};

/// Runs `rows(parts, window, cached)` without the cache and, where rank 0 does not reach memory by loads, with it. The
/// window has as much memory as the parts, and no cache.
template <class Rows>
void without_and_with_cache(Runtime& runtime, const Route& route, Rows rows) {
    const bool loads = route.path == Path::direct;
    for (const bool cached : {false, true}) {
        if (cached && loads) continue;
        const upc::Program program{with_cache(cached)};
        {
            Window window{runtime, part_bytes, {.cache = {.mode = CacheMode::off}}};
            const Parts parts;
            upc::barrier();
            rows(parts, window, cached);
            upc::barrier();
            window.close();
        }
    }
}

} // namespace lapwing::bench
