#pragma once

#include <cerrno>

#include <sys/mman.h>

namespace lapwing::detail::support {

/// A file without a name, in memory, of which nothing is executed; -1 if it cannot be had. Kernels before 6.3 do not
/// know that flag, and later ones may ask for it.
inline int unnamed_file() noexcept {
    constexpr unsigned no_exec_seal = 8; // MFD_NOEXEC_SEAL
    const int file = memfd_create("lapwing", MFD_CLOEXEC | no_exec_seal);
    return file < 0 && errno == EINVAL ? memfd_create("lapwing", MFD_CLOEXEC) : file;
}

} // namespace lapwing::detail::support
