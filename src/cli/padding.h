/* Where the stack of a process begins. */
#ifndef RF_CLI_PADDING_H
#define RF_CLI_PADDING_H

/* The words and variables that a process is started with lie at the end of its stack, and what a
   replay has there need not have the length of what the recording had. Adds variables to ours until
   that is a round number, in bytes and in count. */
void rf_pad_environment(char *const *words);

#endif
