// The start and the end of a compiled UPC program. The linker replaces main by __wrap_main, whatever language main
// that is written in.
#include "lapwing_upcc.h"
#include "mpi_calls.hpp"
#include "source_place.hpp"

#include <lapwing/upc/program.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" {

lapwing_upc_near_parts lapwing_upc_near;
int lapwing_upc_thread_count = 1;
int lapwing_upc_own_thread = 0;
int lapwing_upcc_forall_depth = 0;

int __real_main(int argc, char** argv, char** environment);
int __wrap_main(int argc, char** argv, char** environment);

// What the program's sources have put into sections: the linker names their ends. None of them need exist.
extern const lapwing_upcc_object* const __start_lapwing_upcc_objects[] __attribute__((weak));
extern const lapwing_upcc_object* const __stop_lapwing_upcc_objects[] __attribute__((weak));
extern const lapwing_upcc_source* const __start_lapwing_upcc_sources[] __attribute__((weak));
extern const lapwing_upcc_source* const __stop_lapwing_upcc_sources[] __attribute__((weak));
// -shared-heap of the link.
extern const char lapwing_upcc_heap[] __attribute__((weak));
// The assertion level of a source that is compiled at 2 or more.
extern const int lapwing_upcc_checked __attribute__((weak));
// Present if the program uses anything of runtime/berkeley.cpp, or of runtime/teams.cpp.
void lapwing_upcc_start_berkeley() __attribute__((weak));
void lapwing_upcc_start_teams() __attribute__((weak));

} // extern "C"

namespace {

/// More than 2^64 are the largest number, which no heap has room for.
[[nodiscard]] std::size_t product(std::size_t a, std::size_t b) {
    std::size_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? SIZE_MAX : result;
}
[[nodiscard]] std::size_t quotient_upwards(std::size_t a, std::size_t b) { return a / b + (a % b != 0 ? 1 : 0); }

[[nodiscard]] std::size_t elements(const lapwing_upcc_object& object, std::size_t threads) {
    return product(object.elements, object.times_threads != 0 ? threads : 1);
}
[[nodiscard]] std::size_t block(const lapwing_upcc_object& object, std::size_t threads) {
    if (object.block_size != LAPWING_UPCC_EVEN) return object.block_size;
    return std::max<std::size_t>(1, quotient_upwards(elements(object, threads), threads));
}

/// One shared object, which several sources may define without a value.
struct Object {
    const lapwing_upcc_object* largest = nullptr;
    const lapwing_upcc_object* initialised = nullptr;
    std::size_t address = 0; ///< from the start of all of them

