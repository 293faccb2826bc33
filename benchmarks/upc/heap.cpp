// upc/heap and upc/blocks: allocations in a heap with many free blocks, and collectives of blocks compared with MPI's.
#include "upc/accesses.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

/// `once`, repeated by all of `who` together.
template <class Who, class F>
[[nodiscard]] Subject repeated(const std::string& name, Who& who, F once) {
    return {.name = name, .run = [&who, once](std::uint64_t iterations) {
                return together(who, [&] {
                    for (std::uint64_t i = 0; i < iterations; ++i) once();
                });
            }};
}

/// The last thread allocates and frees in a heap with many free blocks. It is on another node than thread 0 if there
/// are several.
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
                            repeated("upc", upc_threads,
                                     [threads, allocates = upc::mythread() == last] {
                                         if (allocates) lapwing_upc_free(lapwing_upc_global_alloc(threads, 4000));
                                     }),
                            {});
            for (std::size_t k = 1; k < made.size(); k += 2) lapwing_upc_free(made[k]);
            upc::barrier();
        }
    }
    runtime.close();
}

/// A block for each thread in the part of each thread, twice, and the same in private memory for MPI.
struct Blocks {
    explicit Blocks(std::size_t block) : bytes{block} {}

    [[nodiscard]] std::string size() const { return ", blocks of " + std::to_string(bytes); }
    [[nodiscard]] int count() const { return static_cast<int>(bytes); }
    /// The thread's own block in the part of `thread` of `from`.
    [[nodiscard]] lapwing_upc_pointer block_of(std::size_t thread) const {
        return {from.addrfield() + own * bytes, static_cast<std::uint32_t>(thread), 0};
    }
    void free() {
        upc::barrier();
        upc::all_free(from);
        upc::all_free(to);
    }

    std::size_t bytes;
    std::size_t threads = static_cast<std::size_t>(upc::threads());
    std::size_t own = static_cast<std::size_t>(upc::mythread());
    upc::Pointer<unsigned char, 1> from = upc::all_alloc<unsigned char, 1>(threads, bytes* threads);
    upc::Pointer<unsigned char, 1> to = upc::all_alloc<unsigned char, 1>(threads, bytes* threads);
    unsigned char* mine =
        static_cast<unsigned char*>(lapwing_upc_cast({to.addrfield(), static_cast<std::uint32_t>(own), 0}));
    std::vector<unsigned char> sent = std::vector<unsigned char>(bytes * threads);
    std::vector<unsigned char> received = std::vector<unsigned char>(bytes * threads);
};

void compare_scatter(Context& context, Blocks& blocks) {
    MPI_Comm world = context.world();
    const upc::Pointer<unsigned char> root{lapwing_upc_pointer{blocks.from.addrfield(), 0, 0}};
    context.compare(
        "scatter" + blocks.size(), microseconds(),
        repeated("upc_all_scatter", upc_threads, [&, root] { upc::all_scatter(blocks.to, root, blocks.bytes); }),
        {repeated("a get each", upc_threads,
                  [&] {
                      upc::barrier();
                      lapwing_upc_memget(blocks.mine, blocks.block_of(0), blocks.bytes);
                      upc::barrier();
                  }),
         repeated("MPI_Scatter", world, [&, world] {
             MPI_Scatter(blocks.sent.data(), blocks.count(), MPI_BYTE, blocks.received.data(), blocks.count(), MPI_BYTE,
                         0, world);
         })});
}

void compare_exchange(Context& context, Blocks& blocks) {
    MPI_Comm world = context.world();
    context.compare(
        "exchange" + blocks.size(), microseconds(),
        repeated("upc_all_exchange", upc_threads, [&] { upc::all_exchange(blocks.to, blocks.from, blocks.bytes); }),
        {repeated("gets of all", upc_threads,
                  [&] {
                      upc::barrier();
                      for (std::size_t k = 1; k <= blocks.threads; ++k) {
                          const std::size_t t = (blocks.own + k) % blocks.threads;
                          lapwing_upc_memget_nbi(blocks.mine + t * blocks.bytes, blocks.block_of(t), blocks.bytes);
                      }
                      lapwing_upc_synci();
                      upc::barrier();
                  }),
         repeated("MPI_Alltoall", world, [&, world] {
             MPI_Alltoall(blocks.sent.data(), blocks.count(), MPI_BYTE, blocks.received.data(), blocks.count(),
                          MPI_BYTE, world);
         })});
}

/// Collectives of blocks, compared with MPI's, and with a transfer for each block between barriers: other
/// implementations of UPC do one or the other.
void blocks(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    {
        const upc::Program program;
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{512}, std::size_t{4096}, std::size_t{65536}}) {
            Blocks measured{bytes};
            compare_scatter(context, measured);
            compare_exchange(context, measured);
            measured.free();
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
