#include "src/mpi/components.hpp"

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace lapwing::detail::mpi {

#ifdef OPEN_MPI
namespace {

/// MPI's tools interface, open for a scope. Closed before MPI_Finalize: Open MPI 4.1.4 crashes in it afterwards.
class ToolsInterface {
public:
    ToolsInterface() {
        // Open MPI 4.1.4 makes the level asked for here the level of MPI itself: a lower one would take
        // MPI_THREAD_MULTIPLE from the program, and the progress thread from the next team.
        int level = MPI_THREAD_SINGLE;
        int provided = MPI_THREAD_SINGLE;
        open_ = MPI_Query_thread(&level) == MPI_SUCCESS && MPI_T_init_thread(level, &provided) == MPI_SUCCESS;
    }
    ~ToolsInterface() {
        if (open_) MPI_T_finalize();
    }
    ToolsInterface(const ToolsInterface&) = delete;
    ToolsInterface& operator=(const ToolsInterface&) = delete;
    [[nodiscard]] bool open() const noexcept { return open_; }

private:
    bool open_ = false;
};

/// Whether Open MPI has a control variable of this name: variables of components that it did not open are gone.
bool has_variable(const char* name) {
    int index = 0;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS;
}

/// Of the library that runs, which may be newer than the one that was compiled against: "Open MPI v4.1.4, package: …".
int major_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return 0;
    const std::string_view version{text.data()};
    const std::size_t at = version.find(" v");
    return at == std::string_view::npos ? 0 : std::atoi(text.data() + at + 2);
}

/// The components that this process has, as far as they matter here.
struct Components {
    bool osc_pt2pt = false;
    bool osc_rdma = false;
    bool btl_vader = false;
    bool between_nodes = false; ///< something other than osc/pt2pt that can serve windows between nodes
};

/// Asked once for all teams: a session of the tools interface loads every component that MPI has not opened, and
/// unloads them again, which takes 0.2 s (the library of one of them, libpsm2, sleeps while it is loaded). Open MPI 5
/// is not asked.
const Components& components() {
    static const Components found = [] {
        Components here;
        if (major_version() >= 5) return here;
        const ToolsInterface tools;
        if (!tools.open()) return here;
        here.osc_pt2pt = has_variable("osc_pt2pt_no_locks");
        here.osc_rdma = has_variable("osc_rdma_acc_use_amo");
        here.btl_vader = has_variable("btl_vader_eager_limit");
        for (const char* variable :
             {"osc_ucx_priority", "btl_ofi_mode", "btl_openib_verbose", "btl_uct_memory_domains"})
            here.between_nodes = here.between_nodes || has_variable(variable);
        return here;
    }();
    return found;
}

} // namespace

bool window_creation_would_print(int thread_level) {
    return thread_level >= MPI_THREAD_MULTIPLE && components().osc_pt2pt && !components().between_nodes;
}

bool compare_and_swap_crashes() { return components().osc_rdma && components().btl_vader; }
#else
bool window_creation_would_print(int /*thread_level*/) { return false; }
bool compare_and_swap_crashes() { return false; }
#endif

} // namespace lapwing::detail::mpi
