#pragma once

#include <lapwing/upc/atomic.h>

#include <cstdint>

/// What the operations of a domain are checked against.
struct lapwing_upc_atomicdomain {
    lapwing_upc_type type;
    int operations;
};

namespace lapwing::upc {

class ProgramState;

/// One atomic, relaxed, as lapwing_upc_atomic_relaxed() has it. Throws RangeError and UsageError.
void perform_atomic(ProgramState& program, const char* call, const lapwing_upc_atomicdomain* domain, void* before,
                    lapwing_upc_op operation, const lapwing_upc_pointer& target, const void* first, const void* second);

/// Collective. Throws UsageError for an unknown type or operation.
[[nodiscard]] lapwing_upc_atomicdomain* make_atomic_domain(ProgramState& program, lapwing_upc_type type,
                                                           int operations);

} // namespace lapwing::upc
