#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"

#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

/// The gets and puts in flight to and from the frames: knows what each frame must wait for. Their number is bounded:
/// the oldest makes room for the next.
class OperationsUnderWay {
public:
    OperationsUnderWay(Backend& backend, CachedPages& pages);

    /// The backend has started one for `count` neighbouring frames: a get, or a put of `bytes` bytes.
    void begin_get(Backend::Token token, Frame first, Frame count) { begin(token, first, count, 0); }
    void begin_put(Backend::Token token, Frame first, Frame count, std::uint64_t bytes) {
        begin(token, first, count, bytes);
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
        Frame first = 0;
        Frame count = 0;             ///< 0: not in use
        std::uint64_t put_bytes = 0; ///< 0: a get
        [[nodiscard]] bool put() const noexcept { return put_bytes != 0; }
    };
    /// How a get from a rank that has left is treated.
    enum class Missing : std::uint8_t { left_out, refused };

    void begin(Backend::Token token, Frame first, Frame count, std::uint64_t put_bytes);
    void finish(std::uint32_t index, Missing missing);
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
