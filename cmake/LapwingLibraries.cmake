# The libraries that Lapwing uses: installed ones, downloaded ones, or sources in a directory. Each becomes a target: lapwing_boost,
# lapwing_xxhash (headers), lapwing_fmt, lapwing_hwy, and for the tools lapwing_cli11, lapwing_json (headers).
#
# Of fmt and Highway, if they are not installed, the few sources that are needed are compiled here, by targets of Lapwing's own: a
# program may bring another fmt, whose CMake targets have the same names. Their objects become part of lapwing, so the installed
# package needs neither of them.

set(LAPWING_DEPENDENCIES
    system
    CACHE STRING
    "Where libraries come from: system (installed ones), fetch (those that are missing are downloaded), or a directory of sources"
)
set_property(CACHE LAPWING_DEPENDENCIES PROPERTY STRINGS system fetch)
set(LAPWING_DEPENDENCIES_DIR "")
if(NOT LAPWING_DEPENDENCIES MATCHES "^(system|fetch)$")
    # Relative to the project, however deep Lapwing is in it.
    get_filename_component(LAPWING_DEPENDENCIES_DIR "${LAPWING_DEPENDENCIES}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    if(NOT IS_DIRECTORY "${LAPWING_DEPENDENCIES_DIR}")
        message(
            FATAL_ERROR
            "LAPWING_DEPENDENCIES is '${LAPWING_DEPENDENCIES}'; it must be system, fetch, or a directory with the sources of libraries"
        )
    endif()
endif()

include(FetchContent)
find_package(PkgConfig QUIET)
set(LAPWING_BUNDLED "")

# lapwing_sources(name FILE file PATTERN directory… URL url SHA256 hash)
#
# Sets ${name}_SOURCES_DIR, empty if the installed library is used. FILE must exist in the sources, PATTERN are the possible names
# of their directory below LAPWING_DEPENDENCIES.
function(lapwing_sources name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;URL;SHA256" "PATTERN")
    set(sources "")
    if(LAPWING_DEPENDENCIES_DIR)
        list(TRANSFORM arg_PATTERN PREPEND "${LAPWING_DEPENDENCIES_DIR}/")
        file(GLOB directories LIST_DIRECTORIES true ${arg_PATTERN})
        foreach(directory IN LISTS directories)
            if(EXISTS "${directory}/${arg_FILE}")
                set(sources "${directory}")
            endif()
        endforeach()
    elseif(LAPWING_DEPENDENCIES STREQUAL "fetch" AND NOT LAPWING_INSTALLED_${name})
        # Only the sources of the archive are used, not its CMakeLists.txt: the directory that is named has none.
        FetchContent_Declare(
            lapwing_${name}
            URL "${arg_URL}"
            URL_HASH SHA256=${arg_SHA256}
            DOWNLOAD_EXTRACT_TIMESTAMP OFF
            SOURCE_SUBDIR none
        )
        string(TOUPPER "FETCHCONTENT_SOURCE_DIR_LAPWING_${name}" given)
        if(NOT ${given})
            message(STATUS "lapwing: ${name} is not installed, and comes from ${arg_URL}")
        endif()
        FetchContent_MakeAvailable(lapwing_${name})
        set(sources "${lapwing_${name}_SOURCE_DIR}")
        if(NOT EXISTS "${sources}/${arg_FILE}")
            message(FATAL_ERROR "lapwing: ${sources} is not the source of ${name}: there is no ${arg_FILE}")
        endif()
    endif()
    if(sources)
        message(STATUS "lapwing: ${name} is taken from ${sources}")
    elseif(NOT LAPWING_INSTALLED_${name})
        set(there "")
        if(LAPWING_DEPENDENCIES_DIR)
            list(JOIN arg_PATTERN " or " looked)
            set(there " and no ${looked} has ${arg_FILE}")
        endif()
        message(
            FATAL_ERROR
            "lapwing: ${name} is missing: ${LAPWING_WANTED_${name}} is not installed${there}. scripts/install-deps installs it "
            "where you are root; -DLAPWING_DEPENDENCIES=fetch downloads what is missing; -DLAPWING_DEPENDENCIES=DIRECTORY takes "
            "it from sources that lie there, ${arg_URL} for example."
        )
    endif()
    set(${name}_SOURCES_DIR "${sources}" PARENT_SCOPE)
endfunction()

# By pkg-config: see the head of this file. Sets LAPWING_INSTALLED_name to its target.
macro(lapwing_find_installed name module version)
    set(LAPWING_WANTED_${name} "${module} ${version} or later (by pkg-config)")
    string(TOUPPER ${name} LAPWING_PREFIX)
    set(LAPWING_INSTALLED_${name} "")
    if(PKG_CONFIG_FOUND)
        pkg_check_modules(${LAPWING_PREFIX} IMPORTED_TARGET "${module}>=${version}")
        if(${LAPWING_PREFIX}_FOUND)
            set(LAPWING_INSTALLED_${name} PkgConfig::${LAPWING_PREFIX})
        endif()
    endif()
endmacro()

# By the library's own CMake package, whose target is named. Sets LAPWING_INSTALLED_name to it.
macro(lapwing_find_package name package version title target)
    set(LAPWING_WANTED_${name} "${title} ${version} or later")
    find_package(${package} ${version} QUIET)
    set(LAPWING_INSTALLED_${name} "")
    if(${package}_FOUND)
        set(LAPWING_INSTALLED_${name} ${target})
    endif()
endmacro()

# Headers only: from a directory below the sources, or installed ones.
function(lapwing_headers name)
    add_library(lapwing_${name} INTERFACE)
    if(${name}_SOURCES_DIR)
        target_include_directories(lapwing_${name} SYSTEM INTERFACE "${${name}_SOURCES_DIR}/${ARGN}")
    elseif(TARGET "${LAPWING_INSTALLED_${name}}")
        target_link_libraries(lapwing_${name} INTERFACE "${LAPWING_INSTALLED_${name}}")
    else()
        target_include_directories(lapwing_${name} SYSTEM INTERFACE "${LAPWING_INSTALLED_${name}}")
    endif()
endfunction()

# Compiled code: the directory of its headers below the sources, and files.
function(lapwing_code name directory)
    if(NOT ${name}_SOURCES_DIR)
        lapwing_headers(${name})
        return()
    endif()
    add_library(lapwing_${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
    target_compile_features(lapwing_${name} PUBLIC cxx_std_20)
    target_include_directories(lapwing_${name} SYSTEM PUBLIC "${${name}_SOURCES_DIR}/${directory}")
    set_target_properties(lapwing_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set(LAPWING_BUNDLED "${LAPWING_BUNDLED};${name}" PARENT_SCOPE)
endfunction()

# --- Boost: Container and Intrusive, headers only. Looked for by hand: FindBoost is gone with policy CMP0167, and a Boost of which
# only headers were unpacked has no CMake package.
set(LAPWING_WANTED_boost "Boost 1.74 or later (boost/version.hpp; BOOST_ROOT or CMAKE_PREFIX_PATH say where)")
set(LAPWING_INSTALLED_boost "")
find_path(
    LAPWING_BOOST_INCLUDE_DIR
    boost/intrusive/list.hpp
    HINTS "${BOOST_ROOT}" "${Boost_ROOT}" ENV BOOST_ROOT ENV Boost_ROOT
    PATH_SUFFIXES include
    DOC "Directory of Boost's headers"
)
if(LAPWING_BOOST_INCLUDE_DIR AND EXISTS "${LAPWING_BOOST_INCLUDE_DIR}/boost/version.hpp")
    file(STRINGS "${LAPWING_BOOST_INCLUDE_DIR}/boost/version.hpp" version REGEX "^#define BOOST_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" version "${version}")
    if(version GREATER_EQUAL 107400)
        set(LAPWING_INSTALLED_boost "${LAPWING_BOOST_INCLUDE_DIR}")
    endif()
endif()
lapwing_sources(
    boost
    FILE boost/intrusive/list.hpp
    PATTERN boost*
    URL https://archives.boost.io/release/1.83.0/source/boost_1_83_0.tar.bz2
    SHA256 6478edfe2f3305127cffe8caf73ea0176c53769f4bf1585be237eb30798c3b8e
)
lapwing_headers(boost)

# --- xxHash. Its code is compiled in, by its header: there is nothing to link.
lapwing_find_installed(xxhash libxxhash 0.8)
if(LAPWING_INSTALLED_xxhash)
    # The header alone, without the library of the pkg-config file.
    find_path(LAPWING_XXHASH_INCLUDE_DIR xxhash.h HINTS ${XXHASH_INCLUDE_DIRS} DOC "Directory of xxHash's header")
    set(LAPWING_INSTALLED_xxhash "")
    if(LAPWING_XXHASH_INCLUDE_DIR)
        set(LAPWING_INSTALLED_xxhash "${LAPWING_XXHASH_INCLUDE_DIR}")
    endif()
endif()
lapwing_sources(
    xxhash
    FILE xxhash.h
    PATTERN xxhash* xxHash*
    URL https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
    SHA256 aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80
)
lapwing_headers(xxhash)

# --- fmt, compiled rather than header-only: a source file that formats then compiles in a third of the time, with a sanitizer in a
# fifth.
lapwing_find_installed(fmt fmt 9)
lapwing_sources(
    fmt
    FILE src/format.cc
    PATTERN fmt*
    URL https://github.com/fmtlib/fmt/archive/refs/tags/10.1.1.tar.gz
    SHA256 78b8c0a72b1c35e4443a7e308df52498252d1cefc2b08c9a97bc9ee6cfe61f8b
)
lapwing_code(fmt include "${fmt_SOURCES_DIR}/src/format.cc")

# --- Highway: which instruction sets the processor has; the rest is in headers.
lapwing_find_installed(hwy libhwy 1.0)
lapwing_sources(
    hwy
    FILE hwy/targets.cc
    PATTERN highway* hwy*
    URL https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz
    SHA256 7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343
)
# abort.cc and what else is needed is not the same in all versions; tests and measurements are left out.
set(hwy_files "")
if(hwy_SOURCES_DIR)
    file(GLOB hwy_files "${hwy_SOURCES_DIR}/hwy/*.cc")
    list(FILTER hwy_files EXCLUDE REGEX "(_test|nanobenchmark|profiler|timer|stats|perf_counters)\\.cc$")
endif()
lapwing_code(hwy . ${hwy_files})

# --- What the tools need in addition.
if(LAPWING_BUILD_TOOLS)
    lapwing_find_package(cli11 CLI11 2.1 CLI11 CLI11::CLI11)
    lapwing_sources(
        cli11
        FILE include/CLI/CLI.hpp
        PATTERN CLI11* cli11*
        URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
        SHA256 73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58
    )
    lapwing_headers(cli11 include)
    lapwing_find_package(json nlohmann_json 3.9 "JSON for Modern C++" nlohmann_json::nlohmann_json)
    lapwing_sources(
        json
        FILE include/nlohmann/json.hpp
        PATTERN json* nlohmann*
        URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
        SHA256 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406
    )
    lapwing_headers(json include)
endif()
