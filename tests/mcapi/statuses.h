/* Tests of single statuses: CASE(function, status) makes the call that must give it. They run with
   two nodes and small limits, those of ERR_NODE_NOTINIT without any node. */
#ifndef STATUSES_H
#define STATUSES_H

#include "world.h"

#define CASE(function, status) mcapi_status_t case_##function##__##status(void);
#define NEVER(function, status, why)
#include "statuses.def"
#undef CASE
#undef NEVER
#define CASE(function, status) mcapi_status_t case_##function##__##status(void)

enum { NODES = 3, ENDPOINTS = 8, QUEUE = 4, MESSAGE = 1024, BUFFERS = 2, REQUESTS = 8 };

/* For calls whose results nobody looks at. */
extern mcapi_request_t spare_request;
extern mcapi_endpoint_t spare_endpoint;
extern uint64_t spare_handle;
extern size_t spare_size;
extern char spare_buffer[MESSAGE + 1];

void use_all_requests(void);
void fill_queue(mcapi_endpoint_t from, mcapi_endpoint_t to);
void set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, mcapi_uint_t value);
mcapi_request_t pending_receive(void);

#endif
