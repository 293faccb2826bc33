#include "cache/replacement.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {
namespace {

/// A region shorter than this would evict what it has just read.
constexpr Frame least_sets = 16;

class DirectMapped final : public Replacement {
public:
    DirectMapped(Frame frames, const RemoteRanks& ranks, std::uint64_t victims)
        : ranks_{ranks}, frame_at_(frames), place_of_(frames), page_at_(frames, none), home_of_(frames) {
        victims_ = static_cast<Frame>(std::min<std::uint64_t>(victims, frames / 4));
        const Frame mapped = frames - victims_;
        regions_ = std::max<Frame>(1, std::min(static_cast<Frame>(ranks_.count()), mapped / least_sets));
        sets_ = std::max<Frame>(1, mapped / regions_);
        std::iota(frame_at_.begin(), frame_at_.end(), Frame{0});
        std::iota(place_of_.begin(), place_of_.end(), Frame{0});
    }

    Frame frame_for(std::uint64_t page, Rank rank, Frame keep, Reuse) override {
        const Frame place = place_for(page, rank);
        const std::uint64_t incumbent = page_at_[place];
        if (incumbent == none || victims_ == 0) {
            if (frame_at_[place] == keep) return no_frame;
        } else {
            // The old page moves into the victim cache; the oldest page there is evicted.
            const Frame victim = first_victim() + next_victim_;
            if (frame_at_[victim] == keep) return no_frame;
            next_victim_ = (next_victim_ + 1) % victims_;
            exchange(place, victim);
        }
        page_at_[place] = page;
        home_of_[frame_at_[place]] = place;
        return frame_at_[place];
    }
    bool remembers(std::uint64_t) const noexcept override { return false; }
    bool passing(Frame) const noexcept override { return false; }
    void used(Frame frame) override {
        // A hit in the victim cache brings the page back to its place.
        const Frame at = place_of_[frame];
        if (at >= first_victim()) exchange(at, home_of_[frame]);
    }
    void evicted(std::uint64_t page, Frame frame) override {
        std::uint64_t& held = page_at_[place_of_[frame]];
        if (held == page) held = none; // else the place already belongs to another page
    }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    [[nodiscard]] Frame first_victim() const noexcept { return static_cast<Frame>(frame_at_.size()) - victims_; }
    [[nodiscard]] Frame place_for(std::uint64_t page, Rank rank) const noexcept {
        return static_cast<Frame>(ranks_.place(rank)) % regions_ * sets_ + static_cast<Frame>(page % sets_);
    }
    void exchange(Frame a, Frame b) noexcept {
        std::swap(frame_at_[a], frame_at_[b]);
        std::swap(page_at_[a], page_at_[b]);
        place_of_[frame_at_[a]] = a;
        place_of_[frame_at_[b]] = b;
    }

    RemoteRanks ranks_;
    Frame regions_ = 1;
    Frame sets_ = 1;
    Frame victims_ = 0;
    Frame next_victim_ = 0;
    std::vector<Frame> frame_at_; ///< of each place; the last places are the victim cache
    std::vector<Frame> place_of_; ///< of each frame
    std::vector<std::uint64_t> page_at_;
    std::vector<Frame> home_of_; ///< of the page in each frame: its place outside the victim cache
};

} // namespace

std::unique_ptr<Replacement> make_direct_mapped(Frame frames, const RemoteRanks& ranks, std::uint64_t victims) {
    return std::make_unique<DirectMapped>(frames, ranks, victims);
}

} // namespace lapwing::detail::cache
