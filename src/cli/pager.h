/* Long output on a terminal goes through a pager. */
#ifndef RF_CLI_PAGER_H
#define RF_CLI_PAGER_H

/* Does nothing unless standard output is a terminal. */
void rf_pager_begin(void);
/* Waits for the reader to leave. Call it before anything is said on standard error. */
void rf_pager_end(void);

#endif
