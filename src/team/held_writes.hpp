#pragma once

#include <chrono>
#include <cstdint>

namespace lapwing::detail::team {

class TeamState;

/// How long writes have been held back in one place: a cache, or a buffer of adds. For one thread, the Flusher.
class HeldWrites {
public:
    using Clock = std::chrono::steady_clock;

    /// Whether something is held back that is old: the program has added nothing since the last look, or goes on adding
    /// for so long that this is no reason to wait. `any`: something may be held back, of which sent() may have been
    /// told. `writes`: how many there were, ever.
    [[nodiscard]] bool look(Clock::time_point now, bool any, std::uint64_t writes) noexcept {
        const bool rests = writes == writes_;
        writes_ = writes;
        if (!any || writes == sent_) {
            since_ = never;
            return old_ = false;
        }
        if (since_ == never) since_ = now;
        return old_ = rests || now - since_ >= longest;
    }
    /// What the last look has found.
    [[nodiscard]] bool old() const noexcept { return old_; }
    /// What there was at the last look is sent.
    void sent() noexcept {
        sent_ = writes_;
        since_ = never;
        old_ = false;
    }

private:
    /// A loop that writes the same bytes again and again has them sent so seldom that it does not matter.
    static constexpr std::chrono::milliseconds longest{100};
    static constexpr Clock::time_point never = Clock::time_point::min();

    Clock::time_point since_ = never; ///< what is held back, not longer than that
    std::uint64_t writes_ = 0;
    std::uint64_t sent_ = ~std::uint64_t{0};
    bool old_ = false;
};

/// What holds writes back until a release, as a window does; for the Flusher, whose thread alone calls this.
class HoldsWrites {
public:
    [[nodiscard]] virtual const TeamState& team() const noexcept = 0;
    /// Whether something that is held back is old. Takes no lock that is held while anything is waited for.
    [[nodiscard]] virtual bool look(HeldWrites::Clock::time_point now) noexcept = 0;
    /// Sends what the last look has found old, so that it arrives without a release; may wait. What fails the next
    /// release throws.
    virtual void send_old() noexcept = 0;

protected:
    ~HoldsWrites() = default;
};

} // namespace lapwing::detail::team
