/* The mark of a program that has the adapter linked into it: an ELF note. Unlike a symbol it
   survives `strip`, and the process itself finds it among its segments. */
#ifndef RF_MCAPI_NOTE_H
#define RF_MCAPI_NOTE_H

#define RF_NOTE_NAME "Refrain"
#define RF_NOTE_ADAPTER 1 /* the type; the description is the adapter's name */

#endif
