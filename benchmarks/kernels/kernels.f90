!> Kernels in Fortran: patches of what others have, and loops over own elements through pointers with global indices.
!> Dimension 1 is the last one of C, whose names the comments have.
module lapwing_kernels
    use, intrinsic :: iso_c_binding, only: c_double, c_f_pointer, c_int, c_int64_t, c_ptr
    use, intrinsic :: iso_fortran_env, only: int8, real64
    use mpi_f08, only: MPI_COMM_WORLD
    use lapwing
    implicit none
    private
    enum, bind(C)
        enumerator :: sobel = 0, transposed = 1, heat = 2
    end enum
    type, bind(C) :: matrix_rows
        integer(c_int64_t) :: rows
        type(c_ptr) :: row_start, column, value
    end type
    type(lapwing_runtime), save :: runtime
    type(lapwing_array), save, target :: arrays(2)
    integer, save :: from = 1, to = 2
    integer, save :: extents(3)
    integer(c_int64_t), allocatable, save :: row_start(:)
    integer(c_int64_t), pointer, save :: column(:)
    real(c_double), pointer, save :: value(:)

contains

    subroutine start() bind(C, name='lapwing_fortran_start')
        call runtime%create(MPI_COMM_WORLD)
    end subroutine

    subroutine make(kernel, of, input) bind(C, name='lapwing_fortran_make')
        integer(c_int), value :: kernel
        integer(c_int64_t), intent(in) :: of(*)
        type(c_ptr), value :: input

        from = 1
        to = 2
        select case (kernel)
        case (sobel)
            extents(1:2) = int(of(2:1:-1))
            call make_both(LAPWING_INT8, extents(1:2), extents(1:2))
            call set_pixels(input)
        case (transposed)
            extents(1:2) = int(of(2:1:-1))
            call make_both(LAPWING_REAL64, extents(1:2), extents(2:1:-1))
            call set_matrix(input)
        case (heat)
            extents = int(of(3:1:-1))
            call make_both(LAPWING_REAL64, extents, extents)
            call set_temperature(arrays(1))
            call set_temperature(arrays(2))
        case default
            extents(1) = int(of(1))
            call make_both(LAPWING_REAL64, extents(1:1), extents(1:1))
            call set_rows(input)
        end select
        call runtime%barrier()
    end subroutine

    subroutine make_both(type, shape, other_shape)
        integer(c_int64_t), intent(in) :: type
        integer, intent(in) :: shape(:), other_shape(:)

        if (size(shape) == 2) then
            call arrays(1)%create(runtime, type, shape, grid=[1, 0])
            call arrays(2)%create(runtime, type, other_shape, grid=[1, 0])
        else
            call arrays(1)%create(runtime, type, shape)
            call arrays(2)%create(runtime, type, other_shape)
        end if
    end subroutine

    subroutine set_pixels(input)
        type(c_ptr), intent(in) :: input
        integer(int8), pointer :: all_of(:, :), own(:, :)

        call c_f_pointer(input, all_of, extents(1:2))
        call arrays(1)%local(own)
        own = all_of(lbound(own, 1):ubound(own, 1), lbound(own, 2):ubound(own, 2))
    end subroutine

    subroutine set_matrix(input)
        type(c_ptr), intent(in) :: input
        real(real64), pointer :: all_of(:, :), own(:, :)

        call c_f_pointer(input, all_of, extents(1:2))
        call arrays(1)%local(own)
        own = all_of(lbound(own, 1):ubound(own, 1), lbound(own, 2):ubound(own, 2))
    end subroutine

    subroutine set_temperature(array)
        type(lapwing_array), intent(in) :: array
        real(real64), pointer :: own(:, :, :)
        integer :: i, j, k

        call array%local(own)
        do i = lbound(own, 3), ubound(own, 3)
            do j = lbound(own, 2), ubound(own, 2)
                do k = lbound(own, 1), ubound(own, 1)
                    own(k, j, i) = initial_temperature(i - 1, j - 1, k - 1)
                end do
            end do
        end do
    end subroutine

    pure real(real64) function initial_temperature(i, j, k) result(temperature)
        integer, intent(in) :: i, j, k
        integer :: n

        n = extents(1)
        temperature = 0
        if (9 * ((2 * i - n)**2 + (2 * j - n)**2 + (2 * k - n)**2) < n**2) temperature = 80
        if (i == 0) temperature = 100
    end function

    subroutine set_rows(input)
        type(c_ptr), intent(in) :: input
        type(matrix_rows), pointer :: matrix
        integer(c_int64_t), pointer :: starts(:)
        real(real64), pointer :: own(:)
        integer :: i

        call c_f_pointer(input, matrix)
        call c_f_pointer(matrix%row_start, starts, [matrix%rows + 1])
        call c_f_pointer(matrix%column, column, [starts(matrix%rows + 1)])
        call c_f_pointer(matrix%value, value, [starts(matrix%rows + 1)])
        call arrays(1)%local(own)
        row_start = [(starts(i), i = lbound(own, 1), ubound(own, 1) + 1)]
        do i = lbound(own, 1), ubound(own, 1)
            own(i) = 1 / real(i, real64)
        end do
    end subroutine

    subroutine run(kernel, iterations, growth) bind(C, name='lapwing_fortran_run')
        integer(c_int), value :: kernel
        integer(c_int64_t), value :: iterations
        real(c_double), intent(inout) :: growth(*)
        integer(c_int64_t) :: n

        do n = 1, iterations
            select case (kernel)
            case (sobel)
                call detect_edges()
            case (transposed)
                call transpose_own()
            case (heat)
                call heat_step()
            case default
                growth(n) = multiply()
            end select
        end do
    end subroutine

    subroutine detect_edges()
        integer(int8), pointer, contiguous :: own(:, :)
        integer(int8), allocatable :: pixels(:, :)
        integer :: lower(2), upper(2)

        call arrays(2)%local(own)
        lower = max(lbound(own), 2)
        upper = min(ubound(own), extents(1:2) - 1)
        if (all(lower <= upper)) then
            allocate(pixels(lower(1) - 1:upper(1) + 1, lower(2) - 1:upper(2) + 1))
            call arrays(1)%get(lower - 1, upper + 1, pixels)
            call edges_of(pixels, lower - 1, own, lbound(own), lower, upper)
        end if
        call arrays(2)%barrier()
    end subroutine

    !> Both arrays by their indices in the image: their first ones are passed along.
    subroutine edges_of(pixels, first, edges, own, lower, upper)
        integer, intent(in) :: first(2), own(2), lower(2), upper(2)
        integer(int8), intent(in), contiguous :: pixels(first(1):, first(2):)
        integer(int8), intent(inout), contiguous :: edges(own(1):, own(2):)
        integer :: i, j, down, across, strength

        do i = lower(2), upper(2)
            do j = lower(1), upper(1)
                down = (grey(pixels(j - 1, i + 1)) + 2 * grey(pixels(j, i + 1)) + grey(pixels(j + 1, i + 1))) - &
                    (grey(pixels(j - 1, i - 1)) + 2 * grey(pixels(j, i - 1)) + grey(pixels(j + 1, i - 1)))
                across = (grey(pixels(j + 1, i - 1)) + 2 * grey(pixels(j + 1, i)) + grey(pixels(j + 1, i + 1))) - &
                    (grey(pixels(j - 1, i - 1)) + 2 * grey(pixels(j - 1, i)) + grey(pixels(j - 1, i + 1)))
                strength = int(min(sqrt(real(down * down + across * across, real64)), 255.0_real64))
                ! Fortran's bytes have signs.
                edges(j, i) = int(merge(strength - 256, strength, strength > 127), int8)
            end do
        end do
    end subroutine

    elemental integer function grey(pixel)
        integer(int8), intent(in) :: pixel

        grey = iand(int(pixel), 255)
    end function

    subroutine transpose_own()
        real(real64), pointer, contiguous :: own(:, :)
        real(real64), allocatable :: patch(:, :)

        call arrays(2)%local(own)
        if (size(own) > 0) then
            allocate(patch(size(own, 2), size(own, 1)))
            call arrays(1)%get([lbound(own, 2), lbound(own, 1)], [ubound(own, 2), ubound(own, 1)], patch)
            call turn(patch, own)
        end if
        call arrays(2)%barrier()
    end subroutine

    subroutine turn(patch, own)
        real(real64), intent(in), contiguous :: patch(:, :)
        real(real64), intent(inout), contiguous :: own(:, :)
        integer :: i, j

        do i = 1, size(own, 2)
            do j = 1, size(own, 1)
                own(j, i) = patch(i, j)
            end do
        end do
    end subroutine

    subroutine heat_step()
        real(real64), pointer, contiguous :: own(:, :, :)
        real(real64), allocatable :: patch(:, :, :)
        integer :: lower(3), upper(3)

        call arrays(to)%local(own)
        lower = max(lbound(own), 2)
        upper = min(ubound(own), extents - 1)
        if (all(lower <= upper)) then
            allocate(patch(lower(1) - 1:upper(1) + 1, lower(2) - 1:upper(2) + 1, lower(3) - 1:upper(3) + 1))
            call arrays(from)%get(lower - 1, upper + 1, patch)
            call diffuse(patch, lower - 1, own, lbound(own), lower, upper)
        end if
        call arrays(to)%barrier()
        from = to
        to = 3 - from
    end subroutine

    subroutine diffuse(now, first, next, own, lower, upper)
        integer, intent(in) :: first(3), own(3), lower(3), upper(3)
        real(real64), intent(in), contiguous :: now(first(1):, first(2):, first(3):)
        real(real64), intent(inout), contiguous :: next(own(1):, own(2):, own(3):)
        real(real64) :: here, neighbours
        integer :: i, j, k

        do i = lower(3), upper(3)
            do j = lower(2), upper(2)
                do k = lower(1), upper(1)
                    here = now(k, j, i)
                    neighbours = (now(k, j, i - 1) + now(k, j, i + 1)) + (now(k, j - 1, i) + now(k, j + 1, i)) + &
                        (now(k - 1, j, i) + now(k + 1, j, i))
                    next(k, j, i) = here + 0.15_real64 * (neighbours - 6 * here)
                end do
            end do
        end do
    end subroutine

    real(real64) function multiply() result(norm)
        real(real64), pointer, contiguous :: x(:), y(:)
        real(real64) :: all_of_x(extents(1)), largest(1)

        call arrays(1)%get([1], [extents(1)], all_of_x)
        call arrays(1)%local(x)
        call arrays(2)%local(y)
        call rows_times(all_of_x, y, largest(1))
        ! After it no rank reads the old x any more.
        call runtime%max(largest)
        norm = largest(1)
        x = y / norm
        call arrays(1)%barrier()
    end function

    subroutine rows_times(x, y, largest)
        real(real64), intent(in), contiguous :: x(:)
        real(real64), intent(inout), contiguous :: y(:)
        real(real64), intent(out) :: largest
        real(real64) :: sum
        integer(c_int64_t) :: k
        integer :: i

        largest = 0
        do i = 1, size(y)
            sum = 0
            do k = row_start(i) + 1, row_start(i + 1)
                sum = sum + value(k) * x(column(k) + 1)
            end do
            y(i) = sum
            largest = max(largest, abs(sum))
        end do
    end subroutine

    subroutine read_result(kernel, elements) bind(C, name='lapwing_fortran_result')
        integer(c_int), value :: kernel
        type(c_ptr), value :: elements
        integer(int8), pointer :: pixels(:, :)
        real(real64), pointer :: matrix(:, :), cube(:, :, :), vector(:)

        select case (kernel)
        case (sobel)
            call c_f_pointer(elements, pixels, extents(1:2))
            call arrays(2)%get([1, 1], extents(1:2), pixels)
        case (transposed)
            call c_f_pointer(elements, matrix, extents(2:1:-1))
            call arrays(2)%get([1, 1], extents(2:1:-1), matrix)
        case (heat)
            call c_f_pointer(elements, cube, extents)
            call arrays(from)%get([1, 1, 1], extents, cube)
        case default
            call c_f_pointer(elements, vector, extents(1:1))
            call arrays(1)%get([1], extents(1:1), vector)
        end select
    end subroutine

    subroutine end_kernel() bind(C, name='lapwing_fortran_end')
        call arrays(2)%free()
        call arrays(1)%free()
    end subroutine

    subroutine finish() bind(C, name='lapwing_fortran_finish')
        call runtime%free()
    end subroutine

end module
