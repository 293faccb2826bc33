!> Indices with strides, arrays over parts of a space, patterns that are procedures, and copies in the halo.
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
                    call expect(a%is_prefetched([i, j]) .eqv. beside, 'columns beside the own ones')
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
                call expect(abs(around(i, j) - value_at(i, j)) < 0.1_real64, 'the own part and its halo')
            end do
        end do
        call a%halo_view(wrong, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'int32')
        call a%barrier()
    end subroutine

end program
