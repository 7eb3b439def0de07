#include "thread_log_sample.h"

#include <string.h>

#include "trace/varint.h"

static void add_site(struct sample *sample, uint16_t operation, uint64_t offset) {
    uint32_t number = sample->head.sites++;
    struct rf_thread_log_site site = {operation, 0, 0, offset};
    site.check = rf_thread_log_site_check(&site, number);
    sample->head.site[number] = site;
}

void sample_open(struct sample *sample, int rank) {
    memset(sample, 0, sizeof *sample);
    struct rf_thread_log_head *head = &sample->head;
    memcpy(head->magic, RF_THREAD_LOG_MAGIC, sizeof head->magic);
    head->version = RF_THREAD_LOG_VERSION;
    head->block_bytes = RF_THREAD_LOG_BLOCK;
    head->order = RF_ORDER_EDGES;
    head->first_block = head->blocks = sizeof *head / RF_THREAD_LOG_BLOCK;
    head->rank = rank;
    head->pid = 77;
    strcpy(head->program, "/bin/program");
    head->check = rf_thread_log_check(head);
    strcpy(head->module[0].path, "/bin/program");
    head->module[0].check = rf_log_module_check(&head->module[0], 0);
    head->modules = 1;
    head->sites = 1;
    for (uint16_t i = 1; i <= 3; i++)
        add_site(sample, i, 0x1000u * i);
}

struct rf_thread_log_block *sample_block(struct sample *sample, uint32_t number) {
    return (struct rf_thread_log_block *)sample->blocks[number - sample->head.first_block];
}

static struct rf_thread_log_block *first_block(struct sample *sample, uint32_t thread) {
    for (uint32_t i = sample->head.first_block; i < sample->head.blocks; i++) {
        struct rf_thread_log_block *block = sample_block(sample, i);
        if (block->thread == thread && block->place == 0 && block->begun)
            return block;
    }
    return NULL;
}

struct rf_thread_log_thread *sample_record(struct sample *sample, uint32_t thread) {
    return (struct rf_thread_log_thread *)(first_block(sample, thread) + 1);
}

void sample_begin(struct sample *sample, uint32_t parent) {
    uint32_t number = sample->head.threads++;
    struct sample_thread *thread = &sample->thread[number];
    thread->last = sample->head.blocks++;
    thread->used = sizeof(struct rf_thread_log_block) + sizeof(struct rf_thread_log_thread);
    struct rf_thread_log_block *block = sample_block(sample, thread->last);
    block->thread = number;
    block->begun = 1;
    struct rf_thread_log_thread *record = (struct rf_thread_log_thread *)(block + 1);
    record->number = number;
    record->parent = parent;
}

static void next_block(struct sample *sample, uint32_t number) {
    struct sample_thread *thread = &sample->thread[number];
    struct rf_thread_log_block *from = sample_block(sample, thread->last);
    thread->last = from->next = sample->head.blocks++;
    struct rf_thread_log_block *block = sample_block(sample, thread->last);
    *block = (struct rf_thread_log_block){number, from->place + 1, 0, 1};
    thread->used = sizeof *block;
}

static uint8_t *put_rest(uint8_t *at, const struct rf_thread_log_entry *entry, uint64_t more) {
    switch (entry->type) {
    case RF_THREAD_LOG_EDGE:
        return rf_varint_put(rf_varint_put(at, entry->thread), more);
    case RF_THREAD_LOG_FAILURE:
        at = rf_varint_put(at, (uint64_t)entry->code);
        *at++ = (uint8_t)entry->run;
        return at;
    case RF_THREAD_LOG_AGAIN:
        *at++ = (uint8_t)entry->run;
        return at;
    case RF_THREAD_LOG_VALUE:
        return rf_varint_put(at, (uint64_t)entry->value << 1 ^ (entry->value < 0 ? UINT64_MAX : 0));
    case RF_THREAD_LOG_BYTES:
        at = rf_varint_put(rf_varint_put(at, entry->total), entry->size);
        memcpy(at, entry->bytes, entry->size);
        return at + entry->size;
    case RF_THREAD_LOG_CHECK:
        *at++ = (uint8_t)entry->value;
        *at++ = (uint8_t)(entry->value >> 8);
        return at;
    case RF_THREAD_LOG_JUMP:
        return rf_varint_put(at, entry->count);
    case RF_THREAD_LOG_NOTHING:
        break;
    }
    return at;
}

