/* The functions of the MCAPI library behind the wrappers. The adapter has two forms, from one set
   of sources: preloaded, its wrappers have the names of MCAPI's functions, and those are looked up
   (real.c); linked into a program whose calls were renamed (RF_LINKED), its wrappers are called
   refrain_mcapi_*, and those of MCAPI are called by their names (real_linked.c). */
#ifndef RF_MCAPI_REAL_H
#define RF_MCAPI_REAL_H

#include <mcapi.h>
#include <mcapix.h>
#include <stdbool.h>

#include "trace/compiler.h"

struct rf_real {
#define RF_FUNCTION(result, name, parameters, arguments) result(*name) parameters;
#include "mcapi/functions.def"
#undef RF_FUNCTION
    bool attributes; /* endpoint_get_attribute is there */
    /* These are called, but not stood before. */
    mcapi_domain_t (*domain_id_get)(mcapi_status_t *status);
    mcapi_node_t (*node_id_get)(mcapi_status_t *status);
    /* Refrain's own runtime has these; NULL in any other. */
    int (*origin)(struct mcapix_origin *out);
    void (*watch_sends)(void (*watch)(uint64_t number));
    void (*stamp_matches)(int on);
    int (*endpoint_name)(mcapi_endpoint_t endpoint, mcapi_domain_t *domain, mcapi_node_t *node,
                         mcapi_port_t *port);
    unsigned (*life)(void);
    unsigned (*lives)(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port);
    int (*taken)(mcapi_request_t request, struct mcapix_origin *out);
    unsigned (*requests)(void);
    void (*expect)(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port);
    void (*expect_all)(void);
    int (*retire)(mcapi_domain_t domain, mcapi_node_t node);
};

enum rf_function {
    RF_FN_NONE,
#define RF_FUNCTION(result, name, parameters, arguments) RF_FN_##name,
#include "mcapi/functions.def"
#undef RF_FUNCTION
    RF_FUNCTIONS
};

extern struct rf_real rf_reals RF_OURS;
extern int rf_reals_ready RF_OURS;
void rf_reals_find(void);
/* The program has the adapter linked into it already, and every call must be seen once. */
bool rf_stands_back(void);

RF_STEP const struct rf_real *rf_real(void) {
    if (__builtin_expect(!__atomic_load_n(&rf_reals_ready, __ATOMIC_ACQUIRE), 0))
        rf_reals_find();
    return &rf_reals;
}

#endif
