#pragma once

#include <lapwing/upc/collective.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lapwing::upc {

class ProgramState;

/// Whose memory a thread reads and writes in a collective call.
enum class Touches : std::uint8_t { own, others };

/// A collective call from its entry to its exit, with the synchronisation that its flags ask for.
class CollectiveCall {
public:
    /// Collective. Throws RangeError for pointers that are null or of no thread, UsageError for flags that there are not; at assertion level 3
    /// MismatchError on all threads where their arguments differ, before any of them is judged.
    CollectiveCall(ProgramState& program, const char* call, int flags, Touches touches, std::initializer_list<lapwing_upc_pointer> objects,
                   std::initializer_list<std::size_t> sizes);
    CollectiveCall(const CollectiveCall&) = delete;
    CollectiveCall& operator=(const CollectiveCall&) = delete;
    /// Collective. At its end, when all is done.
    void finish();

private:
    ProgramState& program_;
    bool waits_at_end_ = false;
};

} // namespace lapwing::upc
