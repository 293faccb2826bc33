#pragma once

#include <cstdint>
#include <string>

namespace lapwing::detail::slices {

/// What one rank moves, and does with it, for one of the assignments of an Assignment: local calls, as often as needed.
class Movement {
public:
    Movement() = default;
    Movement(const Movement&) = delete;
    Movement& operator=(const Movement&) = delete;
    /// Waits for what was started, reporting nothing.
    virtual ~Movement() = default;

    /// Starts the transfers of other nodes, as far as there is room, and then copies what is on this one.
    virtual void start() = 0;
    /// Completes what was started: values are at their place, or, of a put, the memory may be reused.
    virtual void wait() = 0;
    /// Makes progress on what was started; whether all of it has arrived, so that wait() only applies values. The array
    /// may have been closed.
    [[nodiscard]] virtual bool test() = 0;
    /// Of what goes through a copy, when nobody reads the local part any more.
    virtual void finish() = 0;
    /// Of what is restorable, once it is complete or has failed: the local part is again what it was before start(), or
    /// will not be asked for that any more.
    virtual void restore() = 0;
    virtual void forget() noexcept = 0;

    /// Transfers to other nodes, and their bytes.
    [[nodiscard]] virtual std::uint64_t transfers() const = 0;
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
    [[nodiscard]] virtual std::string explain() const = 0;
};

} // namespace lapwing::detail::slices
