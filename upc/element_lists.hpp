#pragma once

#include "upc/copied_range.hpp"

#include <lapwing/upc.h>
#include <lapwing/upc/inline.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

namespace lapwing::upc {

class ProgramState;

/// Reads elements of shared objects by their indices. What is read again and again, many times for each of its
/// elements, is prefetched: the range of the indices is then copied as a whole, by the first read after each acquire.
class ElementLists {
public:
    explicit ElementLists(ProgramState& program) : program_{program} {}

    /// Reads them to `destination`, one after another. Throws RangeError.
    void get(std::byte* destination, const ElementList& list);
    /// lapwing_upc_find_places().
    [[nodiscard]] bool find_places(lapwing_upc_places& places, const ElementList& object, std::size_t reads);
    /// Before the heap is closed.
    void close() noexcept { objects_ = {}; }

private:
    /// What is known of the reads from an object.
    struct Object {
        lapwing_upc_pointer base{};
        std::size_t element_bytes = 0; ///< 0: unused
        std::size_t block_size = 0;
        std::ptrdiff_t begin = 0; ///< of the indices that were seen
        std::ptrdiff_t end = 0;
        std::uint64_t calls = 0;
        std::uint64_t far = 0;          ///< elements that were neither loaded nor copied, since the copies were made
        std::uint64_t worth = 4;        ///< for each element of the range there must be so many of them
        std::uint64_t since_filled = 0; ///< elements that were read since then
        unsigned waste = 0;             ///< fills in a row from which too few elements were read
        std::uint64_t used = 0;         ///< when it was used last
        std::uint64_t looks = 0;        ///< for the copies
        std::unique_ptr<CopiedRange> range = {};

        void see(std::span<const std::ptrdiff_t> indices) noexcept;
    };

    /// Whether all of the object can be loaded.
    [[nodiscard]] static bool is_loadable(const ElementList& object);
    /// Then: the places of all that the heap has before and after the base.
    [[nodiscard]] static lapwing_upc_places all_places(const ElementList& object);
    [[nodiscard]] static bool find_loadable(lapwing_upc_places& places, const ElementList& object);
    /// All but the parts, and the size, of a range that begins with this index.
    static void describe(lapwing_upc_places& places, const ElementList& object, std::ptrdiff_t begin);
    [[nodiscard]] Object* find(const ElementList& list);
    [[nodiscard]] Object& object_of(const ElementList& list);
    /// The copies, filled; null if there are none.
    [[nodiscard]] CopiedRange* copies_of(Object& object);
    void consider_copies(Object& object, const ElementList& list);

    ProgramState& program_;
    std::array<Object, 8> objects_;
    std::size_t last_ = 0; ///< the object that was used last
    std::uint64_t uses_ = 0;
    const std::thread::id thread_ = std::this_thread::get_id();
};

} // namespace lapwing::upc
