!> With MPI's older module, whose handles are integers.
program fortran_mpi_test
    use, intrinsic :: iso_fortran_env, only: int32
    use mpi
    use lapwing
    use check, only: expect, fails
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks, communicator, ierror

    call MPI_Init(ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, communicator, ierror)
    call runtime%create(communicator)
    rank = runtime%rank()
    ranks = runtime%size()
    call of_the_runtime()
    call of_layouts()
    call of_windows()
    call runtime%free()
    call MPI_Comm_free(communicator, ierror)
    call MPI_Finalize(ierror)

contains

    subroutine of_the_runtime()
        integer(int32) :: numbers(3)
        integer(int32), asynchronous :: received(3)
        integer :: request, stat
        character(200) :: errmsg

        numbers = [1, 2, rank]
        call runtime%all_reduce(numbers, MPI_INTEGER, MPI_SUM)
        call expect(all(numbers == [ranks, 2 * ranks, ranks * (ranks - 1) / 2]), 'all_reduce')
        received = -1
        call MPI_Irecv(received, 3, MPI_INTEGER, rank, 5, communicator, request, ierror)
        call MPI_Send(numbers, 3, MPI_INTEGER, rank, 5, communicator, ierror)
        call runtime%wait_request(request)
        call expect(request == MPI_REQUEST_NULL .and. all(received == numbers), 'wait_request')
        call expect(lapwing_type_from_mpi(MPI_INTEGER) == LAPWING_INT32, 'type')
        call expect(lapwing_type_from_mpi(MPI_DATATYPE_NULL, stat, errmsg) == 0, 'no type')
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'MPI_DATATYPE_NULL')
    end subroutine

    subroutine of_layouts()
        type(lapwing_layout) :: layout, again
        integer :: vector, datatype

        call MPI_Type_vector(3, 1, 2, MPI_INTEGER, vector, ierror)
        call MPI_Type_commit(vector, ierror)
        call layout%create_mpi(vector, 1)
        call MPI_Type_free(vector, ierror)
        call layout%to_mpi(datatype)
        call again%create_mpi(datatype, 1)
        call expect(layout%equal(again), 'the same bytes')
        call MPI_Type_free(datatype, ierror)
    end subroutine

    subroutine of_windows()
        type(lapwing_window) :: window
        type(lapwing_completion) :: completion
        integer(int32), asynchronous :: numbers(6), back(6)
        integer(MPI_ADDRESS_KIND) :: memory
        integer :: mpi_window, right, k, stat
        character(200) :: errmsg

        right = modulo(rank + 1, ranks)
        call MPI_Win_allocate(256_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, communicator, memory, mpi_window, ierror)
        call window%adopt(runtime, mpi_window)
        numbers = [(10 * rank + k, k = 1, 6)]
        ! Displacements are in units of the window.
        call window%put_mpi(numbers, 6, MPI_INTEGER, right, 8, 6, MPI_INTEGER)
        call window%flush(right)
        back = -1
        call window%get_mpi(back, 6, MPI_INTEGER, right, 8, 6, MPI_INTEGER)
        call expect(all(back == numbers), 'get_mpi')
        call window%start_put_mpi(numbers, 6, MPI_INTEGER, right, 20, 6, MPI_INTEGER, completion)
        call completion%wait()
        call window%flush(right)
        back = -1
        call window%start_get_mpi(back, 6, MPI_INTEGER, right, 20, 6, MPI_INTEGER, completion)
        call completion%wait()
        call expect(all(back == numbers), 'start_get_mpi')
        call window%get_mpi(back, 6, MPI_DATATYPE_NULL, right, 8, 6, MPI_INTEGER, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'MPI_DATATYPE_NULL')
        call runtime%barrier()
        call window%free()
        call MPI_Win_free(mpi_window, ierror)
    end subroutine

end program
