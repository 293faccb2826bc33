# Where things are installed, their names there, and which of them are packaged together: see LapwingPackages.cmake.

option(LAPWING_NAME_MPI "Name the MPI in what is installed: builds for several MPIs then lie side by side under one prefix" OFF)
# liblapwing-openmpi.so, lapwing-openmpi.pc; lapwing-info.openmpi, as mpirun.openmpi.
set(LAPWING_SUFFIX "")
set(LAPWING_PROGRAM_SUFFIX "")
set(LAPWING_INSTALL_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
if(LAPWING_NAME_MPI)
    set(LAPWING_SUFFIX "-${LAPWING_MPI}")
    set(LAPWING_PROGRAM_SUFFIX ".${LAPWING_MPI}")
    set(LAPWING_INSTALL_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}/lapwing-${LAPWING_MPI}")
endif()

# Lets a shared library export what its public headers declare and nothing else. Tests and benchmarks use internal functions, so a
# build with them exports everything.
function(lapwing_hide_symbols target)
    if(NOT BUILD_SHARED_LIBS OR LAPWING_BUILD_TESTS OR LAPWING_BUILD_BENCHMARKS)
        return()
    endif()
    find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
    if(NOT Python3_Interpreter_FOUND)
        message(STATUS "lapwing: the shared library exports all its symbols, since there is no Python 3.9 to list those of the interface")
        return()
    endif()
    set(map "${CMAKE_CURRENT_BINARY_DIR}/lapwing.map")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/lapwing/*.h" "${PROJECT_SOURCE_DIR}/include/lapwing/*.hpp")
    set(generator "${PROJECT_SOURCE_DIR}/cmake/interface_symbols.py")
    add_custom_command(
        OUTPUT "${map}"
        COMMAND
            "${Python3_EXECUTABLE}" "${generator}" "${PROJECT_SOURCE_DIR}/include"
            ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} "${map}"
        DEPENDS "${generator}" ${headers}
        COMMENT "Listing the symbols of the interface"
        VERBATIM
    )
    add_custom_target(${target}_symbols DEPENDS "${map}")
    add_dependencies(${target} ${target}_symbols)
    target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()
