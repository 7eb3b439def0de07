#include "played.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "become.h"
#include "describe.h"
#include "text.h"

/* "event 12: recv, source 3, tag 7", as the script in gdb has it for events that are played. */
static json_t *text_of(const struct rf_event *event) {
    char *text = rf_text("event %llu: %s",
                         (unsigned long long)event->number + (unsigned long long)event->run - 1,
                         rf_kind_names[event->kind]);
    const int32_t values[2] = {event->first, event->second};
    for (int i = 0; i < 2; i++) {
        enum rf_column column = rf_kind_columns[event->kind][i];
        char buffer[RF_VALUE_TEXT];
        if (column == RF_COL_NONE)
            continue;
        char *longer = rf_text("%s, %s %s", text, rf_column_names[column],
                               rf_value_text(column, values[i], buffer));
        free(text);
        text = longer;
    }
    json_t *string = json_string(text);
    free(text);
    return string;
}

static bool brings_message(const struct rf_event *event) {
    return event->kind == RF_RECV || event->kind == RF_POST || event->kind == RF_FOUND;
}

bool rf_played_look(const char *run, int rank, struct rf_played *played) {
    struct rf_error error = {0};
    struct rf_reader *reader = rf_reader_open(run, rank, &error);
    *played = (struct rf_played){0};
    if (!reader)
        return false;
    struct rf_event event;
    enum rf_read result;
    while ((result = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT)
        if (rf_is_decision(event.kind)) {
            played->events += event.run;
            played->last = event;
            if (brings_message(&event))
                played->message = event;
        }
    rf_reader_close(reader);
    return result != RF_READ_DAMAGED;
}

int rf_played(char **words) {
    struct rf_played played;
    if (!words[0] || !words[1] || !rf_played_look(words[0], atoi(words[1]), &played))
        return RF_EXIT_TRACE;
    const struct rf_event *last = &played.last, *message = &played.message;
    bool other = message->kind != RF_NO_EVENT && message->number != last->number;
    json_t *facts = json_pack("{s:I,s:o,s:o}", "events", (json_int_t)played.events, "last",
                              played.events ? text_of(last) : json_null(), "message",
                              other ? text_of(message) : json_null());
    json_dumpf(facts, stdout, JSON_COMPACT);
    json_decref(facts);
    return fflush(stdout) == 0 ? RF_EXIT_OK : RF_EXIT_BUG;
}
