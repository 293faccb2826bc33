#pragma once

#include "src/kernels/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace lapwing::detail::datatype {

/// Copies runs of equal blocks in the order in which they come, except for close ones: runs whose blocks are far apart
/// on one side and next to those of the run before, like the rows of a transposed matrix. One after the other, each
/// would load all the lines of memory that the one before has loaded, if these have left the cache. Close runs are
/// collected and copied together, a few blocks of each at a time.
class CloseRuns {
public:
    explicit CloseRuns(kernels::Reuse reuse = kernels::Reuse::soon) noexcept : reuse_{reuse} {}
    CloseRuns(const CloseRuns&) = delete;
    CloseRuns& operator=(const CloseRuns&) = delete;
    ~CloseRuns() { flush(); }

    /// Whether runs like this one are worth collecting: `side` has the large stride.
    template <class Side>
    [[nodiscard]] static bool may_be_close(std::uint64_t count, std::uint64_t block_bytes, const Side& side) noexcept {
        return count >= least_blocks && block_bytes < static_cast<std::uint64_t>(line) && side.offsets == nullptr &&
               std::abs(side.stride) >= far;
    }

    /// Copies a run, now or later.
    void copy(std::byte* to, const std::byte* from, const kernels::PairedRun& run) noexcept {
        if (count_ > 0) {
            if (count_ < most_runs && is_close(to, from, run)) {
                to_[count_] = to;
                from_[count_++] = from;
                return;
            }
            flush();
        }
        if (!may_be_close(run)) return kernels::copy(to, from, run, reuse_);
        run_ = run;
        to_[0] = to;
        from_[0] = from;
        count_ = 1;
    }

    /// Copies what has been put off.
    void flush() noexcept {
        const std::size_t runs = std::exchange(count_, 0);
        if (runs == 0) return;
        // Not worth it for a few runs.
        if (runs < least_runs) {
            for (std::size_t r = 0; r < runs; ++r) kernels::copy(to_[r], from_[r], run_, reuse_);
            return;
        }
        for (std::size_t begin = 0; begin < runs;) {
            const std::size_t end = end_of_steps(begin, runs);
            if (!transpose(begin, end)) copy_runs(begin, end);
            begin = end;
        }
    }

private:
    static constexpr std::size_t most_runs = 256;
    static constexpr std::size_t least_runs = 4;
    static constexpr std::size_t runs_of_tiles = 32;
    static constexpr std::uint64_t least_blocks = 32;
    static constexpr std::int64_t line = 64;
    static constexpr std::int64_t far = 8 * line;

    static bool may_be_close(const kernels::PairedRun& run) noexcept {
        return may_be_close(run.count, run.block_bytes, run.to, run.from) ||
               may_be_close(run.count, run.block_bytes, run.from, run.to);
    }
    template <class Side, class Other>
    static bool may_be_close(std::uint64_t count, std::uint64_t block_bytes, const Side& side,
                             const Other& other) noexcept {
        return other.offsets == nullptr && may_be_close(count, block_bytes, side);
    }
    [[nodiscard]] bool is_close(const std::byte* to, const std::byte* from,
                                const kernels::PairedRun& run) const noexcept {
        if (run.count != run_.count || run.block_bytes != run_.block_bytes || run.to.stride != run_.to.stride ||
            run.from.stride != run_.from.stride || run.to.offsets != nullptr || run.from.offsets != nullptr)
            return false;
        const std::int64_t to_distance = std::abs(to - to_[count_ - 1]);
        const std::int64_t from_distance = std::abs(from - from_[count_ - 1]);
        return (std::abs(run.to.stride) < far || to_distance < line) &&
               (std::abs(run.from.stride) < far || from_distance < line);
    }

    /// The end of the runs from `begin` on that are the same distance apart on both sides.
    [[nodiscard]] std::size_t end_of_steps(std::size_t begin, std::size_t runs) const noexcept {
        std::size_t end = begin + 1;
        while (end < runs && to_[end] - to_[end - 1] == to_[begin + 1] - to_[begin] &&
               from_[end] - from_[end - 1] == from_[begin + 1] - from_[begin])
            ++end;
        return end;
    }
    /// Copies runs that are equally far apart, if they are the rows or the columns of a matrix.
    [[nodiscard]] bool transpose(std::size_t begin, std::size_t end) noexcept {
        const std::uint64_t runs = end - begin;
        if (runs < least_runs || !kernels::transposes(run_.block_bytes)) return false;
        const auto block = static_cast<std::int64_t>(run_.block_bytes);
        const std::int64_t to_step = to_[begin + 1] - to_[begin];
        const std::int64_t from_step = from_[begin + 1] - from_[begin];
        if (to_step == block && run_.from.stride == block)
            kernels::transpose(to_[begin], run_.to.stride, from_[begin], from_step, runs, run_.count, run_.block_bytes,
                               reuse_);
        else if (from_step == block && run_.to.stride == block)
            kernels::transpose(to_[begin], to_step, from_[begin], run_.from.stride, run_.count, runs, run_.block_bytes,
                               reuse_);
        else return false;
        return true;
    }

    /// A few runs at a time, in tiles: lines that are powers of two apart share few places of a cache, so a tile has as
    /// many runs as a line has blocks.
    void copy_runs(std::size_t begin, std::size_t end) noexcept {
        for (; begin < end; begin += runs_of_tiles) {
            const std::size_t some = std::min(end, begin + runs_of_tiles);
            switch (run_.block_bytes) {
            case 4: copy_tiles<4>(begin, some); break;
            case 8: copy_tiles<8>(begin, some); break;
            case 16: copy_tiles<16>(begin, some); break;
            default: copy_tiles<0>(begin, some);
            }
        }
    }
    /// Block: bytes of a block, or 0: any.
    template <std::size_t Block>
    void copy_tiles(std::size_t first_run, std::size_t runs) noexcept {
        const std::size_t bytes = Block == 0 ? run_.block_bytes : Block;
        const std::size_t tile = static_cast<std::size_t>(line) / bytes;
        for (std::uint64_t begin = 0; begin < run_.count; begin += tile) {
            const auto blocks = static_cast<std::int64_t>(std::min<std::uint64_t>(tile, run_.count - begin));
            const auto first = static_cast<std::int64_t>(begin);
            for (std::size_t from_run = first_run; from_run < runs; from_run += tile) {
                const std::size_t end = std::min(runs, from_run + tile);
                for (std::size_t r = from_run; r < end; ++r) {
                    std::byte* to = to_[r] + first * run_.to.stride;
                    const std::byte* from = from_[r] + first * run_.from.stride;
                    for (std::int64_t k = 0; k < blocks; ++k) {
                        std::memcpy(to, from, bytes);
                        to += run_.to.stride;
                        from += run_.from.stride;
                    }
                }
            }
        }
    }

    kernels::Reuse reuse_;
    kernels::PairedRun run_{};
    std::size_t count_ = 0; ///< runs that have been put off
    std::array<std::byte*, most_runs> to_;
    std::array<const std::byte*, most_runs> from_;
};

} // namespace lapwing::detail::datatype
