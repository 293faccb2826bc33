#pragma once

#include "src/support/mpi_error.hpp"

#include <mpi.h>

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

} // namespace lapwing::detail::mpi
