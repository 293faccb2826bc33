// Arrays that change their extents, or their distribution: what does not need to know indices.
#include <lapwing/array_base.hpp>

#include "src/mpi/agreement.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace lapwing::detail::arrays {

Relabelling ArrayBase::relabelling_to(const slices::SliceBase& all, std::span<const distribution::DimensionMap> maps,
                                      std::shared_ptr<const distribution::UserPlaces> user_map, bool replicated) const {
    slices::ArrayGeometry wanted = *geometry_;
    wanted.window = nullptr;
    wanted.maps = {};
    std::ranges::copy(maps, wanted.maps.begin());
    wanted.user_map = std::move(user_map);
    wanted.replicated = replicated;
    return Relabelling{all, wanted};
}

void ArrayBase::require_same_ranks(const char* call, Team& team) const {
    slices::require_same_ranks(team, *team_, title_.start(call));
}

namespace {

/// Collective. The first rank that has a failure, and its text; empty if no rank has one.
[[nodiscard]] mpi::Problem first_failure(Team& team, const std::exception_ptr& failure) {
    if (team.max(failure == nullptr ? 0 : 1) == 0) return {};
    return mpi::first_problem(team.state().communicator(), mpi::text_of(failure));
}

} // namespace

void ArrayBase::agree_to_rebuild(const char* call, const std::exception_ptr& failure) const {
    const mpi::Problem first = first_failure(*team_, failure);
    if (failure != nullptr) throw_from_rebuild(title_, *team_, call, failure);
    if (first.text.empty()) return;
    throw UsageError{fmt::format("{}: the array stays as it was, since rank {} could not: {}", title_.start(call),
                                 first.rank, first.text)};
}

void ArrayBase::agree_to_prefetch(const std::exception_ptr& failure, const char* outcome) const {
    const mpi::Problem first = first_failure(*team_, failure);
    if (failure != nullptr) std::rethrow_exception(failure);
    if (first.text.empty()) return;
    throw UsageError{fmt::format("{}: {}, since rank {} could not take this one: {}", title_.start(".prefetch"),
                                 outcome, first.rank, first.text)};
}

} // namespace lapwing::detail::arrays
