!> Functions at the owner, their results and failures, and aggregators.
module own_functions
    use, intrinsic :: iso_c_binding
    use lapwing
    implicit none
    integer(c_int64_t), target, save :: counter = 0

contains

    !> Adds the argument to the counter that is its context, and returns it.
    integer(c_int) function count_up(context, element, argument, argument_bytes, result, result_bytes) bind(C)
        type(c_ptr), value :: context, element, argument, result
        integer(c_int64_t), value :: argument_bytes
        integer(c_int64_t), intent(inout) :: result_bytes
        integer(c_int64_t), pointer :: all, one, total

        if (argument_bytes /= 8) then
            count_up = lapwing_function_fail('count takes an integer(int64)')
            return
        end if
        call c_f_pointer(context, all)
        call c_f_pointer(argument, one)
        all = all + one
        if (result_bytes >= 8) then
            call c_f_pointer(result, total)
            total = all
        end if
        count_up = 0
    end function

    !> Keeps the larger value, and returns what was there.
    integer(c_int) function largest(context, element, argument, argument_bytes, result, result_bytes) bind(C)
        type(c_ptr), value :: context, element, argument, result
        integer(c_int64_t), value :: argument_bytes
        integer(c_int64_t), intent(inout) :: result_bytes
        real(c_double), pointer :: here, given, before

        call c_f_pointer(element, here)
        call c_f_pointer(argument, given)
        call c_f_pointer(result, before)
        before = here
        here = max(here, given)
        largest = 0
    end function

end module

program fortran_function_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use lapwing
    use check
    use own_functions
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks, next, stat, k
    character(400) :: errmsg

    call lapwing_function_register('count', count_up, c_loc(counter))
    call lapwing_function_register('largest', largest)
    call lapwing_function_register('count', largest, stat=stat, errmsg=errmsg)
    call fails(stat, LAPWING_ERR_USAGE, errmsg, 'another function')
    call start(runtime, rank, ranks)
    next = mod(rank + 1, ranks)
    call runtime%barrier()
    call calls()
    call elements()
    call sums()
    call runtime%free()

contains

    subroutine calls()
        integer(int64) :: total, one
        integer(int64) :: two(2)
        type(lapwing_future) :: future, dropped

        one = 1
        call runtime%call(next, 'count', one, total)
        call expect(total == 1, 'a call returns the counter')
        call runtime%call(next, 'count', one)
        call runtime%start_call(next, 'count', future, one, 8)
        do while (.not. future%ready())
        end do
        two = 7
        call future%get(two)
        call expect(two(1) == 3 .and. two(2) == 0, 'a future has the result, and zeros behind it')
        call runtime%start_call(next, 'count', dropped, one, 8)
        call dropped%free()
        do k = 1, 100
            call runtime%post(next, 'count', one)
        end do
        call runtime%call(next, 'count', one, total, LAPWING_WHERE_PROGRAM)
        call runtime%barrier()
        call expect(counter == 105, 'all have been counted')
        call runtime%call(next, 'count', 1, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_FUNCTION, errmsg, 'count takes an integer(int64)')
        call runtime%post(next, 'unheard of', stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'no function "unheard of"')
        call runtime%start_call(next, 'count', future, one, -8, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '-8')
        call runtime%post(next, 'count', 1)
        call runtime%quiesce(stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_FUNCTION, errmsg, 'of the functions')
        call runtime%barrier()
    end subroutine

    subroutine elements()
        type(lapwing_array) :: a
        type(lapwing_future) :: future
        real(real64) :: before, values(20), results(20)
        integer :: indices(1, 20)

        call a%create(runtime, LAPWING_REAL64, [20])
        do k = 1, 20
            indices(1, k) = 1 + mod(7 * k, 20)
            values(k) = k
        end do
        call a%post_list(indices, 'largest', values)
        call runtime%barrier()
        call a%apply_list(indices, 'largest', values(20:1:-1), results)
        call expect(all(results >= values), 'results are in the order of the indices')
        call runtime%barrier()
        call a%post_list(indices, 'largest', 30.0_real64)
        call runtime%barrier()
        call a%apply([3], 'largest', 31.0_real64, before)
        call expect(before >= 30, 'an element has what was posted')
        call a%post([4_int64], 'largest', 31.0_real64)
        call runtime%barrier()
        call a%start_apply([4], 'largest', future, 1.0_real64, 8)
        call future%get(before)
        call expect(nint(before) == 31, 'apply without waiting')
        call a%post([21], 'largest', 1.0_real64, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '21')
        call a%post_list(indices, 'largest', values(1:3), stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'arguments')
        call a%free()
    end subroutine

    subroutine sums()
        type(lapwing_array) :: a
        type(lapwing_aggregator) :: aggregator
        integer(int64), asynchronous :: got(12), one
        integer :: indices(2, 12)

        call a%create(runtime, LAPWING_INT64, [4, 3])
        do k = 1, 12
            indices(:, k) = [1 + mod(k - 1, 4), 1 + (k - 1) / 4]
        end do
        call aggregator%create(runtime)
        call aggregator%add_list(a, indices, 2_int64)
        call aggregator%add(a, [2, 3], 5_int64)
        call runtime%barrier()
        call aggregator%get_list(a, indices, got)
        call aggregator%get(a, [2, 3], one)
        call aggregator%flush()
        call expect(one == 7 * ranks .and. sum(got) == ranks * (24 + 5), 'sums of all ranks')
        call runtime%barrier()
        if (rank == 0) then
            call aggregator%put_list(a, indices, got)
            call aggregator%put(a, [1, 1], -1_int64)
        end if
        call runtime%barrier()
        call aggregator%get(a, [1, 1], one)
        call aggregator%flush()
        call expect(one == -1, 'what was put')
        counter = 0
        call runtime%barrier()
        do k = 1, 1000
            call aggregator%post(next, 'count', 1_int64)
        end do
        call runtime%barrier()
        call expect(counter == 1000, 'posts')
        call aggregator%get(a, [5, 1], one, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '5')
        call aggregator%add(a, [1, 1], 1.0, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'value')
        call aggregator%free()
        call a%free()
    end subroutine

end program
