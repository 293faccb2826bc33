# Builds for AArch64 on another processor: GCC's cross compiler, libraries from a sysroot, programs by qemu-user.
#
#     cmake -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/aarch64-linux-gnu.cmake -DLAPWING_SYSROOT=DIRECTORY -DLAPWING_CROSS_MPI=mpich …
#
# scripts/cross makes the sysroot and calls this. LAPWING_CROSS_CLANG names a Clang to take instead of GCC; it takes GCC's
# libraries all the same.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
# Trial builds read this file anew, and know of variables only what is named here.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAPWING_SYSROOT LAPWING_CROSS_MPI LAPWING_CROSS_CLANG)
if(NOT LAPWING_SYSROOT)
    message(FATAL_ERROR "LAPWING_SYSROOT is not set: a directory with the libraries for AArch64; scripts/cross makes one")
endif()
set(CMAKE_SYSROOT "${LAPWING_SYSROOT}")

set(triple aarch64-linux-gnu)
if(LAPWING_CROSS_CLANG)
    string(REPLACE "clang" "clang++" clangxx "${LAPWING_CROSS_CLANG}")
    set(CMAKE_C_COMPILER "${LAPWING_CROSS_CLANG}")
    set(CMAKE_CXX_COMPILER "${clangxx}")
    foreach(language IN ITEMS C CXX)
        set(CMAKE_${language}_COMPILER_TARGET ${triple})
        set(CMAKE_${language}_COMPILER_EXTERNAL_TOOLCHAIN /usr)
    endforeach()
else()
    set(CMAKE_C_COMPILER ${triple}-gcc)
    set(CMAKE_CXX_COMPILER ${triple}-g++)
endif()
# What the linker needs of libraries that libraries need.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${LAPWING_SYSROOT}/usr/lib/${triple}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")

set(CMAKE_FIND_ROOT_PATH "${LAPWING_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${LAPWING_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${LAPWING_SYSROOT}/usr/lib/${triple}/pkgconfig:${LAPWING_SYSROOT}/usr/share/pkgconfig")
set(ENV{PKG_CONFIG_PATH} "")

# The MPI's compilers in the sysroot do not run here. What they would say is asked for by name, where Debian has it.
set(MPI_SKIP_COMPILER_WRAPPER ON)
set(MPI_CXX_SKIP_MPICXX ON) # Open MPI's C++ interface has a library of its own, which Lapwing does without
set(libraries "${LAPWING_SYSROOT}/usr/lib/${triple}")
if(LAPWING_CROSS_MPI STREQUAL "mpich")
    set(MPI_CXX_HEADER_DIR "${LAPWING_SYSROOT}/usr/include/${triple}/mpich")
    set(MPI_CXX_LIB_NAMES mpich)
    set(MPI_mpich_LIBRARY "${libraries}/libmpich.so")
elseif(LAPWING_CROSS_MPI STREQUAL "openmpi")
    set(MPI_CXX_HEADER_DIR "${libraries}/openmpi/include")
    set(MPI_CXX_LIB_NAMES mpi)
    set(MPI_mpi_LIBRARY "${libraries}/openmpi/lib/libmpi.so")
else()
    message(FATAL_ERROR "LAPWING_CROSS_MPI is '${LAPWING_CROSS_MPI}'; it must be openmpi or mpich")
endif()

find_program(LAPWING_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(LAPWING_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${LAPWING_QEMU}" -L "${LAPWING_SYSROOT}")
endif()
