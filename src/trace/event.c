/* The tables that follow from events.def. */
#include "event.h"

const char *const rf_kind_names[RF_KINDS] = {
    "nothing",
#define RF_EVENT(name, text, first, second, flags, meaning) text,
#include "events.def"
#undef RF_EVENT
};

const enum rf_column rf_kind_columns[RF_KINDS][2] = {
    {RF_COL_NONE, RF_COL_NONE},
#define RF_EVENT(name, text, first, second, flags, meaning) {first, second},
#include "events.def"
#undef RF_EVENT
};

const unsigned rf_kind_flags[RF_KINDS] = {
    0,
#define RF_EVENT(name, text, first, second, flags, meaning) flags,
#include "events.def"
#undef RF_EVENT
};

const char *const rf_column_names[] = {
    [RF_COL_NONE] = "",       [RF_COL_SOURCE] = "source",       [RF_COL_TAG] = "tag",
    [RF_COL_INDEX] = "index", [RF_COL_COUNT] = "count",         [RF_COL_CLASS] = "class",
    [RF_COL_CALL] = "call",   [RF_COL_HASH] = "hash",           [RF_COL_HOW] = "how",
    [RF_COL_CODE] = "code",   [RF_COL_CANCELLED] = "cancelled", [RF_COL_VALUE] = "value",
    [RF_COL_STAMP] = "stamp", [RF_COL_BACK] = "back",           [RF_COL_THREAD] = "thread",
};

_Static_assert(RF_KINDS <= 1 << RF_KIND_BITS, "a kind must fit its bits");
