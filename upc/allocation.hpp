#pragma once

#include "upc/heap.hpp"
#include "upc/heap_layout.hpp"

#include <lapwing/error.hpp>
#include <lapwing/upc.h>
#include <lapwing/upc/array.hpp>
#include <lapwing/upc/program.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace lapwing {
class Team;
} // namespace lapwing

namespace lapwing::upc {

class ProgramState;

/// A part of an allocated block of all threads that is an object of its own.
struct NotedObject {
    std::uint64_t bytes = 0;
    std::uint64_t block_bytes = 0; ///< 0: indefinite
    std::uint64_t room = 0;        ///< in each part, up to the next object
    const char* name = "";
};

/// Memory of each part, beside the heap's size, for what the start of a compiled program allocates. Before the start.
void add_to_heap(std::uint64_t bytes) noexcept;

/// Collective. From the program's start, or the settings; if neither sets them, less than the default if a node does
/// not have that much memory. Throws RangeError for sizes that are not allowed.
[[nodiscard]] HeapRegions heap_regions(const ProgramOptions& options, Team& team);

/// upc_all_alloc and the like: decides which heap, how many bytes of each thread, and the text of errors. `call` is the
/// name in messages. Throws RangeError when a heap has no room, UsageError for what cannot be freed.
class Allocation {
public:
    explicit Allocation(ProgramState& program) : program_{program} {}
    /// On all threads, before a barrier after which they may allocate.
    void open();
    /// After a barrier, when no thread allocates any more.
    void close() { heaps_.reset(); }

    /// Arguments of a collective call, as messages have them: "100 blocks of 8 bytes".
    struct Asked {
        std::uint64_t blocks = 0;
        std::uint64_t bytes = 0;

        friend bool operator==(const Asked&, const Asked&) = default;
    };

    [[nodiscard]] lapwing_upc_pointer allocate_blocks(const char* call, std::size_t blocks, std::size_t block_bytes);
    /// Collective.
    [[nodiscard]] lapwing_upc_pointer allocate_blocks_together(const char* call, std::size_t blocks,
                                                               std::size_t block_bytes);
    /// The same, filled with zeros.
    [[nodiscard]] lapwing_upc_pointer allocate_array(const detail::BlockCount& blocks, std::size_t size,
                                                     std::size_t element_bytes);
    [[nodiscard]] lapwing_upc_pointer allocate(const char* call, std::size_t bytes);
    void free(const char* call, const lapwing_upc_pointer& pointer);
    /// Collective.
    void free_together(const char* call, const lapwing_upc_pointer& pointer);

    /// Collective. The result of thread 0's step, or what it threw, on all threads. `asked` is what the call was given:
    /// where it differs from thread 0's, a thread throws MismatchError.
    template <class Step>
    [[nodiscard]] lapwing_upc_pointer from_first(const char* call, const Asked& asked, Step&& step) {
        FromFirst result{.asked = asked};
        std::string problem;
        if (is_first()) {
            try {
                result.pointer = step();
            } catch (const RangeError& error) {
                result.kind = Problem::range;
                problem = error.what();
            } catch (const std::exception& error) { // also of the heap's metadata, and bad_alloc
                result.kind = Problem::usage;
                problem = error.what();
            }
        }
        return agree(call, asked, result, std::move(problem));
    }

    /// From here on a part of an allocated block of all threads is an object of its own. `name` must stay.
    void note_object(const lapwing_upc_pointer& begin, const NotedObject& object) { noted_[begin.address] = object; }
    /// Throws RangeError unless the bytes are in one allocated object, whose part it returns. Cost: reads the
    /// metadata of a heap, from its beginning for an object that has not been seen before.
    Region require_object(const char* call, const lapwing_upc_pointer& pointer, std::size_t bytes);
    /// Throws RangeError unless both are in one object, of which the end counts.
    void require_same_object(const char* call, const lapwing_upc_pointer& from, const lapwing_upc_pointer& to);

private:
    [[nodiscard]] bool is_first() const;
    enum class Problem : std::uint64_t { none, range, usage };
    /// What thread 0 tells the others.
    struct FromFirst {
        lapwing_upc_pointer pointer{};
        Problem kind = Problem::none;
        std::uint64_t problem_bytes = 0;
        Asked asked{};
    };
    /// Collective. Thread 0's, on all: a pointer, or a problem that is thrown.
    [[nodiscard]] lapwing_upc_pointer agree(const char* call, const Asked& asked, FromFirst result,
                                            std::string problem);
    /// From the heap of all threads' blocks.
    [[nodiscard]] Allocated allocate_from_all(const char* call, std::uint64_t bytes);
    /// From this thread's group's share, if it is small; else, or where that has no room, the address is 0.
    [[nodiscard]] Allocated allocate_small(const char* call, std::uint64_t bytes);
    /// The bytes that each thread needs for so many blocks. Throws RangeError.
    [[nodiscard]] std::uint64_t bytes_of_a_thread(const char* call, std::size_t blocks, std::size_t block_bytes) const;
    /// The heap that has an address, or nothing.
    [[nodiscard]] std::optional<HeapPlace> place_of(const lapwing_upc_pointer& pointer) const noexcept;
    /// The allocated block that contains an address, its end included; empty if there is none.
    [[nodiscard]] Region object_at(const char* call, const lapwing_upc_pointer& pointer);
    /// The part that a thread has of what object_at() found at another one.
    [[nodiscard]] Region part_of(const Region& object, std::uint32_t thread) const;
    /// "the object", or its name in quotes.
    [[nodiscard]] std::string name_of(const Region& object) const;
    [[noreturn]] void throw_exhausted(const char* call, std::uint64_t bytes, const char* each, const Allocated& found,
                                      const Region& region, const char* setting) const;

    ProgramState& program_;
    std::optional<Heaps> heaps_;
    int share_is_full_ = 0; ///< the next so many small allocations skip the share
    std::map<std::pair<HeapPlace, std::uint64_t>, std::uint64_t>
        known_;                                  ///< blocks seen so far: by their heap and begin, their end
    std::map<std::uint64_t, NotedObject> noted_; ///< by their addresses, which are the same on all threads
};

} // namespace lapwing::upc
