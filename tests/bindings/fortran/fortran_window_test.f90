!> Runtimes, windows, and sections of arrays as buffers.
program fortran_window_test
    use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
    use mpi_f08, only: MPI_COMM_SELF, MPI_INT64_T, MPI_SUM, MPI_REAL8, MPI_Init_thread, MPI_Finalize, &
        MPI_THREAD_MULTIPLE
    use lapwing
    use check
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks, provided

    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
    call handles()
    call start(runtime, rank, ranks)
    call values()
    call settings()
    call transfers()
    call sections()
    call atomics()
    call atomics_of_all_sizes()
    call located_extremes()
    call locks()
    call layouts()
    call runtime%free()
    call runtime%free()
    call MPI_Finalize()

contains

    subroutine handles()
        type(lapwing_runtime) :: one
        integer :: stat
        character(400) :: errmsg

        call one%barrier(stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'null')
        ! An integer, as programs with the module mpi have it; the finaliser frees the runtime.
        call one%create(MPI_COMM_SELF%MPI_VAL)
        call expect(one%size() == 1, 'one rank')
        call one%create(MPI_COMM_SELF, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'in use already')
        call expect(one%path(0) == LAPWING_PATH_SELF, 'path')
    end subroutine

    subroutine values()
        real(real64) :: grid(4, 3)
        integer(int64) :: whole
        logical :: flag
        integer, allocatable :: all(:)
        integer :: stat
        character(400) :: errmsg

        grid = -1
        grid(1:4:2, :) = rank + 1
        call runtime%sum(grid(1:4:2, :))
        call expect(all_are(grid(1:4:2, :), ranks * (ranks + 1) / 2), 'sum of a section')
        call expect(all_are(grid(2:4:2, :), -1), 'what is between stays')
        whole = rank
        call runtime%max(whole)
        call expect(whole == ranks - 1, 'max')
        call runtime%min(whole)
        call expect(whole == ranks - 1, 'min')
        call runtime%all_reduce(whole, MPI_INT64_T, MPI_SUM)
        call expect(whole == ranks * (ranks - 1), 'all_reduce')
        call runtime%all_reduce(whole, MPI_REAL8%MPI_VAL, MPI_SUM%MPI_VAL)
        whole = rank + 5
        call runtime%broadcast(whole, ranks - 1)
        call expect(whole == ranks + 4, 'broadcast')
        call runtime%broadcast(whole, ranks, stat, errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'broadcast from nobody')
        flag = .true.
        allocate(all(ranks))
        call runtime%all_gather(rank, all)
        call expect(all(ranks) == ranks - 1, 'all_gather')
        call runtime%all_gather(1.0_real64, all, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, "'all'")
        call gather_varying()
        call runtime%require_same([1, 2], 'the numbers')
        call runtime%sum(flag, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'bytes')
        call runtime%barrier_identity(7)
        call runtime%notify()
        call runtime%wait()
        call expect(index(runtime%who(), 'rank') > 0, 'who')
        call runtime%release()
        call runtime%acquire()
        call runtime%fence()
        call expect(runtime%nodes() >= 1 .and. runtime%node_size() >= 1, 'nodes')
    end subroutine

    ! Each rank passes its number, as often as it says.
    subroutine gather_varying()
        integer, allocatable :: mine(:), all(:)
        integer(int64), allocatable :: counts(:)
        integer :: stat, i, at
        character(400) :: errmsg

        allocate(mine(rank), all(2 * (ranks * (ranks - 1) / 2)), counts(ranks))
        mine = rank
        all = -1
        call runtime%all_gather_varying(mine, all(1::2), counts)
        at = 0
        do i = 0, ranks - 1
            call expect(counts(i + 1) == i, 'how many a rank has passed')
            call expect(count(all(1::2) == i) == i, 'the values of a rank')
            at = at + i
        end do
        call expect(size(all(1::2)) == at .and. all_equal(all(2::2), -1), 'what is between stays')
        call runtime%all_gather_varying(mine, all(1:0), counts, stat, errmsg)
        if (ranks > 1) call fails(stat, LAPWING_ERR_RANGE, errmsg, 'room for 0 bytes')
        call expect(sum(counts) == ranks * (ranks - 1) / 2, 'how much room is needed')
        call runtime%all_gather_varying(mine, all, counts(1:0), stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'counts'")
        call runtime%all_gather_varying(mine, all, all, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, "'counts'")
    end subroutine

    logical function all_equal(values, expected)
        integer, intent(in) :: values(:), expected

        all_equal = all(values == expected)
    end function

    logical function all_are(values, expected)
        real(real64), intent(in) :: values(:, :)
        integer, intent(in) :: expected

        all_are = all(abs(values - expected) < 1e-9_real64)
    end function

    subroutine settings()
        type(lapwing_settings) :: own
        integer :: stat
        character(400) :: errmsg

        call own%create()
        call own%set('LAPWING_PATH', 'service')
        call expect(own%text('LAPWING_PATH') == 'service', 'text')
        call expect(own%origin('LAPWING_PATH') == 'program', 'origin')
        call own%set('LAPWING_PATH', 'nowhere', stat, errmsg)
        call fails(stat, LAPWING_ERR_SETTING, errmsg, 'nowhere')
        call expect(lapwing_settings_count() > 10, 'count')
        call expect(index(lapwing_settings_name(1), 'LAPWING_') == 1, 'name')
        call expect(lapwing_settings_name(0, stat) == '' .and. stat == LAPWING_ERR_RANGE, 'no such number')
    end subroutine

    subroutine transfers()
        type(lapwing_window) :: window
        type(lapwing_completion) :: completion
        real(real64), pointer :: own(:)
        real(real64), asynchronous :: some(10)
        type(lapwing_statistics) :: statistics
        integer :: right, k, stat
        character(400) :: errmsg

        right = modulo(rank + 1, ranks)
        call window%create(runtime, 8000, name='fortran', notification_counters=2)
        call expect(window%name() == 'fortran' .and. window%size(right) == 8000, 'name and size')
        some = [(100.0_real64 * rank + k, k = 1, 10)]
        call window%put(right, 80, some)
        call window%flush(right)
        call runtime%barrier()
        call window%memory(rank, own)
        call expect(size(own) == 1000, '1000 numbers')
        call expect(nint(own(11)) == 100 * modulo(rank - 1, ranks) + 1, 'what was put')
        some = 0
        call window%get(right, 80_int64, some)
        call expect(nint(some(10)) == 100 * rank + 10, 'what was got')
        some = 0
        call window%start_get(right, 80, some, completion)
        call completion%wait()
        call expect(nint(some(3)) == 100 * rank + 3, 'what was got later')
        call window%put(right, 7990, some, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '8000')
        call window%put(ranks, 0, some, stat, errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'no such rank')
        call window%get(right, -8, some, stat, errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'below the start')
        call window%put_notify(right, 800, some(1:2), 1)
        call window%wait_notified(1, 1)
        call expect(window%notified(1) == 0, 'no more')
        call window%statistics(statistics)
        call expect(index(statistics%json(), 'rma_gets') > 0, 'json')
        call runtime%barrier()
        call window%free()
        call window%flush_all(stat, errmsg)
        call expect(stat == LAPWING_ERR_USAGE, 'a freed window')
    end subroutine

    !> Sections travel without the gaps, from and to what is not contiguous.
    subroutine sections()
        type(lapwing_window) :: window
        type(lapwing_completion) :: completion
        integer(int32), asynchronous :: grid(6, 5)
        integer(int32) :: back(3, 4), list(12)
        integer :: i, j

        call window%create(runtime, 4096_int64)
        do j = 1, 5
            do i = 1, 6
                grid(i, j) = 10 * i + j
            end do
        end do
        call window%put(rank, 0, grid(2:6:2, 4:1:-1))
        call window%get(rank, 0, list)
        call expect(all(list == [24, 44, 64, 23, 43, 63, 22, 42, 62, 21, 41, 61]), 'in the order of Fortran')
        back = 0
        call window%get(rank, 0, back(:, 4:1:-1))
        call expect(all(back == grid(2:6:2, 1:4)), 'back')
        grid = 0
        call window%start_get(rank, 0, grid(1:6:2, 2:5), completion)
        do while (.not. completion%test())
        end do
        call expect(all(grid(1:6:2, 2) == [24, 44, 64]) .and. all(grid(2:6:2, :) == 0), 'started')
        call runtime%barrier()
    end subroutine

    subroutine atomics()
        type(lapwing_window) :: window
        integer(int64) :: before, list(3)
        real(real32) :: low
        integer :: stat
        character(400) :: errmsg

        call window%create(runtime, 64)
        call window%fetch(LAPWING_ADD, 0, 0, 1_int64, before)
        call expect(before >= 0 .and. before < ranks, 'fetch')
        call runtime%barrier()
        call window%update(LAPWING_ADD, 0, 0, 1_int64)
        call window%flush_all()
        call runtime%barrier()
        call window%fetch(LAPWING_READ, 0, 0, 0_int64, before)
        call expect(before == 2 * ranks, 'all have added')
        call runtime%barrier()
        call window%compare_swap(0, 8, 0_int64, int(rank + 1, int64), before)
        call expect(before >= 0 .and. before <= ranks, 'compare_swap')
        call window%fetch(LAPWING_MIN, 0, 16, -1.5_real32, low)
        call window%fetch_list(LAPWING_ADD, rank, [24, 32, 24], 5_int64, list)
        call expect(all(list == [0, 0, 5]), 'fetch_list')
        call window%compare_swap_list(rank, [24, 32], 5_int64, [1_int64, 2_int64], list(1:3:2))
        call expect(all(list == [10, 0, 5]), 'compare_swap_list')
        call window%fetch(LAPWING_ADD, 0, 0, 1_int64, low, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, "'before'")
        call window%fetch(LAPWING_ADD, 0, 3, 1_int64, before, stat=stat, errmsg=errmsg)
        call expect(stat == LAPWING_ERR_RANGE, 'not a multiple')
        call runtime%barrier()
    end subroutine

    subroutine atomics_of_all_sizes()
        type :: pair
            integer(int64) :: first, second
        end type
        type :: three
            integer(int8) :: bytes(3)
        end type
        type(lapwing_window) :: window
        type(lapwing_array) :: a
        type(pair) :: seen, next, found
        integer(int8) :: one
        integer(int16) :: two
        complex(real32) :: low
        complex(real64) :: high
        logical :: flag
        integer(int8) :: ones(2)
        integer :: stat
        character(400) :: errmsg

        call window%create(runtime, 64)
        call window%fetch(LAPWING_ADD, 0, 1, 1_int8)
        call window%update(LAPWING_OR, 0, 2, 5_int16)
        call window%fetch(LAPWING_ADD, 0, 8, (1.0_real32, -2.0_real32))
        call window%update(LAPWING_ADD, 0, 16, (1.0_real64, -2.0_real64))
        next = pair(0, 0)
        do
            call window%fetch(LAPWING_READ, 0, 32, next, seen)
            next = pair(seen%first + 1, seen%second - 1)
            call window%compare_swap(0, 32, seen, next, found)
            if (found%first == seen%first) exit
        end do
        call window%fetch(LAPWING_REPLACE, 0, 4, .true.)
        call runtime%barrier()
        call window%fetch(LAPWING_READ, 0, 1, 0_int8, one)
        call window%fetch(LAPWING_READ, 0, 2, 0_int16, two)
        call window%fetch(LAPWING_READ, 0, 8, (0.0_real32, 0.0_real32), low)
        call window%fetch(LAPWING_READ, 0, 16, (0.0_real64, 0.0_real64), high)
        call window%fetch(LAPWING_READ, 0, 4, .false., flag)
        call window%fetch(LAPWING_READ, 0, 32, next, seen)
        call expect(one == ranks .and. two == 5, 'integers of 1 and 2 bytes')
        call expect(nint(real(low)) == ranks .and. nint(aimag(low)) == -2 * ranks, 'complex')
        call expect(nint(real(high)) == ranks .and. nint(aimag(high)) == -2 * ranks, 'double complex')
        call expect(flag .and. seen%first == ranks .and. seen%second == -ranks, 'logical, and a structure')

        call window%fetch(LAPWING_ADD, 0, 3, 1_int16, two, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'multiple')
        call window%fetch(LAPWING_MAX, 0, 8, (1.0_real32, 0.0_real32), low, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'float complex')
        call window%update(LAPWING_ADD, 0, 32, seen, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '16 bytes')
        call window%fetch(LAPWING_OR, 0, 4, .true., flag, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '4 bytes')
        call window%fetch(LAPWING_READ, 0, 0, three([1_int8, 2_int8, 3_int8]), stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '3 bytes')
        call window%fetch_list(LAPWING_ADD, 0, [0, 1], 1_int8, ones, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'single values')
        call runtime%barrier()
        call window%free()

        call a%create(runtime, LAPWING_INT16, [5])
        call a%fetch(LAPWING_ADD, [5], 2_int16)
        call a%update(LAPWING_ADD, [4], -1_int16)
        call a%barrier()
        call a%fetch(LAPWING_READ, [5], 0_int16, two)
        call expect(two == 2 * ranks, 'an element of 2 bytes')
        call a%get_element([4], two)
        call expect(two == -ranks, 'the element beside it')
        call a%compare_swap([5], 0_int8, 0_int8, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'int8')
        call a%barrier()
    end subroutine

    subroutine located_extremes()
        type(lapwing_window) :: window
        type(lapwing_array) :: a
        type(lapwing_located_double) :: found
        type(lapwing_located_int64) :: one
        integer :: stat
        character(400) :: errmsg

        call window%create(runtime, 64)
        call window%update(LAPWING_MIN, 0, 8, lapwing_located_double(-0.5_real64, rank), type=LAPWING_REAL64_LOCATED)
        call runtime%barrier()
        call window%fetch(LAPWING_MIN, 0, 8, lapwing_located_double(-0.5_real64, ranks), found, type=LAPWING_REAL64_LOCATED)
        call expect(abs(found%value + 0.5_real64) < 1e-9_real64 .and. found%index == 0, 'the lowest index of equal values')
        call window%fetch(LAPWING_READ, 0, 8, found, found)
        call expect(found%index == 0, 'a structure of 16 bytes')
        call window%fetch(LAPWING_MIN, 0, 8, found, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '16 bytes')
        call window%fetch(LAPWING_MIN, 0, 8, 1_int64, type=LAPWING_INT64_LOCATED, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'located int64')
        call runtime%barrier()
        call window%free()

        call a%create(runtime, LAPWING_INT64_LOCATED, [2 * ranks])
        call a%update(LAPWING_MAX, [2 * ranks], lapwing_located_int64(10 + rank, rank))
        call a%barrier()
        call a%get_element([2 * ranks], one)
        call expect(one%value == 10 + ranks - 1 .and. one%index == ranks - 1, 'an element with its location')
        call a%barrier()
        call a%fetch(LAPWING_MAX, [2 * ranks], lapwing_located_int64(9, 0), one)
        call expect(one%value == 10 + ranks - 1, 'a smaller one changes nothing')
        call a%barrier()
        call a%free()
    end subroutine

    subroutine locks()
        type(lapwing_lock) :: lock
        integer :: stat

        call lock%create(runtime)
        call lock%lock()
        call expect(lock%held(), 'held')
        call lock%unlock()
        call lock%unlock(stat)
        call expect(stat == LAPWING_ERR_USAGE, 'twice')
        call runtime%barrier()
    end subroutine

    subroutine layouts()
        type(lapwing_window) :: window
        type(lapwing_layout) :: every, column
        type(lapwing_layout_info) :: info
        type(lapwing_plan) :: plan
        integer(int32) :: grid(4, 3), list(3)

        call window%create(runtime, 256)
        call every%create_strided(3, 4, 8)
        call every%query(info)
        call expect(info%bytes == 12 .and. info%blocks == 3, 'query')
        grid = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3])
        call column%create_of(grid(2, :))
        call expect(index(column%text(), '3 blocks') > 0, 'text')
        call window%put_layout(rank, 0, every, grid(2, :))
        call window%get_layout(rank, 0, every, list)
        call expect(all(list == [2, 6, 10]), 'layouts')
        call plan%create_put(window, rank, 128, every, column)
        call plan%execute_put(grid)
        call window%get_layout(rank, 128, every, list)
        call expect(all(list == [1, 5, 9]), 'plan')
        call runtime%barrier()
    end subroutine

end program
