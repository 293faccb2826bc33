// Many single elements, and small calls.
#include "bindings/c/aggregator.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/function.hpp"
#include "bindings/c/type.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/detail/functions/element_functions.hpp>
#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

lapwing_aggregator::lapwing_aggregator(lapwing_runtime* of)
    : runtime{of},
      calls{lapwing::detail::bindings::team_of(of), "Aggregator", lapwing::detail::functions::Batches::Results::none,
            true},
      gets{lapwing::detail::bindings::team_of(of), "Aggregator::get",
           lapwing::detail::functions::Batches::Results::read, true} {}

namespace lapwing::detail::bindings {
namespace {

using functions::ElementAt;
using functions::FunctionEntry;
using functions::Invocation;
using functions::Signature;

/// How elements of one type are written and added to at their owners.
struct ElementFunctions {
    const FunctionEntry* write = nullptr;
    const FunctionEntry* add = nullptr; ///< null: there is no sum
};

template <class T>
ElementFunctions functions_for() {
    using Add = functions::AddToElement<T>;
    return {
        .write =
            &functions::entry_of<Signature<functions::WriteElement<T>, ElementAt<T>, T>, functions::WriteElement<T>>,
        .add = &functions::entry_of<Signature<Add, ElementAt<T>, T>, Add>,
    };
}

/// Of elements that are no numbers: how many bytes they have is in each call, after the place.
void write_bytes(Invocation& call) {
    for (call.at = 0; call.at < call.count; ++call.at) {
        const auto offset = call.arguments.read<std::uint64_t>();
        const auto bytes = call.arguments.read<std::uint64_t>();
        if (offset >= call.part.size() || bytes > call.part.size() - offset) call.throw_outside(offset, bytes);
        std::memcpy(call.part.data() + offset, call.arguments.take(bytes), bytes);
    }
}
[[gnu::init_priority(support::before_programs)]] const FunctionEntry write_bytes_entry{
    "lapwing::bindings::write_bytes", "write of an element", &write_bytes};

/// Of what is no number.
[[nodiscard]] bool is_of_bytes(lapwing_type type) { return !is_number(type); }

ElementFunctions functions_of(lapwing_type type) {
    if (is_of_bytes(type)) return {.write = &write_bytes_entry};
    return with_any_number(type, [](auto value) { return functions_for<decltype(value)>(); });
}

/// An access to elements of one array.
class Access {
public:
    Access(lapwing_aggregator* aggregator, lapwing_array* array, const char* call)
        : aggregator_{use(aggregator)}, inside_{inside_of(array)}, call_{call} {
        if (&aggregator_.runtime.get()->team->state() != &inside_.array.team().state())
            throw UsageError{fmt::format("{}: {} is of another runtime than the aggregator; make an aggregator of "
                                         "its runtime",
                                         inside_.array.team().who(), text_of(inside_.array))};
        window_ = &inside_.array.window_of(call_);
        functions_ = functions_of(inside_.array.type());
        if (window_ == aggregator_.last_window) return;
        if (std::ranges::find(aggregator_.arrays, array) == aggregator_.arrays.end()) {
            functions::begin_list(*window_);
            aggregator_.arrays.push_back(array);
        }
        aggregator_.last_window = window_;
    }

    /// The position of index k of a list. Throws RangeError, and UsageError for a replicated array.
    [[nodiscard]] PaddedIndex position(const std::int64_t* indices, std::size_t k) const {
        const PaddedIndex position = position_of(inside_, indices + k * inside_.array.dimensions());
        if (inside_.array.replicated()) inside_.array.refuse_atomic(call_, position);
        return position;
    }
    void require_sum() const {
        if (functions_.add == nullptr) throw_no_number(inside_.array.type(), "numbers");
    }

    void get(const PaddedIndex& position, void* value) {
        const Home home = home_of(inside_, call_, position);
        arrays::add_read(aggregator_.gets, *window_, {home.owner.value, home.offset.bytes},
                         static_cast<std::uint32_t>(bytes()), static_cast<std::byte*>(value));
    }
    void put(const PaddedIndex& position, const void* value) { change(*functions_.write, position, value); }
    void add(const PaddedIndex& position, const void* value) { change(*functions_.add, position, value); }

    [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(inside_.array.element_bytes()); }
    [[nodiscard]] std::size_t dimensions() const { return inside_.array.dimensions(); }

private:
    void change(const FunctionEntry& function, const PaddedIndex& position, const void* value) {
        const Home home = home_of(inside_, call_, position);
        const bool sized = is_of_bytes(inside_.array.type());
        const std::array<std::uint64_t, 2> numbers{sized ? home.offset.bytes : home.offset.bytes / bytes(), bytes()};
        const std::size_t head = (sized ? 2 : 1) * sizeof(std::uint64_t);
        std::byte* const place = aggregator_.calls.add(
            home.owner,
            {.function = &function, .window = window_, .argument_bytes = static_cast<std::uint32_t>(head + bytes())});
        std::memcpy(place, numbers.data(), head);
        std::memcpy(place + head, value, bytes());
    }

