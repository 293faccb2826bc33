#pragma once

namespace upcc {

/// What is made faster, beyond what the C compiler does.
struct Optimisations {
    bool own_loops = false; ///< upc_forall goes through the thread's own iterations alone
    bool explain = false;   ///< tells for each loop what was done, or why not
};

} // namespace upcc
