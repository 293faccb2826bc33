#include "src/team/membership.hpp"

#include <lapwing/error.hpp>
#include <lapwing/wait_hook.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace lapwing::detail::team {

std::string LeaveReason::text() const {
    if (cause == exception) return "by an exception";
    if (cause == others) return fmt::format("after rank {} had", detail);
    if (cause == failure) return "when an MPI call of its own failed, or ranks were in different collective calls";
    if (cause == finalize) return "by MPI_Finalize";
    if (cause == interrupt) return "when its program ended a wait (its wait hook did, as for a KeyboardInterrupt)";
    if (cause == memory) return "by an exception out of the scope of an adopted window, whose memory is gone";
    const auto call = static_cast<CollectiveCall>(detail & 0xFF);
    const auto other = static_cast<CollectiveCall>(detail >> 8);
    if (call == other) return fmt::format("after a mismatch: not all ranks passed the same to {}", name(call));
    return fmt::format("after a mismatch: it was in {} while another rank was in {}", name(call), name(other));
}

void throw_finalized(std::string_view start) {
    throw UsageError{fmt::format("{}: MPI is finalized already; make this call before MPI_Finalize", start)};
}

void Membership::pass_on() {
    if (news_.empty()) return;
    for (News& news : news_) {
        const messages::Request request{.kind = messages::RequestKind::peer_left,
                                        .tag = news.peer.reason.packed(),
                                        .offset = static_cast<std::uint64_t>(news.peer.rank),
                                        .size = news.peer.collectives};
        // A neighbour that does not receive now, or never will, does not keep the news from the others.
        for (std::uint32_t left = news.not_notified; left != 0; left &= left - 1) {
            const int round = std::countr_zero(left);
            const auto neighbour = static_cast<int>((rank_ + (std::int64_t{1} << round)) % size_);
            bool notified = false;
            try {
                notified = is_left(neighbour) || engine_.try_send_locked(neighbour, request);
            } catch (...) { // MPI fails, which has been recorded: the rest of the round goes on
                notified = true;
            }
            if (notified) news.not_notified &= ~(std::uint32_t{1} << round);
        }
    }
    std::erase_if(news_, [](const News& news) { return news.not_notified == 0; });
}

void Membership::notify(const LeftPeer& peer) {
    const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(size_ - 1)));
    const News news{peer, rounds == 0 ? 0 : ~std::uint32_t{0} >> (32 - rounds)};
    if (peer.rank == rank_) news_.insert(news_.begin(), news);
    else news_.push_back(news);
}

void Membership::announce_own(LeaveReason reason, std::uint64_t collectives) {
    if (!std::exchange(own_sent_, true)) notify({rank_, collectives, reason});
}

void Membership::interrupt(const std::string& text) noexcept {
    interrupted_.store(true, std::memory_order_relaxed);
    announce_own({LeaveReason::interrupt});
    fail(Failure{.text = text, .interrupted = true});
}

void Membership::fail(const Failure& failure) noexcept {
    {
        const std::lock_guard guard{mutex_};
        if (failure_.text.empty()) failure_ = failure;
        troubled_.store(true, std::memory_order_relaxed);
    }
    announce_own({LeaveReason::failure}); // or the others would wait for what this rank cannot do any more
}

bool Membership::on_peer_left(int rank, std::uint64_t collectives, std::uint32_t reason) {
    const LeftPeer peer{rank, collectives, LeaveReason::unpacked(reason)};
    if (rank < 0 || rank >= size_ || peer.reason.cause > LeaveReason::interrupt) return false;
    const std::lock_guard guard{mutex_};
    if (is_left(rank) || left_.size() >= most_left) return true;
    left_.push_back(peer);
    notify(peer);
    break_up();
    return true;
}

void Membership::on_abandoned_access() {
    {
        // The team is over for this rank, too: the others count it among those that have left.
        const std::lock_guard guard{mutex_};
        if (!is_left(rank_)) left_.push_back({rank_, 0, {LeaveReason::memory}});
        break_up();
    }
    announce_own({LeaveReason::memory});
}

void Membership::end_by_finalize() noexcept {
    finalized_.store(true, std::memory_order_relaxed);
    troubled_.store(true, std::memory_order_relaxed);
}

LeaveReason Membership::reason_to_follow() {
    const std::lock_guard guard{mutex_};
    if (left_.empty()) return {};
    return {LeaveReason::others, static_cast<std::uint32_t>(left_.front().rank) & 0xFFFFFF};
}

bool Membership::has_left(Rank rank) {
    const std::lock_guard guard{mutex_};
    return is_left(rank);
}

bool Membership::is_left(Rank rank) const {
    return std::ranges::find(left_, rank.value, &LeftPeer::rank) != left_.end();
}

void Membership::check(const char* call, int target) {
    if (finalized()) throw_finalized(fmt::format("{}: {}", who_, call));
    const std::lock_guard guard{mutex_};
    if (failure_.interrupted)
        throw InterruptedError{fmt::format("{}: {}: after an interrupted wait: {}", who_, call, failure_.text)};
    if (!failure_.text.empty()) {
        const std::string text = fmt::format("{}: {}: progress failed: {}", who_, call, failure_.text);
        if (failure_.code != MPI_SUCCESS) throw MpiError{text, failure_.code};
        throw Error{text};
    }
    const bool hopeless = left_.size() >= most_left;
    const auto found = std::ranges::find_if(left_, [&](const LeftPeer& peer) {
        switch (target) {
        case any_rank: return true;
        case next_collective: return hopeless || peer.collectives <= collectives_.load(std::memory_order_relaxed);
        // A rank that others left can still reach the ones that stayed, but not all that left may be known.
        default: return peer.rank == target || (hopeless && target != rank_);
        }
    });
    if (found != left_.end())
        throw PeerLeftError{
            fmt::format("{}: {}: rank {} left the team {}, so this call cannot complete; see that rank's error", who_,
                        call, found->rank, found->reason.text())};
}

} // namespace lapwing::detail::team
