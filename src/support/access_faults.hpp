#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing::detail::support {

/// A range of addresses of which some may not be touched. A thread that touches one of them waits until somebody has
/// opened it, where there is somebody who does; else the program ends, as without this, but after a message with its
/// line (found by addr2line).
///
/// Faults at other addresses go to whoever handled them before the first range was made: the program, MPI or a
/// sanitizer. Who installs a handler later gets them all, until the next range is made.
class WatchedRange {
public:
    /// Writes what is wrong with an access to this address, a write as far as that is known; called in a signal
    /// handler, so that it must not allocate memory. Returns how much of `text` it has written.
    using Explain = std::size_t (*)(const void* context, const std::byte* address, bool write, char* text,
                                    std::size_t size) noexcept;

    /// Opens an address. Called on a thread of the library's, which serves one fault after the other, for a thread that
    /// has touched the address and waits. If the address cannot be opened, `explain` says why.
    enum class Outcome : std::uint8_t { refused, opened, was_open };
    using Resolve = Outcome (*)(void* context, std::byte* address) noexcept;

    /// Not watched where there are too many ranges (1024); with `resolve` std::system_error is thrown then, and where
    /// there can be no thread.
    WatchedRange(std::byte* begin, std::uint64_t bytes, Explain explain, void* context, Resolve resolve = nullptr);
    ~WatchedRange();
    WatchedRange(const WatchedRange&) = delete;
    WatchedRange& operator=(const WatchedRange&) = delete;

private:
    std::size_t slot_;
};

} // namespace lapwing::detail::support
