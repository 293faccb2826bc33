#pragma once

#include <string>

namespace lapwing::detail::support {

/// The name of a type as a program writes it, of what values::type_name() returns: "int64", "Particle"; "bytes" where
/// that is empty.
[[nodiscard]] std::string type_text(const char* type);

} // namespace lapwing::detail::support
