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

void rf_session_check(struct rf_session *session, const struct rf_here *here) {
    uint64_t made = rf_session_calls(session);
    int32_t calls = (int32_t)made;
    /* One check in 65536 misses a difference; then the next one finds it. */
    int32_t hash = (int32_t)(session->signature * 0xd6e8feb86659fd93u >> 48);
    rf_session_lock(session);
    rf_session_check_at(session, made, check_after(made));
    if (rf_mode_records(session->mode)) {
        if (session->recorder.on)
            rf_recorder_put(&session->recorder, rf_pack(RF_CHECK, 0, 0), hash, calls, 1);
    } else {
        const struct rf_event *event = rf_replay_peek(session);
        if (event) {
            if (event->kind != RF_CHECK)
                rf_diverge(session, here, event, NULL,
                           "the program makes another call before the recorded one");
            if (event->second != calls)
                rf_diverge(session, here, event, NULL,
                           "the program has made %d calls here, the recorded run %d", calls,
                           event->second);
            if (event->first != hash)
                rf_diverge(session, here, event, NULL,
                           "the calls up to here are not those of the recording: another "
                           "function, peer, tag or size in one of the last sends, receives or "
                           "collectives");
            rf_replay_take(&session->replayer);
        }
    }
    rf_session_unlock(session);
}
