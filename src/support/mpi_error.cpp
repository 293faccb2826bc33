#include "src/support/mpi_error.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>

namespace lapwing::detail::support {

static_assert(MPI_SUCCESS == 0, "MPI fixes the value of MPI_SUCCESS (MPI 3.1, section 8.4)");

std::string mpi_error_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
    return {text.data(), static_cast<std::size_t>(length)};
}

void throw_mpi_error(int code, std::string_view call, std::string_view who) {
    throw MpiError{fmt::format("{}{}{} failed: {} (MPI error code {})", who, who.empty() ? "" : ": ", call,
                               mpi_error_text(code), code),
                   code};
}

} // namespace lapwing::detail::support
