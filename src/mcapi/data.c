#include "mcapi/data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcapi/adapter.h"
#include "trace/contents.h"
#include "trace/varint.h"

bool rf_answering(const struct rf_mcapi_node *node) {
    return node->data.reader != NULL;
}

bool rf_data_open(struct rf_mcapi_node *node, const char *trace, bool record,
                  struct rf_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/rank-%d.contents", trace, node->number);
    if (record)
        node->data.writer = rf_contents_create(path, RF_CONTENTS_SMALL_CHUNK, error);
    else
        node->data.reader = rf_contents_open(path, error);
    return node->data.writer || node->data.reader;
}

void rf_data_close(struct rf_mcapi_node *node) {
    struct rf_error error = {0};
    if (node->data.writer && !rf_contents_close(node->data.writer, &error))
        fprintf(stderr, "refrain: node %d: %s\n", node->number, error.text);
    if (node->data.reader)
        rf_contents_reader_close(node->data.reader);
    free(node->data.room);
    node->data = (struct rf_data){0};
}

/* A length and what follows are one put: a death leaves both or none. */
void rf_keep(struct rf_mcapi_node *node, const void *data, size_t size, bool cut) {
    struct rf_data *kept = &node->data;
    if (!kept->writer)
        return;
    if (size + RF_VARINT_BYTES > kept->room_size) {
        kept->room_size = 2 * size + 512;
        kept->room = rf_room(kept->room, kept->room_size);
    }
    uint8_t *at = rf_varint_put(kept->room, (uint64_t)size << 1 | cut);
    if (size)
        memcpy(at, data, size);
    rf_contents_put(kept->writer, kept->room, (size_t)(at - kept->room) + size);
}

void rf_keep_size(struct rf_mcapi_node *node, size_t size) {
    uint8_t room[RF_VARINT_BYTES];
    if (node->data.writer)
        rf_contents_put(node->data.writer, room, (size_t)(rf_varint_put(room, size) - room));
}

static void get(struct rf_mcapi_node *node, const struct rf_here *here, void *data, size_t size) {
    if (!rf_contents_get(node->data.reader, data, size))
        rf_end_here(node, here);
}

static uint64_t get_length(struct rf_mcapi_node *node, const struct rf_here *here) {
    uint64_t value = 0;
    uint8_t byte;
    unsigned shift = 0;
    do {
        get(node, here, &byte, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 64);
    return value;
}

size_t rf_answer_size(struct rf_mcapi_node *node, const struct rf_here *here) {
    return (size_t)get_length(node, here);
}

size_t rf_answer(struct rf_mcapi_node *node, const struct rf_here *here, void *data, size_t room,
                 bool *cut) {
    uint64_t length = get_length(node, here);
    size_t size = (size_t)(length >> 1);
    *cut = length & 1;
    if (size > room)
        rf_diverge(&node->session, here, NULL, NULL,
                   "the program has room for %zu bytes, it received %zu in the recording", room,
                   size);
    get(node, here, data, size);
    return size;
}

void rf_through(struct rf_mcapi_node *node, const struct rf_here *here, void *data, size_t size) {
    bool cut;
    if (rf_answering(node))
        rf_answer(node, here, data, size, &cut);
    else
        rf_keep(node, data, size, false);
}

void *rf_answer_packet(struct rf_mcapi_node *node, const struct rf_here *here, size_t *size) {
    *size = (size_t)(get_length(node, here) >> 1);
    void *packet = rf_room(NULL, *size);
    get(node, here, packet, *size);
    return packet;
}

/* In the recording somebody else ended this node, or all of them: who did may do it again. When
   none is left that gets on, the command line ends them. */
_Noreturn void rf_end_here(struct rf_mcapi_node *node, const struct rf_here *here) {
    const struct rf_error *error = rf_contents_reader_error(node->data.reader);
    if (error->text[0])
        rf_diverge(&node->session, here, NULL, NULL, "%s", error->text);
    node->session.replayer.progress->free = 1;
    node->session.replayer.progress->state = RF_STATE_LEFT;
    for (;;)
        pause();
}
