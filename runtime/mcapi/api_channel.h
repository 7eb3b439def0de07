/* What packet and scalar channels have in common. */
#ifndef MC_API_CHANNEL_H
#define MC_API_CHANNEL_H

#include "api.h"

/* `kind` is MC_CHANNEL_PACKET or _SCALAR, `side` MC_CHANNEL_SEND or _RECEIVE. */
void mc_connect(mcapi_endpoint_t send_endpoint, mcapi_endpoint_t receive_endpoint, uint32_t kind,
                mcapi_request_t *request, mcapi_status_t *status);
void mc_open(uint64_t *handle, mcapi_endpoint_t endpoint, uint32_t kind, uint32_t side,
             mcapi_request_t *request, mcapi_status_t *status);
void mc_close(uint64_t handle, uint32_t kind, uint32_t side, mcapi_request_t *request,
              mcapi_status_t *status);

/* What is wrong with a handle; its endpoint and the channel's word otherwise. */
uint32_t mc_channel_check(struct mc_local_node *node, uint64_t handle, uint32_t kind, uint32_t side,
                          struct mc_local_endpoint **endpoint, uint64_t *word);

/* Why data cannot go over it now. */
uint32_t mc_channel_sendable(uint64_t word);
uint32_t mc_channel_receivable(uint64_t word);

#endif
