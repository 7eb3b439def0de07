/* For ourselves: what gdb and our script in it call back. */
#ifndef RF_CLI_BECOME_H
#define RF_CLI_BECOME_H

/* `refrain --become TRACE RANK RUN ADAPTER SCHEME`: becomes the process of an extracted rank. What
   else stands there is ignored. */
int rf_become(char **words);
/* `refrain --played RUN RANK`: prints how many events a rank alone has made that records again, and
   which were the latest, as JSON. The rank may be stopped anywhere. */
int rf_played(char **words);

#endif
