// Functions at the owner, by name.
#include "bindings/c/function.hpp"

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/runtime.hpp"
#include "src/messages/engine.hpp"
#include "src/support/hash.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/error.hpp>
#include <lapwing/functions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

using functions::Destination;
using functions::FunctionEntry;
using functions::Invocation;
using functions::PendingCall;

[[nodiscard]] std::uint64_t number_of(std::string_view name) noexcept {
    return support::hash_of({support::checksum_of(name), support::checksum_of("C")});
}

constexpr std::uint32_t most_bytes = std::uint32_t{1} << 24; ///< more than any message has

[[nodiscard]] std::size_t padded_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t unit = functions::message_alignment;
    return static_cast<std::size_t>((bytes + unit - 1) / unit * unit);
}

} // namespace

// ---- names ----------------------------------------------------------------------------------------------------------

NamedFunction::NamedFunction(std::string_view name, lapwing_owner_function function, void* context)
    : QuotedName{fmt::format("\"{}\"", name)},
      FunctionEntry{number_of(name), text.c_str(), &run},
      function_{function},
      context_{context} {}

void NamedFunction::add(const char* name, lapwing_owner_function function, void* context) {
    require_pointer(name, "name");
    if (function == nullptr) throw UsageError{"the argument 'function' is a null pointer"};
    if (*name == '\0') throw UsageError{"the name is empty; all ranks find the function by it"};
    auto* const fresh = new NamedFunction{name, function, context}; // for ever, as all entries
    const auto& there = static_cast<const NamedFunction&>(enter(*fresh));
    if (&there == fresh) return;
    delete fresh;
    if (there.function_ == function && there.context_ == context) return;
    if (there.function_ != function)
        throw UsageError{
            fmt::format("the name {} belongs to another function already; use one name for each", there.text)};
    throw UsageError{fmt::format("the function {} is registered already, with another context, and a name has one for "
                                 "the whole program; use another name",
                                 there.text)};
}

const NamedFunction& NamedFunction::of(const char* name) {
    require_pointer(name, "name");
    const FunctionEntry* const entry = FunctionEntry::find(number_of(name));
    if (entry != nullptr && entry->is(&run)) return static_cast<const NamedFunction&>(*entry);
    throw UsageError{fmt::format("this rank has no function \"{}\"; call lapwing_function_register() on every rank, "
                                 "before the first call of it",
                                 name)};
}

// ---- at the owner ---------------------------------------------------------------------------------------------------

void NamedFunction::fail(int code) const {
    if (code == lapwing_error_code() && *lapwing_error_text() != '\0') throw Error{lapwing_error_text()};
    throw Error{fmt::format("{} returned {}; 0 says that it succeeded", text, code)};
}

void NamedFunction::run_one(Invocation& call) const {
    const auto head = call.arguments.read<CallHead>();
    void* element = nullptr;
    if (head.on_element != 0) {
        const auto offset = call.arguments.read<std::uint64_t>();
        if (offset >= call.part.size()) call.throw_outside(offset, 1);
        element = call.part.data() + offset;
    }
    const void* const argument = call.arguments.take(padded_bytes(head.argument_bytes));
    // More room than the caller takes: a function that is posted may write its result without looking.
    alignas(functions::message_alignment) std::array<std::byte, 256> few;
    std::vector<std::byte> more(head.result_bytes > few.size() ? head.result_bytes : 0);
    std::byte* const result = more.empty() ? few.data() : more.data();
    std::uint64_t written = head.result_bytes;
    try {
        if (const int code = function_(context_, element, argument, head.argument_bytes, result, &written)) fail(code);
        if (written > head.result_bytes)
            throw Error{fmt::format("{} has set the bytes of its result to {}, and {} are asked for", text, written,
                                    head.result_bytes)};
    } catch (...) {
        call.fail();
        written = 0;
    }
    if (call.results == nullptr) return;
    const std::size_t length = head.of_list != 0 ? head.result_bytes : static_cast<std::size_t>(written);
    if (length == 0) return;
    std::byte* const place = call.results->grow(length);
    std::memcpy(place, result, static_cast<std::size_t>(written));
    std::memset(place + written, 0, length - static_cast<std::size_t>(written));
}

