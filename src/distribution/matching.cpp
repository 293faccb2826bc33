#include "src/distribution/matching.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lapwing::detail::distribution {

std::uint64_t Match::period() const noexcept {
    return std::accumulate(runs.begin(), runs.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const MatchedRun& run) { return sum + run.count; });
}

namespace {

/// Also before the first: a pattern may begin there, so that its runs are whole blocks.
using Position = std::int64_t;
__extension__ typedef __int128 Wide;

/// The smallest x from 0 on for which lowest <= a * x mod m <= highest; -1 if there is none. 0 <= a < m, 0 <= lowest <=
/// highest < m. Cost: the steps of Euclid's algorithm.
[[nodiscard]] Wide first_multiple_between(Wide a, Wide m, Wide lowest, Wide highest) noexcept {
    if (lowest == 0) return 0;
    if (a == 0) return -1;
    const Wide least = (lowest + a - 1) / a;
    if (a * least <= highest) return least;
    // No multiple of a is between the two. With a * x = m * y + r and r between them, m * y is between their negatives,
    // modulo a.
    const auto negative = [a](Wide value) { return (a - value % a) % a; };
    const Wide y = first_multiple_between(m % a, a, negative(highest), negative(lowest));
    return y < 0 ? -1 : (lowest + m * y + a - 1) / a;
}

/// The positions of one side, cut by the blocks of its dimension.
class Side {
public:
    Side(const DimensionMap& map, const IndexSequence& indices)
        : first_{indices.first},
          stride_{indices.stride},
          size_{stride_ < 0 ? -stride_ : stride_},
          count_{static_cast<Position>(indices.count)},
          block_{static_cast<std::int64_t>(map.block())},
          processes_{map.processes()} {}

    /// As if the block of position k went on for ever, in both directions.
    [[nodiscard]] Side flat(Position k) const noexcept {
        const At block = at(k);
        Side side = *this;
        side.first_ = block.place - k * stride_;
        side.processes_ = 1;
        side.only_process_ = block.process;
        return side;
    }
    [[nodiscard]] bool is_flat() const noexcept { return processes_ == 1; }

    struct At {
        int process;
        std::int64_t place;
        Position end; ///< of the positions in the same block
    };
    [[nodiscard]] At at(Position k) const noexcept {
        const std::int64_t index = first_ + k * stride_;
        if (is_flat()) return {only_process_, index, no_end};
        const std::int64_t block = floor_divide(index, block_);
        const std::int64_t in_block = index - block * block_;
        const std::int64_t round = floor_divide(block, processes_);
        return {static_cast<int>(block - round * processes_), round * block_ + in_block,
                k + positions_behind(in_block) + 1};
    }

    /// The first position in [k, end) that `process` has; `end` if there is none.
    [[nodiscard]] Position next(Position k, int process, Position end) const noexcept {
        if (is_flat()) return std::min(k, end);
        if (size_ > block_) { // which passes over blocks
            const Wide round = Wide{block_} * processes_;
            const auto modulo = [round](Wide value) { return (value % round + round) % round; };
            const Wide from = modulo(Wide{process} * block_ - (first_ + Wide{k} * stride_));
            const Wide last = from + block_ - 1;
            if (last >= round) return std::min(k, end); // it is there
            const Wide steps = first_multiple_between(modulo(stride_), round, from, last);
            return steps < 0 || steps > end - k ? end : std::min(k + static_cast<Position>(steps), end);
        }
        const std::int64_t block = floor_divide(first_ + k * stride_, block_);
        const std::int64_t here = block - floor_divide(block, processes_) * processes_;
        std::int64_t blocks = stride_ > 0 ? process - here : here - process;
        if (blocks == 0) return std::min(k, end);
        if (blocks < 0) blocks += processes_;
        // A block is entered at its lowest index if the stride is positive, else at its highest.
        const std::int64_t distance =
            stride_ > 0 ? (block + blocks) * block_ - first_ : first_ - ((block - blocks + 1) * block_ - 1);
        return std::min(ceil_divide(distance, size_), end);
    }

    /// The number of positions after which the sequence of processes repeats, with the same parts of their blocks.
    [[nodiscard]] Wide period() const noexcept {
        if (is_flat()) return 1;
        const Wide round = Wide{block_} * processes_;
        return round / greatest_common_divisor(round, size_);
    }
    /// How much places grow over a multiple of the period.
    [[nodiscard]] std::int64_t advance(Position positions) const noexcept {
        return static_cast<std::int64_t>(Wide{positions} * stride_ / processes_);
    }
    /// Positions in a whole block.
    [[nodiscard]] Position block_positions() const noexcept { return is_flat() ? no_end : (block_ - 1) / size_ + 1; }
    /// Whether no process has two blocks of the sequence.
    [[nodiscard]] bool one_block_each() const noexcept {
        if (is_flat()) return true;
        if (size_ > block_) return false;
        const std::int64_t first = first_ / block_;
        const std::int64_t last = (first_ + (count_ - 1) * stride_) / block_;
        return (first < last ? last - first : first - last) < processes_;
    }
    /// The first position of the block of position k.
    [[nodiscard]] Position block_begin(Position k) const noexcept {
        const std::int64_t index = first_ + k * stride_;
        const std::int64_t in_block = index - floor_divide(index, block_) * block_;
        return k - (stride_ > 0 ? in_block : block_ - 1 - in_block) / size_;
    }
    /// Whether the indices of positions of a block before the first stay within 64 bits.
    [[nodiscard]] bool may_begin_early() const noexcept { return size_ < small && (is_flat() || block_ < small); }

