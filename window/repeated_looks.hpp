#pragma once

#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing::detail::window {

/// What each thread saw when it last looked at values that other ranks may change. A thread that looks again and sees
/// the same polls for a change, which may not come once a rank has left.
class RepeatedLooks {
public:
    /// Whether the calling thread's last look there saw the same; this look is its last one from now on. It remembers a
    /// few places: a loop that polls up to that many of them is recognised.
    [[nodiscard]] static bool again(const void* subject, Rank target, Offset offset, std::uint64_t value) noexcept {
        thread_local RepeatedLooks own;
        const Look now{subject, target, offset, value};
        const auto found = std::ranges::find_if(own.looks_, [&](const Look& look) { return look.is_at(now); });
        if (found != own.looks_.end()) return std::exchange(found->value, value) == value;
        own.looks_[own.oldest_] = now;
        own.oldest_ = (own.oldest_ + 1) % places;
        return false;
    }

private:
    static constexpr std::size_t places = 16;
    struct Look {
        const void* subject = nullptr;
        Rank target = 0;
        Offset offset = 0;
        std::uint64_t value = 0;
        [[nodiscard]] bool is_at(const Look& other) const noexcept {
            return subject == other.subject && target == other.target && offset == other.offset;
        }
    };
    std::array<Look, places> looks_{};
    std::size_t oldest_ = 0;
};

} // namespace lapwing::detail::window
