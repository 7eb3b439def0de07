/* For ourselves: gdb starts the program through us. */
#ifndef RF_CLI_DEBUG_H
#define RF_CLI_DEBUG_H

/* `refrain --become TRACE RANK RUN ADAPTER SCHEME`: becomes the process of an extracted rank. What
   else stands there is ignored. */
int rf_debug_become(char **words);

#endif
