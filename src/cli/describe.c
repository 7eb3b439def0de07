#include "describe.h"

#include <inttypes.h>

const char *rf_value_text(enum rf_column column, int32_t value, char buffer[RF_VALUE_TEXT]) {
    if (value == RF_UNKNOWN && column != RF_COL_HASH && column != RF_COL_CALL)
        return "unknown";
    if (value == RF_UNDEFINED && column != RF_COL_HASH && column != RF_COL_CALL)
        return "none";
    if (column == RF_COL_HASH)
        snprintf(buffer, RF_VALUE_TEXT, "%04" PRIx32, (uint32_t)value);
    else if (column == RF_COL_CALL)
        snprintf(buffer, RF_VALUE_TEXT, "%" PRIu32, (uint32_t)value);
    else
        snprintf(buffer, RF_VALUE_TEXT, "%" PRId32, value);
    return buffer;
}

void rf_describe(const struct rf_event *event, FILE *out) {
    unsigned flags = rf_kind_flags[event->kind];
    const int32_t values[2] = {event->first, event->second};
    const char *comma = "";
    for (int i = 0; i < 2; i++) {
        enum rf_column column = rf_kind_columns[event->kind][i];
        char buffer[RF_VALUE_TEXT];
        if (column == RF_COL_NONE)
            continue;
        fprintf(out, "%s%s %s", comma, rf_column_names[column],
                rf_value_text(column, values[i], buffer));
        comma = ", ";
    }
    if (event->channel)
        fprintf(out, "%schannel %" PRIu32, comma, event->channel);
    if (flags & RF_BACK)
        fprintf(out, "%sof the post %" PRIu32 " back", comma, event->back);
    if (flags & RF_LIST) {
        fprintf(out, "%s{", comma);
        for (uint32_t i = 0; i < event->list_length; i++)
            fprintf(out, "%s%" PRId32, i ? " " : "", event->list[i]);
        fputc('}', out);
    }
    if (flags & RF_REPEATS && event->run > 1)
        fprintf(out, "  x %" PRIu64, event->run);
}
