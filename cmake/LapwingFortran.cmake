# Finds what the Fortran module is built with, and sets LAPWING_FORTRAN: whether all of it was found. What is missing is reported,
# and the rest is built without it. Included by the top directory, for whose targets the language is enabled.

set(LAPWING_FORTRAN OFF)
if(NOT LAPWING_BUILD_FORTRAN)
    return()
endif()

function(lapwing_without_fortran reason)
    message(STATUS "lapwing: without the Fortran module, since ${reason}")
endfunction()

if(NOT LAPWING_BUILD_C)
    lapwing_without_fortran("it is built on the C interface, and LAPWING_BUILD_C is off")
    return()
endif()
if(LAPWING_SANITIZE OR CMAKE_CROSSCOMPILING)
    lapwing_without_fortran("it is built for this machine, and without sanitizers")
    return()
endif()
include(CheckLanguage)
check_language(Fortran)
if(NOT CMAKE_Fortran_COMPILER)
    lapwing_without_fortran("there is no Fortran compiler")
    return()
endif()
enable_language(Fortran)
if(NOT CMAKE_Fortran_COMPILER_ID STREQUAL "GNU" OR CMAKE_Fortran_COMPILER_VERSION VERSION_LESS 12)
    lapwing_without_fortran(
        "gfortran 12 or later is needed, and ${CMAKE_Fortran_COMPILER} is ${CMAKE_Fortran_COMPILER_ID} ${CMAKE_Fortran_COMPILER_VERSION}"
    )
    return()
endif()
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    lapwing_without_fortran("its source is written by a Python program, and there is no Python 3.9")
    return()
endif()

# The wrapper beside the one for C++: of the same MPI.
if(NOT DEFINED MPI_Fortran_COMPILER)
    get_filename_component(name "${MPI_CXX_COMPILER}" NAME)
    get_filename_component(directory "${MPI_CXX_COMPILER}" DIRECTORY)
    string(REGEX REPLACE "^mpi(cxx|c\\+\\+|CC|icpc)" "mpifort" name "${name}")
    if(name MATCHES "^mpifort" AND EXISTS "${directory}/${name}")
        set(MPI_Fortran_COMPILER "${directory}/${name}" CACHE FILEPATH "MPI compiler wrapper for Fortran")
    endif()
endif()
find_package(MPI 3.1 QUIET COMPONENTS Fortran)
if(NOT MPI_Fortran_FOUND OR NOT MPI_Fortran_HAVE_F08_MODULE)
    lapwing_without_fortran("the MPI has no module mpi_f08 that ${CMAKE_Fortran_COMPILER} can read")
    return()
endif()
# MPICH's options are Fortran's alone, and a target may have sources in C++, too.
get_target_property(options MPI::MPI_Fortran INTERFACE_COMPILE_OPTIONS)
if(options AND NOT options MATCHES "COMPILE_LANGUAGE")
    set_property(TARGET MPI::MPI_Fortran PROPERTY INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:Fortran>:${options}>")
endif()
# The descriptors are those of this compiler, whichever compiles C++.
execute_process(
    COMMAND "${CMAKE_Fortran_COMPILER}" -print-file-name=include/ISO_Fortran_binding.h
    OUTPUT_VARIABLE LAPWING_FORTRAN_DESCRIPTORS
    OUTPUT_STRIP_TRAILING_WHITESPACE
)
if(NOT EXISTS "${LAPWING_FORTRAN_DESCRIPTORS}")
    lapwing_without_fortran("${CMAKE_Fortran_COMPILER} has no ISO_Fortran_binding.h")
    return()
endif()
set(LAPWING_FORTRAN ON)
message(STATUS "lapwing: with the Fortran module, by ${CMAKE_Fortran_COMPILER}")

# For Fortran targets of this project.
function(lapwing_fortran_compile_options target)
    # The descriptors of allocatable variables are taken to be used before they are set.
    target_compile_options(
        ${target}
        PRIVATE $<$<COMPILE_LANGUAGE:Fortran>:-std=f2018;-Wall;-Wextra;-Wno-maybe-uninitialized;-Wno-uninitialized;-Wno-unused-dummy-argument;-Wno-function-elimination>
    )
    if(LAPWING_WERROR)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:Fortran>:-Werror>)
    endif()
endfunction()
