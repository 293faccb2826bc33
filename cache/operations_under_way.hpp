#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"

#include <cstdint>
#include <vector>

namespace lapwing::detail::cache {

/// The gets and puts under way to and from the frames: knows what each frame must wait for. Their number is bounded:
/// the oldest makes room for the next.
class OperationsUnderWay {
public:
    OperationsUnderWay(Backend& backend, CachedPages& pages);

    /// The backend has started one for `count` neighbouring frames: a get, or a put of so many bytes.
    void begin_get(Backend::Token token, Frame first, Frame count) { begin(token, first, count, 0); }
    void begin_put(Backend::Token token, Frame first, Frame count, std::uint64_t bytes) {
        begin(token, first, count, bytes);
    }
    /// Waits for the one that uses the page's frame. Where that throws, the bytes of a get have not arrived. When the
    /// rank has left, that is no reason to throw: the frame may be for another one. The lines of a get are not valid
    /// then, and the bytes of a put have been noted as lost.
    void finish(const Page& page) {
        if (page.operation != no_operation) finish(page.operation, Missing::left_out);
    }
    /// The same for who reads the page: throws in any case when the bytes of a get have not arrived.
    void finish_for_read(const Page& page) {
        if (page.operation != no_operation) finish(page.operation, Missing::refused);
    }
    /// Whether there is one; makes progress, and does not wait. For who reads the page, as well.
    [[nodiscard]] bool uses(const Page& page);
    /// Waits for all, then throws what the first one threw; as finish().
    void finish_all();
    void finish_puts();
    /// Waits for nothing any more.
    void abandon() noexcept;

    /// Each has its frames, and each frame at most one. Ends the process otherwise, in builds with internal assertions.
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
    /// What becomes of a get from a rank that has left.
    enum class Missing : std::uint8_t { left_out, refused };

    void begin(Backend::Token token, Frame first, Frame count, std::uint64_t put_bytes);
    void finish(std::uint32_t index, Missing missing);
    /// Calls `function()`, with which the operation ends by an exception or not.
    template <class Function>
    auto end(const Operation& operation, Missing missing, Function&& function);
    /// Those that are wanted: `wanted(operation)`.
    template <class Wanted>
    void finish_if(Wanted&& wanted);

    Backend& backend_;
    CachedPages& pages_;
    std::vector<Operation> operations_;
    std::uint32_t next_ = 0;
};

} // namespace lapwing::detail::cache
