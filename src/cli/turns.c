#include "turns.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/turns.h"
#include "text.h"

enum { PRIORITY_BITS = 0x0fffffff }; /* what remains of a tag without the priority: the port */

/* A receive, in the order of the node's calls. */
struct receive {
    uint32_t channel;
    int32_t source, tag;
};

struct delivery {
    uint64_t stamp;
    size_t receiver; /* place of the node in the summary */
    bool posted;     /* by a post, or by a blocking receive */
    uint32_t ordinal;
    int32_t source;
    uint32_t port, to_port, sequence;
};

struct next {
    uint32_t channel, port, sequence;
    int32_t source;
};

struct node {
    unsigned domain, number;
    struct receive *posts;
    size_t post_count, receive_count;
    uint32_t *ports; /* of its endpoints, in the order of their making */
    size_t port_count;
    struct next *nexts;
    size_t next_count;
    uint64_t stamp;
    uint32_t shift; /* how far the number of the next message is off */
};

struct book {
    struct node *nodes;
    struct delivery *deliveries;
    size_t count;
};

static struct next *next_of(struct node *node, const struct receive *receive) {
    uint32_t port = (uint32_t)receive->tag & PRIORITY_BITS;
    for (size_t i = 0; i < node->next_count; i++)
        if (node->nexts[i].channel == receive->channel &&
            node->nexts[i].source == receive->source && node->nexts[i].port == port)
            return &node->nexts[i];
    node->nexts = rf_grow(node->nexts, node->next_count, sizeof *node->nexts);
    node->nexts[node->next_count] =
        (struct next){.channel = receive->channel, .source = receive->source, .port = port};
    return &node->nexts[node->next_count++];
}

static void add(struct book *book, size_t place, const struct receive *receive, bool posted,
                uint32_t ordinal) {
    struct node *node = &book->nodes[place];
    struct next *next = next_of(node, receive);
    uint32_t sequence = next->sequence + node->shift;
    next->sequence = sequence + 1;
    node->shift = 0;
    book->deliveries = rf_grow(book->deliveries, book->count, sizeof *book->deliveries);
    book->deliveries[book->count++] = (struct delivery){
        .stamp = node->stamp,
        .receiver = place,
        .posted = posted,
        .ordinal = ordinal,
        .source = receive->source,
        .port = (uint32_t)receive->tag & PRIORITY_BITS,
        .to_port = receive->channel < node->port_count ? node->ports[receive->channel] : 0,
        .sequence = sequence};
}

/* Values tell the port of an endpoint, or that messages were not received in order. */
static void read_value(struct node *node, const struct rf_event *event,
                       const struct rf_site *site) {
    static const char *const receiving[] = {"mcapi_msg_recv", "mcapi_test", "mcapi_wait",
                                            "mcapi_wait_any"};
    const char *function = site ? site->function : "";
    if (strcmp(function, "mcapi_endpoint_create") == 0) {
        node->ports = rf_grow(node->ports, node->port_count, sizeof *node->ports);
        node->ports[node->port_count++] = (uint32_t)event->first;
    }
    for (size_t i = 0; i < sizeof receiving / sizeof *receiving; i++)
        if (strcmp(function, receiving[i]) == 0)
            node->shift = (uint32_t)event->first;
}

static void read_event(struct book *book, size_t place, const struct rf_event *event,
                       const struct rf_site *site, struct receive *last) {
    struct node *node = &book->nodes[place];
    struct receive receive = {event->channel, event->first, event->second};
    switch (event->kind) {
    case RF_POST:
        node->posts = rf_grow(node->posts, node->post_count, sizeof *node->posts);
        node->posts[node->post_count++] = receive;
        break;
    case RF_RECV:
        node->receive_count += event->run;
        *last = receive;
        break;
    case RF_VALUE:
        read_value(node, event, site);
        break;
    case RF_STAMP: {
        uint32_t back = (uint32_t)event->second;
        node->stamp += (uint64_t)(int64_t)event->first;
        if (!back)
            add(book, place, last, false, (uint32_t)node->receive_count - 1);
        else if (back <= node->post_count)
            add(book, place, &node->posts[node->post_count - back], true,
                (uint32_t)node->post_count - back);
        break;
    }
    default:
        break;
    }
}

