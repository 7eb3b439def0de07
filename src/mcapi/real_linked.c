/* The functions behind the wrappers when the adapter is linked into the program: the linker has
   found them. */
#include "mcapi/note.h"
#include "mcapi/real.h"

/* Other libraries than Refrain's do not have these. */
#pragma weak mcapix_origin
#pragma weak mcapix_stamp_matches
#pragma weak mcapix_endpoint_name
#pragma weak mcapix_life
#pragma weak mcapix_lives
#pragma weak mcapix_taken
#pragma weak mcapix_requests
#pragma weak mcapix_expect
#pragma weak mcapix_expect_all
#pragma weak mcapix_node_retire

/* The mark: the lengths of its name and of its description, its type, both texts. */
__asm__(".pushsection .note.refrain, \"a\", %note\n"
        ".balign 4\n"
        ".long 8, 6, 1\n"
        ".asciz \"" RF_NOTE_NAME "\"\n"
        ".asciz \"mcapi\"\n"
        ".balign 4\n"
        ".popsection\n");
_Static_assert(sizeof RF_NOTE_NAME == 8 && RF_NOTE_ADAPTER == 1, "the mark says so");

struct rf_real rf_reals;
int rf_reals_ready;

void rf_reals_find(void) {
#define RF_FUNCTION(result, name, parameters, arguments) rf_reals.name = mcapi_##name;
#include "mcapi/functions.def"
#undef RF_FUNCTION
    rf_reals.attributes = true;
    rf_reals.domain_id_get = mcapi_domain_id_get;
    rf_reals.node_id_get = mcapi_node_id_get;
    rf_reals.origin = mcapix_origin;
    rf_reals.stamp_matches = mcapix_stamp_matches;
    rf_reals.endpoint_name = mcapix_endpoint_name;
    rf_reals.life = mcapix_life;
    rf_reals.lives = mcapix_lives;
    rf_reals.taken = mcapix_taken;
    rf_reals.requests = mcapix_requests;
    rf_reals.expect = mcapix_expect;
    rf_reals.expect_all = mcapix_expect_all;
    rf_reals.retire = mcapix_node_retire;
    __atomic_store_n(&rf_reals_ready, 1, __ATOMIC_RELEASE);
}

bool rf_stands_back(void) {
    return false;
}
