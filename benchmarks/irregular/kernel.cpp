#include "kernel.hpp"

namespace lapwing::bench::irregular {

std::vector<KernelKind> all_kernels() {
    return {histogram(),          index_gather(), random_permutation(), breadth_first(),  matrix_transpose(),
            matrix_permutation(), triangles(),    topological_sort(),   shortest_paths(), components()};
}

} // namespace lapwing::bench::irregular
