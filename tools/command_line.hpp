#pragma once

#include <CLI/CLI.hpp>

#include <optional>

namespace lapwing::tools {

/// Reads a command's options. Returns the exit code of a command that ends here: 0 after printing the help that was
/// asked for, and 2 after printing what is wrong with the options, where CLI11 has a code of its own for each error.
[[nodiscard]] inline std::optional<int> parse(CLI::App& app, int argument_count, char** arguments) {
    try {
        app.parse(argument_count, arguments);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
}

} // namespace lapwing::tools
