// Memory in several pieces, private or shared, that transfers traverse in order.
#pragma once

#include <lapwing/upc.h>

#include <cstddef>
#include <vector>

namespace upcc {

struct LocalPiece { // struct upc_local_memvec
    void* address;
    std::size_t bytes;
};
struct SharedPiece { // struct upc_shared_memvec
    lapwing_upc_pointer address;
    std::size_t block_bytes; ///< 0: indefinite
    std::size_t bytes;
};
/// Memory of one transfer, private or shared, as a sequence of bytes.
class Memory {
public:
    Memory(void* address, std::size_t bytes) : local_{{address, bytes}} {}
    Memory(const LocalPiece* pieces, std::size_t count) : local_{pieces, pieces + count} {}
    /// `size`: of an element, the unit of block sizes.
    Memory(const lapwing_upc_pointer& address, std::size_t block, std::size_t size, std::size_t bytes)
        : shared_{{address, block, bytes}}, size_{size} {}
    Memory(const SharedPiece* pieces, std::size_t count) : shared_{pieces, pieces + count} {}

    [[nodiscard]] std::size_t bytes() const;
    /// Whether bytes of it are at a null pointer-to-private.
    [[nodiscard]] bool has_null() const;
    /// Copies `bytes` bytes from `from` to the memory, from its byte `begin` on; or from the memory to `to`.
    void fill(std::size_t begin, const char* from, std::size_t bytes) const;
    void read(std::size_t begin, char* to, std::size_t bytes) const;
    /// The whole if it is private and in one piece, else null.
    [[nodiscard]] void* whole() const {
        return shared_.empty() && local_.size() == 1 ? local_.front().address : nullptr;
    }

private:
    template <class Local, class Shared>
    void each_run(std::size_t begin, std::size_t bytes, Local&& local, Shared&& shared) const;

    std::vector<LocalPiece> local_;
    std::vector<SharedPiece> shared_;
    std::size_t size_ = 1;
};

/// Copies all of `source`, as far as the destination has room.
void copy(const Memory& destination, const Memory& source);

} // namespace upcc
