#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace lapwing::bench {

/// "openmpi", "mpich" or "other".
[[nodiscard]] std::string mpi_name();

/// What a result was measured on: the "machine" of a result's JSON.
[[nodiscard]] nlohmann::ordered_json machine();

} // namespace lapwing::bench