    [[nodiscard]] std::size_t elements(std::size_t threads) const { return ::elements(*largest, threads); }
    [[nodiscard]] std::size_t block(std::size_t threads) const { return ::block(*largest, threads); }
    [[nodiscard]] std::size_t bytes_of_each(std::size_t threads) const {
        const std::size_t size = block(threads);
        if (size == 0) return product(elements(threads), largest->element_bytes);
        const std::size_t rounds = quotient_upwards(quotient_upwards(elements(threads), size), threads);
        return product(product(rounds, size), largest->element_bytes);
    }
};

[[nodiscard]] std::vector<Object> objects() {
    std::map<lapwing_upc_pointer*, std::size_t> known;
    std::vector<Object> found;
    for (auto entry = __start_lapwing_upcc_objects; entry < __stop_lapwing_upcc_objects; ++entry) {
        const lapwing_upcc_object& here = **entry;
        if (here.declared_only != 0) continue;
        const auto [place, is_new] = known.emplace(here.pointer, found.size());
        if (is_new) found.emplace_back();
        Object& object = found[place->second];
        if (object.largest == nullptr || object.largest->elements < here.elements) object.largest = &here;
        if (here.image != nullptr) object.initialised = &here;
    }
    return found;
}

constexpr std::size_t line = 64;

/// The first object that has no address of a pointer-to-shared any more; null: all have.
[[nodiscard]] const Object* too_large(const std::vector<Object>& all, std::size_t threads) {
    constexpr std::size_t most = SIZE_MAX / 4;
    std::size_t bytes = 0;
    for (const Object& object : all) {
        const std::size_t more = object.bytes_of_each(threads);
        if (more > most || bytes > most - more) return &object;
        bytes += more;
    }
    return nullptr;
}

/// Assigns each object its address, if none is too large; returns the bytes of all of them on each thread.
std::size_t place(std::vector<Object>& all, std::size_t threads) {
    // After an unused line: the allocation begins with no object, so that upc_free() refuses each of them. The end of
    // one is not the begin of the next: a pointer there is to the former.
    std::size_t bytes = all.empty() ? 0 : line;
    for (Object& object : all) {
        object.address = bytes;
        bytes += (object.bytes_of_each(threads) + line) / line * line;
    }
    return bytes;
}

/// The number of threads that will be started, from what launchers tell every rank; 1, for which objects are largest,
/// if they do not.
[[nodiscard]] std::size_t threads_to_come() {
    for (const char* const name :
         {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE"})
        if (const char* const value = std::getenv(name))
            return static_cast<std::size_t>(std::max(1L, std::strtol(value, nullptr, 10)));
    return 1;
}

[[noreturn]] void end_before_main() {
    lapwing_upc_barrier(nullptr);
    lapwing_upc_end();
    std::_Exit(1);
}

void check_threads() {
    for (auto entry = __start_lapwing_upcc_sources; entry < __stop_lapwing_upcc_sources; ++entry) {
        const lapwing_upcc_source& source = **entry;
        if (source.threads == 0 || source.threads == lapwing_upc_thread_count) continue;
        if (lapwing_upc_own_thread == 0)
            std::fprintf(
                stderr,
                "lapwing: UPC: %s was compiled for %d threads (-T %d), and %d run; start %d, or compile without -T\n",
                source.file, source.threads, source.threads, lapwing_upc_thread_count, source.threads);
        end_before_main();
    }
}

[[nodiscard]] std::string in_words(const lapwing_upcc_object& object, std::size_t threads) {
    const std::size_t count = elements(object, threads);
    const std::string each = std::to_string(object.element_bytes) + " bytes";
    return std::string{object.file} + ":" + std::to_string(object.line) + ": shared [" +
           std::to_string(block(object, threads)) + "], " +
           (count == 0 ? "of elements of " + each
                       : std::to_string(count) + (count == 1 ? " element of " : " elements of ") + each);
}

/// Each source computes addresses from its own declaration: they must agree.
void check_objects(const std::vector<Object>& all) {
    const auto threads = static_cast<std::size_t>(lapwing_upc_thread_count);
    std::map<const lapwing_upc_pointer*, const lapwing_upcc_object*> made;
    for (const Object& object : all) made[object.largest->pointer] = object.largest;
    for (auto entry = __start_lapwing_upcc_objects; entry < __stop_lapwing_upcc_objects; ++entry) {
        const lapwing_upcc_object& here = **entry;
        const auto found = made.find(here.pointer);
        if (found == made.end()) continue;
        const lapwing_upcc_object& other = *found->second;
        // How many there are need not be known.
        const bool open = here.declared_only != 0 && here.elements == 0;
        if (here.element_bytes == other.element_bytes &&
            (open ? here.block_size == LAPWING_UPCC_EVEN || here.block_size == block(other, threads)
                  : elements(here, threads) == elements(other, threads) &&
                        block(here, threads) == block(other, threads)))
            continue;
        if (lapwing_upc_own_thread == 0)
            std::fprintf(stderr,
                         "lapwing: UPC: '%s' is not the same in all sources: %s; and %s. Declare it in a header that "
                         "all include\n",
                         here.name, in_words(here, threads).c_str(), in_words(other, threads).c_str());
        end_before_main();
    }
}

void check_sizes(const std::vector<Object>& all) {
    const auto threads = static_cast<std::size_t>(lapwing_upc_thread_count);
    const Object* const found = too_large(all, threads);
    if (found == nullptr) return;
    if (lapwing_upc_own_thread == 0)
        std::fprintf(stderr, "lapwing: UPC: '%s' is larger than the memory that a thread can have: %s; declare less\n",
                     found->largest->name, in_words(*found->largest, threads).c_str());
    end_before_main();
}

/// A string may lack its final zero.
void check_values(const Object& object, std::size_t threads) {
    const std::size_t zero = object.largest->element_bytes == 1 ? 1 : 0;
    if (object.initialised == nullptr || object.initialised->image_elements <= object.elements(threads) + zero) return;
    const lapwing_upcc_object& here = *object.initialised;
    lapwing_upcc_too_many(here.name, here.file, here.line, here.image_elements, object.elements(threads));
}

void make(const std::vector<Object>& all, std::size_t bytes) {
    const auto threads = static_cast<std::size_t>(lapwing_upc_thread_count);
    lapwing_upc_pointer base{};
    if (bytes > 0) {
        base = lapwing_upc_all_alloc(threads, bytes);
        std::memset(lapwing_upc_cast({base.address, static_cast<std::uint32_t>(lapwing_upc_own_thread), 0}), 0, bytes);
    }
    for (const Object& object : all) check_values(object, threads);
    // Before the first object is none.
    if (bytes > 0) lapwing_upc_note_object(base, 0, 0, line, "no object");
    for (const Object& object : all) {
        const lapwing_upc_pointer begin{base.address + object.address, 0, 0};
        *object.largest->pointer = begin;
        const std::size_t element = object.largest->element_bytes;
        lapwing_upc_note_object(begin, product(object.elements(threads), element),
                                product(object.block(threads), element),
                                (object.bytes_of_each(threads) + line) / line * line, object.largest->name);
    }
    lapwing_upc_barrier(nullptr);
    if (lapwing_upc_own_thread == 0) {
        for (const Object& object : all) {
            if (object.initialised == nullptr) continue;
            const std::size_t size = object.largest->element_bytes;
            const auto* const image = static_cast<const char*>(object.initialised->image);
            const std::size_t count = std::min(object.initialised->image_elements, object.elements(threads));
            for (std::size_t k = 0; k < count; ++k)
                lapwing_upc_put(lapwing_upc_add(*object.largest->pointer, size, object.block(threads),
                                                static_cast<std::ptrdiff_t>(k)),
                                image + k * size, size);
        }
    }
    lapwing_upc_barrier(nullptr);
    for (auto entry = __start_lapwing_upcc_sources; entry < __stop_lapwing_upcc_sources; ++entry)
        if ((*entry)->initialise != nullptr) (*entry)->initialise();
    lapwing_upc_barrier(nullptr);
}

/// One thread ends all, by MPI_Abort, which calls exit() in some MPIs: no thread reaches a barrier.
bool ends_all = false;
void note_error(const char* message) {
    ends_all = true;
    const std::string place = upcc::programs_place();
    std::fprintf(stderr, "%s%slapwing: UPC: %s\n", place.c_str(), place.empty() ? "" : ": ", message);
}

/// exit(), and the end of main: with UPC's barrier.
void end() {
    std::fflush(nullptr);
    upcc::program_ends();
    if (ends_all) return;
    lapwing_upc_near.count = 0;
    lapwing_upc_end();
}

} // namespace

int __wrap_main(int argc, char** argv, char** environment) {
    // Other compilers have one heap for upc_alloc as well.
    if (lapwing_upcc_heap != nullptr)
        for (const char* const heap : {"LAPWING_UPC_HEAP", "LAPWING_UPC_LOCAL_HEAP"})
            setenv(heap, lapwing_upcc_heap, 0);
    if (&lapwing_upcc_checked != nullptr) setenv("LAPWING_CHECKS", std::to_string(lapwing_upcc_checked).c_str(), 0);
    std::vector<Object> all = objects();
    if (too_large(all, threads_to_come()) == nullptr) lapwing_upc_add_to_heap(place(all, threads_to_come()));
    lapwing_upc_start(&argc, &argv);
    lapwing_upc_set_error_handler(note_error);
    lapwing_upc_thread_count = lapwing_upc_threads();
    lapwing_upc_own_thread = lapwing_upc_mythread();
    // Lines of several threads are not interleaved, and none is lost when one thread ends all. Needs its own buffer,
    // or lines would appear in parts.
    static char buffer[BUFSIZ];
    std::setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    check_threads();
    check_objects(all);
    check_sizes(all);
    const auto& heap = lapwing::upc::detail::heap_access;
    lapwing_upc_near = {reinterpret_cast<char* const*>(heap.bases), heap.heap_begin, heap.heap_bytes, heap.near_first,
                        heap.near_count};
    make(all, place(all, static_cast<std::size_t>(lapwing_upc_thread_count)));
    if (lapwing_upcc_start_berkeley != nullptr) lapwing_upcc_start_berkeley();
    if (lapwing_upcc_start_teams != nullptr) lapwing_upcc_start_teams();
    std::atexit(end);
    upcc::program_begins();
    return __real_main(argc, argv, environment);
}

void lapwing_upcc_too_many(const char* name, const char* file, int line_number, size_t values, size_t elements) {
    if (lapwing_upc_own_thread == 0)
        std::fprintf(stderr,
                     "lapwing: UPC: %s:%d: '%s' has %zu initial values, but with %d threads there are %zu elements for "
                     "them; start more threads\n",
                     file, line_number, name, values, lapwing_upc_thread_count, elements);
    end_before_main();
}

void lapwing_upcc_global_exit(int status) {
    ends_all = true;
    lapwing_upc_global_exit(status);
}

void* lapwing_upcc_private(lapwing_upc_pointer p) {
    if (lapwing_upc_null(p)) return nullptr;
    return lapwing_upc_cast(p);
}

void* lapwing_upcc_buffer(int number) {
    // most_runs of block_reads.hpp that are read, as many that are written, most_lists, and a list of indices.
    constexpr std::size_t count = 13;
    struct alignas(line) Buffer {
        char bytes[lapwing_upcc_run_bytes];
    };
    static thread_local const auto buffers = std::make_unique_for_overwrite<Buffer[]>(count);
    return buffers[static_cast<std::size_t>(number)].bytes;
}

lapwing_upc_pointer lapwing_upcc_local_alloc(size_t blocks, size_t block_bytes) {
    return lapwing_upc_alloc(product(blocks, block_bytes));
}
