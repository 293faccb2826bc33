#include "bindings/c/runtime.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/settings.hpp"
#include "bindings/c/type.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace lapwing::detail::bindings {

void require_rank(const Team& team, int rank, const char* name) {
    if (rank < 0 || rank >= team.size())
        throw RangeError{
            fmt::format("{}: the argument '{}' is {}, and ranks are in [0, {})", team.who(), name, rank, team.size())};
}

static_assert(sizeof(lapwing_statistics) == sizeof(StatisticsValues), "one member for each counter, in their order");

void copy_statistics(const StatisticsValues& values, lapwing_statistics* statistics) {
    std::memcpy(statistics, values.values.data(), sizeof *statistics);
}

} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace
using lapwing::Rank;
using lapwing::Team;

namespace {

std::span<std::byte> bytes_at(void* memory, std::uint64_t bytes) {
    return {static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes)};
}
std::span<const std::byte> bytes_at(const void* memory, std::uint64_t bytes) {
    return {static_cast<const std::byte*>(memory), static_cast<std::size_t>(bytes)};
}

void require_no_objects(const lapwing_runtime& runtime, const char* verb) {
    if (runtime.own == nullptr)
        throw lapwing::UsageError{"the runtime belongs to another object, which it ends with; free that"};
    if (runtime.objects != 0)
        throw lapwing::UsageError{
            fmt::format("{}: {} windows, arrays or locks of the runtime are open; {} them before it",
                        runtime.team->who(), runtime.objects, verb)};
}

int reduce(const char* call, lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count,
           MPI_Op operation) {
    return guarded(call, [&] {
        Team& team = team_of(runtime);
        check_for_all(team, call, [&] {
            require_memory(values, count, "values", std::max<std::uint64_t>(size_of(type), 1));
            if (operation == MPI_SUM) with_any_number(type, [](auto) {});
            else with_number(type, [](auto) {});
        });
        team.all_reduce(values, count, mpi_type_of(type), operation);
    });
}

/// Throws UsageError for no type, RangeError for more bytes than there can be.
std::uint64_t bytes_of(lapwing_type type, std::uint64_t count, const char* name) {
    require_type(type);
    return checked_bytes(count, size_of(type), name);
}

} // namespace

