# add_compile_fail_test(name SOURCE file MESSAGE regex)
# passes if the file does not compile and the compiler's output matches the regex: users depend on the message, and without it a
# test would also pass when the file fails for another reason.
#
# The file compiles unchanged, and fails with MUST_FAIL defined, so that only the lines under test can be the reason.

include_guard(GLOBAL)

function(add_compile_fail_test name)
    # Sanitizers add nothing to the compiler's messages.
    if(LAPWING_SANITIZE OR NOT LAPWING_TEST_SOURCES)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;MESSAGE" "LABELS")
    # Built with everything else: the file without the lines that must fail.
    add_library(${name}_without OBJECT ${arg_SOURCE})
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCE})
    target_compile_definitions(${name} PRIVATE MUST_FAIL)
    foreach(target IN ITEMS ${name} ${name}_without)
        target_link_libraries(${target} PRIVATE lapwing::lapwing)
        lapwing_compile_options(${target})
    endforeach()
    add_test(
        NAME ${name}
        COMMAND
            ${CMAKE_COMMAND} "-DBUILD=${CMAKE_BINARY_DIR}" "-DTARGET=${name}" "-DMESSAGE=${arg_MESSAGE}" -P
            "${PROJECT_SOURCE_DIR}/cmake/ExpectCompileFailure.cmake"
    )
    # Two builds at the same time in one directory would disturb each other's log.
    set_tests_properties(${name} PROPERTIES LABELS "compile-fail;${arg_LABELS}" TIMEOUT 120 RESOURCE_LOCK build)
endfunction()
