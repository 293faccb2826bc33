#pragma once

#include "arrays/slices/pairing.hpp"
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
    bool collective = false; ///< of puts: this rank's part of an assignment of all, of which manual copies do not hear
};

/// The transfers of this rank between its part of one slice and those of another slice's ranks: one for each of these
/// ranks, all under way together. Local calls.
class Exchange {
public:
    /// `here` is what this rank has, `there` an array. Direction::put: to there.
    Exchange(transport::Direction direction, Side here, Side there, ExchangeOptions options = {});
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    /// Waits for what was started, reporting nothing.
    ~Exchange();

    /// Starts the transfers of other nodes, as far as there is room, and then copies what is on this one.
    void start();
    /// Completes what was started: values are at their place, or, of a put, the memory may be reused.
    void wait();
    /// Makes progress on what was started; whether all of it has arrived, so that wait() only applies values. The array
    /// may have been closed.
    [[nodiscard]] bool test();
    /// As wait(), of an exchange that applies nothing, and whose array was closed.
    void wait_after_close();
    /// Of an exchange through a copy, when nobody reads the local part any more.
    void finish();
    /// Of one that is restorable, once it is complete or has failed: the local part is again what it was before
    /// start(), or will not be asked for that any more.
    void restore();
    void forget() noexcept { saved_.clear(); }

    /// Transfers to other nodes, and their bytes.
    [[nodiscard]] std::uint64_t transfers() const;
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] std::string explain() const;
    [[nodiscard]] bool through_copy() const noexcept { return options_.through_copy; }

private:
    /// What was started into memory of its own, and what is done with it then.
    struct Staged {
        Layout here;
        std::byte* values = nullptr;
        support::AlignedMemory memory = {};
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
    /// Waits until at most `left` transfers are under way.
    void wait_for_room(std::size_t left);
    /// Until at most so many bytes wait to be applied.
    void apply_until(std::uint64_t bytes);
    void apply(const Staged& staged) const;

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
