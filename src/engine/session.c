#include "engine/session.h"

struct rf_session rf_the_session;

/* Dense at first, then at least four times per doubling, at last every 16384 calls: a difference is
   noticed early, and the checks of a long run cost next to nothing. */
static uint64_t check_after(uint64_t calls) {
    uint64_t interval = 1;
    while (interval < 16384 && interval * 8 <= calls)
        interval *= 2;
    return calls < 32 ? calls + 1 : calls + interval;
}

void rf_session_lock_to_append(struct rf_session *session) {
    rf_lock(&session->lock);
    rf_strand_append(session);
}

/* A thread without a strand cannot be told apart: it signs with the one that opened the session. */
void rf_sign_shared(struct rf_session *session, const struct rf_here *here, int32_t peer,
                    int32_t tag, int64_t count) {
    rf_sign_in(rf_session_signs(session), session, here, peer, tag, count);
}

static void compare(struct rf_session *session, const struct rf_here *here, int32_t calls,
                    int32_t hash) {
    const struct rf_event *event = rf_replay_peek(session);
    if (!event && session->shared && !session->replayer.free && !rf_replay_at_cut(session))
        rf_diverge(session, here, NULL, NULL,
                   "thread %d has made %d calls here, more than in the recording",
                   rf_strand_here ? rf_strand_here->number : -1, calls);
    if (!event)
        return;
    if (event->kind != RF_CHECK)
        rf_diverge(session, here, event, NULL,
                   "the program makes another call before the recorded one");
    if (event->second != calls)
        rf_diverge(session, here, event, NULL,
                   "the program has made %d calls here, the recorded run %d", calls, event->second);
    if (event->first != hash)
        rf_diverge(session, here, event, NULL,
                   "the calls up to here are not those of the recording: another "
                   "function, peer, tag or size in one of the last sends, receives or "
                   "collectives");
    rf_replay_take(&session->replayer);
}

void rf_session_check(struct rf_session *session, const struct rf_here *here) {
    struct rf_signs *signs = rf_session_signs(session);
    uint64_t made = rf_session_calls(session);
    int32_t calls = (int32_t)made;
    /* One check in 65536 misses a difference; then the next one finds it. */
    int32_t hash = (int32_t)(signs->signature * 0xd6e8feb86659fd93u >> 48);
    rf_signs_check_at(signs, made, check_after(made));
    if (!rf_mode_records(session->mode)) {
        compare(session, here, calls, hash);
        return;
    }
    rf_session_append(session);
    if (session->recorder.on)
        rf_recorder_put(&session->recorder, rf_pack(RF_CHECK, 0, 0), hash, calls, 1);
    rf_session_unlock(session);
}

/* They have ended, or at least call no more: this thread speaks for them. */
void rf_session_check_others(struct rf_session *session, const struct rf_here *here) {
    struct rf_strand *self = rf_strand_here;
    for (int i = 0; session->shared && i < session->strands.size; i++) {
        struct rf_strand *strand = session->strands.list[i];
        if (!strand || strand == self)
            continue;
        rf_strand_here = strand;
        if (rf_session_calls(session))
            rf_session_check(session, here);
        rf_strand_here = self;
    }
}
