# The project without the C interface, and so without Fortran and Python: it is configured, everything that would be built is known how to be
# built, and one source is compiled. Arguments: -DROOT, -DBINARY, -DMPI (the compiler of MPI), -DGENERATOR.
file(REMOVE_RECURSE "${BINARY}")
execute_process(
    COMMAND
        "${CMAKE_COMMAND}" -S "${ROOT}" -B "${BINARY}" -G "${GENERATOR}" -DLAPWING_BUILD_C=OFF -DLAPWING_PRECOMPILE_HEADERS=OFF
        -DLAPWING_UNITY_BUILD=OFF -DMPI_CXX_COMPILER=${MPI}
    OUTPUT_VARIABLE said
    ERROR_VARIABLE said
    COMMAND_ERROR_IS_FATAL ANY
)
if(NOT said MATCHES "it is built on the C interface, and LAPWING_BUILD_C is off")
    message(FATAL_ERROR "the project does not say that there is no Fortran without C: ${said}")
endif()
# What nobody knows how to make is an error of a dry run, too.
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" -- -n OUTPUT_VARIABLE steps COMMAND_ERROR_IS_FATAL ANY)
if(steps MATCHES "bindings/(c|fortran|python)/|binding_(c|fortran|kernels)")
    message(FATAL_ERROR "a binding would be built: ${CMAKE_MATCH_0}")
endif()
execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" --target CMakeFiles/lapwing.dir/src/support/assert.cpp.o
    OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY
)
file(REMOVE_RECURSE "${BINARY}")