extern "C" {

int lapwing_runtime_create(MPI_Comm communicator, const lapwing_settings* settings, lapwing_runtime** runtime) {
    return guarded("lapwing_runtime_create", [&] {
        require_pointer(runtime, "runtime");
        auto own = settings == nullptr ? std::make_unique<lapwing::Runtime>(communicator)
                                       : std::make_unique<lapwing::Runtime>(communicator, use(settings).values);
        lapwing_runtime* const made = Handles<lapwing_runtime>::make();
        made->team = own.get();
        made->own = std::move(own);
        *runtime = made;
    });
}

int lapwing_runtime_free(lapwing_runtime** runtime) {
    return guarded("lapwing_runtime_free", [&] {
        require_pointer(runtime, "runtime");
        if (*runtime == nullptr) return;
        lapwing_runtime& one = use(*runtime);
        require_no_objects(one, "free");
        // Statistics that cannot be written are an error, but the runtime is closed all the same.
        struct Free {
            lapwing_runtime** runtime;
            ~Free() {
                if ((*runtime)->own->closed()) end_handle(runtime);
            }
        } const free{runtime};
        one.own->close();
    });
}

int lapwing_runtime_leave(lapwing_runtime** runtime) {
    return guarded("lapwing_runtime_leave", [&] {
        require_pointer(runtime, "runtime");
        if (*runtime == nullptr) return;
        require_no_objects(use(*runtime), "leave");
        leave([&] { end_handle(runtime); });
    });
}

int lapwing_runtime_rank(const lapwing_runtime* runtime, int* rank) {
    return guarded("lapwing_runtime_rank", [&] {
        require_pointer(rank, "rank");
        *rank = team_of(runtime).rank().value;
    });
}

int lapwing_runtime_size(const lapwing_runtime* runtime, int* size) {
    return guarded("lapwing_runtime_size", [&] {
        require_pointer(size, "size");
        *size = team_of(runtime).size();
    });
}

int lapwing_runtime_path(const lapwing_runtime* runtime, int rank, int* path) {
    return guarded("lapwing_runtime_path", [&] {
        require_pointer(path, "path");
        *path = static_cast<int>(team_of(runtime).path(Rank{rank}));
    });
}

int lapwing_runtime_network_path(const lapwing_runtime* runtime, int* path) {
    return guarded("lapwing_runtime_network_path", [&] {
        require_pointer(path, "path");
        *path = static_cast<int>(team_of(runtime).network_path());
    });
}

int lapwing_runtime_progress_mode(const lapwing_runtime* runtime, int* mode) {
    return guarded("lapwing_runtime_progress_mode", [&] {
        require_pointer(mode, "mode");
        *mode = static_cast<int>(team_of(runtime).progress_mode());
    });
}

int lapwing_runtime_node_size(const lapwing_runtime* runtime, int* ranks) {
    return guarded("lapwing_runtime_node_size", [&] {
        require_pointer(ranks, "ranks");
        *ranks = team_of(runtime).node_size();
    });
}

int lapwing_runtime_nodes(const lapwing_runtime* runtime, int* nodes) {
    return guarded("lapwing_runtime_nodes", [&] {
        require_pointer(nodes, "nodes");
        *nodes = team_of(runtime).nodes();
    });
}

int lapwing_runtime_barrier(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_barrier", [&] { team_of(runtime).barrier(); });
}
int lapwing_runtime_barrier_identity(lapwing_runtime* runtime, int64_t identity) {
    return guarded("lapwing_runtime_barrier_identity", [&] { team_of(runtime).barrier(identity); });
}
int lapwing_runtime_notify(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_notify", [&] { team_of(runtime).notify(); });
}
int lapwing_runtime_wait(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_wait", [&] { team_of(runtime).wait(); });
}
int lapwing_runtime_notify_identity(lapwing_runtime* runtime, int64_t identity) {
    return guarded("lapwing_runtime_notify_identity", [&] { team_of(runtime).notify(identity); });
}
int lapwing_runtime_wait_identity(lapwing_runtime* runtime, int64_t identity) {
    return guarded("lapwing_runtime_wait_identity", [&] { team_of(runtime).wait(identity); });
}
int lapwing_runtime_release(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_release", [&] { team_of(runtime).release(); });
}
int lapwing_runtime_acquire(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_acquire", [&] { team_of(runtime).acquire(); });
}
int lapwing_runtime_fence(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_fence", [&] { team_of(runtime).fence(); });
}

int lapwing_runtime_progress(lapwing_runtime* runtime, int* moved) {
    return guarded("lapwing_runtime_progress", [&] {
        const bool any = team_of(runtime).progress();
        if (moved != nullptr) *moved = any ? 1 : 0;
    });
}

int lapwing_runtime_wait_request(lapwing_runtime* runtime, MPI_Request* request, MPI_Status* status) {
    return guarded("lapwing_runtime_wait_request", [&] {
        require_pointer(request, "request");
        team_of(runtime).wait_request(*request, status != nullptr ? status : MPI_STATUS_IGNORE);
    });
}

int lapwing_runtime_sum(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count) {
    return reduce("lapwing_runtime_sum", runtime, type, values, count, MPI_SUM);
}
int lapwing_runtime_min(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count) {
    return reduce("lapwing_runtime_min", runtime, type, values, count, MPI_MIN);
}
int lapwing_runtime_max(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count) {
    return reduce("lapwing_runtime_max", runtime, type, values, count, MPI_MAX);
}

int lapwing_runtime_all_reduce(lapwing_runtime* runtime, void* values, uint64_t count, MPI_Datatype type,
                               MPI_Op operation) {
    return guarded("lapwing_runtime_all_reduce", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_all_reduce", [&] {
            if (count != 0) require_pointer(values, "values"); // the team knows the size of a value
            if (type == MPI_DATATYPE_NULL)
                throw lapwing::UsageError{"the datatype is MPI_DATATYPE_NULL; pass that of the values"};
            if (operation == MPI_OP_NULL) throw lapwing::UsageError{"the operation is MPI_OP_NULL; pass MPI_SUM, say"};
        });
        team.all_reduce(values, count, type, operation);
    });
}

int lapwing_runtime_broadcast(lapwing_runtime* runtime, void* values, uint64_t bytes, int root) {
    return guarded("lapwing_runtime_broadcast", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_broadcast", [&] {
            require_memory(values, bytes, "values");
            require_rank(team, root, "root");
        });
        team.broadcast(bytes_at(values, bytes), Rank{root});
    });
}

int lapwing_runtime_combine(lapwing_runtime* runtime, void* value, uint64_t bytes, lapwing_combine_function combine,
                            void* context) {
    return guarded("lapwing_runtime_combine", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_combine", [&] {
            require_memory(value, bytes, "value");
            require_pointer(reinterpret_cast<const void*>(combine), "combine");
        });
        team.combine(bytes_at(value, bytes), combine, context);
    });
}

int lapwing_runtime_combine_before(lapwing_runtime* runtime, const void* value, void* before, uint64_t bytes,
                                   lapwing_combine_function combine, void* context, int* has_before) {
    return guarded("lapwing_runtime_combine_before", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_combine_before", [&] {
            require_memory(value, bytes, "value");
            require_memory(before, bytes, "before");
            require_pointer(reinterpret_cast<const void*>(combine), "combine");
        });
        const bool any = team.combine_before(bytes_at(value, bytes), bytes_at(before, bytes), combine, context);
        if (has_before != nullptr) *has_before = any ? 1 : 0;
    });
}

int lapwing_runtime_all_gather(lapwing_runtime* runtime, const void* value, uint64_t bytes, void* all) {
    return guarded("lapwing_runtime_all_gather", [&] {
        Team& team = team_of(runtime);
        const auto ranks = static_cast<std::uint64_t>(team.size());
        check_for_all(team, "lapwing_runtime_all_gather", [&] {
            require_memory(value, bytes, "value");
            require_memory(all, bytes, "all");
            if (bytes > (std::uint64_t{4} << 20) / ranks)
                throw lapwing::RangeError{fmt::format(
                    "{}: {} bytes of each of {} ranks are more than 4 MiB; gather larger values through a window",
                    team.who(), bytes, ranks)};
        });
        team.all_gather(bytes_at(value, bytes), bytes_at(all, bytes * ranks));
    });
}

