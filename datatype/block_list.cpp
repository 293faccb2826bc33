#include <lapwing/block_list.hpp>

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing {

BlockList::BlockList(std::vector<BlockPair> pairs) : pairs_{std::move(pairs)} { minimise(); }

BlockList::BlockList(const Layout& source, const Layout& target) {
    for (LayoutZip zip{source, target}; !zip.done();) {
        if (pairs_.size() == Layout::max_listed_blocks)
            throw RangeError{
                fmt::format("BlockList: the transfer of {} bytes has more than {} blocks, the most that are "
                            "listed; transfer its parts one by one",
                            source.bytes(), Layout::max_listed_blocks)};
        pairs_.push_back(zip.next());
    }
    minimise();
}

void BlockList::minimise() {
    std::erase_if(pairs_, [](const BlockPair& pair) { return pair.bytes == 0; });
    // Mostly they come sorted.
    const auto lower_target = [](const BlockPair& a, const BlockPair& b) { return a.target < b.target; };
    if (!std::is_sorted(pairs_.begin(), pairs_.end(), lower_target))
        std::sort(pairs_.begin(), pairs_.end(), lower_target);
    bytes_ = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const BlockPair pair = pairs_[i];
        bytes_ += pair.bytes;
        if (kept > 0) {
            BlockPair& last = pairs_[kept - 1];
            const auto length = static_cast<std::int64_t>(last.bytes);
            if (pair.target < last.target + length)
                throw UsageError{
                    fmt::format("target blocks overlap: {} bytes at {} and {} bytes at {}; what is written to "
                                "the same place twice has no defined value",
                                last.bytes, last.target, pair.bytes, pair.target)};
            // One pass reaches the fixpoint: a merged pair ends where its last part did.
            if (last.target + length == pair.target && last.source + length == pair.source) {
                last.bytes += pair.bytes;
                continue;
            }
        }
        pairs_[kept++] = pair;
    }
    pairs_.resize(kept);
}

BlockList BlockList::within_target(std::int64_t lower, std::int64_t upper) const {
    BlockList result;
    auto pair = std::partition_point(pairs_.begin(), pairs_.end(), [&](const BlockPair& p) {
        return p.target + static_cast<std::int64_t>(p.bytes) <= lower;
    });
    for (; pair != pairs_.end() && pair->target < upper; ++pair) {
        const std::int64_t begin = std::max(pair->target, lower);
        const std::int64_t end = std::min(pair->target + static_cast<std::int64_t>(pair->bytes), upper);
        if (begin >= end) break;
        const auto bytes = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
        result.pairs_.push_back({pair->source + (begin - pair->target), begin, bytes});
        result.bytes_ += bytes;
    }
    return result;
}

BlockList BlockList::slice(std::uint64_t begin, std::uint64_t end) const {
    if (begin > end || end > bytes_)
        throw RangeError{
            fmt::format("BlockList::slice({}, {}): not a part of [0, {}), the bytes of the list", begin, end, bytes_)};
    BlockList result;
    result.bytes_ = end - begin;
    std::uint64_t position = 0;
    for (const BlockPair& pair : pairs_) {
        const std::uint64_t from = std::max(begin, position);
        const std::uint64_t to = std::min(end, position + pair.bytes);
        if (from < to) {
            const auto skipped = static_cast<std::int64_t>(from - position);
            result.pairs_.push_back({pair.source + skipped, pair.target + skipped, to - from});
        }
        position += pair.bytes;
        if (position >= end) break;
    }
    return result;
}

std::vector<BlockList> BlockList::split(std::uint64_t bytes) const {
    if (bytes == 0) throw RangeError{"BlockList::split(0): a part must have at least 1 byte"};
    std::vector<BlockList> parts;
    for (BlockPair pair : pairs_) {
        while (pair.bytes > 0) {
            if (parts.empty() || parts.back().bytes_ == bytes) parts.emplace_back();
            BlockList& part = parts.back();
            const std::uint64_t here = std::min(pair.bytes, bytes - part.bytes_);
            part.pairs_.push_back({pair.source, pair.target, here});
            part.bytes_ += here;
            pair.source += static_cast<std::int64_t>(here);
            pair.target += static_cast<std::int64_t>(here);
            pair.bytes -= here;
        }
    }
    return parts;
}

} // namespace lapwing
