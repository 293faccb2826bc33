#include "pipeline/chunk_pool.hpp"

#include <algorithm>

namespace lapwing::detail::pipeline {

std::unique_ptr<ChunkBuffers> ChunkPool::take(std::uint64_t bytes, std::uint64_t least, std::uint64_t limit) {
    constexpr std::uint64_t always_small = 64 * 1024;
    const std::uint64_t large = 2 * std::max(bytes, always_small);
    const std::lock_guard guard{mutex_};
    const auto take_smallest = [&](std::uint64_t from, std::uint64_t to) {
        auto best = free_.end();
        for (auto it = free_.begin(); it != free_.end(); ++it)
            if ((*it)->bytes >= from && (*it)->bytes <= to && (best == free_.end() || (*it)->bytes < (*best)->bytes))
                best = it;
        std::unique_ptr<ChunkBuffers> buffers;
        if (best != free_.end()) {
            buffers = std::move(*best);
            free_.erase(best);
        }
        return buffers;
    };
    if (auto buffers = take_smallest(bytes, large)) return buffers;
    const auto room = [&] { return bytes_ < limit ? limit - bytes_ : 0; };
    if (bytes > room())
        if (auto buffers = take_smallest(bytes, UINT64_MAX)) return buffers;
    for (std::size_t i = 0; i < free_.size() && bytes > room(); ++i) {
        bytes_ -= free_[i]->bytes;
        free_[i]->memory.reset();
        free_[i]->bytes = 0;
    }
    auto buffers = take_smallest(0, 0); // for its lists
    if (buffers == nullptr) buffers = std::make_unique<ChunkBuffers>();
    if (room() >= least) bytes = std::min(bytes, room());
    if (bytes > room() || bytes == 0) return buffers;
    buffers->memory = support::allocate_aligned(bytes); // written before it is read
    buffers->bytes = bytes;
    bytes_ += bytes;
    return buffers;
}

void ChunkPool::give_back(std::unique_ptr<ChunkBuffers> buffers) noexcept {
    const std::lock_guard guard{mutex_};
    try {
        free_.push_back(std::move(buffers));
    } catch (...) { // no room to remember it: freed
        bytes_ -= buffers == nullptr ? 0 : buffers->bytes;
    }
}

void ChunkPool::keep(std::unique_ptr<ChunkBuffers> buffers) noexcept {
    const std::lock_guard guard{mutex_};
    try {
        kept_.push_back(std::move(buffers));
    } catch (...) { // no room to remember it: it stays for ever
        (void)buffers.release();
    }
}

std::uint64_t ChunkPool::bytes() const {
    const std::lock_guard guard{mutex_};
    return bytes_;
}

} // namespace lapwing::detail::pipeline
