! MPI's clock and those of the language, in ranks.
program mpi_fortran
    use mpi
    use, intrinsic :: iso_fortran_env
    implicit none
    integer :: error, rank
    integer(int64) :: count
    real(real64) :: begin, number

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    begin = MPI_Wtime()
    call random_seed()
    call random_number(number)
    call system_clock(count)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    print '(a, i0, a, f20.17, 1x, i0, 1x, f20.9, 1x, e20.9)', 'rank ', rank, ': ', number, count, &
        begin, MPI_Wtime() - begin
    call MPI_Finalize(error)
end program mpi_fortran
