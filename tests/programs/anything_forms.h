/* For anything.c: all forms of waiting and testing. */
#ifndef ANYTHING_FORMS_H
#define ANYTHING_FORMS_H

#include "anything_slots.h"

static int has_request(const struct slot *slot) {
    return slot->kind != UNUSED && slot->kind != HELD && slot->kind != FORGOTTEN;
}

/* The status of such a request may hold what another one has left there: always that of MPICH's
   collectives and receives from nobody. */
static int is_unclear(const struct slot *slot) {
    return slot->active && (slot->kind != RECEIVE || slot->also_sends || slot->cancelled);
}

struct selection {
    int count;
    struct slot *slots[SLOTS];
    MPI_Request requests[SLOTS];
    MPI_Status statuses[SLOTS];
    int ignore;
};

/* Would a wait for it come to an end by itself? */
static int ends(const struct slot *slot) {
    if (slot->kind == NOTHING || !slot->active || (slot->cancelled && slot->tag == NEVER_SENT))
        return 1;
    return slot->kind == SEND || slot->also_sends ? all_posted() : all_begun();
}

static int all_end(const struct selection *selection) {
    for (int i = 0; i < selection->count; i++)
        if (selection->slots[i] && !ends(selection->slots[i]))
            return 0;
    return 1;
}

static int any_ends(const struct selection *selection) {
    int active = 0, ending = 0;
    for (int i = 0; i < selection->count; i++)
        if (selection->slots[i] && selection->slots[i]->active) {
            active = 1;
            ending |= ends(selection->slots[i]);
        }
    return ending || !active;
}

/* Some requests, or all, in any order, among them such that are inactive or none at all. */
static void select_some(struct selection *selection) {
    int first = choose(SLOTS), step = 1 + 2 * choose(SLOTS / 2), of = 1 + choose(4);
    selection->count = 0;
    selection->ignore = one_in(2);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &slots[(first + i * step) % SLOTS];
        int hole = !has_request(slot);
        if (hole ? !one_in(40) : !one_in(of))
            continue;
        int at = selection->count++;
        selection->slots[at] = hole ? NULL : slot;
        selection->requests[at] = hole ? MPI_REQUEST_NULL : slot->request;
        blank(&selection->statuses[at]);
        /* Only the status tells who has sent what was too long, and whether it was cancelled. */
        if (!hole && slot->kind == RECEIVE && (slot->room < LONG || slot->cancelled))
            selection->ignore = 0;
    }
}

static MPI_Status *statuses_of(struct selection *selection) {
    return selection->ignore ? MPI_STATUSES_IGNORE : selection->statuses;
}

/* The request at one place of the array is complete; its status may be at another. */
static void settle_at(struct selection *selection, int at, int status_at, int code) {
    struct slot *slot = selection->slots[at];
    const MPI_Status *status = &selection->statuses[status_at];
    if (!slot)
        return;
    slot->request = selection->requests[at];
    settle(slot, selection->ignore ? MPI_STATUS_IGNORE : status, code);
}

/* Of all requests, or of those with the given indices. */
static void observe_statuses(const struct selection *selection, int count, const int *indices) {
    for (int i = 0; i < count && !selection->ignore; i++) {
        const struct slot *slot = selection->slots[indices ? indices[i] : i];
        if (!slot || !is_unclear(slot))
            observe_status(&selection->statuses[i]);
    }
}

static void settle_all(struct selection *selection, int code) {
    int one_by_one = error_class(code) == MPI_ERR_IN_STATUS;
    observe("class", error_class(code));
    observe_statuses(selection, selection->count, NULL);
    for (int i = 0; i < selection->count; i++) {
        int own = one_by_one && !selection->ignore ? selection->statuses[i].MPI_ERROR : code;
        if (error_class(own) != MPI_ERR_PENDING)
            settle_at(selection, i, i, own);
    }
}

static void settle_some(struct selection *selection, int some, const int *indices, int code) {
    int one_by_one = error_class(code) == MPI_ERR_IN_STATUS;
    observe("some", some);
    observe("class", error_class(code));
    observe_statuses(selection, some == MPI_UNDEFINED ? 0 : some, indices);
    for (int i = 0; some != MPI_UNDEFINED && i < some; i++) {
        int own = one_by_one && !selection->ignore ? selection->statuses[i].MPI_ERROR : code;
        settle_at(selection, indices[i], i, own);
    }
}

static void settle_any(struct selection *selection, int flag, int index, int code) {
    observe("flag", flag);
    if (!flag && code == MPI_SUCCESS)
        return;
    observe("index", index);
    observe_statuses(selection, index != MPI_UNDEFINED, &index);
    if (index != MPI_UNDEFINED)
        settle_at(selection, index, 0, code);
}

