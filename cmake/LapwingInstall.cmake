# Installs the library, its headers, the CMake package, a pkg-config file for Makefiles, the starter of programs and the pages.

include(CMakePackageConfigHelpers)

set(LAPWING_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/lapwing${LAPWING_SUFFIX}")

install(
    TARGETS lapwing lapwing-transparent
    EXPORT lapwingTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools
)
# A library without the C interface has nothing that its header could be linked to.
set(without "")
if(NOT LAPWING_BUILD_C)
    set(without REGEX "/lapwing/(lapwing\\.h|c)$" EXCLUDE)
endif()
install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/include/lapwing"
    DESTINATION ${LAPWING_INSTALL_INCLUDEDIR}
    COMPONENT development
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.hpp"
    PATTERN "*.inc"
    ${without}
)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/launch" DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME lapwing-launch COMPONENT common)
# In the same directories as in the sources, so that their links work.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(
    DIRECTORY
        "${PROJECT_SOURCE_DIR}/docs"
        "${PROJECT_SOURCE_DIR}/examples"
        "${PROJECT_SOURCE_DIR}/benchmarks"
        "${PROJECT_SOURCE_DIR}/include"
    DESTINATION ${CMAKE_INSTALL_DOCDIR}
    COMPONENT documentation
    PATTERN "__pycache__" EXCLUDE
)
install(FILES "${PROJECT_SOURCE_DIR}/data/README.md" DESTINATION ${CMAKE_INSTALL_DOCDIR}/data COMPONENT documentation)
# To be read beside the pages that name them; they run in a clone.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/scripts" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(EXPORT lapwingTargets NAMESPACE lapwing:: DESTINATION ${LAPWING_INSTALL_CMAKEDIR} COMPONENT development)

# What a static lapwing needs, as pkg-config names it; not what is compiled into lapwing itself.
set(LAPWING_CALLED_MODULES "")
if(NOT BUILD_SHARED_LIBS AND NOT "hwy" IN_LIST LAPWING_BUNDLED)
    list(APPEND LAPWING_CALLED_MODULES libhwy)
endif()
if(NOT BUILD_SHARED_LIBS AND NOT "fmt" IN_LIST LAPWING_BUNDLED)
    # The names of fmt's symbols say its major version.
    string(REGEX MATCH "^[0-9]+" FMT_MAJOR "${FMT_VERSION}")
    math(EXPR FMT_NEXT_MAJOR "${FMT_MAJOR} + 1")
    list(APPEND LAPWING_CALLED_MODULES "fmt >= ${FMT_MAJOR}" "fmt < ${FMT_NEXT_MAJOR}")
endif()
configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/lapwingConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/package/lapwingConfig.cmake"
    INSTALL_DESTINATION ${LAPWING_INSTALL_CMAKEDIR}
)
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/package/lapwingVersion.cmake"
    # Before 1.0 every minor version may change the interface.
    COMPATIBILITY SameMinorVersion
)
configure_file("${PROJECT_SOURCE_DIR}/cmake/lapwingConfigVersion.cmake.in" "${PROJECT_BINARY_DIR}/package/lapwingConfigVersion.cmake" @ONLY)
install(
    FILES
        "${PROJECT_BINARY_DIR}/package/lapwingConfig.cmake"
        "${PROJECT_BINARY_DIR}/package/lapwingVersion.cmake"
        "${PROJECT_BINARY_DIR}/package/lapwingConfigVersion.cmake"
    DESTINATION ${LAPWING_INSTALL_CMAKEDIR}
    COMPONENT development
)

# The file has the flags of the MPI that lapwing was built with: compiler wrappers of several MPIs can be
# installed side by side, and a program must not be linked to another MPI than its lapwing.
set(pkgconfig_cflags "")
foreach(directory IN LISTS MPI_CXX_INCLUDE_DIRS)
    string(APPEND pkgconfig_cflags " -I${directory}")
endforeach()
foreach(definition IN ITEMS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX LAPWING_DEFAULT_ASSERTION_LEVEL=${LAPWING_ASSERTION_LEVEL})
    string(APPEND pkgconfig_cflags " -D${definition}")
