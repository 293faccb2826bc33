#pragma once

#include <CLI/CLI.hpp>

namespace lapwing::tools {

/// Ends a command whose options say so: prints the help that was asked for, or what is wrong with the options, and
/// returns the exit code that all commands have for that: 0, or 2, where CLI11 has one of its own for each error.
inline int exit_code(const CLI::App& app, const CLI::ParseError& error) { return app.exit(error) == 0 ? 0 : 2; }

} // namespace lapwing::tools
