// Captures what the library writes to standard error.
#pragma once

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace test {

/// The bytes that this process writes to standard error while `call` runs; they are not printed.
template <class Call>
[[nodiscard]] std::string captured_stderr(Call&& call) {
    std::FILE* const file = std::tmpfile();
    if (file == nullptr) throw std::runtime_error{"no temporary file"};
    std::fflush(stderr);
    const int before = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    const auto restore = [&] {
        std::fflush(stderr);
        dup2(before, STDERR_FILENO);
        close(before);
    };
    try {
        call();
    } catch (...) {
        restore();
        std::fclose(file);
        throw;
    }
    restore();
    std::string text;
    std::rewind(file);
    std::array<char, 4096> piece{};
    while (const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), file)) text.append(piece.data(), bytes);
    std::fclose(file);
    return text;
}

} // namespace test
