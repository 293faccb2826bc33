#pragma once

#include <lapwing/error.hpp>

#include <exception>
#include <string>

namespace lapwing::upc {

/// Hands the text to the error handler; without one, or when it returns, prints it and ends all threads.
[[noreturn]] void fail(const char* message);
/// Ends all threads, whether MPI runs, has not begun, or has ended.
[[noreturn]] void end_all(int status);
/// A text of the rooms below, which speak of ranks and of their own calls, in words of UPC.
[[nodiscard]] std::string in_words_of_upc(std::string text);
/// Copies a text, in words of UPC, to where it stays until the next one.
[[nodiscard]] const char* kept(const char* message) noexcept;

/// Runs a step of a call that a program makes; what it throws goes to fail().
template <class Step>
decltype(auto) guarded(Step&& step) {
    const char* message = nullptr;
    try {
        return step();
    } catch (const std::exception& error) { // Lapwing's own, and what memory that cannot be had throws
        message = kept(error.what());
    }
    fail(message); // outside, since a handler may leave by longjmp
}

} // namespace lapwing::upc