static bool read_node(struct book *book, const char *trace, const struct rf_summary *summary,
                      size_t place, struct rf_error *error) {
    struct node *node = &book->nodes[place];
    struct rf_reader *reader = rf_reader_open(trace, summary->ranks[place].rank, error);
    if (!reader)
        return false;
    const char *named = strstr(rf_reader_node(reader)->library, ", domain ");
    if (named)
        sscanf(named, ", domain %u, node %u", &node->domain, &node->number);
    struct rf_event event;
    struct receive last = {0};
    enum rf_read result;
    while ((result = rf_reader_next(reader, &event, error)) == RF_READ_EVENT)
        read_event(book, place, &event, rf_reader_site(reader, event.site), &last);
    rf_reader_close(reader);
    return result != RF_READ_DAMAGED;
}

static int by_stamp(const void *one, const void *other) {
    const struct delivery *a = one, *b = other;
    return a->stamp < b->stamp ? -1 : a->stamp > b->stamp;
}

static int by_field(const void *one, const void *other) {
    const uint32_t *a = one, *b = other;
    for (size_t i = 0; i < sizeof(struct rf_turn_send) / sizeof *a; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static bool write_file(const char *path, const void *head, size_t head_size, const void *body,
                       size_t body_size, struct rf_error *error) {
    FILE *file = fopen(path, "we");
    bool good = file && fwrite(head, 1, head_size, file) == head_size &&
                (!body_size || fwrite(body, 1, body_size, file) == body_size);
    if (file && fclose(file) != 0)
        good = false;
    return good || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
}

/* All that one node needs to know: turns of posts, of receives, and its sends. */
static bool write_node(const struct book *book, const struct rf_summary *summary, size_t place,
                       const char *run, struct rf_error *error) {
    const struct node *node = &book->nodes[place];
    size_t turns = node->post_count + node->receive_count;
    int32_t own = (int32_t)((node->domain << 16 ^ node->number) & INT32_MAX);
    uint32_t *body =
        rf_allocate(turns * sizeof *body + book->count * sizeof(struct rf_turn_send) + 1, 1);
    memset(body, 0xff, turns * sizeof *body);
    struct rf_turn_send *sends = (struct rf_turn_send *)(body + turns);
    struct rf_turns_of_node head = {.posts = (uint32_t)node->post_count,
                                    .receives = (uint32_t)node->receive_count};
    for (size_t i = 0; i < book->count; i++) {
        const struct delivery *delivery = &book->deliveries[i];
        const struct node *to = &book->nodes[delivery->receiver];
        if (delivery->receiver == place)
            body[delivery->ordinal + (delivery->posted ? 0 : node->post_count)] = (uint32_t)i;
        if (delivery->source == own)
            sends[head.sends++] =
                (struct rf_turn_send){delivery->port,    to->domain,         to->number,
                                      delivery->to_port, delivery->sequence, (uint32_t)i};
    }
    qsort(sends, head.sends, sizeof *sends, by_field);
    char *path = rf_text("%s/turns-%d", run, summary->ranks[place].rank);
    bool good = write_file(path, &head, sizeof head, body,
                           turns * sizeof *body + head.sends * sizeof *sends, error);
    free(path);
    free(body);
    return good;
}

static bool write_all(const struct book *book, const struct rf_summary *summary, const char *run,
                      struct rf_error *error) {
    struct rf_turns head = {.count = (uint32_t)book->count};
    uint32_t *states = rf_allocate(book->count + 1, sizeof *states);
    char *path = rf_text("%s/turns", run);
    bool good =
        write_file(path, &head, sizeof head, states, (book->count + 1) * sizeof *states, error);
    for (size_t i = 0; i < summary->count && good; i++)
        good = write_node(book, summary, i, run, error);
    free(path);
    free(states);
    return good;
}

bool rf_turns_write(const char *trace, const struct rf_summary *summary, const char *run,
                    struct rf_error *error) {
    struct book book = {.nodes = rf_allocate(summary->count, sizeof *book.nodes)};
    bool good = true;
    for (size_t i = 0; i < summary->count && good; i++)
        good = read_node(&book, trace, summary, i, error);
    if (good && book.count)
        qsort(book.deliveries, book.count, sizeof *book.deliveries, by_stamp);
    good = good && write_all(&book, summary, run, error);
    for (size_t i = 0; i < summary->count; i++) {
        free(book.nodes[i].posts);
        free(book.nodes[i].ports);
        free(book.nodes[i].nexts);
    }
    free(book.nodes);
    free(book.deliveries);
    return good;
}
