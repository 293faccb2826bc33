#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::cache {

/// The gets and puts in flight to and from the frames: knows what each frame must wait for. Their number is bounded:
/// the oldest makes room for the next.
class OperationsUnderWay {
public:
    OperationsUnderWay(Backend& backend, CachedPages& pages);

    /// The backend has started one for `count` neighbouring frames: a get, or a put of `bytes` bytes.
    void begin_get(Backend::Token token, Frame first, Frame count) {
        begin(token, count, 0, [first](Frame i) { return first + i; });
    }
    void begin_put(Backend::Token token, Frame first, Frame count, std::uint64_t bytes) {
        begin(token, count, bytes, [first](Frame i) { return first + i; });
    }
    /// The same for any frames, each of which is here once.
    void begin_get(Backend::Token token, std::span<const Frame> frames) {
        begin(token, static_cast<Frame>(frames.size()), 0, [frames](Frame i) { return frames[i]; });
    }
    /// Waits for the operation that uses the page's frame. If that throws, the bytes of a get have not arrived. A rank
    /// that has left is no reason to throw, since the frame may be reused for another: the lines of a get are then not
    /// valid, and the bytes of a put have been recorded as lost.
    void finish(const Page& page) {
        if (page.operation != no_operation) finish(page.operation, Missing::left_out);
    }
    /// The same before a read of the page: always throws when the bytes of a get have not arrived.
    void finish_for_read(const Page& page) {
        if (page.operation != no_operation) finish(page.operation, Missing::refused);
    }
    /// Whether an operation uses the page; makes progress, and does not wait. May be called before a read of the page.
    [[nodiscard]] bool uses(const Page& page);
    /// Waits for all, then throws what the first failure threw; as finish().
    void finish_all();
    void finish_puts();
    /// Forgets all operations without waiting.
    void abandon() noexcept;

    /// Each operation has its frames, and each frame at most one. Aborts otherwise, in builds with internal assertions.
    void validate() const;

    [[nodiscard]] static std::uint64_t memory_bytes() noexcept;

private:
    struct Operation {
        Backend::Token token = Backend::complete;
        Frame first = 0;             ///< which knows the next
        Frame count = 0;             ///< 0: not in use
        std::uint64_t put_bytes = 0; ///< 0: a get
        [[nodiscard]] bool put() const noexcept { return put_bytes != 0; }
    };
    /// How a get from a rank that has left is treated.
    enum class Missing : std::uint8_t { left_out, refused };

    /// For the frames `frame_at(i)`.
    template <class FrameAt>
    void begin(Backend::Token token, Frame count, std::uint64_t put_bytes, FrameAt frame_at) {
        if (token == Backend::complete) return;
        const std::uint32_t index = make_room(token);
        operations_[index] = {token, frame_at(0), count, put_bytes};
        Frame next = no_frame;
        for (Frame i = count; i-- > 0;) {
            Page& page = pages_[frame_at(i)];
            page.operation = index;
            page.next_of_operation = next;
            next = frame_at(i);
        }
    }
    /// The place for one more, of this token; it has been waited for if this throws.
    [[nodiscard]] std::uint32_t make_room(Backend::Token token);
    void finish(std::uint32_t index, Missing missing);
    template <class Use>
    void for_each_frame(const Operation& operation, Use&& use) const {
        Frame frame = operation.first;
        for (Frame left = operation.count; left > 0; --left) {
            const Frame next = pages_[frame].next_of_operation;
            use(frame);
            frame = next;
        }
    }
    /// Calls `function()`, which ends the operation even if it throws.
    template <class Function>
    auto end(const Operation& operation, Missing missing, Function&& function);
    /// Finishes those for which `wanted(operation)` is true.
    template <class Wanted>
    void finish_if(Wanted&& wanted);

    Backend& backend_;
    CachedPages& pages_;
    std::vector<Operation> operations_;
    std::uint32_t next_ = 0;
};

} // namespace lapwing::detail::cache
