!> Arrays as memory: global indices in a pointer, of everything, a pattern, a patch and what a procedure names.
module named_columns
    use, intrinsic :: iso_c_binding
    use lapwing
    implicit none

contains

    !> The columns of the rank's own elements, and column -1.
    integer(c_int) function name_columns(context, dimensions, lower, upper, stride, needed) bind(C) result(code)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions
        integer(c_int64_t), intent(in) :: lower(*), upper(*), stride(*)
        type(c_ptr), value :: needed

        code = 0
        if (c_associated(context) .or. dimensions /= 2) code = 1
        if (upper(1) < lower(1) .or. stride(1) < 1) return
        call lapwing_needed_add(needed, [2_c_int64_t, lower(2)], [38_c_int64_t, upper(2)], [1_c_int64_t, stride(2)], stat=code)
        if (code == 0) call lapwing_needed_add(needed, [2, -1], [38, -1], stat=code)
    end function

end module

program fortran_mapped_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real64
    use lapwing
    use check
    use named_columns
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks

    call start(runtime, rank, ranks)
    call every_distribution()
    call parts()
    call dimensions_and_types()
    call errors()
    call runtime%free()

contains

    subroutine write_own(a, more)
        type(lapwing_array), intent(in) :: a
        real(real64), intent(in) :: more
        integer(int64) :: lower(2), upper(2), stride(2), i, j
        integer(int64) :: k

        do k = 0, a%domain_count(rank) - 1
            call a%domain(rank, k, lower, upper, stride)
            do j = lower(2), upper(2), stride(2)
                do i = lower(1), upper(1), stride(1)
                    call a%put_element([i, j], value_at(i, j) + more)
                end do
            end do
        end do
        call a%barrier()
    end subroutine

    real(real64) function value_at(i, j)
        integer(int64), intent(in) :: i, j

        value_at = 1000 * j + i
    end function

    !> The elements from lower to upper are as write_own() has written them.
    subroutine expect_elements(p, lower, upper, more)
        real(real64), pointer, intent(in) :: p(:, :)
        integer, intent(in) :: lower(2), upper(2)
        real(real64), intent(in) :: more
        integer :: i, j

        do j = lower(2), upper(2)
            do i = lower(1), upper(1)
                call expect(abs(p(i, j) - value_at(int(i, int64), int(j, int64)) - more) < 0.1_real64, 'p(i, j) is a(i, j)')
            end do
        end do
    end subroutine

    subroutine every_distribution()
        type(lapwing_array) :: a
        type(lapwing_mapped) :: whole
        type(lapwing_completion) :: completion
        real(real64), pointer :: p(:, :)
        integer :: kind

        do kind = LAPWING_BLOCK, LAPWING_REPLICATED
            if (kind == LAPWING_BLOCK_CYCLIC) then
                call a%create(runtime, LAPWING_REAL64, [37, 29], lower=[2, -1], distribution=kind, block=[3, 2])
            else
                call a%create(runtime, LAPWING_REAL64, [37, 29], lower=[2, -1], distribution=kind)
            end if
            call write_own(a, 0.0_real64)
            call whole%create(a)
            call whole%view(p)
            call expect(all(lbound(p) == [2, -1]) .and. all(ubound(p) == [38, 27]), 'the bounds are those of the array')
            call expect_elements(p, [2, -1], [38, 27], 0.0_real64)
            call a%barrier()
            call write_own(a, 0.25_real64)
            call whole%refresh()
            call expect_elements(p, [2, -1], [38, 27], 0.25_real64)
            call a%barrier()
            call write_own(a, 0.5_real64)
            call whole%start_refresh(completion)
            call completion%wait()
            call expect_elements(p, [2, -1], [38, 27], 0.5_real64)
            call a%barrier()
            call whole%free()
            call a%free()
        end do
    end subroutine

    subroutine parts()
        type(lapwing_array) :: a
        type(lapwing_mapped) :: columns, patch, named, again, asked
        real(real64), pointer :: p(:, :), q(:, :), r(:, :)
        integer(int64) :: lower(2), upper(2)

        ! Blocks of columns, so that own ones are whole.
        call a%create(runtime, LAPWING_REAL64, [37, 29], lower=[2, -1], distribution=LAPWING_BLOCK, grid=[1, 0])
        call write_own(a, 0.0_real64)
        call columns%create(a, LAPWING_PATTERN_STENCIL, depth=1, periodic=[.true., .false.])
        call columns%view(p)
        call patch%create_patch(a, [3, 5], [30, 8])
        call patch%view(q)
        call named%create_function(a, name_columns)
        call named%view(r)
        call expect(columns%memory() >= 0 .and. patch%memory() >= 0, 'memory')
        call expect_elements(q, [3, 5], [30, 8], 0.0_real64)
        call expect_elements(r, [2, -1], [38, -1], 0.0_real64)
        if (a%domain_count(rank) == 1) then
            call a%domain(rank, 0_int64, lower, upper)
            call expect_elements(p, [2, max(-1, int(lower(2)) - 1)], [38, min(27, int(upper(2)) + 1)], 0.0_real64)
            call expect_elements(r, [2, int(lower(2))], [38, int(upper(2))], 0.0_real64)
        end if
        call a%barrier()
        call write_own(a, 0.5_real64)
        call again%create_patch(a, [3_int64, 6_int64], [30_int64, 6_int64], [9_int64, 1_int64])
        call asked%create_on_demand(a)
        call asked%view(p)
        call expect_elements(p, [2, -1], [38, 27], 0.5_real64)
        call again%view(p)
        call expect(abs(p(30, 6) - 6030.5_real64) < 0.1_real64, 'with a stride')
        call patch%refresh()
        call expect_elements(q, [3, 5], [30, 8], 0.5_real64)
        call a%barrier()
        call a%free()
        ! The memory stays, and finalizers free it.
        call expect_elements(q, [3, 5], [30, 8], 0.5_real64)
    end subroutine

    subroutine dimensions_and_types()
        type(lapwing_array) :: line, cube, strided
        type(lapwing_mapped) :: of_line, of_cube, of_strided
        integer(int32), pointer :: p(:), s(:)
        complex(real64), pointer :: q(:, :, :)
        type(c_ptr) :: memory
        integer(int64) :: extents(3), allocated(3), lower(3)

        call line%create(runtime, LAPWING_INT32, [5000], distribution=LAPWING_CYCLIC)
        call cube%create(runtime, LAPWING_COMPLEX64, [5, 6, 7], lower=[0, 1, -2])
        call strided%create(runtime, LAPWING_INT32, [10], lower=[4], stride=[3])
        if (rank == ranks - 1) then
            call line%put_element([4321], 77_int32)
            call cube%put_element([4, 1, 0], (1.0_real64, 2.0_real64))
            call strided%put_element([7], 5_int32)
        end if
        call runtime%barrier()
        call of_line%create(line)
        call of_line%view(p)
        call expect(lbound(p, 1) == 1 .and. size(p) == 5000 .and. p(4321) == 77 .and. sum(p) == 77, 'one dimension')
        call of_cube%create(cube)
        call of_cube%view(q)
        call expect(abs(q(4, 1, 0) - (1.0_real64, 2.0_real64)) < 0.1_real64, 'three dimensions')
        call of_cube%view_address(memory, extents, allocated, lower)
        call expect(c_associated(memory) .and. all(extents == [5, 6, 7]) .and. all(allocated == extents) .and. &
            all(lower == [0, 1, -2]), 'view_address')
        call of_strided%create(strided)
        call of_strided%view(s)
        call expect(lbound(s, 1) == 1 .and. s(2) == 5, 'strided indices are positions')
        call runtime%barrier()
        call line%free()
        call cube%free()
        call strided%free()
    end subroutine

    subroutine errors()
        type(lapwing_array) :: a
        type(lapwing_mapped) :: mapped
        real(real64), pointer :: p(:, :), line(:)
        integer(int32), pointer :: numbers(:, :)
        integer :: stat
        character(400) :: errmsg

        call mapped%refresh(stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'null')
        call mapped%create(a, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'array')
        call a%create(runtime, LAPWING_REAL64, [6, 5])
        call mapped%create(a, 17, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'kind')
        call mapped%create(a, LAPWING_PATTERN_STENCIL, periodic=[.true.], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'periodic')
        call mapped%create_patch(a, [1, 1], [7, 5], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'leaves')
        call mapped%create(a)
        call mapped%create(a, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'mapped')
        call mapped%view(numbers, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, "array's type")
        call mapped%view(line, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'dimensions')
        call a%resize([7, 5])
        call mapped%refresh(stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'map it again')
        call mapped%view(p)
        call expect(size(p, 1) == 6, 'as the array was')
        call mapped%free()
        call a%free()
    end subroutine

end program
