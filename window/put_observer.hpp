#pragma once

#include <lapwing/path.hpp>

#include <chrono>
#include <cstdint>

namespace lapwing::window {

class PutObserver;

/// A put whose time somebody has predicted. It returns before it is complete at the owner: a flush right behind it tells when
/// that is.
struct ObservedPut {
    using Clock = std::chrono::steady_clock;

    PutObserver* observer = nullptr; ///< outlives the window
    int target = 0;
    Path path{};             ///< that was predicted for
    std::uint64_t bytes = 0; ///< in all
    double predicted = 0;    ///< seconds until it is complete at the owner
    Clock::time_point begin;
    Clock::time_point end; ///< of the call that made it
};

class PutObserver {
public:
    virtual void put_took(const ObservedPut& put, double seconds) = 0;

protected:
    ~PutObserver() = default;
};

} // namespace lapwing::window
