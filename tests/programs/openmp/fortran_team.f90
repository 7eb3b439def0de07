! Fortran: critical, locks, a dynamic loop, an ordered one, single and tasks.
program fortran_team
  use omp_lib
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer, parameter :: threads = 4, rounds = 60
  integer(int64) :: seen(0:63, 0:threads-1), trail, locked
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: i, me

  seen = 7
  trail = 7
  locked = 7
  call omp_set_dynamic(.false.)
  call omp_set_num_threads(threads)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)

  !$omp parallel private(i, me)
  me = omp_get_thread_num()
  do i = 1, rounds
    !$omp critical
    call extend(trail, me)
    !$omp end critical
    call work(me + i)
    call omp_set_lock(lock)
    call extend(locked, me + 10)
    call omp_unset_lock(lock)
    if (omp_test_lock(lock)) then
      call extend(locked, me + 20)
      call omp_unset_lock(lock)
      call extend(seen(0, me), 1)
    else
      call extend(seen(0, me), 0)
    end if
    if (omp_test_nest_lock(nest) > 0) then
      call omp_set_nest_lock(nest)
      call extend(seen(0, me), 2)
      call omp_unset_nest_lock(nest)
      call omp_unset_nest_lock(nest)
    end if
  end do
  !$omp do schedule(dynamic, 2)
  do i = 1, 200
    call extend(seen(0, me), i)
    call work(i)
  end do
  !$omp do schedule(guided) ordered
  do i = 1, 100
    call work(i)
    !$omp ordered
    call extend(trail, me + i)
    !$omp end ordered
  end do
  !$omp single
  do i = 1, 80
    !$omp task firstprivate(i)
    call work(i)
    call extend(seen(0, omp_get_thread_num()), i)
    !$omp critical
    call extend(trail, i)
    !$omp end critical
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel

  do i = 0, threads - 1
    print '(a, i0, a, z16.16)', 'thread ', i, ': ', seen(0, i)
  end do
  print '(a, z16.16)', 'trail: ', trail
  print '(a, z16.16)', 'trail: locked: ', locked
contains
  subroutine extend(hash, value)
    integer(int64), intent(inout) :: hash
    integer, intent(in) :: value
    hash = ieor(hash, int(value, int64) + 1_int64) * 1099511628211_int64
  end subroutine

  subroutine work(amount)
    integer, intent(in) :: amount
    integer :: k
    real(8) :: t, noise
    t = omp_get_wtime()
    noise = (t - aint(t)) * 1.0d6
    do k = 1, 200 + modulo(int(noise), 2000) + modulo(amount, 7)
      if (omp_get_wtime() < t) stop 1
    end do
  end subroutine
end program
