#pragma once

#include "bindings/c/handle.hpp"
#include "src/team/shared_values.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/array_base.hpp>
#include <lapwing/c/runtime.h>
#include <lapwing/runtime.hpp>
#include <lapwing/statistics.hpp>
#include <lapwing/team.hpp>

#include <cstdint>
#include <memory>

struct lapwing_runtime : lapwing::detail::bindings::Object<lapwing_runtime> {
    static constexpr const char* object_name = "runtime";

    lapwing::Team* team = nullptr;
    std::unique_ptr<lapwing::Runtime> own = {}; ///< null: the team is another object's
    std::uint64_t objects = 0;                  ///< windows, arrays and locks that stand on it
};

namespace lapwing::detail::bindings {

/// The team of a runtime. Throws UsageError.
[[nodiscard]] inline Team& team_of(const lapwing_runtime* runtime) { return *use(runtime).team; }
/// Throws RangeError unless `rank` is one of the team's.
void require_rank(const Team& team, int rank, const char* name = "rank");

/// The checks of a collective call that begins with a barrier: see there.
using arrays::before_collective;
/// The checks of a call in which ranks share values: if one rank's arguments are wrong, all get an error.
template <class Check>
void check_for_all(Team& team, const char* call, Check&& check) {
    team::check_or_refuse(team.state(), call, check);
}

void copy_statistics(const StatisticsValues& values, lapwing_statistics* statistics);

/// Lets go of an object as when an exception unwinds the stack: it leaves its team without waiting for the other ranks.
template <class Release>
void leave(Release&& release) {
    struct Leaving {};
    struct Releaser {
        Release& release;
        ~Releaser() { release(); }
    };
    try {
        const Releaser releaser{release};
        throw Leaving{};
    } catch (const Leaving&) {
    }
}

/// One of the objects that keep a runtime from being freed.
class OnRuntime {
public:
    explicit OnRuntime(lapwing_runtime* runtime) noexcept : runtime_{runtime} { ++runtime_->objects; }
    OnRuntime(const OnRuntime&) = delete;
    OnRuntime& operator=(const OnRuntime&) = delete;
    ~OnRuntime() { --runtime_->objects; }

    [[nodiscard]] lapwing_runtime* get() const noexcept { return runtime_; }

private:
    lapwing_runtime* runtime_;
};

} // namespace lapwing::detail::bindings
