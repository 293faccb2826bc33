#pragma once

#include "arrays/slices/movement.hpp"
#include "arrays/slices/pairing.hpp"
#include "arrays/slices/value_memory.hpp"
#include "pipeline/serving.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/triplet.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lapwing::detail::slices {

class Exchange;

/// A slice of an array that stays open.
struct SliceOfArray {
    const ArrayGeometry* array = nullptr;
    SliceShape shape;
};

struct PromotionOptions {
    ApplySources apply;
    bool through_copy = false; ///< a source overlaps the target: applied by finish(), and not before
    bool restorable = false;
    pipeline::Serving serving = pipeline::Serving::by_thread;
    ValueMemory* memory = nullptr;
};

/// This rank's part of an assignment of a function's values: it gets what the sources have for its elements of the
/// target, into memory of its own, and applies the function. A source that is distributed as the target is is read
/// where it lies.
///
/// Its part of the target is cut into boxes of positions, whose values of all sources have a few MiB. For each box
/// every source has an Exchange, with one transfer an owner, and the transfers of several boxes are under way while a
/// box that has arrived is computed. A dimension whose blocks are dealt in several rounds is not cut at its blocks: the
/// values of one process lie without gaps, as its elements do (DealtPositions).
class Promotion final : public Movement {
public:
    /// Throws RangeError when a user-defined distribution is wrong, or does not store what is asked for.
    Promotion(SliceOfArray target, std::vector<SliceOfArray> sources, PromotionOptions options);
    ~Promotion() override;

    void start() override;
    void wait() override;
    [[nodiscard]] bool test() override;
    void finish() override;
    void restore() override;
    void forget() noexcept override { saved_.clear(); }

    [[nodiscard]] std::uint64_t transfers() const override;
    [[nodiscard]] std::uint64_t bytes() const override;
    [[nodiscard]] std::string explain() const override;

private:
    /// Positions of the slices, by dimension.
    using Box = std::array<Triplet, max_dimensions>;
    /// One box: where its elements are, and where the values for them.
    struct Piece;
    /// What a part of the target was before.
    struct Saved {
        Layout target;
        support::AlignedMemory memory = {};
    };

    void order_dimensions();
    void find_sources_beside();
    void find_boxes();
    /// What this rank has of a dimension, unless that is dealt.
    [[nodiscard]] std::vector<Triplet> own_positions(const Side& target, std::size_t d) const;
    void deal_dimension(const Side& target, std::size_t d);
    /// Cuts a box until it is small enough.
    void add_boxes(const Box& box);
    [[nodiscard]] std::array<std::uint64_t, max_dimensions> own_counts(const Box& box) const;
    /// Memory for the elements of a box, in the order of the target's memory.
    [[nodiscard]] Side values_of(const Box& box, std::uint64_t element_bytes) const;
    [[nodiscard]] std::shared_ptr<Piece> make_piece(const Box& box, bool keep) const;
    template <class Visit>
    void for_each_piece(Visit visit) const;

    [[nodiscard]] bool has_room() const;
    void start_more();
    void apply(const Piece& piece);

    SliceOfArray target_;
    std::vector<SliceOfArray> sources_;
    PromotionOptions options_;
    std::vector<bool> beside_;  ///< by source: each value is this rank's, at the place that the target's element has
    std::size_t count_;         ///< of the dimensions
    std::uint64_t piece_bytes_; ///< of the values of all sources for a box
    std::uint64_t most_elements_;
    std::array<std::optional<DealtPositions>, max_dimensions> dealt_;
    std::vector<Box> boxes_;
    std::vector<std::shared_ptr<Piece>> kept_; ///< of all boxes, if these are few
    std::size_t next_ = 0;                     ///< the first box that was not started
    std::deque<std::shared_ptr<Piece>> under_way_;
    std::vector<Saved> saved_;
};

} // namespace lapwing::detail::slices
