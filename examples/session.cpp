// Lapwing in a program without MPI_Init: a component opens a session (MPI 4.0), and makes its runtime on a communicator
// of it.
//
//     mpirun -n 4 session
#include <lapwing/lapwing.hpp>

#include <mpi.h>

#include <cstdio>

int main() {
    MPI_Info wanted = MPI_INFO_NULL;
    MPI_Info_create(&wanted);
    MPI_Info_set(wanted, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Session_init(wanted, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&wanted);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "example", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &communicator);
    MPI_Group_free(&all);
    bool right = false;
    {
        lapwing::Runtime runtime{communicator};
        lapwing::GlobalArray<double, 1> a{runtime, {1000}, lapwing::Block{}};
        for (auto [i] : a.local_domain()) a.local(i) = 1.0;
        right = a.sum() == 1000.0;
        if (runtime.rank() == 0)
            std::printf("%d ranks of a session: the sum is %s\n", runtime.size(), right ? "right" : "wrong");
    } // the runtime ends before what it is built on
    MPI_Comm_free(&communicator);
    MPI_Session_finalize(&session);
    return right ? 0 : 1;
}
