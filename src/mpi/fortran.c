/* Call sites of Fortran programs.

   A Fortran call reaches the C function through the library's own Fortran layer, so its return
   address says nothing about the program. These entry points stand before that layer, note where
   they were called from, and jump on: arguments, of whatever kind, are not touched. Without them
   (on another processor, or with another naming of symbols) everything works, only the sites are
   those of the Fortran layer. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "mpi/adapter.h"

#ifdef __x86_64__

/* The functions that make events, as gfortran spells them: mpif.h and `use mpi`, then `use mpi_f08`
   in Open MPI and, without and with a choice buffer, in MPICH. */
/* clang-format off */
#    define RF_FORTRAN_NAMES(X)                                                                    \
        X(recv) X(irecv) X(sendrecv) X(sendrecv_replace) X(isendrecv) X(isendrecv_replace)         \
        X(start) X(startall) X(probe) X(iprobe) X(mprobe) X(improbe)                               \
        X(wait) X(waitall) X(waitany) X(waitsome)                                                  \
        X(test) X(testall) X(testany) X(testsome) X(request_get_status) X(cancel)
/* clang-format on */
#    define RF_FORTRAN_FORMS(X, name) X(mpi_##name##_) X(mpi_##name##_f08_) X(mpi_##name##_f08ts_)

enum {
#    define RF_NUMBER(symbol) RF_ENTRY_##symbol,
#    define RF_NUMBERS(name) RF_FORTRAN_FORMS(RF_NUMBER, name)
    RF_FORTRAN_NAMES(RF_NUMBERS) RF_ENTRIES
};

static const char *const names[] = {
#    define RF_TEXT(symbol) #    symbol,
#    define RF_TEXTS(name) RF_FORTRAN_FORMS(RF_TEXT, name)
    RF_FORTRAN_NAMES(RF_TEXTS)};

/* Where each entry point jumps to; found at its first call. Named in assembler. */
__attribute__((used)) void *rf_fortran_entries[RF_ENTRIES];
void *rf_fortran_find(unsigned long entry) __attribute__((used));

void *rf_fortran_find(unsigned long entry) {
    static const char *const libraries[] = {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
                                            "libmpichfort.so.12", "libmpifort.so.12"};
    void *found = dlsym(RTLD_NEXT, names[entry]);
    for (size_t i = 0; !found && i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        found = library ? dlsym(library, names[entry]) : NULL;
    }
    if (!found)
        abort(); /* the program could not have been linked */
    rf_fortran_entries[entry] = found;
    return found;
}

/* clang-format off */
__asm__(".text\n"
        ".type rf_fortran_first, @function\n"
        "rf_fortran_first:\n" /* entry number in rax; all arguments are kept */
        "    pushq %rdi\n    pushq %rsi\n    pushq %rdx\n"
        "    pushq %rcx\n    pushq %r8\n    pushq %r9\n"
        "    subq $8, %rsp\n"
        "    movq %rax, %rdi\n"
        "    call rf_fortran_find\n"
        "    addq $8, %rsp\n"
        "    popq %r9\n    popq %r8\n    popq %rcx\n"
        "    popq %rdx\n    popq %rsi\n    popq %rdi\n"
        "    jmp *%rax\n");

#    define RF_ENTRY_POINT(symbol)                                                                 \
        __asm__(".globl " #symbol "\n"                                                             \
                ".type " #symbol ", @function\n"                                                   \
                #symbol ":\n"                                                                      \
                "    movq (%rsp), %rax\n"                                                          \
                "    movq rf_fortran_caller@gottpoff(%rip), %r11\n"                                \
                "    movq %rax, %fs:(%r11)\n"                                                      \
                "    movq rf_self@gottpoff(%rip), %r11 \n"                                         \
                "    orl $0x80000000, %fs:(%r11)\n"                                                \
                "    movq .Lnumber_" #symbol "(%rip), %rax\n"                                      \
                "    leaq rf_fortran_entries(%rip), %r11\n"                                        \
                "    movq (%r11,%rax,8), %r11\n"                                                   \
                "    testq %r11, %r11\n"                                                           \
                "    je rf_fortran_first\n"                                                        \
                "    jmp *%r11\n"                                                                  \
                ".size " #symbol ", . - " #symbol "\n");
/* clang-format on */
#    define RF_ENTRY_POINTS(name) RF_FORTRAN_FORMS(RF_ENTRY_POINT, name)
RF_FORTRAN_NAMES(RF_ENTRY_POINTS)

/* The numbers of the enumeration, for the assembler, in the order of the table. */
#    define RF_LABEL(symbol) ".Lnumber_" #    symbol ":\n.quad (. - rf_fortran_numbers) / 8\n"
#    define RF_LABELS(name) RF_FORTRAN_FORMS(RF_LABEL, name)
__asm__(".section .rodata\n.balign 8\nrf_fortran_numbers:\n" RF_FORTRAN_NAMES(RF_LABELS) ".text\n");

#endif