void sample_add(struct sample *sample, uint32_t number, struct rf_thread_log_entry entry,
                uint64_t more) {
    struct sample_thread *thread = &sample->thread[number];
    uint8_t written[RF_THREAD_LOG_BLOCK];
    uint8_t *at = rf_varint_put(written, (entry.operation - thread->logged) * RF_THREAD_LOG_TYPES +
                                             entry.type);
    if (entry.type != RF_THREAD_LOG_CHECK && entry.type != RF_THREAD_LOG_AGAIN)
        at = rf_varint_put(at, entry.site);
    at = put_rest(at, &entry, more);
    size_t size = (size_t)(at - written);
    if (thread->used + size > RF_THREAD_LOG_BLOCK - 8)
        next_block(sample, number);
    memcpy((uint8_t *)sample_block(sample, thread->last) + thread->used, written, size);
    thread->used += size;
    thread->logged = entry.operation;
    sample_record(sample, number)->done = entry.operation;
    if (entry.type == RF_THREAD_LOG_AGAIN)
        entry.type = RF_THREAD_LOG_FAILURE;
    thread->expected[thread->count++] = entry;
}

void sample_fill(struct sample *sample) {
    static const uint8_t bytes[40] = "forty bytes of something that was read";
    for (uint32_t i = 0; i < 4; i++)
        sample_begin(sample, 0);
    sample->head.blocks++; /* handed out, but its thread came no further */
    for (uint32_t i = 1; i <= 130; i++)
        sample_add(sample, 1,
                   (struct rf_thread_log_entry){.operation = i * 3,
                                                .type = RF_THREAD_LOG_EDGE,
                                                .site = 1 + i % 3,
                                                .thread = 2,
                                                .count = i * 1000},
                   1000);
    sample_add(sample, 1,
               (struct rf_thread_log_entry){
                   .operation = 391, .type = RF_THREAD_LOG_CHECK, .value = 0xabcd},
               0);
    sample_add(sample, 2,
               (struct rf_thread_log_entry){
                   .operation = 7, .type = RF_THREAD_LOG_FAILURE, .site = 2, .code = 16, .run = 3},
               0);
    sample_add(sample, 2,
               (struct rf_thread_log_entry){
                   .operation = 12, .type = RF_THREAD_LOG_AGAIN, .site = 2, .code = 16, .run = 255},
               0);
    for (int i = 0; i < 12; i++)
        sample_add(sample, 2,
                   (struct rf_thread_log_entry){.operation = 400,
                                                .type = RF_THREAD_LOG_BYTES,
                                                .site = 3,
                                                .bytes = bytes,
                                                .size = sizeof bytes,
                                                .total = 12 * sizeof bytes},
                   0);
    for (uint32_t i = 1; i <= 130; i++)
        sample_add(sample, 2,
                   (struct rf_thread_log_entry){.operation = 400 + i,
                                                .type = RF_THREAD_LOG_EDGE,
                                                .site = 2,
                                                .thread = 1,
                                                .count = i},
                   1);
    static const int64_t values[] = {0, 1, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sample_add(sample, 3,
                   (struct rf_thread_log_entry){
                       .operation = 1 + i, .type = RF_THREAD_LOG_VALUE, .value = values[i]},
                   0);
    sample_add(sample, 3,
               (struct rf_thread_log_entry){
                   .operation = 9, .type = RF_THREAD_LOG_JUMP, .site = 1, .count = UINT64_MAX},
               0);
    for (uint32_t i = 0; i < 4; i++)
        sample_record(sample, i)->state = RF_THREAD_ENDED;
    sample->head.finished = 1;
}

size_t sample_bytes(const struct sample *sample) {
    return (size_t)sample->head.blocks * RF_THREAD_LOG_BLOCK;
}
