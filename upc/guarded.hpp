#pragma once

#include <lapwing/error.hpp>

#include <exception>
#include <string>

namespace lapwing::upc {

/// Passes the text to the error handler; without one, or when it returns, prints it and ends all threads.
[[noreturn]] void fail(const char* message);
/// Ends all threads, whether MPI is running, has not been initialized, or has been finalized.
[[noreturn]] void end_all(int status);
/// Rephrases a text of the layers below, which speak of ranks and of their own calls, in UPC's terms.
[[nodiscard]] std::string in_words_of_upc(std::string text);
/// Stores a text, in UPC's terms, in memory that is valid until the next call.
[[nodiscard]] const char* kept(const char* message) noexcept;

/// Runs a step of a call that a program makes; passes what it throws to fail().
template <class Step>
decltype(auto) guarded(Step&& step) {
    const char* message = nullptr;
    try {
        return step();
    } catch (const std::exception& error) { // Lapwing's errors, and bad_alloc
        message = kept(error.what());
    }
    fail(message); // outside, since a handler may exit by longjmp
}

} // namespace lapwing::upc
