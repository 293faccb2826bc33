#pragma once

#include "cache/backend.hpp"
#include "cache/cached_pages.hpp"

#include <cstdint>
#include <vector>

namespace lapwing::cache {

/// The gets and puts under way to and from the frames: knows what each frame must wait for. Their number is bounded: the oldest
/// makes room for the next.
class OperationsUnderWay {
public:
    OperationsUnderWay(Backend& backend, CachedPages& pages);

    /// The backend has started one for `count` neighbouring frames.
    void begin(Backend::Token token, Frame first, Frame count, bool put);
    /// Waits for the one that uses the page's frame. Where that throws, the bytes of a get have not arrived.
    void finish(const Page& page) {
        if (page.operation != no_operation) finish(page.operation);
    }
    /// Whether there is one; makes progress, and does not wait.
    [[nodiscard]] bool uses(const Page& page);
    /// Waits for all, then throws what the first one threw.
    void finish_all();
    void finish_puts();
    /// Waits for nothing any more.
    void abandon() noexcept;

    [[nodiscard]] static std::uint64_t memory_bytes() noexcept;

private:
    struct Operation {
        Backend::Token token = Backend::complete;
        Frame first = 0;
        Frame count = 0; ///< 0: not in use
        bool put = false;
    };

    void finish(std::uint32_t index);
    /// Those that are wanted: `wanted(operation)`.
    template <class Wanted>
    void finish_if(Wanted&& wanted);

    Backend& backend_;
    CachedPages& pages_;
    std::vector<Operation> operations_;
    std::uint32_t next_ = 0;
};

} // namespace lapwing::cache
