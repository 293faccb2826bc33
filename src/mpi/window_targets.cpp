#include "src/mpi/window_targets.hpp"

#include "src/support/mpi_kind.hpp"

#include <cstddef>

namespace lapwing::detail::mpi {
namespace {

constexpr int bits = 64;

constexpr std::uint64_t bit_of(Rank target) { return std::uint64_t{1} << (target.value % bits); }
constexpr std::size_t word_of(Rank target) { return static_cast<std::size_t>(target.value / bits); }

} // namespace

bool WindowTargets::needs_care() noexcept { return support::mpi_kind == support::MpiKind::mpich; }

int WindowTargets::enter(MPI_Win window, int ranks, Rank own_rank) {
    if (!needs_care()) return MPI_SUCCESS;
    const int first = ranks > few ? own_rank.value : 0;
    const int end = ranks > few ? own_rank.value + 1 : ranks;
    // A lock enters its target, and sends nothing if it need not be checked.
    for (int target = first; target < end; ++target) {
        if (const int code = MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, window); code != MPI_SUCCESS)
            return code;
        if (const int code = MPI_Win_unlock(target, window); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

void WindowTargets::keep_apart(int ranks) {
    entered_ = std::make_unique<std::atomic<std::uint64_t>[]>(word_of(ranks - 1) + 1);
}

void WindowTargets::IssuedOperation::begin(WindowTargets& targets, Rank target) {
    const std::atomic<std::uint64_t>& word = targets.entered_[word_of(target)];
    targets_ = &targets;
    target_ = target;
    alone_ = (word.load(std::memory_order_relaxed) & bit_of(target)) == 0;
    if (alone_) targets.mutex_.lock();
    else targets.mutex_.lock_shared();
}

void WindowTargets::IssuedOperation::end() {
    if (!alone_) return targets_->mutex_.unlock_shared();
    targets_->entered_[word_of(target_)].fetch_or(bit_of(target_), std::memory_order_relaxed);
    targets_->mutex_.unlock();
}

} // namespace lapwing::detail::mpi