void NamedFunction::run(Invocation& call) {
    const auto& function = static_cast<const NamedFunction&>(*call.function);
    for (call.at = 0; call.at < call.count; ++call.at) function.run_one(call);
}

// ---- at the caller --------------------------------------------------------------------------------------------------

void require_lengths(const Team& team, std::uint64_t argument_bytes, std::uint64_t result_bytes) {
    if (argument_bytes < most_bytes && result_bytes < most_bytes) return;
    throw RangeError{
        fmt::format("{}: an argument of {} bytes and a result of {}, and a message has fewer than {}; pass "
                    "where they are, in an array, instead of them",
                    team.who(), argument_bytes, result_bytes, most_bytes)};
}

void require_argument(const Team& team, const Passed& argument) {
    require_memory(argument.memory, argument.bytes, "argument");
    require_lengths(team, argument.bytes, 0);
}

CallHead head_of(std::uint64_t argument_bytes, std::uint64_t result_bytes, bool of_list) {
    CallHead head;
    head.argument_bytes = static_cast<std::uint32_t>(argument_bytes);
    head.result_bytes = static_cast<std::uint32_t>(result_bytes) & (most_bytes - 1);
    head.of_list = of_list ? 1 : 0;
    return head;
}

std::uint32_t bytes_of_call(bool on_element, std::uint64_t argument_bytes) {
    return static_cast<std::uint32_t>(sizeof(CallHead) + (on_element ? sizeof(std::uint64_t) : 0) +
                                      padded_bytes(argument_bytes));
}

void write_call(std::byte* place, CallHead head, const Offset* offset, const void* argument) {
    head.on_element = offset != nullptr ? 1 : 0;
    std::memcpy(place, &head, sizeof head);
    place += sizeof head;
    if (offset != nullptr) {
        std::memcpy(place, &offset->bytes, sizeof offset->bytes);
        place += sizeof offset->bytes;
    }
    if (head.argument_bytes != 0) std::memcpy(place, argument, head.argument_bytes);
    std::memset(place + head.argument_bytes, 0, padded_bytes(head.argument_bytes) - head.argument_bytes);
}

