#pragma once

#include "src/support/aligned_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace lapwing::detail::messages {

/// Buffers for data that is packed or unpacked for other ranks: a number of them that are kept once used, and extra
/// ones for ranks that would have none, of the size that they need and only while they need it.
class StagingBuffers {
public:
    static constexpr std::uint32_t none = 0xffffffff;

    /// `most` buffers of `bytes` each, and at most as many bytes in extra ones as `most_extra` buffers have.
    StagingBuffers(std::uint64_t most, std::uint64_t bytes, std::uint64_t most_extra)
        : most_{most}, bytes_{bytes}, extra_bytes_left_{most_extra * bytes} {}

    [[nodiscard]] std::uint64_t free() const noexcept { return most_ - in_use_; }
    /// The number of one; none when all are in use, or there is no memory.
    [[nodiscard]] std::uint32_t take() noexcept { return in_use_ < most_ ? take(bytes_, false) : none; }
    [[nodiscard]] std::uint32_t take_extra(std::uint64_t bytes) noexcept {
        return bytes <= extra_bytes_left_ ? take(bytes, true) : none;
    }
    void give_back(std::uint32_t number) noexcept {
        Buffer& buffer = buffers_[number];
        buffer.in_use = false;
        if (!buffer.extra) {
            --in_use_;
            return;
        }
        extra_bytes_left_ += buffer.bytes;
        buffer = {};
    }
    [[nodiscard]] std::byte* memory(std::uint32_t number) noexcept { return buffers_[number].memory.get(); }

    /// Ends the process where an invariant does not hold; for builds with internal assertions.
    void validate() const;

private:
    struct Buffer {
        support::AlignedMemory memory{};
        std::uint64_t bytes = 0;
        bool extra = false;
        bool in_use = false;
    };

    [[nodiscard]] std::uint32_t take(std::uint64_t bytes, bool extra) noexcept {
        try {
            // One with memory that stays, if there is one, or a place without.
            Buffer* free = nullptr;
            for (Buffer& buffer : buffers_)
                if (!buffer.in_use && (buffer.memory == nullptr || !extra)) {
                    free = &buffer;
                    if (buffer.memory != nullptr) break;
                }
            if (free == nullptr) free = &buffers_.emplace_back();
            if (free->memory == nullptr) free->memory = support::allocate_aligned(bytes); // written before it is read
            free->bytes = bytes;
            free->extra = extra;
            free->in_use = true;
            if (extra) extra_bytes_left_ -= bytes;
            else ++in_use_;
            return static_cast<std::uint32_t>(free - buffers_.data());
        } catch (const std::bad_alloc&) {
            return none;
        }
    }

    std::uint64_t most_;
    std::uint64_t bytes_;
    std::uint64_t in_use_ = 0; ///< but for extra ones
    std::uint64_t extra_bytes_left_;
    std::vector<Buffer> buffers_;
};

} // namespace lapwing::detail::messages
