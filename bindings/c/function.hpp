#pragma once

#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"

#include <lapwing/c/function.h>
#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/serialise.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct lapwing_future : lapwing::detail::bindings::Object<lapwing_future> {
    static constexpr const char* object_name = "future";

    explicit lapwing_future(std::unique_ptr<lapwing::detail::functions::PendingCall> under_way) noexcept
        : call{std::move(under_way)} {}

    std::unique_ptr<lapwing::detail::functions::PendingCall> call;
};

namespace lapwing::detail::bindings {

/// Before the argument of each call of a NamedFunction.
struct CallHead {
    std::uint32_t argument_bytes = 0;
    std::uint32_t result_bytes : 30 = 0; ///< that the caller takes
    std::uint32_t of_list : 1 = 0;       ///< results have the same length, whatever the function writes
    std::uint32_t on_element : 1 = 0;    ///< the offset of an element follows, in the owner's part
};
static_assert(sizeof(CallHead) == sizeof(std::uint64_t), "what follows is aligned as the head is");
/// For lengths that require_argument() has accepted.
[[nodiscard]] CallHead head_of(std::uint64_t argument_bytes, std::uint64_t result_bytes = 0, bool of_list = false);

/// The name in quotes, which its entry uses.
struct QuotedName {
    std::string text;
};

/// A function of C's: how it is called is in its arguments, which are heads with what follows them.
class NamedFunction final : private QuotedName, public functions::FunctionEntry {
public:
    /// Throws UsageError for a null pointer and an empty name, and where the name is another function's.
    static void add(const char* name, lapwing_owner_function function, void* context);
    /// Throws UsageError for a name that was not registered here.
    [[nodiscard]] static const NamedFunction& of(const char* name);

private:
    NamedFunction(std::string_view name, lapwing_owner_function function, void* context);
    static void run(functions::Invocation& call);
    void run_one(functions::Invocation& call) const;
    [[noreturn]] void fail(int code) const;

    lapwing_owner_function function_;
    void* context_;
};

/// An argument that the program passes, with its length.
struct Passed {
    const void* memory;
    std::uint64_t bytes;
};
/// Bytes that each call of a list takes in a message.
[[nodiscard]] std::uint32_t bytes_of_call(bool on_element, std::uint64_t argument_bytes);
/// Writes such a call. `offset`: of the element, if it is about one.
void write_call(std::byte* place, CallHead head, const Offset* offset, const void* argument);
/// Throws RangeError for lengths that no message has.
void require_lengths(const Team& team, std::uint64_t argument_bytes, std::uint64_t result_bytes = 0);
/// The same, and UsageError for a null pointer where there are bytes.
void require_argument(const Team& team, const Passed& argument);

} // namespace lapwing::detail::bindings