    static Wide greatest_common_divisor(Wide a, Wide b) noexcept {
        while (b != 0) {
            a %= b;
            std::swap(a, b);
        }
        return a;
    }

private:
    static constexpr Position no_end = std::int64_t{1} << 62;
    static constexpr std::int64_t small = std::int64_t{1} << 30;

    static std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }
    static std::int64_t ceil_divide(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b > 0 ? 1 : 0); }
    /// In the same block, in the direction of the sequence.
    [[nodiscard]] Position positions_behind(std::int64_t in_block) const noexcept {
        return (stride_ > 0 ? block_ - 1 - in_block : in_block) / size_;
    }

    std::int64_t first_;
    std::int64_t stride_;
    std::int64_t size_; ///< of the stride
    Position count_;
    std::int64_t block_;
    int processes_;
    int only_process_ = 0; ///< of a flat side
};

class Matching {
public:
    Matching(const Side& here, int process, const Side& there, Position count)
        : here_{here}, there_{there}, process_{process}, count_{count} {}

    [[nodiscard]] std::vector<Match> run() {
        const Wide here_period = here_.period();
        const Wide there_period = there_.period();
        const Wide period = here_period / Side::greatest_common_divisor(here_period, there_period) * there_period;
        if (period <= count_ / 2 && !(here_.is_flat() && there_.is_flat()))
            repeat(here_, there_, static_cast<Position>(period), 0, count_);
        else cut_by_the_larger_blocks();
        add_listed();
        std::ranges::sort(matches_, {}, &Match::process);
        return std::move(matches_);
    }

private:
    struct Found {
        int process; ///< of the other side
        Position position;
        MatchedRun run;
    };

    /// What the process has of [begin, end), in ascending order of the positions.
    void find(const Side& here, const Side& there, Position begin, Position end, std::vector<Found>& found) const {
        for (Position k = here.next(begin, process_, end); k < end;) {
            const Side::At h = here.at(k);
            const Side::At t = there.at(k);
            const Position run_end = std::min({h.end, t.end, end});
            found.push_back({t.process, k, {h.place, t.place, static_cast<std::uint64_t>(run_end - k)}});
            k = here.next(run_end, process_, end);
        }
    }

    /// The blocks of one side cut the sequence into intervals; in each of them the other side's processes take turns.
    void cut_by_the_larger_blocks() {
        const bool by_here = here_.block_positions() >= there_.block_positions();
        const Side& outer = by_here ? here_ : there_;
        const Side& inner = by_here ? there_ : here_;
        const bool one_interval_each = outer.one_block_each();
        // Whichever side that is: most intervals have nothing of this process.
        const auto next = [&](Position k) { return here_.next(k, process_, count_); };
        for (Position k = next(0); k < count_;) {
            const Position end = std::min(outer.at(k).end, count_);
            const Wide period = inner.period();
            if (one_interval_each && !inner.is_flat() && period <= (end - k) / 2) {
                const Side flat = outer.flat(k);
                repeat(by_here ? flat : here_, by_here ? there_ : flat, static_cast<Position>(period), k, end);
            } else {
                find(here_, there_, k, end, listed_);
            }
            k = next(end);
        }
    }

    /// What happens in [begin, end), from the first `period` positions.
    void repeat(const Side& here, const Side& there, Position period, Position begin, Position end) {
        // From the start of a block on, so that its runs are whole.
        Position start = begin;
        if (here.may_begin_early() && there.may_begin_early()) {
            const bool by_here =
                there.is_flat() || (!here.is_flat() && here.block_positions() >= there.block_positions());
            start = (by_here ? here : there).block_begin(begin);
        }
        std::vector<Found> found;
        find(here, there, start, start + period, found);
        const Position periods = (end - start) / period;
        const Position rest = (end - start) % period;
        const std::size_t before = matches_.size();
        group(found, [&](Match& match, const Found& one) {
            const auto count = static_cast<Position>(one.run.count);
            const Position at = one.position - start;
            const Position skipped = std::clamp<Position>(begin - one.position, 0, count);
            match.skip += static_cast<std::uint64_t>(skipped);
            match.count +=
                static_cast<std::uint64_t>(periods * count + std::clamp<Position>(rest - at, 0, count) - skipped);
        });
        for (std::size_t k = before; k < matches_.size(); ++k) {
            Match& match = matches_[k];
            match.repeats = match.count == 0 ? 0 : (match.skip + match.count - 1) / match.period() + 1;
            match.here_stride = here.advance(period);
            match.there_stride = there.advance(period);
        }
        std::erase_if(matches_, [](const Match& match) { return match.count == 0; });
    }

    void add_listed() {
        group(listed_, [](Match& match, const Found& one) { match.count += one.run.count; });
    }

    /// A match for each process, with its runs; calls `add(match, found)` for each.
    template <class Add>
    void group(std::vector<Found>& found, Add add) {
        std::ranges::stable_sort(found, {}, &Found::process);
        int process = -1;
        for (const Found& one : found) {
            if (one.process != process) {
                process = one.process;
                matches_.emplace_back().process = process;
            }
            matches_.back().runs.push_back(one.run);
            add(matches_.back(), one);
        }
    }

    const Side& here_;
    const Side& there_;
    int process_;
    Position count_;
    std::vector<Found> listed_; ///< runs of intervals that do not repeat
    std::vector<Match> matches_;
};

} // namespace

std::vector<Match> match(const DimensionMap& here, int process, const IndexSequence& here_indices,
                         const DimensionMap& there, const IndexSequence& there_indices) {
    if (here_indices.count == 0) return {};
    const Side one{here, here_indices};
    const Side other{there, there_indices};
    return Matching{one, process, other, static_cast<Position>(here_indices.count)}.run();
}

} // namespace lapwing::detail::distribution
