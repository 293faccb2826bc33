#pragma once

#include "functions/messages.hpp"
#include "src/messages/operation.hpp"

#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/rank.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::detail::functions {

class CallerSide;

/// A call that this rank waits for, or may.
class Asked final : public PendingCall {
public:
    /// `room`: for a result in the answer.
    Asked(CallerSide& caller, const Destination& to, std::size_t room);
    ~Asked() override;

    [[nodiscard]] bool done() const noexcept override;
    void progress() override;
    void wait_until(const std::function<bool()>& enough) override;
    void wait() override;
    [[nodiscard]] std::span<const std::byte> result() const override;

    /// What the engine needs to ask.
    [[nodiscard]] messages::Operation& operation() noexcept { return operation_; }
    [[nodiscard]] std::uint64_t answer_bytes() const noexcept { return sizeof(Answer) + room_; }
    [[nodiscard]] Rank target() const noexcept { return target_; }
    [[nodiscard]] bool for_program() const noexcept { return for_program_; }
    [[nodiscard]] const char* call() const noexcept { return call_; }

    /// With the engine's mutex held: the result has come in a message of its own, or without one.
    void deliver(bool failed, std::span<const std::byte> bytes);

private:
    friend class CallerSide;
    [[nodiscard]] Answer answer() const noexcept;

    static constexpr std::size_t few_bytes = 64;

    CallerSide* caller_;
    Rank target_;
    const char* call_;
    bool for_program_;
    std::uint64_t token_ = 0; ///< see CallerSide
    std::size_t room_;
    messages::Operation operation_;
    alignas(8) std::array<std::byte, few_bytes> few_{};
    std::vector<std::byte> more_; ///< instead, for an answer that is larger
    std::atomic<bool> delivered_{false};
    bool failed_ = false;
    std::vector<std::byte> late_; ///< what was delivered
};

} // namespace lapwing::detail::functions
