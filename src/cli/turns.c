#include "turns.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
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
                                            "mcapi_wait_any", "mcapi_endpoint_delete"};
    const char *function = site ? site->function : "";
    if (strcmp(function, "mcapi_endpoint_create") == 0) {
        node->ports = rf_grow(node->ports, node->port_count, sizeof *node->ports);
        node->ports[node->port_count++] = (uint32_t)event->first;
    }
    for (size_t i = 0; i < sizeof receiving / sizeof *receiving; i++)
        if (!(event->channel & 1) && strcmp(function, receiving[i]) == 0)
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

/* A send, and from where to where. */
struct send {
    uint32_t port, domain, node, to_port; /* as in struct rf_turn_pair */
    struct rf_turn_send send;
};
enum { PAIR_FIELDS = 4, SEND_FIELDS = sizeof(struct send) / sizeof(uint32_t) };

static int by_field(const void *one, const void *other) {
    const uint32_t *a = one, *b = other;
    for (size_t i = 0; i < SEND_FIELDS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static bool write_file(const char *path, const struct iovec *parts, size_t count,
                       struct rf_error *error) {
    FILE *file = fopen(path, "we");
    bool good = file;
    for (size_t i = 0; i < count && good; i++)
        good = !parts[i].iov_len ||
               fwrite(parts[i].iov_base, 1, parts[i].iov_len, file) == parts[i].iov_len;
    if (file && fclose(file) != 0)
        good = false;
    return good || rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be written", path);
}

/* What a node needs to know. */
struct part {
    struct rf_turns_of_node head;
    struct rf_turn_pair *pairs;
    uint32_t *turns; /* of its posts, then of its receives */
    struct rf_turn_send *sends;
};

/* Its sends, in the order in which they are stored. */
static struct send *find_sends(const struct book *book, size_t place, uint32_t *count) {
    const struct node *node = &book->nodes[place];
    int32_t own = (int32_t)((node->domain << 16 ^ node->number) & INT32_MAX);
    struct send *sends = rf_allocate(book->count, sizeof *sends);
    *count = 0;
    for (size_t i = 0; i < book->count; i++) {
        const struct delivery *delivery = &book->deliveries[i];
        const struct node *to = &book->nodes[delivery->receiver];
        if (delivery->source == own)
            sends[(*count)++] = (struct send){delivery->port,
                                              to->domain,
                                              to->number,
                                              delivery->to_port,
                                              {delivery->sequence, (uint32_t)i}};
    }
    qsort(sends, *count, sizeof *sends, by_field);
    return sends;
}

static void add_sends(const struct book *book, size_t place, struct part *part) {
    struct send *sends = find_sends(book, place, &part->head.sends);
    part->pairs = rf_allocate(part->head.sends, sizeof *part->pairs);
    part->sends = rf_allocate(part->head.sends, sizeof *part->sends);
    for (uint32_t i = 0; i < part->head.sends; i++) {
        if (!i || memcmp(&sends[i], &sends[i - 1], PAIR_FIELDS * sizeof(uint32_t)) != 0)
            part->pairs[part->head.pairs++] = (struct rf_turn_pair){
                sends[i].port, sends[i].domain, sends[i].node, sends[i].to_port, i, 0};
        part->pairs[part->head.pairs - 1].count++;
        part->sends[i] = sends[i].send;
    }
    free(sends);
}

static void add_receives(const struct book *book, size_t place, struct part *part) {
    const struct node *node = &book->nodes[place];
    size_t turns = node->post_count + node->receive_count;
    part->head.posts = (uint32_t)node->post_count;
    part->head.receives = (uint32_t)node->receive_count;
    part->turns = rf_allocate(turns, sizeof *part->turns);
    memset(part->turns, 0xff, turns * sizeof *part->turns);
    for (size_t i = 0; i < book->count; i++) {
        const struct delivery *delivery = &book->deliveries[i];
        if (delivery->receiver == place)
            part->turns[delivery->ordinal + (delivery->posted ? 0 : node->post_count)] =
                (uint32_t)i;
    }
}

static bool write_node(const struct book *book, const struct rf_summary *summary, size_t place,
                       const char *run, struct rf_error *error) {
    struct part part = {0};
    add_sends(book, place, &part);
    add_receives(book, place, &part);
    size_t turns = (size_t)part.head.posts + part.head.receives;
    const struct iovec parts[] = {{&part.head, sizeof part.head},
                                  {part.pairs, part.head.pairs * sizeof *part.pairs},
                                  {part.turns, turns * sizeof *part.turns},
                                  {part.sends, part.head.sends * sizeof *part.sends}};
    char *path = rf_text("%s/turns-%d", run, summary->ranks[place].rank);
    bool good = write_file(path, parts, sizeof parts / sizeof *parts, error);
    free(path);
    free(part.pairs);
    free(part.turns);
    free(part.sends);
    return good;
}

static bool write_all(const struct book *book, const struct rf_summary *summary, const char *run,
                      struct rf_error *error) {
    struct rf_turns head = {.count = (uint32_t)book->count};
    uint32_t *states = rf_allocate(book->count + 1, sizeof *states);
    char *path = rf_text("%s/turns", run);
    const struct iovec parts[] = {{&head, sizeof head},
                                  {states, (book->count + 1) * sizeof *states}};
    bool good = write_file(path, parts, sizeof parts / sizeof *parts, error);
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
