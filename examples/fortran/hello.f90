program hello
    use, intrinsic :: iso_fortran_env, only: real64
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    implicit none
    type(lapwing_runtime) :: runtime
    type(lapwing_array) :: a
    real(real64), pointer :: own(:)
    real(real64) :: row(10), total
    integer :: i

    call runtime%create(MPI_COMM_WORLD)

    ! A thousand numbers, a block for each rank; a rank's own elements are plain memory, by their global indices.
    call a%create(runtime, LAPWING_REAL64, [1000])
    call a%local(own)
    do i = lbound(own, 1), ubound(own, 1)
        own(i) = 0.5_real64 * i
    end do
    call runtime%barrier()

    ! Any element, whoever owns it, and a patch of them in one transfer.
    call a%get([991], [1000], row)
    call a%update(LAPWING_ADD, [1], 1.0_real64)
    call runtime%barrier()

    call a%sum(total)
    if (runtime%rank() == 0) print '(i0, a, f0.1, a, f0.1)', runtime%size(), ' ranks: a(1000) is ', row(10), ', the sum ', total
    call a%free()
    call runtime%free()
end program
