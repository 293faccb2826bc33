! Heat spreading over a plate, in blocks of a grid of ranks, with MPI_Cart and derived types: what examples/fortran/heat.f90 does with
! Lapwing.
!
!     mpifort -O2 heat_mpi.f90 -o heat_mpi && mpirun -n 4 ./heat_mpi [n] [steps]
program heat_mpi
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi_f08
    implicit none
    real(real64), allocatable :: u(:, :), next(:, :)
    real(real64) :: seconds
    integer(int64) :: total
    integer :: n, steps, rank, ranks, step, i, j
    ! [declarations]
    type(MPI_Comm) :: grid
    type(MPI_Datatype) :: edge
    integer :: processes(2), place(2), first(2), last(2), block(2), left, right, up, down, d
    ! [end]

    n = argument(1, 500)
    steps = argument(2, 100)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)

    ! [setup]
    processes = 0
    call MPI_Dims_create(ranks, 2, processes)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, processes, [.false., .false.], .false., grid)
    call MPI_Cart_coords(grid, rank, 2, place)
    call MPI_Cart_shift(grid, 0, 1, up, down)
    call MPI_Cart_shift(grid, 1, 1, left, right)
    do d = 1, 2
        block(d) = (n + processes(d) - 1) / processes(d)
        first(d) = place(d) * block(d) + 1
        last(d) = min(n, first(d) + block(d) - 1)
    end do
    allocate(u(first(1) - 1:last(1) + 1, first(2) - 1:last(2) + 1), next(first(1):last(1), first(2):last(2)))
    ! One element of each column: what the ranks above and below need.
    call MPI_Type_vector(last(2) - first(2) + 1, 1, last(1) - first(1) + 3, MPI_REAL8, edge)
    call MPI_Type_commit(edge)
    ! [end]

    u = 0
    next = 0
    if (first(1) == 1) next(1, :) = 100 ! the upper edge is hot
    u(first(1):last(1), first(2):last(2)) = next
    seconds = -MPI_Wtime()
    do step = 1, steps
        ! [exchange]
        call MPI_Sendrecv(u(first(1), first(2)), 1, edge, up, 0, u(last(1) + 1, first(2)), 1, edge, down, 0, &
            grid, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(u(last(1), first(2)), 1, edge, down, 1, u(first(1) - 1, first(2)), 1, edge, up, 1, &
            grid, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(u(first(1), first(2)), last(1) - first(1) + 1, MPI_REAL8, left, 2, &
            u(first(1), last(2) + 1), last(1) - first(1) + 1, MPI_REAL8, right, 2, grid, MPI_STATUS_IGNORE)
        call MPI_Sendrecv(u(first(1), last(2)), last(1) - first(1) + 1, MPI_REAL8, right, 3, &
            u(first(1), first(2) - 1), last(1) - first(1) + 1, MPI_REAL8, left, 3, grid, MPI_STATUS_IGNORE)
        ! [end]
        do j = max(first(2), 2), min(last(2), n - 1)
            do i = max(first(1), 2), min(last(1), n - 1)
                next(i, j) = 0.25_real64 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
            end do
        end do
        ! [publish]
        u(first(1):last(1), first(2):last(2)) = next
        ! [end]
    end do
    seconds = seconds + MPI_Wtime()

    total = digest(next, first)
    ! [result]
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER8, MPI_SUM, grid)
    ! [end]
    if (rank == 0) print '(i0, a, i0, a, z16.16)', n, ' rows, ', steps, ' steps: ', total
    if (rank == 0) print '(f0.3, a)', seconds, ' s'
    call MPI_Type_free(edge)
    call MPI_Comm_free(grid)
    call MPI_Finalize()

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
