// upc/ring and upc/flush: bandwidth of element accesses by all threads at once: in a ring, where each thread's memory
// is accessed by one other, and on the memory of one thread, which all others contend for. The former is the natural
// ring of Zhang (2007), section 4.6.1; of the latter, section 8.1 has the criterion.
#include "upc/accesses.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

[[nodiscard]] std::string case_name(const char* what, const char* order, bool cached) {
    return std::string{what} + ", " + order + ", " + cache_name(cached);
}

/// Plain MPI: every rank sends its next as many doubles as accesses are asked for, and receives as many, in messages of
/// `message` doubles.
[[nodiscard]] Subject ring_of_messages(Context& context, MPI_Comm& world, std::uint64_t message) {
    const int next = (context.rank() + 1) % context.size();
    const int before = (context.rank() + context.size() - 1) % context.size();
    return accesses(
        world, Who::all, message == 1 ? "MPI_Sendrecv of 8 bytes" : "MPI_Sendrecv of 64 KiB",
        [world, next, before, message, out = std::vector<double>(message),
         in = std::vector<double>(message)](std::uint64_t count) mutable {
            for (std::uint64_t done = 0; done < count; done += message) {
                const auto now = static_cast<int>(std::min(message, count - done));
                MPI_Sendrecv(out.data(), now, MPI_DOUBLE, next, 0, in.data(), now, MPI_DOUBLE, before, 0, world,
                             MPI_STATUS_IGNORE);
            }
            keep(in[0]);
        },
        [] {});
}

/// Stride-1 accesses beside messages, which without the cache are of one element; random ones beside a window's calls.
void ring(Context& context) {
    Runtime runtime;
    MPI_Comm world = context.world();
    const Route route = context.measure_against(runtime);
    without_and_with_cache(runtime, route, [&](const Parts& parts, Window& window, bool cached) {
        const int next = Parts::next_thread();
        constexpr auto all = Who::all;
        const std::uint64_t message = cached ? 8192 : 1;
        context.compare(case_name("reads", Stride1Order::name, cached), bandwidth_of_thread(),
                        reads<Stride1Order>(all, "upc", parts.next()), {ring_of_messages(context, world, message)});
        context.compare(case_name("writes", Stride1Order::name, cached), bandwidth_of_thread(),
                        writes<Stride1Order>(all, "upc", parts.next()), {ring_of_messages(context, world, message)});
        context.compare(case_name("reads", RandomOrder::name, cached), bandwidth_of_thread(),
                        reads<RandomOrder>(all, "upc", parts.next()),
                        {window_reads<RandomOrder>(runtime, all, WindowPart{window, next})});
        context.compare(case_name("writes", RandomOrder::name, cached), bandwidth_of_thread(),
                        writes<RandomOrder>(all, "upc", parts.next()),
                        {window_writes<RandomOrder>(runtime, all, window, WindowPart{window, next})});
    });
    runtime.close();
}

/// The subject on all threads but 0, whose memory it accesses.
[[nodiscard]] Subject by_others(const Subject& subject) {
    return {.name = subject.name, .run = [run = subject.run](std::uint64_t iterations) {
                return run(upc::mythread() == 0 ? 0 : iterations);
            }};
}

void flush(Context& context) {
    Runtime runtime;
    const Route route = context.measure_against(runtime);
    without_and_with_cache(runtime, route, [&](const Parts& parts, Window& window, bool cached) {
        constexpr auto all = Who::all;
        const auto rows = [&]<class Order>() {
            context.compare(case_name("reads", Order::name, cached), bandwidth_of_thread(),
                            by_others(reads<Order>(all, "upc", parts.of(0))),
                            {by_others(window_reads<Order>(runtime, all, WindowPart{window, 0}))});
            context.compare(case_name("writes", Order::name, cached), bandwidth_of_thread(),
                            by_others(writes<Order>(all, "upc", parts.of(0))),
                            {by_others(window_writes<Order>(runtime, all, window, WindowPart{window, 0}))});
        };
        rows.template operator()<Stride1Order>();
        rows.template operator()<RandomOrder>();
    });
    runtime.close();
}

const Registration ring_registration{
    {.name = "upc/ring",
     .summary = "every thread accesses the memory of the next, all at once: bandwidth of a thread",
     .run = ring}};
const Registration flush_registration{
    {.name = "upc/flush",
     .summary = "all threads access the memory of thread 0: bandwidth of each of the others",
     .run = flush}};

} // namespace
} // namespace lapwing::bench
