/* Call sites as source lines: a module and an offset in, "app.c:41" out. */
#ifndef RF_CLI_SYMBOLS_H
#define RF_CLI_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct rf_symbols;

enum { RF_PLACE_TEXT = 320 };

struct rf_symbols *rf_symbols_new(void);
void rf_symbols_free(struct rf_symbols *symbols);

/* Writes "file.c:41", or "function+0x1f", or "module+0x12af", or "?", fit to be shown; returns
   `text`. `offset` is a return address in the module. A module that is another build than the
   recorded one is not asked for lines: they would be wrong. */
const char *rf_symbols_place(struct rf_symbols *symbols, const struct rf_module *module,
                             uint64_t offset, char text[RF_PLACE_TEXT]);

#endif
