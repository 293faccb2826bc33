#pragma once

#include "model/access_platform.hpp"

namespace lapwing::detail::model {

/// A network as described by LogGP (Alexandrov, Ionescu, Schauser and Scheiman 1995).
struct LogGpNetwork {
    double latency = 0;  ///< L, seconds
    double overhead = 0; ///< o: of the processor, to send or to receive a message
    double gap = 0;      ///< g: between two messages
    double per_byte = 0; ///< G
};

/// Times of single accesses of 8 bytes on such a network, for so many threads: a read is a message and its reply; a
/// write is sent, and the next one follows after the gap; a barrier is a message in each of log2(threads) rounds, and a
/// collective call takes two barriers; a notified put is a message; a lock that all threads want goes from one to the
/// next by way of its home. Where all threads access the memory of one, that serves an access in each gap, or overhead.
/// Nothing is coalesced or vectorised. Accesses to own elements and to private memory, which do not depend on the
/// network, take what they do on `own`. Throws UsageError for negative numbers.
[[nodiscard]] AccessPlatform loggp_platform(const LogGpNetwork& network, int threads, const AccessPlatform& own);

} // namespace lapwing::detail::model
