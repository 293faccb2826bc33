# One translation unit per public header, with nothing before the #include: a header that relies on its user's earlier includes does
# not compile here.
function(lapwing_check_headers_alone target)
    file(
        GLOB_RECURSE headers
        RELATIVE "${PROJECT_SOURCE_DIR}/include"
        CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/lapwing/*.hpp"
    )
    set(sources "")
    foreach(header IN LISTS headers)
        string(MAKE_C_IDENTIFIER "${header}" name)
        set(source "${CMAKE_CURRENT_BINARY_DIR}/headers_alone/${name}.cpp")
        # Twice, to see that it has an include guard.
        file(CONFIGURE OUTPUT "${source}" CONTENT "#include <${header}>\n#include <${header}>\n" @ONLY)
        list(APPEND sources "${source}")
    endforeach()
    if(sources)
        add_library(${target} OBJECT ${sources})
        target_link_libraries(${target} PRIVATE lapwing::lapwing)
        lapwing_compile_options(${target})
    endif()
endfunction()
