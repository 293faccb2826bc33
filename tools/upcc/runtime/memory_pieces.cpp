#include "memory_pieces.hpp"

#include <algorithm>
#include <cstring>

namespace upcc {

std::size_t Memory::bytes() const {
    std::size_t all = 0;
    for (const LocalPiece& piece : local_) all += piece.bytes;
    for (const SharedPiece& piece : shared_) all += piece.bytes;
    return all;
}

bool Memory::has_null() const {
    return std::any_of(local_.begin(), local_.end(),
                       [](const LocalPiece& piece) { return piece.address == nullptr && piece.bytes > 0; });
}

/// Calls `local` or `shared` with the address, the position in the range, and the size of each run of memory
/// that belongs to one thread.
template <class Local, class Shared>
void Memory::each_run(std::size_t begin, std::size_t bytes, Local&& local, Shared&& shared) const {
    const std::size_t end = begin + bytes;
    std::size_t first = 0; // of the piece, from the start of all
    for (const LocalPiece& piece : local_) {
        const std::size_t from = std::max(begin, first);
        const std::size_t to = std::min(end, first + piece.bytes);
        if (from < to) local(static_cast<char*>(piece.address) + (from - first), from - begin, to - from);
        first += piece.bytes;
    }
    for (const SharedPiece& piece : shared_) {
        std::size_t from = std::max(begin, first);
        const std::size_t to = std::min(end, first + piece.bytes);
        while (from < to) {
            const std::size_t element = (from - first) / size_;
            const std::size_t inside = (from - first) % size_;
            lapwing_upc_pointer at =
                lapwing_upc_add(piece.address, size_, piece.block_bytes, static_cast<std::ptrdiff_t>(element));
            const std::size_t left =
                piece.block_bytes == 0 ? to - from : (piece.block_bytes - at.phase) * size_ - inside;
            const std::size_t run = std::min(left, to - from);
            at.address += inside;
            at.phase = 0;
            shared(at, from - begin, run);
            from += run;
        }
        first += piece.bytes;
    }
}

void Memory::fill(std::size_t begin, const char* from, std::size_t bytes) const {
    bool puts = false;
    each_run(
        begin, bytes, [&](char* to, std::size_t place, std::size_t run) { std::memcpy(to, from + place, run); },
        [&](const lapwing_upc_pointer& to, std::size_t place, std::size_t run) {
            lapwing_upc_memput_nbi(to, from + place, run);
            puts = true;
        });
    if (puts) lapwing_upc_synci();
}

void Memory::read(std::size_t begin, char* to, std::size_t bytes) const {
    bool gets = false;
    each_run(
        begin, bytes, [&](const char* from, std::size_t place, std::size_t run) { std::memcpy(to + place, from, run); },
        [&](const lapwing_upc_pointer& from, std::size_t place, std::size_t run) {
            lapwing_upc_memget_nbi(to + place, from, run);
            gets = true;
        });
    if (gets) lapwing_upc_synci();
}

void copy(const Memory& destination, const Memory& source) {
    constexpr std::size_t largest = std::size_t{16} << 20; // for the intermediate copy
    const std::size_t bytes = std::min(destination.bytes(), source.bytes());
    std::vector<char> between(std::min(bytes, largest));
    for (std::size_t at = 0; at < bytes; at += largest) {
        const std::size_t piece = std::min(bytes - at, largest);
        source.read(at, between.data(), piece);
        destination.fill(at, between.data(), piece);
    }
}

} // namespace upcc
