! Fortran with the include file.
program fortran_mpif
  use observe_fortran
  implicit none
  include 'mpif.h'
  integer, parameter :: rounds = 8, most = 128
  integer :: requests(most), other
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, most)
  integer, asynchronous :: words(most), word
  integer :: indices(most), ierror, rank, nodes, total, i, index, done, failed
  logical :: flag
  integer(MPI_ADDRESS_KIND) :: number

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, nodes, ierror)
  call program_open(rank)
  ! What is known of the job.
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, number, flag, ierror)
  if (flag) call observe('universe', int(number))
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, number, flag, ierror)
  if (flag) call observe('tags', int(number))
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_APPNUM, total, flag, ierror)
  if (flag) call observe('application', total)
  total = (nodes - 1)*rounds

  ! Blocking receives, every second without a status.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
     do i = 1, total
        if (mod(i, 2) == 0) then
           call MPI_Recv(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                         MPI_STATUS_IGNORE, ierror)
        else
           call MPI_Recv(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                         status, ierror)
           call observe('source', status(MPI_SOURCE))
           call observe('tag', status(MPI_TAG))
        end if
        call observe('word', word)
     end do
  else
     call send_all()
  end if

  ! Wait-any; the index counts from one.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
     call post_all()
     do i = 1, total
        call MPI_Waitany(total, requests, index, status, ierror)
        call observe('index', index)
        call observe('source', status(MPI_SOURCE))
        call observe('word', words(index))
     end do
     call MPI_Waitany(total, requests, index, MPI_STATUS_IGNORE, ierror)
     if (index == MPI_UNDEFINED) call observe('undefined', 1)
  else
     call send_all()
  end if

  ! Test-some until nothing is left.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
     call post_all()
     failed = 0
     do
        call MPI_Testsome(total, requests, done, indices, statuses, ierror)
        if (done == MPI_UNDEFINED) exit
        if (done == 0) failed = failed + 1
        do i = 1, done
           call observe('failed', failed)
           call observe('index', indices(i))
           call observe('source', statuses(MPI_SOURCE, i))
           call observe('word', words(indices(i)))
        end do
     end do
  else
     call send_all()
  end if

  ! Probes and a persistent receive.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
     call MPI_Recv_init(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, other, ierror)
     do i = 1, total
        failed = 0
        flag = .false.
        do while (.not. flag)
           call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, flag, status, ierror)
           if (.not. flag) failed = failed + 1
        end do
        call observe('failed', failed)
        call observe('source', status(MPI_SOURCE))
        call MPI_Start(other, ierror)
        call MPI_Wait(other, status, ierror)
        call observe('source', status(MPI_SOURCE))
        call observe('word', word)
     end do
     call MPI_Request_free(other, ierror)
  else
     call send_all()
  end if

  ! Cancels that race with the messages.
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) then
     done = 0
     do i = 1, total
        call MPI_Irecv(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, other, ierror)
        call program_dawdle()
        call MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
        call MPI_Cancel(other, ierror)
        call MPI_Wait(other, status, ierror)
        call MPI_Test_cancelled(status, flag, ierror)
        if (flag) cycle
        done = done + 1
        call observe('not cancelled', i)
        call observe('source', status(MPI_SOURCE))
        call observe('word', word)
     end do
     do i = done + 1, total
        call MPI_Recv(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierror)
        call observe('word', word)
     end do
  else
     call send_all()
  end if

  ! A test of a collective.
  call MPI_Ibarrier(MPI_COMM_WORLD, other, ierror)
  flag = .false.
  failed = -1
  do while (.not. flag)
     call MPI_Test(other, flag, MPI_STATUS_IGNORE, ierror)
     failed = failed + 1
  end do
  call observe('failed', failed)

  call program_close()
  call MPI_Finalize(ierror)

contains

  subroutine post_all()
    integer :: k
    do k = 1, total
       call MPI_Irecv(words(k), 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                      requests(k), ierror)
    end do
  end subroutine post_all

  subroutine send_all()
    integer :: k
    do k = 1, rounds
       call program_dawdle()
       call MPI_Send(rank*1000 + k, 1, MPI_INTEGER, 0, mod(k, 3), MPI_COMM_WORLD, ierror)
    end do
  end subroutine send_all

end program fortran_mpif
