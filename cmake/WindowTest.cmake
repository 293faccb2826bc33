# window_test(name SOURCES file… [SHM_RANKS …] [TCP_RANKS …] [PAIR_RANKS …] [argument of add_mpi_test…])
# registers a test on every path: over shared memory (auto is direct there), over TCP, and with two ranks a node, so that
# direct and network paths meet in one window. RANKS of a list that is not given: none. WITHOUT_THREADS: the path rma over TCP also
# below MPI_THREAD_MULTIPLE, where MPI's windows carry small operations, too, in the variant serialized; with Open MPI there is no
# other.
function(window_test name)
    # Every keyword of add_mpi_test that may follow is named, or the list before it would take it in.
    cmake_parse_arguments(
        PARSE_ARGV 1 arg "WITHOUT_THREADS" "TIMEOUT" "SOURCES;SHM_RANKS;TCP_RANKS;PAIR_RANKS;ENV;LABELS;ARGS;LIBRARIES"
    )
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "window_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    set(rest "")
    foreach(keyword IN ITEMS TIMEOUT LABELS ARGS LIBRARIES)
        if(DEFINED arg_${keyword})
            list(APPEND rest ${keyword} ${arg_${keyword}})
        endif()
    endforeach()
    set(sources SOURCES ${arg_SOURCES})
    if(arg_SHM_RANKS)
        add_mpi_test(
            ${name} ${sources} RANKS ${arg_SHM_RANKS} PATHS auto rma service NETWORKS shm ENV ${arg_ENV} ${rest}
        )
        set(sources "")
    endif()
    if(arg_TCP_RANKS)
        add_mpi_test(${name} ${sources} RANKS ${arg_TCP_RANKS} PATHS service NETWORKS tcp ENV ${arg_ENV} ${rest})
        set(sources "")
        set(rma_environment ${arg_ENV})
        if(LAPWING_MPI STREQUAL "openmpi")
            # osc/pt2pt, its one-sided component over TCP, works below MPI_THREAD_MULTIPLE only.
            list(APPEND rma_environment TEST_THREAD_LEVEL=serialized)
        endif()
        add_mpi_test(${name} RANKS ${arg_TCP_RANKS} PATHS rma NETWORKS tcp ENV ${rma_environment} ${rest})
        if(arg_WITHOUT_THREADS AND NOT LAPWING_MPI STREQUAL "openmpi")
            add_mpi_test(
                ${name} VARIANT serialized
                RANKS 2 PATHS rma NETWORKS tcp ENV TEST_THREAD_LEVEL=serialized ${arg_ENV} ${rest}
            )
        endif()
    endif()
    foreach(path IN ITEMS rma service)
        if(arg_PAIR_RANKS)
            add_mpi_test(
                ${name} ${sources} VARIANT pair-${path}
                RANKS ${arg_PAIR_RANKS} NETWORKS shm ENV LAPWING_NODE=pair LAPWING_PATH=${path} ${arg_ENV} ${rest}
            )
            set(sources "")
        endif()
    endforeach()
endfunction()
