!> Prefetch by patterns and of windows, orders of ranks for a redistribution, and numbers that must not be negative.
program fortran_prefetch_test
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use mpi_f08, only: MPI_Init_thread, MPI_Finalize, MPI_THREAD_MULTIPLE
    use lapwing
    use check
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks, provided

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
    call start(runtime, rank, ranks)
    call patterns()
    call windows()
    call elements_of_window(.true.)
    call elements_of_window(.false.)
    call orders()
    call negative()
    call runtime%free()
    call MPI_Finalize()

contains

    subroutine write_own(a, more)
        type(lapwing_array), intent(in) :: a
        real(real64), intent(in) :: more
        real(real64), pointer :: own(:, :)
        integer :: i, j

        call a%local(own)
        do j = lbound(own, 2), ubound(own, 2)
            do i = lbound(own, 1), ubound(own, 1)
                own(i, j) = 100 * j + i + more
            end do
        end do
        call a%barrier()
    end subroutine

    real(real64) function element(a, i, j)
        type(lapwing_array), intent(in) :: a
        integer, intent(in) :: i, j

        call a%get_element([i, j], element)
    end function

    subroutine patterns()
        type(lapwing_array) :: a
        type(lapwing_completion) :: completion
        integer :: i, j, kind, stat
        logical :: copied, periodic(2)
        character(400) :: errmsg
        real(real64) :: expected

        periodic = [.true., .false.]
        call a%create(runtime, LAPWING_REAL64, [7, 9], lower=[2, -1])
        do kind = LAPWING_PATTERN_STENCIL, LAPWING_PATTERN_DOMAINS
            call write_own(a, 0.0_real64)
            if (kind == LAPWING_PATTERN_DOMAINS) then
                call a%prefetch_patch([2, -1], [8, 7], [3, 2], consistent=.false.)
            else
                call a%prefetch_pattern(kind, depth=2, periodic=periodic, consistent=.false., storage=LAPWING_STORE_BY_OWNER)
            end if
            call write_own(a, 0.5_real64)
            do j = -1, 7
                do i = 2, 8
                    copied = a%is_prefetched([i, j])
                    call expect(.not. (copied .and. a%is_local([i, j])), 'own elements have no copies')
                    if (kind == LAPWING_PATTERN_ALL) call expect(copied .neqv. a%is_local([i, j]), 'all others have')
                    if (kind == LAPWING_PATTERN_DOMAINS .and. mod(i - 2, 3) /= 0) call expect(.not. copied, 'no others')
                    expected = 100 * j + i + merge(0.0_real64, 0.5_real64, copied)
                    call expect(abs(element(a, i, j) - expected) < 0.1_real64, 'copies stay')
                end do
            end do
            call a%barrier()
            call a%update_copies()
            call expect(abs(element(a, 8, 7) - 708.5_real64) < 0.1_real64, 'and are filled again')
            call a%barrier()
            call a%start_update_copies(completion)
            call completion%wait()
            if (kind /= LAPWING_PATTERN_DOMAINS) then
                call a%prefetch_pattern(kind, stat=stat, errmsg=errmsg)
                call fails(stat, LAPWING_ERR_USAGE, errmsg, 'evict')
            end if
            call a%barrier()
            call a%evict()
        end do
        call a%prefetch_pattern(LAPWING_PATTERN_STENCIL, depth=-1, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'depth')
        call a%prefetch_pattern(LAPWING_PATTERN_STENCIL, periodic=[.true.], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'periodic')
        call a%prefetch_pattern(17, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'kind')
        call a%update_copies(stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'prefetch')
        ! Automatic copies are filled by the first read after a barrier.
        call a%prefetch_pattern(LAPWING_PATTERN_ALL)
        call write_own(a, 3.0_real64)
        call expect(abs(element(a, 8, 7) - 711) < 0.1_real64 .and. abs(element(a, 2, -1) + 95) < 0.1_real64, 'automatic')
        call a%barrier()
        call a%free()
    end subroutine

    subroutine windows()
        type(lapwing_window) :: window
        type(lapwing_prefetch) :: ahead
        type(lapwing_layout) :: gaps
        type(lapwing_completion) :: completion
        real(real64) :: own(10), copy(3), whole(2, 10), value
        integer(int64) :: part, all_of
        integer :: other, k, stat
        character(400) :: errmsg

        other = mod(rank + 1, ranks)
        own = [(100.0_real64 * rank + k, k = 1, 10)]
        call window%create(runtime, 80)
        call window%put(rank, 0, own)
        call runtime%barrier()
        call ahead%create(window, consistent=.false.)
        call gaps%create_strided(3, 8, 24)
        part = ahead%request(rank, 8, gaps, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'own part')
        if (ranks == 1) then
            call ahead%free()
            call window%free()
            return
        end if
        part = ahead%request(other, 8, gaps)
        all_of = ahead%request(other, 0)
        call ahead%update()
        call ahead%access(part, copy)
        call expect(all(abs(copy - [(100.0_real64 * other + k, k = 2, 8, 3)]) < 0.1_real64), 'access')
        call ahead%access(all_of, whole(1, :))
        call expect(abs(whole(1, 10) - 100 * other - 10) < 0.1_real64, 'into a section')
        call ahead%read(all_of, 10_int64, value)
        call expect(abs(value - 100 * other - 10) < 0.1_real64, 'read counts from 1')
        call expect(ahead%memory() >= 104, 'memory')
        call ahead%read(part, 0_int64, value, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'from 1')
        call ahead%read(part, 4_int64, value, stat, errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'beyond the copy')
        call ahead%access(part, own, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '80 bytes')
        call ahead%start_update(completion)
        call completion%wait()
        call ahead%evict()
        call ahead%access(part, copy, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'evicted')
        call ahead%free()
        call gaps%free()
        call runtime%barrier()
        call window%free()
    end subroutine

    !> Elements that the next rank has, written through the array.
    subroutine elements_of_window(consistent)
        logical, intent(in) :: consistent
        type(lapwing_array) :: a
        type(lapwing_window) :: window
        type(lapwing_prefetch) :: ahead
        integer(int64) :: part
        integer :: other, first
        real(real64) :: value

        if (ranks == 1) return
        other = mod(rank + 1, ranks)
        first = 10 * other + 1
        call a%create(runtime, LAPWING_REAL64, [10 * ranks])
        call a%window(window)
        call ahead%create(window, consistent=consistent)
        part = ahead%request(other, 0)
        call ahead%update()
        call a%put_element([first], 1.5_real64)
        call a%put([first + 1], [first + 2], [2.5_real64, 3.5_real64])
        call ahead%read(part, 1_int64, value)
        call expect(abs(value - 1.5) < 0.1_real64, 'an element is written to the copy')
        call ahead%read(part, 3_int64, value)
        call expect(abs(value - 3.5) < 0.1_real64, 'a patch is written to the copy')
        call ahead%free()
        call a%barrier()
        call a%free()
    end subroutine

    subroutine orders()
        type(lapwing_array) :: a
        type(lapwing_relabelling) :: order
        type(lapwing_runtime) :: ordered
        integer :: number, stat
        integer(int64) :: moved, unordered, bytes
        logical :: changes
        character(400) :: errmsg

        call a%create(runtime, LAPWING_REAL64, [12, 12], distribution=LAPWING_BLOCK, grid=[1, ranks])
        call write_own(a, 0.0_real64)
        call order%create(a, LAPWING_BLOCK, grid=[ranks, 1])
        call order%query(number, changes, moved, unordered, bytes)
        call expect(bytes == 12 * 12 * 8 .and. moved <= unordered .and. number >= 0 .and. number < ranks, 'query')
        call order%runtime(ordered)
        call expect(ordered%rank() == number .and. ordered%size() == ranks, 'the ranks in another order')
        call a%redistribute_ordered(LAPWING_BLOCK, grid=[ranks, 1], order=order)
        call expect(abs(element(a, 3, 7) - 703) < 0.1_real64, 'values stay')
        call order%create(a, LAPWING_CYCLIC, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'in use already')
        call a%barrier()
        call a%free()
        call order%free()
    end subroutine

    !> The text names the argument and the value as the program passed it.
    subroutine negative()
        type(lapwing_window) :: window
        type(lapwing_layout) :: layout
        real(real64) :: x
        integer(int64) :: count
        integer :: stat
        character(400) :: errmsg

        x = 1
        call window%create(runtime, -8, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'bytes' is -8")
        call window%create(runtime, 8, notification_counters=-1, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'notification_counters' is -1")
        call window%create(runtime, 8, notification_counters=1)
        call window%put(0, -8, x, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'offset' is -8")
        call window%put_notify(0, 0, x, -3, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'counter' is -3")
        call window%wait_notified(-2, 1, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'counter' is -2")
        call window%wait_notified(0, -1, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'count' is -1")
        count = window%notified(-4, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'counter' is -4")
        call window%prefetch(0, 0, -1, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'bytes' is -1")
        call layout%create_strided(-1, 8, 16, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'count' is -1")
        call layout%create_contiguous(-5, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'bytes' is -5")
        call window%free()
    end subroutine

end program
