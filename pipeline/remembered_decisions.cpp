#include "pipeline/remembered_decisions.hpp"

namespace lapwing::detail::pipeline {

Decision RememberedDecisions::decide(const model::CostModel& costs, const TransferShape& shape,
                                     const PlanOptions& options) {
    const std::uint64_t version = costs.version();
    std::size_t at = 0;
    const auto mix = [&at](std::uint64_t value) { at = (at ^ value) * 0x9e3779b97f4a7c15U; };
    for (const std::uint64_t value :
         {shape.bytes, shape.local.blocks, shape.local.extent_bytes, shape.remote.blocks, shape.remote.extent_bytes,
          static_cast<std::uint64_t>(shape.direction) << 32 | static_cast<std::uint64_t>(shape.path) << 16 |
              static_cast<std::uint64_t>(options.strategy)})
        mix(value);
    at = (at >> 32) % most_remembered;
    {
        const std::lock_guard guard{mutex_};
        if (remembered_.empty()) remembered_.resize(most_remembered);
        const Remembered& found = remembered_[at];
        if (found.version == version && found.shape == shape && found.options == options) return found.decision;
    }
    const Decision decision =
        pipeline::decide(shape, costs.transfers(shape.path, shape.direction, shape.bytes),
                         costs.transfers(Path::service, shape.direction, shape.bytes), costs.copy(), options);
    const std::lock_guard guard{mutex_};
    remembered_[at] = {shape, options, decision, version};
    return decision;
}

} // namespace lapwing::detail::pipeline
