#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::detail::support {

/// A range of addresses of which some may not be touched. Who touches them all the same ends the program, as without
/// this, but after a message with the line of the program (found by addr2line).
///
/// Faults at other addresses go to whoever handled them before the first range was made: the program, MPI or a
/// sanitizer. Who installs a handler later gets them all, until the next range is made.
class WatchedRange {
public:
    /// Writes what is wrong with an access to this address; called in a signal handler, so that it must not allocate
    /// memory. Returns how much of `text` it has written.
    using Explain = std::size_t (*)(const void* context, const std::byte* address, char* text,
                                    std::size_t size) noexcept;

    /// Not watched where there are too many ranges (1024).
    WatchedRange(const std::byte* begin, std::uint64_t bytes, Explain explain, const void* context) noexcept;
    ~WatchedRange();
    WatchedRange(const WatchedRange&) = delete;
    WatchedRange& operator=(const WatchedRange&) = delete;

private:
    std::size_t slot_;
};

} // namespace lapwing::detail::support
