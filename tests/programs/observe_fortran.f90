! observe.h for the programs in Fortran.
module observe_fortran
  use, intrinsic :: iso_c_binding, only: c_int, c_char, c_null_char
  implicit none
  interface
     subroutine program_open(rank) bind(C)
       import :: c_int
       integer(c_int), value :: rank
     end subroutine program_open
     subroutine program_observe(what, value) bind(C)
       import :: c_int, c_char
       character(kind=c_char), intent(in) :: what(*)
       integer(c_int), value :: value
     end subroutine program_observe
     subroutine program_close() bind(C)
     end subroutine program_close
     subroutine program_dawdle() bind(C)
     end subroutine program_dawdle
  end interface
contains
  subroutine observe(what, value)
    character(*), intent(in) :: what
    integer, intent(in) :: value
    call program_observe(what//c_null_char, int(value, c_int))
  end subroutine observe
end module observe_fortran
