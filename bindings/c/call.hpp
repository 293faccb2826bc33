#pragma once

#include <lapwing/c/error.h>

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

/// What every function of the C interface does: exceptions become codes, and their texts are kept for
/// lapwing_error_text().
namespace lapwing::detail::bindings {

/// What a program's own function returned, if not 0, where it can report an error.
class CallbackError : public UsageError {
public:
    CallbackError(std::string_view what, int code)
        : UsageError{fmt::format("{} returned {}; 0 says that it succeeded", what, code)} {}
};

/// Keeps code and text of the exception that is being handled, for the calling thread. Returns the code.
[[nodiscard]] int keep_error(const char* call) noexcept;
/// Makes a text of a function at the owner the thread's last error, without the program's handler. Returns its code.
int fail_function(const char* text);
/// Hands the thread's last error to the program's handler, if it has set one. Returns the code.
int report_error(int code);

/// The calling thread is in the program's wait hook, so that a call of its own may need a mutex that it holds already.
extern constinit thread_local bool in_wait_hook;
[[noreturn]] void throw_in_wait_hook();

/// The body of a function of the interface.
template <class Step>
int guarded(const char* call, Step&& step) {
    int code = LAPWING_SUCCESS;
    try {
        if (in_wait_hook) [[unlikely]]
            throw_in_wait_hook();
        std::forward<Step>(step)();
        return code;
    } catch (...) {
        code = keep_error(call);
    }
    return report_error(code); // outside, since a handler may leave by longjmp
}

/// A text that is kept until the thread's next call that returns one.
[[nodiscard]] const char* kept_text(std::string text);

/// Throws UsageError for a null pointer; `name` is the argument's.
inline void require_pointer(const void* pointer, const char* name) {
    if (pointer == nullptr) [[unlikely]]
        throw UsageError{fmt::format("the argument '{}' is a null pointer", name)};
}
/// The bytes of `count` values of `size` bytes that the program says are in its memory, in the argument `name`. Throws
/// RangeError for more than any process can have, so that no product of numbers that the program passes wraps around.
[[nodiscard]] std::uint64_t checked_bytes(std::uint64_t count, std::uint64_t size, const char* name);
/// How many elements a buffer spans with one more dimension: `size` times what spans `within`, each `stride` elements
/// after the one before. Throws RangeError for more than can be counted.
[[nodiscard]] std::uint64_t span_with(std::uint64_t within, std::size_t dimension, std::uint64_t size,
                                      std::int64_t stride);
/// Throws RangeError as above, and UsageError for a null pointer where there are bytes to be read or written.
inline void require_memory(const void* pointer, std::uint64_t count, const char* name, std::uint64_t size = 1) {
    if (checked_bytes(count, size, name) != 0) require_pointer(pointer, name);
}
/// Throws RangeError unless `value` is in [0, count); `constants` is what they are called.
inline void require_constant(int value, int count, const char* name, const char* constants) {
    if (value < 0 || value >= count)
        throw RangeError{fmt::format("the argument '{}' is {}; pass one of {}", name, value, constants)};
}

} // namespace lapwing::detail::bindings
