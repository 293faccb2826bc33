// upc/heap and upc/blocks: allocations beside many free blocks, and collectives of blocks beside MPI's.
#include "upc/accesses.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

/// One thread, which is not on thread 0's node where there is another, allocates and frees when there are so many free
/// blocks.
void heap(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        const upc::Program program;
        const auto threads = static_cast<std::size_t>(upc::threads());
        const int last = upc::threads() - 1;
        for (const int blocks : {0, 100, 4000}) {
            std::vector<lapwing_upc_pointer> made;
            if (upc::mythread() == last) {
                for (int k = 0; k < 2 * blocks; ++k) made.push_back(lapwing_upc_global_alloc(threads, 40));
                for (std::size_t k = 0; k < made.size(); k += 2) lapwing_upc_free(made[k]);
            }
            upc::barrier();
            const std::string name = "upc_global_alloc and upc_free, " + std::to_string(blocks) + " free blocks";
            context.compare(name, per(1, 1e6, "us"),
                            {.name = "upc",
                             .run =
                                 [last, threads](std::uint64_t iterations) {
                                     return together(upc_threads, [&] {
                                         if (upc::mythread() != last) return;
                                         for (std::uint64_t i = 0; i < iterations; ++i)
                                             lapwing_upc_free(lapwing_upc_global_alloc(threads, 4000));
                                     });
                                 }},
                            {});
            for (std::size_t k = 1; k < made.size(); k += 2) lapwing_upc_free(made[k]);
            upc::barrier();
        }
    }
    runtime.close();
}

/// Collectives of blocks, compared with MPI's and a transfer for each block between barriers, of which one or the other
/// is what UPC's do.
void blocks(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    MPI_Comm world = context.world();
    {
        const upc::Program program;
        const auto threads = static_cast<std::size_t>(upc::threads());
        const auto own = static_cast<std::size_t>(upc::mythread());
        const auto repeat = [](auto& who, auto once) {
            return [&who, once](std::uint64_t iterations) {
                return together(who, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) once();
                });
            };
        };
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{512}, std::size_t{4096}, std::size_t{65536}}) {
            const std::string size = ", blocks of " + std::to_string(bytes);
            const auto all = upc::all_alloc<unsigned char, 1>(threads, bytes * threads);
            const auto others = upc::all_alloc<unsigned char, 1>(threads, bytes * threads);
            const lapwing_upc_pointer from{all.addrfield(), 0, 0};
            auto* const mine =
                static_cast<unsigned char*>(lapwing_upc_cast({others.addrfield(), static_cast<std::uint32_t>(own), 0}));
            std::vector<unsigned char> sent(bytes * threads);
            std::vector<unsigned char> received(bytes * threads);
            const int count = static_cast<int>(bytes);
            const upc::Pointer<unsigned char> root{from};
            context.compare(
                "scatter" + size, microseconds(),
                {.name = "upc_all_scatter", .run = repeat(upc_threads, [=] { upc::all_scatter(others, root, bytes); })},
                {{.name = "a get each",
                  .run = repeat(upc_threads,
                                [=] {
                                    upc::barrier();
                                    lapwing_upc_memget(mine, {from.address + own * bytes, 0, 0}, bytes);
                                    upc::barrier();
                                })},
                 {.name = "MPI_Scatter", .run = repeat(world, [&, count] {
                                             MPI_Scatter(sent.data(), count, MPI_BYTE, received.data(), count, MPI_BYTE,
                                                         0, world);
                                         })}});
            context.compare("exchange" + size, microseconds(),
                            {.name = "upc_all_exchange",
                             .run = repeat(upc_threads, [=] { upc::all_exchange(others, all, bytes); })},
                            {{.name = "gets of all",
                              .run = repeat(upc_threads,
                                            [=] {
                                                upc::barrier();
                                                for (std::size_t k = 1; k <= threads; ++k) {
                                                    const std::size_t t = (own + k) % threads;
                                                    lapwing_upc_memget_nbi(
                                                        mine + t * bytes,
                                                        {from.address + own * bytes, static_cast<std::uint32_t>(t), 0},
                                                        bytes);
                                                }
                                                lapwing_upc_synci();
                                                upc::barrier();
                                            })},
                             {.name = "MPI_Alltoall", .run = repeat(world, [&, count] {
                                                          MPI_Alltoall(sent.data(), count, MPI_BYTE, received.data(),
                                                                       count, MPI_BYTE, world);
                                                      })}});
            upc::barrier();
            upc::all_free(all);
            upc::all_free(others);
        }
    }
    runtime.close();
}

const Registration heap_registration{
    {.name = "upc/heap", .summary = "allocations of UPC's shared memory among free blocks", .run = heap}};
const Registration blocks_registration{
    {.name = "upc/blocks",
     .summary = "UPC's scatter and exchange beside MPI's, and beside a transfer each",
     .run = blocks}};

} // namespace
} // namespace lapwing::bench
