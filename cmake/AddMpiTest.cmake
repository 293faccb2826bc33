# add_mpi_test(
#     name
#     SOURCES file…                           one Catch2 executable; its main is tests/support/main.cpp
#     [RANKS 1 2 3 4]                         default 2
#     [PATHS auto direct rma service]         default auto: ways to remote memory, see scripts/launch --path
#     [NETWORKS shm tcp cluster]              default shm, see scripts/launch --network
#     [HOSTS number]                          of virtual hosts on the network cluster, see scripts/launch --hosts
#     [TIMEOUT seconds]                       default 60; more with a sanitizer
#     [LABELS label…]  [ENV NAME=VALUE…]  [ARGS argument…]  [LIBRARIES target…]
#     [VARIANT word]                          registers the executable of an earlier call again, under another name
#     [ALONE]                                 not beside other tests: what it looks at takes longer there
#     [DELAY]                                 postpones RMA operations, see tests/support/delay_shim.c
#     [PLAIN]                                 the program brings its own main and is judged by its exit code
# )
# registers one test for each rank count, path and network: name.path.network.npR. Labels of a test are those given, its
# path and its network. The path direct uses no network and is registered for the first one only.
#
# add_plain_test(name SOURCES file… [LABELS …] [TIMEOUT …] [LIBRARIES …]): one Catch2 executable without MPI, which is not made
# without LAPWING_TEST_SOURCES.

include_guard(GLOBAL)
# Either major version: tests/support/catch.hpp. A request for one of them would refuse the other.
find_package(Catch2 REQUIRED)
if(Catch2_VERSION VERSION_LESS 2.13)
    message(FATAL_ERROR "lapwing: the tests need Catch2 2.13 or later, and this is ${Catch2_VERSION}")
endif()

# Runs are often idle: several at a time (ctest --parallel), in which MPI's waits yield, take two thirds of the time. Without
# LAPWING_TESTS_SHARE_CORES each has the machine for itself, and MPI's waits poll.
set(LAPWING_TEST_TIME_FACTOR 1)
if(LAPWING_TESTS_SHARE_CORES)
    set(LAPWING_TEST_TIME_FACTOR 2)
endif()
if(CMAKE_CROSSCOMPILING)
    set(LAPWING_TEST_TIME_FACTOR 6) # by an emulator
endif()
# Without the profile that the user of this account may have measured: tests must do the same for everybody.
set(LAPWING_TEST_ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/cache-home")
if("thread" IN_LIST LAPWING_SANITIZE)
    set(LAPWING_TEST_TIME_FACTOR 6)
    list(
        APPEND
        LAPWING_TEST_ENVIRONMENT
        # history_size: without the stack of a write by MPI no suppression matches it.
        "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=7:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp"
        # UCX replaces madvise, which a thread calls when ThreadSanitizer has forgotten it already: SIGSEGV.
        "UCX_MEM_EVENTS=no"
    )
elseif(LAPWING_SANITIZE)
    set(LAPWING_TEST_TIME_FACTOR 3)
    list(
        APPEND
        LAPWING_TEST_ENVIRONMENT
        "LSAN_OPTIONS=print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp"
        "UBSAN_OPTIONS=print_stacktrace=1"
    )
endif()

# LAPWING_TEST_OPTIONS: the presets compile test sources at -O1, with sanitizers at -Og, which takes half of the time and less, and
# most tests wait for MPI. (At -O0 they compute for longer than the compiler saves.) Headers are optimised fully in benchmarks and
# examples, whose results are checked, too.
function(lapwing_test_compile_options target)
    lapwing_compile_options(${target})
    target_compile_options(${target} PRIVATE ${LAPWING_TEST_OPTIONS})
endfunction()

# A source that sets macros before its first header needs the property SKIP_PRECOMPILE_HEADERS.
function(lapwing_test_executable name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAIN" "SOURCES;LIBRARIES")
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name} PRIVATE lapwing::lapwing ${arg_MAIN} Catch2::Catch2 ${arg_LIBRARIES})
    lapwing_test_compile_options(${name})
    target_precompile_headers(${name} REUSE_FROM lapwing_test_headers)
endfunction()

# What scripts/test builds for ThreadSanitizer: the tests with the label tsan.
add_custom_target(lapwing_tests_tsan)

