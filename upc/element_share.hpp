#pragma once

#include "upc/element_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::upc {

class ProgramState;

/// A thread's equal share of the elements of an object, in order: elements [elements t / THREADS,
/// elements (t + 1) / THREADS). Where blocks are small, a share takes one transfer from each thread, since what a
/// thread has of it is contiguous.
class ElementShare {
public:
    /// Allocates memory for the share. `call` is the name in messages.
    ElementShare(ProgramState& program, const char* call, const ElementLayout& layout, std::size_t element_bytes);

    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
    [[nodiscard]] std::uint64_t count() const noexcept { return last_ - first_; }

    /// From all threads, and to them; complete on return, like a get and a put.
    void get();
    void put();

    /// Elements from first() on that are contiguous in `data`, and at most `most`.
    struct Piece {
        std::byte* data;
        std::uint64_t count;
    };
    /// Successive calls walk through the share; rewind() returns to its first element.
    [[nodiscard]] Piece next(std::uint64_t most);
    void rewind();

private:
    ProgramState& program_;
    const char* call_;
    ElementLayout layout_;
    std::size_t element_bytes_;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
    std::vector<std::byte> data_;        ///< what each thread has of it, thread by thread
    std::vector<std::uint64_t> begins_;  ///< of each thread's in data_, in elements, and the end
    std::vector<std::uint64_t> cursors_; ///< of each thread: the next element in data_
    std::uint64_t at_ = 0;               ///< the next element's number
};

} // namespace lapwing::upc
