// What tests of UPC share: a program that is started and ended, and errors as exceptions.
#pragma once

#include "tests/team/team_test.hpp"

#include <lapwing/upc.h>

#include "support/catch.hpp"

#include <string>

namespace test {

/// What an error says, where it does not end the program.
struct UpcError {
    std::string text;
};

/// A started program. Errors are thrown as UpcError.
class UpcProgram {
public:
    UpcProgram() : threads{started()}, me{lapwing_upc_mythread()} {}
    UpcProgram(const UpcProgram&) = delete;
    UpcProgram& operator=(const UpcProgram&) = delete;
    ~UpcProgram() { lapwing_upc_end(); }

    const int threads;
    const int me;

private:
    static int started() {
        lapwing_upc_set_error_handler([](const char* message) { throw UpcError{message}; });
        lapwing_upc_start(nullptr, nullptr);
        return lapwing_upc_threads();
    }
};

template <class Call>
[[nodiscard]] std::string upc_error_of(Call&& call) {
    try {
        call();
    } catch (const UpcError& error) {
        return error.text;
    }
    return "no error";
}

} // namespace test
