#pragma once

#include <chrono>
#include <cstdint>

namespace lapwing::detail::team {

class TeamState;

/// How long writes have been held back in one place: a cache, or a buffer of adds. For one thread, the Flusher.
class HeldWrites {
public:
    using Clock = std::chrono::steady_clock;
    /// In ascending order.
    enum class Age : std::uint8_t {
        none,   ///< nothing is held back, or nothing that sent() has not been told of
        recent, ///< the program may be about to add to it
        old ///< it has added nothing since the last look, or goes on adding for so long that this is no reason to wait
    };

    /// `any`: something may be held back. `writes`: how many there were, ever.
    [[nodiscard]] Age look(Clock::time_point now, bool any, std::uint64_t writes) noexcept {
        const bool rests = writes == writes_;
        writes_ = writes;
        if (!any || writes == sent_) {
            since_ = never;
            return age_ = Age::none;
        }
        if (since_ == never) since_ = now;
        return age_ = rests || now - since_ >= longest ? Age::old : Age::recent;
    }
    /// Whether the last look has found it old.
    [[nodiscard]] bool old() const noexcept { return age_ == Age::old; }
    /// What there was at the last look is sent.
    void sent() noexcept {
        sent_ = writes_;
        since_ = never;
        age_ = Age::none;
    }

private:
    /// A loop that writes the same bytes again and again has them sent so seldom that it does not matter.
    static constexpr std::chrono::milliseconds longest{100};
    static constexpr Clock::time_point never = Clock::time_point::min();

    Clock::time_point since_ = never; ///< what is held back, not longer than that
    std::uint64_t writes_ = 0;
    std::uint64_t sent_ = ~std::uint64_t{0};
    Age age_ = Age::none;
};

/// What holds writes back until a release, as a window does; for the Flusher, whose thread alone calls this.
class HoldsWrites {
public:
    [[nodiscard]] virtual const TeamState& team() const noexcept = 0;
    /// How long something is held back. Takes no lock that is held while anything is waited for.
    [[nodiscard]] virtual HeldWrites::Age look(HeldWrites::Clock::time_point now) noexcept = 0;
    /// Sends what the last look has found old, so that it arrives without a release; may wait. What fails the next
    /// release throws.
    virtual void send_old() noexcept = 0;

protected:
    ~HoldsWrites() = default;
};

} // namespace lapwing::detail::team