int lapwing_runtime_all_gather_varying(lapwing_runtime* runtime, lapwing_type type, const void* values, uint64_t count,
                                       void* all, uint64_t room, uint64_t* counts) {
    return guarded("lapwing_runtime_all_gather_varying", [&] {
        Team& team = team_of(runtime);
        std::uint64_t bytes = 0;
        std::uint64_t place = 0;
        check_for_all(team, "lapwing_runtime_all_gather_varying", [&] {
            bytes = bytes_of(type, count, "values");
            place = bytes_of(type, room, "all");
            require_memory(values, bytes, "values");
            require_memory(all, place, "all");
            require_pointer(counts, "counts");
        });
        const std::span<std::uint64_t> each{counts, static_cast<std::size_t>(team.size())};
        const std::string number = name_of(type);
        std::ranges::fill(each, 0);
        const auto gather = [&] {
            team.all_gather_varying(
                bytes_at(values, bytes), each, [&](std::uint64_t) { return bytes_at(all, place); },
                number.empty() ? text_of(type).c_str() : number.c_str());
        };
        const auto count_values = [&] {
            for (std::uint64_t& one : each) one /= size_of(type);
        };
        try {
            gather();
        } catch (...) {
            count_values();
            throw;
        }
        count_values();
    });
}

int lapwing_runtime_require_same(lapwing_runtime* runtime, const int64_t* values, size_t count, const char* what) {
    return guarded("lapwing_runtime_require_same", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_require_same", [&] {
            require_memory(values, count, "values", sizeof *values);
            require_pointer(what, "what");
        });
        team.require_same({values, count}, "lapwing_runtime_require_same", what);
    });
}

int lapwing_runtime_refuse(lapwing_runtime* runtime, int values, const char* text) {
    return guarded("lapwing_runtime_refuse", [&] {
        const Team& team = team_of(runtime);
        const auto refusal = std::make_exception_ptr(
            lapwing::UsageError{text != nullptr ? text : team.who() + " cannot make the call of the other ranks"});
        if (values != 0) lapwing::detail::team::refuse(team.state(), "lapwing_runtime_refuse", refusal);
        team.state().synchronisation().refuse(refusal);
    });
}

int lapwing_runtime_statistics(const lapwing_runtime* runtime, lapwing_statistics* statistics) {
    return guarded("lapwing_runtime_statistics", [&] {
        require_pointer(statistics, "statistics");
        copy_statistics(team_of(runtime).statistics(), statistics);
    });
}

int lapwing_runtime_total_statistics(lapwing_runtime* runtime, lapwing_statistics* statistics) {
    return guarded("lapwing_runtime_total_statistics", [&] {
        Team& team = team_of(runtime);
        check_for_all(team, "lapwing_runtime_total_statistics", [&] { require_pointer(statistics, "statistics"); });
        copy_statistics(team.total_statistics(), statistics);
    });
}

int lapwing_runtime_report(const lapwing_runtime* runtime, const char** text) {
    return guarded("lapwing_runtime_report", [&] {
        require_pointer(text, "text");
        *text = kept_text(team_of(runtime).report());
    });
}

int lapwing_runtime_who(const lapwing_runtime* runtime, const char** text) {
    return guarded("lapwing_runtime_who", [&] {
        require_pointer(text, "text");
        *text = kept_text(team_of(runtime).who());
    });
}

int lapwing_runtime_setting(const lapwing_runtime* runtime, const char* name, const char** text) {
    return guarded("lapwing_runtime_setting", [&] {
        require_pointer(name, "name");
        require_pointer(text, "text");
        *text = kept_text(team_of(runtime).settings().text(name));
    });
}

int lapwing_statistics_add(lapwing_statistics* statistics, const lapwing_statistics* other) {
    return guarded("lapwing_statistics_add", [&] {
        require_pointer(statistics, "statistics");
        require_pointer(other, "other");
        lapwing::StatisticsValues sum;
        lapwing::StatisticsValues more;
        std::memcpy(sum.values.data(), statistics, sizeof *statistics);
        std::memcpy(more.values.data(), other, sizeof *other);
        copy_statistics(sum += more, statistics);
    });
}

int lapwing_statistics_json(const lapwing_statistics* statistics, const char** text) {
    return guarded("lapwing_statistics_json", [&] {
        require_pointer(statistics, "statistics");
        require_pointer(text, "text");
        lapwing::StatisticsValues values;
        std::memcpy(values.values.data(), statistics, sizeof *statistics);
        std::string json;
        for (std::size_t i = 0; i < lapwing::counter_count; ++i)
            json += fmt::format("{}\"{}\": {}", i == 0 ? "{" : ", ", name(static_cast<lapwing::Counter>(i)),
                                values.values[i]);
        *text = kept_text(json + "}");
    });
}

} // extern "C"
