#include "cache/replacement.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace lapwing::detail::cache {
namespace {

class TwoQueues final : public Replacement {
public:
    TwoQueues(Frame frames, RecentUse& recent)
        : frames_{frames},
          ring_{std::max<Frame>(frames / 2, 1)},
          recent_{recent},
          remembered_(std::bit_ceil<std::size_t>(frames), none) {}

    Frame frame_for(std::uint64_t page, Rank, Frame keep, Reuse reuse) override {
        const bool remembered = take_remembered(page);
        if ((reuse == Reuse::remembered ? remembered : reuse == Reuse::expected) && frames_ > ring_) {
            const Frame frame = reused_frame(keep);
            if (frame != no_frame) return frame;
        }
        if (ring_ == 1 && keep == 0) return no_frame;
        if (next_ == keep) next_ = (next_ + 1) % ring_;
        const Frame frame = next_;
        next_ = (next_ + 1) % ring_;
        return frame;
    }
    bool remembers(std::uint64_t page) const noexcept override { return remembered_[slot(page)] == page; }
    bool passing(Frame frame) const noexcept override { return frame < ring_; }
    void used(Frame) override {} // the ring is a queue, and the clock reads the page table's entries
    void evicted(std::uint64_t page, Frame frame) override {
        if (frame < ring_) remembered_[slot(page)] = page;
    }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    [[nodiscard]] std::size_t slot(std::uint64_t page) const noexcept {
        return static_cast<std::size_t>((page * 0x9E3779B97F4A7C15U) >> 20) & (remembered_.size() - 1);
    }
    bool take_remembered(std::uint64_t page) noexcept {
        std::uint64_t& entry = remembered_[slot(page)];
        if (entry != page) return false;
        entry = none;
        return true;
    }
    Frame reused_frame(Frame keep) {
        const Frame count = frames_ - ring_;
        if (used_ < count) return ring_ + used_++;
        // In a second round no page has been used since the first.
        for (Frame step = 0; step < 2 * count; ++step) {
            const Frame frame = ring_ + hand_;
            hand_ = (hand_ + 1) % count;
            if (frame != keep && !recent_.take(frame)) return frame;
        }
        return no_frame;
    }

    Frame frames_;
    Frame ring_;     ///< frames [0, ring_) are A1in, the others Am
    Frame next_ = 0; ///< of the ring
    Frame used_ = 0; ///< of Am, before the clock starts
    Frame hand_ = 0;
    RecentUse& recent_;
    std::vector<std::uint64_t> remembered_; ///< A1out
};

} // namespace

std::unique_ptr<Replacement> make_two_queues(Frame frames, RecentUse& recent) {
    return std::make_unique<TwoQueues>(frames, recent);
}

} // namespace lapwing::detail::cache
