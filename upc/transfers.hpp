#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/upc.h>

#include <cstddef>
#include <vector>

/// A handle's transfer; empty once it is complete.
struct lapwing_upc_transfer {
    lapwing::Completion completion;
};

namespace lapwing::upc {

class ProgramState;

/// Non-blocking transfers of one thread: explicit handles, and those that synci() completes.
class Transfers {
public:
    explicit Transfers(ProgramState& program) : program_{program} {}

    /// Each starts a transfer, whose memory must stay valid until it is complete. `call` is the name in messages. No
    /// bytes: see Memory.
    [[nodiscard]] Completion start_get(const char* call, void* destination, const lapwing_upc_pointer& source,
                                       std::size_t bytes);
    [[nodiscard]] Completion start_put(const char* call, const lapwing_upc_pointer& destination, const void* source,
                                       std::size_t bytes);
    /// Between two parts neither of which can be loaded, it is complete on return.
    [[nodiscard]] Completion start_copy(const char* call, const lapwing_upc_pointer& destination,
                                        const lapwing_upc_pointer& source, std::size_t bytes);

    /// Null for a complete transfer.
    [[nodiscard]] static lapwing_upc_handle handle_of(Completion completion);
    static void sync(lapwing_upc_handle handle);
    [[nodiscard]] static bool sync_attempt(lapwing_upc_handle handle);

    /// Implicit handles.
    void add_implicit(Completion completion);
    void synci();
    [[nodiscard]] bool synci_attempt();

private:
    ProgramState& program_;
    std::vector<Completion> implicit_;
};

} // namespace lapwing::upc
