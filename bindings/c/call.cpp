#include "bindings/c/call.hpp"

#include "bindings/c/handle.hpp"

#include <lapwing/functions.hpp>
#include <lapwing/wait_hook.hpp>

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace lapwing::detail::bindings {
namespace {

struct LastError {
    int code = LAPWING_SUCCESS;
    int mpi_code = 0;
    std::string text;
};
thread_local LastError last_error;
thread_local std::string last_text;

lapwing_error_handler handler = nullptr;
void* handler_context = nullptr;

/// Code, and what MPI said, of the exception that is being handled.
std::pair<int, int> classify(std::string& text) {
    const auto keep = [&](const std::exception& error, int code, int mpi_code = 0) {
        text += error.what();
        return std::pair{code, mpi_code};
    };
    try {
        throw;
    } catch (const RangeError& error) {
        return keep(error, LAPWING_ERR_RANGE);
    } catch (const UsageError& error) {
        return keep(error, LAPWING_ERR_USAGE);
    } catch (const SettingError& error) {
        return keep(error, LAPWING_ERR_SETTING);
    } catch (const MismatchError& error) {
        return keep(error, LAPWING_ERR_MISMATCH);
    } catch (const PeerLeftError& error) {
        return keep(error, LAPWING_ERR_PEER_LEFT);
    } catch (const InterruptedError& error) {
        return keep(error, LAPWING_ERR_INTERRUPTED);
    } catch (const FileError& error) {
        return keep(error, LAPWING_ERR_FILE);
    } catch (const FunctionError& error) {
        return keep(error, LAPWING_ERR_FUNCTION);
    } catch (const MpiError& error) {
        return keep(error, LAPWING_ERR_MPI, error.code());
    } catch (const std::bad_alloc&) {
        text += "this process can allocate no more memory; use smaller objects, or more ranks";
        return {LAPWING_ERR_MEMORY, 0};
    } catch (const std::length_error&) {
        text += "a number that was passed is of more bytes than memory can hold; pass how many there are";
        return {LAPWING_ERR_MEMORY, 0};
    } catch (const std::exception& error) {
        return keep(error, LAPWING_ERR_INTERNAL);
    } catch (...) {
        text += "an exception without a text";
        return {LAPWING_ERR_INTERNAL, 0};
    }
}

/// What a program's hook says, with its calls of the library refused.
bool ask(lapwing_wait_hook hook, void* context) {
    in_wait_hook = true;
    const bool ends = hook(context) != 0;
    in_wait_hook = false;
    return ends;
}

} // namespace

constinit thread_local bool in_wait_hook = false;

void throw_in_wait_hook() {
    throw UsageError{
        "a wait hook, or a handler of a signal that it runs, must not call Lapwing: the call that waits may hold what "
        "this one needs; set a variable, and make the call when the other has returned"};
}

int keep_error(const char* call) noexcept {
    try {
        std::string text = std::string{call} + ": ";
        const auto [code, mpi_code] = classify(text);
        last_error = {code, mpi_code, std::move(text)};
    } catch (...) { // no memory for the text
        last_error.code = LAPWING_ERR_MEMORY;
        last_error.mpi_code = 0;
        last_error.text.clear();
    }
    return last_error.code;
}

int fail_function(const char* text) {
    last_error = {LAPWING_ERR_FUNCTION, 0,
                  text == nullptr || *text == '\0' ? "a function failed without saying why" : text};
    return LAPWING_ERR_FUNCTION;
}

int report_error(int code) {
    if (handler != nullptr) handler(code, last_error.text.c_str(), handler_context);
    return code;
}

const char* kept_text(std::string text) {
    last_text = std::move(text);
    return last_text.c_str();
}

std::uint64_t checked_bytes(std::uint64_t count, std::uint64_t size, const char* name) {
    constexpr std::uint64_t most = std::uint64_t{1} << 56; // the addresses of the widest page tables, of 57 bits
    std::uint64_t bytes = 0;
    if (!__builtin_mul_overflow(count, size, &bytes) && bytes < most) return bytes;
    throw RangeError{
        size == 1
            ? fmt::format("the argument '{}' is of {} bytes, and no memory has 2^56; pass how many there are", name,
                          count)
            : fmt::format("the argument '{}' is of {} values of {} bytes, and no memory has 2^56; pass how many there "
                          "are",
                          name, count, size)};
}

std::uint64_t span_with(std::uint64_t within, std::size_t dimension, std::uint64_t size, std::int64_t stride) {
    if (size < 2) return within;
    const auto step = static_cast<std::uint64_t>(stride);
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(size - 1, stride < 0 ? -step : step, &all) || __builtin_add_overflow(all, within, &all))
        throw RangeError{fmt::format("the buffer's stride {} of dimension {}, with {} elements, leads beyond 2^64 "
                                     "elements; pass that of the memory",
                                     stride, dimension, size)};
    return all;
}

void throw_bad_handle(const void* handle, std::uint64_t mark, const char* name) {
    if (handle == nullptr)
        throw UsageError{fmt::format("the {} is a null pointer; make one with lapwing_{}_create()", name, name)};
    if (mark == freed_mark)
        throw UsageError{
            fmt::format("the {} was freed; make another one, and use no copy of a handle after its free", name)};
    throw UsageError{fmt::format("the pointer is to no {}: was the variable set by a call that made one?", name)};
}

} // namespace lapwing::detail::bindings

extern "C" {

const char* lapwing_error_text(void) { return lapwing::detail::bindings::last_error.text.c_str(); }
int lapwing_error_code(void) { return lapwing::detail::bindings::last_error.code; }
int lapwing_error_mpi_code(void) { return lapwing::detail::bindings::last_error.mpi_code; }

const char* lapwing_error_name(int code) {
    static constexpr std::array names{"LAPWING_SUCCESS",      "LAPWING_ERR_RANGE",       "LAPWING_ERR_USAGE",
                                      "LAPWING_ERR_SETTING",  "LAPWING_ERR_MISMATCH",    "LAPWING_ERR_MPI",
                                      "LAPWING_ERR_FILE",     "LAPWING_ERR_PEER_LEFT",   "LAPWING_ERR_MEMORY",
                                      "LAPWING_ERR_INTERNAL", "LAPWING_ERR_INTERRUPTED", "LAPWING_ERR_FUNCTION"};
    return code >= 0 && code < static_cast<int>(names.size()) ? names[static_cast<std::size_t>(code)] : "?";
}

int lapwing_error_set_handler(lapwing_error_handler handler, void* context) {
    lapwing::detail::bindings::handler = handler;
    lapwing::detail::bindings::handler_context = context;
    return LAPWING_SUCCESS;
}

int lapwing_wait_set_hook(lapwing_wait_hook hook, void* context) {
    return lapwing::detail::bindings::guarded("lapwing_wait_set_hook", [&] {
        if (hook == nullptr) lapwing::set_wait_hook({});
        else lapwing::set_wait_hook([hook, context] { return lapwing::detail::bindings::ask(hook, context); });
    });
}

void lapwing_error_abort(int /*code*/, const char* text, void* /*context*/) {
    std::fprintf(stderr, "lapwing: %s\n", text);
    std::fflush(nullptr);
    int initialised = 0;
    int finalized = 0;
    MPI_Initialized(&initialised);
    MPI_Finalized(&finalized);
    if (initialised != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1); // nobody is left to notify
}

} // extern "C"
