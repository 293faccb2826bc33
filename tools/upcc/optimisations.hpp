#pragma once

namespace upcc {

/// Optimisations beyond those of the C compiler.
struct Optimisations {
    bool own_loops = false;    ///< upc_forall visits only the thread's own iterations
    bool block_reads = false;  ///< loops read consecutive elements in blocks
    bool block_writes = false; ///< loops write consecutive elements in blocks
    bool list_reads = false;   ///< loops read what they find by an index, or dealt one by one, as lists
    bool near_loops = false;   ///< loops load and store what they access by pointers that stay, where all of it is near
    bool merged_reads = false; ///< loops read what stays, or is read twice in an iteration, once
    bool explain = false;      ///< reports for each loop what was done, or why not
};

} // namespace upcc
