#include "src/trace/reuse.hpp"

#include <algorithm>
#include <bit>

namespace lapwing::detail::trace {
namespace {

[[nodiscard]] std::uint64_t hash_of(std::uint64_t object, std::uint64_t page) noexcept {
    std::uint64_t hash = (object * 0x9e3779b97f4a7c15 ^ page) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 29) * 0x94d049bb133111eb;
    return hash ^ hash >> 32;
}

} // namespace

std::uint64_t ReuseCounts::total() const noexcept {
    std::uint64_t sum = cold;
    for (const std::uint64_t count : at) sum += count;
    return sum;
}

double ReuseCounts::hits(std::uint64_t pages) const noexcept {
    if (pages == 0) return 0;
    auto sum = static_cast<double>(at[0]);
    for (std::size_t k = 1; k < buckets; ++k) {
        const std::uint64_t low = std::uint64_t{1} << (k - 1); // so many others at least
        if (pages <= low) break;
        const double part = std::min(1.0, static_cast<double>(pages - low) / static_cast<double>(low));
        sum += part * static_cast<double>(at[k]);
    }
    return sum;
}

ReuseCounts& ReuseCounts::operator+=(const ReuseCounts& other) noexcept {
    cold += other.cold;
    sequential += other.sequential;
    for (std::size_t k = 0; k < buckets; ++k) at[k] += other.at[k];
    return *this;
}

auto ReuseSample::touch(std::uint64_t object_and_owner, std::uint64_t page, bool follows) -> Distance {
    ++clock_;
    const std::uint64_t hash = hash_of(object_and_owner, page);
    if (hash > limit_) return {};
    Distance result{.sampled = true, .weight = std::uint64_t{1} << halvings_, .sequential = follows};
    if (hash == last_hash_ && !seen_.empty() && seen_.back().hash == hash) {
        result.in_interval = seen_.back().last >= interval_begin_;
        seen_.back().last = clock_;
        return result;
    }
    last_hash_ = hash;
    const auto found = std::ranges::find(seen_, hash, &Seen::hash);
    if (found == seen_.end()) {
        result.cold = true;
        seen_.push_back({hash, clock_});
        if (seen_.size() > most_pages) make_room();
        return result;
    }
    // In the order of their last accesses: those after it were accessed since.
    result.distance = static_cast<std::uint64_t>(seen_.end() - found - 1) << halvings_;
    result.in_interval = found->last >= interval_begin_;
    std::rotate(found, found + 1, seen_.end());
    seen_.back().last = clock_;
    return result;
}

void ReuseSample::make_room() {
    while (seen_.size() > most_pages / 2 && halvings_ < 40) {
        limit_ /= 2;
        ++halvings_;
        std::erase_if(seen_, [this](const Seen& page) { return page.hash > limit_; });
    }
}

void add(ReuseCounts& counts, const ReuseSample::Distance& distance, bool within_interval) noexcept {
    if (!distance.sampled) return;
    if (distance.cold || (within_interval && !distance.in_interval)) {
        counts.cold += distance.weight;
        if (distance.sequential) counts.sequential += distance.weight;
        return;
    }
    const auto bucket = static_cast<std::size_t>(std::bit_width(distance.distance));
    counts.at[std::min(bucket, ReuseCounts::buckets - 1)] += distance.weight;
}

} // namespace lapwing::detail::trace
