# Builds TARGET in BUILD, and fails unless that fails with a MESSAGE (a regex). Run by add_compile_fail_test.
execute_process(
    COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target "${TARGET}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
)
if(result EQUAL 0)
    message(FATAL_ERROR "${TARGET} compiles; it must not")
endif()
if(NOT output MATCHES "${MESSAGE}")
    message(FATAL_ERROR "${TARGET} fails to compile, but not with '${MESSAGE}':\n${output}")
endif()
