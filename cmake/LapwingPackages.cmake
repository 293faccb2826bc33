# Packages by CPack, one for each component of what is installed: scripts/package makes those of Debian with it, for each MPI a set.
# Names and contents are Debian's customs: run-time library, development, commands, Python, and what is the same for all MPIs.

if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()
set(CPACK_PACKAGE_NAME lapwing)
set(CPACK_PACKAGE_VENDOR "The Lapwing developers")
set(CPACK_PACKAGE_CONTACT "The Lapwing developers <lapwing@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL library development tools)
if(LAPWING_PYTHON_BUILT)
    list(APPEND CPACK_COMPONENTS_ALL python-core)
endif()
# The same for every MPI: the set of one MPI alone has them.
option(LAPWING_PACKAGE_COMMON "Packages: also those that are the same for every MPI" ON)
if(LAPWING_PACKAGE_COMMON)
    list(APPEND CPACK_COMPONENTS_ALL common documentation)
    if(LAPWING_PYTHON_BUILT)
        list(APPEND CPACK_COMPONENTS_ALL python)
    endif()
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
set(library "liblapwing${LAPWING_SUFFIX}${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(mpi_development "lib${LAPWING_MPI}-dev")

# lapwing_package(component name section description [ALL] [LIBRARIES] [DEPENDS …] [RECOMMENDS …])
function(lapwing_package component name section description)
    cmake_parse_arguments(PARSE_ARGV 4 arg "ALL;LIBRARIES" "" "DEPENDS;RECOMMENDS")
    string(TOUPPER "${component}" upper)
    list(JOIN arg_DEPENDS ", " depends)
    list(JOIN arg_RECOMMENDS ", " recommends)
    foreach(
        setting IN
        ITEMS
            "PACKAGE_NAME ${name}"
            "PACKAGE_SECTION ${section}"
            "PACKAGE_DEPENDS ${depends}"
            "PACKAGE_RECOMMENDS ${recommends}"
            "PACKAGE_SHLIBDEPS ${arg_LIBRARIES}"
            "DESCRIPTION ${description}"
    )
        string(FIND "${setting}" " " blank)
        string(SUBSTRING "${setting}" 0 ${blank} variable)
        math(EXPR blank "${blank} + 1")
        string(SUBSTRING "${setting}" ${blank} -1 value)
        set(CPACK_DEBIAN_${upper}_${variable} "${value}" PARENT_SCOPE)
    endforeach()
    if(arg_ALL)
        set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
    endif()
endfunction()

# Libraries of the set itself are found in the directory of the build, and named in DEPENDS.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}" "${PROJECT_BINARY_DIR}/bindings/fortran")
lapwing_package(library ${library} libs "Lapwing for ${LAPWING_MPI}: the shared libraries of C++, C and Fortran programs" LIBRARIES)
lapwing_package(
    development liblapwing${LAPWING_SUFFIX}-dev libdevel
    "Lapwing for ${LAPWING_MPI}: headers, Fortran modules, CMake and pkg-config files"
    DEPENDS "${library} (= ${version})" ${mpi_development}
    RECOMMENDS lapwing-common lapwing-doc
)
lapwing_package(
    tools lapwing${LAPWING_SUFFIX}-tools utils "Lapwing for ${LAPWING_MPI}: lapwing-info, lapwing-tune, lapwing-advise, lapwing-upcc" LIBRARIES
    DEPENDS "${library} (= ${version})" lapwing-common
    RECOMMENDS "liblapwing${LAPWING_SUFFIX}-dev"
)
lapwing_package(
    python-core python3-lapwing${LAPWING_SUFFIX} python "Lapwing for ${LAPWING_MPI}: the module of the Python package" LIBRARIES
    DEPENDS "${library} (= ${version})" "python3-lapwing (= ${version})"
)
lapwing_package(
    python python3-lapwing python "Global arrays as NumPy arrays: the Python package of Lapwing, for each MPI" ALL
    DEPENDS python3 python3-numpy python3-cffi-backend
    RECOMMENDS "python3-lapwing${LAPWING_SUFFIX}"
)
lapwing_package(
    common lapwing-common utils "Lapwing for any MPI: lapwing-launch, completion for shells, files for gdb and Valgrind" ALL
    DEPENDS bash python3
)
lapwing_package(documentation lapwing-doc doc "Lapwing: pages, manual pages, examples" ALL)
include(CPack)
