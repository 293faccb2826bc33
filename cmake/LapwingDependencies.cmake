# Finds the libraries that Lapwing needs, and hides them from programs that use the installed package: they need MPI and
# threads, and with a static lapwing also the libraries that it calls.

include(CheckCXXSourceCompiles)
include(CheckCXXSymbolExists)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
# CXX only: with C as well, a build that names only MPI_CXX_COMPILER would mix two MPIs.
find_package(MPI 3.1 REQUIRED COMPONENTS CXX)
include(LapwingLibraries)

# The kind of MPI decides how tests are started, and is recorded in the installed package.
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
set(CMAKE_REQUIRED_QUIET ON)
set(CMAKE_REQUIRED_INCLUDES "${PROJECT_SOURCE_DIR}")
set(CMAKE_REQUIRED_FLAGS "${CMAKE_CXX20_STANDARD_COMPILE_OPTION}")
foreach(kind IN ITEMS open_mpi mpich)
    string(TOUPPER "LAPWING_MPI_IS_${kind}" variable)
    check_cxx_source_compiles(
        "#include \"src/support/mpi_kind.hpp\"
        static_assert(lapwing::detail::support::mpi_kind == lapwing::detail::support::MpiKind::${kind});
        int main() {}"
        ${variable}
    )
endforeach()
# Asked for by name: Open MPI 5.0 has them, and says that it is MPI 3.1.
check_cxx_symbol_exists(MPI_Session_init mpi.h LAPWING_MPI_HAS_SESSIONS)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_DEFINITIONS)
unset(CMAKE_REQUIRED_QUIET)
if(LAPWING_MPI_IS_OPEN_MPI)
    set(LAPWING_MPI openmpi)
elseif(LAPWING_MPI_IS_MPICH)
    set(LAPWING_MPI mpich)
else()
    set(LAPWING_MPI other)
endif()
# Given by name, as the presets do; the installed package records where they are.
foreach(program IN ITEMS MPI_CXX_COMPILER MPIEXEC_EXECUTABLE)
    if(${program} AND NOT IS_ABSOLUTE "${${program}}")
        find_program(LAPWING_${program} "${${program}}" REQUIRED)
        set(${program} "${LAPWING_${program}}" CACHE FILEPATH "" FORCE)
    endif()
endforeach()
message(STATUS "lapwing: MPI is ${LAPWING_MPI}, started by ${MPIEXEC_EXECUTABLE}")

# BUILD_INTERFACE keeps header-only libraries, and those whose objects are in lapwing itself, out of the exported link line even
# of a static lapwing.
function(lapwing_link_dependencies target)
    foreach(library IN ITEMS fmt hwy)
        if(library IN_LIST LAPWING_BUNDLED)
            # Before MPI: where a cluster has everything in one directory, an older fmt may be beside mpi.h.
            target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:lapwing_${library}>)
            target_sources(${target} PRIVATE $<TARGET_OBJECTS:lapwing_${library}>)
        else()
            target_link_libraries(${target} PRIVATE ${LAPWING_INSTALLED_${library}})
        endif()
    endforeach()
    target_link_libraries(
        ${target}
        PUBLIC MPI::MPI_CXX Threads::Threads ${CMAKE_DL_LIBS}
        PRIVATE $<BUILD_INTERFACE:lapwing_xxhash> $<BUILD_INTERFACE:lapwing_boost>
    )
endfunction()
