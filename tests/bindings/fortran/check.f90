!> Checks of the tests in Fortran: what is wrong is printed, and the program ends with exit code 1.
module check
    use, intrinsic :: iso_fortran_env, only: error_unit
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    implicit none
    private
    public :: start, expect, fails

contains

    !> What every test begins with.
    subroutine start(runtime, rank, ranks)
        type(lapwing_runtime), intent(inout) :: runtime
        integer, intent(out) :: rank, ranks

        call runtime%create(MPI_COMM_WORLD)
        rank = runtime%rank()
        ranks = runtime%size()
    end subroutine

    subroutine expect(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what
        character(:), allocatable :: text

        if (condition) return
        call lapwing_last_error(text)
        write (error_unit, '(4a)') 'wrong: ', what, '; last error: ', text
        error stop 1
    end subroutine

    !> The call before has failed with this code, and its text has the word.
    subroutine fails(stat, code, errmsg, word)
        integer, intent(in) :: stat, code
        character(*), intent(in) :: errmsg, word

        call expect(stat == code .and. index(errmsg, word) > 0, lapwing_error_name(code) // ' with "' // word // '" and not ' // &
            lapwing_error_name(stat) // ' "' // trim(errmsg) // '"')
    end subroutine

end module check
