#include "mcapi_names.h"

#include <stdio.h>
#include <string.h>

const char *const rf_mcapi_names[RF_MCAPI_NAMES] = {
#define RF_FUNCTION(result, name, parameters, arguments) "mcapi_" #name,
#include "mcapi/functions.def"
#undef RF_FUNCTION
};

size_t rf_mcapi_find(const char *name) {
    size_t i = 0;
    while (i < RF_MCAPI_NAMES && strcmp(name, rf_mcapi_names[i]) != 0)
        i++;
    return i;
}

/* The pragma changes what the assembler sees. A macro would meet other macros of the same name, as
   those of the header for MCAPI 1 are, and would change what the program prints or stringizes. */
void rf_mcapi_print_header(void) {
    puts("/* Included by `refrain instrument -- CC ...` before everything else: the program calls\n"
         "   Refrain's adapter, which calls MCAPI. */\n"
         "#ifndef __ASSEMBLER__");
    for (size_t i = 0; i < RF_MCAPI_NAMES; i++)
        printf("#pragma redefine_extname %s " RF_RENAMED_PREFIX "%s\n", rf_mcapi_names[i],
               rf_mcapi_names[i]);
    puts("#endif");
}
