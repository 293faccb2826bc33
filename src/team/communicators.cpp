#include "src/team/communicators.hpp"

#include "src/support/mpi_error.hpp"

namespace lapwing::detail::team {

using support::check_mpi;

void Communicators::open(MPI_Comm communicator) {
    MPI_Comm from = communicator;
    for (MPI_Comm* const own : {&collectives_, &broadcasts_, &engine_}) {
        check_mpi(MPI_Comm_dup(from, own), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        from = collectives_; // whose errors return, unlike the program's
    }
}

void Communicators::close_others() noexcept {
    for (MPI_Comm* const own : {&engine_, &broadcasts_})
        if (*own != MPI_COMM_NULL) MPI_Comm_free(own);
}

void Communicators::close() noexcept {
    close_others();
    if (collectives_ != MPI_COMM_NULL) MPI_Comm_free(&collectives_);
}

} // namespace lapwing::detail::team
