#pragma once

namespace lapwing {
class Runtime;
} // namespace lapwing

namespace lapwing::detail::runtime {

/// The runtimes of this process, in the order in which they were made.
void add_open(Runtime& runtime);
void remove_open(const Runtime& runtime) noexcept;
/// The first of them that is open, over the ranks of MPI_COMM_WORLD in their order, and made by the calling thread;
/// null if there is none. The same on all ranks, since they make and close runtimes together.
[[nodiscard]] Runtime* open_over_world();

} // namespace lapwing::detail::runtime
