/* Every status of every function, from the table in statuses.def. */
#include "statuses.h"

#include <stdio.h>
#include <string.h>

mcapi_request_t spare_request;
mcapi_endpoint_t spare_endpoint;
uint64_t spare_handle;
size_t spare_size;
char spare_buffer[MESSAGE + 1];

void use_all_requests(void) {
    mcapi_status_t status;
    do
        mcapi_msg_recv_i(world.mine[0], NULL, 0, &spare_request, &status);
    while (status == MCAPI_PENDING);
    assert_status(status, ERR_REQUEST_LIMIT);
}

void fill_queue(mcapi_endpoint_t from, mcapi_endpoint_t to) {
    mcapi_status_t status;
    do
        mcapi_msg_send_i(from, to, "x", 1, 0, &spare_request, &status);
    while (status == MCAPI_SUCCESS);
    assert_status(status, ERR_MEM_LIMIT);
}

void set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, mcapi_uint_t value) {
    mcapi_status_t status;
    mcapi_endpoint_set_attribute(endpoint, number, &value, sizeof value, &status);
    assert_status(status, SUCCESS);
}

mcapi_request_t pending_receive(void) {
    mcapi_status_t status;
    mcapi_request_t request;
    mcapi_msg_recv_i(world.mine[0], spare_buffer, 4, &request, &status);
    assert_status(status, PENDING);
    return request;
}

struct one_case {
    const char *function, *status;
    mcapi_status_t (*run)(void);
};

static const struct one_case cases[] = {
#undef CASE
#define CASE(function, status) {#function, "MCAPI_" #status, case_##function##__##status},
#define NEVER(function, status, why)
#include "statuses.def"
};

static void gives_its_status(void **state) {
    const struct one_case *which = *state;
    const mcapi_param_t limits = {
        MCAPI_PARAM_MARKER, NODES, ENDPOINTS, 2, QUEUE, MESSAGE, BUFFERS, REQUESTS};
    int with_nodes = strcmp(which->status, "MCAPI_ERR_NODE_NOTINIT") != 0;
    char name[MCAPI_MAX_STATUS_MSG_LEN];
    if (with_nodes)
        world_begin(&limits);
    mcapi_status_t status = which->run();
    if (with_nodes)
        world_end();
    assert_string_equal(mcapi_display_status(status, name, sizeof name), which->status);
}

static void every_status_has_a_name(void **unused) {
    char name[MCAPI_MAX_STATUS_MSG_LEN], small[6];
    (void)unused;
    for (mcapi_status_t status = MCAPI_SUCCESS; status < MCAPI_STATUSCODE_END; status++) {
        assert_ptr_equal(mcapi_display_status(status, name, sizeof name), name);
        assert_memory_equal(name, "MCAPI_", 6);
    }
    assert_string_equal(mcapi_display_status(0, name, sizeof name), "UNKNOWN");
    assert_string_equal(mcapi_display_status(MCAPI_STATUSCODE_END, name, sizeof name), "UNKNOWN");
    assert_string_equal(mcapi_display_status(MCAPI_SUCCESS, small, sizeof small), "MCAPI");
    assert_null(mcapi_display_status(MCAPI_SUCCESS, NULL, 5));
    assert_null(mcapi_display_status(MCAPI_SUCCESS, name, 0));
}

int main(void) {
    enum { COUNT = sizeof cases / sizeof *cases };
    static struct CMUnitTest tests[COUNT + 1];
    static char names[COUNT][64];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%s: %s", cases[i].function, cases[i].status);
        tests[i] = (struct CMUnitTest){
            .name = names[i], .test_func = gives_its_status, .initial_state = (void *)&cases[i]};
    }
    tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(every_status_has_a_name);
    return _cmocka_run_group_tests("statuses", tests, COUNT + 1, NULL, NULL);
}
