/* Two nodes in one process, for tests: the test itself is node 1, a second thread is node 2. */
#ifndef WORLD_H
#define WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mcapi.h>
#include <mcapix.h>

struct world {
    mcapi_endpoint_t mine[3];   /* node 1, ports 0, 1, 2 */
    mcapi_endpoint_t theirs[3]; /* node 2, ports 0, 1, 2 */
    /* Channels, once opened: out from mine[1] to theirs[1], in from theirs[2] to mine[2]. */
    uint64_t out, their_in, their_out, in;
};
extern struct world world;

/* Both nodes come to be, with their endpoints. NULL: usual limits. */
void world_begin(const mcapi_param_t *limits);
void world_end(void);

/* Runs something as node 2. */
void as_other(void (*what)(void *), void *argument);

/* Opens both channels. */
void open_packets(void);
void open_scalars(void);

/* Calls that must succeed. */
void must_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const char *text, unsigned priority);
void must_send_other(mcapi_endpoint_t from, mcapi_endpoint_t to, const char *text);
void must_receive(mcapi_endpoint_t at, const char *text);
void must_wait(mcapi_request_t *request);

#define assert_status(status, name)                                                                \
    do {                                                                                           \
        char text_[MCAPI_MAX_STATUS_MSG_LEN];                                                      \
        assert_string_equal(mcapi_display_status(status, text_, sizeof text_), "MCAPI_" #name);    \
    } while (0)

#endif
