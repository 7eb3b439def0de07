! Fortran's own clocks and random numbers, and what gfortran adds.
program intrinsics
    use, intrinsic :: iso_fortran_env
    implicit none
    integer(int64) :: count, rate
    integer :: values(8), unit, size, i
    integer, allocatable :: seed(:)
    integer(int8) :: bytes(16)
    real :: used
    real(real64) :: number
    character(10) :: day, hour

    do i = 1, 3
        call system_clock(count, rate)
        print '(a, i0, 1x, i0)', 'thread 0: system_clock ', count, rate
        call date_and_time(day, hour, values=values)
        print '(4a)', 'thread 0: date_and_time ', day, ' ', hour
        call cpu_time(used)
        print '(a, e15.8)', 'thread 0: cpu_time ', used
    end do
    call random_seed()
    call random_seed(size=size)
    allocate (seed(size))
    call random_seed(get=seed)
    print '(a, *(i0, 1x))', 'thread 0: seed ', seed
    call random_number(number)
    print '(a, f20.17)', 'thread 0: random_number ', number
    open (newunit=unit, file='/dev/urandom', access='stream', form='unformatted', action='read')
    read (unit) bytes
    close (unit)
    print '(a, *(i0, 1x))', 'thread 0: bytes ', bytes
    print '(a, i0, a, i0)', 'thread 0: process ', getpid(), ' at ', time8()
end program intrinsics
