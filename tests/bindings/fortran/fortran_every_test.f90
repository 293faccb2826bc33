!> What the other tests do not call, and an array that C and Fortran work on together.
module every_procedure
    use, intrinsic :: iso_c_binding
    implicit none

    interface
        integer(c_int) function mixed_negate(array) bind(C)
            import
            type(c_ptr), value :: array
        end function
    end interface

contains

    subroutine add_source(context, target, source) bind(C)
        type(c_ptr), value :: context, target, source
        integer(c_int64_t), pointer :: a, b

        call c_f_pointer(target, a)
        call c_f_pointer(source, b)
        a = a + b
    end subroutine

end module

program fortran_every_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real128, real64
    use mpi_f08, only: MPI_INTEGER
    use lapwing
    use check
    use every_procedure
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks

    call start(runtime, rank, ranks)
    call about_the_version()
    call refused_kinds()
    call together_with_c()
    call of_the_runtime()
    call of_layouts()
    call of_windows()
    call of_arrays()
    call of_slices()
    call of_halos()
    call runtime%free()

contains

    subroutine about_the_version()
        character(32) :: text

        write (text, '(i0, a, i0, a, i0)') LAPWING_VERSION_MAJOR, '.', LAPWING_VERSION_MINOR, '.', LAPWING_VERSION_PATCH
        call expect(lapwing_version() == trim(text), 'the library is that of the module')
    end subroutine

    !> Kinds that C has no name for have no type.
    subroutine refused_kinds()
        integer(int64) :: type
        integer :: stat
        character(200) :: errmsg
        real(real128) :: long_real
        complex(real128) :: long_complex
        integer(selected_int_kind(30)) :: long_integer

        type = lapwing_type_of(long_real, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'variable')
        type = lapwing_type_of(long_complex, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'variable')
        type = lapwing_type_of(long_integer, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'variable')
        call expect(type == 0, 'no type')
    end subroutine

    subroutine together_with_c()
        type(lapwing_array) :: a
        real(real64), pointer :: p(:, :)
        real(real64) :: x
        integer :: i, j

        call a%create(runtime, LAPWING_REAL64, [5, 6])
        call a%local(p)
        do j = lbound(p, 2), ubound(p, 2)
            do i = lbound(p, 1), ubound(p, 1)
                p(i, j) = 100 * i + j
            end do
        end do
        call a%barrier()
        call expect(mixed_negate(a%c_handle()) == 0, 'C finds a(i, j) at [j][i]')
        do j = 1, 6
            do i = 1, 5
                call a%get_element([i, j], x)
                call expect(nint(x) == -(100 * i + j), 'what C wrote')
            end do
        end do
        call a%barrier()
    end subroutine

    subroutine of_the_runtime()
        type(lapwing_statistics) :: own, all_of
        type(lapwing_settings) :: settings
        logical :: moved
        integer :: stat

        call expect(runtime%network_path() >= LAPWING_PATH_DIRECT, 'network_path')
        call expect(runtime%progress_mode() <= LAPWING_PROGRESS_CALLER, 'progress_mode')
        call runtime%notify_identity(3)
        call runtime%wait_identity(3)
        call runtime%wait(stat)
        call expect(stat == LAPWING_ERR_USAGE, 'a wait without a notify')
        moved = runtime%progress()
        call expect(index(runtime%report(), 'ranks') > 0, 'report')
        call expect(len(runtime%setting('LAPWING_PATH')) > 0, 'setting')
        call expect(len(runtime%setting('LAPWING_NONE', stat)) == 0 .and. stat == LAPWING_ERR_SETTING, 'no such setting')
        call runtime%statistics(own)
        call runtime%total_statistics(all_of)
        own%counters%rma_gets = 2
        all_of%counters%rma_gets = 5
        call all_of%add(own)
        call expect(all_of%counters%rma_gets == 7, 'add')
        call settings%create()
        call settings%free()
        call settings%free()
    end subroutine

    subroutine of_layouts()
        type(lapwing_layout) :: indexed, list, section, part, moved, many, scattered, cut
        type(lapwing_layout_info) :: info
        integer :: stat
        character(400) :: errmsg

        call indexed%create_indexed([0, 16, 8], 4)
        call list%create_list([0, 16, 8], [4, 4, 4])
        call expect(indexed%equal(list), 'the same bytes')
        call part%create_list([0, 16], [4], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, "'bytes'")
        ! Columns 2 and 3, rows 1 and 3, of an array of 4 rows.
        call section%create_section([4, 5], [1, 2], [3, 3], stride=[2, 1], element_bytes=8)
        call section%query(info)
        call expect(info%bytes == 32 .and. info%lower == 32 .and. info%upper == 88, 'section')
        call section%slice(8, 24, part)
        call part%query(info)
        call expect(info%bytes == 16 .and. info%lower == 48, 'slice')
        call part%shift(-48, moved)
        call moved%query(info)
        call expect(info%lower == 0, 'shift')
        call moved%repeat(3, 1000, many)
        call moved%repeat_at([0, 500], scattered)
        call scattered%query(info)
        call expect(info%bytes == 32, 'repeat_at')
        call many%intersect(1000, 1008, cut)
        call cut%query(info)
        call expect(info%bytes == 8, 'intersect')
        call cut%free()
        call cut%query(info, stat)
        call expect(stat == LAPWING_ERR_USAGE, 'freed')
    end subroutine

    subroutine of_windows()
        type(lapwing_window) :: window
        type(lapwing_cache_options) :: cache
        type(lapwing_layout) :: gaps
        type(lapwing_completion) :: completion
        type(lapwing_statistics) :: statistics
        type(lapwing_lock) :: lock
        type(lapwing_plan) :: plan
        type(lapwing_recording) :: recording
        integer(int32), asynchronous :: numbers(4), back(4)
        integer(int64), asynchronous :: before(2), zero(2)
        integer :: k, right, stat

        cache%mode = LAPWING_CACHE_EPOCH
        call window%create(runtime, 512, notification_counters=1, alignment=64, cache=cache)
        right = modulo(rank + 1, ranks)
        call expect(window%path(rank) == LAPWING_PATH_SELF, 'path')
        call gaps%create_strided(4, 4, 8)
        numbers = [(10 * rank + k, k = 1, 4)]
        call window%start_put(right, 0, numbers, completion)
        call completion%wait()
        call window%start_put_layout(right, 64, gaps, numbers, completion=completion)
        call completion%wait()
        call window%put_notify_layout(right, 128, gaps, numbers(4:1:-1), counter=0)
        call window%wait_notified(0, 1)
        call window%start_put_mpi(numbers, 4, MPI_INTEGER, right, 256, 4, MPI_INTEGER, completion)
        call completion%wait()
        call window%release()
        call runtime%barrier()
        call window%acquire()
        call window%prefetch(right, 0, 64)
        back = 0
        call window%start_get_layout(right, 64, gaps, back, completion=completion)
        call completion%wait()
        call expect(all(back == numbers), 'a layout')
        call window%get_layout(right, 128, gaps, back)
        call expect(all(back(4:1:-1) == numbers), 'notified, with layouts')
        call window%invalidate_cache()
        call window%start_get_mpi(back, 4, MPI_INTEGER, right, 256, 4, MPI_INTEGER, completion)
        call completion%wait()
        call expect(all(back == numbers), 'MPI datatypes')
        call window%fence()
        zero = 0
        call window%start_fetch_list(LAPWING_ADD, rank, [400, 408], 1_int64, before, completion)
        call completion%wait()
        call expect(all(before == 0), 'start_fetch_list')
        call window%start_compare_swap_list(rank, [400, 408], 1_int64, zero, before, completion)
        call completion%wait()
        call expect(all(before == 1), 'start_compare_swap_list')
        call window%total_statistics(statistics)
        call lock%create(runtime, ranks - 1)
        do while (.not. lock%try())
        end do
        call lock%unlock()
        call runtime%barrier()
        call lock%free()
        call plan%create_put(window, right, 0, gaps, gaps)
        call expect(len(plan%explain()) > 0, 'explain')
        call plan%free()
        call recording%create(window)
        call recording%free()
        call recording%run(stat)
        call expect(stat == LAPWING_ERR_USAGE, 'freed')
        call runtime%barrier()
    end subroutine

    subroutine of_arrays()
        type(lapwing_array) :: a, copies
        type(lapwing_window) :: window
        type(lapwing_completion) :: completion
        type(lapwing_statistics) :: statistics
        integer(int64) :: one
        integer(int64), asynchronous :: values(2), before(2), gaps(4), nine
        integer(int64) :: extents(2), lower(2)
        integer :: stat
        character(200) :: errmsg
        type(c_ptr) :: memory

        nine = 9
        call a%create(runtime, LAPWING_INT64, [4, 6], name='a')
        call expect(a%name() == 'a', 'name')
        if (rank == 0) then
            call a%start_put([1, 1], [2, 1], [7_int64, 8_int64], completion)
            call completion%wait()
            values = [5, 6]
            call a%start_scatter(reshape([4, 6, 3, 6], [2, 2]), values, completion)
            call completion%wait()
            call a%flush(0)
            call a%flush_all()
        end if
        call a%release()
        call a%barrier()
        call a%acquire()
        call a%fence()
        call a%prefetch_element([4, 6])
        call a%start_gather(reshape([2, 1, 4, 6], [2, 2]), values, completion)
        call completion%wait()
        call expect(all(values == [8, 5]), 'start_gather')
        call a%invalidate_cache()
        call a%barrier()
        call a%compare_swap([1, 1], 7_int64, 9_int64, one)
        call expect(one == 7 .or. one == 9, 'compare_swap')
        call a%barrier()
        call a%compare_swap_list(reshape([1, 1, 2, 1], [2, 2]), 9_int64, 9_int64, before)
        call expect(before(1) == 9 .and. before(2) == 8, 'compare_swap_list')
        call a%start_compare_swap_list(reshape([1, 1, 2, 1], [2, 2]), nine, nine, before, completion)
        call completion%wait()
        call expect(before(1) == 9 .and. before(2) == 8, 'start_compare_swap_list')
        call a%start_fetch_list(LAPWING_READ, reshape([2, 1, 1, 1], [2, 2]), nine, before, completion)
        call completion%wait()
        call expect(before(1) == 8 .and. before(2) == 9, 'start_fetch_list')
        call a%start_fetch_list(LAPWING_READ, reshape([2, 1, 1, 1], [2, 2]), nine, gaps(::2), completion, stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'has gaps')
        call a%window(window)
        call expect(window%size(rank) >= 0, 'window')
        call window%free()
        call a%statistics(statistics)
        call a%total_statistics(statistics)
        call a%local_address(memory, extents, lower=lower)
        call a%barrier()
        call copies%create(runtime, LAPWING_INT64, [3], distribution=LAPWING_REPLICATED)
        call copies%fill(int(1, int64))
        call copies%broadcast(ranks - 1)
        call copies%get_element([3], one)
        call expect(one == 1, 'broadcast')
        call a%barrier()
    end subroutine

    subroutine of_slices()
        type(lapwing_array) :: a, b
        type(lapwing_slice) :: all_of, part, other
        type(lapwing_assignment) :: assignment
        integer(int64) :: x(2, 3), one
        integer :: unit
        character(40) :: path

        call a%create(runtime, LAPWING_INT64, [4, 6])
        call b%create(runtime, LAPWING_INT64, [2, 3])
        call all_of%create(a)
        call other%create(b)
        ! By positions, which count from 1.
        call all_of%cut([2, 1], [3, 5], stride=[1, 2], part=part)
        call expect(all(part%extents() == [2, 3]), 'cut')
        if (rank == 0) call part%put(reshape([1_int64, 2_int64, 3_int64, 4_int64, 5_int64, 6_int64], [2, 3]))
        call a%barrier()
        call a%get_element([3, 5], one)
        call expect(one == 6, 'put')
        if (rank == 0) call other%copy(part)
        call a%barrier()
        call b%get([1, 1], [2, 3], x)
        call expect(x(1, 3) == 5, 'copy')
        call a%barrier()
        call assignment%create()
        call assignment%add_apply(other, part, add_source)
        call assignment%execute()
        call assignment%free()
        call assignment%create()
        call assignment%add_fill(part, 0_int64)
        call assignment%execute()
        call b%get_element([2, 3], one)
        call expect(one == 12, 'add_apply')
        call a%get_element([3, 5], one)
        call expect(one == 0, 'add_fill')
        write (path, '(a, i0, a)') 'fortran_slice.', ranks, '.lapwing'
        call other%save(path)
        call part%load(path)
        call a%get_element([3, 5], one)
        call expect(one == 12, 'load')
        call part%free()
        call runtime%barrier()
        if (rank == 0) then
            open (newunit=unit, file=path)
            close (unit, status='delete')
        end if
    end subroutine

    subroutine of_halos()
        type(lapwing_array) :: a
        type(lapwing_halo) :: halo
        type(lapwing_completion) :: completion
        real(real64), pointer :: p(:)

        call a%create(runtime, LAPWING_REAL64, [20])
        call a%fill(2.5_real64)
        call halo%create(a, 1)
        call halo%fetch()
        call halo%start_fetch(completion)
        call completion%wait()
        call halo%local(p)
        call expect(size(p) == 0 .or. abs(p(lbound(p, 1) + 1) - 2.5_real64) < 1e-9_real64, 'own block')
        call halo%free()
        call a%barrier()
    end subroutine

end program
