/* Where the parts of Refrain lie, relative to the running program: in a build tree or installed. */
#ifndef RF_CLI_INSTALL_H
#define RF_CLI_INSTALL_H

/* Each returns a new string, or NULL when the file is not there. */
char *rf_find_adapter(const char *mpi);
/* What `instrument` links into a program, and the header that renames its calls. */
char *rf_find_linked_adapter(void);
char *rf_find_names_header(void);
/* What `cc` makes the compiler read first. */
char *rf_find_atomics_header(void);
char *rf_find_manual(const char *page);
/* What valgrind and ThreadSanitizer are not to report of us. */
char *rf_find_suppressions(void);
char *rf_find_tsan_suppressions(void);
/* The commands that `debug` brings to gdb. */
char *rf_find_gdb_script(void);
/* The scripts that measure the published tables, and the programs they run. Both belong to the
   source and build trees: an installed Refrain has none. */
char *rf_find_bench(void);
char *rf_find_bench_programs(void);
/* The running program itself. */
char *rf_find_self(void);

#endif
