#include "mcapi/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Thread_local struct rf_mcapi_node *rf_this_node __attribute__((tls_model("initial-exec")));
_Thread_local unsigned rf_depth __attribute__((tls_model("initial-exec")));
struct rf_mcapi_node *rf_nodes;

void *rf_room(void *old, size_t size) {
    void *room = realloc(old, size ? size : 1);
    if (!room) {
        fprintf(stderr, "refrain: out of memory: %zu bytes\n", size);
        abort();
    }
    return room;
}

/* A thread that is no node itself speaks for the only node there is. Its calls have no order with
   those of the node's own thread that anybody has written down. */
struct rf_mcapi_node *rf_other_thread(void) {
    struct rf_mcapi_node *node = rf_nodes;
    if (node && !node->next && !node->noted_threads && rf_recording(node)) {
        node->noted_threads = true;
        rf_recorder_unsupported(&node->session.recorder, "calls of several threads of one node");
    }
    return NULL;
}

void rf_record_error(struct rf_mcapi_node *node, const struct rf_here *here,
                     mcapi_status_t status) {
    struct rf_session *session = &node->session;
    if (session->recorder.on)
        rf_recorder_list(&session->recorder, rf_here_pack(session, here, RF_ERROR, node->answered),
                         (int32_t)status, (int32_t)rf_session_calls(session), NULL, 0);
}

const struct rf_event *rf_expect(struct rf_mcapi_node *node, const struct rf_here *here,
                                 uint32_t kinds, uint32_t channel) {
    const struct rf_event *event =
        rf_free(node) ? NULL : rf_replay_expect(&node->session, here, kinds, channel, NULL);
    if (!event && rf_answering(node))
        rf_end_here(node, here);
    return event;
}

void rf_take(struct rf_mcapi_node *node) {
    node->answered = true;
    rf_replay_take(&node->session.replayer);
}

mcapi_status_t rf_recorded_status(struct rf_mcapi_node *node, const struct rf_here *here,
                                  mcapi_status_t usual) {
    struct rf_session *session = &node->session;
    const struct rf_event *event = rf_free(node) ? NULL : rf_replay_peek(session);
    if (!event || event->kind != RF_ERROR || event->channel != node->answered ||
        event->second != (int32_t)rf_session_calls(session))
        return usual;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    if (!site || strcmp(site->function, here->name) != 0)
        return usual;
    mcapi_status_t status = (mcapi_status_t)event->first;
    rf_take(node);
    return status;
}

bool rf_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status) {
    if (!rf_is_failure(status) || rf_free(node))
        return false;
    /* Others are slower than they were: there will be room, or an answer. */
    if (status != MCAPI_ERR_MEM_LIMIT && status != MCAPI_ERR_REQUEST_LIMIT &&
        status != MCAPI_TIMEOUT && status != MCAPI_ERR_MSG_LIMIT)
        rf_diverge(&node->session, here, rf_replay_peek(&node->session), NULL,
                   "the call failed with status %u, but not in the recording", status);
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return true;
}

bool rf_send_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t *status,
                   bool *gone) {
    *gone =
        !rf_free(node) && (*status == MCAPI_ERR_ENDP_INVALID || *status == MCAPI_ERR_CHAN_NOTOPEN);
    return !*gone && rf_again(node, here, *status);
}

bool rf_has_value(struct rf_mcapi_node *node, const struct rf_here *here) {
    struct rf_session *session = &node->session;
    const struct rf_event *event = rf_free(node) ? NULL : rf_replay_peek(session);
    if (!event || event->kind != RF_VALUE || event->second != (int32_t)rf_session_calls(session))
        return false;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0;
}

int32_t rf_value(struct rf_mcapi_node *node, const struct rf_here *here, int32_t value) {
    int32_t calls = (int32_t)rf_session_calls(&node->session);
    if (rf_recording(node)) {
        rf_record(node, here, RF_VALUE, 0, value, calls);
        return value;
    }
    const struct rf_event *event = rf_expect(node, here, RF_IS(VALUE), 0);
    if (!event)
        return value;
    if (event->second != calls)
        rf_diverge(&node->session, here, event, NULL,
                   "the program has made %d calls here, the recorded run %d", calls, event->second);
    value = event->first;
    rf_take(node);
    return value;
}
