#pragma once

#include "src/messages/exposed_windows.hpp"
#include "src/messages/reply_queue.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <span>

namespace lapwing::detail::messages {

/// Atomics of other ranks on this rank's memory: the processor's, or MPI's if the window uses those, since the two do
/// not exclude each other. A request is read once and must not throw, or an add would be repeated: failures are noted.
class OwnerAtomics {
public:
    OwnerAtomics(Endpoint& endpoint, ExposedWindows& windows, ReplyQueue& replies)
        : endpoint_{endpoint}, windows_{windows}, replies_{replies} {}

    /// One atomic, by the processor. False, also for the list: there is no room for the answer now, and nothing was
    /// done.
    bool fetch(Peer& origin, const Request& request, const AtomicPayload& values);
    /// One on 16 bytes, which not every processor and no MPI supports. It is atomic here because all of them are
    /// carried out with the engine's mutex held. False as in fetch().
    bool fetch_wide(Peer& origin, const Request& request, const WidePayload& values);
    /// A list, of AddPayload or, for compare_swap, ListedSwap.
    bool fetch_list(Peer& origin, const Request& request, std::span<const std::byte> list);
    /// A list of AddPayload without an answer.
    void add_list(const Peer& origin, const Request& request, std::span<const std::byte> list);

private:
    /// Whether such atomics exist; else a problem is noted.
    [[nodiscard]] bool makes_sense(const Peer& origin, const Request& request, std::uint64_t entry_bytes);
    void note_senseless(const Peer& origin, const Request& request);
    /// Where the value is; or null, and a problem is noted.
    [[nodiscard]] std::byte* address_of(const Peer& origin, const Request& request, Offset offset);

    Endpoint& endpoint_;
    ExposedWindows& windows_;
    ReplyQueue& replies_;
};

} // namespace lapwing::detail::messages
