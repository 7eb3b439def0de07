/* The one session of a process: what is being recorded or replayed. */
#ifndef RF_ENGINE_SESSION_H
#define RF_ENGINE_SESSION_H

#include "engine/callsite.h"
#include "engine/lock.h"
#include "engine/replay.h"
#include "engine/strands.h"
#include "trace/recorder.h"

/* Recording again is what a node does that runs alone on contents kept while it was recorded;
   threads that may call at the same time are recorded with more care. */
enum rf_mode {
    RF_OFF,
    RF_RECORDING = 1,
    RF_REPLAYING = 2,
    RF_RECORDING_AGAIN = 5,
    RF_RECORDING_SHARED = 9
};

RF_STEP bool rf_mode_records(enum rf_mode mode) {
    return mode & RF_RECORDING;
}

struct rf_session {
    enum rf_mode mode;
    bool concurrent; /* several threads may call at the same time, or in turn */
    bool shared;     /* and each has a strand: events and signatures are told apart */
    int lock;        /* taken for a few instructions, and only if concurrent */
    struct rf_signs signs;
    struct rf_strands strands;
    struct rf_recorder recorder;
    struct rf_replayer replayer;
    struct rf_callsites sites;
    rf_stop_function *stop;
};

extern struct rf_session rf_the_session RF_OURS;

/* Writes the signature to the stream, or compares it with the recorded one. */
void rf_session_check(struct rf_session *session, const struct rf_here *here);

/* Threads of a program that may call concurrently share one stream; each touch of it is short. */
RF_STEP void rf_session_lock(struct rf_session *session) {
    if (__builtin_expect(session->concurrent, 0))
        rf_lock(&session->lock);
}
RF_STEP void rf_session_unlock(struct rf_session *session) {
    if (__builtin_expect(session->concurrent, 0))
        rf_unlock(&session->lock);
}
/* The same for a touch that appends: the stream says by whom. */
void rf_session_lock_to_append(struct rf_session *session);
RF_STEP void rf_session_append(struct rf_session *session) {
    if (__builtin_expect(session->concurrent, 0))
        rf_session_lock_to_append(session);
}

static inline struct rf_signs *rf_session_signs(struct rf_session *session) {
    return session->shared && rf_strand_here ? rf_strand_here->signs : &session->signs;
}

/* Signed calls so far, of this thread if threads are told apart. */
static inline uint64_t rf_session_calls(struct rf_session *session) {
    const struct rf_signs *signs = rf_session_signs(session);
    return signs->next_check - (uint64_t)signs->until_check;
}

static inline void rf_signs_check_at(struct rf_signs *signs, uint64_t made, uint64_t next) {
    signs->next_check = next;
    signs->until_check = (int64_t)(next - made);
}

static inline void rf_session_check_at(struct rf_session *session, uint64_t made, uint64_t next) {
    rf_signs_check_at(rf_session_signs(session), made, next);
}

/* Every call whose effect is fixed by the program enters a running signature. It is stored now and
   then, so that a replay notices a send that is missing, or goes elsewhere, soon after. Sites are
   left out: a rebuilt program that makes the same calls has the same signature. */
RF_STEP void rf_sign_in(struct rf_signs *signs, struct rf_session *session,
                        const struct rf_here *here, int32_t peer, int32_t tag, int64_t count) {
    uint64_t one = (uint64_t)here->function << 32 | (uint32_t)peer;
    uint64_t other = (uint64_t)(uint32_t)tag << 32 ^ (uint64_t)count;
    uint64_t mixed = (signs->signature ^ one) * 0x9e3779b97f4a7c15u;
    signs->signature = (mixed << 29 | mixed >> 35) ^ other;
    if (__builtin_expect(--signs->until_check <= 0, 0)) {
        const struct rf_here copy = *here; /* else it would be kept in memory for every call */
        rf_session_check(session, &copy);
    }
}

/* For sessions in which only one thread can be calling now. */
RF_STEP void rf_sign_alone(struct rf_session *session, const struct rf_here *here, int32_t peer,
                           int32_t tag, int64_t count) {
    rf_sign_in(&session->signs, session, here, peer, tag, count);
}

void rf_sign_shared(struct rf_session *session, const struct rf_here *here, int32_t peer,
                    int32_t tag, int64_t count);

RF_STEP void rf_sign(struct rf_session *session, const struct rf_here *here, int32_t peer,
                     int32_t tag, int64_t count) {
    if (__builtin_expect(session->concurrent, 0)) {
        const struct rf_here copy = *here;
        rf_sign_shared(session, &copy, peer, tag, count);
    } else {
        rf_sign_alone(session, here, peer, tag, count);
    }
}

/* The last word on what each of the other threads has called: its signature enters the stream. */
void rf_session_check_others(struct rf_session *session, const struct rf_here *here);

RF_STEP uint32_t rf_here_site(struct rf_session *session, const struct rf_here *here) {
    return rf_callsite_number(session, &session->sites, here->address, here->function, here->name);
}

RF_STEP uint32_t rf_here_pack(struct rf_session *session, const struct rf_here *here,
                              enum rf_kind kind, uint32_t channel) {
    return rf_pack(kind, channel, rf_here_site(session, here));
}

#endif
