#pragma once

#include "arrays/slices/movement.hpp"
#include "arrays/slices/pairing.hpp"
#include "arrays/slices/value_memory.hpp"
#include "pipeline/serving.hpp"
#include "src/support/aligned_memory.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lapwing::detail::pipeline {
class PlanState;
}

namespace lapwing::detail::slices {

struct ExchangeOptions {
    ApplyValues apply = {};    ///< gets only: what to do with the values instead of copying them
    bool through_copy = false; ///< gets only: the local part is written by finish(), and not before
    bool keep = false;         ///< the plans, for the next start
    bool pass_over = false;    ///< what `there` does not store, instead of an error
    bool restorable = false;   ///< of gets that apply: restore() brings back what the target was
    bool collective = false;   ///< of puts in a collective call: manual copies are not notified
    pipeline::Serving serving = pipeline::Serving::by_thread; ///< of the other ranks
    ValueMemory* memory = nullptr;                            ///< of gets that apply or go through a copy
};

/// The transfers of this rank between its part of one slice and those of another slice's ranks: one for each of these
/// ranks, all under way together. Local calls.
class Exchange final : public Movement {
public:
    /// `here` is what this rank has, `there` an array. Direction::put: to there.
    Exchange(transport::Direction direction, Side here, Side there, ExchangeOptions options = {});
    ~Exchange() override;

    void start() override;
    void wait() override;
    [[nodiscard]] bool test() override;
    /// As wait(), of an exchange that applies nothing, and whose array was closed.
    void wait_after_close();
    /// Waits for what was started, reporting nothing.
    void stop() noexcept;
    void finish() override;
    void restore() override;
    void forget() noexcept override { saved_.clear(); }
    /// Where what is here begins from now on. Only while nothing is under way.
    void move_to(std::byte* memory) noexcept { here_.move_to(memory); }
    [[nodiscard]] std::uint64_t element_bytes_here() const noexcept { return here_.element_bytes(); }

    [[nodiscard]] std::uint64_t transfers() const override;
    [[nodiscard]] std::uint64_t bytes() const override;
    [[nodiscard]] std::string explain() const override;

private:
    /// What was started into memory of its own, and what is done with it then.
    struct Staged {
        Layout here;
        std::byte* values = nullptr;
        ValueMemory::Block memory = {};
        Completion completion = {};
    };

    /// What the local part was before.
    struct Saved {
        Layout here;
        support::AlignedMemory memory = {};
    };

    [[nodiscard]] const ArrayGeometry& array() const noexcept { return *there_.array(); }
    [[nodiscard]] std::byte* mapped(int rank) const;
    /// Calls `visit(rank, partner)` for each transfer, the rank after this one first; of replicated arrays what they
    /// mean.
    template <class Visit>
    void for_each_transfer(Visit visit) const;
    [[nodiscard]] std::shared_ptr<pipeline::PlanState> plan(int rank, const Pairing::Partner& partner);
    [[nodiscard]] std::shared_ptr<pipeline::PlanState> make_plan(int rank, const Layout& here,
                                                                 const Layout& there) const;
    void save_target();
    void start_transfer(int rank, const Pairing::Partner& partner);
    /// The values of a transfer, into memory of their own, piece by piece.
    void start_staged(int rank, const Pairing::Partner& partner);
    /// Records a transfer, where accesses are recorded.
    void note(int rank, std::uint64_t bytes);
    void copy(int rank, const Pairing::Partner& partner);
    void copy_staged(int rank, const LayoutPair& pair);
    /// Applies values of the node's memory where they lie, if they are of the size of the elements and in long blocks;
    /// else false.
    [[nodiscard]] bool apply_in_place(const std::byte* segment, const LayoutPair& pair);
    /// A piece with memory for its values.
    [[nodiscard]] Staged& stage(const Layout& here, std::uint64_t bytes);
    /// Gives up the first pieces.
    void drop_staged(std::size_t count) noexcept;
    /// Waits until at most `left` transfers are under way.
    void wait_for_room(std::size_t left);
    /// Until at most so many bytes wait to be applied.
    void apply_until(std::uint64_t bytes);
    void apply(const Staged& staged) const;
    /// Blocks of this rank's part, and values for them that are contiguous.
    void apply_blocks(std::int64_t offset, std::int64_t stride, std::uint64_t blocks, std::uint64_t block_bytes,
                      const std::byte* values) const;

    transport::Direction direction_;
    Side here_;
    Side there_;
    ExchangeOptions options_;
    Pairing pairing_;
    std::vector<std::shared_ptr<pipeline::PlanState>> plans_; ///< that are kept, by partner
    std::vector<Completion> under_way_;
    std::vector<Staged> staged_;
    std::uint64_t staged_bytes_ = 0;
    std::vector<Saved> saved_;
};

/// Elements [begin, end) of a slice in row-major order, to or from a buffer. Elements that the distribution does not
/// store are passed over. Local call; a put is complete locally. `collective`: as in ExchangeOptions.
void move_elements(transport::Direction direction, const ArrayGeometry& array, const SliceShape& shape,
                   std::uint64_t begin, std::uint64_t end, std::byte* buffer, bool collective = false);

} // namespace lapwing::detail::slices
