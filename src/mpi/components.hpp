#pragma once

namespace lapwing::detail::mpi {

/// Open MPI before 5.0: the component osc/pt2pt refuses MPI_THREAD_MULTIPLE, and mpirun then prints a help text that no
/// error handler can suppress. True where that component is the only one that could serve windows between nodes. False
/// with other MPIs.
[[nodiscard]] bool window_creation_would_print(int thread_level);

/// Whether MPI_Compare_and_swap ends the program between ranks of one machine, so that it cannot even be tried. Open
/// MPI before 5.0: osc/rdma over btl/vader, with 8 bytes, at any target (mca_btl_vader_emu_acswap uses an endpoint that
/// does not exist).
[[nodiscard]] bool compare_and_swap_crashes();

} // namespace lapwing::detail::mpi
