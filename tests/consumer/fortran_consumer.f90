!> A Fortran program outside of Lapwing's build: reads an element that its neighbour wrote, and counts at rank 0.
program fortran_consumer
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    implicit none
    type(lapwing_runtime) :: runtime
    type(lapwing_array) :: a
    integer(int64), pointer :: own(:)
    integer(int64) :: element, total
    integer :: ranks, index, i

    call runtime%create(MPI_COMM_WORLD)
    ranks = runtime%size()
    call a%create(runtime, LAPWING_INT64, [4 * ranks])
    call a%local(own)
    do i = lbound(own, 1), ubound(own, 1)
        own(i) = i
    end do
    call runtime%barrier()
    index = 4 * modulo(runtime%rank() + 1, ranks) + 2
    call a%get_element([index], element)
    call a%update(LAPWING_ADD, [1], 10_int64)
    call runtime%barrier()
    call a%sum(total)
    if (element /= index .or. total /= 2 * ranks * (4 * ranks + 1) + 10 * ranks) then
        print '(a, i0, a, i0, a, i0)', 'rank ', runtime%rank(), ': element ', element, ', the sum ', total
        error stop 'fortran_consumer: wrong'
    end if
    call a%free()
    call runtime%free()
end program
