#pragma once

#include <lapwing/error.hpp>

#include <string>
#include <string_view>

namespace lapwing::detail::support {

/// MPI's own text of an error code.
[[nodiscard]] std::string mpi_error_text(int code);

/// Throws MpiError with MPI's own text. `who` is "rank 2 of 4", `call` the MPI function.
[[noreturn]] void throw_mpi_error(int code, std::string_view call, std::string_view who);

/// Throws MpiError unless `code` is MPI_SUCCESS.
inline void check_mpi(int code, std::string_view call, std::string_view who = {}) {
    if (code != 0) [[unlikely]]
        throw_mpi_error(code, call, who);
}

} // namespace lapwing::detail::support
