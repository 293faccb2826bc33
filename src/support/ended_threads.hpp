#pragma once

#include <cstdint>

namespace lapwing::detail::support {

/// Threads that had a number of their own and have ended, so far.
[[nodiscard]] std::uint64_t ended_threads() noexcept;

/// While it exists, no thread gets this number: what belongs to the thread that had it last is the holder's.
class NumberOfEndedThread {
public:
    /// Does not wait; holds() says whether no thread had the number.
    explicit NumberOfEndedThread(unsigned number) noexcept;
    ~NumberOfEndedThread();
    NumberOfEndedThread(const NumberOfEndedThread&) = delete;
    NumberOfEndedThread& operator=(const NumberOfEndedThread&) = delete;

    [[nodiscard]] bool holds() const noexcept { return holds_; }

private:
    unsigned number_;
    bool holds_;
};

} // namespace lapwing::detail::support
