#include <lapwing/patch.hpp>

#include "src/array/strided_copy.hpp"
#include "window/pending_transfer.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace lapwing::array {

namespace {

/// Runs that are contiguous at the owner but not in the buffer go through temporary memory if what is contiguous in both
/// is shorter than this: copying 4 KiB costs less than a message.
constexpr std::uint64_t direct_run_bytes = 4096;
/// Temporary memory of a patch; what needs more waits for what is under way.
constexpr std::uint64_t staging_limit_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t staging_run_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t staging_slab_bytes = std::uint64_t{64} << 10;
/// Transfers of a patch that are under way at a time; their book-keeping is memory too.
constexpr std::size_t transfer_limit = 8192;

} // namespace

/// The transfers of a patch that are under way, with the temporary memory they use.
class PendingPatch final : public window::PendingTransfer {
public:
    explicit PendingPatch(std::uint64_t element_bytes) noexcept : element_bytes_{element_bytes} {}

    bool test() override {
        for (; next_ < completions_.size(); ++next_)
            if (!completions_[next_].test()) return false;
        finish();
        return true;
    }
    void wait() override {
        for (; next_ < completions_.size(); ++next_) completions_[next_].wait();
        finish();
    }

    /// Called before a transfer starts, since it may wait for all that have: then temporary memory is given back, too.
    void make_room(std::uint64_t staging_bytes = 0) {
        if (completions_.size() >= transfer_limit || staged_bytes_ + staging_bytes > staging_limit_bytes) wait();
    }
    void add(Completion completion) { completions_.push_back(std::move(completion)); }

    /// Temporary memory, valid until the next wait.
    [[nodiscard]] std::byte* stage(std::uint64_t bytes) {
        if (bytes > slab_left_) {
            slab_left_ = std::max(bytes, staging_slab_bytes);
            slabs_.push_back(std::make_unique<std::byte[]>(slab_left_));
            slab_next_ = slabs_.back().get();
        }
        staged_bytes_ += bytes;
        slab_left_ -= bytes;
        return std::exchange(slab_next_, slab_next_ + bytes);
    }
    /// When everything is here, the levels are copied from `staged` to `destination`.
    void unpack_later(std::byte* destination, const std::byte* staged, std::span<const CopyLevel> levels) {
        unpacks_.push_back({destination, staged, unpack_levels_.size(), levels.size()});
        unpack_levels_.insert(unpack_levels_.end(), levels.begin(), levels.end());
    }

private:
    struct Unpack {
        std::byte* destination;
        const std::byte* staged;
        std::size_t first_level; ///< in unpack_levels_
        std::size_t level_count;
    };

    void finish() {
        for (const Unpack& unpack : unpacks_)
            strided_copy(unpack.destination, unpack.staged, element_bytes_,
                         std::span{unpack_levels_}.subspan(unpack.first_level, unpack.level_count));
        unpacks_.clear();
        unpack_levels_.clear();
        completions_.clear();
        next_ = 0;
        slabs_.clear();
        slab_left_ = 0;
        staged_bytes_ = 0;
    }

    std::uint64_t element_bytes_;
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    std::byte* slab_next_ = nullptr;
    std::uint64_t slab_left_ = 0;
    std::uint64_t staged_bytes_ = 0;
    std::vector<Unpack> unpacks_;
    std::vector<CopyLevel> unpack_levels_;
    // Last, so that it is destroyed first: a completion waits, and what it waits for uses the memory above.
    std::vector<Completion> completions_;
    std::size_t next_ = 0;
};

PatchTransfer::PatchTransfer(Window& window, Direction direction, std::byte* buffer, std::uint64_t element_bytes,
                             bool replicated)
    : window_{window}, direction_{direction}, replicated_{replicated}, buffer_{buffer}, element_bytes_{element_bytes} {}

PatchTransfer::~PatchTransfer() = default;

void PatchTransfer::visit(const Piece& piece) {
    if (!replicated_) return carry(piece.owner, piece);
    const window::MemoryMap& map = window_.map();
    if (direction_ == Direction::get) return carry(map.own_rank, piece);
    // Each rank starts with its neighbour, so that they do not all write to the same one at a time.
    for (int step = 1; step <= map.ranks; ++step) carry((map.own_rank + step) % map.ranks, piece);
}

void PatchTransfer::carry(int owner, const Piece& piece) {
    const window::MemoryMap& map = window_.map();
    // A distribution of the program's own may be wrong; nothing is read or written outside of the owner's part.
    uint128 end = piece.owner_offset + uint128{1};
    for (const PieceLevel& level : piece.levels) end += uint128{level.count - 1} * level.owner_stride;
    if (owner < 0 || owner >= map.ranks || end * element_bytes_ > map.bytes(owner))
        throw RangeError{fmt::format("{}: the distribution puts elements at rank {} of {}, up to offset {} of a part of {} "
                                     "bytes; correct its locate()",
                                     window_.state().who("patch"), owner, map.ranks,
                                     static_cast<std::uint64_t>(end) * element_bytes_,
                                     owner >= 0 && owner < map.ranks ? map.bytes(owner) : 0)};
    std::byte* const base = owner == map.own_rank ? map.own : map.base(owner);
    if (base != nullptr) copy(base, piece);
    else start(owner, piece);
}

