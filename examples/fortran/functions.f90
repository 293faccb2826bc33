! Work that goes to the data: functions that run at the owners of elements, by their names.
!
!     mpirun -n 4 fortran_functions
! [program]
module own_functions
    use, intrinsic :: iso_c_binding
    use lapwing, only: lapwing_function_fail
    implicit none
    integer(c_int64_t), target, save :: tickets = 0 ! of rank 0

contains

    ! The next number.
    integer(c_int) function take_ticket(context, element, argument, argument_bytes, result, result_bytes) bind(C)
        type(c_ptr), value :: context, element, argument, result
        integer(c_int64_t), value :: argument_bytes
        integer(c_int64_t), intent(inout) :: result_bytes
        integer(c_int64_t), pointer :: ticket

        call c_f_pointer(result, ticket)
        tickets = tickets + 1
        ticket = tickets
        take_ticket = 0
    end function

    ! The element becomes the larger of itself and the argument.
    integer(c_int) function keep_larger(context, element, argument, argument_bytes, result, result_bytes) bind(C)
        type(c_ptr), value :: context, element, argument, result
        integer(c_int64_t), value :: argument_bytes
        integer(c_int64_t), intent(inout) :: result_bytes
        integer(c_int64_t), pointer :: here, value

        call c_f_pointer(element, here)
        call c_f_pointer(argument, value)
        here = max(here, value)
        keep_larger = 0
        if (value < 0) keep_larger = lapwing_function_fail('negative numbers are not kept')
    end function
end module

program functions
    use, intrinsic :: iso_fortran_env, only: int64
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    use own_functions
    implicit none
    type(lapwing_runtime) :: runtime
    type(lapwing_array) :: largest, counts
    type(lapwing_aggregator) :: aggregator
    integer(int64) :: ticket, total
    integer(int64), asynchronous :: found(10)
    integer :: i

    call lapwing_function_register('take ticket', take_ticket) ! on every rank, before the first call
    call lapwing_function_register('keep larger', keep_larger)
    call runtime%create(MPI_COMM_WORLD)
    call largest%create(runtime, LAPWING_INT64, [10])
    call counts%create(runtime, LAPWING_INT64, [10])

    call runtime%call(0, 'take ticket', result=ticket)
    do i = 1, 10
        call largest%post([i], 'keep larger', ticket)
    end do

    ! Many small accesses, hundreds in a message.
    call aggregator%create(runtime)
    do i = 1, 1000
        call aggregator%add(counts, [1 + mod(7 * i, 10)], 1_int64)
    end do
    call runtime%barrier() ! all functions have run
    call aggregator%get_list(largest, reshape([(i, i = 1, 10)], [1, 10]), found)
    call aggregator%free() ! the values are here
    call counts%sum(total)

    if (runtime%rank() == 0) print '(3(a, i0), a)', 'the last of ', runtime%size(), ' tickets is ', found(10), ', and ', total, &
        ' were counted'
    if (found(10) /= runtime%size() .or. total /= 1000 * runtime%size()) error stop 'wrong'
    call counts%free()
    call largest%free()
    call runtime%free()
end program
! [end]
