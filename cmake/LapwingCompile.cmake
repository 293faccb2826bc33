# Warnings and sanitizers. Nothing here reaches a program that links lapwing.

set(LAPWING_SANITIZER_OPTIONS "")
if(LAPWING_SANITIZE)
    list(JOIN LAPWING_SANITIZE "," sanitizers)
    set(LAPWING_SANITIZER_OPTIONS -fsanitize=${sanitizers} -fno-omit-frame-pointer)
    if("undefined" IN_LIST LAPWING_SANITIZE)
        # A test must fail, not only print.
        list(APPEND LAPWING_SANITIZER_OPTIONS -fno-sanitize-recover=undefined)
    endif()
endif()

# libstdc++ of GCC 12.2 calls in std::stable_sort what it declares as deprecated; Clang from 17 on warns of that in the header.
set(LAPWING_WARNING_EXCEPTIONS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_FLAGS "-std=c++20 -Werror=deprecated-declarations")
    check_cxx_source_compiles(
        "#include <algorithm>
        #include <vector>
        int main() { std::vector<int> v(9); std::stable_sort(v.begin(), v.end()); return v[0]; }"
        LAPWING_STABLE_SORT_WITHOUT_WARNING
    )
    unset(CMAKE_REQUIRED_FLAGS)
    if(NOT LAPWING_STABLE_SORT_WITHOUT_WARNING)
        set(LAPWING_WARNING_EXCEPTIONS -Wno-deprecated-declarations)
    endif()
endif()

function(lapwing_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion ${LAPWING_WARNING_EXCEPTIONS})
    if(LAPWING_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

# For every target of this project: the library, tests, benchmarks, examples and tools.
function(lapwing_compile_options target)
    lapwing_warnings(${target})
    if(LAPWING_SANITIZE)
        target_compile_options(${target} PRIVATE ${LAPWING_SANITIZER_OPTIONS})
        # PUBLIC link option of the build tree only: a program that links an instrumented lapwing needs the run-time library.
        target_link_options(${target} PUBLIC "$<BUILD_INTERFACE:${LAPWING_SANITIZER_OPTIONS}>")
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # GCC documents that instrumentation makes these two warnings guess wrong.
            target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
            if("thread" IN_LIST LAPWING_SANITIZE)
                # GCC 12: "'atomic_thread_fence' is not supported with '-fsanitize=thread'".
                target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
            endif()
        endif()
    endif()
endfunction()
