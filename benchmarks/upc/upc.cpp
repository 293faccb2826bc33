// upc/pointer and upc/synchronisation: pointer arithmetic, barriers beside MPI's, and locks beside lapwing::Lock.
#include "upc/accesses.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

/// p + k for k that a compiler does not know.
void arithmetic(Context& context) {
    context.set_path("self");
    {
        const upc::Program program;
        constexpr std::int64_t steps = 1000;
        std::vector<std::int64_t> distances;
        for (std::int64_t k = 0; k < steps; ++k) distances.push_back(k * 7919 % 1009 - 504);
        const auto row = [&]<std::size_t B>(const std::string& name) {
            upc::Pointer<double, B> p{lapwing_upc_pointer{std::uint64_t{1} << 40, 0, 0}};
            context.compare(name, per(steps),
                            passes(upc_threads, "p += k",
                                   [&, p] {
                                       auto moved = p;
                                       for (const std::int64_t k : distances) moved += k;
                                       keep(moved);
                                   }),
                            {});
        };
        row.template operator()<upc::indefinite>("indefinite");
        row.template operator()<1>("blocks of 1");
        row.template operator()<8>("blocks of 8");
        row.template operator()<1024>("blocks of 1024");
        row.template operator()<7>("blocks of 7");
        row.template operator()<1000>("blocks of 1000");
        const lapwing_upc_pointer p{std::uint64_t{1} << 40, 0, 0};
        context.compare("blocks of 7, by a call of C", per(steps),
                        passes(upc_threads, "lapwing_upc_add",
                               [&, p] {
                                   lapwing_upc_pointer moved = p;
                                   for (const std::int64_t k : distances) moved = lapwing_upc_add(moved, 8, 7, k);
                                   keep(moved);
                               }),
                        {});
        upc::barrier();
    }
}

void synchronisation(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    MPI_Comm world = context.world();
    {
        const upc::Program program;
        const auto repeat = [](auto& threads, auto once) {
            return [&threads, once](std::uint64_t iterations) {
                return together(threads, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) once();
                });
            };
        };
        context.compare("barrier", microseconds(),
                        {.name = "upc_barrier", .run = repeat(upc_threads, [] { upc::barrier(); })},
                        {{.name = "MPI_Barrier", .run = repeat(world, [&] { MPI_Barrier(world); })}});
        context.compare("1000 locks made and freed", per(1, 1e3, "ms"),
                        passes(upc_threads, "upc_global_lock_alloc",
                               [] {
                                   std::vector<lapwing_upc_pointer> locks;
                                   locks.reserve(1000);
                                   for (int k = 0; k < 1000; ++k) locks.push_back(lapwing_upc_global_lock_alloc());
                                   for (const lapwing_upc_pointer& lock : locks) lapwing_upc_lock_free(lock);
                               }),
                        {});
        {
            upc::Lock lock;
            Lock other{runtime};
            context.compare("a lock of thread 0, nobody waits", per(1, 1e6, "us"),
                            passes(upc_threads, "upc_lock",
                                   [&] {
                                       lock.lock();
                                       lock.unlock();
                                   }),
                            {passes(runtime, "lapwing::Lock", [&] {
                                other.lock();
                                other.unlock();
                            })});
            context.compare("a lock of thread 0, all take it", microseconds(),
                            {.name = "upc_lock",
                             .run = repeat(upc_threads,
                                           [&] {
                                               lock.lock();
                                               lock.unlock();
                                           })},
                            {{.name = "lapwing::Lock", .run = repeat(runtime, [&] {
                                                           other.lock();
                                                           other.unlock();
                                                       })}});
            runtime.barrier();
            other.close();
        }
    }
    runtime.close();
}

const Registration arithmetic_registration{
    {.name = "upc/pointer", .summary = "arithmetic of pointers-to-shared", .run = arithmetic, .paths = {"direct"}}};
const Registration synchronisation_registration{
    {.name = "upc/synchronisation",
     .summary = "UPC's barrier and locks, compared with MPI's and lapwing::Lock",
     .run = synchronisation}};

} // namespace
} // namespace lapwing::bench
