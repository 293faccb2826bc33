#include "pipeline/chunk_pool.hpp"

#include <algorithm>

namespace lapwing::pipeline {

std::unique_ptr<ChunkBuffers> ChunkPool::take(std::uint64_t bytes, std::uint64_t least, std::uint64_t limit) {
    const std::lock_guard guard{mutex_};
    // The smallest that is large enough: large ones stay for large transfers.
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
        if ((*it)->bytes >= bytes && (best == free_.end() || (*it)->bytes < (*best)->bytes)) best = it;
    if (best == free_.end() && !free_.empty()) best = free_.begin(); // its lists at least
    std::unique_ptr<ChunkBuffers> buffers;
    if (best != free_.end()) {
        buffers = std::move(*best);
        free_.erase(best);
    } else {
        free_.reserve(free_.size() + 1);
        buffers = std::make_unique<ChunkBuffers>();
    }
    if (buffers->bytes >= bytes) return buffers;
    const auto drop = [&](ChunkBuffers& from) {
        bytes_ -= from.bytes;
        from.memory.reset();
        from.bytes = 0;
    };
    drop(*buffers);
    for (std::size_t i = 0; i < free_.size() && bytes_ + bytes > limit; ++i) drop(*free_[i]);
    if (bytes_ < limit && bytes_ + bytes > limit && limit - bytes_ >= least) bytes = limit - bytes_;
    if (bytes_ + bytes <= limit) {
        buffers->memory.reset(new std::byte[bytes]); // written before it is read
        buffers->bytes = bytes;
        bytes_ += bytes;
    }
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

std::uint64_t ChunkPool::bytes() const {
    const std::lock_guard guard{mutex_};
    return bytes_;
}

} // namespace lapwing::pipeline
