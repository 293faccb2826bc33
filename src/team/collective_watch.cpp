#include "src/team/collective_watch.hpp"

#include "src/team/barrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <span>
#include <string_view>

namespace lapwing::detail::team {
namespace {

std::string_view call_of(const messages::WaitingNote& note) {
    const auto end = std::ranges::find(note.call, '\0');
    return {note.call, static_cast<std::size_t>(end - note.call)};
}

messages::WaitingNote make_note(int rank, std::uint64_t collectives, std::string_view call, std::uint64_t subject) {
    messages::WaitingNote note{.collectives = collectives, .subject = subject, .rank = rank};
    std::copy_n(call.begin(), std::min(call.size(), sizeof note.call - 1), note.call);
    return note;
}

bool same_call(const messages::WaitingNote& a, const messages::WaitingNote& b) {
    return a.collectives == b.collectives && a.subject == b.subject && call_of(a) == call_of(b);
}

} // namespace

std::string CollectiveWatch::look(std::uint64_t collectives, const char* call, std::uint64_t subject, bool at_barrier) {
    messages::WaitingNote own = make_note(rank_, collectives, call, subject);
    own.at_barrier = at_barrier ? 1 : 0;
    const std::lock_guard guard{engine_.mutex()};
    const bool comparable = before_.rank >= 0 && before_.collectives == collectives;
    if (comparable && same_call(before_, own)) own.run = before_.run + 1;
    if (reported_.rank < 0 || !same_call(reported_, own) || reported_.run != own.run) {
        if (engine_.try_send_locked((rank_ + 1) % size_, messages::Request{.kind = messages::RequestKind::waiting},
                                    std::as_bytes(std::span{&own, 1})))
            reported_ = own;
    }
    if (before_.rank >= 0 && before_.collectives < collectives && collectives - before_.collectives <= most_ahead) {
        // This rank is ahead. What both know of a barrier's mismatch is over for them.
        const char* const then = recent_[before_.collectives % recent_.size()].load(std::memory_order_relaxed);
        const messages::WaitingNote made = make_note(rank_, before_.collectives, then, 0);
        if (call_of(made) != call_of(before_) && (before_.at_barrier == 0 || !begins_with_barrier(then)))
            return fmt::format("rank {} waits in {}, where this rank has made {} before", before_.rank,
                               call_of(before_), then);
    }
    if (!comparable || call_of(before_) == call_of(own) || (at_barrier && before_.at_barrier != 0)) return {};
    return fmt::format("rank {} waits in {}", before_.rank, call_of(before_));
}

bool CollectiveWatch::all_others_in(std::uint64_t collectives, const char* call, std::uint64_t subject) {
    const std::lock_guard guard{engine_.mutex()};
    return before_.rank >= 0 && same_call(before_, make_note(before_.rank, collectives, call, subject)) &&
           before_.run >= size_ - 2;
}

} // namespace lapwing::detail::team
