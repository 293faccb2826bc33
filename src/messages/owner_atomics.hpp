#pragma once

#include "src/messages/exposed_windows.hpp"
#include "src/messages/reply_queue.hpp"

#include <cstddef>
#include <span>

namespace lapwing::detail::messages {

/// Atomics of other ranks on this one's memory: the processor's, or MPI's where the window's are, since the two do not
/// exclude each other. A request is read once and must not throw, or what has been added would be added again: what
/// fails is noted.
class OwnerAtomics {
public:
    OwnerAtomics(Endpoint& endpoint, ExposedWindows& windows, ReplyQueue& replies)
        : endpoint_{endpoint}, windows_{windows}, replies_{replies} {}

    /// One atomic, by the processor. False, as of the list: there is no room for the answer now, and nothing was done.
    bool fetch(Peer& origin, const Request& request, const AtomicPayload& values);
    /// One on 16 bytes, which not every processor and no MPI supports: here they are atomic because all are made
    /// with the engine's mutex held. False as of fetch().
    bool fetch_wide(Peer& origin, const Request& request, const WidePayload& values);
    /// A list, of AddPayload or, for compare_swap, ListedSwap.
    bool fetch_list(Peer& origin, const Request& request, std::span<const std::byte> list);
    /// A list of AddPayload without an answer.
    void add_list(const Peer& origin, const Request& request, std::span<const std::byte> list);

private:
    /// Whether there are such atomics; else a problem that is noted.
    [[nodiscard]] bool makes_sense(const Peer& origin, const Request& request, std::uint64_t entry_bytes);
    void note_senseless(const Peer& origin, const Request& request);
    /// Where the value is, or null, and a problem that is noted.
    [[nodiscard]] std::byte* address_of(const Peer& origin, const Request& request, std::uint64_t offset);

    Endpoint& endpoint_;
    ExposedWindows& windows_;
    ReplyQueue& replies_;
};

} // namespace lapwing::detail::messages
