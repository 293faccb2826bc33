// Copies of whole segments that follow a window's notifications: tests of CoherentCopies compare them with the segments
// themselves.
#pragma once

#include "datatype/block_copy.hpp"
#include "window/coherent_copies.hpp"
#include "window/window_state.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// A mirror of all segments of a window in plain memory. It follows the notifications and records their bytes, so that
/// a missing notification shows, and so does one of bytes that were not written.
class Mirror final : public lapwing::detail::window::CoherentCopies {
public:
    /// Fills the mirror by gets.
    explicit Mirror(lapwing::Window& window) : window_{&window} {
        const lapwing::detail::transport::MemoryMap& map = window.map();
        for (int rank = 0; rank < map.ranks; ++rank) {
            Segment segment;
            segment.bytes.resize(map.bytes(rank));
            segment.told.resize(map.bytes(rank), Told::nothing);
            window.get(lapwing::Rank{rank}, lapwing::Offset{0}, segment.bytes);
            segments_.push_back(std::move(segment));
        }
        window.state().order().copies().add(*this);
    }
    ~Mirror() override { window_->state().order().copies().remove(*this); }
    Mirror(const Mirror&) = delete;
    Mirror& operator=(const Mirror&) = delete;

    void acquired() noexcept override { ++acquires_; }
    void written(lapwing::Rank target, lapwing::Offset offset, std::span<const std::byte> bytes) override {
        std::byte* const here = told(target.value, offset.bytes, bytes.size(), Told::written);
        if (here != nullptr && !bytes.empty()) std::memcpy(here, bytes.data(), bytes.size());
    }
    void written(lapwing::Rank target, const lapwing::Layout& there, const lapwing::Layout& here,
                 const std::byte* base) override {
        for (lapwing::LayoutCursor cursor{there}; !cursor.done();) {
            const lapwing::ByteBlock block = cursor.next();
            if (told(target.value, static_cast<std::uint64_t>(block.offset), block.bytes, Told::written) == nullptr)
                return;
        }
        lapwing::detail::datatype::copy(segment(target.value).bytes.data(), there, base, here);
    }
    void atomic_sent(lapwing::Rank target, lapwing::Offset offset, lapwing::detail::mpi::AtomicOperation operation,
                     lapwing::detail::mpi::AtomicType type, const void* operand, std::uint64_t /*mark*/) override {
        // Of a value that is not known it makes another one.
        const bool known = !any_lost(target.value, offset.bytes, lapwing::detail::mpi::size_of(type));
        std::byte* const here =
            told(target.value, offset.bytes, lapwing::detail::mpi::size_of(type), known ? Told::written : Told::lost);
        std::uint64_t before = 0;
        if (here != nullptr && known) lapwing::detail::mpi::processor_fetch(operation, type, here, operand, &before);
    }
    void invalidated(lapwing::Rank target, lapwing::Offset offset, std::uint64_t bytes) override {
        (void)told(target.value, offset.bytes, bytes, Told::lost);
    }

    [[nodiscard]] std::uint64_t acquires() const { return acquires_; }

    /// Bytes that an operation has written.
    struct Expected {
        bool may_be_lost = false;                           ///< the copies need not be notified of the values
        std::set<std::pair<int, std::uint64_t>> bytes = {}; ///< rank and offset

        void add(int target, std::uint64_t offset, std::uint64_t count) {
            for (std::uint64_t k = 0; k < count; ++k) bytes.emplace(target, offset + k);
        }
    };
    /// "right" if exactly these bytes were notified since the last call, except for the rank's own, and the mirror of
    /// them is what gets find; else what is wrong.
    [[nodiscard]] std::string check(const Expected& expected) {
        for (const auto& [rank, at] : expected.bytes)
            if (rank != window_->map().own_rank && segment(rank).told[at] == Told::nothing)
                return say("not told of", rank, at);
        for (int rank = 0; rank < window_->map().ranks; ++rank) {
            Segment& mirrored = segment(rank);
            std::vector<std::byte> truth;
            for (std::size_t at = 0; at < mirrored.bytes.size(); ++at) {
                const Told what = std::exchange(mirrored.told[at], Told::nothing);
                if (what == Told::nothing) continue;
                if (rank == window_->map().own_rank || !expected.bytes.contains({rank, at}))
                    return say("told of", rank, at);
                if (truth.empty()) {
                    truth.resize(mirrored.bytes.size());
                    window_->get(lapwing::Rank{rank}, lapwing::Offset{0}, truth);
                }
                if (what == Told::lost && !expected.may_be_lost) return say("lost", rank, at);
                if (what == Told::lost) mirrored.bytes[at] = truth[at];
                if (mirrored.bytes[at] != truth[at]) return say("another value than the owner has of", rank, at);
            }
        }
        return outside_ ? "told of bytes outside of the segments" : "right";
    }
    /// What it was told of is not looked at.
    void forget() {
        for (Segment& segment : segments_) std::ranges::fill(segment.told, Told::nothing);
    }
    /// The window has been moved there.
    void follow(lapwing::Window& window) { window_ = &window; }

private:
    enum class Told : std::uint8_t { nothing, written, lost };
    struct Segment {
        std::vector<std::byte> bytes;
        std::vector<Told> told;
    };

    [[nodiscard]] Segment& segment(int rank) { return segments_[static_cast<std::size_t>(rank)]; }
    /// Where the bytes are; null if there are no such bytes.
    [[nodiscard]] std::byte* told(int target, std::uint64_t offset, std::uint64_t bytes, Told what) {
        if (target < 0 || target >= window_->map().ranks || bytes > segment(target).bytes.size() ||
            offset > segment(target).bytes.size() - bytes) {
            outside_ = true;
            return nullptr;
        }
        std::fill_n(segment(target).told.begin() + static_cast<std::ptrdiff_t>(offset), bytes, what);
        return segment(target).bytes.data() + offset;
    }
    [[nodiscard]] bool any_lost(int target, std::uint64_t offset, std::uint64_t bytes) {
        const std::vector<Told>& told = segment(target).told;
        const std::uint64_t end = std::min<std::uint64_t>(offset + bytes, told.size());
        for (std::uint64_t at = offset; at < end; ++at)
            if (told[at] == Told::lost) return true;
        return false;
    }
    [[nodiscard]] static std::string say(const char* what, int rank, std::uint64_t at) {
        return std::string{what} + " byte " + std::to_string(at) + " of rank " + std::to_string(rank);
    }

    lapwing::Window* window_;
    std::vector<Segment> segments_;
    bool outside_ = false;
    std::uint64_t acquires_ = 0;
};

} // namespace test
