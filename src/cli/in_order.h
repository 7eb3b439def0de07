/* The same work for every rank, in processes of their own, several at a time: the output comes out
   as if they had run one after another. */
#ifndef RF_CLI_IN_ORDER_H
#define RF_CLI_IN_ORDER_H

/* Returns an exit code. */
typedef int rf_work(void *context, int rank);

/* Each line that the work for rank 3 writes begins with "[3] ", on standard output as on standard
   error. Only rank 0 has our standard input, as under mpirun, and not from a terminal. Returns 0,
   128 + a signal that has ended all, RF_EXIT_DIVERGED if a rank's work has that code, or the code
   of the first rank whose work has another one. */
int rf_in_order(int ranks, rf_work *work, void *context);

#endif