    lapwing_aggregator& aggregator_;
    const ArrayInside& inside_;
    const char* call_;
    Window* window_ = nullptr;
    ElementFunctions functions_;
};

/// Calls `step(access, position, k)` for each index of a list, after all of them have been looked at.
template <class Step>
void for_list(Access& access, std::size_t count, const std::int64_t* indices, Step&& step) {
    require_memory(indices, count, "indices", access.dimensions() * sizeof *indices);
    std::vector<PaddedIndex> positions;
    positions.reserve(count);
    for (std::size_t k = 0; k < count; ++k) positions.push_back(access.position(indices, k));
    for (std::size_t k = 0; k < count; ++k) step(positions[k], k);
}

const std::byte* value_of(const void* values, bool one_value, std::size_t k, std::size_t bytes) {
    return static_cast<const std::byte*>(values) + (one_value ? 0 : k * bytes);
}

void flush(lapwing_aggregator& aggregator) {
    aggregator.runtime.get()->team->state().require_open("Aggregator::flush");
    aggregator.calls.send();
    aggregator.gets.finish();
    for (const lapwing_array* const array : aggregator.arrays)
        if (array->head.mark == lapwing_array::live_mark())
            functions::end_list(inside_of(array).array.window_of("Aggregator"));
    aggregator.arrays.clear();
    aggregator.last_window = nullptr;
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_aggregator_create(lapwing_runtime* runtime, lapwing_aggregator** aggregator) {
    return guarded("lapwing_aggregator_create", [&] {
        require_pointer(aggregator, "aggregator");
        team_of(runtime).state().require_open("Aggregator");
        *aggregator = Handles<lapwing_aggregator>::make(runtime);
    });
}

int lapwing_aggregator_free(lapwing_aggregator** aggregator) {
    return guarded("lapwing_aggregator_free", [&] {
        require_pointer(aggregator, "aggregator");
        if (*aggregator == nullptr) return;
        struct Free {
            lapwing_aggregator** aggregator;
            ~Free() { end_handle(aggregator); }
        };
        lapwing_aggregator& one = use(*aggregator);
        const Free free{aggregator};
        flush(one);
    });
}

int lapwing_aggregator_get(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index, void* value) {
    return guarded("lapwing_aggregator_get", [&] {
        Access access{aggregator, array, "get"};
        require_pointer(value, "value");
        require_pointer(index, "index");
        access.get(access.position(index, 0), value);
    });
}

int lapwing_aggregator_put(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                           const void* value) {
    return guarded("lapwing_aggregator_put", [&] {
        Access access{aggregator, array, "put"};
        require_pointer(value, "value");
        require_pointer(index, "index");
        access.put(access.position(index, 0), value);
    });
}

int lapwing_aggregator_add(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                           const void* value) {
    return guarded("lapwing_aggregator_add", [&] {
        Access access{aggregator, array, "add"};
        access.require_sum();
        require_pointer(value, "value");
        require_pointer(index, "index");
        access.add(access.position(index, 0), value);
    });
}

int lapwing_aggregator_get_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, void* values) {
    return guarded("lapwing_aggregator_get_list", [&] {
        Access access{aggregator, array, "get"};
        require_memory(values, count, "values", access.bytes());
        for_list(access, count, indices, [&](const PaddedIndex& position, std::size_t k) {
            access.get(position, static_cast<std::byte*>(values) + k * access.bytes());
        });
    });
}

int lapwing_aggregator_put_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, const void* values, int one_value) {
    return guarded("lapwing_aggregator_put_list", [&] {
        Access access{aggregator, array, "put"};
        require_memory(values, count, "values", access.bytes());
        for_list(access, count, indices, [&](const PaddedIndex& position, std::size_t k) {
            access.put(position, value_of(values, one_value != 0, k, access.bytes()));
        });
    });
}

int lapwing_aggregator_add_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, const void* values, int one_value) {
    return guarded("lapwing_aggregator_add_list", [&] {
        Access access{aggregator, array, "add"};
        access.require_sum();
        require_memory(values, count, "values", access.bytes());
        for_list(access, count, indices, [&](const PaddedIndex& position, std::size_t k) {
            access.add(position, value_of(values, one_value != 0, k, access.bytes()));
        });
    });
}

int lapwing_aggregator_post(lapwing_aggregator* aggregator, int rank, const char* name, const void* argument,
                            uint64_t argument_bytes) {
    return guarded("lapwing_aggregator_post", [&] {
        lapwing_aggregator& one = use(aggregator);
        lapwing::Team& team = team_of(one.runtime.get());
        team.state().require_open("Aggregator::post");
        require_rank(team, rank);
        const NamedFunction& function = NamedFunction::of(name);
        require_argument(team, {argument, argument_bytes});
        std::byte* const place = one.calls.add(
            lapwing::Rank{rank}, {.function = &function, .argument_bytes = bytes_of_call(false, argument_bytes)});
        write_call(place, head_of(argument_bytes), nullptr, argument);
    });
}

int lapwing_aggregator_flush(lapwing_aggregator* aggregator) {
    return guarded("lapwing_aggregator_flush", [&] { flush(use(aggregator)); });
}

} // extern "C"
