#pragma once

#include "src/transport/message_transport.hpp"
#include "src/transport/rma_transport.hpp"

namespace lapwing::detail::transport {

/// The transports of a window, and the only choice between them.
struct Transports {
    explicit Transports(AccessLedger& ledger) noexcept : rma{ledger}, messages{ledger} {}

    /// For a get or put.
    [[nodiscard]] Transport& route(const Access& access) noexcept {
        if (rma.carries(access)) [[likely]]
            return rma;
        return messages;
    }
    /// For atomics on one value: all must go the same way.
    [[nodiscard]] Transport& route_of_atomics() noexcept {
        if (rma.carries_atomics()) return rma;
        return messages;
    }

    RmaTransport rma;
    MessageTransport messages;
};

} // namespace lapwing::detail::transport
