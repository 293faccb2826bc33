!> What benchmarks/binding_fortran.cpp calls: the same patches and loops in Fortran.
module binding_fortran_subjects
    use, intrinsic :: iso_c_binding, only: c_int64_t, c_double, c_ptr
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    implicit none
    private
    type(lapwing_runtime), save :: runtime
    type(lapwing_array), save :: a
    real(c_double), allocatable, save :: buffer(:, :), plain(:, :)
    integer, parameter :: looped = 32 ! rows that a cache holds: what is compared is code, not memory

contains

    !> Collective. `rows` rows of `columns` elements a rank, neighbours within a row. Returns C's handle of the runtime.
    type(c_ptr) function start(columns, rows) bind(C, name='lapwing_bench_fortran_start')
        integer(c_int64_t), value :: columns, rows
        real(c_double), pointer :: own(:, :)

        call runtime%create(MPI_COMM_WORLD)
        call a%create(runtime, LAPWING_REAL64, [columns, rows * runtime%size()], grid=[1, 0])
        allocate(buffer(columns, rows))
        call a%local(own)
        allocate(plain(size(own, 1), size(own, 2)))
        own = 1
        plain = 1
        buffer = 2
        call runtime%barrier()
        start = runtime%c_handle()
    end function

    !> `rows` whole rows from row `first` on, which counts from 1.
    subroutine get(first, rows) bind(C, name='lapwing_bench_fortran_get')
        integer(c_int64_t), value :: first, rows

        call a%get([1_c_int64_t, first], [size(buffer, 1, c_int64_t), first + rows - 1], buffer(:, 1:rows))
    end subroutine

    subroutine put(first, rows) bind(C, name='lapwing_bench_fortran_put')
        integer(c_int64_t), value :: first, rows

        call a%put([1_c_int64_t, first], [size(buffer, 1, c_int64_t), first + rows - 1], buffer(:, 1:rows))
    end subroutine

    subroutine release() bind(C, name='lapwing_bench_fortran_release')
        call runtime%release()
    end subroutine

    !> Changes own elements by their global indices, in what the pointer that local() gives is associated with.
    real(c_double) function loop_local(iterations) bind(C, name='lapwing_bench_fortran_loop_local') result(sum)
        integer(c_int64_t), value :: iterations
        real(c_double), pointer, contiguous :: pointer(:, :)
        integer(c_int64_t) :: turn
        integer :: i, j

        call a%local(pointer)
        sum = 0
        associate (own => pointer)
            do turn = 1, iterations
                do j = lbound(own, 2), lbound(own, 2) + looped - 1
                    do i = lbound(own, 1), ubound(own, 1)
                        own(i, j) = own(i, j) * 0.999_c_double + 0.5_c_double
                    end do
                end do
                sum = sum + own(lbound(own, 1), lbound(own, 2))
            end do
        end associate
    end function

    !> The same, with the pointer handed to a procedure whose argument is contiguous.
    real(c_double) function loop_argument(iterations) bind(C, name='lapwing_bench_fortran_loop_argument') result(sum)
        integer(c_int64_t), value :: iterations
        real(c_double), pointer, contiguous :: own(:, :)

        call a%local(own)
        sum = swept(own, iterations)
    end function

    real(c_double) function swept(values, iterations) result(sum)
        real(c_double), contiguous, intent(inout) :: values(:, :)
        integer(c_int64_t), intent(in) :: iterations
        integer(c_int64_t) :: turn
        integer :: i, j

        sum = 0
        do turn = 1, iterations
            do j = 1, looped
                do i = 1, size(values, 1)
                    values(i, j) = values(i, j) * 0.999_c_double + 0.5_c_double
                end do
            end do
            sum = sum + values(1, 1)
        end do
    end function

    !> The same of an array of the program's.
    real(c_double) function loop_plain(iterations) bind(C, name='lapwing_bench_fortran_loop_plain') result(sum)
        integer(c_int64_t), value :: iterations
        integer(c_int64_t) :: turn
        integer :: i, j

        sum = 0
        do turn = 1, iterations
            do j = 1, looped
                do i = 1, size(plain, 1)
                    plain(i, j) = plain(i, j) * 0.999_c_double + 0.5_c_double
                end do
            end do
            sum = sum + plain(1, 1)
        end do
    end function

    !> Collective.
    subroutine finish() bind(C, name='lapwing_bench_fortran_finish')
        call a%free()
        call runtime%free()
        deallocate(buffer, plain)
    end subroutine

end module