endforeach()
string(APPEND pkgconfig_cflags " -pthread")
set(pkgconfig_language "-std=c++20")
set(pkgconfig_language_libraries "")
set(pkgconfig_name lapwing${LAPWING_SUFFIX})
string(STRIP "${pkgconfig_cflags}" pkgconfig_cflags)
list(JOIN MPI_CXX_LIBRARIES " " pkgconfig_mpi_libraries)
set(pkgconfig_libraries "-llapwing${LAPWING_SUFFIX} ${pkgconfig_mpi_libraries} -pthread")
foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND pkgconfig_libraries " -l${library}")
endforeach()
# If only the archive is installed, plain `pkg-config --libs` must name all that it needs.
list(JOIN LAPWING_CALLED_MODULES ", " pkgconfig_requires)
file(
    RELATIVE_PATH
    LAPWING_PKGCONFIG_TO_PREFIX
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
    "${CMAKE_INSTALL_PREFIX}"
)
configure_file("${PROJECT_SOURCE_DIR}/cmake/lapwing.pc.in" "${PROJECT_BINARY_DIR}/package/lapwing${LAPWING_SUFFIX}.pc" @ONLY)
# C programs, which lapwing/lapwing.h and lapwing/upc.h are for: C compilers refuse C++'s standards, and do not link its library.
set(pkgconfig_language "")
set(pkgconfig_name lapwing-c${LAPWING_SUFFIX})
foreach(library IN ITEMS stdc++ c++)
    if(library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
        string(APPEND pkgconfig_language_libraries " -l${library}")
    endif()
endforeach()
string(APPEND pkgconfig_language_libraries " -lm")
configure_file("${PROJECT_SOURCE_DIR}/cmake/lapwing.pc.in" "${PROJECT_BINARY_DIR}/package/lapwing-c${LAPWING_SUFFIX}.pc" @ONLY)
install(
    FILES "${PROJECT_BINARY_DIR}/package/lapwing${LAPWING_SUFFIX}.pc" "${PROJECT_BINARY_DIR}/package/lapwing-c${LAPWING_SUFFIX}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development
)

# The Fortran module, which a program asks for: find_package(lapwing COMPONENTS Fortran). Its files are this MPI's and this compiler's.
if(LAPWING_FORTRAN)
    install(
        TARGETS lapwing_fortran
        EXPORT lapwingFortranTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    )
    install(
        FILES "${PROJECT_BINARY_DIR}/bindings/fortran/modules/lapwing.mod" "${PROJECT_BINARY_DIR}/bindings/fortran/modules/lapwing_c.mod"
        DESTINATION ${LAPWING_INSTALL_MODULEDIR}
        COMPONENT development
    )
    install(EXPORT lapwingFortranTargets NAMESPACE lapwing:: DESTINATION ${LAPWING_INSTALL_CMAKEDIR} COMPONENT development)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/lapwing-fortran.pc.in" "${PROJECT_BINARY_DIR}/package/lapwing-fortran${LAPWING_SUFFIX}.pc" @ONLY)
    install(
        FILES "${PROJECT_BINARY_DIR}/package/lapwing-fortran${LAPWING_SUFFIX}.pc"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development
    )
endif()

# For people who debug: what gdb prints of Lapwing's objects, loaded with a shared library, and what Valgrind need not say of MPIs.
install(FILES "${PROJECT_SOURCE_DIR}/packaging/gdb/lapwing_gdb.py" DESTINATION ${CMAKE_INSTALL_DATADIR}/lapwing COMPONENT common)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/valgrind/lapwing.supp" DESTINATION ${CMAKE_INSTALL_DATADIR}/lapwing COMPONENT common)
if(BUILD_SHARED_LIBS)
    install(
        FILES "${PROJECT_SOURCE_DIR}/packaging/gdb/lapwing_gdb.py"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}"
        RENAME "liblapwing${LAPWING_SUFFIX}.so.${PROJECT_VERSION}-gdb.py"
        COMPONENT development
    )
endif()
install(FILES "${PROJECT_SOURCE_DIR}/CHANGELOG.md" DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)

# A file for environment modules, found by `module use PREFIX/share/modulefiles`.
set(modulefiles "${CMAKE_INSTALL_DATADIR}/modulefiles/lapwing${LAPWING_SUFFIX}")
file(RELATIVE_PATH LAPWING_MODULEFILE_TO_PREFIX "${CMAKE_INSTALL_PREFIX}/${modulefiles}" "${CMAKE_INSTALL_PREFIX}")
configure_file("${PROJECT_SOURCE_DIR}/packaging/modulefile.in" "${PROJECT_BINARY_DIR}/package/modulefile" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/package/modulefile" DESTINATION ${modulefiles} RENAME ${PROJECT_VERSION} COMPONENT development)
