#include "world.h"

#include <pthread.h>
#include <string.h>

struct world world;

/* ---- the second node ---------------------------------------------------------------------- */

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void (*task)(void *);
static void *task_argument;
static int tasks_given, tasks_done, over;

static void *second_node(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!over) {
        if (tasks_done == tasks_given) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        task(task_argument);
        pthread_mutex_lock(&lock);
        tasks_done++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void as_other(void (*what)(void *), void *argument) {
    pthread_mutex_lock(&lock);
    task = what;
    task_argument = argument;
    tasks_given++;
    pthread_cond_broadcast(&changed);
    while (tasks_done < tasks_given)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- coming and going --------------------------------------------------------------------- */

static void begin_node(mcapi_node_t node, const mcapi_param_t *limits,
                       mcapi_endpoint_t *endpoints) {
    mcapi_status_t status;
    mcapi_info_t info;
    mcapi_initialize(0, node, NULL, limits, &info, &status);
    assert_status(status, SUCCESS);
    for (mcapi_port_t port = 0; port < 3; port++) {
        endpoints[port] = mcapi_endpoint_create(port, &status);
        assert_status(status, SUCCESS);
    }
}

static void begin_other(void *unused) {
    (void)unused;
    begin_node(2, NULL, world.theirs);
}

static void end_node(void *unused) {
    mcapi_status_t status;
    (void)unused;
    mcapi_finalize(&status);
}

void world_begin(const mcapi_param_t *limits) {
    memset(&world, 0, sizeof world);
    over = tasks_given = tasks_done = 0;
    begin_node(1, limits, world.mine);
    assert_int_equal(pthread_create(&thread, NULL, second_node, NULL), 0);
    as_other(begin_other, NULL);
}

void world_end(void) {
    as_other(end_node, NULL);
    end_node(NULL);
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

/* ---- channels ----------------------------------------------------------------------------- */

static void (*connect_channel)(mcapi_endpoint_t, mcapi_endpoint_t, mcapi_request_t *,
                               mcapi_status_t *);
static void (*open_send)(uint64_t *, mcapi_endpoint_t, mcapi_request_t *, mcapi_status_t *);
static void (*open_receive)(uint64_t *, mcapi_endpoint_t, mcapi_request_t *, mcapi_status_t *);

static void open_theirs(void *unused) {
    mcapi_status_t status;
    mcapi_request_t request;
    (void)unused;
    open_receive(&world.their_in, world.theirs[1], &request, &status);
    assert_status(status, PENDING);
    open_send(&world.their_out, world.theirs[2], &request, &status);
    assert_status(status, PENDING);
}

static void open_both(void) {
    mcapi_status_t status;
    mcapi_request_t request;
    connect_channel(world.mine[1], world.theirs[1], &request, &status);
    assert_status(status, SUCCESS);
    must_wait(&request);
    connect_channel(world.theirs[2], world.mine[2], &request, &status);
    assert_status(status, SUCCESS);
    must_wait(&request);
    as_other(open_theirs, NULL);
    open_send(&world.out, world.mine[1], &request, &status);
    assert_status(status, SUCCESS);
    must_wait(&request);
    open_receive(&world.in, world.mine[2], &request, &status);
    assert_status(status, SUCCESS);
    must_wait(&request);
}

void open_packets(void) {
    connect_channel = mcapi_pktchan_connect_i;
    open_send = mcapi_pktchan_send_open_i;
    open_receive = mcapi_pktchan_recv_open_i;
    open_both();
}

void open_scalars(void) {
    connect_channel = mcapi_sclchan_connect_i;
    open_send = mcapi_sclchan_send_open_i;
    open_receive = mcapi_sclchan_recv_open_i;
    open_both();
}

/* ---- calls that must succeed --------------------------------------------------------------- */

void must_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const char *text, unsigned priority) {
    mcapi_status_t status;
    mcapi_msg_send(from, to, text, strlen(text) + 1, priority, &status);
    assert_status(status, SUCCESS);
}

struct sending {
    mcapi_endpoint_t from, to;
    const char *text;
};

static void send_it(void *argument) {
    const struct sending *sending = argument;
    must_send(sending->from, sending->to, sending->text, 0);
}

void must_send_other(mcapi_endpoint_t from, mcapi_endpoint_t to, const char *text) {
    struct sending sending = {from, to, text};
    as_other(send_it, &sending);
}

void must_receive(mcapi_endpoint_t at, const char *text) {
    mcapi_status_t status;
    char buffer[256];
    size_t size;
    mcapi_msg_recv(at, buffer, sizeof buffer, &size, &status);
    assert_status(status, SUCCESS);
    assert_int_equal(size, strlen(text) + 1);
    assert_string_equal(buffer, text);
}

void must_wait(mcapi_request_t *request) {
    mcapi_status_t status;
    size_t size;
    assert_true(mcapi_wait(request, &size, 10000, &status));
    assert_status(status, SUCCESS);
}
