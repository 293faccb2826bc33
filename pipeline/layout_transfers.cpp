#include "pipeline/layout_transfers.hpp"

#include <lapwing/plan.hpp>

namespace lapwing::detail::pipeline {
namespace {

class PlansUsedOnce final : public window::LayoutTransfers {
public:
    void put(Window& window, const Layout& source, const void* base, Rank target, Offset offset,
             const Layout& destination, std::optional<unsigned> counter) const override {
        Plan plan = Plan::put(window, source, target, offset, destination);
        if (counter) plan.execute_notify(base, *counter);
        else plan.execute(base);
    }
    void get(Window& window, Rank target, Offset offset, const Layout& source, const Layout& destination,
             void* base) const override {
        Plan::get(window, target, offset, source, destination).execute(base);
    }
    Completion start_put(Window& window, const Layout& source, const void* base, Rank target, Offset offset,
                         const Layout& destination) const override {
        return Plan::put(window, source, target, offset, destination).start(base);
    }
    Completion start_get(Window& window, Rank target, Offset offset, const Layout& source, const Layout& destination,
                         void* base) const override {
        return Plan::get(window, target, offset, source, destination).start(base);
    }
};

} // namespace

const window::LayoutTransfers& layout_transfers() noexcept {
    static const PlansUsedOnce plans;
    return plans;
}

} // namespace lapwing::detail::pipeline
