#include "mcapi/adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Thread_local struct rf_mcapi_node *rf_this_node __attribute__((tls_model("initial-exec")));
_Thread_local unsigned rf_depth __attribute__((tls_model("initial-exec")));
_Thread_local bool rf_answered __attribute__((tls_model("initial-exec")));
_Thread_local uint32_t rf_form __attribute__((tls_model("initial-exec")));
struct rf_mcapi_node *rf_nodes;

void *rf_room(void *old, size_t size) {
    void *room = realloc(old, size ? size : 1);
    if (!room) {
        fprintf(stderr, "refrain: out of memory: %zu bytes\n", size);
        abort();
    }
    return room;
}

uint32_t *rf_value_of(struct rf_handle_map *map, uint64_t key, uint32_t first) {
    uint32_t slot = rf_handle_slot_of(map, key + 1);
    if (slot == RF_NOWHERE) {
        if (!rf_handle_add(map, key + 1, first))
            abort();
        slot = rf_handle_slot_of(map, key + 1);
    }
    return &map->slots[slot].value;
}

/* For whom does this thread speak, if it has initialized no node? The library knows. */
static struct rf_mcapi_node *spoken_for(void) {
    mcapi_status_t status;
    const struct rf_real *real = rf_real();
    mcapi_domain_t domain = real->domain_id_get(&status);
    mcapi_node_t number = status == MCAPI_SUCCESS ? real->node_id_get(&status) : 0;
    if (status != MCAPI_SUCCESS)
        return NULL;
    struct rf_mcapi_node *node = __atomic_load_n(&rf_nodes, __ATOMIC_ACQUIRE);
    while (node && (node->domain != domain || node->node != number))
        node = node->next;
    return node && node->session.mode != RF_OFF ? node : NULL;
}

/* Without the order of threads its calls have no order with those of the node's other threads that
   anybody has written down. */
struct rf_mcapi_node *rf_other_thread(void) {
    struct rf_mcapi_node *node = rf_nodes && !rf_depth ? spoken_for() : NULL;
    if (node && node->session.shared && rf_order_meet(node))
        return node;
    if (node && !node->noted_threads && rf_recording(node)) {
        node->noted_threads = true;
        rf_recorder_unsupported(&node->session.recorder, "calls of several threads of one node");
    }
    return NULL;
}

void rf_enter_carefully(struct rf_mcapi_node *node) {
    if (node->ordered)
        rf_order_enter();
    if (node->turns.shared)
        rf_turn_pass(node);
}

static void record_error(struct rf_mcapi_node *node, const struct rf_here *here,
                         mcapi_status_t status, const int32_t *list, uint32_t length) {
    struct rf_session *session = &node->session;
    rf_session_append(session);
    if (session->recorder.on)
        rf_recorder_list(&session->recorder,
                         rf_here_pack(session, here, RF_ERROR, rf_answered | rf_form),
                         (int32_t)status, (int32_t)rf_session_calls(session), list, length);
    rf_session_unlock(session);
}

void rf_record_error(struct rf_mcapi_node *node, const struct rf_here *here,
                     mcapi_status_t status) {
    record_error(node, here, status, NULL, 0);
}

void rf_record_failed(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status,
                      int32_t index) {
    record_error(node, here, status, &index, 1);
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
    rf_answered = true;
    rf_replay_take(&node->session.replayer);
}

struct rf_strand *rf_take_owed(struct rf_mcapi_node *node) {
    struct rf_strand *owed = node->session.shared ? rf_strand_here : NULL;
    if (owed)
        rf_strand_owe(&node->session);
    rf_take(node);
    return owed;
}

bool rf_fails(struct rf_mcapi_node *node, const struct rf_here *here) {
    struct rf_session *session = &node->session;
    const struct rf_event *event = rf_free(node) ? NULL : rf_replay_peek(session);
    if (!event || event->kind != RF_ERROR || (event->channel & ~rf_form) != rf_answered ||
        event->second != (int32_t)rf_session_calls(session))
        return false;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0;
}

int32_t rf_failed(struct rf_mcapi_node *node, const struct rf_here *here) {
    if (!rf_fails(node, here))
        return -1;
    const struct rf_event *event = rf_replay_peek(&node->session);
    return event->list_length == 1 ? event->list[0] : -1;
}

mcapi_status_t rf_recorded_status(struct rf_mcapi_node *node, const struct rf_here *here,
                                  mcapi_status_t usual) {
    if (!rf_fails(node, here))
        return usual;
    mcapi_status_t status = (mcapi_status_t)rf_replay_peek(&node->session)->first;
    rf_take(node);
    return status;
}

/* Others are slower than they were: there will be room, or an answer, or they will close their side
   of a channel. */
static bool may_change(mcapi_status_t status) {
    return status == MCAPI_ERR_MEM_LIMIT || status == MCAPI_ERR_REQUEST_LIMIT ||
           status == MCAPI_TIMEOUT || status == MCAPI_ERR_MSG_LIMIT ||
           status == MCAPI_ERR_CHAN_OPEN || status == MCAPI_ERR_CHAN_CONNECTED ||
           status == MCAPI_ERR_CHAN_CLOSEPENDING;
}

bool rf_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t status) {
    if (!rf_is_failure(status) || rf_free(node))
        return false;
    if (!may_change(status))
        rf_diverge(&node->session, here, rf_replay_peek(&node->session), NULL,
                   "the call failed with status %u, but not in the recording", status);
    if (!rf_hold_all(node))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return true;
}

bool rf_send_again(struct rf_mcapi_node *node, const struct rf_here *here, mcapi_status_t *status,
                   bool *gone) {
    *gone =
        !rf_free(node) && (*status == MCAPI_ERR_ENDP_INVALID || *status == MCAPI_ERR_CHAN_NOTOPEN);
    return !*gone && rf_again(node, here, *status);
}

static bool has_value_on(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel) {
    struct rf_session *session = &node->session;
    const struct rf_event *event = rf_free(node) ? NULL : rf_replay_peek(session);
    if (!event || event->kind != RF_VALUE || event->channel != (channel | rf_form) ||
        event->second != (int32_t)rf_session_calls(session))
        return false;
    const struct rf_site *site = rf_reader_site(session->replayer.reader, event->site);
    return site && strcmp(site->function, here->name) == 0;
}

bool rf_has_value(struct rf_mcapi_node *node, const struct rf_here *here) {
    return has_value_on(node, here, 0);
}

bool rf_has_number(struct rf_mcapi_node *node, const struct rf_here *here) {
    return has_value_on(node, here, 1);
}

static int32_t value_on(struct rf_mcapi_node *node, const struct rf_here *here, uint32_t channel,
                        int32_t value) {
    int32_t calls = (int32_t)rf_session_calls(&node->session);
    if (rf_recording(node)) {
        rf_record(node, here, RF_VALUE, channel | rf_form, value, calls);
        return value;
    }
    const struct rf_event *event = rf_expect(node, here, RF_IS(VALUE), channel | rf_form);
    if (!event)
        return value;
    if (event->second != calls)
        rf_diverge(&node->session, here, event, NULL,
                   "the program has made %d calls here, the recorded run %d", calls, event->second);
    value = event->first;
    rf_take(node);
    return value;
}

int32_t rf_value(struct rf_mcapi_node *node, const struct rf_here *here, int32_t value) {
    return value_on(node, here, 0, value);
}

int32_t rf_number(struct rf_mcapi_node *node, const struct rf_here *here, int32_t value) {
    return value_on(node, here, 1, value);
}
