#include <lapwing/blocks.hpp>

#include "src/support/hash.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lapwing::detail::distribution {

namespace {

/// Throws RangeError unless these blocks make up the extent of a dimension.
void check_dimension(std::span<const std::uint64_t> begins, std::int64_t extent, std::size_t dimension) {
    std::int64_t sum = 0;
    bool overflow = false;
    for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
        const auto length = static_cast<std::int64_t>(begins[k + 1] - begins[k]);
        if (length < 0)
            throw RangeError{fmt::format("Blocks: block {} of dimension {} has the length {}; pass at least 0", k,
                                         dimension, length)};
        overflow |= __builtin_add_overflow(sum, length, &sum);
    }
    if (!overflow && sum == extent) return;
    throw RangeError{fmt::format("Blocks: the {} blocks of dimension {} have {} indices in all, and its extent is {}; "
                                 "pass lengths that make up the extent, also when it changes",
                                 begins.size() - 1, dimension, overflow ? "more than 2^63 - 1" : std::to_string(sum),
                                 extent)};
}

} // namespace

BlockTable::BlockTable(std::span<const std::vector<std::int64_t>> lengths) {
    for (const std::vector<std::int64_t>& dimension : lengths) {
        std::vector<std::uint64_t>& begins = begins_.emplace_back();
        if (dimension.empty()) continue;
        begins.reserve(dimension.size() + 1);
        begins.push_back(0);
        for (const std::int64_t length : dimension)
            begins.push_back(begins.back() + static_cast<std::uint64_t>(length));
        identity_ = identity_ * 0x100000001b3 ^ support::hash_of(std::as_bytes(std::span{begins}));
    }
}

void BlockTable::check(std::span<const std::int64_t> extents, int ranks) const {
    if (begins_.size() > extents.size())
        throw RangeError{fmt::format("Blocks: lengths for {} dimensions, and the array has {}; pass one list for each "
                                     "dimension, or fewer",
                                     begins_.size(), extents.size())};
    std::uint64_t blocks = 1;
    std::vector<std::size_t> counts;
    for (const std::vector<std::uint64_t>& begins : begins_) {
        counts.push_back(begins.empty() ? 1 : begins.size() - 1);
        if (__builtin_mul_overflow(blocks, counts.back(), &blocks)) blocks = UINT64_MAX;
    }
    if (blocks != static_cast<std::uint64_t>(ranks))
        throw RangeError{fmt::format("Blocks: {} blocks for {} ranks; pass one for each rank, of length 0 where it is "
                                     "to have nothing",
                                     fmt::join(counts, " x "), ranks)};
    for (std::size_t d = 0; d < begins_.size(); ++d)
        if (!begins_[d].empty()) check_dimension(begins_[d], extents[d], d);
}

std::uint64_t BlockDimension::longest() const noexcept {
    std::uint64_t most = begins.empty() ? extent : 0;
    for (int process = 0; process < processes(); ++process) most = std::max(most, length(process));
    return most;
}

} // namespace lapwing::detail::distribution