function(lapwing_test_properties test timeout)
    math(EXPR timeout "${timeout} * ${LAPWING_TEST_TIME_FACTOR} + 15")
    set_tests_properties(
        ${test}
        PROPERTIES
            LABELS "${ARGN}"
            # scripts/launch ends a run in time and says what it did; this is for the case that it cannot.
            TIMEOUT ${timeout}
            SKIP_RETURN_CODE 77
            ENVIRONMENT "${LAPWING_TEST_ENVIRONMENT}"
    )
    # There is one cluster. Messages over TCP take many turns of several processes; others that yield make them ten times as slow.
    if("cluster" IN_LIST ARGN OR "tcp" IN_LIST ARGN)
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
    if(NOT LAPWING_TESTS_SHARE_CORES)
        set_tests_properties(${test} PROPERTIES RESOURCE_LOCK machine)
    endif()
endfunction()

function(add_mpi_test name)
    cmake_parse_arguments(
        PARSE_ARGV
        1
        arg
        "ALONE;DELAY;PLAIN"
        "HOSTS;TIMEOUT;VARIANT"
        "SOURCES;RANKS;PATHS;NETWORKS;LABELS;ENV;ARGS;LIBRARIES"
    )
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "add_mpi_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    foreach(default IN ITEMS "RANKS 2" "PATHS auto" "NETWORKS shm" "TIMEOUT 60")
        separate_arguments(default)
        list(POP_FRONT default option)
        if(NOT DEFINED arg_${option})
            set(arg_${option} ${default})
        endif()
    endforeach()

    set(judge --verdict)
    set(main lapwing_test_main)
    if(arg_PLAIN)
        set(judge "")
        set(main "")
    endif()
    set(test ${name})
    if(arg_VARIANT)
        set(test ${name}.${arg_VARIANT})
    endif()
    if(arg_SOURCES)
        lapwing_test_executable(${name} MAIN ${main} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
    elseif(NOT TARGET ${name})
        message(FATAL_ERROR "add_mpi_test(${name}): no SOURCES, and no executable of that name yet")
    endif()
    if("tsan" IN_LIST arg_LABELS)
        add_dependencies(lapwing_tests_tsan ${name})
    endif()

    set(options "")
    if(LAPWING_TESTS_SHARE_CORES AND (LAPWING_SANITIZE OR NOT arg_ALONE))
        list(APPEND options --crowded)
    endif()
    if(arg_DELAY)
        list(APPEND options --delay)
    endif()
    if(arg_HOSTS)
        list(APPEND options --hosts ${arg_HOSTS})
    endif()
    foreach(pair IN LISTS arg_ENV)
        list(APPEND options --env "${pair}")
    endforeach()
    math(EXPR seconds "${arg_TIMEOUT} * ${LAPWING_TEST_TIME_FACTOR}")
    list(GET arg_NETWORKS 0 first_network)
    foreach(network IN LISTS arg_NETWORKS)
        foreach(path IN LISTS arg_PATHS)
            if(path STREQUAL "direct" AND NOT network STREQUAL first_network)
                continue()
            endif()
            foreach(ranks IN LISTS arg_RANKS)
                set(full ${test}.${path}.${network}.np${ranks})
                add_test(
                    NAME ${full}
                    COMMAND
                        "${PROJECT_SOURCE_DIR}/scripts/launch" --mpi ${LAPWING_MPI} --mpiexec "${MPIEXEC_EXECUTABLE}"
                        --network ${network} --path ${path} --support $<TARGET_FILE_DIR:lapwing_delay_shim> --timeout
                        ${seconds} ${judge} ${options} -n ${ranks} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}>
                        ${arg_ARGS}
                )
                lapwing_test_properties(${full} ${arg_TIMEOUT} ${arg_LABELS} ${path} ${network})
                if(ranks GREATER 2)
                    # Not beside another of its kind: more ranks than that only wait for each other.
                    set_tests_properties(${full} PROPERTIES PROCESSORS 2)
                endif()
                if(arg_ALONE)
                    set_tests_properties(${full} PROPERTIES RUN_SERIAL ON)
                endif()
            endforeach()
        endforeach()
    endforeach()
endfunction()

function(add_plain_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
    if(NOT LAPWING_TEST_SOURCES AND NOT LAPWING_SANITIZE)
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    lapwing_test_executable(${name} MAIN lapwing_plain_test_main SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
    if("tsan" IN_LIST arg_LABELS)
        add_dependencies(lapwing_tests_tsan ${name})
    endif()
    add_test(NAME ${name} COMMAND ${name})
    lapwing_test_properties(${name} ${arg_TIMEOUT} ${arg_LABELS} plain)
endfunction()