void PatchTransfer::copy(std::byte* owner_base, const Piece& piece) {
    std::byte* const memory = owner_base + piece.owner_offset * element_bytes_;
    std::byte* const buffer = buffer_ + piece.buffer_offset * element_bytes_;
    std::array<CopyLevel, max_piece_levels> levels;
    std::uint64_t elements = 1;
    for (std::size_t d = 0; d < piece.levels.size(); ++d) {
        const PieceLevel& level = piece.levels[d];
        elements *= level.count;
        levels[d] = direction_ == Direction::get ? CopyLevel{level.count, level.buffer_stride, level.owner_stride}
                                                 : CopyLevel{level.count, level.owner_stride, level.buffer_stride};
    }
    const std::span<const CopyLevel> used{levels.data(), piece.levels.size()};
    if (direction_ == Direction::get) strided_copy(buffer, memory, element_bytes_, used);
    else strided_copy(memory, buffer, element_bytes_, used);
    window_.state().statistics().add(
        direction_ == Direction::get ? Counter::direct_get_bytes : Counter::direct_put_bytes, elements * element_bytes_);
}

void PatchTransfer::start(int owner, const Piece& piece) {
    if (pending_ == nullptr) pending_ = std::make_unique<PendingPatch>(element_bytes_);

    // The levels [inner, end) are one run in the owner's memory, and [both, end) also in the buffer.
    const std::span<const PieceLevel> levels = piece.levels;
    std::uint64_t run = 1;
    std::uint64_t both_run = 1;
    std::size_t inner = levels.size();
    std::size_t both = levels.size();
    while (inner > 0) {
        const PieceLevel& level = levels[inner - 1];
        if (level.count != 1 && level.owner_stride != run) break;
        const bool continues = both == inner && (level.count == 1 || level.buffer_stride == both_run);
        --inner;
        run *= level.count;
        if (continues) {
            both = inner;
            both_run = run;
        } else if (run * element_bytes_ > staging_run_bytes) {
            break; // temporary memory is limited: the run is cut at this level
        }
    }
    const bool staged = inner < both && both_run * element_bytes_ < direct_run_bytes;
    if (!staged) {
        inner = both;
        run = both_run;
    }

    const auto transfer = [&](std::uint64_t owner_offset, std::uint64_t buffer_offset) {
        const Rank target{owner};
        const Offset at{owner_offset * element_bytes_};
        std::byte* const buffer = buffer_ + buffer_offset * element_bytes_;
        if (!staged) {
            const std::uint64_t bytes = run * element_bytes_;
            pending_->make_room();
            pending_->add(direction_ == Direction::get ? window_.start_get_bytes(target, at, {buffer, bytes})
                                                       : window_.start_put_bytes(target, at, {buffer, bytes}));
            return;
        }
        // The outermost level is cut to what fits.
        const std::uint64_t per_step = run / levels[inner].count;
        const std::uint64_t steps_at_once =
            std::max<std::uint64_t>(staging_run_bytes / (per_step * element_bytes_), 1);
        for (std::uint64_t step = 0; step < levels[inner].count; step += steps_at_once) {
            const std::uint64_t steps = std::min(steps_at_once, levels[inner].count - step);
            const std::uint64_t bytes = steps * per_step * element_bytes_;
            pending_->make_room(bytes);
            std::byte* const stage = pending_->stage(bytes);
            std::byte* const part = buffer + step * levels[inner].buffer_stride * element_bytes_;
            const Offset part_at{at.bytes + step * per_step * element_bytes_};
            // Outer levels first; the temporary memory is dense.
            std::array<CopyLevel, max_piece_levels> copies;
            std::uint64_t dense = steps * per_step;
            const std::size_t count = levels.size() - inner;
            for (std::size_t d = 0; d < count; ++d) {
                const PieceLevel& level = levels[inner + d];
                const std::uint64_t elements = d == 0 ? steps : level.count;
                dense /= elements;
                copies[d] = direction_ == Direction::get ? CopyLevel{elements, level.buffer_stride, dense}
                                                         : CopyLevel{elements, dense, level.buffer_stride};
            }
            const std::span<const CopyLevel> used{copies.data(), count};
            if (direction_ == Direction::get) {
                pending_->add(window_.start_get_bytes(target, part_at, {stage, bytes}));
                pending_->unpack_later(part, stage, used);
            } else {
                strided_copy(stage, part, element_bytes_, used);
                pending_->add(window_.start_put_bytes(target, part_at, {stage, bytes}));
            }
        }
    };

    // Loops over the levels before the run.
    std::array<std::uint64_t, max_piece_levels> k{};
    std::uint64_t owner_offset = piece.owner_offset;
    std::uint64_t buffer_offset = piece.buffer_offset;
    for (;;) {
        transfer(owner_offset, buffer_offset);
        std::size_t d = inner;
        for (; d > 0; --d) {
            const PieceLevel& level = levels[d - 1];
            if (++k[d - 1] < level.count) {
                owner_offset += level.owner_stride;
                buffer_offset += level.buffer_stride;
                break;
            }
            owner_offset -= (level.count - 1) * level.owner_stride;
            buffer_offset -= (level.count - 1) * level.buffer_stride;
            k[d - 1] = 0;
        }
        if (d == 0) return;
    }
}

void PatchTransfer::wait() {
    if (pending_ == nullptr) return;
    pending_->wait();
}

Completion PatchTransfer::release() {
    if (pending_ == nullptr) return {};
    return Completion{std::move(pending_)};
}

} // namespace lapwing::array
