#pragma once

#include <cstdint>

namespace lapwing::detail::transport {

/// An operation on bytes of a rank that is not reached by load and store. The range has been checked.
struct Access {
    enum class Kind : std::uint8_t {
        read,
        write,
        update, ///< reads and writes there, as an atomic does, or writes only some of these bytes
    };
    /// Who starts it. The cache keeps its gets and later writes apart by itself, and soon waits for what it starts,
    /// with its mutex held: so its accesses must not wait for their turn among chunked transfers.
    enum class Starter : std::uint8_t { program, cache };

    int target = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    Kind kind = Kind::read;
    const char* call = "Window::access"; ///< for messages: "Window::get"
    Starter starter = Starter::program;
    bool past_cache = false; ///< the caller has seen to it that no cached bytes are in the way
    /// Any part of a transfer but the first: the first has waited for everything that the parts conflict with, and the
    /// parts do not wait for each other.
    bool continues = false;

    [[nodiscard]] bool writes() const noexcept { return kind != Kind::read; }
    /// Whether later accesses may have to wait for it.
    [[nodiscard]] bool is_tracked() const noexcept { return writes() || starter == Starter::program; }
};

/// An access that may be started: transports take only these, so that no operation reaches them past AccessGate.
class BegunAccess : public Access {
    friend class AccessGate;
    explicit BegunAccess(const Access& access) noexcept : Access{access} {}
};

/// Lets accesses start. A class that derives from it has to know everything that may be under way.
class AccessGate {
protected:
    [[nodiscard]] static BegunAccess begun(const Access& access) noexcept { return BegunAccess{access}; }
    ~AccessGate() = default;
};

/// The bytes of a rank that a transfer of several parts may touch.
struct Touched {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool first = true; ///< nothing of the transfer has been started yet
};

} // namespace lapwing::detail::transport
