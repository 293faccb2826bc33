#pragma once

#include "pipeline/planned_transfer.hpp"

#include <lapwing/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace lapwing::detail::pipeline {

/// A put whose extent is unknown until it is complete: if it ends before that, copies of all that it may have written
/// are discarded.
class UnknownWrite {
public:
    explicit UnknownWrite(const PlanState& plan) noexcept : plan_{plan} {}
    ~UnknownWrite();
    UnknownWrite(const UnknownWrite&) = delete;
    UnknownWrite& operator=(const UnknownWrite&) = delete;

    void begin() noexcept { begun_ = true; }
    /// The bytes are those in the memory.
    void complete(const std::byte* memory);

private:
    const PlanState& plan_;
    bool begun_ = false;
};

/// The inside of a Production.
class ProductionState {
public:
    ProductionState(std::shared_ptr<PlanState> plan, const std::byte* memory);

    void ready(std::uint64_t bytes);
    void finish();

private:
    /// Copies the bytes from `copied_` to `end` where the owner's memory is mapped here.
    void copy_until(std::uint64_t end);

    std::shared_ptr<PlanState> plan_;
    const std::byte* memory_;
    UnknownWrite write_;
    std::optional<PlannedTransfer> transfer_; ///< over the network; ends before `write_`
    std::uint64_t ready_ = 0;
    std::uint64_t next_try_ = 0; ///< bytes that must be ready before the transfer is asked to go on
    std::uint64_t copied_ = 0;
};

/// Plan::execute_filled().
void execute_filled(const std::shared_ptr<PlanState>& plan, std::uint64_t granule, const FillBytes& fill);

/// A transfer of this plan follows earlier long transfers to the same bytes.
void finish_earlier(PlanState& plan);

} // namespace lapwing::detail::pipeline