namespace {

/// A call of one function, ready to be sent.
void write_single(ByteWriter& message, const Destination& to, const Passed& argument, std::uint64_t result_bytes) {
    const bool on_element = to.window != nullptr;
    write_call(message.grow(bytes_of_call(on_element, argument.bytes)), head_of(argument.bytes, result_bytes),
               on_element ? &to.offset : nullptr, argument.memory);
}

void post(const Destination& to, const char* name, const Passed& argument) {
    const FunctionEntry& function = NamedFunction::of(name);
    require_argument(to.team, argument);
    ByteWriter message;
    write_single(message, to, argument, 0);
    functions::post(to, function, message);
}

std::unique_ptr<PendingCall> start(const Destination& to, const char* name, const Passed& argument,
                                   std::uint64_t result_bytes) {
    // What the answer has room for; longer results come in a message of their own.
    constexpr std::uint64_t most_in_answer = 256;
    const FunctionEntry& function = NamedFunction::of(name);
    require_argument(to.team, argument);
    constexpr std::uint64_t most_of_heads = 64;
    const std::uint64_t largest = to.team.state().engine().largest_staged() - most_of_heads;
    if (result_bytes > largest)
        throw RangeError{fmt::format("{}: {}: a result of {} bytes, of which {} fit into a message; let the function "
                                     "write it to an array",
                                     to.team.who(), to.call, result_bytes, largest)};
    ByteWriter message;
    write_single(message, to, argument, result_bytes);
    return functions::ask(to, function, message, std::min(result_bytes, most_in_answer));
}

void call_and_wait(const Destination& to, const char* name, const Passed& argument, void* result,
                   std::uint64_t result_bytes) {
    require_memory(result, result_bytes, "result");
    const auto call = start(to, name, argument, result_bytes);
    call->wait();
    const std::span<const std::byte> got = call->result();
    if (result_bytes == 0) return;
    std::ranges::copy(got.first(std::min<std::size_t>(got.size(), result_bytes)), static_cast<std::byte*>(result));
    if (got.size() < result_bytes)
        std::memset(static_cast<std::byte*>(result) + got.size(), 0, result_bytes - got.size());
}

Destination rank_of(lapwing_runtime* runtime, int where, int rank, const char* call) {
    Team& team = team_of(runtime);
    require_constant(where, 2, "where", "LAPWING_WHERE_...");
    require_rank(team, rank);
    return {.team = team, .target = Rank{rank}, .call = call, .where = static_cast<Where>(where)};
}

Destination owner_of(const lapwing_array* array, const std::int64_t* index, const char* call) {
    const ArrayInside& inside = inside_of(array);
    const Home home = home_of(inside, call, position_of(inside, index));
    return {.team = inside.array.team(),
            .target = home.owner,
            .call = call,
            .window = &home.window,
            .offset = home.offset,
            .bytes = inside.array.element_bytes()};
}

/// Functions on a list of elements; `results` null: none are asked for.
void run_list(const lapwing_array* array, const char* call, std::size_t count, const std::int64_t* indices,
              const char* name, const Passed& argument, bool one_argument, std::byte* results,
              std::uint64_t result_bytes) {
    const ArrayInside& inside = inside_of(array);
    Team& team = inside.array.team();
    const NamedFunction& function = NamedFunction::of(name);
    const std::size_t dimensions = inside.array.dimensions();
    require_memory(indices, count, "indices", dimensions * sizeof *indices);
    require_lengths(team, argument.bytes, result_bytes);
    require_memory(argument.memory, one_argument ? std::min<std::size_t>(count, 1) : count, "arguments",
                   argument.bytes);
    std::vector<PaddedIndex> positions; // all are looked at before anything is sent
    positions.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        positions.push_back(position_of(inside, indices + k * dimensions));
        if (inside.array.replicated()) inside.array.refuse_atomic(call, positions.back());
    }
    Window& window = inside.array.window_of(call);
    const functions::Batches::Kind kind{.function = &function,
                                        .window = &window,
                                        .argument_bytes = bytes_of_call(true, argument.bytes),
                                        .result_bytes = static_cast<std::uint32_t>(result_bytes)};
    const CallHead head = head_of(argument.bytes, result_bytes, true);
    using Results = functions::Batches::Results;
    functions::Batches batches{team, call, result_bytes == 0 ? Results::none : Results::asked};
    functions::begin_list(window);
    for (std::size_t k = 0; k < count; ++k) {
        const Home home = home_of(inside, call, positions[k]);
        std::byte* const place =
            batches.add(home.owner, kind, result_bytes == 0 ? nullptr : results + k * result_bytes);
        write_call(place, head, &home.offset,
                   static_cast<const std::byte*>(argument.memory) + (one_argument ? 0 : k * argument.bytes));
    }
    batches.finish();
    functions::end_list(window);
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_function_register(const char* name, lapwing_owner_function function, void* context) {
    return guarded("lapwing_function_register", [&] { NamedFunction::add(name, function, context); });
}

int lapwing_function_fail(const char* text) { return fail_function(text); }

int lapwing_runtime_call(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                         uint64_t argument_bytes, void* result, uint64_t result_bytes) {
    return guarded("lapwing_runtime_call", [&] {
        call_and_wait(rank_of(runtime, where, rank, "Team::call"), name, {argument, argument_bytes}, result,
                      result_bytes);
    });
}

int lapwing_runtime_start_call(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                               uint64_t argument_bytes, uint64_t result_bytes, lapwing_future** future) {
    return guarded("lapwing_runtime_start_call", [&] {
        require_pointer(future, "future");
        *future = Handles<lapwing_future>::make(
            start(rank_of(runtime, where, rank, "Team::call"), name, {argument, argument_bytes}, result_bytes));
    });
}

int lapwing_runtime_post(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                         uint64_t argument_bytes) {
    return guarded("lapwing_runtime_post",
                   [&] { post(rank_of(runtime, where, rank, "Team::post"), name, {argument, argument_bytes}); });
}

int lapwing_runtime_quiesce(lapwing_runtime* runtime) {
    return guarded("lapwing_runtime_quiesce", [&] { team_of(runtime).quiesce(); });
}

int lapwing_array_apply(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                        uint64_t argument_bytes, void* result, uint64_t result_bytes) {
    return guarded("lapwing_array_apply", [&] {
        call_and_wait(owner_of(array, index, "apply"), name, {argument, argument_bytes}, result, result_bytes);
    });
}

int lapwing_array_start_apply(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                              uint64_t argument_bytes, uint64_t result_bytes, lapwing_future** future) {
    return guarded("lapwing_array_start_apply", [&] {
        require_pointer(future, "future");
        *future = Handles<lapwing_future>::make(
            start(owner_of(array, index, "apply"), name, {argument, argument_bytes}, result_bytes));
    });
}

int lapwing_array_post(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                       uint64_t argument_bytes) {
    return guarded("lapwing_array_post",
                   [&] { post(owner_of(array, index, "post"), name, {argument, argument_bytes}); });
}

int lapwing_array_apply_list(lapwing_array* array, size_t count, const int64_t* indices, const char* name,
                             const void* arguments, uint64_t argument_bytes, int one_argument, void* results,
                             uint64_t result_bytes) {
    return guarded("lapwing_array_apply_list", [&] {
        require_memory(results, count, "results", result_bytes);
        run_list(array, "apply", count, indices, name, {arguments, argument_bytes}, one_argument != 0,
                 static_cast<std::byte*>(results), result_bytes);
    });
}

int lapwing_array_post_list(lapwing_array* array, size_t count, const int64_t* indices, const char* name,
                            const void* arguments, uint64_t argument_bytes, int one_argument) {
    return guarded("lapwing_array_post_list", [&] {
        run_list(array, "post", count, indices, name, {arguments, argument_bytes}, one_argument != 0, nullptr, 0);
    });
}

int lapwing_future_ready(lapwing_future* future, int* ready) {
    return guarded("lapwing_future_ready", [&] {
        require_pointer(ready, "ready");
        PendingCall& call = *use(future).call;
        if (!call.done()) call.progress();
        *ready = call.done() ? 1 : 0;
    });
}

int lapwing_future_get(lapwing_future** future, void* result, uint64_t room, uint64_t* bytes) {
    return guarded("lapwing_future_get", [&] {
        require_pointer(future, "future");
        require_memory(result, room, "result");
        PendingCall& call = *use(*future).call;
        call.wait();
        std::span<const std::byte> got;
        try {
            got = call.result();
        } catch (...) {
            end_handle(future);
            throw;
        }
        if (got.size() > room)
            throw lapwing::RangeError{
                fmt::format("the result has {} bytes, and the argument 'room' is {}", got.size(), room)};
        if (!got.empty()) std::memcpy(result, got.data(), got.size());
        if (bytes != nullptr) *bytes = got.size();
        end_handle(future);
    });
}

int lapwing_future_free(lapwing_future** future) {
    return guarded("lapwing_future_free", [&] {
        require_pointer(future, "future");
        if (*future == nullptr) return;
        (void)use(*future);
        end_handle(future);
    });
}

} // extern "C"
