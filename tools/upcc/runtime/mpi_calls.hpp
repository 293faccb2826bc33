#pragma once

namespace upcc {

/// From the one to the other MPI_Finalize has no effect.
void program_begins();
void program_ends();

} // namespace upcc
