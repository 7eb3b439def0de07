#include "engine/strands.h"

#include <stdlib.h>
#include <string.h>

#include "engine/lock.h"
#include "engine/session.h"

_Thread_local struct rf_strand *rf_strand_here __attribute__((tls_model("initial-exec")));

static void start_signs(struct rf_signs *signs) {
    *signs = (struct rf_signs){.until_check = 1, .next_check = 1};
}

/* Under the lock. */
static struct rf_strand *find(struct rf_strands *strands, int number) {
    if (number < 0 || number >= RF_MOST_STRANDS)
        return NULL;
    if (number >= strands->size) {
        int size = number < 8 ? 16 : number * 2;
        struct rf_strand **list = realloc(strands->list, (size_t)size * sizeof(struct rf_strand *));
        if (!list)
            return NULL;
        for (int i = strands->size; i < size; i++)
            list[i] = NULL;
        strands->list = list;
        strands->size = size;
    }
    struct rf_strand *strand = strands->list[number];
    if (!strand && (strand = calloc(1, sizeof *strand))) {
        strand->number = number;
        strand->signs = &strand->own;
        start_signs(&strand->own);
        strands->list[number] = strand;
    }
    return strand;
}

struct rf_strand *rf_strand_find(struct rf_session *session, int number) {
    struct rf_strands *strands = &session->strands;
    rf_lock(&strands->lock);
    struct rf_strand *strand = find(strands, number);
    rf_unlock(&strands->lock);
    return strand;
}

bool rf_strand_meet(struct rf_session *session, int number) {
    struct rf_strands *strands = &session->strands;
    rf_lock(&strands->lock);
    rf_strand_here = find(strands, number);
    rf_unlock(&strands->lock);
    return rf_strand_here != NULL;
}

void rf_strands_open(struct rf_session *session, int number) {
    session->strands.opener = session->strands.current = number;
    session->shared = rf_strand_meet(session, number);
    if (session->shared)
        rf_strand_here->signs = &session->signs;
}

/* ---- record ---- */

void rf_strand_append(struct rf_session *session) {
    struct rf_strands *strands = &session->strands;
    const struct rf_strand *strand = rf_strand_here;
    if (!strand || strand->number == strands->current || !session->recorder.on)
        return;
    strands->current = strand->number;
    rf_recorder_put(&session->recorder, rf_pack(RF_THREAD, 0, 0), strand->number, 0, 1);
}

/* ---- replay ---- */

/* The list of an event is gone when the next one is read. */
static bool keep(struct rf_strand *strand, const struct rf_event *event) {
    size_t bytes = event->list_length * sizeof *event->list;
    struct rf_queued *queued = malloc(sizeof *queued + bytes);
    if (!queued)
        return false;
    queued->next = NULL;
    queued->event = *event;
    if (bytes)
        memcpy(queued->list, event->list, bytes);
    queued->event.list = queued->list;
    if (strand->last)
        strand->last->next = queued;
    else
        strand->first = queued;
    strand->last = queued;
    return true;
}

/* Reads one event and gives it to its thread. False at the end. */
static bool split_one(struct rf_session *session) {
    struct rf_strands *strands = &session->strands;
    struct rf_event event;
    struct rf_error error;
    if (strands->ended)
        return false;
    switch (rf_reader_next(session->replayer.reader, &event, &error)) {
    case RF_READ_DAMAGED:
        rf_unlock(&strands->lock);
        rf_diverge(session, NULL, NULL, NULL, "%s", error.text);
    case RF_READ_END:
        strands->ended = true;
        return false;
    default:
        break;
    }
    if (event.kind == RF_THREAD)
        strands->current = event.first;
    if (event.kind == RF_END)
        strands->cut = true;
    if (event.kind == RF_THREAD || event.kind == RF_LATE || event.kind == RF_END)
        return true;
    struct rf_strand *strand = find(strands, strands->current);
    if (!strand || !keep(strand, &event)) {
        rf_unlock(&strands->lock);
        rf_diverge(session, NULL, NULL, NULL, "out of memory for the events of thread %d",
                   strands->current);
    }
    strands->remaining++;
    return true;
}

static bool was_cut_off(const struct rf_session *session) {
    const struct rf_ending *ending = rf_reader_ending(session->replayer.reader);
    return ending->how == RF_END_NONE || ending->incomplete || session->strands.cut;
}

const struct rf_event *rf_strand_peek(struct rf_session *session) {
    struct rf_replayer *replayer = &session->replayer;
    struct rf_strands *strands = &session->strands;
    struct rf_strand *strand = rf_strand_here;
    struct rf_cursor *cursor = &strand->cursor;
    if (cursor->ready || replayer->free)
        return replayer->free ? NULL : &cursor->event;
    rf_lock(&strands->lock);
    while (!strand->first && split_one(session))
        ;
    struct rf_queued *queued = strand->first;
    if (queued) {
        strand->first = queued->next;
        if (!queued->next)
            strand->last = NULL;
    } else if (!strands->remaining && was_cut_off(session)) {
        replayer->free = true;
        replayer->progress->free = 1;
    }
    rf_unlock(&strands->lock);
    if (!queued)
        return NULL;
    free(cursor->list);
    cursor->list = NULL;
    cursor->event = queued->event;
    cursor->used = 0;
    cursor->ready = true;
    if (queued->event.list_length) {
        size_t bytes = queued->event.list_length * sizeof *cursor->list;
        cursor->list = malloc(bytes);
        if (!cursor->list)
            rf_diverge(session, NULL, NULL, NULL, "out of memory for an event");
        memcpy(cursor->list, queued->list, bytes);
    }
    cursor->event.list = cursor->list;
    free(queued);
    return &cursor->event;
}

void rf_strand_played(struct rf_session *session) {
    struct rf_strands *strands = &session->strands;
    rf_lock(&strands->lock);
    strands->remaining--;
    rf_unlock(&strands->lock);
}

void rf_strand_owe(struct rf_session *session) {
    rf_lock(&session->strands.lock);
    session->strands.remaining++;
    rf_strand_here->owed++;
    rf_unlock(&session->strands.lock);
}

static void pay(struct rf_session *session, struct rf_strand *strand, uint64_t count) {
    rf_lock(&session->strands.lock);
    uint64_t paid = count < strand->owed ? count : strand->owed;
    session->strands.remaining -= paid;
    strand->owed -= paid;
    rf_unlock(&session->strands.lock);
}

void rf_strand_pay(struct rf_session *session, struct rf_strand *strand) {
    pay(session, strand, 1);
}

void rf_strand_forgive(struct rf_session *session) {
    pay(session, rf_strand_here, UINT64_MAX);
}

const struct rf_event *rf_strands_rest(struct rf_session *session) {
    struct rf_strands *strands = &session->strands;
    const struct rf_event *found = NULL;
    rf_lock(&strands->lock);
    while (split_one(session))
        ;
    for (int i = 0; i < strands->size && strands->remaining; i++) {
        const struct rf_strand *strand = strands->list[i];
        const struct rf_event *event = !strand                ? NULL
                                       : strand->cursor.ready ? &strand->cursor.event
                                       : strand->first        ? &strand->first->event
                                                              : NULL;
        if (event && (!found || event->number < found->number))
            found = event;
    }
    rf_unlock(&strands->lock);
    return found;
}
