#include "cache/read_ahead.hpp"

#include <algorithm>

namespace lapwing::detail::cache {

ReadAhead::Plan ReadAhead::touched(Rank rank, Offset offset, std::uint64_t part_bytes, Found found) noexcept {
    ++clock_;
    if (largest_ == 0) return {};
    if (limit_ == 0) {
        if (clock_ - stopped_at_ < pause_) return {};
        limit_ = 1;
    }
    const std::uint64_t page = offset.bytes & ~(page_bytes_ - 1);
    Stream* nearest = nullptr;
    std::uint64_t least = largest_stride + 1;
    Stream* oldest = &streams_[0];
    for (Stream& stream : streams_) {
        if (stream.age < oldest->age) oldest = &stream;
        if (stream.rank != rank) continue;
        const std::uint64_t at = stream.sequential ? page : offset.bytes;
        if (stream.delta != 0 && at == stream.last + static_cast<std::uint64_t>(stream.delta))
            return advance(stream, at, part_bytes, found);
        if (stream.distance != 0) continue; // a confirmed stream waits for its next access
        const std::uint64_t apart = std::max(offset.bytes, stream.last) - std::min(offset.bytes, stream.last);
        if (apart < least) {
            least = apart;
            nearest = &stream;
        }
    }
    if (nearest == nullptr) {
        *oldest = {.rank = rank, .last = offset.bytes, .age = clock_};
        return {};
    }
    const std::uint64_t before = nearest->last & ~(page_bytes_ - 1);
    if (page == before + page_bytes_ || page + page_bytes_ == before) {
        nearest->sequential = true;
        nearest->delta =
            page > before ? static_cast<std::int64_t>(page_bytes_) : -static_cast<std::int64_t>(page_bytes_);
        return advance(*nearest, page, part_bytes, found);
    }
    nearest->delta = static_cast<std::int64_t>(offset.bytes - nearest->last);
    nearest->last = offset.bytes;
    nearest->age = clock_;
    return {};
}

ReadAhead::Plan ReadAhead::touched_again(Rank rank, Offset offset, std::uint64_t part_bytes) noexcept {
    const auto within_page = [&](const Stream& stream) {
        return stream.rank == rank && ((stream.last ^ offset.bytes) & ~(page_bytes_ - 1)) == 0;
    };
    if (std::ranges::any_of(streams_, within_page)) return {};
    return touched(rank, offset, part_bytes, Found::missing);
}

ReadAhead::Plan ReadAhead::advance(Stream& stream, std::uint64_t offset, std::uint64_t part_bytes,
                                   Found found) noexcept {
    stream.last = offset;
    stream.age = clock_;
    stream.waited = stream.waited || found == Found::under_way;
    Plan plan;
    plan.sequential = stream.sequential;
    const bool missing = found == Found::missing || found == Found::stale;
    if (missing && stream.ahead != 0) {
        // What was fetched has been dropped, or invalidated by an acquire: start small again.
        stream.ahead = 0;
        stream.distance = first_distance;
    } else if (stream.ahead != 0) {
        --stream.ahead;
    }
    const std::uint64_t limit = stream.sequential ? limit_ : std::min(limit_, largest_stride_distance);
    if (stream.distance == 0) stream.distance = first_distance;
    // The next block is requested when half of the distance is used up, so that one is in flight while another is read.
    std::uint64_t distance = std::min(stream.distance, limit);
    if (found == Found::stale && !stream.sequential && stream.delta > 0) {
        plan.again = true;
        stream.distance = largest_stride_distance;
        distance = std::min(limit_, largest_stride_distance_again);
    }
    if (stream.ahead > distance / 2) return plan;
    const std::uint64_t stride = static_cast<std::uint64_t>(stream.delta < 0 ? -stream.delta : stream.delta);
    // Up to the end of the part, or back to its start.
    const std::uint64_t room = stream.delta > 0 ? (part_bytes - 1 - offset) / stride : offset / stride;
    const std::uint64_t end = std::min(distance, room);
    if (end <= stream.ahead) return plan;
    const std::uint64_t begin = stream.ahead + 1;
    plan.count = end - stream.ahead;
    plan.step = stride;
    plan.first = stream.delta > 0 ? offset + begin * stride : offset - end * stride;
    plan.whole_pages = stream.sequential;
    stream.ahead = end;
    if (stream.distance * page_bytes_ < unproven_bytes || stream.waited)
        stream.distance = std::min(stream.distance * 2, std::max<std::uint64_t>(largest_, first_distance));
    stream.waited = false;
    return plan;
}

void ReadAhead::judge(std::uint32_t used, std::uint32_t wasted) noexcept {
    used_ += used;
    wasted_ += wasted;
    if (used_ + wasted_ < (limit_ > 1 ? judged_items : judged_items_of_retry)) return;
    if (wasted_ > used_) {
        limit_ /= 2;
        if (limit_ == 0) {
            stopped_at_ = clock_;
            pause_ = std::min(pause_ * 2, longest_pause);
        }
    } else if (wasted_ * 8 <= used_) {
        limit_ = std::clamp<std::uint64_t>(limit_ * 2, 1, largest_);
        pause_ = first_pause;
    }
    used_ = 0;
    wasted_ = 0;
}

} // namespace lapwing::detail::cache
