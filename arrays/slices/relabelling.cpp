#include <lapwing/relabelling.hpp>

#include "arrays/slices/pairing.hpp"
#include "src/distribution/linear_assignment.hpp"
#include "src/mpi/agreement.hpp"
#include "src/mpi/rooted.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace lapwing {

using detail::distribution::Candidate;
using detail::slices::ArrayGeometry;
using detail::slices::Pairing;
using detail::slices::Side;

namespace {

/// What orders of ranks know of their array's team, which they may outlive.
struct TeamLife final : detail::team::TeamPart {
    std::shared_ptr<const void> open = std::make_shared<char>();
    void close() override { open.reset(); }
};

/// What this rank has of each place of the new distribution, in bytes.
[[nodiscard]] std::vector<Candidate> shares(const ArrayGeometry& array, const detail::slices::SliceShape& all,
                                            const ArrayGeometry& wanted) {
    const Pairing pairing{Side::of(array, all), Side::of(wanted, all), true};
    std::vector<Candidate> shares;
    for (const Pairing::Partner& partner : pairing.partners())
        shares.push_back({partner.rank, pairing.elements(partner) * array.element_bytes});
    return shares;
}

/// Collective. What shares() gives, or the same error on all ranks: a user-defined distribution may be wrong on
/// some only.
[[nodiscard]] std::vector<Candidate> agreed_shares(const ArrayGeometry& array, const detail::slices::SliceShape& all,
                                                   const ArrayGeometry& wanted) {
    std::vector<Candidate> own;
    std::string text;
    std::exception_ptr problem;
    try {
        own = shares(array, all, wanted);
    } catch (const std::exception& error) {
        problem = std::current_exception();
        text = error.what();
    }
    const detail::mpi::Problem first = detail::mpi::first_problem(array.team->state().communicator(), text);
    if (problem != nullptr) std::rethrow_exception(problem);
    if (!first.text.empty())
        throw RangeError{fmt::format("{}: {}.relabelling: rank {} could not take part: {}", array.team->who(),
                                     array.name, first.rank, first.text)};
    return own;
}

/// Collective. Each rank's place in the best order: rank 0 is sent the largest shares of all, and works it out.
[[nodiscard]] int best_place(Team& team, std::vector<Candidate> own) {
    struct Share {
        std::int64_t place = -1;
        std::uint64_t bytes = 0;
    };
    constexpr std::size_t bytes_of_all = std::size_t{1} << 20;
    constexpr std::size_t fewest = 16;
    const auto ranks = static_cast<std::size_t>(team.size());
    const std::size_t kept = std::min(ranks, std::max(fewest, bytes_of_all / sizeof(Share) / ranks));
    std::ranges::sort(own, [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
    std::vector<Share> mine(kept);
    for (std::size_t k = 0; k < std::min(kept, own.size()); ++k) mine[k] = {own[k].column, own[k].value};

    MPI_Comm communicator = team.state().communicator();
    const std::vector<Share> all = detail::mpi::gather<Share>(communicator, mine);
    std::vector<int> places;
    if (!all.empty()) {
        std::vector<std::vector<Candidate>> rows(ranks);
        for (std::size_t k = 0; k < all.size(); ++k)
            if (all[k].place >= 0) rows[k / kept].push_back({static_cast<int>(all[k].place), all[k].bytes});
        places = detail::distribution::best_assignment(rows);
    }
    return detail::mpi::scatter(communicator, places);
}

[[nodiscard]] std::uint64_t share_of(const std::vector<Candidate>& shares, int place) {
    const auto found = std::ranges::find(shares, place, &Candidate::column);
    return found == shares.end() ? 0 : found->value;
}

[[nodiscard]] std::uint64_t sum(Team& team, std::uint64_t value) {
    return static_cast<std::uint64_t>(team.sum(static_cast<std::int64_t>(value)));
}

} // namespace

Relabelling::Relabelling(const detail::slices::SliceBase& array, const ArrayGeometry& wanted) {
    const auto from = detail::slices::open_array(array, ".relabelling");
    Team& team = *from->team;
    of_array_ = &team;
    team_open_ = team.state().part<TeamLife>().open;
    rank_ = team.rank();
    std::uint64_t elements = 1;
    for (const std::int64_t extent : from->used_extents()) elements *= static_cast<std::uint64_t>(extent);
    bytes_ = elements * from->element_bytes;
    // Everybody has all elements, or gets all that are elsewhere: in any order.
    if (from->replicated) return;
    if (wanted.replicated) {
        moved_ = moved_unordered_ = bytes_ * (static_cast<std::uint64_t>(team.size()) - 1);
        return;
    }
    team.barrier(); // nobody waits for this rank's help while it waits in MPI
    const std::vector<Candidate> own = agreed_shares(*from, array.shape(), wanted);
    rank_ = Rank{best_place(team, own)};
    changes_ = team.max(rank_ == team.rank() ? 0 : 1) != 0;
    std::uint64_t all = 0;
    for (const Candidate& share : own) all += share.value;
    all = sum(team, all);
    moved_ = all - sum(team, share_of(own, rank_.value));
    moved_unordered_ = all - sum(team, share_of(own, team.rank().value));
}

Relabelling::Relabelling(Relabelling&&) noexcept = default;
Relabelling& Relabelling::operator=(Relabelling&&) noexcept = default;
Relabelling::~Relabelling() = default;

const std::shared_ptr<Team>& Relabelling::shared_team() {
    if (closed_) throw UsageError{"Relabelling::team: it is closed; make another one"};
    if (team_open_.expired())
        throw UsageError{"Relabelling::team: the team of its array is closed; find the order again on the new one"};
    if (team_ == nullptr) {
        MPI_Comm ordered = MPI_COMM_NULL;
        of_array_->barrier();
        detail::support::check_mpi(MPI_Comm_split(of_array_->state().communicator(), 0, rank_.value, &ordered),
                                   "MPI_Comm_split");
        try {
            team_ = std::make_shared<Team>(ordered, of_array_->settings());
            // The array that goes there is still the program's, which synchronises as before.
            team_->state().epoch().join(of_array_->state().epoch());
        } catch (...) {
            MPI_Comm_free(&ordered);
            throw;
        }
        detail::support::check_mpi(MPI_Comm_free(&ordered), "MPI_Comm_free");
    }
    return team_;
}

void Relabelling::close() {
    closed_ = true;
    team_.reset();
}

} // namespace lapwing
