!> Global arrays: own parts by global indices, elements, patches to sections, lists, slices, halos, reductions.
program fortran_array_test
    use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_ptr
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use lapwing
    use check
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks

    call start(runtime, rank, ranks)
    call two_dimensions(LAPWING_BLOCK, [1, 1])
    call two_dimensions(LAPWING_BLOCK, [-3, 5])
    call two_dimensions(LAPWING_CYCLIC, [1, 1])
    call two_dimensions(LAPWING_REPLICATED, [0, 0])
    call room_for_a_halo()
    call lists()
    call slices()
    call halos()
    call halos_of_structures()
    call kinds()
    call wrong_arguments()
    call runtime%free()

contains

    pure real(real64) function value_at(i, j)
        integer, intent(in) :: i, j

        value_at = 100 * i + j
    end function

    !> Writes value_at() to the local elements, by what the array says of them.
    subroutine fill_own(a)
        type(lapwing_array), intent(in) :: a
        integer :: lower(2), upper(2), stride(2), i, j
        integer(int64) :: k

        do k = 0, a%domain_count(rank) - 1
            call a%domain(rank, int(k), lower, upper, stride)
            do j = lower(2), upper(2), stride(2)
                do i = lower(1), upper(1), stride(1)
                    call a%put_element([i, j], value_at(i, j))
                end do
            end do
        end do
        call a%barrier()
    end subroutine

    subroutine two_dimensions(distribution, lower)
        integer, intent(in) :: distribution, lower(2)
        integer, parameter :: n = 7, m = 9
        type(lapwing_array) :: a
        type(lapwing_completion) :: completion
        real(real64), pointer :: p(:, :)
        real(real64) :: x, all_of(n, m), turned(m)
        real(real64), asynchronous :: wide(2 * n, m + 2)
        integer :: i, j, upper(2)

        upper = lower + [n, m] - 1
        call a%create(runtime, LAPWING_REAL64, [n, m], lower=lower, distribution=distribution, name='a')
        call expect(all(a%extents() == [n, m]) .and. all(a%lower() == lower) .and. all(a%upper() == upper), 'shape')
        call expect(a%size() == n * m .and. a%dimensions() == 2 .and. a%type() == LAPWING_REAL64, 'size')
        call fill_own(a)
        do j = lower(2), upper(2)
            do i = lower(1), upper(1)
                call a%get_element([i, j], x)
                call expect(abs(x - value_at(i, j)) < 0.1, 'get_element')
            end do
        end do
        call a%get(lower, upper, all_of)
        call expect(abs(all_of(2, 3) - value_at(lower(1) + 1, lower(2) + 2)) < 0.1, 'dimension 1 is the first')
        ! Sections: with gaps in both dimensions, backwards, and a row.
        wide = -7
        call a%get(lower, upper, wide(2:2 * n:2, m:1:-1))
        call expect(all(abs(wide(2:2 * n:2, m:1:-1) - all_of) < 0.1) .and. all(abs(wide(1:2 * n:2, :) + 7) < 0.1), 'section')
        wide = -7
        call a%start_get(lower, upper, wide(1:n, 2:m + 1), completion)
        call completion%wait()
        call expect(all(abs(wide(1:n, 2:m + 1) - all_of) < 0.1) .and. all(abs(wide(:, 1) + 7) < 0.1), 'started')
        call a%get([lower(1) + 2, lower(2)], [lower(1) + 2, upper(2)], turned(m:1:-1))
        call expect(all(abs(turned(m:1:-1) - all_of(3, :)) < 0.1), 'a row, backwards')
        call a%get(lower, upper, wide(1:4, 1:3), stride=[2, 4])
        call expect(all(abs(wide(1:4, 1:3) - all_of(1:n:2, 1:m:4)) < 0.1), 'strides of the patch')
        call a%local(p)
        if (distribution == LAPWING_BLOCK) then
            do j = lbound(p, 2), ubound(p, 2)
                do i = lbound(p, 1), ubound(p, 1)
                    call expect(abs(p(i, j) - value_at(i, j)) < 0.1, 'p(i, j) has global indices')
                end do
            end do
        end if
        call a%barrier()
        if (rank == 0) call a%put(lower, [upper(1), lower(2)], all_of(n:1:-1, 2))
        call a%barrier()
        call a%get_element(lower, x)
        call expect(abs(x - all_of(n, 2)) < 0.1, 'put of a column, backwards')
        call a%barrier()
    end subroutine

    !> The own part lies in something larger: the pointer has strides.
    subroutine room_for_a_halo()
        type(lapwing_array) :: a
        real(real32), pointer :: p(:, :, :)
        real(real32) :: x(1, 1, 1)
        integer :: i, j, k

        call a%create(runtime, LAPWING_REAL32, [5, 6, 4], halo=2)
        call expect(a%halo_depth() == 2, 'depth')
        call a%local(p)
        do k = lbound(p, 3), ubound(p, 3)
            do j = lbound(p, 2), ubound(p, 2)
                do i = lbound(p, 1), ubound(p, 1)
                    p(i, j, k) = real(100 * i + 10 * j + k, real32)
                end do
            end do
        end do
        call a%barrier()
        call a%get([5, 6, 4], [5, 6, 4], x)
        call expect(nint(x(1, 1, 1)) == 564, 'the last one')
        call a%get([1, 2, 3], [1, 2, 3], x)
        call expect(nint(x(1, 1, 1)) == 123, 'one between')
        call a%barrier()
    end subroutine

    subroutine lists()
        type(lapwing_array) :: a
        integer(int64) :: values(4), before(2), where(2), total
        integer(int64) :: one

        call a%create(runtime, LAPWING_INT64, [8, 8])
        if (rank == 0) call a%scatter(reshape([1, 1, 8, 8, 3, 5, 5, 3], [2, 4]), [11_int64, 88_int64, 35_int64, 53_int64])
        call a%barrier()
        values = 0
        call a%gather(reshape([5, 3, 3, 5, 8, 8, 1, 1], [2, 4]), values)
        call expect(all(values == [53, 35, 88, 11]), 'gather')
        call a%max(one, where)
        call expect(one == 88 .and. all(where == [8, 8]), 'max')
        call a%sum(total)
        call expect(total == 187, 'sum')
        call a%min(one)
        call expect(one == 0, 'min')
        call a%barrier()
        call a%fetch_list(LAPWING_ADD, reshape([3, 5, 5, 3], [2, 2]), 1_int64, before)
        call a%barrier()
        call a%fetch(LAPWING_READ, [3, 5], 0_int64, one)
        call expect(one == 35 + ranks, 'all have added')
        call a%barrier()
        call a%update(LAPWING_ADD, [3, 5], 1_int64)
        call a%barrier()
        call a%get_element([3_int64, 5_int64], one)
        call expect(one == 35 + 2 * ranks, 'update')
        call a%fill(4_int64)
        call a%sum(total)
        call expect(total == 256, 'fill')
        call a%resize([9, 9])
        call a%redistribute(LAPWING_CYCLIC)
        call a%sum(total)
        call expect(total == 256, 'resize and redistribute')
    end subroutine

    subroutine slices()
        type(lapwing_array) :: a, b
        type(lapwing_slice) :: from, to, turned, column
        real(real64) :: x(4, 3), line(6)
        integer :: whole(6, 3)
        integer :: stat
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [6, 5])
        call b%create(runtime, LAPWING_REAL64, [3, 6], distribution=LAPWING_CYCLIC)
        call fill_own(a)
        call from%create(a, [1, 5], [6, 1], stride=[1, -2])
        call expect(all(from%extents() == [6, 3]), 'extents')
        call from%permute(permuted=turned)
        call expect(all(turned%extents() == [3, 6]), 'turned')
        call to%create(b)
        call to%assign(turned)
        call b%get([1, 1], [3, 1], line(1:3))
        call expect(all(nint(line(1:3)) == [105, 103, 101]), 'assigned')
        call column%create(a, [1, 2], [6, 2], drop=[.false., .true.])
        call expect(column%dimensions() == 1, 'one left')
        call column%get(line(6:1:-1))
        call expect(nint(line(6)) == 102 .and. nint(line(1)) == 602, 'a slice, backwards')
        x = 0
        call from%get(x, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '4 x 3')
        call from%get(whole, stat, errmsg)
        call expect(stat == LAPWING_ERR_USAGE, 'another type')
        call runtime%barrier()
    end subroutine

    subroutine halos()
        type(lapwing_array) :: a
        type(lapwing_halo) :: halo
        real(real64), pointer :: p(:, :)
        integer(int64), allocatable :: lower(:), upper(:)
        integer :: i, j

        call a%create(runtime, LAPWING_REAL64, [6, 8])
        call fill_own(a)
        call halo%create(a, 1, periodic=[.true., .false.])
        call halo%exchange()
        call halo%local(p)
        call halo%bounds(lower, upper)
        call expect(all(lbound(p) == lower) .and. all(ubound(p) == upper), 'bounds')
        do j = max(1, lbound(p, 2)), min(8, ubound(p, 2))
            do i = lbound(p, 1), ubound(p, 1)
                call expect(nint(p(i, j)) == 100 * (modulo(i - 1, 6) + 1) + j, 'halo')
            end do
        end do
        call halo%store()
        call a%barrier()
    end subroutine

    subroutine halos_of_structures()
        type :: field
            real(real64) :: r1 = 0, r2 = 0, i1 = 0, i2 = 0
        end type
        type(lapwing_array) :: a
        type(lapwing_halo) :: halo
        type(field) :: zero, one
        type(field), pointer :: all(:, :), u(:, :)
        type(c_ptr) :: memory
        integer(int64) :: extents(2), allocated(2), lower(2), wrong(3)
        integer :: i, j, stat
        character(400) :: errmsg

        call a%create(runtime, lapwing_type_of(zero), [6, 8], lower=[0, 1], halo=1)
        call a%local_address(memory, extents, allocated, lower)
        if (c_associated(memory)) then
            call c_f_pointer(memory, all, allocated)
            u(lower(1):, lower(2):) => all(1:extents(1), 1:extents(2))
            do j = lbound(u, 2), ubound(u, 2)
                do i = lbound(u, 1), ubound(u, 1)
                    u(i, j) = field(value_at(i, j), -value_at(i, j), i, j)
                end do
            end do
        end if
        call halo%create(a, 1, periodic=[.true., .false.])
        call halo%exchange()
        call halo%local_address(memory, extents, allocated, lower)
        if (c_associated(memory)) then
            call c_f_pointer(memory, all, allocated)
            u(lower(1):, lower(2):) => all(1:extents(1), 1:extents(2))
            do j = max(1, lbound(u, 2)), min(8, ubound(u, 2))
                do i = lbound(u, 1), ubound(u, 1)
                    one = u(i, j)
                    call expect(nint(one%r1) == nint(value_at(modulo(i, 6), j)) .and. nint(one%r2) == -nint(one%r1), 'a halo')
                    call expect(nint(one%i1) == modulo(i, 6) .and. nint(one%i2) == j, 'a halo of structures')
                end do
            end do
        else
            call expect(any(extents == 0), 'no part')
        end if
        call halo%local_address(memory, wrong, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '3 dimensions, and the array 2')
        call halo%free()
        call a%prefetch_pattern(LAPWING_PATTERN_STENCIL, consistent=.false., storage=LAPWING_STORE_IN_HALO)
        call a%halo_view_address(memory, extents, allocated, lower)
        if (c_associated(memory)) then
            call c_f_pointer(memory, all, allocated)
            u(lower(1):, lower(2):) => all(1:extents(1), 1:extents(2))
            do j = lbound(u, 2), ubound(u, 2)
                do i = lbound(u, 1), ubound(u, 1)
                    call expect(nint(u(i, j)%r1) == nint(value_at(i, j)), 'structures around the own part')
                end do
            end do
        end if
        call a%barrier()
    end subroutine

    subroutine kinds()
        type(lapwing_array) :: a
        complex(real64) :: z(2)
        logical :: flags(3)
        type :: particle
            real(real64) :: x
            integer :: n
        end type
        type(particle) :: one, many(4)
        integer :: stat
        character(400) :: errmsg

        call a%create(runtime, LAPWING_COMPLEX64, [5])
        if (rank == 0) call a%put([2], [3], [(1.0_real64, 2.0_real64), (3.0_real64, 4.0_real64)])
        call a%barrier()
        call a%get([3], [4], z)
        call expect(nint(aimag(z(1))) == 4, 'complex')
        call a%get([3], [4], flags(1:2), stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'buffer')
        call a%barrier()
        call a%free()
        call a%create(runtime, LAPWING_LOGICAL, [3])
        if (rank == ranks - 1) call a%put_element([2], .true.)
        call a%barrier()
        call a%get([1], [3], flags)
        call expect(all(flags .eqv. [.false., .true., .false.]), 'logical')
        call a%barrier()
        call a%free()
        call a%create(runtime, lapwing_type_of(one), [4])
        call expect(a%type() == lapwing_bytes(storage_size(one) / 8), 'structure')
        one = particle(2.5_real64, 7)
        if (rank == 0) call a%put_element([4], one)
        call a%barrier()
        call a%get([1], [4], many)
        call expect(many(4)%n == 7, 'structures')
        call a%barrier()
    end subroutine

    subroutine wrong_arguments()
        type(lapwing_array) :: a
        real(real64) :: x(3, 3)
        real(real64), pointer :: p(:, :)
        integer, pointer :: q(:, :)
        real(real64), pointer :: r(:)
        integer :: stat
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [4, 4], lower=[1], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'lower'")
        call a%create(runtime, LAPWING_REAL64, [4, 4])
        call a%get([0, 1], [2, 3], x, stat=stat, errmsg=errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'below')
        call a%get([1, 1], [3, 2], x, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '3 x 2')
        call a%get([1], [3], x, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'lower'")
        call a%get([1, 1], [3, 3], x, stride=[0, 1], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'stride')
        call a%get_element([1, 5], x(1, 1), stat, errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'beyond')
        call a%get_element([1, 4], x, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '9 elements')
        call a%local(q, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'int32')
        call a%local(r, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '1 dimensions')
        call a%local(p, stat, errmsg)
        call expect(stat == LAPWING_SUCCESS, 'as it is')
        call a%barrier()
    end subroutine

end program
