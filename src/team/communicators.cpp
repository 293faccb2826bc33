#include "src/team/communicators.hpp"

#include "src/support/mpi_error.hpp"

namespace lapwing::detail::team {

using support::check_mpi;

void Communicators::open(MPI_Comm communicator) {
    MPI_Comm from = communicator;
    for (MPI_Comm* const own : {&collectives_, &engine_}) {
        check_mpi(MPI_Comm_dup(from, own), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        from = collectives_; // whose errors return, unlike the program's
    }
}

void Communicators::close_others() noexcept {
    if (engine_ != MPI_COMM_NULL) MPI_Comm_free(&engine_);
}

void Communicators::close() noexcept {
    close_others();
    if (collectives_ != MPI_COMM_NULL) MPI_Comm_free(&collectives_);
}

} // namespace lapwing::detail::team
