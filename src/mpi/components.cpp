#include "src/mpi/components.hpp"

#include <link.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::mpi {

#ifdef OPEN_MPI
namespace {

/// MPI's tools interface, open for a scope. Closed before MPI_Finalize: Open MPI 4.1.4 crashes in it afterwards.
class ToolsInterface {
public:
    ToolsInterface() {
        // In Open MPI 4.1.4 the level asked for here becomes the level of MPI itself: a lower one would take
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

/// Whether Open MPI has a control variable of this name: the variables of components that it did not open do not exist.
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

/// The components that this process has, as far as Lapwing needs to know.
struct Components {
    bool osc_pt2pt = false;
    bool osc_rdma = false;
    bool btl_vader = false;
    bool between_nodes = false; ///< something other than osc/pt2pt that can serve windows between nodes

    /// `has(library, variable)` tells whether MPI opened a component, by the names of its library and of a variable.
    explicit Components(const auto& has)
        : osc_pt2pt{has("mca_osc_pt2pt.so", "osc_pt2pt_no_locks")},
          osc_rdma{has("mca_osc_rdma.so", "osc_rdma_acc_use_amo")},
          btl_vader{has("mca_btl_vader.so", "btl_vader_eager_limit")},
          between_nodes{has("mca_osc_ucx.so", "osc_ucx_priority") || has("mca_btl_ofi.so", "btl_ofi_mode") ||
                        has("mca_btl_openib.so", "btl_openib_verbose") ||
                        has("mca_btl_uct.so", "btl_uct_memory_domains")} {}
};

/// File names of the components' libraries that are loaded: MPI unloads what it does not use.
std::vector<std::string> loaded_components() {
    std::vector<std::string> names;
    dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t, void* found) {
            const std::string_view path{library->dlpi_name};
            const std::string_view file = path.substr(path.rfind('/') + 1); // npos + 1 is 0
            if (file.starts_with("mca_")) static_cast<std::vector<std::string>*>(found)->emplace_back(file);
            return 0;
        },
        &names);
    return names;
}

Components find_components() {
    const auto none = [](const char*, const char*) { return false; };
    if (major_version() >= 5) return Components{none}; // not asked
    const std::vector<std::string> loaded = loaded_components();
    if (std::ranges::any_of(loaded, [](const std::string& file) { return file.starts_with("mca_osc_"); }))
        return Components{
            [&](const char* library, const char*) { return std::ranges::find(loaded, library) != loaded.end(); }};
    // Components are part of MPI's own library. A session of the tools interface loads each that MPI has not opened,
    // and unloads it again, which took 0.2 s where they are libraries.
    const ToolsInterface tools;
    if (!tools.open()) return Components{none};
    return Components{[](const char*, const char* variable) { return has_variable(variable); }};
}

/// Asked once for all teams.
const Components& components() {
    static const Components found = find_components();
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
