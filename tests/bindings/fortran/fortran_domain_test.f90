!> Indices with strides, arrays over parts of a space and on some of the ranks, patterns that are procedures, and copies in the halo.
program fortran_domain_test
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_ptr
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use lapwing
    use check
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks

    call start(runtime, rank, ranks)
    call strided()
    call aligned()
    call on_ranks()
    call blocks()
    call on_wrong_ranks()
    call procedure_patterns()
    call in_halo()
    call runtime%free()

contains

    pure real(real64) function value_at(i, j)
        integer, intent(in) :: i, j

        value_at = 100 * i + j
    end function

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

    !> Indices 2, 5, 8, 11 and -3, -1, ..., 9.
    subroutine strided()
        type(lapwing_array) :: a, b
        real(real64) :: all_of(4, 7), some(2, 3), x
        real(real64), pointer :: own(:, :)
        integer :: i, j, stat
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [4, 7], lower=[2, -3], stride=[3, 2])
        call expect(all(a%stride() == [3, 2]) .and. all(a%upper() == [11, 9]), 'stride and upper')
        call fill_own(a)
        do j = -3, 9, 2
            do i = 2, 11, 3
                call a%get_element([i, j], x)
                call expect(abs(x - value_at(i, j)) < 0.1_real64, 'elements')
            end do
        end do
        ! Without a stride a patch has each index of the array.
        call a%get([2, -3], [11, 9], all_of)
        call expect(abs(all_of(2, 3) - value_at(5, 1)) < 0.1_real64, 'patch')
        call a%get([2, -3], [8, 5], some, stride=[6, 4])
        call expect(abs(some(2, 3) - value_at(8, 5)) < 0.1_real64, 'patch with gaps')
        call a%local(own)
        call expect(size(own) == 0 .or. all(lbound(own) == 1), 'positions of own elements')
        call a%get_element([3, -3], x, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'index 3')
        call b%create(runtime, LAPWING_REAL64, [4, 7], stride=[3], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'stride'")
        call b%create(runtime, LAPWING_REAL64, [4, 7], stride=[3, 0], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'stride 0')
        call a%barrier()
    end subroutine

    subroutine aligned()
        type(lapwing_array) :: whole, inner
        integer :: i, j, stat
        character(400) :: errmsg

        call whole%create(runtime, LAPWING_REAL64, [12, 10], lower=[0, 0], distribution=LAPWING_BLOCK_CYCLIC, block=[3, 2], &
            space_lower=[0, 0], space_upper=[11, 9])
        call inner%create(runtime, LAPWING_REAL64, [10, 8], lower=[1, 1], distribution=LAPWING_BLOCK_CYCLIC, block=[3, 2], &
            space_lower=[0, 0], space_upper=[11, 9])
        call fill_own(whole)
        call fill_own(inner)
        do j = 1, 8
            do i = 1, 10
                call expect(whole%owner([i, j]) == inner%owner([i, j]), 'on the same rank')
            end do
        end do
        call inner%free()
        call inner%create(runtime, LAPWING_REAL64, [10, 8], space_lower=[0], space_upper=[11, 9], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'space_lower'")
        call inner%create(runtime, LAPWING_REAL64, [10, 8], space_lower=[0, 0], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'space_upper'")
        call inner%create(runtime, LAPWING_REAL64, [10, 8], space_lower=[2, 0], space_upper=[11, 9], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'space')
    end subroutine

    !> All ranks but rank 0, the last one first; a single rank has them all.
    subroutine on_ranks()
        type(lapwing_array) :: few, everywhere, part
        type(lapwing_relabelling) :: order
        integer, allocatable :: chosen(:)
        real(real64) :: x, sum_of
        integer :: i, j

        chosen = [(i, i=ranks - 1, 1, -1)]
        if (ranks == 1) chosen = [0]
        call few%create(runtime, LAPWING_REAL64, [7, 11], distribution=LAPWING_BLOCK_CYCLIC, block=[3, 2], ranks=chosen)
        call everywhere%create(runtime, LAPWING_REAL64, [7, 11])
        call fill_own(few)
        call expect(any(chosen == rank) .or. few%domain_count(rank) == 0, 'no elements on other ranks')
        call expect(few%owner([1, 1]) == chosen(1), 'process 0 is the first of the ranks')
        call everywhere%copy(few)
        do j = 1, 11
            do i = 1, 7
                call expect(any(chosen == few%owner([i, j])), 'owners')
                call few%get_element([i, j], x)
                call expect(abs(x - value_at(i, j)) < 0.1_real64, 'elements')
            end do
        end do
        call few%sum(x)
        call everywhere%sum(sum_of)
        call expect(abs(x - sum_of) < 0.1_real64, 'sums')
        call few%redistribute(LAPWING_CYCLIC)
        call few%redistribute(LAPWING_CYCLIC, ranks=chosen)
        call expect(few%owner([7, 11]) /= 0 .or. ranks == 1, 'redistributed')
        call few%get_element([7, 11], x)
        call expect(abs(x - value_at(7, 11)) < 0.1_real64, 'elements after it')
        call order%create(everywhere, LAPWING_BLOCK, ranks=chosen)
        call everywhere%redistribute_ordered(LAPWING_BLOCK, ranks=chosen, order=order)
        call everywhere%get_element([7, 11], x)
        call expect(abs(x - value_at(7, 11)) < 0.1_real64, 'elements in another order')
        call part%create(runtime, LAPWING_REAL64, [5, 9], space_lower=[0, 0], space_upper=[6, 12], ranks=chosen)
        call expect(any(chosen == part%owner([5, 9])), 'part of a space')
        call part%barrier()
    end subroutine

    !> Columns in blocks of their own lengths, and rows likewise.
    subroutine blocks()
        type(lapwing_array) :: a, b, c, wrong
        real(real64), pointer :: own(:, :)
        integer :: lengths(ranks), i, j, owner, stat
        real(real64) :: x
        character(400) :: errmsg

        lengths = [(merge(0, 1 + mod(i, 2), i == 0), i=0, ranks - 1)]
        lengths(ranks) = 13 - sum(lengths(:ranks - 1))
        call a%create(runtime, LAPWING_REAL64, [7, 13], distribution=LAPWING_BLOCKS, block=lengths)
        call b%create(runtime, LAPWING_REAL64, [13, 7], distribution=LAPWING_BLOCKS, block=lengths, grid=[ranks, 0])
        call c%create(runtime, LAPWING_REAL64, [13, 7], distribution=LAPWING_BLOCKS, block=[lengths, 7], grid=[ranks, 1])
        call fill_own(a)
        call fill_own(b)
        call fill_own(c)
        do j = 1, 13
            do i = 1, 7
                owner = a%owner([i, j])
                call expect(j > sum(lengths(:owner)) .and. j <= sum(lengths(:owner + 1)), 'owners')
                call expect(b%owner([j, i]) == owner .and. c%owner([j, i]) == owner, 'owners of rows')
                call a%get_element([i, j], x)
                call expect(abs(x - value_at(i, j)) < 0.1_real64, 'elements')
                call c%get_element([j, i], x)
                call expect(abs(x - value_at(j, i)) < 0.1_real64, 'elements in rows')
            end do
        end do
        call a%local(own)
        call expect(size(own) == 7 * lengths(rank + 1), 'own part')
        x = value_at(2, sum(lengths(:rank + 1)))
        if (size(own) > 0) call expect(abs(own(2, ubound(own, 2)) - x) < 0.1_real64, 'own elements')
        call wrong%create(runtime, LAPWING_REAL64, [12], distribution=LAPWING_BLOCKS, block=lengths, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'have 13 indices in all, and its extent is 12')
        call a%barrier()
    end subroutine

    subroutine on_wrong_ranks()
        type(lapwing_array) :: a
        integer :: none(0), stat
        character(400) :: errmsg

        ! A constructor of no elements is an absent argument for gfortran 12.
        call a%create(runtime, LAPWING_REAL64, [4], ranks=none, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'at least one')
        call a%create(runtime, LAPWING_REAL64, [4], grid=none, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'grid' has 0 numbers")
        call a%create(runtime, LAPWING_REAL64, [4], ranks=[ranks], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'is outside [0, ')
        call a%create(runtime, LAPWING_REAL64, [4], ranks=[0, 0], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'rank 0 is named twice')
        call a%create(runtime, LAPWING_REAL64, [4], distribution=LAPWING_REPLICATED, ranks=[0], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'replicated')
        call a%create(runtime, LAPWING_REAL64, [4], distribution=LAPWING_ON_RANKS, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'at least one')
        call a%create(runtime, LAPWING_REAL64, [4])
        call a%redistribute(LAPWING_BLOCK, ranks=[-1], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'rank -1')
    end subroutine

    !> The columns next to the rank's own.
    integer(c_int) function columns_around(context, dimensions, lower, upper, stride, needed) bind(C) result(code)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions
        integer(c_int64_t), intent(in) :: lower(*), upper(*), stride(*)
        type(c_ptr), value :: needed

        code = 0
        if (upper(2) < lower(2) .or. stride(1) /= 1) return
        call lapwing_needed_add(needed, [lower(1), lower(2) - 1], [upper(1), upper(2) + 1], stat=code)
    end function

    integer(c_int) function refusing(context, dimensions, lower, upper, stride, needed) bind(C) result(code)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions
        integer(c_int64_t), intent(in) :: lower(*), upper(*), stride(*)
        type(c_ptr), value :: needed
        integer :: stat

        call lapwing_needed_add(needed, [1, 1], [2, 2], stride=[1, 0], stat=stat)
        code = merge(5, 6, stat == LAPWING_ERR_RANGE)
    end function

    subroutine procedure_patterns()
        type(lapwing_array) :: a
        integer :: i, j, stat, own(2), last(2)
        logical :: beside
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [5, 12], grid=[1, 0])
        call fill_own(a)
        call a%prefetch_function(refusing, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '5')
        call a%prefetch_function(columns_around, consistent=.false.)
        if (a%domain_count(rank) > 0) then
            call a%domain(rank, 0, own, last)
            do j = 1, 12
                do i = 1, 5
                    beside = j == own(2) - 1 .or. j == last(2) + 1
                    call expect(a%is_prefetched([i, j]) .eqv. beside, 'columns beside its own')
                end do
            end do
        end if
        call a%barrier()
    end subroutine

    subroutine in_halo()
        type(lapwing_array) :: a
        real(real64), pointer :: around(:, :)
        integer, pointer :: wrong(:, :)
        integer :: i, j, stat
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [9, 8], lower=[-1, 3], halo=1)
        call fill_own(a)
        call a%halo_view(around, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'halo')
        call a%prefetch_pattern(LAPWING_PATTERN_STENCIL, consistent=.false., storage=LAPWING_STORE_IN_HALO)
        call a%halo_view(around)
        do j = lbound(around, 2), ubound(around, 2)
            do i = lbound(around, 1), ubound(around, 1)
                call expect(abs(around(i, j) - value_at(i, j)) < 0.1_real64, 'the rank''s own part and its halo')
            end do
        end do
        call a%halo_view(wrong, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'int32')
        call a%barrier()
    end subroutine

end program
