/* Nodes: mcapi_initialize to mcapi_node_get_attribute. */
#include <string.h>

#include "api.h"
#include "node.h"

#define ATTRIBUTES_MARKER 0x6d63706eu
#define ORGANIZATION 0u
#define IMPLEMENTATION 1u

/* Tools that are linked into a program look for the functions of mcapix.h by weak references, and
   those alone take nothing out of an archive. */
__attribute__((used)) static const char *const with_programs = &mc_for_tools;

static uint32_t check_names(mcapi_domain_t domain, mcapi_node_t node) {
    if (domain > MCAPI_MAX_ID)
        return MCAPI_ERR_DOMAIN_INVALID;
    return node > MCAPI_MAX_ID ? MCAPI_ERR_NODE_INVALID : MCAPI_SUCCESS;
}

static void describe(mcapi_info_t *info, mcapi_domain_t domain) {
    struct mc_segment *segment = mc_the_job.segment;
    *info = (mcapi_info_t){.mcapi_version = MCAPI_VERSION,
                           .organization_id = ORGANIZATION,
                           .implementation_version = IMPLEMENTATION,
                           .number_of_ports = segment->limits.endpoints};
    mc_segment_lock(segment);
    for (uint32_t i = 0; i < segment->limits.nodes; i++) {
        const struct mc_node *node = mc_node_at(segment, i);
        if (node->life != MC_ALIVE)
            continue;
        info->number_of_nodes += node->domain == domain;
        bool first = true;
        for (uint32_t j = 0; j < i; j++)
            first = first && !(mc_node_at(segment, j)->life == MC_ALIVE &&
                               mc_node_at(segment, j)->domain == node->domain);
        info->number_of_domains += first;
    }
    mc_segment_unlock(segment);
}

MC_API void mcapi_initialize(mcapi_domain_t domain_id, mcapi_node_t node_id,
                             const mcapi_node_attributes_t *attributes,
                             const mcapi_param_t *parameters, mcapi_info_t *info,
                             mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *mine = mc_the_thread.node;
    *status = check_names(domain_id, node_id);
    if (*status != MCAPI_SUCCESS)
        return;
    if (!info || (attributes && attributes->marker != ATTRIBUTES_MARKER)) {
        *status = MCAPI_ERR_PARAMETER;
        return;
    }
    if (mine && mc_node_in_use(mine, mc_the_thread.serial)) {
        *status = MCAPI_ERR_NODE_INITIALIZED;
        return;
    }
    *status =
        mc_node_begin(domain_id, node_id,
                      attributes ? attributes->type : MCAPI_NODE_ATTR_TYPE_REGULAR, parameters);
    if (*status == MCAPI_SUCCESS)
        describe(info, domain_id);
}

MC_API void mcapi_finalize(mcapi_status_t *status) {
    if (!status)
        return;
    struct mc_local_node *node = mc_current();
    *status = node ? MCAPI_SUCCESS : MCAPI_ERR_NODE_NOTINIT;
    if (node)
        mc_node_end(node, false);
}

MC_API mcapi_domain_t mcapi_domain_id_get(mcapi_status_t *status) {
    if (!status)
        return MCAPI_DOMAIN_INVALID;
    const struct mc_local_node *node = mc_current();
    *status = node ? MCAPI_SUCCESS : MCAPI_ERR_NODE_NOTINIT;
    return node ? node->domain : MCAPI_DOMAIN_INVALID;
}

MC_API mcapi_node_t mcapi_node_id_get(mcapi_status_t *status) {
    if (!status)
        return MCAPI_NODE_INVALID;
    const struct mc_local_node *node = mc_current();
    *status = node ? MCAPI_SUCCESS : MCAPI_ERR_NODE_NOTINIT;
    return node ? node->node : MCAPI_NODE_INVALID;
}

MC_API void mcapi_node_init_attributes(mcapi_node_attributes_t *attributes,
                                       mcapi_status_t *status) {
    if (!status)
        return;
    *status = attributes ? MCAPI_SUCCESS : MCAPI_ERR_PARAMETER;
    if (attributes)
        *attributes = (mcapi_node_attributes_t){.marker = ATTRIBUTES_MARKER,
                                                .type = MCAPI_NODE_ATTR_TYPE_REGULAR};
}

MC_API void mcapi_node_set_attribute(mcapi_node_attributes_t *attributes, mcapi_uint_t number,
                                     const void *attribute, size_t size, mcapi_status_t *status) {
    mcapi_node_attr_type_t type;
    if (!status)
        return;
    if (!attributes || !attribute || attributes->marker != ATTRIBUTES_MARKER) {
        *status = MCAPI_ERR_PARAMETER;
    } else if (number >= MCAPI_NODE_ATTR_END) {
        *status = MCAPI_ERR_ATTR_NUM;
    } else if (size != sizeof type) {
        *status = MCAPI_ERR_ATTR_SIZE;
    } else {
        memcpy(&type, attribute, sizeof type);
        *status = type < MCAPI_NODE_ATTR_TYPE_END ? MCAPI_SUCCESS : MCAPI_ERR_ATTR_VALUE;
        if (*status == MCAPI_SUCCESS)
            attributes->type = type;
    }
}

MC_API void mcapi_node_get_attribute(mcapi_domain_t domain_id, mcapi_node_t node_id,
                                     mcapi_uint_t number, void *attribute, size_t size,
                                     mcapi_status_t *status) {
    mcapi_node_attr_type_t type;
    if (!status)
        return;
    if (!mc_current()) {
        *status = MCAPI_ERR_NODE_NOTINIT;
        return;
    }
    *status = check_names(domain_id, node_id);
    if (*status != MCAPI_SUCCESS)
        return;
    if (!attribute) {
        *status = MCAPI_ERR_PARAMETER;
    } else if (number >= MCAPI_NODE_ATTR_END) {
        *status = MCAPI_ERR_ATTR_NUM;
    } else if (size != sizeof type) {
        *status = MCAPI_ERR_ATTR_SIZE;
    } else {
        struct mc_segment *segment = mc_the_job.segment;
        bool domain = false;
        mc_look_for_dead(segment, false);
        *status = MCAPI_ERR_NODE_INVALID;
        for (uint32_t i = 0; i < segment->limits.nodes; i++) {
            const struct mc_node *node = mc_node_at(segment, i);
            if (!__atomic_load_n(&node->life, __ATOMIC_ACQUIRE) || node->domain != domain_id)
                continue;
            domain = true;
            if (node->node == node_id) {
                memcpy(attribute, &node->type, sizeof type);
                *status = MCAPI_SUCCESS;
            }
        }
        if (!domain)
            *status = MCAPI_ERR_DOMAIN_INVALID;
    }
}
