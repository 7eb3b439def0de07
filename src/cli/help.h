/* The two kinds of help. */
#ifndef RF_CLI_HELP_H
#define RF_CLI_HELP_H

#include <stdio.h>

#include "options.h"

/* `verb` NULL: the program as a whole. */
void rf_short_help(const struct rf_verb *verb, FILE *out);
/* Shows the manual page; without a man program or a page, the short help. Returns an exit code. */
int rf_show_manual(const struct rf_verb *verb);
/* "-o, --output DIR": what a row of the option table looks like; free() it. */
char *rf_option_text(const struct rf_option *option);

#endif
