! Fortran: reductions and atomic updates, compiled by `refrain fc`.
program fortran_reduction
  use omp_lib
  implicit none
  real(8) :: total, sum
  integer :: i, round
  call omp_set_dynamic(.false.)
  call omp_set_num_threads(4)
  total = 0
  sum = 0
  do round = 1, 20
    !$omp parallel do reduction(+:total)
    do i = 1, 40
      total = total + 1.0d0 / (i + round)
      call work()
    end do
    !$omp end parallel do
    !$omp parallel do schedule(dynamic)
    do i = 1, 40
      call work()
      !$omp atomic
      sum = sum + 1.0d0 / (i + round)
    end do
    !$omp end parallel do
  end do
  print '(a, z16.16, 1x, z16.16)', 'trail: ', transfer(total, 0_8), transfer(sum, 0_8)
contains
  subroutine work()
    integer :: k
    real(8) :: t, noise
    t = omp_get_wtime()
    noise = (t - aint(t)) * 1.0d6
    do k = 1, 20 + modulo(int(noise), 300)
      if (omp_get_wtime() < t) stop 1
    end do
  end subroutine
end program
