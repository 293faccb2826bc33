# Unity builds (LAPWING_UNITY_BUILD): the sources of a room are compiled as one, by CMake's UNITY_BUILD. Most of the time of a
# source goes into the headers that it shares with its neighbours, and into the templates that each of them instantiates anew, so
# that a whole room takes little longer than one of its larger sources. A name in an anonymous namespace belongs to the room, then,
# and not to one source of it.

# After all rooms.
function(lapwing_unity_build target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH room)
        cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${room}" is_room)
        cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${room}" is_generated)
        if(is_room AND NOT is_generated)
            cmake_path(RELATIVE_PATH room BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
            string(REPLACE "/" "_" room "${room}")
            set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${room}")
        endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # It warns of classes with members whose types are in anonymous namespaces, outside the main source; the sources of a room are
        # not the main source then.
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
endfunction()
