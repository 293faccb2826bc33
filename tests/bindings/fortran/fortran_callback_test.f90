!> Procedures of the program's own, plans, recordings, MPI's handles, assignments and checkpoints.
module own_procedures
    use, intrinsic :: iso_c_binding
    implicit none

contains

    subroutine add(context, left, right) bind(C)
        type(c_ptr), value :: context, left, right
        integer(c_int64_t), pointer :: a, b

        call c_f_pointer(left, a)
        call c_f_pointer(right, b)
        a = a + b
    end subroutine

    !> Takes i + 100 j of element (i, j) if the element is what it is elsewhere in the test.
    subroutine take(context, value, index, element) bind(C)
        type(c_ptr), value :: context, value, element
        integer(c_int64_t), intent(in) :: index(*)
        integer(c_int64_t), pointer :: total, one

        call c_f_pointer(value, total)
        call c_f_pointer(element, one)
        if (one == index(1) + 100 * index(2)) total = total + one
    end subroutine

    subroutine add_twice(context, target, source) bind(C)
        type(c_ptr), value :: context, target, source
        integer(c_int64_t), pointer :: a, b

        call c_f_pointer(target, a)
        call c_f_pointer(source, b)
        a = a + 2 * b
    end subroutine

    subroutine twice_and_once(context, target, sources) bind(C)
        type(c_ptr), value :: context, target, sources
        type(c_ptr), pointer :: from(:)
        integer(c_int64_t), pointer :: to, a, b

        call c_f_pointer(target, to)
        call c_f_pointer(sources, from, [2])
        call c_f_pointer(from(1), a)
        call c_f_pointer(from(2), b)
        to = 2 * a + b
    end subroutine

    integer(c_int) function count_up(context, first, memory, bytes) bind(C)
        type(c_ptr), value :: context, memory
        integer(c_int64_t), value :: first, bytes
        integer(c_int32_t), pointer :: numbers(:)
        integer :: k

        call c_f_pointer(memory, numbers, [bytes / 4])
        do k = 1, size(numbers)
            numbers(k) = int(first / 4) + k
        end do
        count_up = 0
    end function

    integer(c_int) function refuse(context, done, all) bind(C)
        type(c_ptr), value :: context
        integer(c_int64_t), value :: done, all

        refuse = 3
    end function

    !> Columns are distributed over the ranks cyclically.
    subroutine locate(context, dimensions, ranks, extents, index, owner, offset, contiguous) bind(C)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions, ranks
        integer(c_int64_t), intent(in) :: extents(*), index(*)
        integer(c_int), intent(out) :: owner
        integer(c_int64_t), intent(out) :: offset, contiguous

        owner = int(modulo(index(2) - 1, int(ranks, c_int64_t)))
        offset = (index(2) - 1) / ranks * extents(1) + index(1) - 1
        contiguous = extents(1) - index(1) + 1
    end subroutine

    integer(c_int64_t) function capacity(context, dimensions, ranks, extents) bind(C)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions, ranks
        integer(c_int64_t), intent(in) :: extents(*)

        capacity = extents(1) * ((extents(2) + ranks - 1) / ranks)
    end function

    integer(c_int64_t) function domain_count(context, dimensions, ranks, extents, rank) bind(C)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions, ranks, rank
        integer(c_int64_t), intent(in) :: extents(*)

        domain_count = merge(1, 0, rank < extents(2))
    end function

    subroutine domain(context, dimensions, ranks, extents, rank, k, lower, upper, stride) bind(C)
        type(c_ptr), value :: context
        integer(c_int), value :: dimensions, ranks, rank
        integer(c_int64_t), intent(in) :: extents(*)
        integer(c_int64_t), value :: k
        integer(c_int64_t), intent(inout) :: lower(*), upper(*), stride(*)

        lower(1:2) = [1_c_int64_t, rank + 1_c_int64_t]
        upper(1:2) = extents(1:2)
        stride(2) = ranks
    end subroutine

end module own_procedures

program fortran_callback_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real64
    use mpi_f08
    use lapwing
    use check
    use own_procedures
    implicit none
    type(lapwing_runtime) :: runtime
    integer :: rank, ranks

    call start(runtime, rank, ranks)
    call combinations()
    call own_distribution()
    call assignments()
    call checkpoints()
    call plans()
    call adopted()
    call runtime%free()