static void wait_one(struct selection *selection) {
    if (selection->count == 0 || (selection->slots[0] && !ends(selection->slots[0])))
        return;
    selection->count = 1;
    settle_all(selection, MPI_Wait(selection->requests, statuses_of(selection)));
}

static void wait_all(struct selection *selection) {
    if (all_end(selection))
        settle_all(selection,
                   MPI_Waitall(selection->count, selection->requests, statuses_of(selection)));
}

static void wait_any(struct selection *selection) {
    int index = 0;
    if (!any_ends(selection))
        return;
    int code = MPI_Waitany(selection->count, selection->requests, &index, statuses_of(selection));
    settle_any(selection, 1, index, code);
}

static void wait_some(struct selection *selection) {
    int some = 0, indices[SLOTS];
    if (!any_ends(selection))
        return;
    int code =
        MPI_Waitsome(selection->count, selection->requests, &some, indices, statuses_of(selection));
    settle_some(selection, some, indices, code);
}

static void test_one(struct selection *selection) {
    int flag = 0;
    if (selection->count == 0)
        return;
    selection->count = 1;
    int code = MPI_Test(selection->requests, &flag, statuses_of(selection));
    observe("flag", flag);
    if (flag || code != MPI_SUCCESS)
        settle_all(selection, code);
}

static void test_all(struct selection *selection) {
    int flag = 0;
    int code = MPI_Testall(selection->count, selection->requests, &flag, statuses_of(selection));
    observe("flag", flag);
    if (flag || code != MPI_SUCCESS)
        settle_all(selection, code);
}

static void test_any(struct selection *selection) {
    int flag = 0, index = 0;
    int code =
        MPI_Testany(selection->count, selection->requests, &index, &flag, statuses_of(selection));
    settle_any(selection, flag, index, code);
}

static void test_some(struct selection *selection) {
    int some = 0, indices[SLOTS];
    int code =
        MPI_Testsome(selection->count, selection->requests, &some, indices, statuses_of(selection));
    settle_some(selection, some, indices, code);
}

static void act_complete(void) {
    static void (*const ways[])(struct selection *) = {wait_one, wait_all, wait_any, wait_some,
                                                       test_one, test_all, test_any, test_some};
    static struct selection selection;
    int way = choose(sizeof ways / sizeof *ways);
    select_some(&selection);
    observe("completing", way);
    ways[way](&selection);
}

/* Questions: the requests stay. */

static void ask_one(struct selection *selection) {
    int flag = 0, first = 0;
    if (selection->count == 0 || !selection->slots[0])
        return;
    /* MPICH raises the error of a short receive here too. */
    int code = MPI_Request_get_status(selection->requests[0], &flag, statuses_of(selection));
    observe("class", error_class(code));
    observe("complete", flag);
    observe_statuses(selection, flag, &first);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
static void ask_all(struct selection *selection) {
    int flag = 0;
    int code = MPI_Request_get_status_all(selection->count, selection->requests, &flag,
                                          statuses_of(selection));
    observe("class", error_class(code));
    observe("complete", flag);
    observe_statuses(selection, flag ? selection->count : 0, NULL);
}

static void ask_any(struct selection *selection) {
    int flag = 0, index = 0;
    int code = MPI_Request_get_status_any(selection->count, selection->requests, &index, &flag,
                                          statuses_of(selection));
    observe("class", error_class(code));
    observe("complete", flag ? index : -1);
    observe_statuses(selection, flag && index != MPI_UNDEFINED, &index);
}

static void ask_some(struct selection *selection) {
    int some = 0, indices[SLOTS];
    int code = MPI_Request_get_status_some(selection->count, selection->requests, &some, indices,
                                           statuses_of(selection));
    observe("class", error_class(code));
    observe("some", some);
    for (int i = 0; some != MPI_UNDEFINED && i < some; i++)
        observe("complete", indices[i]);
    observe_statuses(selection, some == MPI_UNDEFINED ? 0 : some, indices);
}
#endif

static void act_ask(void) {
    static void (*const ways[])(struct selection *) = {
        ask_one,
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
        ask_all,
        ask_any,
        ask_some,
#endif
    };
    static struct selection selection;
    select_some(&selection);
    for (int i = 0; i < selection.count; i++)
        if (ODD_PERSISTENT && selection.slots[i] && selection.slots[i]->persistent)
            return;
    ways[choose(sizeof ways / sizeof *ways)](&selection);
}

#endif
