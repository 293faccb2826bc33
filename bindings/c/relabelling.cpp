// Orders of ranks for a redistribution.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/runtime.hpp"

#include <lapwing/c/relabelling.h>
#include <lapwing/error.hpp>
#include <lapwing/relabelling.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

struct lapwing_relabelling : lapwing::detail::bindings::Object<lapwing_relabelling> {
    static constexpr const char* object_name = "relabelling";

    explicit lapwing_relabelling(lapwing::Relabelling found) : order{std::move(found)} {}

    lapwing::Relabelling order;
    lapwing_runtime* runtime = nullptr; ///< made when it is asked for
};

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_relabelling_create(lapwing_array* array, const lapwing_distribution* distribution,
                               lapwing_relabelling** relabelling) {
    return guarded("lapwing_relabelling_create", [&] {
        ArrayInside& inside = inside_of(array);
        const KeptDistribution dealt = before_collective(inside.array.team(), [&] {
            require_pointer(relabelling, "relabelling");
            return distribution_of(inside, distribution);
        });
        *relabelling = Handles<lapwing_relabelling>::make(inside.array.relabelling(dealt));
    });
}

int lapwing_relabelling_free(lapwing_relabelling** relabelling) {
    return guarded("lapwing_relabelling_free", [&] {
        require_pointer(relabelling, "relabelling");
        if (*relabelling == nullptr) return;
        lapwing_relabelling& one = use(*relabelling);
        if (one.runtime != nullptr && one.runtime->objects > 0)
            throw lapwing::UsageError{fmt::format("{} windows, arrays or locks are open on the runtime of the "
                                                  "relabelling; free those first",
                                                  one.runtime->objects)};
        one.order.close();
        if (one.runtime != nullptr) Handles<lapwing_runtime>::end(one.runtime);
        end_handle(relabelling);
    });
}

int lapwing_relabelling_query(const lapwing_relabelling* relabelling, lapwing_relabelling_info* info) {
    return guarded("lapwing_relabelling_query", [&] {
        const lapwing::Relabelling& order = use(relabelling).order;
        require_pointer(info, "info");
        *info = {order.rank().value, order.changes() ? 1 : 0, order.bytes_moved(), order.bytes_moved_unordered(),
                 order.bytes()};
    });
}

int lapwing_relabelling_runtime(lapwing_relabelling* relabelling, lapwing_runtime** runtime) {
    return guarded("lapwing_relabelling_runtime", [&] {
        lapwing_relabelling& one = use(relabelling);
        require_pointer(runtime, "runtime");
        lapwing::Team& team = one.order.team();
        if (one.runtime == nullptr) {
            one.runtime = Handles<lapwing_runtime>::make();
            one.runtime->team = &team;
        }
        *runtime = one.runtime;
    });
}

int lapwing_array_redistribute_ordered(lapwing_array* array, const lapwing_distribution* distribution,
                                       lapwing_relabelling* relabelling) {
    return guarded("lapwing_array_redistribute_ordered", [&] {
        ArrayInside& inside = inside_of(array);
        AnyArray& one = inside.array;
        const std::vector<std::int64_t> extents{one.extents().begin(), one.extents().end()};
        const KeptDistribution dealt = before_collective(one.team(), [&] {
            (void)use(relabelling);
            return distribution_of(inside, distribution);
        });
        one.rebuild(".redistribute", extents, dealt, &relabelling->order);
        bind_again(*array);
    });
}

} // extern "C"
