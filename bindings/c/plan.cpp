// Plans, productions and recordings.
#include "bindings/c/call.hpp"
#include "bindings/c/completion.hpp"
#include "bindings/c/layout.hpp"
#include "bindings/c/window.hpp"

#include <lapwing/c/plan.h>
#include <lapwing/error.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/recording.hpp>

#include <span>
#include <utility>

struct lapwing_plan : lapwing::detail::bindings::Object<lapwing_plan> {
    static constexpr const char* object_name = "plan";

    explicit lapwing_plan(lapwing::Plan made) noexcept : plan{std::move(made)} {}

    lapwing::Plan plan;
};

struct lapwing_production : lapwing::detail::bindings::Object<lapwing_production> {
    static constexpr const char* object_name = "production";

    explicit lapwing_production(lapwing::Production made) noexcept : production{std::move(made)} {}

    lapwing::Production production;
};

struct lapwing_recording : lapwing::detail::bindings::Object<lapwing_recording> {
    static constexpr const char* object_name = "recording";

    explicit lapwing_recording(lapwing::Window& window) : recording{window} {}

    lapwing::Recording recording;
};

namespace {

lapwing::PlanOptions options_of(const lapwing_plan_options* given) {
    if (given == nullptr) return {};
    lapwing::detail::bindings::require_constant(given->strategy, 8, "options.strategy",
                                                "LAPWING_STRATEGY_AUTOMATIC to LAPWING_STRATEGY_SIEVED");
    return {.strategy = static_cast<lapwing::Strategy>(given->strategy),
            .first_chunk = given->first_chunk,
            .growth = given->growth,
            .largest_chunk = given->largest_chunk};
}

} // namespace

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Offset;
using lapwing::Plan;
using lapwing::Rank;

extern "C" {

int lapwing_plan_create_get(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan) {
    return guarded("lapwing_plan_create_get", [&] {
        lapwing::Window& one = window_of(window);
        require_pointer(plan, "plan");
        *plan = Handles<lapwing_plan>::make(
            Plan::get(one, Rank{rank}, Offset{offset}, layout_of(there), layout_of(here), options_of(options)));
    });
}

int lapwing_plan_create_put(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan) {
    return guarded("lapwing_plan_create_put", [&] {
        lapwing::Window& one = window_of(window);
        require_pointer(plan, "plan");
        *plan = Handles<lapwing_plan>::make(
            Plan::put(one, layout_of(here), Rank{rank}, Offset{offset}, layout_of(there), options_of(options)));
    });
}

int lapwing_plan_free(lapwing_plan** plan) {
    return guarded("lapwing_plan_free", [&] {
        require_pointer(plan, "plan");
        if (*plan == nullptr) return;
        (void)use(*plan);
        end_handle(plan);
    });
}

int lapwing_plan_execute(lapwing_plan* plan, void* memory) {
    return guarded("lapwing_plan_execute", [&] {
        Plan& one = use(plan).plan;
        require_memory(memory, one.bytes(), "memory");
        one.execute(memory);
    });
}

int lapwing_plan_execute_put(lapwing_plan* plan, const void* memory) {
    return guarded("lapwing_plan_execute_put", [&] {
        Plan& one = use(plan).plan;
        require_memory(memory, one.bytes(), "memory");
        one.execute(memory);
    });
}

int lapwing_plan_execute_notify(lapwing_plan* plan, const void* memory, unsigned int counter) {
    return guarded("lapwing_plan_execute_notify", [&] {
        Plan& one = use(plan).plan;
        require_memory(memory, one.bytes(), "memory");
        one.execute_notify(memory, counter);
    });
}

int lapwing_plan_start(lapwing_plan* plan, void* memory, lapwing_completion** completion) {
    return guarded("lapwing_plan_start", [&] {
        Plan& one = use(plan).plan;
        require_memory(memory, one.bytes(), "memory");
        require_pointer(completion, "completion");
        give(one.start(memory), completion);
    });
}

int lapwing_plan_execute_filled(lapwing_plan* plan, uint64_t granule, lapwing_fill_function fill, void* context) {
    return guarded("lapwing_plan_execute_filled", [&] {
        Plan& one = use(plan).plan;
        require_pointer(reinterpret_cast<const void*>(fill), "fill");
        one.execute_filled(granule, [&](std::uint64_t first, std::span<std::byte> bytes) {
            if (const int code = fill(context, first, bytes.data(), bytes.size()); code != 0)
                throw CallbackError{"the function 'fill'", code};
        });
    });
}

int lapwing_plan_query(const lapwing_plan* plan, int* strategy, uint64_t* bytes, double* seconds) {
    return guarded("lapwing_plan_query", [&] {
        const Plan& one = use(plan).plan;
        if (strategy != nullptr) *strategy = static_cast<int>(one.strategy());
        if (bytes != nullptr) *bytes = one.bytes();
        if (seconds != nullptr) *seconds = one.predicted_seconds();
    });
}

int lapwing_plan_explain(const lapwing_plan* plan, const char** text) {
    return guarded("lapwing_plan_explain", [&] {
        require_pointer(text, "text");
        *text = kept_text(use(plan).plan.explain());
    });
}

int lapwing_plan_produce(lapwing_plan* plan, const void* memory, lapwing_production** production) {
    return guarded("lapwing_plan_produce", [&] {
        Plan& one = use(plan).plan;
        require_memory(memory, one.bytes(), "memory");
        require_pointer(production, "production");
        *production = Handles<lapwing_production>::make(one.produce(memory));
    });
}

int lapwing_production_ready(lapwing_production* production, uint64_t bytes) {
    return guarded("lapwing_production_ready", [&] { use(production).production.ready(bytes); });
}

int lapwing_production_finish(lapwing_production** production) {
    return guarded("lapwing_production_finish", [&] {
        require_pointer(production, "production");
        use(*production).production.finish();
        end_handle(production);
    });
}

int lapwing_recording_create(lapwing_window* window, lapwing_recording** recording) {
    return guarded("lapwing_recording_create", [&] {
        lapwing::Window& one = window_of(window);
        require_pointer(recording, "recording");
        *recording = Handles<lapwing_recording>::make(one);
    });
}

int lapwing_recording_free(lapwing_recording** recording) {
    return guarded("lapwing_recording_free", [&] {
        require_pointer(recording, "recording");
        if (*recording == nullptr) return;
        (void)use(*recording);
        end_handle(recording);
    });
}

int lapwing_recording_put(lapwing_recording* recording, int rank, uint64_t offset, const void* source, uint64_t bytes) {
    return guarded("lapwing_recording_put", [&] {
        lapwing::Recording& one = use(recording).recording;
        require_memory(source, bytes, "source");
        one.put_bytes(Rank{rank}, Offset{offset}, span_at(source, bytes));
    });
}

int lapwing_recording_run(lapwing_recording* recording) {
    return guarded("lapwing_recording_run", [&] { use(recording).recording.run(); });
}

int lapwing_recording_query(const lapwing_recording* recording, uint64_t* puts, uint64_t* plans_made) {
    return guarded("lapwing_recording_query", [&] {
        const lapwing::Recording& one = use(recording).recording;
        if (puts != nullptr) *puts = one.puts();
        if (plans_made != nullptr) *plans_made = one.plans_made();
    });
}

int lapwing_recording_blocks(const lapwing_recording* recording, int rank, uint64_t* blocks) {
    return guarded("lapwing_recording_blocks", [&] {
        require_pointer(blocks, "blocks");
        *blocks = use(recording).recording.blocks(Rank{rank});
    });
}

} // extern "C"
