/* Readers and writers: writers leave a trail, readers see how long it is. One lock prefers readers,
   the other writers. */
#include "trails.h"

static pthread_rwlock_t locks[2];
static struct trail trails[2];

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        int which = (i / 3 + number) % 2;
        work();
        if ((i + number) % 4 == 0) {
            must("pthread_rwlock_wrlock", pthread_rwlock_wrlock(&locks[which]));
            step("wrote", &trails[which]);
            work();
        } else {
            must("pthread_rwlock_rdlock", pthread_rwlock_rdlock(&locks[which]));
            observe("read", trails[which].length);
            work();
        }
        must("pthread_rwlock_unlock", pthread_rwlock_unlock(&locks[which]));
    }
}

int main(void) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    must("pthread_rwlock_init", pthread_rwlock_init(&locks[0], &attributes));
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    must("pthread_rwlock_init", pthread_rwlock_init(&locks[1], &attributes));
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("readers first", &trails[0]);
    trail_print("writers first", &trails[1]);
    return 0;
}
