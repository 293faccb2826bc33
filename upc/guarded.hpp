#pragma once

#include <lapwing/error.hpp>

#include <exception>

namespace lapwing::upc {

/// Hands the text to the error handler; without one, or when it returns, prints it and ends all threads.
[[noreturn]] void fail(const char* message);

/// Runs a step of a call that a program makes; what it throws goes to fail().
template <class Step>
decltype(auto) guarded(Step&& step) {
    try {
        return step();
    } catch (const std::exception& error) { // Lapwing's own, and what memory that cannot be had throws
        fail(error.what());
    }
}

} // namespace lapwing::upc
