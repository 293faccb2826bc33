#pragma once

#include <lapwing/upc.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::detail::prefetching {
class EntryBuffer;
}

namespace lapwing::upc {

class ProgramState;

/// Elements of a shared object that are read by their indices.
struct ElementList {
    lapwing_upc_pointer base;
    std::size_t element_bytes;
    std::size_t block_size; ///< in elements; 0: indefinite
    std::span<const std::ptrdiff_t> indices;

    /// Of the base in its block: pointers to blocks of one element have none.
    [[nodiscard]] std::ptrdiff_t phase() const noexcept {
        return block_size <= 1 ? 0 : static_cast<std::ptrdiff_t>(base.phase);
    }
};

/// The elements base[begin] to base[end - 1]: those that can be loaded in their place, and copies of the others, which
/// are consistent as those that a program prefetches: filled again by the first read after an acquire.
class CopiedRange {
public:
    /// More threads, or bytes of copies, are too many.
    static constexpr int most_threads = 4096;
    static constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;

    /// Null if the range is too large, or nothing of it is far.
    [[nodiscard]] static std::unique_ptr<CopiedRange> make(ProgramState& program, const ElementList& object,
                                                           std::ptrdiff_t begin, std::ptrdiff_t end);
    CopiedRange(ProgramState& program, std::ptrdiff_t begin, std::ptrdiff_t end);
    CopiedRange(const CopiedRange&) = delete;
    CopiedRange& operator=(const CopiedRange&) = delete;
    ~CopiedRange();

    [[nodiscard]] std::ptrdiff_t begin() const noexcept { return begin_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// By thread: an element of the range, at address a, is at places()[thread] + a. Of no use unless the copies are
    /// fresh.
    [[nodiscard]] const std::byte* const* places() const noexcept { return places_.data(); }
    [[nodiscard]] bool is_fresh() const noexcept;
    /// Fills the copies. Throws if an owner has left.
    void fill();
    /// They are to be filled again.
    void expire() noexcept;

private:
    std::ptrdiff_t begin_;
    std::uint64_t size_;
    std::vector<const std::byte*> places_;
    std::shared_ptr<lapwing::detail::prefetching::EntryBuffer> copies_;
};

} // namespace lapwing::upc
