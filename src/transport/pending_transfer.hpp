#pragma once

namespace lapwing::detail::transport {

/// What a Completion waits for.
class PendingTransfer {
public:
    virtual ~PendingTransfer() = default;
    [[nodiscard]] virtual bool test() = 0;
    virtual void wait() = 0;
};

} // namespace lapwing::detail::transport
