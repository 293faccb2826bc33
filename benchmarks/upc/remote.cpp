// upc/stream, upc/baseline, upc/vector, upc/coalesce: the time of one access to another thread's memory, by a thread
// alone and by all, at random, in vectors, and in clusters, without and with the cache: the platform's matrix of Zhang
// (2007), tables 6.1 to 6.3 and 8.2.
#include "upc/accesses.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

[[nodiscard]] std::string case_name(const std::string& what, bool cached) { return what + ", " + cache_name(cached); }

/// One thread accesses the memory of another while the others are idle.
void stream(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    without_and_with_cache(runtime, route, [&](const Parts& parts, Window& window, bool cached) {
        const int target = route.target.value;
        const auto rows = [&]<class Order>() {
            const std::string order = std::string{", "} + Order::name;
            context.compare(case_name("reads" + order, cached), time_of_access(),
                            reads<Order>(Who::one, "upc", parts.of(target)),
                            {window_reads<Order>(runtime, Who::one, WindowPart{window, target})});
            context.compare(case_name("writes" + order, cached), time_of_access(),
                            writes<Order>(Who::one, "upc", parts.of(target)),
                            {window_writes<Order>(runtime, Who::one, window, WindowPart{window, target})});
        };
        rows.template operator()<Stride1Order>();
        rows.template operator()<RandomOrder>();
    });
    runtime.close();
}

/// Elements of an array in blocks of 1, at random, that other threads have.
class OtherThreads {
public:
    explicit OtherThreads(int thread) noexcept : draw_{static_cast<std::uint64_t>(thread)} {}
    template <class Use>
    void each(std::uint64_t count, Use use) {
        // Without a division, which takes as long as an access to memory of this node.
        const std::int64_t all = upc::threads();
        const std::int64_t first = upc::mythread() + 1;
        for (std::uint64_t k = 0; k < count; ++k) {
            const std::int64_t element = draw_.bits(part_bits);
            std::int64_t thread = first + (draw_.bits(31) * (all - 1) >> 31);
            if (thread >= all) thread -= all;
            use(element * all + thread);
        }
    }

private:
    Draw draw_;
};

/// The same elements of a window.
class DealtWindow {
public:
    explicit DealtWindow(Window& window) noexcept : window_{window} {}
    [[nodiscard]] WindowPart::Element operator[](std::int64_t i) const {
        return WindowPart{window_, static_cast<int>(i % upc::threads())}[i / upc::threads()];
    }

private:
    Window& window_;
};
/// An array by a pointer, which a subject may keep.
struct DealtArray {
    const upc::SharedArray<double>* array;
    [[nodiscard, gnu::always_inline]] upc::Reference<double> operator[](std::int64_t i) const { return (*array)[i]; }
};

/// A scalar of another thread: always the same one, by one thread; and at random, by all.
void baseline(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    {
        const upc::Program program{with_cache(false)};
        Window window{runtime, 4096, {.cache = {.mode = CacheMode::off}}};
        upc::SharedArray<double> a{static_cast<std::size_t>(4 * upc::threads())};
        a[upc::mythread()] = 1;
        upc::barrier();
        const int target = route.target.value;
        context.compare("a remote double, read", microseconds(),
                        passes(upc_threads, "upc",
                               [&] {
                                   double x = a[target];
                                   keep(x);
                               }),
                        {passes(runtime, "Window::get", [&] {
                            double x = window.get<double>(route.target, Offset{0});
                            keep(x);
                        })});
        upc::barrier();
        window.close();
    }
    for (const bool cached : {false, true}) {
        if (cached && route.path == Path::direct) continue;
        const upc::Program program{with_cache(cached)};
        {
            Window window{runtime, part_bytes, {.cache = {.mode = CacheMode::off}}};
            const upc::SharedArray<double> array{static_cast<std::size_t>(part_elements * upc::threads())};
            upc::barrier();
            context.compare(case_name("reads, random", cached), time_of_access(),
                            reads<OtherThreads>(Who::all, "upc", DealtArray{&array}),
                            {window_reads<OtherThreads>(runtime, Who::all, DealtWindow{window})});
            context.compare(case_name("writes, random", cached), time_of_access(),
                            writes<OtherThreads>(Who::all, "upc", DealtArray{&array}),
                            {window_writes<OtherThreads>(runtime, Who::all, window, DealtWindow{window})});
            upc::barrier();
            window.close();
        }
    }
    runtime.close();
}

/// All threads access the memory of the next in an order that a cache can make use of: beside a window's calls and,
/// with the cache, compared with own elements at random, which an ideal platform is as fast as.
template <class Order>
void ordered(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    without_and_with_cache(runtime, route, [&](const Parts& parts, Window& window, bool cached) {
        const int next = Parts::next_thread();
        constexpr auto all = Who::all;
        context.compare(case_name("reads", cached), time_of_access(), reads<Order>(all, "upc", parts.next()),
                        {cached ? reads<RandomOrder>(all, "own shared elements, random", parts.own())
                                : window_reads<Order>(runtime, all, WindowPart{window, next})});
        context.compare(case_name("writes", cached), time_of_access(), writes<Order>(all, "upc", parts.next()),
                        {cached ? writes<RandomOrder>(all, "own shared elements, random", parts.own())
                                : window_writes<Order>(runtime, all, window, WindowPart{window, next})});
    });
    runtime.close();
}

const Registration stream_registration{
    {.name = "upc/stream", .summary = "one thread's accesses to another's memory, the others idle", .run = stream}};
const Registration baseline_registration{
    {.name = "upc/baseline",
     .summary = "shared scalars of other threads, by one thread and by all, compared with a window's",
     .run = baseline}};
const Registration vector_registration{{.name = "upc/vector",
                                        .summary = "all threads go through vectors of another thread's memory",
                                        .run = ordered<VectorOrder>}};
const Registration coalesce_registration{
    {.name = "upc/coalesce",
     .summary = "all threads access clusters of another thread's memory, in small irregular strides",
     .run = ordered<ClusteredOrder>}};

} // namespace
} // namespace lapwing::bench
