#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

#include <array>
#include <string>

namespace lapwing::detail::mpi {

/// What MPI may rely on to make the operations of Lapwing's own windows cheaper.
class WindowInfo {
public:
    explicit WindowInfo(bool same_size) {
        support::check_mpi(MPI_Info_create(&info_), "MPI_Info_create");
        support::check_mpi(MPI_Info_set(info_, "same_disp_unit", "true"), "MPI_Info_set");
        if (same_size) support::check_mpi(MPI_Info_set(info_, "same_size", "true"), "MPI_Info_set");
        support::check_mpi(MPI_Info_set(info_, "mpi_minimum_memory_alignment", "64"),
                           "MPI_Info_set"); // of MPI 4; others ignore it
    }
    ~WindowInfo() { MPI_Info_free(&info_); }
    WindowInfo(const WindowInfo&) = delete;
    WindowInfo& operator=(const WindowInfo&) = delete;
    [[nodiscard]] MPI_Info get() const { return info_; }

private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// What MPI reports of its window under this key, of at most 63 characters; empty: nothing.
[[nodiscard]] inline std::string info_of(MPI_Win window, const char* key) {
    MPI_Info info = MPI_INFO_NULL;
    support::check_mpi(MPI_Win_get_info(window, &info), "MPI_Win_get_info");
    std::array<char, 64> value{};
    int found = 0;
#if MPI_VERSION >= 4 // which deprecates MPI_Info_get
    int size = static_cast<int>(value.size());
    const int code = MPI_Info_get_string(info, key, &size, value.data(), &found);
    MPI_Info_free(&info);
    support::check_mpi(code, "MPI_Info_get_string");
#else
    const int code = MPI_Info_get(info, key, static_cast<int>(value.size()) - 1, value.data(), &found);
    MPI_Info_free(&info);
    support::check_mpi(code, "MPI_Info_get");
#endif
    return found != 0 ? value.data() : "";
}

} // namespace lapwing::detail::mpi
