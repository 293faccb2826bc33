#include "src/team/membership.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace lapwing::detail::team {

std::string DepartureReason::text() const {
    if (cause == exception) return "by an exception";
    if (cause == others) return fmt::format("after rank {} had", detail);
    if (cause == failure) return "when an MPI call of its own failed, or ranks were in different collective calls";
    if (cause == finalize) return "by MPI_Finalize";
    if (cause == memory) return "by an exception out of the scope of an adopted window, whose memory is gone";
    const auto call = static_cast<CollectiveCall>(detail & 0xFF);
    const auto other = static_cast<CollectiveCall>(detail >> 8);
    if (call == other) return fmt::format("after a mismatch: not all ranks passed the same to {}", name(call));
    return fmt::format("after a mismatch: it was in {} while another rank was in {}", name(call), name(other));
}

void Membership::pass_on() {
    if (news_.empty()) return;
    for (News& news : news_) {
        const messages::Request request{.kind = messages::RequestKind::departed,
                                        .tag = news.departed.reason.packed(),
                                        .offset = static_cast<std::uint64_t>(news.departed.rank),
                                        .size = news.departed.collectives};
        // A neighbour that takes nothing now, or never will, keeps it from no other.
        for (std::uint32_t left = news.untold; left != 0; left &= left - 1) {
            const int round = std::countr_zero(left);
            const auto neighbour = static_cast<int>((rank_ + (std::int64_t{1} << round)) % size_);
            bool told = false;
            try {
                told = is_departed(neighbour) || engine_.try_send_locked(neighbour, request);
            } catch (...) { // MPI fails, which has been recorded: the rest of the round goes on
                told = true;
            }
            if (told) news.untold &= ~(std::uint32_t{1} << round);
        }
    }
    std::erase_if(news_, [](const News& news) { return news.untold == 0; });
}

void Membership::tell(const Departed& departed) {
    const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(size_ - 1)));
    const News news{departed, rounds == 0 ? 0 : ~std::uint32_t{0} >> (32 - rounds)};
    if (departed.rank == rank_) news_.insert(news_.begin(), news);
    else news_.push_back(news);
}

void Membership::tell_own(DepartureReason reason, std::uint64_t collectives) {
    if (!std::exchange(own_told_, true)) tell({rank_, collectives, reason});
}

void Membership::fail(const std::string& text, int code) noexcept {
    {
        const std::lock_guard guard{mutex_};
        if (failure_.text.empty()) failure_ = {text, code};
        troubled_.store(true, std::memory_order_relaxed);
    }
    tell_own({DepartureReason::failure}); // or the others would wait for what this rank cannot do any more
}

bool Membership::on_departed(int rank, std::uint64_t collectives, std::uint32_t reason) {
    const Departed departed{rank, collectives, DepartureReason::unpacked(reason)};
    if (rank < 0 || rank >= size_ || departed.reason.cause > DepartureReason::memory) return false;
    const std::lock_guard guard{mutex_};
    if (is_departed(rank) || departed_.size() >= most_departures) return true;
    departed_.push_back(departed);
    tell(departed);
    break_up();
    return true;
}

void Membership::on_abandoned_access() {
    {
        // The team is over for this rank, too: the others count it among those that have left.
        const std::lock_guard guard{mutex_};
        if (!is_departed(rank_)) departed_.push_back({rank_, 0, {DepartureReason::memory}});
        break_up();
    }
    tell_own({DepartureReason::memory});
}

void Membership::end_by_finalize() {
    const std::lock_guard guard{mutex_};
    failure_ = {"MPI is finalized", MPI_SUCCESS};
    troubled_.store(true, std::memory_order_relaxed);
}

DepartureReason Membership::reason_to_follow() {
    const std::lock_guard guard{mutex_};
    if (departed_.empty()) return {};
    return {DepartureReason::others, static_cast<std::uint32_t>(departed_.front().rank) & 0xFFFFFF};
}

bool Membership::has_left(int rank) {
    const std::lock_guard guard{mutex_};
    return is_departed(rank);
}

bool Membership::is_departed(int rank) const {
    return std::ranges::find(departed_, rank, &Departed::rank) != departed_.end();
}

void Membership::check(const char* call, int target) {
    const std::lock_guard guard{mutex_};
    if (!failure_.text.empty()) {
        const std::string text = fmt::format("{}: {}: progress failed: {}", who_, call, failure_.text);
        if (failure_.code != MPI_SUCCESS) throw MpiError{text, failure_.code};
        throw Error{text};
    }
    const bool hopeless = departed_.size() >= most_departures;
    const auto found = std::ranges::find_if(departed_, [&](const Departed& departed) {
        switch (target) {
        case any_rank: return true;
        case next_collective: return hopeless || departed.collectives <= collectives_.load(std::memory_order_relaxed);
        // A rank that others left can still reach the ones that stayed, but not all departures may be known.
        default: return departed.rank == target || (hopeless && target != rank_);
        }
    });
    if (found != departed_.end())
        throw PeerLeftError{
            fmt::format("{}: {}: rank {} left the team {}, so this call cannot complete; see that rank's error", who_,
                        call, found->rank, found->reason.text())};
}

} // namespace lapwing::detail::team
