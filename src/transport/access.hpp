#pragma once

#include <lapwing/rank.hpp>

#include <cstdint>

namespace lapwing::detail::transport {

/// An operation on bytes of a rank that is not reached by load and store. The range has been checked.
struct Access {
    enum class Kind : std::uint8_t {
        read,
        write,
        update, ///< reads and writes there, as an atomic does, or writes only some of these bytes
    };

    Rank target = 0;
    Offset offset = 0;
    std::uint64_t bytes = 0;
    Kind kind = Kind::read;
    const char* call = "Window::access"; ///< for messages: "Window::get"
    /// Any part of a transfer but the first: the first has waited for everything that the parts conflict with, and the
    /// parts do not wait for each other.
    bool continues = false;

    [[nodiscard]] bool writes() const noexcept { return kind != Kind::read; }
};

/// An access that may be started: transports take only these, so that no operation reaches them past AccessGate.
class BegunAccess : public Access {
public:
    /// The cache started it, and soon waits for it.
    [[nodiscard]] bool is_for_cache() const noexcept { return for_cache_; }
    /// Whether later accesses may have to wait for it. The cache keeps its gets and later writes apart by itself.
    [[nodiscard]] bool is_tracked() const noexcept { return writes() || !for_cache_; }

private:
    friend class AccessGate;
    BegunAccess(const Access& access, bool for_cache) noexcept : Access{access}, for_cache_{for_cache} {}
    bool for_cache_;
};

/// Lets accesses start. A class that derives from it has to know everything that may be under way.
class AccessGate {
protected:
    [[nodiscard]] static BegunAccess begun(const Access& access) noexcept { return {access, false}; }
    [[nodiscard]] static BegunAccess begun_for_cache(const Access& access) noexcept { return {access, true}; }
    ~AccessGate() = default;
};

/// Bytes of a rank, among those of an access.
struct Place {
    Offset offset = 0;
    std::uint64_t bytes = 0;
};

} // namespace lapwing::detail::transport