contains

    subroutine combinations()
        integer(int64) :: value, before
        logical :: has_before

        value = rank + 1
        call runtime%combine(value, add)
        call expect(value == ranks * (ranks + 1) / 2, 'combine')
        value = rank + 1
        before = -1
        call runtime%combine_before(value, before, add, has_before)
        call expect(has_before .eqv. rank > 0, 'whether ranks are before')
        if (rank > 0) call expect(before == rank * (rank + 1) / 2, 'combine_before')
    end subroutine

    subroutine fill_own(a)
        type(lapwing_array), intent(in) :: a
        integer(int64) :: lower(2), upper(2), stride(2), i, j, k

        do k = 0, a%domain_count(rank) - 1
            call a%domain(rank, k, lower, upper, stride)
            do j = lower(2), upper(2), stride(2)
                do i = lower(1), upper(1), stride(1)
                    call expect(a%owner([i, j]) == rank, 'owner')
                    call expect(a%is_local([i, j]), 'is_local')
                    call a%put_element([i, j], i + 100 * j)
                end do
            end do
        end do
        call a%barrier()
    end subroutine

    subroutine own_distribution()
        type(lapwing_distribution_procedures) :: columns
        type(lapwing_array) :: a, b
        integer(int64) :: all_of(3, 7), total, i, j
        integer :: stat
        character(400) :: errmsg

        call a%create_own(runtime, LAPWING_INT64, [3, 7], functions=columns, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'locate')
        columns%locate = c_funloc(locate)
        columns%capacity = c_funloc(capacity)
        columns%domain_count = c_funloc(domain_count)
        columns%domain = c_funloc(domain)
        call a%create_own(runtime, LAPWING_INT64, [3, 7], functions=columns)
        call expect(a%owner([2, 5]) == modulo(4, ranks), 'column 5')
        call fill_own(a)
        call a%get([1, 1], [3, 7], all_of)
        do j = 1, 7
            do i = 1, 3
                call expect(all_of(i, j) == i + 100 * j, 'every element')
            end do
        end do
        call a%barrier()
        call a%redistribute(LAPWING_BLOCK)
        total = 0
        call a%reduce(total, take, add)
        call expect(total == sum(all_of), 'reduce, with indices as Fortran has them')
        call along_dimensions(a)
        call a%redistribute_own(columns)
        call a%get([1, 1], [3, 7], all_of)
        call expect(all_of(3, 7) == 703, 'back again')
        call a%barrier()
        call along_dimensions(a)
        call a%redistribute_own(columns, ranks=[ranks - 1])
        call expect(a%owner([1, 1]) == ranks - 1 .and. a%owner([2, 5]) == ranks - 1, 'on the last rank')
        call a%get([1, 1], [3, 7], all_of)
        call expect(all_of(3, 7) == 703, 'on one rank')
        call b%create_own(runtime, LAPWING_INT64, [3, 7], functions=columns, ranks=[ranks - 1])
        call fill_own(b)
        call b%sum(total)
        call expect(total == sum(all_of), 'made on one rank')
        columns%replicated = 1
        call a%redistribute_own(columns, ranks=[0], stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'replicated')
    end subroutine

    !> Of elements i + 100 j of 3 x 7, under any distribution.
    subroutine along_dimensions(a)
        type(lapwing_array), intent(in) :: a
        type(lapwing_array) :: b, c
        type(lapwing_slice) :: columns, rows
        type(lapwing_reduction) :: largest
        integer(int64) :: of_columns(7), of_rows(3), i, j
        integer :: stat
        character(400) :: errmsg

        call b%create(runtime, LAPWING_INT64, [7], distribution=LAPWING_CYCLIC)
        call c%create(runtime, LAPWING_INT64, [3])
        call columns%create(b)
        call rows%create(c)
        call a%sum_along(1, columns)
        call a%reduce_along(2, rows, 0_int64, take, add)
        call b%get([1], [7], of_columns)
        call c%get([1], [3], of_rows)
        call expect(all(of_columns == [(6 + 300 * j, j = 1, 7)]), 'sum_along')
        call expect(all(of_rows == [(7 * i + 2800, i = 1, 3)]), 'reduce_along, with indices as Fortran has them')
        call runtime%barrier()
        call a%max_along(1, columns)
        call a%min_along(2, rows)
        call b%get([1], [7], of_columns)
        call c%get([1], [3], of_rows)
        call expect(all(of_columns == [(3 + 100 * j, j = 1, 7)]), 'max_along')
        call expect(all(of_rows == [(i + 100, i = 1, 3)]), 'min_along')
        call runtime%barrier()
        call largest%create(a, 2, rows, LAPWING_MAX)
        call largest%execute()
        call largest%execute()
        call c%get([1], [3], of_rows)
        call expect(all(of_rows == [(i + 700, i = 1, 3)]), 'a kept reduction')
        call runtime%barrier()
        call largest%free()
        call a%sum_along(3, rows, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, 'along dimension')
        call a%sum_along(1, rows, stat, errmsg)
        call fails(stat, LAPWING_ERR_RANGE, errmsg, '(3)')
        call a%reduce_along(2, rows, [0_int64, 0_int64], take, add, stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, '16 bytes')
    end subroutine

    subroutine assignments()
        type(lapwing_array) :: a, b
        type(lapwing_slice) :: from, to, sources(2)
        type(lapwing_assignment) :: both, computed
        type(lapwing_completion) :: moved
        integer(int64) :: one, transfers, bytes
        integer(int64), asynchronous :: whole(4, 4)

        call a%create(runtime, LAPWING_INT64, [4, 4])
        call b%create(runtime, LAPWING_INT64, [4, 4], distribution=LAPWING_BLOCK_CYCLIC, block=[1, 2])
        call fill_own(a)
        call from%create(a)
        call to%create(b)
        call to%assign(from)
        call to%assign(from, LAPWING_SUBTRACT)
        call to%apply(from, add_twice)
        call b%get_element([4, 3], one)
        call expect(one == 608, 'apply')
        call b%barrier()
        call both%create()
        call both%add(to, from, LAPWING_ADD)
        call both%execute(compare=.true.)
        call b%get_element([4, 3], one)
        call expect(one == 912, 'execute')
        call b%barrier()
        call both%start(completion=moved)
        call moved%wait()
        call to%start_get(whole, moved)
        call moved%wait()
        call expect(whole(4, 3) == 1216, 'start')
        call b%barrier()
        whole = 8
        if (rank == 0) then
            call to%start_put(whole, moved)
            call moved%wait()
        end if
        call b%barrier()
        call b%get_element([2, 3], one)
        call expect(one == 8, 'start_put')
        call both%transfers(transfers, bytes)
        call expect(transfers >= 0 .and. len(both%explain()) > 0, 'explain')
        call b%barrier()
        call to%fill(5_int64)
        call b%get_element([1, 1], one)
        call expect(one == 5, 'fill')
        call b%barrier()
        call b%copy(a)
        call b%get_element([4, 4], one)
        call expect(one == 404, 'copy')
        call b%barrier()
        call sources(1)%create(a)
        call sources(2)%create(b)
        call to%compute(sources, twice_and_once)
        call b%get_element([4, 3], one)
        call expect(one == 912, 'compute')
        call b%barrier()
        call computed%create()
        call computed%add_compute(from, sources, twice_and_once)
        call computed%execute()
        call a%get_element([4, 3], one)
        call expect(one == 1520, 'add_compute')
        call b%barrier()
        call sources(1)%free()
        call sources(2)%free()
    end subroutine

    subroutine checkpoints()
        type(lapwing_array) :: a, b
        integer(int64) :: one, extents(2)
        integer :: stat
        character(400) :: errmsg
        character(40) :: path

        write (path, '(a, i0, a)') 'fortran_checkpoint.', ranks, '.lapwing'
        call a%create(runtime, LAPWING_INT64, [3, 5])
        call fill_own(a)
        call a%save(path)
        call runtime%checkpoint_extents(path, LAPWING_INT64, extents)
        call expect(all(extents == [3, 5]), 'extents')
        call b%create(runtime, LAPWING_INT64, [3, 5], distribution=LAPWING_CYCLIC)
        call b%load(path)
        call b%get_element([2, 5], one)
        call expect(one == 502, 'load')
        call a%save(path, refuse, stat=stat, errmsg=errmsg)
        ! The rank whose procedure refused, and those that are notified.
        call fails(stat, merge(LAPWING_ERR_USAGE, LAPWING_ERR_FILE, rank == 0), errmsg, 'returned 3')
        call b%load('no/such/file', stat=stat, errmsg=errmsg)
        call fails(stat, LAPWING_ERR_FILE, errmsg, 'no/such/file')
        call runtime%barrier()
        if (rank == 0) then
            open (newunit=stat, file=path)
            close (stat, status='delete')
        end if
    end subroutine

    subroutine plans()
        type(lapwing_window) :: window
        type(lapwing_layout) :: gaps, dense, both
        type(lapwing_plan) :: put, get
        type(lapwing_plan_options) :: options
        type(lapwing_production) :: production
        type(lapwing_recording) :: recording
        type(lapwing_completion) :: completion
        integer(int32), target :: numbers(6), back(6)
        integer(int64) :: puts, made, bytes
        integer :: strategy, stat, k
        real(real64) :: seconds
        character(400) :: errmsg

        call window%create(runtime, 1024)
        call gaps%create_nested([2, 3], [8, 32], 4)
        call expect(index(gaps%text(), '6 blocks') > 0, 'nested: the innermost first')
        call dense%create_contiguous(24)
        call both%create_concatenated(dense, gaps)
        call expect(.not. both%equal(gaps) .and. both%overlaps(), 'concatenated')
        options%strategy = LAPWING_STRATEGY_FULL_PACK
        call put%create_put(window, rank, 0, gaps, dense, options)
        call get%create_get(window, rank, 0, gaps, dense)
        numbers = [(k, k = 11, 16)]
        call put%execute_put(numbers)
        back = 0
        call get%execute(back)
        call expect(all(back == numbers), 'executed')
        call put%execute_filled(4, count_up)
        call get%start(back, completion)
        call completion%wait()
        call expect(all(back == [1, 2, 3, 4, 5, 6]), 'filled')
        call put%produce(numbers, production)
        call production%ready(8)
        call production%ready(24)
        call production%finish()
        call put%execute_notify(numbers, 0)
        call window%wait_notified(0, 1)
        call get%execute(back)
        call expect(all(back == numbers), 'produced')
        call put%query(strategy, bytes, seconds)
        call expect(bytes == 24, 'query')
        call get%execute_put(numbers, stat, errmsg)
        call expect(stat == LAPWING_ERR_USAGE, 'a get')
        call put%execute_put(numbers(1::2), stat, errmsg)
        call expect(stat == LAPWING_ERR_USAGE .and. index(errmsg, 'buffer') > 0, 'a section with gaps')
        call both%free()
        call both%create_nested([2, -3], [8, 32], 4, stat=stat, errmsg=errmsg)
        call expect(stat == LAPWING_ERR_RANGE .and. index(errmsg, '-3') > 0, 'a negative count')
        call recording%create(window)
        call recording%put(rank, 512, numbers(1:2))
        call recording%put(rank, 528, numbers(3))
        call recording%run()
        call recording%query(puts, made)
        call expect(made == 1 .and. recording%blocks(rank) == 2, 'recorded')
        call recording%put(rank, 512, numbers(1:6:2), stat, errmsg)
        call fails(stat, LAPWING_ERR_USAGE, errmsg, 'contiguous')
        call window%get(rank, 528, back(1:1))
        call expect(back(1) == 13, 'run')
        call runtime%barrier()
    end subroutine

    !> MPI's handles, as types and as integers.
    subroutine adopted()
        type(MPI_Win) :: mpi_window
        type(MPI_Datatype) :: vector, again
        type(MPI_Request) :: request
        type(lapwing_window) :: window
        type(lapwing_layout) :: layout
        type(c_ptr) :: memory
        integer(int32), pointer :: own(:)
        integer(int32) :: numbers(6), one
        integer(int64) :: bytes
        integer :: k

        call MPI_Win_allocate(256_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, mpi_window)
        call window%adopt(runtime, mpi_window)
        call MPI_Type_vector(3, 1, 2, MPI_INTEGER, vector)
        call MPI_Type_commit(vector)
        numbers = [(k, k = 1, 6)]
        call window%put_mpi(numbers, 1, vector, rank, 0, 3, MPI_INTEGER)
        numbers = 0
        call window%get_mpi(numbers, 3_int64, MPI_INTEGER%MPI_VAL, rank, 0_int64, 3_int64, MPI_INTEGER%MPI_VAL)
        call expect(all(numbers == [1, 3, 5, 0, 0, 0]), 'a vector')
        call window%memory(rank, own)
        call expect(size(own) == 64, 'memory')
        call window%memory_address(rank, memory, bytes)
        call expect(bytes == 256 .and. c_associated(memory, c_loc(own)), 'memory_address')
        call layout%create_mpi(vector, 1)
        call layout%to_mpi(again)
        call MPI_Type_free(again)
        call MPI_Type_free(vector)
        call expect(lapwing_type_from_mpi(MPI_DOUBLE_PRECISION) == LAPWING_REAL64, 'type')
        call expect(lapwing_type_name(LAPWING_INT16) == 'int16', 'name')
        call MPI_Irecv(one, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, request)
        call MPI_Send(rank, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD)
        call runtime%wait_request(request)
        call expect(one == rank .and. request == MPI_REQUEST_NULL, 'wait_request')
        call runtime%barrier()
        call window%free()
        call MPI_Win_free(mpi_window)
    end subroutine

end program
