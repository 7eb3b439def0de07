/* The command line of a compiler, as far as it must be understood to add something to it. */
#ifndef RF_CLI_COMPILER_WORDS_H
#define RF_CLI_COMPILER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct rf_compiler_words {
    bool compiles;    /* there is a source among the words */
    bool links;       /* and it makes a program: no object, no library */
    bool reads_input; /* the source is its standard input */
    char *output;     /* the program that it makes; NULL: none */
    char **objects;   /* the object files that it makes */
    size_t object_count;
};

void rf_compiler_words(char *const *command, struct rf_compiler_words *words);
void rf_compiler_words_free(struct rf_compiler_words *words);

/* The command with an include of `header` before everything else (NULL: without), and with
   `library` wherever the linker may need it (NULL: nowhere). Free with rf_free_words. */
char **rf_compiler_command(char *const *command, const char *header, const char *library);

#endif
