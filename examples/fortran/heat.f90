! Heat spreading over a plate, in blocks of a grid of ranks, with Lapwing: what examples/fortran/heat_mpi.f90 does with messages.
!
!     mpifort -O2 heat.f90 $(pkg-config --cflags --libs lapwing-fortran) -o heat && mpirun -n 4 ./heat [n] [steps]
program heat
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi_f08, only: MPI_COMM_WORLD, MPI_Wtime
    use lapwing
    implicit none
    real(real64), pointer :: u(:, :), next(:, :)
    real(real64) :: seconds
    integer(int64) :: total
    integer :: n, steps, rank, step, i, j
    ! [declarations]
    type(lapwing_runtime) :: runtime
    type(lapwing_array) :: plate
    type(lapwing_halo) :: halo
    integer :: first(2), last(2)
    ! [end]

    n = argument(1, 500)
    steps = argument(2, 100)
    call runtime%create(MPI_COMM_WORLD)
    rank = runtime%rank()

    ! [setup]
    call plate%create(runtime, LAPWING_REAL64, [n, n])
    call halo%create(plate, 1)
    call plate%local(next) ! own elements, by their indices: the array itself
    first = lbound(next)
    last = ubound(next)
    ! [end]

    if (first(1) == 1) next(1, :) = 100 ! the upper edge is hot
    call runtime%barrier()
    seconds = -MPI_Wtime()
    do step = 1, steps
        ! [exchange]
        call halo%exchange()
        call halo%local(u)
        ! [end]
        do j = max(first(2), 2), min(last(2), n - 1)
            do i = max(first(1), 2), min(last(1), n - 1)
                next(i, j) = 0.25_real64 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
            end do
        end do
    end do
    seconds = seconds + MPI_Wtime()

    total = digest(next, first)
    ! [result]
    call runtime%sum(total)
    ! [end]
    if (rank == 0) print '(i0, a, i0, a, z16.16)', n, ' rows, ', steps, ' steps: ', total
    if (rank == 0) print '(f0.3, a)', seconds, ' s'
    call halo%free()
    call plate%free()
    call runtime%free()

contains

    !> A number that depends on every bit of a block, whoever has it; below 2^62 for any number of ranks that has a block.
    integer(int64) function digest(values, lower)
        real(real64), intent(in) :: values(:, :)
        integer, intent(in) :: lower(2)
        integer(int64) :: bits
        integer :: p, q

        digest = 0
        do q = 1, size(values, 2)
            do p = 1, size(values, 1)
                bits = transfer(values(p, q), bits)
                bits = iand(ieor(bits, ishft(bits, -29)), int(z'FFFFFFF', int64))
                digest = digest + bits * mod(int(lower(1) + p, int64) * 31 + (lower(2) + q) * 17, 8191_int64)
            end do
        end do
    end function

    !> A number of the command line.
    integer function argument(k, otherwise)
        integer, intent(in) :: k, otherwise
        character(len=20) :: text

        argument = otherwise
        call get_command_argument(k, text)
        if (text /= '') read (text, *) argument
    end function

end program
