#pragma once

#include "src/support/mpi_error.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>

namespace lapwing::detail::mpi {

/// Collective. Whether `own` holds on all ranks.
[[nodiscard]] inline bool all_agree(MPI_Comm communicator, bool own) {
    int agreed = own ? 1 : 0;
    support::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &agreed, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
    return agreed == 1;
}

/// What an exception says; empty where there is none.
[[nodiscard]] inline std::string text_of(const std::exception_ptr& problem) {
    if (problem == nullptr) return {};
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& error) {
        if (*error.what() != '\0') return error.what();
    } catch (...) {
    }
    return "an exception without a text";
}

/// What keeps a rank from going on, and which rank that is.
struct Problem {
    int rank = -1;
    std::string text; ///< empty: there is none
};

/// Collective. The problem of the lowest rank that has one, on all ranks. `own` is empty where there is none; what is
/// longer than 250 bytes is cut.
[[nodiscard]] inline Problem first_problem(MPI_Comm communicator, std::string_view own) {
    int rank = 0;
    int size = 0;
    support::check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    support::check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    int first = own.empty() ? size : rank;
    support::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
    if (first == size) return {};
    std::array<char, 251> text{};
    std::copy_n(own.begin(), std::min(own.size(), text.size() - 1), text.begin());
    support::check_mpi(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, communicator),
                       "MPI_Bcast");
    return {first, text.data()};
}

/// Collective, where a rank has a failure. Throws it there; elsewhere throws a UsageError that begins with `outcome`
/// and says what the first of those ranks could not do.
[[noreturn]] inline void throw_failure(MPI_Comm communicator, const std::exception_ptr& failure,
                                       std::string_view outcome) {
    const Problem first = first_problem(communicator, text_of(failure));
    if (failure != nullptr) std::rethrow_exception(failure);
    throw UsageError{fmt::format("{}, since rank {} could not: {}", outcome, first.rank, first.text)};
}

} // namespace lapwing::detail::mpi
